"""Instances as EC2 describes them, their status checks, and what AWS Health says of them."""

import re
from collections.abc import Iterator
from typing import Any

from gpuvet.aws.answers import Row, read_rows, rows_of, with_value
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.capacity import HealthEvent, Instance, InstanceHealth
from gpuvet.model.evidence import Envelope, Window
from gpuvet.model.untyped import object_at, objects_at, text_at
from gpuvet.parse.untrusted import clean

_CLUSTER_TAG = "parallelcluster:cluster-name"
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")
# Health is a global service whose API answers in this region.
HEALTH_REGION = "us-east-1"
_HEALTH_SERVICES = ("EC2", "SAGEMAKER", "FSX", "EKS")
_MOST_ARNS = 10  # AWS's API reference: ARNs a call


def read_instances(door: AwsDoor, cluster: str | None) -> Envelope[tuple[Instance, ...]]:
    """Return the instances of a cluster by its tag, or all; ended ones stay for about an hour."""
    filters = [{"Name": f"tag:{_CLUSTER_TAG}", "Values": [cluster]}] if cluster else []
    answer = door.read("ec2:DescribeInstances", {"Filters": filters} if filters else {})
    if answer.value is None and not answer.status.is_complete:
        return with_value(answer, None)
    found = (_instance(row, answer.evidence) for row in instance_rows(answer))
    return with_value(answer, tuple(one for one in found if one is not None))


def instance_rows(answer: Envelope[tuple[Page, ...]]) -> Iterator[Row]:
    """Yield the instances of a reply of DescribeInstances, whichever reservation holds them."""
    for reservation in rows_of(answer, "Reservations"):
        yield from objects_at(reservation, "Instances")


def _instance(row: Row, evidence: str) -> Instance | None:
    name = text_at(row, "InstanceId")
    if name is None:
        return None
    tags = {text_at(tag, "Key"): text_at(tag, "Value") for tag in objects_at(row, "Tags")}
    reason = clean(text_at(row, "StateTransitionReason") or "")
    ended = _TRANSITION.search(reason)
    return Instance(
        id=name,
        state=text_at(object_at(row, "State"), "Name"),
        instance_type=text_at(row, "InstanceType"),
        launched_at=as_datetime(row.get("LaunchTime")),
        reason=reason,
        ended_at=as_datetime(ended[1]) if ended else None,
        state_reason=text_at(object_at(row, "StateReason"), "Code"),
        reservation=text_at(row, "CapacityReservationId"),
        block=text_at(row, "CapacityBlockId"),
        lifecycle=text_at(row, "InstanceLifecycle"),
        subnet=text_at(row, "SubnetId"),
        zone=text_at(object_at(row, "Placement"), "AvailabilityZone"),
        image=text_at(row, "ImageId"),
        name=tags.get("Name"),
        queue=tags.get("parallelcluster:queue-name"),
        addresses=_addresses(row),
        security_groups=_groups(row),
        evidence=evidence,
    )


def _groups(row: Row) -> tuple[str, ...]:
    """Return the groups of an instance and of its interfaces, each once."""
    rows = [
        *objects_at(row, "SecurityGroups"),
        *(g for one in objects_at(row, "NetworkInterfaces") for g in objects_at(one, "Groups")),
    ]
    return tuple(dict.fromkeys(name for one in rows if (name := text_at(one, "GroupId"))))


def _addresses(row: Row) -> int | None:
    """Return how many IPv4 addresses its interfaces hold; a prefix is 16 (preflight P14)."""
    interfaces = objects_at(row, "NetworkInterfaces")
    held = sum(
        len(objects_at(one, "PrivateIpAddresses")) + 16 * len(objects_at(one, "Ipv4Prefixes"))
        for one in interfaces
    )
    return held or None


def read_instance_health(door: AwsDoor) -> Envelope[tuple[InstanceHealth, ...]]:
    """Return status checks and scheduled events of all instances, stopped ones too."""
    return read_rows(
        door,
        "ec2:DescribeInstanceStatus",
        {"IncludeAllInstances": True},
        "InstanceStatuses",
        _health_of,
    )


def _health_of(row: Row, evidence: str) -> InstanceHealth | None:
    name = text_at(row, "InstanceId")
    if name is None:
        return None
    events = objects_at(row, "Events")
    starts = (as_datetime(event.get("NotBefore")) for event in events)
    return InstanceHealth(
        id=name,
        instance_status=text_at(object_at(row, "InstanceStatus"), "Status"),
        system_status=text_at(object_at(row, "SystemStatus"), "Status"),
        scheduled=tuple(_scheduled(event) for event in events),
        scheduled_at=tuple(at for at in starts if at is not None),
        evidence=evidence,
    )


def _scheduled(event: Row) -> str:
    start = as_datetime(event.get("NotBefore"))
    when = f" from {start:%Y-%m-%dT%H:%M:%SZ}" if start else ""
    said = text_at(event, "Description")
    return clean(f"{text_at(event, 'Code') or 'event'}{when}{f': {said}' if said else ''}")


def read_health_events(door: AwsDoor, window: Window) -> Envelope[tuple[HealthEvent, ...]]:
    """Return AWS Health events that touch a window, each with the resources it names.

    DescribeEvents also returns public events about nobody: entities are read for each.
    """
    asked: dict[str, Any] = {
        "filter": {
            "services": list(_HEALTH_SERVICES),
            "lastUpdatedTimes": [{"from": window.start}],
        }
    }
    events = read_rows(
        door, "health:DescribeEvents", asked, "events", _health_event, region=HEALTH_REGION
    )
    if not events.value:
        return events
    entities = _entities(door, [event.arn for event in events.value])
    kept = tuple(
        event.model_copy(
            update={"entities": None if entities is None else entities.get(event.arn, ())}
        )
        for event in events.value
    )
    return with_value(events, kept)


def _health_event(row: Row, evidence: str) -> HealthEvent | None:
    arn, code = text_at(row, "arn"), text_at(row, "eventTypeCode")
    if arn is None or code is None:
        return None
    return HealthEvent(
        arn=arn,
        code=code,
        category=text_at(row, "eventTypeCategory"),
        service=text_at(row, "service"),
        status=text_at(row, "statusCode"),
        start=as_datetime(row.get("startTime")),
        end=as_datetime(row.get("endTime")),
        evidence=evidence,
    )


def _entities(door: AwsDoor, arns: list[str]) -> dict[str, tuple[str, ...]] | None:
    """Return the resources each event names; None where any of them could not be read."""
    found: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(arns), _MOST_ARNS):
        params = {"filter": {"eventArns": arns[start : start + _MOST_ARNS]}}
        answer = door.read("health:DescribeAffectedEntities", params, region=HEALTH_REGION)
        if not answer.status.is_complete:
            return None
        for row in rows_of(answer, "entities"):
            arn, value = text_at(row, "eventArn"), text_at(row, "entityValue")
            if arn and value:
                found[arn] = (*found.get(arn, ()), value)
    return found
