"""Reads what the capacity branch and a node's blocker are judged on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from gpuvet.aws.capacity import (
    read_alert_rules,
    read_endpoints,
    read_extensions,
    read_plans,
    read_reservations,
    read_subnets,
)
from gpuvet.aws.hyperpod import read_cluster, read_cluster_events, read_nodes
from gpuvet.aws.instances import read_instances
from gpuvet.calculators.capacity_evidence import CapacityEvidence, JobNode
from gpuvet.case import Case
from gpuvet.model.case import Accelerator, CaseNode
from gpuvet.model.changes import Trail
from gpuvet.model.cluster import NodeRecords, Orchestrator
from gpuvet.model.cluster_state import HyperPodCluster
from gpuvet.model.evidence import Envelope, Window
from gpuvet.modes.service_log import LOOK_BACK, ServiceLog


def job_nodes(nodes: Sequence[CaseNode], wanted: Sequence[str] = ()) -> tuple[JobNode, ...]:
    """Return the job's nodes; where the job names none, all that are not known to lack GPUs."""
    kept = [n for n in nodes if n.node in wanted] or [
        n for n in nodes if n.accelerator is not Accelerator.NO
    ]
    return tuple(
        JobNode(
            node=n.node,
            group=n.instance_group,
            instance_type=n.instance_type,
            state=n.state,
            launched_at=n.launched_at,
            left_at=n.left_at,
        )
        for n in kept
    )


def look_back(window: Window, now: datetime) -> Window:
    """Return the span changes are asked for: from six hours before the window to now."""
    return Window(start=window.start - LOOK_BACK, end=max(now, window.end))


def read_capacity(
    case: Case,
    log: ServiceLog,
    nodes: Sequence[JobNode],
    *,
    window: Window,
    now: datetime,
    orchestrator: Orchestrator,
    trail: Trail | None = None,
    records: Mapping[str, NodeRecords] | None = None,
) -> CapacityEvidence:
    """Return every reading of capacity, each with its status.

    Args:
        case: Where the evidence comes from.
        log: What the cluster's services wrote.
        nodes: The nodes asked about.
        window: The window asked about, without pad.
        now: The clock.
        orchestrator: HyperPod's own calls are made only for HyperPod clusters.
        trail: CloudTrail, where it was read.
        records: What the logs of the nodes say.
    """
    door, name = case.aws, case.meta.cluster
    is_hyperpod = orchestrator.is_hyperpod
    cluster = read_cluster(door, name) if is_hyperpod else None
    span = look_back(window, now)
    return CapacityEvidence(
        orchestrator=orchestrator,
        window=window,
        now=now,
        nodes=tuple(nodes),
        instances=read_instances(door, _tag(name, orchestrator)),
        reservations=read_reservations(door),
        extensions=read_extensions(door),
        plans=read_plans(door, _plans(cluster)),
        subnets=read_subnets(door, _subnets(cluster)),
        endpoints=read_endpoints(door),
        warnings=log.warnings,
        rules=read_alert_rules(door),
        services=log.records,
        services_read=log.services,
        trail=trail or Trail(window=span),
        cluster=cluster,
        events=read_cluster_events(door, name, span) if is_hyperpod else None,
        hyperpod_nodes=read_nodes(door, name) if is_hyperpod else None,
        records=records or {},
        told=tuple((c.capacity, c.file) for c in case.facts.clean_signals if c.capacity),
    )


def _tag(name: str | None, orchestrator: Orchestrator) -> str | None:
    """Return the cluster's name where its instances carry it as a tag."""
    return name if orchestrator is Orchestrator.PARALLELCLUSTER else None


def _plans(cluster: Envelope[HyperPodCluster] | None) -> tuple[str, ...]:
    found = cluster.value if cluster is not None else None
    return tuple(g.plan for g in found.groups if g.plan) if found is not None else ()


def _subnets(cluster: Envelope[HyperPodCluster] | None) -> tuple[str, ...]:
    found = cluster.value if cluster is not None else None
    if found is None:
        return ()
    own = (subnet for group in found.groups for subnet in group.subnets)
    return tuple(dict.fromkeys((*found.subnets, *own)))
