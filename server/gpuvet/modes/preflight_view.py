"""Reads everything the preflight checks may use, each source once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from gpuvet.aws.capacity import read_block_status, read_subnets
from gpuvet.aws.capacity_blocks import read_blocks, read_offerings
from gpuvet.aws.hyperpod import read_cluster
from gpuvet.aws.network import (
    read_efa_limits,
    read_instances,
    read_prefix_lists,
    read_region_interfaces,
    read_security_groups,
)
from gpuvet.aws.support_reads import read_place
from gpuvet.calculators.capacity_evidence import CapacityEvidence
from gpuvet.calculators.run_capacity import extension_hours
from gpuvet.calculators.security_groups import prefix_lists_of
from gpuvet.calculators.storage_inputs import StorageInputs, of_the_job, seen_systems
from gpuvet.calculators.verdict import view_nodes
from gpuvet.case import Case
from gpuvet.checks.preflight.holdings import holdings
from gpuvet.checks.preflight.p01_capacity_end import LEAST_MARGIN
from gpuvet.checks.preflight.p02_extension import lacking
from gpuvet.checks.preflight.p07_efa import carried
from gpuvet.checks.preflight.reading import Reading, rows
from gpuvet.checks.preflight.view import JobFile, Run, RunNode, View
from gpuvet.model.capacity import Reservation, Subnet
from gpuvet.model.case import CaseNode
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.cluster import NodeEvidence, Orchestrator
from gpuvet.model.cluster_state import HyperPodCluster
from gpuvet.model.evidence import Reason, Window
from gpuvet.model.readiness import Offering
from gpuvet.model.software import SoftwareVersion
from gpuvet.model.verdict import NodeVerdict
from gpuvet.modes.capacity_readings import job_nodes, read_capacity
from gpuvet.modes.evidence import Gathered
from gpuvet.modes.fault_history import read_history
from gpuvet.modes.gather_network import read_routes, transport_lines
from gpuvet.modes.gather_storage import storage_inputs
from gpuvet.modes.preflight_account import (
    absent,
    account_readings,
    arriving_reading,
    as_reading,
    key_readings,
    kubernetes_readings,
    quota_readings,
)
from gpuvet.modes.scope import Scope
from gpuvet.modes.service_log import read_service_log
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_log import parse_nccl

# preflight P1: HyperPod says where a node came from when it comes up, maybe weeks ago.
_EVENTS = timedelta(days=30)
# P16: how far back a failure to come up counts.
_STARTS = timedelta(days=7)
# P8: the last days stand for a similar run.
_LOAD = timedelta(hours=72)
# Ours: describe calls of single nodes throttle early.
_MOST_PLACES = 64
_MANAGER_LIVE = timedelta(hours=2)
_CLUSTERMGTD = (".clustermgtd",)
# What keeps a log from being read; an empty one, or one that is not shipped, was looked for.
_UNREAD = frozenset(Reason) - {Reason.EMPTY, Reason.NOT_SHIPPED, Reason.NOT_SUPPORTED}
_GONE = frozenset({"terminated", "shutting-down", "ShuttingDown"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a preflight is about, before anything was read.

    Attributes:
        run: The run; its length is replaced by each of `hours`.
        hours: The lengths that are decided.
        job: The job spec, where one came with the question.
        scripts: Batch scripts by file.
    """

    run: Run
    hours: tuple[float, ...]
    job: JobFile | None = None
    scripts: tuple[tuple[str, str], ...] = ()


def read_view(
    case: Case,
    asked: Asked,
    gathered: Gathered,
    verdicts: Sequence[NodeVerdict],
    now: datetime,
) -> View:
    """Return the view of a run, its length that of the question's first.

    Args:
        case: Where the evidence comes from.
        asked: The run.
        gathered: Nodes, logs and coverage of the last day.
        verdicts: Of the nodes.
        now: The clock.
    """
    orchestrator = gathered.evidence.orchestrator
    starts = Window(start=now - _STARTS, end=now)
    services = read_service_log(case, starts, now, orchestrator)
    capacity = read_capacity(
        case,
        services,
        job_nodes(gathered.nodes),
        window=Window(start=now - _EVENTS, end=now),
        now=now,
        orchestrator=orchestrator,
    )
    # What the core checks need comes first: a budget that runs out then costs the others.
    view = _base(case, asked, gathered, verdicts, capacity, now)
    view = replace(
        view,
        offerings=_offerings(case, view, asked.hours),
        services=services.records,
        services_read=as_reading(services.services),
        manager_alive=_manager_alive(case, orchestrator, now),
    )
    view = _with_network(case, view)
    view = replace(view, **account_readings(case, view, now), **kubernetes_readings(case, view))
    view = _with_storage(case, view, _scope(case, gathered, now))
    view = replace(
        view,
        arriving=arriving_reading(case, gathered.nodes, now),
        keys=tuple(key_readings(case, view)),
        places=tuple(_places(case, orchestrator, view.nodes)),
        **quota_readings(case, view, now),
    )
    return replace(view, history=read_history(case, view, view_nodes(gathered.evidence)))


