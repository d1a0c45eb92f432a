"""Every incident case: mode, verdicts, branch, label, coverage, and what the text must say."""

import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpuvet.calculators.question import choose_mode, symptom_of
from gpuvet.case import load_case
from gpuvet.model.cause import Symptom
from gpuvet.model.report import IncidentReport
from gpuvet.model.verdict import Verdict
from gpuvet.modes.incident import incident_report, inputs_of
from gpuvet.modes.window import Asked
from gpuvet.report.incident import incident_short

CASES = Path(__file__).parents[2] / "cases"
LATE = datetime(2027, 1, 1, tzinfo=UTC)

FIELD = sorted(p for p in (CASES / "field").iterdir() if (p / "expected.json").is_file())
SCENARIOS = sorted((CASES / "scenarios").glob("s*.json"))
EVERY = [*FIELD, *SCENARIOS]

_NEGATION = re.compile(
    r"\b(no|not|never|don't|do not|doesn't|isn't|cannot|can't|rather than|instead of|without"
    r"|nothing|ruled? out|avoid)\b",
    re.IGNORECASE,
)


@cache
def document_of(path: Path) -> dict[str, Any]:
    text = (path / "expected.json" if path.is_dir() else path).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def expected_of(path: Path) -> dict[str, Any]:
    document = document_of(path)
    expected: dict[str, Any] = document if path.is_dir() else document["expected"]
    return expected


@cache
def answered(path: Path) -> IncidentReport:
    case = load_case(path, question=document_of(path)["question"])
    return incident_report(case, Asked(), clock=LATE)


def of_mode(mode: str) -> list[Path]:
    return [p for p in EVERY if expected_of(p)["mode"] == mode]


INCIDENTS = of_mode("Incident")


def claims(pattern: str, text: str) -> list[str]:
    """Return what a text claims: matches without a negation before them in their sentence."""
    found: list[str] = []
    for match in re.finditer(pattern, text, re.IGNORECASE):
        before = re.split(r"[.!?\n]", text[max(0, match.start() - 40) : match.start()])[-1]
        if not _NEGATION.search(before):
            found.append(match.group(0))
    return found


def test_the_shared_cases_are_all_here() -> None:
    assert (len(FIELD), len(SCENARIOS), len(INCIDENTS)) == (12, 8, 15)


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_the_mode_is_chosen_by_rule(path: Path) -> None:
    case = load_case(path, question=document_of(path)["question"])
    stated = case.meta.mode
    chosen = choose_mode(case.meta.question, inputs_of(case), stated=stated)
    unaided = choose_mode(case.meta.question, inputs_of(case))
    assert (chosen.mode, unaided.mode) == (expected_of(path)["mode"],) * 2


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_every_node_gets_its_verdict(path: Path) -> None:
    expected = {n: w for n, w in expected_of(path)["verdicts"].items() if w != "NONE"}
    wanted = {node: Verdict(word) for node, word in expected.items()}
    assert {node: answered(path).verdicts.get(node) for node in wanted} == wanted


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_branch_and_label_are_those_of_the_case(path: Path) -> None:
    expected, report = expected_of(path), answered(path)
    branch = report.branch.value if report.branch else None
    assert branch in (expected.get("accept_branches") or [expected["branch"]])
    assert report.label.value == (expected["label"] or report.label.value)


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_every_branch_has_a_status_the_case_accepts(path: Path) -> None:
    accepted: dict[str, Any] = expected_of(path).get("branch_status") or {}
    found = {row.branch.value: row.status.value for row in answered(path).branches}
    assert {b: found[b] for b in accepted if found[b] not in accepted[b]} == {}
    assert len(found) == 6


@pytest.mark.parametrize(
    "path",
    [p for p in EVERY if isinstance(expected_of(p).get("coverage"), list)],
    ids=lambda p: p.stem,
)
def test_coverage_is_that_of_the_case(path: Path) -> None:
    rows = answered(path).coverage
    for wanted in expected_of(path)["coverage"]:
        if wanted["status"] == "NOT_APPLICABLE":
            continue
        accepted = wanted.get("accept") or [wanted["status"]]
        fits = [
            row
            for row in rows
            if row.node == wanted["node"]
            and row.status.value in accepted
            and wanted.get("stream") in {None, row.stream}
            and wanted.get("gap_hours_count") in {None, sum(g.hours for g in row.gaps)}
            and wanted.get("live_hours_count") in {None, row.hours_measured}
            and wanted.get("hours_total") in {None, row.hours_asked}
        ]
        assert fits, wanted


