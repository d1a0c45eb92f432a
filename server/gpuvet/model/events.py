"""What one line or record says: driver events, boundaries, agent records.

Every record names where it stands (node, group, stream, line) and when (wall time with its
quality, kernel uptime, boot). Nothing here is judged.
"""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.evidence import evidence_id


class Source(StrEnum):
    """Who wrote the line, as far as the line shows."""

    KERNEL = "kernel"
    HMA = "hma"
    DCGM = "dcgm"
    DCGM_GAUGE = "dcgm_gauge"  # an exporter's last-Xid gauge took another value
    EKS_CONDITION = "eks_condition"
    DEVICE_PLUGIN = "device_plugin"
    AGENT = "agent"  # a monitor that copies the driver's line
    USER_SPACE = "user_space"  # shaped like a driver line, but not written by the kernel
    SERVICE = "service"  # systemd, fabric manager, slurmd
    GPU_LOST = "gpu_lost"  # "fallen off the bus" without an Xid
    INFERRED = "inferred"  # named by another event, its own line not seen


class TimeQuality(StrEnum):
    """How much a wall time may be trusted for order."""

    EXACT = "exact"  # date, zone and at least seconds
    ASSUMED = "assumed"  # year or zone supplied by us
    INGEST_ONLY = "ingest_only"  # the shipper's time; never decides which came first
    NONE = "none"  # uptime only


class Record(Value):
    """Where and when; the base of everything a log says."""

    node: str
    stream: str  # exact stream or file name, as the service or the case writes it
    line: int  # 1-based line or record number inside the stream
    raw: str  # the line as shipped, bounded
    group: str | None = None
    at: AwareDatetime | None = None
    time_quality: TimeQuality = TimeQuality.NONE
    uptime_us: int | None = None  # kernel uptime in microseconds
    boot: str | None = None  # journald _BOOT_ID
    source: Source = Source.KERNEL

    @property
    def evidence(self) -> str:
        """The evidence id of this line."""
        return evidence_id(
            account=None,
            region=None,
            operation="line",
            params=f"{self.group or ''}|{self.stream}#{self.line}",
        )


class XidEvent(Record):
    """One Xid as one source printed it."""

    code: int
    pci: str | None = None  # dddd:bb:dd, lower case
    gpu_instance: int | None = None  # MIG
    compute_instance: int | None = None
    pid: int | None = None
    process: str | None = None
    text: str = ""  # what follows the code, pid and name; joined over lines
    root: int | None = None  # "caused by previous Xid N"
    uuid: str | None = None  # device plugin lines carry it instead of a PCI id
    cut: bool = False  # the line ends where a field should follow


class SxidEvent(Record):
    """One NVSwitch error."""

    code: int
    switch: int | None = None
    switch_pci: str | None = None  # with the function digit, as the driver prints it
    fatal: bool | None = None  # the word in the line; None where it prints neither
    link: int | None = None
    text: str = ""


class GpuIdentity(Record):
    """Which GPU sits behind a PCI id; either field may be unknown."""

    pci: str | None = None
    uuid: str | None = None
    serial: str | None = None


class BoundaryKind(StrEnum):
    """What separates two spans of a node's life, weakest first."""

    GPU_RESET = "gpu_reset"
    DRIVER_RELOAD = "driver_reload"
    REBOOT = "reboot"
    STOP_START = "stop_start"  # new hardware under the same instance id
    REPLACED = "replaced"


class Boundary(Record):
    """A boot, a reload, a reset or a change of hardware."""

    kind: BoundaryKind
    driver_version: str | None = None
    driver_open: bool | None = None  # Open Kernel Module or proprietary
    kernel_version: str | None = None
    uuid: str | None = None  # gpu_reset names the GPU


class Shutdown(Record):
    """The node began to go down: power key, shutdown target, termination."""


class HmaRecord(Record):
    """One detection of the HyperPod health monitoring agent."""

    agent_at: AwareDatetime | None = None  # the agent's own stamp, kept beside the event's
    reason: str | None = None  # XidHardwareFailure, XidUserAppError, …
    condition: str | None = None  # NvidiaErrorReboot, NvidiaErrorTerminate
    condition_true: bool = True  # False: cleared
    code: int | None = None  # Xid of the inner line, or ErrNum
    recommendation: str | None = None
    repair_action: str | None = None
    message: str = ""


class DeepCheck(Record):
    """One outcome of a HyperPod deep health check."""

    passed: bool
    faulty_instance: bool = False
    message: str = ""


class FabricState(StrEnum):
    """What a Fabric Manager line says."""

    STARTED = "started"
    VERSION_MISMATCH = "version_mismatch"
    FAILED = "failed"  # down for another reason
    NO_SWITCH = "no_switch"  # the expected complaint on a type without NVSwitch


class FabricManagerLine(Record):
    """Fabric Manager about itself."""

    state: FabricState
    manager_version: str | None = None
    driver_version: str | None = None


class NodeCondition(Record):
    """A Kubernetes node condition, or a HyperPod node label, as read."""

    kind: str  # AcceleratedHardwareReady, or a label's key
    status: str  # "True", "False", or a label's value
    reason: str | None = None
    message: str = ""
    transition_at: AwareDatetime | None = None
    heartbeat_at: AwareDatetime | None = None


class InforomCorrupted(Record):
    """`WARNING: infoROM is corrupted at gpu …`, printed by nvidia-smi."""

    pci: str | None = None


class GpuPresence(Record):
    """How many GPUs something listed, and when."""

    seen: int


class PcieError(Record):
    """A PCIe error beside a GPU: an AER line of the kernel, or a replay counter that grew."""

    pci: str | None = None  # of the GPU, without the function digit
    message: str = ""


class HardwareKind(StrEnum):
    """What failed, where the kernel tells it without an Xid."""

    GPU_START = "gpu_start"  # RmInitAdapter failed
    MACHINE_CHECK = "machine_check"  # uncorrected
    PANIC = "panic"  # for another reason
    PCIE = "pcie"  # AER, uncorrected
    MEMORY = "memory"  # EDAC, uncorrected
    NVME = "nvme"
    SOFT_LOCKUP = "soft_lockup"


class HardwareError(Record):
    """A kernel line of failed hardware that is no Xid."""

    kind: HardwareKind
    meaning: str
    device: str | None = None  # bus address with the function digit, or a device name
    driver: str | None = None  # that owns the device


AnyRecord = (
    XidEvent
    | SxidEvent
    | GpuIdentity
    | Boundary
    | Shutdown
    | HmaRecord
    | DeepCheck
    | FabricManagerLine
    | NodeCondition
    | InforomCorrupted
    | GpuPresence
    | PcieError
    | HardwareError
)
