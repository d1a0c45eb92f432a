"""What the capacity branch is judged on: readings with their statuses. Pure values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from gpuvet.model.bootstrap import ServiceRecord
from gpuvet.model.capacity import (
    AlertRule,
    CapacityWarning,
    Endpoints,
    Extension,
    Instance,
    Reservation,
    Subnet,
    TrainingPlan,
)
from gpuvet.model.changes import ClusterEvent, Trail
from gpuvet.model.cluster import NodeRecords, NotSeen, Orchestrator
from gpuvet.model.cluster_state import HyperPodCluster, HyperPodNode
from gpuvet.model.evidence import Envelope, Reason, Status, Window

T = TypeVar("T")
_ACTIVE_UNTIL = re.compile(
    r"\b[Aa]ctive until (\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d))"
)
NO_RECORDS: Mapping[str, NodeRecords] = {}


@dataclass(frozen=True, slots=True)
class JobNode:
    """One node of the job, from every source that names it."""

    node: str
    group: str | None = None
    instance_type: str | None = None
    state: str | None = None
    launched_at: datetime | None = None
    left_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CapacityEvidence:
    """Every reading the capacity branch may use.

    Attributes:
        nodes: The job's nodes, else every accelerated node of the cluster.
        window: The window asked about, without pad.
        services: Lines of the cluster's services, oldest first.
        cluster: DescribeCluster; None where the cluster is no HyperPod cluster.
        records: What the logs of each node say.
    """

    orchestrator: Orchestrator
    window: Window
    now: datetime
    nodes: tuple[JobNode, ...]
    instances: Envelope[tuple[Instance, ...]]
    reservations: Envelope[tuple[Reservation, ...]]
    extensions: Envelope[tuple[Extension, ...]]
    plans: Envelope[tuple[TrainingPlan, ...]]
    subnets: Envelope[tuple[Subnet, ...]]
    endpoints: Envelope[tuple[Endpoints, ...]]
    warnings: Envelope[tuple[CapacityWarning, ...]]
    rules: Envelope[tuple[AlertRule, ...]]
    services: tuple[ServiceRecord, ...]
    services_read: Envelope[Any]
    trail: Trail
    cluster: Envelope[HyperPodCluster] | None = None
    events: Envelope[tuple[ClusterEvent, ...]] | None = None
    hyperpod_nodes: Envelope[tuple[HyperPodNode, ...]] | None = None
    records: Mapping[str, NodeRecords] = field(default_factory=lambda: NO_RECORDS)
    told: tuple[tuple[str, str], ...] = ()  # what a table of the case says of capacity, and which

    @property
    def told_until(self) -> tuple[str, str, datetime] | None:
        """Return what a table says of capacity that is active until a time: words, file, time."""
        for words, file in self.told:
            found = _ACTIVE_UNTIL.search(words)
            if found is not None:
                return words, file, datetime.fromisoformat(found[1])
        return None

    @property
    def plan_names(self) -> frozenset[str]:
        """Return the training plans the cluster's own groups name; others are other clusters'."""
        found = self.cluster.value if self.cluster is not None else None
        groups = found.groups if found else ()
        return frozenset(g.plan.rpartition("/")[2] for g in groups if g.plan)

    @property
    def is_short(self) -> bool:
        """Say whether nodes are missing as read now: below target, pending, or none there."""
        is_pending = any((n.state or "").lower() == "pending" for n in self.nodes)
        return bool(self.groups_short) or is_pending or not self.nodes

    @property
    def groups_short(self) -> tuple[tuple[str, int], ...]:
        """Return the instance groups below their target, each with how many nodes are missing."""
        found = self.cluster.value if self.cluster is not None else None
        return tuple((g.name, g.short) for g in found.groups if g.short) if found else ()


def values(envelope: Envelope[tuple[T, ...]] | None) -> tuple[T, ...]:
    """Return what a reading gave; nothing where it was not read: ask its status before a "none"."""
    return (envelope.value or ()) if envelope is not None else ()


def not_read(
    envelope: Envelope[Any] | None, what: str, closes: str, *, nodes: Sequence[str] = ()
) -> Iterator[NotSeen]:
    """Yield the absence that an incomplete reading is; one that does not apply is none."""
    if envelope is None or envelope.status.is_complete:
        return
    if envelope.status in {Status.NOT_SUPPORTED, Status.NOT_FOUND}:
        return
    yield NotSeen(
        what=what,
        reason=envelope.reason or Reason.NOT_RECORDED,
        closes_with=f"{closes} ({envelope.service}:{envelope.operation})",
        nodes=tuple(nodes),
    )
