"""Clusters, nodes, and what people read on them."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.coverage import NodeCoverage
from gpuvet.model.events import (
    Boundary,
    DeepCheck,
    FabricManagerLine,
    GpuIdentity,
    GpuPresence,
    HardwareError,
    HmaRecord,
    InforomCorrupted,
    NodeCondition,
    PcieError,
    Shutdown,
    SxidEvent,
    XidEvent,
)
from gpuvet.model.evidence import Reason, Window


class Orchestrator(StrEnum):
    """Who runs the nodes; it decides what a verdict means in practice."""

    HYPERPOD_SLURM = "hyperpod_slurm"
    HYPERPOD_EKS = "hyperpod_eks"
    PARALLELCLUSTER = "parallelcluster"
    EKS = "eks"
    EC2 = "ec2"
    UNKNOWN = "unknown"

    @property
    def is_hyperpod(self) -> bool:
        """True for both kinds of HyperPod."""
        return self in {Orchestrator.HYPERPOD_SLURM, Orchestrator.HYPERPOD_EKS}


class Flag(StrEnum):
    """A yes/no field of nvidia-smi. N/A, Unknown Error and empty are NOT_READ, never NO."""

    YES = "Yes"
    NO = "No"
    NOT_READ = "not read"


class GpuFacts(Value):
    """What nvidia-smi or NVML said of one GPU."""

    pci: str | None = None
    uuid: str | None = None
    serial: str | None = None
    remap_pending: Flag = Flag.NOT_READ
    remap_failed: Flag = Flag.NOT_READ
    remapped_uncorrectable: int | None = None
    sram_threshold_exceeded: Flag = Flag.NOT_READ
    unrepairable_memory: Flag = Flag.NOT_READ
    channel_repair_pending: Flag = Flag.NOT_READ
    tpc_repair_pending: Flag = Flag.NOT_READ
    banks_low: int | None = None  # banks whose remap availability is Low or None
    fabric_state: str | None = None
    fabric_status: str | None = None
    links_active: int | None = None
    links_inactive: int | None = None
    pcie_replays: int | None = None
    read_at: AwareDatetime | None = None
    source: str = "nvidia-smi"
    raw: tuple[str, ...] = ()  # the lines as read


class NodeFacts(Value):
    """What is known of one node besides its logs. Missing means not read, never zero."""

    gpus_seen: int | None = None
    gpus_seen_at: AwareDatetime | None = None
    gpus_seen_stale: bool = False  # from a metric known to lag
    gpus_seen_source: str = "gpu count"
    gpus: tuple[GpuFacts, ...] = ()
    nvidia_smi_answers: bool | None = None  # False: it hangs, or cannot open a GPU
    status: str | None = None  # the platform's word, e.g. Running, Failure
    health_label: str | None = None  # sagemaker.amazonaws.com/node-health-status
    conditions: tuple[NodeCondition, ...] = ()
    earlier_same_gpu_events: int | None = None  # on the same PCI id, before this boot
    reboots_since_event: int | None = None
    ran_no_job: bool = False  # bootstrap failure or still Pending, with a measured blocker
    blocker: str | None = None  # that blocker, in one phrase
    replacement_requested: str | None = None  # the platform's recommendation, word for word


class NodeRecords(Value):
    """Everything the logs of one node say, by kind, in the order of the streams."""

    xids: tuple[XidEvent, ...] = ()
    sxids: tuple[SxidEvent, ...] = ()
    identities: tuple[GpuIdentity, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    shutdowns: tuple[Shutdown, ...] = ()
    hma: tuple[HmaRecord, ...] = ()
    deep_checks: tuple[DeepCheck, ...] = ()
    fabric_manager: tuple[FabricManagerLine, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    inforom: tuple[InforomCorrupted, ...] = ()
    presence: tuple[GpuPresence, ...] = ()
    pcie: tuple[PcieError, ...] = ()
    hardware: tuple[HardwareError, ...] = ()


class NodeEvidence(Value):
    """One node as the verdict sees it."""

    node: str
    host: str | None = None
    instance_type: str | None = None
    gpu_expected: int | None = None
    driver_version: str | None = None
    driver_open: bool | None = None
    launched_at: AwareDatetime | None = None
    left_at: AwareDatetime | None = None  # terminated or replaced
    created_at: AwareDatetime | None = None  # first start of the same instance
    stopped_at: AwareDatetime | None = None  # since when it has been stopped
    replaced_by: str | None = None
    jobs: tuple[tuple[str, AwareDatetime, AwareDatetime], ...] = ()  # id, start, end
    records: NodeRecords = NodeRecords()
    facts: NodeFacts = NodeFacts()
    coverage: NodeCoverage


class ClusterEvidence(Value):
    """Everything the verdict may use. The clock is `now`; nothing reads another."""

    orchestrator: Orchestrator = Orchestrator.UNKNOWN
    now: AwareDatetime
    window: Window
    window_source: str = "default"
    failure_at: AwareDatetime | None = None
    failure_measured: bool = True  # False: the user's word, 15 min of slack instead of 60 s
    driver_changed_at: AwareDatetime | None = None  # AMI or driver rollout
    nodes: tuple[NodeEvidence, ...] = ()


class NotSeen(Value):
    """A source that was not read, why, and what would close it."""

    what: str
    reason: Reason
    closes_with: str
    nodes: tuple[str, ...] = ()
