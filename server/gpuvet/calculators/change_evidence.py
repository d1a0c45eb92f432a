"""What the change branch is judged on, and which changes are this cluster's. Pure values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gpuvet.calculators.capacity_evidence import JobNode, values
from gpuvet.calculators.replacements import Replacement
from gpuvet.catalog.xids import xids
from gpuvet.model.bootstrap import ServiceRecord
from gpuvet.model.changes import (
    Change,
    ChangeKind,
    ClusterEvent,
    PackageChange,
    Rollout,
    ScriptUpgrade,
    Trail,
)
from gpuvet.model.cluster import NodeFacts, NodeRecords, Orchestrator
from gpuvet.model.cluster_state import HyperPodCluster, HyperPodNode
from gpuvet.model.evidence import Envelope, Window
from gpuvet.model.identity import Arrival
from gpuvet.model.words import FaultClass

# incident-branches §E: a change this close before the failure is strong by time alone.
STRONG = {
    ChangeKind.NETWORK: timedelta(minutes=15),
}
STRONG_ELSE = timedelta(minutes=60)
LOOK_BACK = timedelta(hours=6)
STRONG_ROLLOUT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """Every reading the change branch may use.

    Attributes:
        nodes: The job's nodes, else every accelerated node of the cluster.
        scripts: Upgrade commands in scripts that run on nodes.
        host_of: Other names of each node, for what names hosts.
        services_read: How far the logs of the cluster's services were read.
    """

    orchestrator: Orchestrator
    window: Window
    now: datetime
    nodes: tuple[JobNode, ...]
    trail: Trail
    cluster_name: str | None = None
    cluster_arn: str | None = None
    cluster: Envelope[HyperPodCluster] | None = None
    events: Envelope[tuple[ClusterEvent, ...]] | None = None
    hyperpod_nodes: Envelope[tuple[HyperPodNode, ...]] | None = None
    replaced: tuple[Replacement, ...] = ()
    arrivals: tuple[Arrival, ...] = ()  # nodes that came without a call
    packages: tuple[PackageChange, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    scripts: tuple[ScriptUpgrade, ...] = ()
    services: tuple[ServiceRecord, ...] = ()
    services_read: Envelope[Any] | None = None
    nodes_read: Envelope[Any] | None = None  # the list of nodes: effects show on it
    records: Mapping[str, NodeRecords] = field(default_factory=dict[str, NodeRecords])
    facts: Mapping[str, NodeFacts] = field(default_factory=dict[str, NodeFacts])
    host_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    resources: frozenset[str] = frozenset()  # security groups, route tables, reservations of ours
    health_words: tuple[str, ...] = ()  # what commands on a node said of its GPUs

    @property
    def node_ids(self) -> frozenset[str]:
        """Return the job's nodes and those that were replaced by request."""
        old = {one for found in self.replaced for one in found.old}
        return frozenset({n.node for n in self.nodes} | old)

    @property
    def described(self) -> HyperPodCluster | None:
        """Return the cluster as described, where it was read."""
        return self.cluster.value if self.cluster is not None else None


def is_ours(change: Change, evidence: ChangeEvidence) -> bool | None:
    """Say whether a call was about this cluster or its nodes; None where it does not tell."""
    if set(change.nodes) & evidence.node_ids:
        return True
    named = _names_cluster(change.cluster, evidence)
    if named is not None:
        return named
    if change.kind in {ChangeKind.NETWORK, ChangeKind.CAPACITY} and change.resource:
        prefix = change.resource.partition("-")[0]
        if any(one.startswith(f"{prefix}-") for one in evidence.resources):
            return change.resource in evidence.resources
    return False if change.nodes else None


def _names_cluster(asked: str | None, evidence: ChangeEvidence) -> bool | None:
    """Compare a cluster as asked, a name or an ARN, with ours in both forms."""
    found = evidence.described
    names = {
        evidence.cluster_name,
        evidence.cluster_arn,
        found.name if found else None,
        found.arn if found else None,
        found.eks if found else None,
    } - {None, ""}
    if asked is None or not names:
        return None
    last = {name.rpartition("/")[2] for name in names if name}
    return asked in names or re.split(r"[/]", asked)[-1] in last or asked in last


def own_changes(evidence: ChangeEvidence) -> list[Change]:
    """Return the changes that touched, or may have touched, this cluster, oldest first."""
    return [c for c in evidence.trail.changes if is_ours(c, evidence) is not False]


def foreign_changes(evidence: ChangeEvidence) -> list[Change]:
    """Return the changes of other clusters and nodes."""
    return [c for c in evidence.trail.changes if is_ours(c, evidence) is False]


def is_strong(change: Change, failure_at: datetime | None) -> bool:
    """Say whether a change lies so close before the failure that time alone is telling."""
    if failure_at is None:
        return False
    span = STRONG.get(change.kind, STRONG_ELSE)
    return timedelta(0) <= failure_at - change.at <= span


def hardware_fault_before(
    nodes: Sequence[str], at: datetime, evidence: ChangeEvidence
) -> tuple[str, datetime, str] | None:
    """Return a hardware fault on one of these nodes before a time: node, when and what.

    A call after it is the response to it, and no cause.
    """
    found: list[tuple[datetime, str, str]] = []
    for node in nodes:
        records = evidence.records.get(node)
        if records is None:
            continue
        for hma in records.hma:
            seen = hma.at or hma.agent_at
            telling = "Terminate" in (hma.condition or "") or hma.reason == "XidHardwareFailure"
            if seen is not None and seen < at and telling and hma.condition_true:
                found.append((seen, node, hma.reason or hma.condition or "health agent"))
        for xid in records.xids:
            row = xids().get(xid.code)
            is_hardware = row is not None and row.fault_class is FaultClass.HARDWARE
            if xid.at is not None and xid.at < at and is_hardware:
                found.append((xid.at, node, f"Xid {xid.code}"))
    if not found:
        return None
    first = min(found)
    return first[1], first[0], first[2]


def groups_of(nodes: Sequence[str], evidence: ChangeEvidence) -> frozenset[str]:
    """Return the instance groups of nodes."""
    groups = group_map(evidence)
    return frozenset(group for node in nodes if (group := groups.get(node)))


def group_map(evidence: ChangeEvidence) -> dict[str, str]:
    """Return the instance group of every node that has one."""
    named = {n.node: n.group for n in evidence.nodes if n.group}
    return named | {n.id: n.group for n in values(evidence.hyperpod_nodes) if n.group}
