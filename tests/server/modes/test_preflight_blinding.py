"""A whole preflight from less evidence, over every shared scenario and field case.

Every operation that a preflight asks is refused in one of three ways, and cut short or cut to
nothing (all five over its own scenario); every stream is emptied and loses its first, middle and
last hour; every file of a folder is taken away.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.case import load_case
from gpuvet.model.cause import Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.evidence import Envelope
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.readiness import Ready
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords

CASES = Path(__file__).parents[2] / "cases"
SCENARIOS = sorted((CASES / "scenarios").glob("s*.json"))
FIELD = sorted(p for p in (CASES / "field").iterdir() if (p / "inputs").is_dir())
S07 = next(path for path in SCENARIOS if path.name.startswith("s07"))
LATE = datetime(2027, 1, 1, tzinfo=UTC)
BAD = {CheckStatus.FAIL, CheckStatus.RISK, CheckStatus.UNVERIFIED}
GOOD = {CheckStatus.PASS, CheckStatus.NOT_APPLICABLE}
_BETTER = (Ready.NO, Ready.NOT_DECIDED, Ready.WITH_RISKS, Ready.YES)
RUN = RunWords(hours=72.0)
# Files that are the question or the clock, not evidence: without them another thing is asked.
_NOT_EVIDENCE = {"now.txt"}

Document = dict[str, Any]
Operation = tuple[str, str]


@dataclass(frozen=True)
class Listening:
    """A door that remembers which operations were asked."""

    door: AwsDoor
    asked: set[Operation] = field(default_factory=set[Operation])

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        service, _, name = operation.partition(":")
        self.asked.add((service, name))
        return self.door.read(operation, params, region=region)


def without(document: Document, operation: Operation) -> Document:
    kept = [c for c in document["calls"] if (c["service"], c["operation"]) != operation]
    return {**document, "calls": kept}


def refused(document: Document, operation: Operation, code: str) -> Document:
    service, name = operation
    error = {"Code": code, "Message": "no", "HTTPStatusCode": 400}
    call = {"service": service, "operation": name, "params": {}, "error": error}
    changed = without(document, operation)
    return {**changed, "calls": [call, *changed["calls"]]}


def shortened(document: Document, operation: Operation, *, keep: float) -> Document:
    """Return replies with a part of each list; a kept part says that more would follow."""
    changed = deepcopy(document)
    for call in changed["calls"]:
        reply = call.get("response")
        if (call["service"], call["operation"]) != operation or reply is None:
            continue
        lists = [key for key, value in reply.items() if isinstance(value, list)]
        reply.update({key: reply[key][: int(len(reply[key]) * keep)] for key in lists})
        if lists:
            reply["NextToken"] = reply["nextToken"] = "more"
    return changed


def less_of_calls(
    document: Document, asked: set[Operation], *, every_way: bool
) -> Iterator[tuple[str, Document]]:
    """Yield a document with less of each operation; the ways take turns, or all are tried."""
    for place, operation in enumerate(sorted(asked)):
        ways = list(ways_of_losing(document, operation))
        yield from ways if every_way else (ways[place % 3], ways[3 + place % 2])


def ways_of_losing(document: Document, operation: Operation) -> Iterator[tuple[str, Document]]:
    name = ":".join(operation)
    denial = "UnauthorizedOperation" if operation[0] == "ec2" else "AccessDeniedException"
    yield f"{name} denied", refused(document, operation, denial)
    yield f"{name} throttled", refused(document, operation, "ThrottlingException")
    yield f"{name} not recorded", without(document, operation)
    yield f"{name} cut short", shortened(document, operation, keep=0.5)
    yield f"{name} cut to nothing", shortened(document, operation, keep=0.0)


def less_of_logs(document: Document) -> Iterator[tuple[str, Document]]:
    for group, streams in document["log_store"].items():
        for stream, own in streams.get("streams", {}).items():
            gone = deepcopy(document)
            gone["log_store"][group]["streams"][stream].update(hours={}, kernel_hours={}, events=[])
            yield f"{stream} emptied", gone
            hours = sorted(own.get("hours", {}))
            for hour in dict.fromkeys((*hours[:1], *hours[len(hours) // 2 :][:1], *hours[-1:])):
                yield f"{stream} without {hour}", without_hour(document, group, stream, hour)


def without_hour(document: Document, group: str, stream: str, hour: str) -> Document:
    changed = deepcopy(document)
    own = changed["log_store"][group]["streams"][stream]
    for name in ("hours", "kernel_hours"):
        own[name] = {key: value for key, value in own.get(name, {}).items() if key != hour}
    return changed


def reported(path: Path, question: str | None = None) -> PreflightReport:
    return preflight_report(load_case(path, question=question), RUN, clock=LATE)


def answered(document: Document, room: Path) -> PreflightReport:
    path = room / "scenario.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return reported(path)


def breaches(whole: PreflightReport, less: PreflightReport) -> list[str]:
    before = {check.id: check.status for check in whole.checks}
    found = [
        f"{check.id}: {before[check.id]} became {check.status}"
        for check in less.checks
        if before[check.id] in BAD and check.status in GOOD
    ]
    if whole.label is not Label.PROVEN and less.label is Label.PROVEN:
        found.append("label became Proven")
    for length, answer in less.ready.items():
        is_better = _BETTER.index(answer) > _BETTER.index(whole.ready[length])
        if is_better and answer in {Ready.YES, Ready.WITH_RISKS}:
            found.append(f"ready became {answer} from {whole.ready[length]}")
    after = {check.id: check.status for check in less.checks}
    if after["P1"] is CheckStatus.UNVERIFIED and after["P2"] is not CheckStatus.UNVERIFIED:
        found.append(f"P2 is {after['P2']} while P1 is unknown")
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda p: p.name[:3])
def test_no_reply_stream_or_hour_taken_away_makes_a_run_look_better(
    scenario: Path, tmp_path: Path
) -> None:
    document: Document = json.loads(scenario.read_text(encoding="utf-8"))
    case = load_case(scenario)
    door = Listening(case.aws)
    whole = preflight_report(replace(case, aws=door), RUN, clock=LATE)
    found = [
        f"{taken}: {text}"
        for taken, changed in (
            *less_of_calls(document, door.asked, every_way=scenario == S07),
            *less_of_logs(document),
        )
        for text in breaches(whole, answered(changed, tmp_path))
    ]
    assert found == []


@pytest.mark.parametrize("case", FIELD, ids=lambda p: p.name[:2])
def test_no_file_taken_away_makes_a_run_look_better(case: Path, tmp_path: Path) -> None:
    question = json.loads((case / "expected.json").read_text(encoding="utf-8"))["question"]
    whole = reported(case, question)
    found: list[str] = []
    for file in sorted((case / "inputs").iterdir()):
        room = tmp_path / file.name
        shutil.copytree(case / "inputs", room / "inputs")
        (room / "inputs" / file.name).unlink()
        if file.name not in _NOT_EVIDENCE and any((room / "inputs").iterdir()):
            less = reported(room, question)
            found += [f"{file.name}: {text}" for text in breaches(whole, less)]
    assert found == []


def test_the_comparison_itself_sees_a_check_that_got_better() -> None:
    whole = reported(S07)
    better = tuple(c.model_copy(update={"status": CheckStatus.PASS}) for c in whole.checks)
    planted = whole.model_copy(update={"checks": better, "ready": {"72": Ready.YES}})

    found = breaches(whole, planted)

    assert "P1: FAIL became PASS" in found
    assert "ready became Yes from No" in found
