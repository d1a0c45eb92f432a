"""Small worlds for tests of capacity and change: readings made by hand, with sane defaults."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from gpuvet.calculators.capacity_evidence import CapacityEvidence, JobNode
from gpuvet.calculators.change_evidence import ChangeEvidence
from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.model.capacity import Instance, Reservation
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.changes import Change, ChangeKind, Trail
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.cluster_state import GroupState, HyperPodCluster
from gpuvet.model.evidence import Envelope, Reason, Status, Window

END = datetime(2026, 3, 20, 11, 30, tzinfo=UTC)
T0 = datetime(2026, 3, 20, 11, 0, tzinfo=UTC)
NODES = ("i-0aaaaaaaaaaaaaa01", "i-0aaaaaaaaaaaaaa02", "i-0aaaaaaaaaaaaaa03")
WINDOW = Window(start=T0 - timedelta(hours=2), end=T0 + timedelta(hours=1))
NOW = T0 + timedelta(hours=1)
CLUSTER_ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc123def456"
EVENT_NAMES = (
    "BatchReplaceClusterNodes",
    "TerminateInstances",
    "StopInstances",
    "UpdateClusterSoftware",
)


def at(text: str) -> datetime:
    """Return a time of the day of T0, from `HH:MM` or `HH:MM:SS`."""
    hour, minute, *rest = (int(part) for part in text.split(":"))
    return T0.replace(hour=hour, minute=minute, second=rest[0] if rest else 0)


def read(*values: object, service: str = "ec2", operation: str = "Describe") -> Envelope[Any]:
    """Return a complete reading of some values."""
    return Envelope[Any](
        service=service,
        operation=operation,
        status=Status.OK if values else Status.OK_EMPTY,
        value=values,
    )


def one(value: object) -> Envelope[Any]:
    """Return a complete reading of one object."""
    return Envelope[Any](service="sagemaker", operation="Describe", status=Status.OK, value=value)


def denied(service: str = "ec2", operation: str = "Describe") -> Envelope[Any]:
    """Return a reading that was refused."""
    return Envelope[Any](
        service=service,
        operation=operation,
        status=Status.UNVERIFIED,
        reason=Reason.DENIED,
        error_code="AccessDeniedException",
    )


def failure(symptom: Symptom = Symptom.NODES_LOST, start: datetime | None = T0) -> Failure:
    """Return a failure whose start was observed."""
    return Failure(symptom=symptom, at=start, observed=start is not None, source="test")


def block(**values: object) -> Reservation:
    """Return an active Capacity Block that ends at END."""
    base: dict[str, Any] = {
        "id": "cr-0a1b2c3d4e5f60718",
        "kind": "capacity-block",
        "state": "active",
        "instance_type": "p5.48xlarge",
        "zone": "us-west-2a",
        "start": END - timedelta(days=7),
        "end": END,
        "total": len(NODES),
        "available": 0,
    }
    merged: dict[str, Any] = {**base, **values}
    return Reservation(**merged)


def instance(name: str, **values: object) -> Instance:
    """Return an instance of that block, running."""
    base: dict[str, Any] = {
        "id": name,
        "state": "running",
        "instance_type": "p5.48xlarge",
        "reservation": "cr-0a1b2c3d4e5f60718",
        "lifecycle": "capacity-block",
        "zone": "us-west-2a",
    }
    merged: dict[str, Any] = {**base, **values}
    return Instance(**merged)


def ended(name: str, when: datetime, *, by_service: bool = True) -> Instance:
    """Return an instance that ended, by its own record or with an empty reason."""
    reason = f"Service initiated ({when:%Y-%m-%d %H:%M:%S} GMT)" if by_service else ""
    return instance(name, state="terminated", reason=reason, ended_at=when if by_service else None)


def node(name: str, **values: object) -> JobNode:
    """Return a node of the job."""
    base: dict[str, Any] = {"node": name, "instance_type": "p5.48xlarge"}
    merged: dict[str, Any] = {**base, **values}
    return JobNode(**merged)


def trail(*changes: Change, missed: Sequence[Any] = ()) -> Trail:
    """Return CloudTrail as looked up by a few names."""
    return Trail(window=WINDOW, changes=changes, asked=EVENT_NAMES, missed=tuple(missed))


def call(name: str, when: datetime, kind: ChangeKind, **values: object) -> Change:
    """Return a successful call by a person."""
    base: dict[str, Any] = {
        "kind": kind,
        "name": name,
        "at": when,
        "by": "dana",
        "by_arn": "arn:aws:sts::111122223333:assumed-role/Ops/dana",
        "event_id": f"{name}-{when:%H%M%S}",
    }
    merged: dict[str, Any] = {**base, **values}
    return Change(**merged)


def capacity(**values: object) -> CapacityEvidence:
    """Return the readings of a ParallelCluster whose nodes run; each can be replaced."""
    base: dict[str, Any] = {
        "orchestrator": Orchestrator.PARALLELCLUSTER,
        "window": WINDOW,
        "now": NOW,
        "nodes": tuple(node(name) for name in NODES),
        "instances": read(*(instance(name) for name in NODES)),
        "reservations": read(),
        "extensions": read(),
        "plans": read(),
        "subnets": read(),
        "endpoints": read(),
        "warnings": read(),
        "rules": read(),
        "services": (),
        "services_read": read(),
        "trail": trail(),
    }
    merged: dict[str, Any] = {**base, **values}
    return CapacityEvidence(**merged)


def change(**values: object) -> ChangeEvidence:
    """Return the readings of a HyperPod cluster without a change; each can be replaced."""
    base: dict[str, Any] = {
        "orchestrator": Orchestrator.HYPERPOD_EKS,
        "window": WINDOW,
        "now": NOW,
        "nodes": tuple(node(name, group="workers") for name in NODES),
        "trail": trail(),
        "cluster_name": "train-a",
        "cluster": one(cluster()),
    }
    merged: dict[str, Any] = {**base, **values}
    return ChangeEvidence(**merged)


def cluster(*groups: GroupState, **values: object) -> HyperPodCluster:
    """Return a HyperPod cluster in service."""
    base: dict[str, Any] = {
        "name": "train-a",
        "arn": CLUSTER_ARN,
        "recovery": "Automatic",
        "groups": groups or (group(),),
        "subnets": ("subnet-0aaaabbbbccccdddd",),
        "security_groups": ("sg-0aaaabbbbccccdddd",),
    }
    merged: dict[str, Any] = {**base, **values}
    return HyperPodCluster(**merged)


def group(**values: object) -> GroupState:
    """Return an instance group that is full."""
    base: dict[str, Any] = {
        "name": "workers",
        "instance_type": "ml.p5.48xlarge",
        "current": 3,
        "target": 3,
    }
    merged: dict[str, Any] = {**base, **values}
    return GroupState(**merged)


def line(event: ServiceEvent, when: datetime | None = T0, **values: object) -> ServiceRecord:
    """Return one line of the cluster's services."""
    base: dict[str, Any] = {
        "node": "",
        "stream": "head.clustermgtd",
        "line": 1,
        "raw": event.value,
        "at": when,
        "event": event,
    }
    merged: dict[str, Any] = {**base, **values}
    return ServiceRecord(**merged)
