"""Gathers what a verdict needs through the doors: nodes, streams, counts, lines, facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpuvet.aws.hyperpod import read_cluster
from gpuvet.calculators.gauges import gpu_facts, merged_gpus, witness_events
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.case import Accelerator, BusHistory, CaseNode, NodeReading
from gpuvet.model.cluster import (
    ClusterEvidence,
    GpuFacts,
    NodeEvidence,
    NodeFacts,
    NodeRecords,
    NotSeen,
    Orchestrator,
)
from gpuvet.model.events import Boundary, TimeQuality, XidEvent
from gpuvet.modes.blockers import read_blockers
from gpuvet.modes.gather_prometheus import Faults, read_faults
from gpuvet.modes.logs import Logs, read_logs, unread
from gpuvet.modes.node_coverage import Agent, cluster_groups, coverage_of, read_agent
from gpuvet.modes.service_log import ServiceLog, read_service_log, service_searches
from gpuvet.modes.unread import not_of_the_ledger
from gpuvet.modes.window import Resolved
from gpuvet.parse.cluster_log import bootstrap_names
from gpuvet.parse.kernel_log import LineCounts, node_records

_FACTS_STREAM = "operator facts"
Witnesses = Mapping[str, tuple[XidEvent, ...]]
GpuWitnesses = Mapping[str, tuple[GpuFacts, ...]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The evidence of a question, and what of it could not be read."""

    evidence: ClusterEvidence
    not_seen: tuple[NotSeen, ...]
    counts: LineCounts
    nodes: tuple[CaseNode, ...]
    services: ServiceLog
    logs: Logs
    not_judged: tuple[NodeEvidence, ...] = ()  # without accelerators: covered, never judged
    aside: tuple[CaseNode, ...] = ()  # the same nodes, as the inventory tells them
    notes: tuple[str, ...] = ()
    faults: Faults = field(default_factory=Faults)  # what exporters say of GPUs and nodes


def gather(case: Case, asked: Resolved) -> Gathered:
    """Return everything a verdict may use, with every source that was not read named."""
    if case.meta.orchestrator is not Orchestrator.UNKNOWN:  # they run while nodes are listed
        is_hyperpod = case.meta.orchestrator.is_hyperpod
        begun = service_searches(case, asked.window, asked.now, case.meta.orchestrator)
        hours = [(cluster_groups(case), asked.window)] if is_hyperpod else ()
        case.logs.begin(searches=begun, hours=hours)
    orchestrator = orchestrator_of(case, nodes_of(case))
    services = read_service_log(case, asked.window, asked.now, orchestrator)
    nodes = nodes_of(case, named=_named_by_services(services))
    blockers = read_blockers(case, services, nodes, orchestrator, asked)
    logs = read_logs(case, nodes, asked)
    faults = read_faults(case, asked.window, nodes)
    witnessed = _witnesses(faults, logs)
    agent, agent_unread = read_agent(case, orchestrator, logs, asked)
    found = [
        (n, _with_gauges(_node(case, n, logs, asked, agent, blockers.get(n.node)), *witnessed))
        for n in nodes
    ]
    judged = [(n, e) for n, e in found if _may_have_gpus(n, logs)]
    evidence = ClusterEvidence(
        orchestrator=orchestrator,
        now=asked.now,
        window=asked.window,
        window_source=asked.source,
        failure_at=asked.failure_at,
        failure_measured=asked.failure_measured,
        nodes=tuple(e for _, e in judged),
    )
    unread_services = unread(
        services.services, "logs of the cluster's services", "search them again"
    )
    return Gathered(
        evidence=evidence,
        not_seen=(
            *(*logs.not_seen, *agent_unread, *unread_services),
            *not_of_the_ledger(case, faults.not_seen),
        ),
        counts=logs.lines,
        nodes=tuple(n for n, _ in judged),
        services=services,
        logs=logs,
        not_judged=tuple(e for n, e in found if not _may_have_gpus(n, logs)),
        aside=tuple(n for n in nodes if not _may_have_gpus(n, logs)),
        faults=faults,
    )


# The files of a ParallelCluster head node (coverage.md); it has no GPUs of the job.
_HEAD_NODE_STREAMS = (
    *(".clustermgtd", ".clustermgtd_events", ".slurmctld", ".slurmdbd", ".clusterstatusmgtd"),
    *(".slurm_resume", ".slurm_resume_events", ".slurm_suspend", ".slurm_fleet_status_manager"),
)


def _may_have_gpus(node: CaseNode, logs: Logs) -> bool:
    """Say whether a node is judged; one of a type without accelerators, or a head node, is not."""
    if node.accelerator is not Accelerator.UNKNOWN:
        return node.accelerator is Accelerator.YES
    streams = [s.stream for s in logs.streams.get(node.node, ())]
    is_head = any(stream.endswith(_HEAD_NODE_STREAMS) for stream in streams)
    return not is_head or bool(logs.records.get(node.node))


