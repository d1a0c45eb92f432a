"""Gathers branch D through the doors: NCCL's lines, links, EFA counters, groups and requests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from gpuvet.aws.capacity import list_subnets
from gpuvet.aws.door import LogLine, LogStream
from gpuvet.aws.efa_metrics import read_efa_series
from gpuvet.aws.network import (
    read_efa_limits,
    read_hyperpod_groups,
    read_instances,
    read_main_route_tables,
    read_route_tables,
    read_rule_changes,
    read_security_groups,
)
from gpuvet.aws.reads import PROMETHEUS
from gpuvet.calculators.branch_network import network_evidence, timeline_network
from gpuvet.calculators.guilty import Names, find_guilty
from gpuvet.calculators.layer_setup import carried_groups
from gpuvet.calculators.network_view import JobNode, NetworkView
from gpuvet.calculators.verdict import judge_cluster
from gpuvet.case import Case, node_names
from gpuvet.model.case import Accelerator, CaseNode
from gpuvet.model.cause import BranchEvidence, TimelineEvent
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence, NotSeen
from gpuvet.model.coverage import CoverageStatus, Gate, Shipper
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.network import EfaSeries, GuiltyFinding, NcclLog, RouteTable
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.modes.gather_efa import read_efa
from gpuvet.modes.logs import unread
from gpuvet.modes.network_facts import (
    efa_readings,
    efa_series,
    pod_nodes,
    requests_of,
    told_complaints,
)
from gpuvet.modes.scope import Scope
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_log import CANDIDATES, joined_logs, parse_nccl
from gpuvet.parse.pod_requests import EFA_RESOURCE
from gpuvet.parse.shipper import shipper_of_name

# Ours: a run that is slow today may have printed its transport when it started, a day before.
_LOOK_BACK = timedelta(hours=24)
# incident-branches §E: changes count from 6 h before.
_CHANGES_BACK = timedelta(hours=6)


def gather_network(
    case: Case, scope: Scope, cluster_evidence: ClusterEvidence
) -> tuple[BranchEvidence, tuple[TimelineEvent, ...], GuiltyFinding | None]:
    """Return branch D, its timeline entries, and whom the ranks point at.

    Args:
        case: Where the evidence comes from.
        scope: The question as resolved.
        cluster_evidence: The nodes' records and coverage, gathered before.
    """
    log, missing = transport_lines(case, scope)
    view = _attached(case, scope, _view(case, scope, cluster_evidence, log, missing))
    guilty = find_guilty(log, case.flight_dumps, _names(case, view))
    return network_evidence(view, guilty), timeline_network(view), guilty


def network_view(case: Case, scope: Scope) -> NetworkView:
    """Return how the nodes are attached and what NCCL said, without the logs of the nodes' faults.

    Args:
        case: Where it is read.
        scope: The question as resolved.
    """
    log, missing = transport_lines(case, scope)
    nobody = ClusterEvidence(
        orchestrator=scope.orchestrator,
        now=scope.now,
        window=scope.window,
        window_source="as asked",
        nodes=(),
    )
    return _attached(case, scope, _view(case, scope, nobody, log, missing))


def _job_nodes(scope: Scope) -> tuple[CaseNode, ...]:
    """Return the GPU nodes of the job; of an unknown job those of the cluster."""
    named = set(scope.failure.nodes)
    nodes = [one for one in scope.nodes if not named or one.node in named]
    return tuple(one for one in nodes if one.accelerator is not Accelerator.NO)


def transport_lines(case: Case, scope: Scope) -> tuple[NcclLog, tuple[NotSeen, ...]]:
    """Return what job output and streams of the nodes say, and what of them was not read."""
    found: list[NcclLog] = []
    missing: list[NotSeen] = []
    for text in case.job_logs:
        lines = (RawLine(line, place) for place, line in enumerate(text.text.splitlines(), 1))
        owner = text.node or ""
        found.append(parse_nccl(lines, node=owner, stream=text.file, reference_time=scope.now))
        if text.cut:
            missing.append(
                NotSeen(
                    what=f"the rest of {text.file}",
                    reason=Reason.CUT_SHORT,
                    closes_with="the file's NCCL, watchdog and EFA lines alone",
                )
            )
    streams = case.logs.streams(node_names(scope.nodes))
    telling, window = _telling(streams.value or (), scope.window, scope.now)
    lines_read = case.logs.lines_like(telling, window, CANDIDATES)
    missing += unread(streams, "log streams of the nodes", "list the log streams")
    missing += unread(lines_read, "NCCL and watchdog lines of the streams", "read the lines again")
    found += _by_stream(lines_read.value or (), scope.now)
    found.append(NcclLog(complaints=tuple(told_complaints(case.facts))))
    return joined_logs(found), tuple(missing)


def begin_transport(case: Case, nodes: Sequence[CaseNode], window: Window, now: datetime) -> None:
    """Start reading what `transport_lines` reads of the streams of these nodes."""
    streams = case.logs.streams(node_names(nodes)).value or ()
    telling, span = _telling(streams, window, now)
    case.logs.begin(like=[(telling, span, CANDIDATES)])


def _telling(
    streams: Sequence[LogStream], window: Window, now: datetime
) -> tuple[list[LogStream], Window]:
    """Return the streams that may speak of the transport between nodes, and over which span."""
    telling = [s for s in streams if shipper_of_name(s.stream, s.group) is not Shipper.HMA]
    return telling, Window(start=window.start - _LOOK_BACK, end=max(window.end, now))


def _by_stream(lines: Sequence[LogLine], now: datetime) -> Iterator[NcclLog]:
    streams: dict[tuple[str, str | None, str], list[RawLine]] = {}
    for line in lines:
        at = line.shipped_at_ms
        shipped = datetime.fromtimestamp(at / 1000, tz=UTC) if at is not None else None
        raw = RawLine(line.text, line.line, shipped)
        streams.setdefault((line.node, line.group, line.stream), []).append(raw)
    for (node, group, stream), raw_lines in streams.items():
        owner = node if node.startswith("i-") else ""
        yield parse_nccl(raw_lines, node=owner, stream=stream, group=group, reference_time=now)


def _view(
    case: Case,
    scope: Scope,
    evidence: ClusterEvidence,
    log: NcclLog,
    missing: tuple[NotSeen, ...],
) -> NetworkView:
    records = {one.node: one for one in evidence.nodes}
    faulty = {
        one.node
        for one in judge_cluster(evidence)
        if one.fault_class is FaultClass.HARDWARE
        and one.verdict in {Verdict.REPLACE, Verdict.REBOOT}
    }
    nodes = tuple(
        _job_node(case, scope, node, records.get(node.node), is_faulty=node.node in faulty)
        for node in _job_nodes(scope)
    )
    return NetworkView(
        failure=scope.failure,
        nodes=nodes,
        since=scope.window.start,
        log=log,
        log_unseen=missing,
        clean=case.facts.clean_signals,
        readings=efa_readings(case),
        pods=requests_of(case),
    )


def _job_node(
    case: Case, scope: Scope, node: CaseNode, seen: NodeEvidence | None, *, is_faulty: bool
) -> JobNode:
    reading = case.facts.of(node.node)
    offered = dict(reading.allocatable).get(EFA_RESOURCE) if reading else None
    base = JobNode(
        node=node.node,
        aliases=tuple(one for one in (node.host, *node.aliases) if one),
        instance_type=node.instance_type,
        efa_allocatable=int(offered) if offered and offered.isdigit() else None,
        is_hyperpod=scope.orchestrator.is_hyperpod,
        is_faulty=is_faulty,
        group=node.instance_group,
    )
    if seen is None:
        return base
    is_seen = seen.coverage.gate in {Gate.MEASURED, Gate.HMA_ONLY}
    return JobNode(
        node=base.node,
        aliases=base.aliases,
        instance_type=base.instance_type or seen.instance_type,
        records=seen.records,
        coverage=seen.coverage.status if is_seen else CoverageStatus.NOT_OBSERVABLE,
        gpus=seen.facts.gpus,
        efa_allocatable=base.efa_allocatable,
        is_hyperpod=base.is_hyperpod,
        is_faulty=is_faulty,
        group=base.group,
    )


def _attached(case: Case, scope: Scope, view: NetworkView) -> NetworkView:
    """Return the view with what AWS says of the nodes' network."""
    known: dict[str, Any] = {one.name: getattr(view, one.name) for one in fields(view)}
    ids = [one.node for one in view.nodes if one.node.startswith("i-")]
    types = sorted({one.instance_type for one in view.nodes if one.instance_type})
    if scope.orchestrator.is_hyperpod:
        known["hyperpod_groups"] = read_hyperpod_groups(case.aws, scope.cluster or "")
    elif ids:
        known["instances"] = read_instances(case.aws, ids)
    if types:
        known["limits"] = read_efa_limits(case.aws, types)
    known["series"] = _series(case, scope, ids)
    first = NetworkView(**known)
    groups = sorted(frozenset[str]().union(*carried_groups(first)))
    if groups:
        known["groups"] = read_security_groups(case.aws, groups)
        start = min(scope.failure.at or scope.window.start, scope.window.start) - _CHANGES_BACK
        span = Window(start=start, end=max(scope.now, scope.window.end))
        known["changes"] = read_rule_changes(case.aws, groups, span)
    known["routes"] = _routes(case, first)
    return NetworkView(**known)


