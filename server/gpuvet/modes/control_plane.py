"""Reads the control plane of a question once, for the branches of capacity and change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpuvet.aws.changes import read_trail
from gpuvet.aws.door import NodeName
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.calculators.cluster_state import cluster_state
from gpuvet.calculators.replacements import Around, Replacement, Succession, succession
from gpuvet.case import Case
from gpuvet.model.changes import Trail
from gpuvet.model.cluster import ClusterEvidence, NodeRecords
from gpuvet.model.cluster_state import ClusterState
from gpuvet.model.evidence import Reason, Status, Window
from gpuvet.model.identity import Arrival
from gpuvet.modes.capacity_readings import job_nodes, look_back, read_capacity
from gpuvet.modes.scope import Scope
from gpuvet.modes.service_log import ServiceLog, read_service_log
from gpuvet.parse.kernel_log import RawLine, node_records, parse_lines

_CLUSTER_GROUP = "/aws/sagemaker/Clusters/"
# verdict-rules §5: how far back an old node's own lines still count.
_OLD_LINES = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Every reading of the control plane, each made once.

    Attributes:
        capacity: Readings of capacity; CloudTrail is among them.
        replaced: Which node took the place of which, by request.
        arrivals: Nodes that came without a call.
        records: What the logs of the nodes say, those of replaced ones too.
        state: The cluster as read now.
    """

    log: ServiceLog
    trail: Trail
    capacity: CapacityEvidence
    replaced: tuple[Replacement, ...]
    arrivals: tuple[Arrival, ...]
    records: Mapping[str, NodeRecords]
    state: ClusterState


def read_control_plane(
    case: Case, scope: Scope, evidence: ClusterEvidence, log: ServiceLog | None = None
) -> ControlPlane:
    """Return what the control plane says of a question.

    Args:
        case: Where the evidence comes from.
        scope: The question.
        evidence: What the nodes' logs say, as gathered for the verdicts.
        log: What the cluster's services wrote, where it was read already.
    """
    log = log or read_service_log(case, scope.window, scope.now, scope.orchestrator)
    trail = _trail(case, look_back(scope.window, scope.now))
    records = {node.node: node.records for node in evidence.nodes}
    capacity = read_capacity(
        case,
        log,
        job_nodes(scope.nodes, scope.failure.nodes),
        window=scope.window,
        now=scope.now,
        orchestrator=scope.orchestrator,
        trail=trail,
        records=records,
    )
    came = _succession(case, trail, capacity, records)
    old = tuple(one for found in came.replaced for one in found.old if one not in records)
    return ControlPlane(
        log=log,
        trail=trail,
        capacity=capacity,
        replaced=came.replaced,
        arrivals=came.arrivals,
        records={**records, **_old_records(case, old, scope.now)},
        state=cluster_state(
            scope.orchestrator,
            scope.now,
            name=scope.cluster,
            cluster=capacity.cluster,
            nodes=capacity.hyperpod_nodes,
            services=log.records,
        ),
    )


def _trail(case: Case, window: Window) -> Trail:
    """Return CloudTrail's changes; a table that states an empty look-up stands in for it."""
    found = read_trail(case.aws, window)
    is_recorded = any(one.reason is not Reason.NOT_RECORDED for one in found.missed)
    if is_recorded or len(found.missed) < len(found.asked):
        return found
    told = next((c.file for c in case.facts.clean_signals if c.cluster_events == ()), None)
    return found if told is None else found.model_copy(update={"missed": (), "told_by": told})


def _succession(
    case: Case, trail: Trail, capacity: CapacityEvidence, records: Mapping[str, NodeRecords]
) -> Succession:
    """Return which node took the place of which, by request and without one."""
    if capacity.hyperpod_nodes is None:
        return Succession()
    ours = [c for c in trail.changes if not c.is_attempt and _may_be_ours(c.cluster, capacity)]
    found = case.logs.group_streams(f"{_CLUSTER_GROUP}{case.meta.cluster or ''}")
    cluster = capacity.cluster.value if capacity.cluster is not None else None
    return succession(
        ours,
        capacity.hyperpod_nodes,
        streams=[one.stream for one in found.value or ()],
        events=values(capacity.events),
        around=Around(
            cloudtrail=Status.OK if trail.is_complete else Status.UNVERIFIED,
            automatic_recovery=cluster is not None and cluster.recovery == "Automatic",
            terminated=tuple(
                (node, hma.at)
                for node, own in records.items()
                for hma in own.hma
                if hma.at is not None and "Terminate" in (hma.condition or "")
            ),
            since=trail.window.start,
        ),
    )


def _may_be_ours(asked: str | None, capacity: CapacityEvidence) -> bool:
    """Say whether a call that names a cluster names ours, as a name or an ARN."""
    found = capacity.cluster.value if capacity.cluster is not None else None
    if asked is None or found is None:
        return True
    names = {found.name, found.arn, (found.arn or "").rpartition("/")[2]}
    return asked in names or asked.rpartition("/")[2] in names


def _old_records(case: Case, nodes: Sequence[str], now: datetime) -> dict[str, NodeRecords]:
    """Return what the logs of nodes say that are no longer listed."""
    if not nodes:
        return {}
    found = case.logs.streams([NodeName(node=one) for one in nodes])
    window = Window(start=now - _OLD_LINES, end=now)
    lines = case.logs.gpu_lines(found.value or (), window)
    by_stream: dict[tuple[str, str | None, str], list[RawLine]] = {}
    for line in lines.value or ():
        shipped = (
            datetime.fromtimestamp(line.shipped_at_ms / 1000, tz=UTC)
            if line.shipped_at_ms is not None
            else None
        )
        key = (line.node, line.group, line.stream)
        raw = RawLine(text=line.text, line=line.line, shipped_at=shipped)
        by_stream.setdefault(key, []).append(raw)
    parsed = [
        parse_lines(raw, node=node, stream=stream, group=group, reference_time=now)
        for (node, group, stream), raw in by_stream.items()
    ]
    records = [record for one in parsed for record in one.records]
    return {node: node_records(r for r in records if r.node == node) for node in nodes}
