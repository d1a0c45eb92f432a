"""What a cluster's own services say of starting nodes: launches, bootstraps, protected mode."""

from enum import StrEnum

from gpuvet.model.events import Record


class LaunchFault(StrEnum):
    """Why a launch failed, as the service's code says it."""

    CAPACITY = "capacity"
    QUOTA = "quota"
    PERMISSION = "permission"
    ADDRESSES = "addresses"
    OTHER = "other"


class ServiceEvent(StrEnum):
    """What one line or event of the cluster's services says."""

    INSTANCE_IGNORED = "instance ignored: EC2 did not return all of it"
    ASSIGNED = "instances assigned to node names"
    BOOTSTRAP_FAILED = "bootstrap failure recorded"
    RESUME_TIMEOUT = "not resumed in time"
    FAILURE_COUNT = "bootstrap failures counted"
    PROTECTED_MODE = "protected mode"
    NO_BACKING_INSTANCE = "no instance behind a node name"
    TERMINATING = "the cluster manager ends instances"
    LAUNCH_FAILED = "launch failed"
    CONNECT_TIMEOUT = "an AWS endpoint did not answer"
    ACTION_EXIT = "a custom action ended"
    SCRIPTS_STARTED = "lifecycle scripts began"
    SCRIPTS_SUCCEEDED = "lifecycle scripts succeeded"
    SCRIPTS_FAILED = "lifecycle scripts failed"
    BOOT_FINISHED = "cloud-init finished"
    NOT_RESPONDING = "slurmd does not respond"
    MODULE_MISSING = "a kernel module is not there for this kernel"
    HEALTH_CHECK_FAILED = "a health check took nodes out"


class ServiceRecord(Record):
    """One such line. `node` is the stream's own; the nodes it speaks of stand in the lists."""

    event: ServiceEvent
    instances: tuple[str, ...] = ()  # instance ids the line names
    names: tuple[str, ...] = ()  # Slurm node names
    pairs: tuple[tuple[str, str], ...] = ()  # node name and instance id, where the line pairs them
    queues: tuple[str, ...] = ()
    count: int | None = None
    threshold: int | None = None
    fault: LaunchFault | None = None
    code: str | None = None  # the service's error code, or the missing key
    exit_status: int | None = None
    action: str | None = None  # custom action or script
    service: str | None = None  # AWS service of an endpoint: ec2, dynamodb, …
    endpoint: str | None = None
