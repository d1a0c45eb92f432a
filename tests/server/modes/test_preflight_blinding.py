"""A whole preflight from less evidence: every recorded operation refused, unrecorded, cut short."""

import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case import load_case
from gpuvet.model.cause import Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.readiness import Ready
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords

SCENARIOS = Path(__file__).parents[2] / "cases" / "scenarios"
S07 = json.loads((SCENARIOS / "s07-preflight-fails-p1-p4.json").read_text(encoding="utf-8"))
S01 = json.loads((SCENARIOS / "s01-silent-kernel-stream.json").read_text(encoding="utf-8"))
LATE = datetime(2027, 1, 1, tzinfo=UTC)
BAD = {CheckStatus.FAIL, CheckStatus.RISK, CheckStatus.UNVERIFIED}
GOOD = {CheckStatus.PASS, CheckStatus.NOT_APPLICABLE}
_BETTER = (Ready.NO, Ready.NOT_DECIDED, Ready.WITH_RISKS, Ready.YES)

Document = dict[str, Any]


def operations(document: Document) -> list[tuple[str, str]]:
    return sorted(
        {(c["service"], c["operation"]) for c in document["calls"]} - {("logs", "StopQuery")}
    )


def without(document: Document, operation: tuple[str, str]) -> Document:
    kept = [c for c in document["calls"] if (c["service"], c["operation"]) != operation]
    return {**document, "calls": kept}


def refused(document: Document, operation: tuple[str, str], code: str) -> Document:
    service, name = operation
    error = {"Code": code, "Message": "no", "HTTPStatusCode": 400}
    call = {"service": service, "operation": name, "params": {}, "error": error}
    changed = without(document, operation)
    return {**changed, "calls": [call, *changed["calls"]]}


def cut(document: Document, operation: tuple[str, str]) -> Document:
    changed = deepcopy(document)
    for call in changed["calls"]:
        reply = call.get("response")
        if (call["service"], call["operation"]) != operation or reply is None:
            continue
        lists = [key for key, value in reply.items() if isinstance(value, list)]
        if lists:
            reply.update({key: reply[key][: len(reply[key]) // 2] for key in lists})
            reply["NextToken"] = "more"
    return changed


def answered(document: Document, room: Path) -> PreflightReport:
    path = room / "scenario.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return preflight_report(load_case(path), RunWords(hours=72.0), clock=LATE)


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


@pytest.mark.parametrize("document", [S07, S01], ids=["s07", "s01"])
def test_no_operation_taken_away_makes_a_run_look_better(
    document: Document, tmp_path: Path
) -> None:
    whole = answered(document, tmp_path)
    found: list[str] = []
    for operation in operations(document):
        denial = "UnauthorizedOperation" if operation[0] == "ec2" else "AccessDeniedException"
        for how, changed in (
            ("denied", refused(document, operation, denial)),
            ("not recorded", without(document, operation)),
            ("cut short", cut(document, operation)),
        ):
            less = answered(changed, tmp_path)
            found += [f"{':'.join(operation)} {how}: {text}" for text in breaches(whole, less)]
    assert found == []


def test_the_comparison_itself_sees_a_check_that_got_better(tmp_path: Path) -> None:
    whole = answered(S07, tmp_path)
    better = tuple(c.model_copy(update={"status": CheckStatus.PASS}) for c in whole.checks)
    planted = whole.model_copy(update={"checks": better, "ready": {"72": Ready.YES}})

    found = breaches(whole, planted)

    assert "P1: FAIL became PASS" in found
    assert "ready became Yes from No" in found
