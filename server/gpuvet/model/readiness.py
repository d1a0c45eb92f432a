"""What only a run that has not begun is judged on: alarms, quotas, offers, repair, retention."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.metrics import MetricName


class CapacityBlock(Value):
    """One Capacity Block as EC2 describes it beside its reservations."""

    id: str
    ultraserver: str | None = None
    reservations: tuple[str, ...] = ()


class Offering(Value):
    """One offer to extend a Capacity Block; nothing is bought and no price is read."""

    reservation: str
    hours: int
    end: AwareDatetime | None = None
    instances: int | None = None


class Alarm(Value):
    """One CloudWatch alarm; `is_composite` combines others."""

    name: str
    state: str | None = None  # OK, ALARM, INSUFFICIENT_DATA
    since: AwareDatetime | None = None
    dimensions: tuple[tuple[str, str], ...] = ()
    is_composite: bool = False
    rule: str = ""  # of a composite: the names it combines
    evidence: str | None = None


class Schedule(Value):
    """One scheduled EventBridge rule with what it tells its targets."""

    name: str
    expression: str
    is_enabled: bool
    words: str = ""  # description and inputs of its targets
    targets: int | None = None  # None: not read


class Quota(Value):
    """One service quota."""

    name: str
    value: float
    is_default: bool = False
    usage: MetricName | None = None  # the CloudWatch metric of its use, where there is one
    usage_stat: str = "Maximum"
    evidence: str | None = None


class NodeGroup(Value):
    """One managed node group of an EKS cluster."""

    name: str
    status: str | None = None
    capacity: str | None = None  # ON_DEMAND, SPOT, CAPACITY_BLOCK
    instance_types: tuple[str, ...] = ()
    repair: bool | None = None  # nodeRepairConfig.enabled; None: not returned
    issues: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()


class Addon(Value):
    """One EKS add-on."""

    name: str
    status: str | None = None
    version: str | None = None
    issues: tuple[str, ...] = ()


class Workspace(Value):
    """One Managed Prometheus workspace."""

    id: str
    alias: str | None = None
    status: str | None = None


class GroupRetention(Value):
    """One log group and how many days it keeps lines; None keeps them for ever."""

    name: str
    days: int | None = None
    key: str | None = None  # KMS key of its own


class KeyState(Value):
    """One KMS key."""

    key: str
    used_by: str = ""  # what is encrypted with it
    state: str | None = None  # Enabled, Disabled, PendingDeletion, …


class NodePlace(Value):
    """Where one HyperPod node runs, and what it runs."""

    node: str
    zone: str | None = None
    zone_id: str | None = None
    image: str | None = None
    wanted_image: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


class Ready(StrEnum):
    """Whether a run may start."""

    YES = "Yes"
    WITH_RISKS = "Yes with risks"
    NO = "No"
    NOT_DECIDED = "Not decided"
