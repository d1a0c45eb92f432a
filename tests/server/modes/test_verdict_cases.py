"""Every verdict case: each node's verdict, and what its expected answer names."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case.load import load_case
from gpuvet.model.report import VerdictReport
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

CASES = Path(__file__).parents[2] / "cases"
VERDICTS = sorted((CASES / "verdicts").glob("v*.json"))
FIELD = sorted(p for p in (CASES / "field").iterdir() if (p / "expected.json").is_file())
LATE = datetime(2027, 1, 1, tzinfo=UTC)


def judged(path: Path, question: str | None = None) -> VerdictReport:
    return verdict_report(load_case(path, question=question), Asked(), clock=LATE)


def expected_of(path: Path) -> dict[str, Any]:
    text = (path / "expected.json" if path.is_dir() else path).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document if path.is_dir() else document["expected"]


def subject(report: VerdictReport, expected: dict[str, Any]) -> NodeVerdict:
    return next(n for n in report.nodes if n.node == expected["subject"])


def test_the_shared_verdict_cases_are_all_here() -> None:
    assert len(VERDICTS) == 20


@pytest.mark.parametrize("path", VERDICTS, ids=lambda p: p.stem)
def test_every_node_of_a_verdict_case_gets_its_verdict(path: Path) -> None:
    expected = expected_of(path)
    verdicts = {node: Verdict(word) for node, word in expected["nodes"].items()}
    assert judged(path).verdicts == verdicts


@pytest.mark.parametrize("path", VERDICTS, ids=lambda p: p.stem)
def test_class_action_and_confidence_are_as_the_case_says(path: Path) -> None:
    expected = expected_of(path)
    node = subject(judged(path), expected)
    assert node.fault_class == expected["class"]
    assert node.minimum_action == expected.get("minimum_action", node.minimum_action)
    assert node.confidence == expected.get("confidence", node.confidence)


@pytest.mark.parametrize("path", VERDICTS, ids=lambda p: p.stem)
def test_the_grounds_lie_on_the_gpus_the_case_names(path: Path) -> None:
    expected = expected_of(path)
    node = subject(judged(path), expected)
    wanted = {g["pci"] for g in expected["grounds"]} - {None}
    assert wanted <= {g.pci for g in node.grounds}
    assert node.grounds


@pytest.mark.parametrize("path", VERDICTS, ids=lambda p: p.stem)
def test_the_text_says_what_must_be_said(path: Path) -> None:
    expected = expected_of(path)
    markdown = judged(path).markdown
    assert [w for w in expected.get("must_say", []) if w not in markdown] == []


@pytest.mark.parametrize(
    "path", [p for p in FIELD if expected_of(p).get("verdicts")], ids=lambda p: p.name
)
def test_every_node_of_a_field_case_gets_its_verdict(path: Path) -> None:
    expected = expected_of(path)
    report = judged(path, expected["question"])
    wanted = {node: Verdict(word) for node, word in expected["verdicts"].items()}
    assert {node: report.verdicts.get(node) for node in wanted} == wanted
