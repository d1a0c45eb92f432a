"""Reservations, Capacity Blocks, training plans, subnets and the alarms on their end."""

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from gpuvet.aws.answers import Row, read_rows, rows_of, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.capacity import (
    AlertRule,
    BlockStatus,
    Endpoints,
    Extension,
    PlanBlock,
    Reservation,
    Subnet,
    TrainingPlan,
    WarningKind,
)
from gpuvet.model.evidence import Envelope
from gpuvet.model.untyped import is_array, is_object, objects_at, text_at, whole_at

# preflight P1: families whose blocks are UltraServers.
_ULTRASERVER_FAMILIES = ("p6e-gb", "trn2u", "u-")


def read_reservations(door: AwsDoor) -> Envelope[tuple[Reservation, ...]]:
    """Return every EC2 capacity reservation the account sees, UltraServer blocks marked."""
    found = read_rows(
        door, "ec2:DescribeCapacityReservations", {}, "CapacityReservations", _reservation
    )
    blocks = door.read("ec2:DescribeCapacityBlocks", {})
    ultra = {
        reservation
        for row in rows_of(blocks, "CapacityBlocks")
        if text_at(row, "UltraserverType")
        for reservation in _words(row.get("CapacityReservationIds"))
    }
    if not ultra or found.value is None:
        return found
    marked = tuple(
        one.model_copy(update={"is_ultraserver": one.is_ultraserver or one.id in ultra})
        for one in found.value
    )
    return with_value(found, marked)


