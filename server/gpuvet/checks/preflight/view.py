"""Everything the preflight checks may use: the run, the nodes, and readings with their status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gpuvet.calculators.fault_history import FaultHistory
from gpuvet.calculators.storage_inputs import Seen, StorageInputs
from gpuvet.catalog.instance_types import InstanceType, instance_type
from gpuvet.checks.preflight.reading import Reading
from gpuvet.model.bootstrap import ServiceRecord
from gpuvet.model.capacity import (
    AlertRule,
    BlockStatus,
    Endpoints,
    Extension,
    HealthEvent,
    Instance,
    InstanceHealth,
    Reservation,
    Subnet,
    TrainingPlan,
)
from gpuvet.model.changes import ClusterEvent
from gpuvet.model.check import Finding
from gpuvet.model.cluster import NodeRecords, NotSeen, Orchestrator
from gpuvet.model.cluster_state import GroupState, HyperPodCluster, HyperPodNode
from gpuvet.model.coverage import NodeCoverage
from gpuvet.model.evidence import Status
from gpuvet.model.job_spec import JobSpec
from gpuvet.model.network import (
    EfaLimit,
    InstanceNetwork,
    Interface,
    NcclLog,
    PrefixList,
    RouteTable,
    SecurityGroup,
)
from gpuvet.model.readiness import (
    Addon,
    Alarm,
    CapacityBlock,
    GroupRetention,
    KeyState,
    NodeGroup,
    NodePlace,
    Offering,
    Quota,
    Schedule,
    Workspace,
)
from gpuvet.model.software import SoftwareVersion
from gpuvet.model.verdict import NodeVerdict


@dataclass(frozen=True, slots=True)
class Run:
    """The run that is asked about.

    Attributes:
        start: When it begins; the present where nobody says.
        hours: Its length.
        is_start_fixed: Somebody named the start, so it cannot be moved to when capacity begins.
        checkpoint_interval: None: not told.
        checkpoint_gib: Size of one checkpoint; None: not told.
        checkpoints_kept: How many stay on storage at the same time.
        nodes_needed: None: not told.
        nodes_from: Who told it.
        auto_resume: Whether the job restarts by itself; None: not told.
    """

    start: datetime
    hours: float
    is_start_fixed: bool = False
    checkpoint_interval: timedelta | None = None
    checkpoint_gib: float | None = None
    checkpoints_kept: int = 1
    nodes_needed: int | None = None
    nodes_from: str = "not told"
    auto_resume: bool | None = None

    @property
    def end(self) -> datetime:
        """When it ends."""
        return self.start + timedelta(hours=self.hours)


@dataclass(frozen=True, slots=True)
class RunNode:
    """One accelerated node of the cluster, with what its logs and its verdict say."""

    node: str
    coverage: NodeCoverage
    verdict: NodeVerdict
    records: NodeRecords = field(default_factory=NodeRecords)
    group: str | None = None
    instance_type: str | None = None
    state: str | None = None
    launched_at: datetime | None = None
    driver: str | None = None
    aliases: tuple[str, ...] = ()
    health_label: str | None = None


@dataclass(frozen=True, slots=True)
class JobFile:
    """A job spec that came with the question, and what its own checks found."""

    file: str
    spec: JobSpec | None
    findings: tuple[Finding, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class QuotaSight:
    """A quota and how much of it the region uses."""

    quota: Reading[Quota]
    usage: Reading[float] = field(default_factory=lambda: Reading("the use of a quota"))


def _no(what: str) -> Reading[Any]:
    return Reading(what)


@dataclass(frozen=True, slots=True)
class View:
    """One run against one cluster as read now. Every source carries its own status."""

    now: datetime
    run: Run
    orchestrator: Orchestrator
    cluster_name: str | None = None
    nodes: tuple[RunNode, ...] = ()
    logs_unread: tuple[NotSeen, ...] = ()  # readings of the nodes' logs that did not succeed
    listed: Reading[tuple[str, ...]] = field(default_factory=lambda: _no("the list of nodes"))
    cluster: Reading[HyperPodCluster] = field(default_factory=lambda: _no("the cluster"))
    hyperpod_nodes: Reading[tuple[HyperPodNode, ...]] = field(
        default_factory=lambda: _no("the nodes HyperPod lists")
    )
    places: tuple[Reading[NodePlace], ...] = ()
    events: Reading[tuple[ClusterEvent, ...]] = field(default_factory=lambda: _no("cluster events"))
    instances: Reading[tuple[Instance, ...]] = field(default_factory=lambda: _no("instances"))
    reservations: Reading[tuple[Reservation, ...]] = field(
        default_factory=lambda: _no("capacity reservations")
    )
    blocks: Reading[tuple[CapacityBlock, ...]] = field(
        default_factory=lambda: _no("Capacity Blocks")
    )
    block_status: Reading[tuple[BlockStatus, ...]] = field(
        default_factory=lambda: _no("the health of Capacity Blocks")
    )
    extensions: Reading[tuple[Extension, ...]] = field(
        default_factory=lambda: _no("extensions of Capacity Blocks")
    )
    offerings: Mapping[tuple[str, int], Reading[tuple[Offering, ...]]] = field(
        default_factory=dict[tuple[str, int], Reading[tuple[Offering, ...]]]
    )
    plans: Reading[tuple[TrainingPlan, ...]] = field(default_factory=lambda: _no("training plans"))
    subnets: Reading[tuple[Subnet, ...]] = field(default_factory=lambda: _no("subnets"))
    routes: Reading[tuple[RouteTable, ...]] = field(default_factory=lambda: _no("route tables"))
    endpoints: Reading[tuple[Endpoints, ...]] = field(default_factory=lambda: _no("VPC endpoints"))
    interfaces: Reading[tuple[Interface, ...]] = field(
        default_factory=lambda: _no("network interfaces")
    )
    attached: Reading[tuple[InstanceNetwork, ...]] = field(
        default_factory=lambda: _no("how instances are attached")
    )
    groups: Reading[tuple[SecurityGroup, ...]] = field(
        default_factory=lambda: _no("security groups")
    )
    prefix_lists: Reading[tuple[PrefixList, ...]] = field(
        default_factory=lambda: _no("entries of prefix lists")
    )
    limits: Reading[tuple[EfaLimit, ...]] = field(
        default_factory=lambda: _no("what instance types have")
    )
    interface_quota: Reading[Quota] = field(default_factory=lambda: _no("the interface quota"))
    usage_quotas: Reading[tuple[Quota, ...]] = field(default_factory=lambda: _no("quotas by name"))
    vcpu_quotas: Mapping[str, QuotaSight] = field(default_factory=dict[str, QuotaSight])  # by code
    ebs_quota: QuotaSight = field(default_factory=lambda: QuotaSight(_no("the EBS storage quota")))
    storage: StorageInputs | None = None
    systems: tuple[Seen, ...] = ()  # those of the run, read from `storage` once
    alarms: Reading[tuple[Alarm, ...]] = field(default_factory=lambda: _no("alarms"))
    rules: Reading[tuple[AlertRule, ...]] = field(default_factory=lambda: _no("EventBridge rules"))
    schedules: Reading[tuple[Schedule, ...]] = field(default_factory=lambda: _no("schedules"))
    nccl: NcclLog = field(default_factory=NcclLog)
    nccl_unread: tuple[str, ...] = ()  # lines that were not read, in words
    versions: tuple[SoftwareVersion, ...] = ()  # of what runs on nodes and in the job
    services: tuple[ServiceRecord, ...] = ()
    services_read: Reading[Any] = field(
        default_factory=lambda: _no("logs of the cluster's services")
    )
    manager_alive: bool | None = None  # clustermgtd wrote in the last hour; None: not known
    instance_health: Reading[tuple[InstanceHealth, ...]] = field(
        default_factory=lambda: _no("instance status checks")
    )
    health_events: Reading[tuple[HealthEvent, ...]] = field(
        default_factory=lambda: _no("AWS Health events")
    )
    nodegroups: Reading[tuple[NodeGroup, ...]] = field(default_factory=lambda: _no("node groups"))
    addons: Reading[tuple[Addon, ...]] = field(default_factory=lambda: _no("add-ons"))
    workspaces: Reading[tuple[Workspace, ...]] = field(
        default_factory=lambda: _no("Managed Prometheus workspaces")
    )
    # HyperPod writes a node's health on its Kubernetes object.
    kube_nodes: Reading[Any] = field(
        default_factory=lambda: Reading("Kubernetes nodes", Status.NOT_SUPPORTED)
    )
    waiting: tuple[str, ...] = ()  # what pods of the cluster wait for now
    # Nodes whose GPU series arrive in a workspace; None: no workspace has any node of ours.
    arriving: Reading[tuple[str, ...]] = field(
        default_factory=lambda: _no("GPU series in Managed Prometheus")
    )
    retention: Reading[tuple[GroupRetention, ...]] = field(
        default_factory=lambda: _no("retention of log groups")
    )
    keys: tuple[Reading[KeyState], ...] = ()
    secrets_read: Reading[tuple[str, ...]] = field(
        default_factory=lambda: _no("the key of the EKS cluster's secrets")
    )
    job: JobFile | None = None
    scripts: tuple[tuple[str, str], ...] = ()  # file and text of batch scripts
    history: FaultHistory | None = None

    @property
    def is_hyperpod(self) -> bool:
        """True for both kinds of HyperPod."""
        return self.orchestrator.is_hyperpod

    @property
    def is_known(self) -> bool:
        """False where what runs the nodes could not be told: then nothing is "not applicable"."""
        return self.orchestrator is not Orchestrator.UNKNOWN

    @property
    def names_eks(self) -> bool:
        """True where an EKS cluster stands behind the nodes."""
        return self.orchestrator in {Orchestrator.EKS, Orchestrator.HYPERPOD_EKS}

    @property
    def accelerated(self) -> tuple[GroupState, ...]:
        """The HyperPod groups that may hold GPUs, and nodes; those of the spec's type, if any."""
        found = self.cluster.value.groups if self.cluster.value else ()
        kept = tuple(g for g in found if may_have_gpus(g.instance_type) and not _is_empty(g))
        wanted = self.wanted_types
        of_type = tuple(g for g in kept if plain(g.instance_type) in wanted)
        return of_type or kept

    @property
    def wanted_types(self) -> frozenset[str]:
        """The instance types that the job's spec names."""
        if self.job is None or self.job.spec is None:
            return frozenset()
        fields = (
            each.pod.at("nodeSelector", label)
            for each in self.job.spec.replica_sets
            for label in ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
        )
        return frozenset(plain(one.text) for one in fields if one.text)

    @property
    def types(self) -> tuple[str, ...]:
        """The instance types of the nodes and groups, without `ml.`."""
        named = [n.instance_type for n in self.nodes] + [g.instance_type for g in self.accelerated]
        return tuple(sorted({plain(name) for name in named if name}))

    @property
    def members(self) -> tuple[Instance, ...]:
        """The running EC2 instances that are nodes of the run."""
        ids = {n.node for n in self.nodes}
        found = self.instances.value or ()
        return tuple(one for one in found if one.id in ids and not one.is_gone)

    @property
    def is_single_node(self) -> bool:
        """True only where somebody says that the run takes one node."""
        return self.run.nodes_needed == 1

    def subnets_of(self, group: GroupState | None) -> tuple[str, ...]:
        """Return the ids of a group's subnets: its own, else the cluster's, else the nodes'."""
        if group is not None and group.subnets:
            return group.subnets
        if self.cluster.value is not None:
            return self.cluster.value.subnets
        return tuple(sorted({one.subnet for one in self.members if one.subnet}))

    def most_efa(self, kind: str) -> int | None:
        """Return how many EFA interfaces a type can have, as read, else as listed; or None."""
        for one in self.limits.value or ():
            if one.instance_type == kind and (one.most is not None or one.supported is False):
                return one.most if one.most is not None else 0
        row = instance_type(kind)
        return row.max_efa if row else None


def plain(kind: str | None) -> str:
    """Return an instance type without SageMaker's `ml.`."""
    return (kind or "").removeprefix("ml.")


def _is_empty(group: GroupState) -> bool:
    """Say whether a group holds no node and wants none; what was not returned is not zero."""
    counts = {group.current, group.target}
    return 0 in counts and counts <= {0, None}


def may_have_gpus(kind: str | None) -> bool:
    """Say whether a type may hold accelerators; one that is not listed may."""
    row: InstanceType | None = instance_type(kind) if kind else None
    if row is not None:
        return bool(row.gpus or row.neuron_devices)
    return kind is None or plain(kind).startswith(("p", "g", "trn", "inf"))
