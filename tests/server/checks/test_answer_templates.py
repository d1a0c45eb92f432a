"""Drafts in the shape of references/answer-templates.md, filled from the evidence, are clean.

Each is filled by hand from the reports of its scenario; what is spoiled in one is found, and named.
"""

import re
from pathlib import Path

import pytest
from answer_cases import CASES, case_paths, whole_evidence

from gpuvet.model.answer import AnswerFinding
from gpuvet.modes.answer import check_answer

DRAFTS = CASES / "answers" / "templates"
TEMPLATES = Path(__file__).parents[3] / "references" / "answer-templates.md"
LABEL = re.compile(r"^(?:- )?([A-Z][a-z]+(?: [a-z]+){0,3})(?= [\[(]|[:,])", re.MULTILINE)
SEEN_IN_FULL, DARK = "i-0b22d4e61fa0873c9", "i-0a11c27f3e5d90b41"
FILLED = {
    "Audit": ["s01-audit"],
    "Incident": ["s03-incident", "s06-incident", "s08-incident"],
    "Preflight": ["s07-preflight"],
}


DEAD, LIVE, KERNEL = (
    f"`ip-10-0-38-41.{SEEN_IN_FULL}.system-messages`",
    f"`ip-10-0-38-41.us-west-2.compute.internal-{SEEN_IN_FULL}`",
    "`/ops/fleet/tri-b200/kernel`",
)


def draft_of(name: str) -> str:
    """Return a filled template."""
    return (DRAFTS / f"{name}.md").read_text(encoding="utf-8")


def found_in(draft: str, name: str) -> tuple[AnswerFinding, ...]:
    """Return what is found in a draft against all evidence of its scenario."""
    path = next(p for p in case_paths() if p.stem.startswith(name[:3]))
    return check_answer(draft, whole_evidence(path)).findings


@pytest.mark.parametrize("name", [name for names in FILLED.values() for name in names])
def test_a_template_filled_from_the_evidence_is_clean(name: str) -> None:
    assert [(f.code, f.shown, f.message) for f in found_in(draft_of(name), name)] == []


@pytest.mark.parametrize(
    ("mode", "name"), [(mode, name) for mode, names in FILLED.items() for name in names]
)
def test_a_filled_template_has_every_labelled_line_of_its_mode(mode: str, name: str) -> None:
    section = TEMPLATES.read_text(encoding="utf-8").split(f"## {mode}\n")[1].split("\n## ")[0]
    labels = set(LABEL.findall(section))
    assert labels
    assert {label for label in labels if label not in draft_of(name)} == set()


@pytest.mark.parametrize(
    ("name", "right", "wrong", "code", "named"),
    [
        pytest.param(
            "s01-audit",
            "seen 49 of 49 h in `/ops",
            "seen 2 of 49 h in `/ops",
            "ANS403",
            SEEN_IN_FULL,
            id="hours of the other node",
        ),
        pytest.param(
            "s01-audit",
            "may be claimed: 0 Xids in every hour asked.",
            "0 Xid errors on all nodes in 49 of 49 h.",
            "ANS402",
            DARK,
            id="an absence over both nodes",
        ),
        pytest.param(
            "s01-audit",
            "`; 0 Xid events in those 2 h; may be claimed: 0 Xids in 2 of 49 h, nothing of the "
            "other 47 h.",
            "`; may be claimed: 2 of 49 h.",
            "",
            "",
            id="less said is nothing wrong",
        ),
        pytest.param(
            "s08-incident",
            "ip-10-8-0-51.us-west-2.compute.internal-host.messages",
            "ip-10-8-0-52.us-west-2.compute.internal-host.messages",
            "ANS302",
            "i-0281a0b1c2d3e4f51",
            id="a stream of the other node",
        ),
        pytest.param(
            "s07-preflight", "72 h: No.", "72 h: Yes.", "ANS506", "72 h", id="ready flipped"
        ),
    ],
)
def test_what_is_spoiled_in_a_filled_template_is_found_and_named(
    name: str, right: str, wrong: str, code: str, named: str
) -> None:
    draft = draft_of(name)
    assert right in draft
    found = found_in(draft.replace(right, wrong), name)
    assert sorted({f.code for f in found}) == ([code] if code else [])
    assert all(named in f.message for f in found)


def test_a_claim_over_dark_hours_names_the_node_of_its_line_and_no_other() -> None:
    line = f"- `{DARK}`: seen in every hour; 0 Xid events.\n- `{SEEN_IN_FULL}`: 49 of 49 h; 0 Xids."
    draft = re.sub(r"(?s)- NOT OBS.*?(?=\nFaults)", line + "\n", draft_of("s01-audit"))
    over = [f for f in found_in(draft, "s01") if f.code == "ANS402"]
    assert [(f.line, DARK in f.message, SEEN_IN_FULL in f.message) for f in over] == [
        (3, True, False)
    ]


@pytest.mark.parametrize(
    ("hole", "codes"),
    [
        (f"`{SEEN_IN_FULL}` has 47 h empty in {DEAD}, but its {KERNEL} {LIVE} was live.", []),
        (f"`{SEEN_IN_FULL}`, {DEAD}: silent for 47 h, but its stream in {KERNEL} was live.", []),
        (f"`{SEEN_IN_FULL}`: {DEAD} is silent; {KERNEL}, stream {LIVE}, is not.", []),
        (f"{DEAD} is dead but its kernel group {KERNEL}, stream {LIVE}, was seen.", []),
        (f"Group {KERNEL}, stream {DEAD}.", ["ANS302"]),
        (f"{DEAD} of {KERNEL} is empty, {LIVE} is not.", ["ANS302"]),
        (f"In {KERNEL} the node `{SEEN_IN_FULL}` writes {DEAD}.", ["ANS302"]),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "-".join(value) or "clean",
)
def test_a_stream_is_held_to_the_group_it_is_joined_to(hole: str, codes: list[str]) -> None:
    draft = draft_of("s01-audit").replace("\n\nFaults", f"\n- Hole: {hole}\n\nFaults")
    assert [f.code for f in found_in(draft, "s01")] == codes