def _with_storage(case: Case, view: View, scope: Scope) -> View:
    """Return the view with file systems, their keys and subnets, and the lines of the last run."""
    storage = storage_inputs(case, scope)
    nccl, unread = transport_lines(case, scope)
    return replace(
        view,
        storage=storage,
        systems=of_the_job(seen_systems(storage)),
        subnets=_with_subnets_of(case, view.subnets, storage),
        nccl=nccl,
        versions=(*nccl.versions, *_versions_told(case, scope.now)),
        nccl_unread=tuple(one.what for one in unread),
    )


def _versions_told(case: Case, now: datetime) -> Iterable[SoftwareVersion]:
    """Yield the versions that commands run on nodes and service logs of a case name."""
    for text in (*case.transcripts, *case.service_logs):
        lines = (RawLine(line, place) for place, line in enumerate(text.text.splitlines(), 1))
        found = parse_nccl(lines, node=text.node or "", stream=text.file, reference_time=now)
        yield from found.versions


def _scope(case: Case, gathered: Gathered, now: datetime) -> Scope:
    return Scope(
        window=Window(start=now - _LOAD, end=now),
        now=now,
        failure=Failure(symptom=Symptom.UNKNOWN, source="nothing has failed: the run is ahead"),
        nodes=gathered.nodes,
        orchestrator=gathered.evidence.orchestrator,
        cluster=case.meta.cluster,
        account=case.meta.account,
        region=case.meta.region,
    )


def _base(
    case: Case,
    asked: Asked,
    gathered: Gathered,
    verdicts: Sequence[NodeVerdict],
    capacity: CapacityEvidence,
    now: datetime,
) -> View:
    orchestrator = gathered.evidence.orchestrator
    nodes = tuple(_nodes(gathered, verdicts))
    cluster = _cluster(case, capacity)
    listed_nodes = (
        as_reading(capacity.hyperpod_nodes)
        if capacity.hyperpod_nodes is not None
        else absent("the nodes HyperPod lists")
    )
    instances = as_reading(capacity.instances)
    return View(
        now=now,
        run=asked.run,
        orchestrator=orchestrator,
        cluster_name=case.meta.cluster or (cluster.value.name if cluster.value else None),
        nodes=nodes,
        logs_unread=tuple(one for one in gathered.not_seen if one.reason in _UNREAD),
        listed=_listed(listed_nodes if orchestrator.is_hyperpod else instances, nodes),
        cluster=cluster,
        hyperpod_nodes=listed_nodes,
        events=as_reading(capacity.events) if capacity.events else absent("cluster events"),
        instances=instances,
        reservations=as_reading(capacity.reservations),
        blocks=as_reading(read_blocks(case.aws)),
        block_status=as_reading(read_block_status(case.aws)),
        extensions=as_reading(capacity.extensions),
        plans=as_reading(capacity.plans),
        subnets=as_reading(capacity.subnets),
        endpoints=as_reading(capacity.endpoints),
        rules=as_reading(capacity.rules),
        job=asked.job,
        scripts=asked.scripts,
    )


def _cluster(case: Case, capacity: CapacityEvidence) -> Reading[HyperPodCluster]:
    """Return the HyperPod cluster; where it is not known to be one, why it could not be read."""
    if capacity.cluster is not None:
        return as_reading(capacity.cluster)
    if capacity.orchestrator is Orchestrator.UNKNOWN and case.meta.cluster is not None:
        return as_reading(read_cluster(case.aws, case.meta.cluster))
    return absent("the HyperPod cluster")


def _with_subnets_of(
    case: Case, own: Reading[tuple[Subnet, ...]], storage: StorageInputs
) -> Reading[tuple[Subnet, ...]]:
    """Return the nodes' subnets, and those of file systems that lie elsewhere."""
    known = {one.id for one in rows(own)}
    systems = storage.systems.value or ()
    others = sorted({name for one in systems for name in one.subnets} - known)
    if not others or not own.is_complete:
        return own
    more = rows(as_reading(read_subnets(case.aws, others)))
    found = (*rows(own), *(one for one in more if one.id in others))
    return replace(own, value=found)


