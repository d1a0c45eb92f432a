"""Xid 144 to 150: every row of the decode sheet decodes to itself, and nothing else does."""

import pytest

from gpuvet.catalog.nvlink5 import POINTS_HERE, decode, matching_rows
from gpuvet.catalog.nvlink5_table import (
    NvLinkRow,
    Resolution,
    StatusKind,
    nvlink_rows,
)
from gpuvet.model.verdict import Verdict

ROWS = nvlink_rows()
WORD = {True: "Fatal", False: "Nonfatal"}


def lines_of(row: NvLinkRow) -> list[tuple[str, int, int, bool]]:
    """Every (unit, intrInfo, errorStatus, promoted) that the row's masks speak of."""
    return [
        (unit, mask.value, status, mask in row.action2_masks)
        for unit in row.units
        for mask in (*row.masks, *row.action2_masks)
        for status in (row.statuses or (0x0, 0x1, 0xDEADBEEF))
    ]


def outcome(row: NvLinkRow) -> tuple[object, ...]:
    return (
        row.resolution,
        row.action2,
        row.investigatory,
        row.verdict_first,
        row.follow_154,
        row.verdict_recurrence,
    )


def test_the_sheet_has_95_rows_each_with_a_source() -> None:
    assert [row.number for row in ROWS] == list(range(1, 96))
    assert all(row.source for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"row {row.number}")
def test_a_line_made_from_a_row_decodes_to_that_row(row: NvLinkRow) -> None:
    for unit, intr_info, status, promoted in lines_of(row):
        found = decode(
            row.xid, [unit], intr_info, status, severity_printed=WORD[row.severity.is_fatal]
        )
        assert row in found.rows
        assert found.contradiction is None
        assert found.action2_applied == promoted
        assert found.link_event_code == row.link_event_code
        assert found.investigatory == (row.investigatory,)
        assert found.resolution == (row.action2 if promoted else row.resolution)
        if not promoted:
            assert found.verdict_first == row.verdict_first
            assert found.verdict_recurrence == row.verdict_recurrence
            assert found.follow_154 == row.follow_154


def test_no_line_matches_two_rows_that_disagree() -> None:
    for row in ROWS:
        for unit, intr_info, status, _ in lines_of(row):
            found = matching_rows(row.xid, [unit], intr_info, status)
            assert len({outcome(match) for match in found}) == 1


def test_rows_with_bits_speak_of_one_bit_each() -> None:
    statuses = [
        status for row in ROWS if row.status_kind is StatusKind.BIT for status in row.statuses
    ]
    assert all(status.bit_count() == 1 for status in statuses)


def test_only_a_reset_that_points_here_becomes_replace_when_it_recurs() -> None:
    for row in ROWS:
        points_here = row.resolution is Resolution.RESET_GPU and row.investigatory in POINTS_HERE
        assert (row.verdict_recurrence is Verdict.REPLACE) == points_here