@pytest.mark.parametrize(
    "path", [p for p in INCIDENTS if "must_mention" in expected_of(p)], ids=lambda p: p.stem
)
@pytest.mark.parametrize("size", ["short", "full"])
def test_the_text_says_what_must_be_said_and_claims_nothing_it_must_not(
    path: Path, size: str
) -> None:
    expected, report = expected_of(path), answered(path)
    text = incident_short(report, plain=True) if size == "short" else report.markdown
    text = text.replace("\\", "")
    missing = [
        p for p in expected["must_mention"] if not re.search(p, text, re.IGNORECASE | re.DOTALL)
    ]
    assert missing == []
    wrong = {p: found for p in expected["must_not_say"] if (found := claims(p, text))}
    assert wrong == {}


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_the_short_answer_is_short_and_the_full_one_bounded(path: Path) -> None:
    report = answered(path)
    assert len(report.short.split()) <= 600
    assert len(report.markdown) < 16_000


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_the_first_sentence_is_not_cut(path: Path) -> None:
    report = answered(path)
    firsts = [text.splitlines()[0] for text in (report.short, report.markdown)]
    assert [first for first in firsts if "[cut]" in first] == []


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_branches_that_were_not_assessed_are_named_at_the_end_of_the_others(path: Path) -> None:
    report = answered(path)
    (others,) = (x for x in report.short.splitlines() if x.startswith("Why not the others: "))
    unassessed = [b.branch.value for b in report.branches if b.status == "NOT_ASSESSED"]
    assert ("not assessed" in others) is bool(unassessed)
    if unassessed:
        assert others.endswith(f"{', '.join(unassessed)} not assessed.")


def test_dark_hours_of_a_node_are_to_be_read_and_never_nothing_to_do() -> None:
    report = answered(next(p for p in SCENARIOS if p.stem.startswith("s01")))
    (step,) = report.actions
    assert step == (
        "read the 47 dark hours of i-0a11c27f3e5d90b41 in the nodes' own journals, or close them "
        "by shipping the log: the audit report gives hours and commands"
    )
    assert report.failure.symptom is Symptom.UNKNOWN
    assert "nothing on the nodes" not in report.markdown


@pytest.mark.parametrize(
    ("words", "symptom"),
    [
        pytest.param("Were there any Xid or GPU errors?", Symptom.UNKNOWN, id="asks for errors"),
        pytest.param("Tell me whether a node had failures.", Symptom.UNKNOWN, id="whether"),
        pytest.param("The job got CUDA errors at 10:00Z", Symptom.CRASH, id="tells of errors"),
        pytest.param(
            "Did it crash because of any hardware errors?", Symptom.CRASH, id="a crash beside it"
        ),
    ],
)
def test_a_question_complains_only_of_what_it_tells(words: str, symptom: Symptom) -> None:
    assert symptom_of(words) is symptom


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_hardware_stands_in_a_headline_only_with_a_verdict_that_acts_on_it(path: Path) -> None:
    report = answered(path)
    acting = {Verdict.REPLACE, Verdict.REBOOT} & set(report.verdicts.values())
    assert acting or not re.search(
        r"hardware (error|fault|failure)", report.headline, re.IGNORECASE
    )


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda p: p.stem)
def test_reports_are_golden(path: Path, golden: Any) -> None:  # noqa: ANN401 (a fixture function)
    golden(f"incident/{path.stem}.md", answered(path).markdown)
    golden(f"incident/{path.stem}.short.md", answered(path).short)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (
            "s03",
            (
                "Xid 45/43 on i-0d31a0b1c2d3e4f62 at 2026-05-09T11:00:36Z",
                "only the instance Interruption Warning is heard",
                "no extension in the history",
            ),
        ),
        ("s05", ("idle GPU hours: 0 of 16 (none below 5 % power)", "not saturated, bar 90 %")),
        (
            "s08",
            (
                "tcp 0-65535",
                "0.0.0.0/0 does not replace the self-reference",
                "P2P/CUMEM, good",
                "PIDFile= legacy path warning: benign",
            ),
        ),
    ],
)
def test_a_short_answer_keeps_the_facts_that_settle_doubts(
    scenario: str, words: tuple[str, ...]
) -> None:
    path = next(p for p in SCENARIOS if p.name.startswith(scenario))
    text = incident_short(answered(path), plain=True)
    assert [each for each in words if each not in text] == []


def test_a_signal_is_not_told_twice_in_a_short_answer() -> None:
    for path in INCIDENTS:
        report = answered(path)
        leading = next((b for b in report.branches if b.branch is report.branch), None)
        text = incident_short(report, plain=True)
        first, why = text.partition("\n")[0], text.partition("Why:")[2].partition("Why not")[0]
        for signal in leading.signals if leading is not None else ():
            assert not (signal.what in first and signal.what in why), (path.name, signal.what)
            assert not signal.evidence or signal.evidence[0] in why


@pytest.mark.parametrize(
    ("branch", "case", "why"),
    [
        pytest.param(
            "C",
            "s06",
            "no FSx for Lustre file system in this account and region; "
            "other storage was not looked at",
            id="a list that was answered empty",
        ),
        pytest.param(
            "F",
            "s03",
            "nothing that was read names a fault of the program; its code was not looked at",
            id="lines without a program's fault",
        ),
        pytest.param("E", "07-", "nothing of it was looked at", id="truly nothing"),
    ],
)
def test_a_branch_whose_source_was_read_and_empty_says_so(branch: str, case: str, why: str) -> None:
    report = answered(next(p for p in INCIDENTS if p.stem.startswith(case)))
    (row,) = (b for b in report.branches if b.branch == branch)
    assert (row.status, row.why) == ("NOT_ASSESSED", why)