def _listed(reading: Reading[Any], nodes: Sequence[RunNode]) -> Reading[tuple[str, ...]]:
    return Reading(
        reading.what,
        reading.status,
        tuple(n.node for n in nodes),
        reading.reason,
        reading.closes_with,
        reading.evidence,
    )


def _nodes(gathered: Gathered, verdicts: Sequence[NodeVerdict]) -> Iterable[RunNode]:
    own = {v.node: v for v in verdicts}
    named = {n.node: n for n in gathered.nodes}
    for evidence in gathered.evidence.nodes:
        node = named.get(evidence.node)
        is_gone = evidence.left_at is not None or (node is not None and node.state in _GONE)
        if evidence.node in own and not is_gone:
            yield _node(evidence, node, own[evidence.node])


def _node(evidence: NodeEvidence, node: CaseNode | None, verdict: NodeVerdict) -> RunNode:
    host = (evidence.host,) if evidence.host else ()
    return RunNode(
        node=evidence.node,
        coverage=evidence.coverage,
        verdict=verdict,
        records=evidence.records,
        group=node.instance_group if node else None,
        instance_type=evidence.instance_type,
        state=(node.state if node else None) or evidence.facts.status,
        launched_at=evidence.launched_at,
        driver=evidence.driver_version,
        aliases=(*host, *(node.aliases if node else ())),
        health_label=evidence.facts.health_label,
    )


def _places(
    case: Case, orchestrator: Orchestrator, nodes: Sequence[RunNode]
) -> Iterable[Reading[Any]]:
    if not orchestrator.is_hyperpod:
        return
    for node in nodes[:_MOST_PLACES]:
        yield as_reading(read_place(case.aws, case.meta.cluster, node.node))


def _manager_alive(case: Case, orchestrator: Orchestrator, now: datetime) -> bool | None:
    """Say whether clustermgtd wrote lately; None where that could not be read."""
    name = case.meta.cluster
    if orchestrator is not Orchestrator.PARALLELCLUSTER:
        return None
    found = case.logs.group_streams(f"/aws/parallelcluster/{name}-" if name else "")
    streams = [s for s in found.value or () if s.stream.endswith(_CLUSTERMGTD)]
    if not streams:
        return False if found.status.is_complete else None
    counted = case.logs.hourly_counts(streams, Window(start=now - _MANAGER_LIVE, end=now))
    if any(b.lines for one in counted.value or () for b in one.bins):
        return True
    return False if counted.status.is_complete else None


def _with_network(case: Case, view: View) -> View:
    """Return the view with groups, interfaces, limits and routes."""
    door = case.aws
    ids = [n.node for n in view.nodes if n.node.startswith("i-")]
    view = replace(
        view,
        limits=_limits(case, view),
        interfaces=as_reading(read_region_interfaces(door)),
        attached=absent("how instances are attached")
        if view.is_hyperpod
        else as_reading(read_instances(door, ids)),
    )
    sets = carried(view)
    names = sorted(frozenset[str]().union(*sets)) if isinstance(sets, tuple) else []
    own = (name for group in view.accelerated for name in view.subnets_of(group))
    subnets = sorted({*own} or {*view.subnets_of(None)})
    if names:
        view = replace(view, groups=as_reading(read_security_groups(door, names)))
    lists = prefix_lists_of(rows(view.groups))
    if lists:
        view = replace(view, prefix_lists=as_reading(read_prefix_lists(door, lists)))
    return replace(view, routes=as_reading(read_routes(case, subnets))) if subnets else view


def _limits(case: Case, view: View) -> Reading[Any]:
    if not view.types:
        return Reading("what instance types have")
    return as_reading(read_efa_limits(case.aws, view.types))


def _offerings(
    case: Case, view: View, lengths: Sequence[float]
) -> dict[tuple[str, int], Reading[tuple[Offering, ...]]]:
    """Return the extension offers that the lengths would need, block by block."""
    found: dict[tuple[str, int], Reading[tuple[Offering, ...]]] = {}
    for length in lengths:
        at_length = replace(view, run=replace(view.run, hours=length))
        for one in holdings(at_length):
            block = one.reservation
            if block is None or not block.is_block or not _is_tight(at_length, block):
                continue
            key = (block.id, extension_hours(lacking(at_length, block)))
            if key not in found:
                found[key] = as_reading(read_offerings(case.aws, *key))
    return found


def _is_tight(view: View, block: Reservation) -> bool:
    """Say whether P1 can be short of its margin, so that P2 is asked."""
    interval = view.run.checkpoint_interval or timedelta(0)
    return lacking(view, block) > -max(LEAST_MARGIN, interval)