@pytest.mark.parametrize(
    ("xid", "unit", "intr_info", "status", "word", "expected"),
    [
        pytest.param(
            149,
            "NETIR_LINK_EVT",
            0x02A001C6,
            0x12,
            "Fatal",
            ("REBOOT", "REPLACE", False),
            id="any errorStatus matches a link event",
        ),
        pytest.param(
            149,
            "NETIR_LINK_DOWN",
            0x02500011,
            0,
            "Fatal",
            ("REBOOT", "UNVERIFIED", False),
            id="149.37 points at the peer",
        ),
        pytest.param(
            145,
            "RLW_REMAP",
            0x4,
            0x4,
            "Nonfatal",
            ("LEAVE ALONE", "UNVERIFIED", True),
            id="the 154 decides",
        ),
        pytest.param(
            145,
            "RLW_REMAP",
            0x4,
            0x44,
            "Fatal",
            ("REBOOT", "REPLACE", True),
            id="two bits, the highest counts",
        ),
        pytest.param(
            145,
            "RLW_RXPIPE",
            0x86,
            0x1,
            "Nonfatal",
            ("REBOOT", "REPLACE", False),
            id="the extra bit promotes to a reset",
        ),
        pytest.param(
            144,
            "SAW_MVB",
            0x21,
            0x1,
            "Fatal",
            ("REBOOT", "UNVERIFIED", False),
            id="printed Fatal lifts MONITOR",
        ),
        pytest.param(
            144,
            "SAW_MVB",
            0x1,
            0x2,
            "Nonfatal",
            ("MONITOR", "UNVERIFIED", False),
            id="printed Nonfatal lowers REBOOT",
        ),
        pytest.param(
            145,
            "RLW_REMAP",
            0x4,
            0x1,
            "Fatal",
            ("LEAVE ALONE", "UNVERIFIED", True),
            id="what follows a 154 stays",
        ),
        pytest.param(
            146,
            "TLW_RX/TLW_RX_PIPE0",
            0xA,
            0x4,
            "Fatal",
            ("REBOOT", "REPLACE", False),
            id="two names in one token",
        ),
        pytest.param(
            150,
            "MSE Degraded",
            0x0,
            0xFFFFFFFF,
            "Fatal",
            ("REBOOT", "REPLACE", False),
            id="one of two enum values",
        ),
        pytest.param(
            150,
            "DEGRADED",
            0x0,
            0x0,
            "Fatal",
            ("REBOOT", "REPLACE", False),
            id="a name that was cut at its blank",
        ),
        pytest.param(
            149,
            "NETIR_LINK_EVT",
            0x028001C6,
            0,
            "Fatal",
            ("UNVERIFIED", "UNVERIFIED", False),
            id="the host took the link down",
        ),
    ],
)
def test_a_line_decodes(
    *, xid: int, unit: str, intr_info: int, status: int, word: str, expected: tuple[str, str, bool]
) -> None:
    found = decode(xid, [unit], intr_info, status, severity_printed=word)
    assert found.is_decoded
    assert (found.verdict_first, found.verdict_recurrence, found.follow_154) == expected
    assert (found.open_check is not None) == (found.verdict_first is Verdict.UNVERIFIED)


@pytest.mark.parametrize(
    ("word", "contradiction"),
    [
        pytest.param(
            "Fatal",
            "the line says Fatal, the decode sheet rates it nonfatal; the printed word wins",
            id="they differ",
        ),
        pytest.param("Nonfatal", None, id="they agree"),
        pytest.param("NONFATAL", None, id="case does not matter"),
        pytest.param(None, None, id="nothing printed"),
    ],
)
def test_a_printed_severity_that_differs_is_a_contradiction(
    word: str | None, contradiction: str | None
) -> None:
    found = decode(144, ["SAW_MVB"], 0x1, 0x1, severity_printed=word)
    assert found.contradiction == contradiction


@pytest.mark.parametrize(
    ("xid", "intr_info", "status", "word", "expected", "event"),
    [
        pytest.param(149, 0x02A001C6, None, "Fatal", "REBOOT", None, id="cut, Fatal"),
        pytest.param(149, None, None, "Nonfatal", "MONITOR", None, id="cut, Nonfatal"),
        pytest.param(149, 0x027001C6, 0, "Fatal", "REBOOT", 39, id="an event the sheet lacks"),
        pytest.param(144, 0x1, 0, "Nonfatal", "MONITOR", 0, id="no bit set"),
        pytest.param(149, None, None, None, "REBOOT", None, id="a 149 that was only named"),
        pytest.param(145, None, None, None, "UNVERIFIED", None, id="a 145 that was only named"),
    ],
)
def test_an_undecoded_line_says_so(
    *,
    xid: int,
    intr_info: int | None,
    status: int | None,
    word: str | None,
    expected: str,
    event: int | None,
) -> None:
    found = decode(xid, ["NETIR_LINK_EVT", "SAW_MVB"], intr_info, status, severity_printed=word)
    assert not found.is_decoded
    assert (found.verdict_first.value, found.link_event_code) == (expected, event)
    assert (found.note or "").startswith("undecoded: ")
    assert (found.open_check is not None) == (found.verdict_first is Verdict.UNVERIFIED)
    assert found.verdict_recurrence is not Verdict.REPLACE


def test_an_injected_line_is_left_alone() -> None:
    found = decode(149, ["NETIR_LINK_EVT"], 0x02A001C6, 0, severity_printed="Fatal", injected=1)
    assert found.is_decoded
    assert found.injected
    assert (found.verdict_first, found.verdict_recurrence) == (
        Verdict.LEAVE_ALONE,
        Verdict.LEAVE_ALONE,
    )


def test_bits_that_no_row_names_are_told() -> None:
    found = decode(144, ["SAW_MVB"], 0x1, 0x41, severity_printed="Nonfatal")
    assert found.note == "errorStatus bits 0x40 are in no row"


def test_a_unit_of_another_code_does_not_match() -> None:
    assert matching_rows(145, ["SAW_MVB"], 0x1, 0x1) == ()
