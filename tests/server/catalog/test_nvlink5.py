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