def _named_by_services(services: ServiceLog) -> tuple[tuple[str, str], ...]:
    """Return nodes that only a bootstrap failure names, each with the stream that does."""
    found: dict[str, str] = {}
    for record in services.records:
        for instance in bootstrap_names([record]):
            found.setdefault(instance, record.stream)
    return tuple(found.items())


def orchestrator_of(case: Case, nodes: Sequence[CaseNode]) -> Orchestrator:
    """Return who runs these nodes: as told, else as most of them say, else as HyperPod tells."""
    if case.meta.orchestrator is not Orchestrator.UNKNOWN:
        return case.meta.orchestrator
    seen = [n.orchestrator for n in nodes if n.orchestrator is not Orchestrator.UNKNOWN]
    if seen:
        return max(sorted(set(seen)), key=seen.count)
    is_listed = any("sagemaker:ListClusterNodes" in n.known_from for n in nodes)
    return _hyperpod_kind(case) if is_listed or case.meta.cluster else Orchestrator.UNKNOWN


def _hyperpod_kind(case: Case) -> Orchestrator:
    """Return which HyperPod this is; a described cluster without an orchestrator is Slurm."""
    found = read_cluster(case.aws, case.meta.cluster).value
    if found is None:
        return Orchestrator.UNKNOWN
    return Orchestrator.HYPERPOD_EKS if found.eks else Orchestrator.HYPERPOD_SLURM


def _node(
    case: Case,
    node: CaseNode,
    logs: Logs,
    asked: Resolved,
    agent: Agent | None,
    blocker: str | None,
) -> NodeEvidence:
    reading = case.facts.of(node.node)
    records = node_records([*logs.records.get(node.node, ()), *_declared_boots(node.node, reading)])
    return NodeEvidence(
        node=node.node,
        host=node.host,
        instance_type=node.instance_type,
        gpu_expected=node.gpu_expected,
        driver_version=node.driver_version,
        driver_open=node.driver_open,
        launched_at=node.launched_at,
        left_at=node.left_at,
        created_at=node.created_at,
        stopped_at=node.stopped_at,
        records=records,
        facts=_facts(case, node, reading, records, blocker),
        coverage=coverage_of(case, node, reading, logs, records, asked, agent),
    )


def _witnesses(faults: Faults, logs: Logs) -> tuple[Witnesses, GpuWitnesses]:
    told = {node: [r for r in own if isinstance(r, XidEvent)] for node, own in logs.records.items()}
    at = faults.read_at
    return (
        witness_events(faults.xids, told),
        gpu_facts(faults.numbers, at) if at is not None else {},
    )


def _with_gauges(node: NodeEvidence, witnesses: Witnesses, of_gpus: GpuWitnesses) -> NodeEvidence:
    """Return a node's evidence with what exporters say of it."""
    xids, gpus = witnesses.get(node.node, ()), of_gpus.get(node.node, ())
    if not xids and not gpus:
        return node
    records = node.records.model_copy(update={"xids": (*node.records.xids, *xids)})
    facts = node.facts.model_copy(update={"gpus": merged_gpus(node.facts.gpus, gpus)})
    return node.model_copy(update={"records": records, "facts": facts})


def _declared_boots(node: str, reading: NodeReading | None) -> tuple[Boundary, ...]:
    return tuple(
        Boundary(
            node=node,
            stream=_FACTS_STREAM,
            line=0,
            raw="",
            at=boot.at,
            time_quality=TimeQuality.EXACT,
            kind=boot.kind,
        )
        for boot in (reading.boots if reading else ())
    )


_HEALTH_LABEL = "sagemaker.amazonaws.com/node-health-status"


def _facts(
    case: Case,
    node: CaseNode,
    reading: NodeReading | None,
    records: NodeRecords,
    blocker: str | None,
) -> NodeFacts:
    facts = reading.facts if reading else NodeFacts()
    labels = dict(reading.labels) if reading else {}
    updates: dict[str, object] = {}
    if node.state and facts.status is None:
        updates["status"] = node.state
    if facts.health_label is None and _HEALTH_LABEL in labels:
        updates["health_label"] = labels[_HEALTH_LABEL]
    if blocker is not None:
        updates |= {"ran_no_job": True, "blocker": blocker}
    history = _history(case, node.node, records)
    if history is not None:
        updates["earlier_same_gpu_events"] = history.earlier_events
        updates["reboots_since_event"] = history.reboots_since
        if facts.gpus_seen is None:
            updates["gpus_seen"] = history.visible_gpus
    return facts.model_copy(update=updates)


def _history(case: Case, node: str, records: NodeRecords) -> BusHistory | None:
    """Return the told history of this node's GPU; one without a node goes to whoever has events."""
    for history in case.facts.bus_history:
        named = history.node == node or (history.node is None and bool(records.xids))
        pci_fits = history.pci is None or any(x.pci == history.pci for x in records.xids)
        if named and pci_fits:
            return history
    return None
