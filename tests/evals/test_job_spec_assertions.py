"""Job specs of a run: handed out, read by a tool, attached; good, broken and missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuvet_evals.assertions.job_spec import SpecVerdict, score_job_spec
from gpuvet_evals.cli import main
from gpuvet_evals.evals_json import JobSpecExpectation
from gpuvet_evals.inspect_command import inspect_paths
from gpuvet_evals.job_specs import FoundSpec, SpecSource, handed_out, specs_in_answer
from gpuvet_evals.spec_checker import GpuvetChecker

CASES = Path(__file__).parent / "spec_journals"
SUITE: list[dict[str, Any]] = json.loads((CASES / "suite.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [row["case"] for row in SUITE])
def test_an_own_journal_is_scored_as_expected(case: str) -> None:
    expected = json.loads((CASES / case / "expected.json").read_text(encoding="utf-8"))

    (run,) = inspect_paths([CASES / case], checker=GpuvetChecker()).inspections

    assert [score.passed for _, score in run.scores] == expected["passed"]
    implied = run.handed_out.passed if run.handed_out else None
    assert implied == expected["handed_out_is_free_of_errors"]


def test_a_broken_spec_fails_the_run_whatever_the_prose_says(tmp_path: Path) -> None:
    evals = tmp_path / "evals"
    assert main(["grade", str(CASES), "--to", str(evals), "--quiet"]) == 0
    folder = evals / "functional" / "v1" / "iteration-2" / "fix-processes" / "with_skill"

    rows = json.loads((folder / "functional-tests-results.json").read_text(encoding="utf-8"))

    (implied,) = [
        row for row in rows["tests"]["assertions"]["assertion_results"] if row.get("implied")
    ]
    assert implied["passed"] is False
    assert implied["evidence"] == "HPJ024 line 10: 16 processes on 8 GPUs"


class Scripted:
    """Says of a spec what a table says."""

    def __init__(self, verdicts: dict[str, SpecVerdict]) -> None:
        self.verdicts = verdicts

    def check(self, spec: str, log: str | None) -> SpecVerdict:
        """Look the spec up."""
        assert log is None or log == "the log"
        return self.verdicts[spec]


def spec(text: str, source: SpecSource = SpecSource.ANSWER, where: str = "r") -> FoundSpec:
    return FoundSpec(source=source, where=where, text=text)


def verdict(*codes: str, error: str | None = None, trip: str | None = None) -> SpecVerdict:
    return SpecVerdict(codes=codes, errors=(error,) if error else (), first_trip=trip)


def expectations() -> Iterator[Any]:
    bad = {"a": verdict("HPJ024", error="HPJ024 line 1: too many")}
    fine = {"a": verdict("HPJ132")}
    yield pytest.param(JobSpecExpectation(codes=("HPJ024",)), bad, True, id="code found")
    yield pytest.param(JobSpecExpectation(codes=("HPJ024",)), fine, False, id="code not found")
    yield pytest.param(JobSpecExpectation(absent=("HPJ024",)), bad, False, id="unwanted code")
    yield pytest.param(JobSpecExpectation(absent=("HPJ024",)), fine, True, id="no unwanted code")
    yield pytest.param(JobSpecExpectation(clean=True), bad, False, id="an error is not clean")
    yield pytest.param(JobSpecExpectation(clean=True), fine, True, id="a warning is clean")
    trips = {"a": verdict(trip="Slow")}
    yield pytest.param(
        JobSpecExpectation(first_trip="Slow", log="l"), trips, True, id="the rule trips first"
    )
    yield pytest.param(
        JobSpecExpectation(first_trip="Hang", log="l"), trips, False, id="another rule trips first"
    )
    yield pytest.param(
        JobSpecExpectation(first_trip="none", log="l"), trips, False, id="none should trip"
    )
    yield pytest.param(JobSpecExpectation(first_trip="none", log="l"), fine, True, id="none trips")
    yield pytest.param(JobSpecExpectation(log="lost"), fine, None, id="a missing log")
    yield pytest.param(JobSpecExpectation(source="tool"), fine, False, id="no spec of that source")
    broken = {"a": SpecVerdict(codes=(), errors=(), problem="larger than 1 MiB")}
    yield pytest.param(JobSpecExpectation(), broken, None, id="a spec that cannot be checked")


@pytest.mark.parametrize(("expectation", "verdicts", "passed"), list(expectations()))
def test_an_expectation_holds_or_not(
    expectation: JobSpecExpectation, verdicts: dict[str, SpecVerdict], passed: bool | None
) -> None:
    score = score_job_spec(expectation, [spec("a")], {"l": "the log"}, Scripted(verdicts))

    assert score.passed is passed


def test_a_quote_that_a_changed_spec_follows_is_not_handed_out() -> None:
    old, new = "kind: HyperPodPyTorchJob\nx: 1", "kind: HyperPodPyTorchJob\nx: 2"
    known = [spec("kind:   HyperPodPyTorchJob # as read\nx: 1", SpecSource.ATTACHED)]

    assert handed_out([spec(old), spec(new)], known) == (spec(new),)
    assert handed_out([spec(new), spec(old)], known) == (spec(new), spec(old))
    assert handed_out([spec(old)], known) == (spec(old),)


def test_only_fences_of_a_manifest_language_are_specs() -> None:
    answer = (
        "Run `kind: HyperPodPyTorchJob`.\n```python\n# HyperPodPyTorchJob\n```\n"
        "1. first\n   ```yaml\n   logMonitoringConfiguration: []\n   ```\n"
    )

    assert [s.text for s in specs_in_answer(answer, "r")] == ["logMonitoringConfiguration: []\n"]
