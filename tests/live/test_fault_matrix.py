"""Every state of every operation used by every mode: a report comes, and says what was not seen."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from live.scenarios import SCENARIOS, as_live, asked, document, door, now

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.iam_policy import PolicyMode, reads_of
from gpuvet.aws.reads import OTHER_READS, READS
from gpuvet.case import Case, load_case
from gpuvet.model.audit import AuditReport
from gpuvet.model.cause import Label
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

Report = AuditReport | IncidentReport | PreflightReport | VerdictReport
Mode = Callable[..., Report]


class Fault(NamedTuple):
    """A state as the door would give it."""

    status: Status
    reason: Reason | None = None
    code: str | None = None
    keeps_rows: bool = False

    @property
    def shown(self) -> str:
        """The word a report must show."""
        return self.reason or self.code or self.status.value.lower()


FAULTS = {
    "denied": Fault(Status.UNVERIFIED, Reason.DENIED, "AccessDeniedException"),
    "expired": Fault(Status.UNVERIFIED, Reason.EXPIRED, "ExpiredTokenException"),
    "throttled": Fault(Status.UNVERIFIED, Reason.THROTTLED, "ThrottlingException"),
    "throttled on the way": Fault(Status.PARTIAL, Reason.THROTTLED, "Throttling", keeps_rows=True),
    "timed out": Fault(Status.UNVERIFIED, Reason.TIMED_OUT, "ReadTimeoutError"),
    "not subscribed": Fault(
        Status.UNVERIFIED, Reason.NOT_SUBSCRIBED, "SubscriptionRequiredException"
    ),
    "not supported": Fault(Status.NOT_SUPPORTED, Reason.NOT_SUPPORTED, "ValidationException"),
    "unreachable": Fault(Status.UNVERIFIED, Reason.UNREACHABLE, "EndpointConnectionError"),
    "row cap": Fault(Status.PARTIAL, Reason.ROW_CAP, keeps_rows=True),
    "page cap": Fault(Status.PARTIAL, Reason.PAGE_CAP, keeps_rows=True),
    "budget": Fault(Status.NOT_CHECKED, Reason.BUDGET),
    "refused": Fault(Status.UNVERIFIED, None, "InvalidParameterException"),
    "not found": Fault(Status.NOT_FOUND, None, "ResourceNotFoundException"),
}


class Faulty:
    """An account of which one operation answers with a fault, and a list of what was asked."""

    def __init__(self, behind: AwsDoor) -> None:
        self._behind = behind
        self.operation = ""
        self.fault = FAULTS["denied"]
        self.asked: set[str] = set()
        self.met = False

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """See `AwsDoor.read`."""
        self.asked.add(operation)
        answer = self._behind.read(operation, params, region=region)
        if operation != self.operation:
            return answer
        fault, self.met = self.fault, True
        return answer.model_copy(
            update={
                "status": fault.status,
                "reason": fault.reason,
                "error_code": fault.code,
                "value": answer.value if fault.keeps_rows else None,
            }
        )


class Ending(Faulty):
    """An account of which nothing more can be asked after some reads."""

    left = 0

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """See `AwsDoor.read`."""
        self.left -= 1
        self.operation = operation if self.left < 0 else ""
        return super().read(operation, params, region=region)


def _preflight(case: Case, _window: Asked, *, clock: datetime) -> PreflightReport:
    return preflight_report(case, RunWords(hours=48.0), clock=clock)


# One of each: HyperPod with Slurm and with EKS, ParallelCluster, EKS.
KINDS = [path for path in SCENARIOS if path.stem[:3] in {"s02", "s03", "s06", "s08"}]
MODES: dict[str, tuple[Mode, tuple[PolicyMode, ...]]] = {
    "verdict": (verdict_report, tuple(PolicyMode)),
    "incident": (incident_report, (PolicyMode.INCIDENT,)),
    "audit": (audit_report, (PolicyMode.AUDIT,)),
    "preflight": (_preflight, (PolicyMode.PREFLIGHT,)),
}


def run(
    mode: Mode, scenario: Mapping[str, Any], aws: Faulty, operation: str, fault: Fault
) -> Report:
    # What does not exist cannot be looked up by name: that fault begins after the lookup.
    aws.operation = "" if fault.status is Status.NOT_FOUND else operation
    aws.fault = fault
    case = as_live(scenario, aws)
    aws.operation = operation
    return report_of(mode, case, asked(scenario), now(scenario))


def report_of(mode: Mode, case: Case, window: Asked, clock: datetime) -> Report:
    return mode(case, window, clock=clock)


def measured(report: Report) -> Iterator[tuple[tuple[str, str | None, str | None], int]]:
    """Yield the hours over which a source claims to have shown what there was."""
    for row in report.coverage:
        if row.status in {CoverageStatus.MEASURED, CoverageStatus.PARTIAL}:
            yield (row.node, row.group, row.stream), row.hours_measured


def better(report: PreflightReport, best: PreflightReport) -> list[str]:
    """Return the checks that a fault turned into PASS or NOT_APPLICABLE."""
    fine = {"PASS", "NOT_APPLICABLE"}
    before = {check.id: check.status.value for check in best.checks}
    return [
        f"{check.id}: {before.get(check.id)} became {check.status.value}"
        for check in report.checks
        if check.status.value in fine and before.get(check.id) not in fine
    ]


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", MODES)
def test_whatever_fails_a_report_comes_and_names_it(name: str, path: Path) -> None:
    mode, policies = MODES[name]
    scenario = document(path)
    whole = Faulty(door(scenario))
    best = run(mode, scenario, whole, "", FAULTS["denied"])
    allowed = {read.operation for policy in policies for read in reads_of(policy)}
    every = (*READS.values(), *OTHER_READS.values())
    allowed |= {read.operation for read in every if not read.is_minimal}
    assert whole.asked <= allowed
    hours = dict(measured(best))
    unnamed: list[str] = []
    for operation in sorted(whole.asked):
        for word, fault in FAULTS.items():
            aws = Faulty(door(scenario))
            report = run(mode, scenario, aws, operation, fault)
            named = [row for row in report.not_seen if operation in row.what]
            is_named = any(row.reason == fault.shown and row.closes_with for row in named)
            if aws.met and not is_named:
                unnamed.append(f"{operation} {word}: {named}")
            enlarged = {k: n for k, n in measured(report) if n > hours.get(k, 0)}
            assert enlarged == {}, (operation, word)
            if isinstance(report, PreflightReport) and isinstance(best, PreflightReport):
                assert better(report, best) == [], (operation, word)
            if isinstance(report, IncidentReport) and isinstance(best, IncidentReport):
                proven = report.label is Label.PROVEN
                assert not proven or best.label is Label.PROVEN, (operation, word)
    assert unnamed == []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("fault", [FAULTS["denied"], FAULTS["expired"], FAULTS["budget"]])
def test_an_account_that_answers_nothing_at_all_still_gets_a_report(
    name: str, path: Path, fault: Fault
) -> None:
    scenario = document(path)
    aws = Ending(door(scenario))
    aws.fault = fault
    report = report_of(MODES[name][0], as_live(scenario, aws), asked(scenario), now(scenario))
    assert {row.reason for row in report.not_seen} >= {fault.shown}
    assert not [n for n in report.nodes if n.verdict.value in {"LEAVE ALONE", "MONITOR"}]


@pytest.mark.parametrize("path", KINDS[:2], ids=lambda path: path.stem)
@pytest.mark.parametrize("name", MODES)
def test_wherever_a_budget_ends_a_report_comes_and_says_so(name: str, path: Path) -> None:
    scenario = document(path)
    for reads in range(200):
        aws = Ending(door(scenario))
        aws.left, aws.fault = reads, FAULTS["budget"]
        report = report_of(MODES[name][0], as_live(scenario, aws), asked(scenario), now(scenario))
        if aws.left >= 0:
            return  # the whole question was asked
        assert "budget" in {row.reason for row in report.not_seen}
    pytest.fail("a question of a few nodes takes more than 200 reads")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", MODES)
def test_a_live_cluster_gets_the_answer_of_its_recording(name: str, path: Path) -> None:
    mode, _ = MODES[name]
    scenario = document(path)
    live = report_of(mode, as_live(scenario, door(scenario)), asked(scenario), now(scenario))
    recorded = report_of(mode, load_case(path), Asked(), now(scenario))
    assert live.verdicts == recorded.verdicts
    assert (live.branch, live.label) == (recorded.branch, recorded.label)
    assert [row.status for row in live.coverage] == [row.status for row in recorded.coverage]