def _series(case: Case, scope: Scope, ids: Sequence[str]) -> Envelope[tuple[EfaSeries, ...]]:
    own = efa_series(case)
    if own or not ids:
        status = Status.OK if own else Status.NOT_CHECKED
        return Envelope[tuple[EfaSeries, ...]](
            service="file", operation="metrics", status=status, value=own, called_at=scope.now
        )
    window = Window(start=scope.window.start - _LOOK_BACK, end=scope.window.end)
    answer = read_efa_series(case.aws, ids, window)
    if answer.value or not (case.prometheus or PROMETHEUS in case.doors):
        return answer
    found, missing = read_efa(case, window, _job_nodes(scope))
    return from_prometheus(answer, found, missing)


def from_prometheus(
    answer: Envelope[tuple[EfaSeries, ...]],
    found: tuple[EfaSeries, ...],
    missing: tuple[NotSeen, ...],
) -> Envelope[tuple[EfaSeries, ...]]:
    """Return what Managed Prometheus has of counters that CloudWatch has not.

    A workspace that was not read whole leaves the reading incomplete: its silence says nothing.
    """
    first = next(iter(missing), None)
    if first is None:
        status = Status.OK if found else answer.status
        return answer.model_copy(
            update={
                "service": PROMETHEUS,
                "operation": "QueryRange",
                "status": status,
                "value": found,
            }
            if found
            else {}
        )
    update: dict[str, object] = {
        "status": Status.PARTIAL if found else Status.UNVERIFIED,
        "reason": first.reason,
        "value": found or None,
    }
    return answer.model_copy(update=update)