def _words(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if is_array(value) else []


def _reservation(row: Row, evidence: str) -> Reservation | None:
    name = text_at(row, "CapacityReservationId")
    if name is None:
        return None
    kind = text_at(row, "InstanceType")
    return Reservation(
        id=name,
        kind=text_at(row, "ReservationType"),
        state=text_at(row, "State"),
        instance_type=kind,
        zone=text_at(row, "AvailabilityZone"),
        zone_id=text_at(row, "AvailabilityZoneId"),
        start=as_datetime(row.get("StartDate")),
        end=as_datetime(row.get("EndDate")),
        end_type=text_at(row, "EndDateType"),
        total=whole_at(row, "TotalInstanceCount"),
        available=whole_at(row, "AvailableInstanceCount"),
        block=text_at(row, "CapacityBlockId"),
        is_ultraserver=(kind or "").startswith(_ULTRASERVER_FAMILIES),
        interruptible=row.get("Interruptible") is True,
        evidence=evidence,
    )


def read_extensions(door: AwsDoor) -> Envelope[tuple[Extension, ...]]:
    """Return the extensions bought for Capacity Blocks."""
    return read_rows(
        door,
        "ec2:DescribeCapacityBlockExtensionHistory",
        {},
        "CapacityBlockExtensions",
        lambda row, _: Extension(
            reservation=text_at(row, "CapacityReservationId") or "",
            status=text_at(row, "CapacityBlockExtensionStatus"),
            end=as_datetime(row.get("CapacityBlockExtensionEndDate")),
        ),
    )


def read_block_status(door: AwsDoor) -> Envelope[tuple[BlockStatus, ...]]:
    """Return system status of Capacity Blocks."""
    return read_rows(
        door,
        "ec2:DescribeCapacityBlockStatus",
        {},
        "CapacityBlockStatuses",
        lambda row, _: BlockStatus(
            block=text_at(row, "CapacityBlockId") or "",
            interconnect=text_at(row, "InterconnectStatus"),
            total=whole_at(row, "TotalCapacity"),
            unavailable=whole_at(row, "TotalUnavailableCapacity"),
        ),
    )


def read_plans(door: AwsDoor, names: Iterable[str]) -> Envelope[tuple[TrainingPlan, ...]]:
    """Return the training plans named; without names, those the account lists.

    Args:
        door: The AWS door.
        names: Names or ARNs, as instance groups carry them.
    """
    wanted = [name.rpartition("/")[2] for name in names]
    if not wanted:
        return read_rows(
            door,
            "sagemaker:ListTrainingPlans",
            {},
            "TrainingPlanSummaries",
            _plan,
        )
    found: list[TrainingPlan] = []
    last: Envelope[Any] | None = None
    for name in dict.fromkeys(wanted):
        answer = door.read("sagemaker:DescribeTrainingPlan", {"TrainingPlanName": name})
        plans = [_plan(page, answer.evidence) for page in answer.value or ()]
        found += [plan for plan in plans if plan is not None]
        if last is None or not answer.status.is_complete:
            last = answer
    if last is None:
        msg = "a plan was named and none was asked for"
        raise ValueError(msg)
    return with_value(last, tuple(found) if found or last.status.is_complete else None)


def _plan(row: Row, evidence: str) -> TrainingPlan | None:
    name = text_at(row, "TrainingPlanName")
    if name is None:
        return None
    start, end = as_datetime(row.get("StartTime")), as_datetime(row.get("EndTime"))
    hours, minutes = whole_at(row, "DurationHours"), whole_at(row, "DurationMinutes")
    if end is None and start is not None and hours is not None:
        end = start + timedelta(hours=hours, minutes=minutes or 0)
    blocks = (_plan_block(block) for block in objects_at(row, "ReservedCapacitySummaries"))
    return TrainingPlan(
        name=name,
        status=text_at(row, "Status"),
        start=start,
        end=end,
        total=whole_at(row, "TotalInstanceCount"),
        available=whole_at(row, "AvailableInstanceCount"),
        in_use=whole_at(row, "InUseInstanceCount"),
        unhealthy=whole_at(row, "UnhealthyInstanceCount"),
        spare=whole_at(row, "AvailableSpareInstanceCount"),
        blocks=tuple(sorted((b for b in blocks if b is not None), key=lambda b: (b.start, b.end))),
        evidence=evidence,
    )


def _plan_block(row: Row) -> PlanBlock | None:
    start, end = as_datetime(row.get("StartTime")), as_datetime(row.get("EndTime"))
    hours, minutes = whole_at(row, "DurationHours"), whole_at(row, "DurationMinutes")
    if end is None and start is not None and hours is not None:
        end = start + timedelta(hours=hours, minutes=minutes or 0)
    if start is None or end is None:
        return None
    return PlanBlock(
        start=start,
        end=end,
        status=text_at(row, "Status"),
        instance_type=text_at(row, "InstanceType"),
        total=whole_at(row, "TotalInstanceCount"),
        zone=text_at(row, "AvailabilityZone"),
        zone_id=text_at(row, "AvailabilityZoneId"),
        is_ultraserver=text_at(row, "ReservedCapacityType") == "UltraServer",
    )


def read_subnets(door: AwsDoor, ids: Sequence[str]) -> Envelope[tuple[Subnet, ...]]:
    """Return subnets with their free addresses as read now, and whether each has a way out.

    Args:
        door: The AWS door.
        ids: Subnets of the cluster; none asks for all.
    """
    found = list_subnets(door, ids)
    if not found.value:
        return found
    kept = [one for one in found.value if not ids or one.id in ids] or list(found.value)
    tables = door.read("ec2:DescribeRouteTables", {})
    if tables.value is None:
        return with_value(found, tuple(kept))
    rows = list(rows_of(tables, "RouteTables"))
    return with_value(found, tuple(_routed(one, rows) for one in kept))


def list_subnets(door: AwsDoor, ids: Sequence[str]) -> Envelope[tuple[Subnet, ...]]:
    """Return subnets without their routes; no ids ask for all."""
    params = {"Filters": [{"Name": "subnet-id", "Values": sorted(ids)}]} if ids else {}
    return read_rows(door, "ec2:DescribeSubnets", params, "Subnets", _subnet)


def _subnet(row: Row, evidence: str) -> Subnet | None:
    name = text_at(row, "SubnetId")
    if name is None:
        return None
    return Subnet(
        id=name,
        free=whole_at(row, "AvailableIpAddressCount"),
        zone=text_at(row, "AvailabilityZone"),
        zone_id=text_at(row, "AvailabilityZoneId"),
        is_ipv6_only=row.get("Ipv6Native") is True,
        vpc=text_at(row, "VpcId"),
        evidence=evidence,
    )


def _routed(subnet: Subnet, tables: Sequence[Row]) -> Subnet:
    """Return a subnet with its route tables and whether an active default route leads out.

    Its own table governs it, else the main one of its VPC.
    """
    own = [t for t in tables if _is_of(t, "SubnetId", subnet.id)]
    main = [
        t
        for t in tables
        if text_at(t, "VpcId") in {subnet.vpc, None} and _is_of(t, "Main", value=True)
    ]
    used = own or main
    if not used:
        return subnet
    leads_out = any(_is_default(route) for table in used for route in objects_at(table, "Routes"))
    names = (text_at(table, "RouteTableId") for table in used)
    return subnet.model_copy(
        update={"has_default_route": leads_out, "tables": tuple(n for n in names if n)}
    )


def _is_of(table: Row, member: str, value: object) -> bool:
    return any(one.get(member) == value for one in objects_at(table, "Associations"))


def _is_default(route: Row) -> bool:
    goes_anywhere = route.get("DestinationCidrBlock") == "0.0.0.0/0" or (
        route.get("DestinationIpv6CidrBlock") == "::/0"
    )
    return goes_anywhere and route.get("State", "active") == "active"


def read_endpoints(door: AwsDoor) -> Envelope[tuple[Endpoints, ...]]:
    """Return the AWS services with an endpoint, VPC by VPC; not in the minimal policy."""
    return read_rows(
        door,
        "ec2:DescribeVpcEndpoints",
        {},
        "VpcEndpoints",
        lambda row, _: Endpoints(
            vpc=text_at(row, "VpcId"),
            services=((text_at(row, "ServiceName") or "").rpartition(".")[2],),
        ),
    )


def read_alert_rules(door: AwsDoor) -> Envelope[tuple[AlertRule, ...]]:
    """Return the rules of the default bus that hear of capacity ending, with their targets."""
    answer = door.read("events:ListRules", {})
    if answer.value is None and not answer.status.is_complete:
        return with_value(answer, None)
    found: list[AlertRule] = []
    for row in rows_of(answer, "Rules"):
        name, hears = text_at(row, "Name"), heard(text_at(row, "EventPattern"))
        if name is None or not hears:
            continue
        targets = door.read("events:ListTargetsByRule", {"Rule": name})
        count = len(list(rows_of(targets, "Targets")))
        found.append(
            AlertRule(
                name=name,
                hears=hears,
                is_enabled=(text_at(row, "State") or "").startswith("ENABLED"),
                targets=count if targets.status.is_complete else None,
            )
        )
    return with_value(answer, tuple(found))


def heard(pattern: str | None) -> tuple[WarningKind, ...]:
    """Return which capacity warnings an event pattern matches.

    A pattern of the source aws.ec2 alone hears all; prefixes and wildcards are followed, and any
    other matcher is taken to hear nothing.
    """
    try:
        document: object = json.loads(pattern or "")
    except (ValueError, RecursionError):
        return ()
    if not is_object(document):
        return ()
    sources = document.get("source")
    if is_array(sources) and not _any_matches(sources, "aws.ec2"):
        return ()
    details = document.get("detail-type")
    if not is_array(details):
        return tuple(WarningKind) if is_array(sources) else ()
    return tuple(
        kind for kind in WarningKind if any(_any_matches(details, name) for name in _NAMES[kind])
    )


# Both documented spellings of each.
_NAMES = {
    WarningKind.INTERRUPTION: (
        "Capacity Reservation Instance Interruption Warning",
        "EC2 Capacity Reservation Instance Interruption Warning",
    ),
    WarningKind.EXPIRATION: (
        "Capacity Block Expiration Warning",
        "Capacity Block Reservation Expiration Warning",
    ),
}


def _any_matches(matchers: Sequence[Any], text: str) -> bool:
    return any(_matches(matcher, text) for matcher in matchers)


def _matches(matcher: object, text: str) -> bool:
    if isinstance(matcher, str):
        return matcher.lower() == text.lower()
    prefix, wildcard = text_at(matcher, "prefix"), text_at(matcher, "wildcard")
    if prefix is not None:
        return text.startswith(prefix)
    if wildcard is not None:
        return _wildcard(wildcard, text)
    insensitive = text_at(matcher, "equals-ignore-case")
    return insensitive is not None and insensitive.lower() == text.lower()


def _wildcard(pattern: str, text: str) -> bool:
    """Match `*` for any run of characters, without a regular expression of foreign text."""
    first, *rest = pattern.split("*")
    if not rest:
        return first == text
    if not text.startswith(first):
        return False
    place = len(first)
    for part in rest[:-1]:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return text.endswith(rest[-1]) and len(text) - len(rest[-1]) >= place
