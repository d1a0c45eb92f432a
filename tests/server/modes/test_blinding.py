"""Taking evidence away may only shrink what is claimed, over whole reports.

Each field case loses each of its files in turn; each scenario has each recorded operation denied
and each log stream emptied in turn. What is compared is the report a person gets.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gpuvet.case import load_case
from gpuvet.model.cause import Label
from gpuvet.model.report import IncidentReport
from gpuvet.model.verdict import Verdict
from gpuvet.modes.evidence import gather
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked, resolve

CASES = Path(__file__).parents[2] / "cases"
LATE = datetime(2027, 1, 1, tzinfo=UTC)
FIELD = sorted(p for p in (CASES / "field").iterdir() if (p / "expected.json").is_file())
SCENARIOS = sorted((CASES / "scenarios").glob("s*.json"))

_STRENGTH = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)
_CONFIDENCE = ("Low", "Medium", "High")
# Files that are the question or the clock, not evidence: without them another thing is asked.
_NOT_EVIDENCE = {"now.txt"}


Hours = frozenset[tuple[str, datetime]]


class Answer(NamedTuple):
    """A report, and the hours of nodes that may be called clean behind it."""

    report: IncidentReport
    hours: Hours


class Blinded(NamedTuple):
    """An answer from less evidence, and what was taken away."""

    taken: str
    answer: Answer


def answer(path: Path, question: str) -> Answer:
    case = load_case(path, question=question)
    resolved = resolve(case.meta, Asked(), case.meta.now or LATE)
    nodes = gather(case, resolved).evidence.nodes
    hours = frozenset((n.node, hour) for n in nodes for hour in n.coverage.live_hours)
    return Answer(incident_report(case, Asked(), clock=LATE), hours)


def without_each_file(case: Path, room: Path) -> Iterator[Blinded]:
    question = json.loads((case / "expected.json").read_text(encoding="utf-8"))["question"]
    for file in sorted((case / "inputs").iterdir()):
        if file.name in _NOT_EVIDENCE:
            continue
        copy = room / file.name
        shutil.copytree(case / "inputs", copy / "inputs")
        (copy / "inputs" / file.name).unlink()
        if any((copy / "inputs").iterdir()):
            yield Blinded(file.name, answer(copy, question))


def without_each_reading(scenario: Path, room: Path) -> Iterator[Blinded]:
    document = json.loads(scenario.read_text(encoding="utf-8"))
    operations = sorted({f"{c['service']}:{c['operation']}" for c in document["calls"]})
    for operation in operations:
        yield _changed(document, room, f"{operation} denied", partial(_deny, operation=operation))
    for group, streams in document["log_store"].items():
        for stream in streams.get("streams", {}):
            yield _changed(
                document,
                room,
                f"{group} {stream} emptied",
                partial(_empty, group=group, stream=stream),
            )


def _changed(
    document: dict[str, Any], room: Path, taken: str, change: Callable[[dict[str, Any]], None]
) -> Blinded:
    copy = json.loads(json.dumps(document))
    change(copy)
    path = room / "scenario.json"
    path.write_text(json.dumps(copy), encoding="utf-8")
    return Blinded(taken, answer(path, document["question"]))


def _deny(document: dict[str, Any], operation: str) -> None:
    service, name = operation.split(":")
    kept = [c for c in document["calls"] if (c["service"], c["operation"]) != (service, name)]
    code = "UnauthorizedOperation" if service == "ec2" else "AccessDeniedException"
    error = {"Code": code, "Message": "no", "HTTPStatusCode": 400}
    denied = {"service": service, "operation": name, "params": {}, "error": error}
    document["calls"] = [denied, *kept]


def _empty(document: dict[str, Any], group: str, stream: str) -> None:
    document["log_store"][group]["streams"][stream].update(hours={}, kernel_hours={}, events=[])


def breaches(whole: Answer, blind: Blinded) -> list[str]:
    """Return what a blinded report claims beyond the whole one."""
    base, less = whole.report, blind.answer.report
    found: list[str] = []
    if not blind.answer.hours <= whole.hours:
        found.append("more hours claimed")
    unseen = {row.what for row in less.not_seen} - {row.what for row in base.not_seen}
    for node, verdict in less.verdicts.items():
        before = base.verdicts.get(node)
        milder = before is not None and _STRENGTH.index(verdict) > _STRENGTH.index(before)
        if milder and not unseen:
            found.append(f"{node} became {verdict} from {before}, and nothing is named as unseen")
    newly_proven = less.label is Label.PROVEN and base.label is not Label.PROVEN
    if newly_proven:
        found.append(f"label became Proven ({less.branch}) from {base.label} ({base.branch})")
    if _CONFIDENCE.index(less.confidence) > _CONFIDENCE.index(base.confidence):
        found.append(f"confidence rose to {less.confidence} from {base.confidence}")
    other = less.label is Label.PROVEN and less.branch is not base.branch
    if other and base.branch is not None:
        found.append(f"another branch is Proven: {less.branch} instead of {base.branch}")
    return [f"{blind.taken}: {text}" for text in found]


@pytest.mark.parametrize("case", FIELD, ids=lambda p: p.name)
def test_a_case_without_one_of_its_files_claims_no_more(case: Path, tmp_path: Path) -> None:
    question = json.loads((case / "expected.json").read_text(encoding="utf-8"))["question"]
    base = answer(case, question)
    found = [b for blind in without_each_file(case, tmp_path) for b in breaches(base, blind)]
    assert found == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda p: p.stem)
def test_a_scenario_with_one_reading_denied_or_emptied_claims_no_more(
    scenario: Path, tmp_path: Path
) -> None:
    document = json.loads(scenario.read_text(encoding="utf-8"))
    base = answer(scenario, document["question"])
    found = [b for blind in without_each_reading(scenario, tmp_path) for b in breaches(base, blind)]
    assert found == []


def test_the_comparison_itself_sees_a_claim_that_grew() -> None:
    """The property fails on a planted fault: the whole report against one from less evidence."""
    case = FIELD[-1]
    question = json.loads((case / "expected.json").read_text(encoding="utf-8"))["question"]
    whole = answer(case, question)
    less = whole._replace(hours=frozenset())
    assert breaches(less, Blinded("nothing", whole)) != []
    doubtful = whole.report.model_copy(update={"label": Label.HYPOTHESIS})
    proven = whole.report.model_copy(update={"label": Label.PROVEN})
    assert breaches(Answer(doubtful, whole.hours), Blinded("x", Answer(proven, whole.hours))) != []