def _routes(case: Case, view: NetworkView) -> Envelope[tuple[RouteTable, ...]] | None:
    subnets = sorted({one.subnet for one in view.attached.values() if one.subnet})
    return read_routes(case, subnets) if subnets else None


def read_routes(case: Case, subnets: Sequence[str]) -> Envelope[tuple[RouteTable, ...]]:
    """Return the tables of these subnets; one without its own uses its VPC's main one."""
    own = read_route_tables(case.aws, subnets)
    covered = {name for table in own.value or () for name in table.subnets}
    rest = [name for name in subnets if name not in covered]
    if not rest or not own.status.is_complete:
        return own
    vpcs = sorted({one.vpc for one in list_subnets(case.aws, rest).value or () if one.vpc})
    main = read_main_route_tables(case.aws, vpcs) if vpcs else None
    if main is None or not main.value:
        return own
    return own.model_copy(update={"value": (*(own.value or ()), *main.value)})


def _names(case: Case, view: NetworkView) -> Names:
    macs = {
        one.mac: node
        for node, row in view.attached.items()
        for one in row.interfaces or ()
        if one.mac
    }
    nodes: Mapping[str, str] = view.names
    pods = {pod: nodes.get(name, name) for pod, name in pod_nodes(case).items()}
    gpus = {
        (node.node, place): gpu.pci
        for node in view.nodes
        for place, gpu in enumerate(sorted(node.gpus, key=lambda one: one.pci or ""))
        if gpu.pci
    }
    return Names(nodes=nodes, pods=pods, macs=macs, gpus=gpus)
