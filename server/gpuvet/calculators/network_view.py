"""What the four layers of GPU communication are judged from, and what each of them gives. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.case import CleanSignals
from gpuvet.model.cause import Failure, Signal, Symptom
from gpuvet.model.cluster import GpuFacts, NodeRecords, NotSeen
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.evidence import Envelope
from gpuvet.model.network import (
    EfaLimit,
    EfaReading,
    EfaSeries,
    InstanceNetwork,
    NcclLog,
    PodRequest,
    RouteTable,
    RuleChange,
    SecurityGroup,
)

# Symptoms that a broken or slow connection between nodes can show as.
OF_COMMUNICATION = frozenset({Symptom.SLOW, Symptom.HANG, Symptom.START_UP, Symptom.CRASH})


@dataclass(frozen=True, slots=True)
class JobNode:
    """One GPU node of the job.

    Attributes:
        node: Instance id.
        aliases: Host names and addresses.
        instance_type: EC2's or SageMaker's name.
        records: What its logs say.
        coverage: How far its kernel lines or detections were seen.
        gpus: What nvidia-smi said.
        efa_allocatable: EFA interfaces that its kubelet offers.
        is_hyperpod: Its interfaces are not visible to EC2's API in the account.
        is_faulty: Its verdict has a hardware ground: then its link errors belong to branch A.
        group: Instance group.
    """

    node: str
    aliases: tuple[str, ...] = ()
    instance_type: str | None = None
    records: NodeRecords = field(default_factory=NodeRecords)
    coverage: CoverageStatus = CoverageStatus.NOT_OBSERVABLE
    gpus: tuple[GpuFacts, ...] = ()
    efa_allocatable: int | None = None
    is_hyperpod: bool = False
    is_faulty: bool = False
    group: str | None = None


@dataclass(frozen=True)
class NetworkView:
    """Everything of GPU communication. None is a source that was not asked.

    Attributes:
        failure: When and how the failure began.
        nodes: The GPU nodes of the job.
        since: Start of the window.
        log: What job and system lines say.
        log_unseen: Lines that were not read, or not to their end.
        clean: Extremes that somebody read with status OK.
        instances: EC2's description of the nodes.
        groups: Security groups of the nodes.
        hyperpod_groups: Groups by HyperPod instance group.
        limits: What the instance types can have.
        routes: Route tables of the nodes' subnets.
        changes: Calls that changed rules of these groups.
        series: EFA counters over time.
        readings: EFA counters as single numbers.
        pods: What the job's containers ask for.
    """

    failure: Failure
    nodes: tuple[JobNode, ...]
    since: datetime
    log: NcclLog = field(default_factory=NcclLog)
    log_unseen: tuple[NotSeen, ...] = ()
    clean: tuple[CleanSignals, ...] = ()
    instances: Envelope[tuple[InstanceNetwork, ...]] | None = None
    groups: Envelope[tuple[SecurityGroup, ...]] | None = None
    hyperpod_groups: Envelope[tuple[tuple[str, tuple[str, ...]], ...]] | None = None
    limits: Envelope[tuple[EfaLimit, ...]] | None = None
    routes: Envelope[tuple[RouteTable, ...]] | None = None
    changes: Envelope[tuple[RuleChange, ...]] | None = None
    series: Envelope[tuple[EfaSeries, ...]] | None = None
    readings: tuple[EfaReading, ...] = ()
    pods: tuple[PodRequest, ...] = ()

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Host names and aliases to instance ids."""
        return {name: one.node for one in self.nodes for name in (one.node, *one.aliases) if name}

    @cached_property
    def attached(self) -> Mapping[str, InstanceNetwork]:
        """How nodes are attached, by instance id; only those that were read."""
        found = (self.instances.value if self.instances else None) or ()
        wanted = {one.node for one in self.nodes}
        return {one.node: one for one in found if one.node in wanted}

    def most_efa(self, kind: str | None) -> int | None:
        """Return how many EFA interfaces a type can have, as read, else as listed; or None."""
        if kind is None:
            return None
        plain = kind.removeprefix("ml.")
        for one in (self.limits.value if self.limits else None) or ():
            if one.instance_type == plain and (one.most is not None or one.supported is False):
                return one.most if one.most is not None else 0
        listed = instance_type(plain)
        return listed.max_efa if listed else None

    @property
    def is_efa_capable(self) -> bool | None:
        """Say whether every node's type can have EFA; None where a type is not known."""
        most = [self.most_efa(one.instance_type) for one in self.nodes]
        if any(one == 0 for one in most):
            return False
        return True if most and all(one is not None for one in most) else None

    @property
    def is_without_efa(self) -> bool:
        """Say whether sockets are all that these nodes can use: at most one EFA, none attached."""
        rows = [self.attached.get(one.node) for one in self.nodes]
        most = [self.most_efa(one.instance_type) for one in self.nodes]
        none = bool(rows) and all(row is not None and row.efa_attached == 0 for row in rows)
        return none and all(one is not None and one <= 1 for one in most)

    @property
    def is_multi_node(self) -> bool:
        """Say whether the job runs on more than one node, as any source shows."""
        hosts = {one.host for one in self.log.lines if one.host}
        replicas = [one.replicas or 1 for one in self.pods]
        return len(self.nodes) > 1 or len(hosts) > 1 or sum(replicas) > 1


class Layer(NamedTuple):
    """What one layer gives.

    Attributes:
        signals: What speaks for branch D.
        facts: Sentences with ids, values and denominators.
        clean: The layer's absence of faults with its coverage, as a phrase; None: not shown.
        unseen: Sources of the layer that were not seen.
        actions: What an operator would do.
    """

    signals: tuple[Signal, ...] = ()
    facts: tuple[str, ...] = ()
    clean: str | None = None
    unseen: tuple[NotSeen, ...] = ()
    actions: tuple[str, ...] = ()


def stamp(at: datetime | None) -> str:
    """Return a time as reports write it, or words for none."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else "an unknown time"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names in a row, cut with a count."""
    ordered = list(dict.fromkeys(names))
    if len(ordered) <= most:
        return ", ".join(ordered)
    return f"{', '.join(ordered[:most])} and {len(ordered) - most} more"


def count_of(part: int, whole: int, noun: str) -> str:
    """Return `2 of 2 hosts`."""
    return f"{part} of {whole} {noun}{'' if whole == 1 else 's'}"
