"""FSx for Lustre file systems, and what clients say of the mounts they use."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class WeeklyTime(Value):
    """A time of the week in UTC, as WeeklyMaintenanceStartTime gives it."""

    weekday: int  # 1 is Monday, 7 is Sunday
    hour: int
    minute: int


class AdministrativeAction(Value):
    """One administrative action of a file system."""

    kind: str  # FILE_SYSTEM_UPDATE, STORAGE_OPTIMIZATION, …
    status: str
    requested_at: AwareDatetime | None = None
    progress_percent: int | None = None


class FileSystem(Value):
    """One FSx for Lustre file system. None is not in the reply."""

    id: str
    lifecycle: str | None = None
    capacity_gib: int | None = None
    storage_type: str | None = None
    vpc: str | None = None
    subnets: tuple[str, ...] = ()
    dns_name: str | None = None
    mount_name: str | None = None
    deployment: str | None = None  # SCRATCH_1, SCRATCH_2, PERSISTENT_1, PERSISTENT_2
    throughput_per_tib: int | None = None  # MB/s per TiB
    maintenance: WeeklyTime | None = None
    metadata_mode: str | None = None
    metadata_iops: int | None = None
    actions: tuple[AdministrativeAction, ...] | None = None  # None: not in the reply
    kms_key: str | None = None


class MentionKind(StrEnum):
    """What a line says of a file system."""

    PATH = "path"  # a path that lies on a Lustre mount by its name
    FILE_SYSTEM = "file system"  # fs-… or its DNS name
    MOUNT = "mount"  # a mount line: address@tcp:/name
    NO_SPACE = "no space"
    CHECKPOINT = "checkpoint"


class StorageMention(Value):
    """One line of the job, of a node or of a manifest that speaks of storage."""

    kinds: tuple[MentionKind, ...]
    at: AwareDatetime | None = None
    path: str | None = None
    file_system: str | None = None
    mount_name: str | None = None
    mount_point: str | None = None
    target: int | None = None  # OST index the line names
    source: str  # file or stream
    line: int
    raw: str
    evidence: str | None = None


class StripeLayout(Value):
    """On which storage targets a file lies, as `lfs getstripe` prints it."""

    path: str
    targets: tuple[int, ...]  # OST indexes
    source: str
    line: int


class StatTiming(Value):
    """How long a client waited for the metadata of one file."""

    path: str
    seconds: float
    before_seconds: float | None = None  # the same, as measured earlier
    at_words: str | None = None
    measured: bool = False  # False: somebody's note, not a command's own output
    source: str
    line: int
    raw: str
