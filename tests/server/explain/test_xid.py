"""Explaining a code: what it is, what it calls for, who says otherwise; nothing invented."""

import json

import pytest
from pydantic import ValidationError

from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.sxids import sxids
from gpuvet.catalog.xids import Applies, xids
from gpuvet.explain.xid import XidExplanation, explain_code, explain_sxid
from gpuvet.model.base import Value
from gpuvet.model.verdict import FaultClass, Verdict


class Answer(Value):
    """A Value that holds explanations, as the tools' answers do."""

    explanations: tuple[XidExplanation, ...]


EVERY = (
    *(explain_code(code) for code in (*xids(), 99999)),
    *(explain_code(code, CodeKind.SXID) for code in (*sxids(), 99999)),
)


def test_a_code_in_no_list_is_unverified_and_nothing_is_guessed() -> None:
    assert explain_code(99999) == XidExplanation(
        kind=CodeKind.XID,
        code=99999,
        listed=False,
        mnemonic=None,
        meaning="In no published list.",
        fault_class=FaultClass.UNKNOWN,
        verdict=Verdict.UNVERIFIED,
        on_recurrence=Verdict.UNVERIFIED,
        minimum_action="MONITOR",
        why="Neither NVIDIA's catalog nor the open driver names it, so nothing is guessed.",
        open_check="look it up in NVIDIA's present Xid catalog, else quote the raw line to support",
        notes=("It neither outranks a known hardware verdict nor lowers one.",),
    )


@pytest.mark.parametrize("code", xids(), ids=lambda code: f"Xid {code}")
def test_every_xid_is_explained_by_its_row(code: int) -> None:
    row, explained = xids()[code], explain_code(code)
    assert (explained.verdict, explained.on_recurrence, explained.fault_class) == (
        row.default_verdict,
        row.on_recurrence,
        row.fault_class,
    )
    assert explained.sources
    assert explained.why
    assert (explained.open_check is not None) == (explained.verdict is Verdict.UNVERIFIED)


def test_every_sxid_is_explained() -> None:
    for code in sxids():
        explained = explain_code(code, CodeKind.SXID)
        assert explained.listed
        assert explained.sources
        assert (explained.open_check is not None) == (explained.verdict is Verdict.UNVERIFIED)


def test_xid_79_names_what_it_brings_and_who_says_otherwise() -> None:
    explained = explain_code(79)
    assert (explained.verdict, explained.on_recurrence) == (Verdict.REBOOT, Verdict.REPLACE)
    assert {code for row in explained.brings for code in row.effects} >= {13, 31, 43, 45, 74, 119}
    assert [row.who for row in explained.disagreements] == [
        "DevOps-agent skill",
        "EKS node monitor",
    ]


def test_xid_48_asks_for_the_memory_first() -> None:
    explained = explain_code(48)
    assert explained.verdict is Verdict.UNVERIFIED
    assert [row.verdict for row in explained.changes] == [
        Verdict.REPLACE,
        Verdict.REPLACE,
        Verdict.REBOOT,
        Verdict.REPLACE,
        Verdict.REBOOT,
        Verdict.UNVERIFIED,
        Verdict.UNVERIFIED,
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            79, "NVIDIA says RESTART_BM: restart the machine.", id="a bucket that gives the verdict"
        ),
        pytest.param(
            110,
            "NVIDIA says RESET_GPU: reset the GPU, for which the node restarts. "
            "The verdict departs from that, see the note.",
            id="a bucket that was departed from",
        ),
        pytest.param(
            157,
            "NVIDIA says IGNORE: ignore it. The verdict departs from that, see the note.",
            id="IGNORE that became REPLACE",
        ),
        pytest.param(43, "NVIDIA says IGNORE: ignore it.", id="IGNORE that is left alone"),
        pytest.param(175, "NVIDIA's catalog lists no action for it.", id="no bucket"),
    ],
)
def test_the_reason_names_nvidias_word(code: int, expected: str) -> None:
    assert explain_code(code).why == expected


def test_a_departure_always_has_a_note() -> None:
    for code in xids():
        explained = explain_code(code)
        if "departs" in explained.why:
            assert explained.notes


def test_a_retired_code_says_that_no_part_since_a100_uses_it() -> None:
    assert explain_code(1).applies is Applies.NONE


@pytest.mark.parametrize(
    ("code", "fatal", "names_link", "expected"),
    [
        pytest.param(20034, True, True, ("REBOOT", "software_link", 0), id="fatal on a link"),
        pytest.param(20034, False, True, ("REBOOT", "software_link", 1), id="the word against it"),
        pytest.param(10001, True, False, ("REBOOT", "hardware", 1), id="lifted by the word"),
        pytest.param(11001, None, False, ("UNVERIFIED", "hardware", 0), id="no word"),
        pytest.param(99999, True, False, ("REBOOT", "unknown", 0), id="in no list, Fatal"),
        pytest.param(99999, None, False, ("UNVERIFIED", "unknown", 0), id="in no list"),
    ],
)
def test_the_word_of_an_sxid_line_counts(
    code: int, fatal: bool | None, names_link: bool, expected: tuple[str, str, int]
) -> None:
    found = explain_sxid(code, fatal=fatal, names_link=names_link)
    assert (found.verdict.value, found.fault_class.value, len(found.contradictions)) == expected
    assert (found.open_check is not None) == (found.verdict is Verdict.UNVERIFIED)


def test_as_json_an_explanation_reads_the_same_alone_and_inside_a_value() -> None:
    inside = Answer(explanations=EVERY).model_dump(mode="json", by_alias=True)
    alone = json.loads(json.dumps([each.as_data() for each in EVERY]))
    assert inside == {"explanations": alone}
    assert alone[78]["class"] == "hardware"


def test_a_value_reads_its_explanations_back_from_json() -> None:
    answer = Answer(explanations=EVERY)
    assert Answer.model_validate_json(answer.model_dump_json(by_alias=True)) == answer


def test_a_value_is_as_strict_with_an_explanation_as_with_its_own_fields() -> None:
    known = explain_code(79).as_data()
    for wrong in ({**known, "code": "79"}, {**known, "luck": 7}, {**known, "verdict": "PANIC"}):
        with pytest.raises(ValidationError):
            Answer.model_validate_json(json.dumps({"explanations": [wrong]}))


def test_the_schema_of_a_value_names_an_explanations_fields_as_its_json_does() -> None:
    schema = Answer.model_json_schema()["$defs"]["XidExplanation"]
    assert list(schema["properties"]) == list(explain_code(79).as_data())
    assert schema["additionalProperties"] is False
