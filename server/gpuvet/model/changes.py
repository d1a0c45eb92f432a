"""What changed on a cluster and who did it: API calls, cluster events, packages, rollouts."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.events import Record
from gpuvet.model.evidence import Reason, Status, Window


class ChangeKind(StrEnum):
    """What a change touches; each kind has its own window before a failure."""

    REPLACE = "replace nodes"
    REBOOT = "reboot nodes"
    DELETE = "delete nodes"
    ADD = "add nodes"
    SOFTWARE = "software update"
    CLUSTER = "cluster update"
    HEALTH_CHECK = "health check"
    TERMINATE = "end instances"
    LAUNCH = "start instances"
    CAPACITY = "capacity reservation"
    NETWORK = "network rule"
    STORAGE = "file system"
    KUBERNETES = "add-on or node group"
    LOGS = "log retention"


class Change(Value):
    """One control-plane call as CloudTrail recorded it."""

    kind: ChangeKind
    name: str  # the API's event name
    at: AwareDatetime
    by: str | None = None  # principal; keys and addresses are left out
    by_arn: str | None = None
    invoked_by: str | None = None  # an AWS service that called for somebody
    error: str | None = None  # set: the call failed and changed nothing
    cluster: str | None = None  # name or ARN as asked
    nodes: tuple[str, ...] = ()  # instance ids
    logical: tuple[str, ...] = ()  # node logical ids
    groups: tuple[str, ...] = ()  # instance groups
    resource: str | None = None  # other target: sg-…, fs-…, cr-…, stack
    accepted: tuple[str, ...] | None = None  # ids the answer says succeeded; None: not told
    refused: tuple[str, ...] = ()  # ids the answer says failed
    event_id: str | None = None
    evidence: str | None = None

    @property
    def is_attempt(self) -> bool:
        """Say whether it failed."""
        return self.error is not None

    @property
    def targets(self) -> tuple[str, ...]:
        """The instance ids it took effect on, as far as the record tells."""
        if self.is_attempt:
            return ()
        wanted = self.nodes if self.accepted is None else self.accepted
        return tuple(node for node in wanted if node not in self.refused)


class Missed(Value):
    """A look-up that did not succeed."""

    name: str
    status: Status
    reason: Reason | None = None


class Trail(Value):
    """Every change CloudTrail told of, and the look-ups that failed."""

    window: Window
    changes: tuple[Change, ...] = ()  # oldest first, of every cluster of the account
    missed: tuple[Missed, ...] = ()
    asked: tuple[str, ...] = ()  # event names
    evidence: tuple[str, ...] = ()
    told_by: str | None = None  # a table of the case that states an empty look-up, read in full

    @property
    def is_complete(self) -> bool:
        """Say whether every name was looked up, so that "no call" is a statement."""
        return self.told_by is not None or (bool(self.asked) and not self.missed)

    def has_read(self, names: Iterable[str]) -> bool:
        """Say whether these names were looked up with success."""
        if self.told_by is not None:
            return True
        return set(names) <= set(self.asked) - {one.name for one in self.missed}


class EventMeaning(StrEnum):
    """What a HyperPod cluster event is about."""

    REPLACEMENT = "replacement"
    TERMINATION = "termination"
    REBOOT = "reboot"
    PROVISIONED = "provisioned"
    PROVISION_FAILED = "provision failed"
    RESERVATION_USED = "reservation used"
    ON_DEMAND = "on-demand pool"
    NETWORK = "network"
    NETWORK_FAILED = "network failed"
    LIFECYCLE = "lifecycle"
    LIFECYCLE_FAILED = "lifecycle failed"
    SCALING = "scaling"
    SOFTWARE = "software update"
    ROLLBACK = "rollback"
    EVICTION = "eviction"
    SLURM = "slurm configuration"
    READINESS = "readiness lost"
    HEALTH = "node health"
    OTHER = "other"


class ClusterEvent(Value):
    """One HyperPod cluster event; a pair about one fault is one event."""

    id: str
    at: AwareDatetime
    meaning: EventMeaning
    description: str
    level: str | None = None  # Info, Warn, Error; None: not returned
    group: str | None = None
    instance: str | None = None
    operation: str | None = None
    failure: str | None = None  # FailureMessage of any metadata subtree
    reservation: str | None = None
    subnet: str | None = None
    also: tuple[str, ...] = ()  # ids of events that say the same
    evidence: str | None = None


class PackageChange(Record):
    """One package put in, upgraded or taken out on a node."""

    package: str
    new: str | None = None
    old: str | None = None
    tool: str = "dpkg"


class Rollout(Record):
    """A step of a DaemonSet's rollout."""

    workload: str  # daemonset/<name>
    step: str  # started, finished, pod ready
    old: str | None = None
    new: str | None = None
    on: str | None = None  # the host a pod of it became ready on


class ScriptUpgrade(Value):
    """A script of the case that upgrades packages without naming versions."""

    file: str
    line: int
    text: str
    tool: str
