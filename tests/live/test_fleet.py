"""Whole modes over a simulated account: in time and within their calls, whatever fails."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from simulated.account import Account, Fault, Params, account_of
from simulated.clients import live_door
from simulated.fleet import ACCOUNT, CLUSTER, NOW, REGION, Kind, detection, fleet, xid

from gpuvet.aws.budget import MCP_CALLS, MCP_SECONDS, SCAN_GB
from gpuvet.case import Case
from gpuvet.case.live_case import live_case
from gpuvet.model.audit import AuditReport
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.model.target import Target
from gpuvet.model.verdict import Verdict
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

Report = AuditReport | IncidentReport | PreflightReport | VerdictReport
BROKEN, BEFORE = 3, 5  # places of a node with a fault in the window, and of one with an older one
MILD = {Verdict.LEAVE_ALONE, Verdict.MONITOR}


def account(kind: Kind, nodes: int) -> Account:
    """Return an account with a broken node, and one whose fault is a week old."""
    made = fleet(kind, nodes)
    xid(made.carrier(BROKEN), 79, NOW - timedelta(hours=3))
    if nodes > BEFORE:
        xid(made.carrier(BEFORE), 79, NOW - timedelta(days=7))
    if kind == "hyperpod":
        detection(made, made.nodes[BROKEN], 79, NOW - timedelta(hours=3))
    return account_of(made)


def case(
    asked: Account,
    *,
    seconds: float = 600.0,
    calls: int | None = None,
    max_scan_gb: float = SCAN_GB,
    tell: Callable[[str], None] | None = None,
) -> Case:
    tag = asked.fleet.kind == "ec2"
    return live_case(
        live_door(asked, seconds=seconds, calls=calls),
        Target(tag=("fleet", CLUSTER)) if tag else Target(cluster=CLUSTER),
        now=NOW,
        region=REGION,
        account=ACCOUNT,
        max_scan_gb=max_scan_gb,
        tell=tell,
    )


def _verdicts(of: Case) -> Report:
    return verdict_report(of, Asked(), clock=NOW)


def _incident(of: Case) -> Report:
    return incident_report(of, Asked(), clock=NOW)


def _audit(of: Case) -> Report:
    return audit_report(of, Asked(), clock=NOW)


def _preflight(of: Case) -> Report:
    return preflight_report(of, RunWords(hours=48.0), clock=NOW)


MODES: dict[str, Callable[[Case], Report]] = {
    "verdict": _verdicts,
    "incident": _incident,
    "audit": _audit,
    "preflight": _preflight,
}
KINDS: list[Kind] = ["hyperpod", "parallelcluster", "eks", "ec2"]


def claimed(report: Report) -> Iterator[tuple[tuple[str, str | None, str | None], int]]:
    """Yield the hours that a source of a node claims to have shown."""
    for row in report.coverage:
        if row.status in {CoverageStatus.MEASURED, CoverageStatus.PARTIAL}:
            yield (row.node, row.group, row.stream), row.hours_measured


def verdicts(report: Report) -> dict[str, Verdict]:
    return {one.node: one.verdict for one in report.nodes}


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("verdict", "ec2"),
        ("verdict", "eks"),
        ("incident", "hyperpod"),
        ("incident", "parallelcluster"),
        ("audit", "parallelcluster"),
        ("preflight", "hyperpod"),
    ],
)
def test_a_fleet_is_answered_within_a_requests_time_and_calls(mode: str, kind: Kind) -> None:
    asked = account(kind, 300)
    report = MODES[mode](case(asked, seconds=MCP_SECONDS, calls=MCP_CALLS))
    assert asked.clock.seconds <= MCP_SECONDS
    assert asked.calls <= MCP_CALLS
    assert len(report.nodes) == 300
    found = verdicts(report)
    broken = asked.fleet.nodes[BROKEN].id
    assert found[broken] not in {*MILD, Verdict.NOT_OBSERVABLE}
    if mode != "preflight":
        assert {v for n, v in found.items() if n != broken} <= {*MILD, Verdict.REBOOT}
        assert not [row for row in report.not_seen if row.reason == "budget"]


@pytest.mark.parametrize("kind", KINDS)
def test_few_nodes_and_a_fleet_are_judged_alike(kind: Kind) -> None:
    def judged(nodes: int) -> list[tuple[Verdict, int]]:
        asked = account(kind, nodes)
        asked.fleet.carrier(6).died = (NOW - timedelta(days=2)).timestamp()
        report = _verdicts(case(asked))
        dead = asked.fleet.carrier(6)
        (told,) = [row for row in report.coverage if row.stream == dead.name]
        assert (told.status, told.hours_measured) == (CoverageStatus.NOT_OBSERVABLE, 0)
        hours = dict.fromkeys(range(8), 0)
        ids = {one.id: place for place, one in enumerate(asked.fleet.nodes[:8])}
        for (node, _, _), measured in claimed(report):
            if node in ids:
                hours[ids[node]] = max(hours[ids[node]], measured)
        found = verdicts(report)
        return [(found[n], hours[place]) for n, place in ids.items()]

    assert judged(8) == judged(210)


@pytest.mark.parametrize("mode", MODES)
def test_wherever_the_calls_end_the_answer_claims_no_more_and_says_so(mode: str) -> None:
    whole_account = account("parallelcluster", 6)
    whole = MODES[mode](case(whole_account))
    hours = dict(claimed(whole))
    worst = verdicts(whole)
    for calls in range(4, whole_account.calls, 5):
        asked = account("parallelcluster", 6)
        report = MODES[mode](case(asked, calls=calls))
        stops = asked.made["logs:StopQuery"]
        assert asked.calls - stops <= calls
        assert {row.reason for row in report.not_seen} >= {"budget"}
        assert {k: n for k, n in claimed(report) if n > hours.get(k, 0)} == {}
        milder = [
            node
            for node, verdict in verdicts(report).items()
            if verdict in MILD and worst.get(node) not in MILD
        ]
        # Only a fault older than the window may be missed, where its lines are named unread.
        older = {n for row in report.not_seen if "days before" in row.what for n in row.nodes}
        assert set(milder) <= older & {asked.fleet.nodes[BEFORE].id}, calls


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seconds", [1.0, 3.0, 5.0, 7.0])
def test_wherever_the_time_ends_the_answer_comes_then(mode: str, seconds: float) -> None:
    asked = account("hyperpod", 220)
    report = MODES[mode](case(asked, seconds=seconds))
    assert asked.clock.seconds <= seconds + 1
    assert {row.reason for row in report.not_seen} >= {"budget"}
    stopped = {one.id for one in asked.queries.values() if one.is_stopped}
    running = {one.id for one in asked.queries.values() if one.ends_at > asked.clock.seconds}
    assert len(running - stopped) <= 4


def test_the_windows_lines_are_read_before_the_month_before_it() -> None:
    asked = account("parallelcluster", 300)
    _verdicts(case(asked))
    window, month = (one for one in asked.queries.values() if "NVRM" in one.text)
    assert window.statistics["bytesScanned"] < month.statistics["bytesScanned"] / 10


def test_what_a_month_would_scan_is_refused_and_the_window_is_read_all_the_same() -> None:
    told: list[str] = []
    asked = account("parallelcluster", 300)
    report = _verdicts(case(asked, max_scan_gb=0.5, tell=told.append))
    assert verdicts(report)[asked.fleet.nodes[BROKEN].id] is Verdict.REBOOT
    missing = [row for row in report.not_seen if "days before" in row.what]
    assert [row.reason for row in missing] == ["budget"]
    assert len(missing[0].nodes) == 300
    (refused,) = [row for row in report.not_seen if "logs:StartQuery" in row.what]
    assert "the limit is 0.5 GB" in refused.closes_with
    assert asked.scanned < 0.5e9


def test_what_queries_will_scan_is_told_before_they_do() -> None:
    told: list[str] = []
    asked = account("ec2", 300)
    asked.fleet.carrier(0).lines_an_hour = 200_000
    _verdicts(case(asked, tell=told.append))
    assert told
    assert all("GB, about $" in one and "the limit is 50 GB" in one for one in told)


def fails(asked: Account, test: Callable[[Params], bool], code: str) -> Report:
    asked.faults.append(Fault("logs:StartQuery", code, test))
    return _verdicts(case(asked))


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
@pytest.mark.parametrize("word", ["stats count(*) as lines, sum", "NVRM", "kernelLines, max"])
@pytest.mark.parametrize("nodes", [12, 210])
def test_a_kind_of_query_that_fails_closes_what_rests_on_it(
    nodes: int, word: str, code: str
) -> None:
    whole = dict(claimed(_verdicts(case(account("eks", nodes)))))
    report = fails(account("eks", nodes), lambda params: word in params["queryString"], code)
    assert {k: n for k, n in claimed(report) if n > whole.get(k, 0)} == {}
    named = [row for row in report.not_seen if "logs:StartQuery" in row.what]
    if word == "kernelLines, max":  # only streams without kernel lines in the window are asked
        assert bool(named) == (nodes == 12)
    else:
        assert named
        assert not [v for v in verdicts(report).values() if v in MILD]


def test_a_denied_listing_of_groups_shows_no_node_as_never_shipped() -> None:
    asked = account("eks", 12)
    asked.faults.append(Fault("logs:DescribeLogGroups", "AccessDeniedException"))
    report = _verdicts(case(asked))
    assert set(verdicts(report).values()) == {Verdict.NOT_OBSERVABLE}
    assert all("denied" in row.reason for row in report.not_seen if row.nodes)
