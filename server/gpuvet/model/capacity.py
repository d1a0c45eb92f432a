"""Where instances come from and until when: reservations, blocks, plans, addresses, warnings."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class Reservation(Value):
    """One EC2 capacity reservation; a Capacity Block is one of its types."""

    id: str
    kind: str | None = None  # default, capacity-block
    state: str | None = None
    instance_type: str | None = None
    zone: str | None = None
    zone_id: str | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    end_type: str | None = None  # unlimited, limited
    total: int | None = None
    available: int | None = None
    block: str | None = None
    is_ultraserver: bool = False
    interruptible: bool = False
    evidence: str | None = None

    @property
    def is_block(self) -> bool:
        """Say whether this is a Capacity Block, which ends by itself."""
        return self.kind == "capacity-block"


class BlockStatus(Value):
    """System status of one Capacity Block."""

    block: str
    interconnect: str | None = None
    total: int | None = None
    unavailable: int | None = None


class Extension(Value):
    """One extension of a Capacity Block."""

    reservation: str
    status: str | None = None  # payment-pending, payment-failed, payment-succeeded
    end: AwareDatetime | None = None


class PlanBlock(Value):
    """One stretch of a training plan; stretches may have gaps between them."""

    start: AwareDatetime
    end: AwareDatetime
    status: str | None = None
    instance_type: str | None = None
    total: int | None = None
    zone: str | None = None
    zone_id: str | None = None
    is_ultraserver: bool = False


class TrainingPlan(Value):
    """One SageMaker training plan."""

    name: str
    status: str | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None  # of the plan; not the usable end where it has gaps
    total: int | None = None
    available: int | None = None
    in_use: int | None = None
    unhealthy: int | None = None
    spare: int | None = None
    blocks: tuple[PlanBlock, ...] = ()
    evidence: str | None = None


class WarningKind(StrEnum):
    """What an EventBridge event of EC2 capacity announces."""

    INTERRUPTION = "Instance Interruption Warning"
    EXPIRATION = "Expiration Warning"


class CapacityWarning(Value):
    """One such event as delivered to a log group."""

    kind: WarningKind
    at: AwareDatetime
    instance: str | None = None
    reservation: str | None = None
    ends_at: AwareDatetime | None = None  # when the instance, or the block, ends
    stream: str = ""
    raw: str = ""
    evidence: str | None = None


class AlertRule(Value):
    """An EventBridge rule that would hear of capacity ending."""

    name: str
    hears: tuple[WarningKind, ...]
    is_enabled: bool
    targets: int | None = None  # None: not read


class Subnet(Value):
    """One subnet with its free IPv4 addresses as read now."""

    id: str
    free: int | None = None
    zone: str | None = None
    zone_id: str | None = None
    is_ipv6_only: bool = False
    vpc: str | None = None
    has_default_route: bool | None = None  # None: its routes were not read
    tables: tuple[str, ...] = ()  # route tables that govern it
    evidence: str | None = None


class Endpoints(Value):
    """AWS services that have an endpoint inside a VPC."""

    vpc: str | None = None
    services: tuple[str, ...] = ()


class Instance(Value):
    """One EC2 instance as read now."""

    id: str
    state: str | None = None
    instance_type: str | None = None
    launched_at: AwareDatetime | None = None
    reason: str = ""  # StateTransitionReason, word for word
    ended_at: AwareDatetime | None = None  # the time that reason names
    state_reason: str | None = None  # StateReason.Code
    reservation: str | None = None
    block: str | None = None
    lifecycle: str | None = None  # spot, capacity-block, …
    subnet: str | None = None
    zone: str | None = None
    image: str | None = None
    name: str | None = None
    queue: str | None = None
    addresses: int | None = None  # IPv4 addresses it holds
    security_groups: tuple[str, ...] = ()
    evidence: str | None = None

    @property
    def is_gone(self) -> bool:
        """Say whether it ended or is ending."""
        return self.state in {"terminated", "shutting-down"}

    @property
    def was_ended_by_service(self) -> bool:
        """Say whether its own record states that the service ended it."""
        return self.is_gone and self.reason.lower().startswith("service initiated")


class InstanceHealth(Value):
    """Status checks and scheduled events of one instance."""

    id: str
    instance_status: str | None = None
    system_status: str | None = None
    scheduled: tuple[str, ...] = ()  # code, not before, description
    scheduled_at: tuple[AwareDatetime, ...] = ()
    evidence: str | None = None

    @property
    def is_impaired(self) -> bool:
        """Say whether a status check fails now."""
        return "impaired" in {self.instance_status, self.system_status}


class HealthEvent(Value):
    """One AWS Health event with the resources it names."""

    arn: str
    code: str
    category: str | None = None  # issue, scheduledChange, accountNotification, investigation
    service: str | None = None
    status: str | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    entities: tuple[str, ...] | None = None  # None: not read
    evidence: str | None = None
