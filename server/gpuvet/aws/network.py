"""How nodes are attached: instances, groups, interfaces, subnets, routes, types, rule changes.

Replies of the door become values; a reading that failed keeps its status and never becomes an
empty list. Ids go into filters, not into id parameters: a purged id is then just absent.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gpuvet.aws.changes import read_trail
from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.instances import instance_rows
from gpuvet.model.evidence import Envelope, Status, Window
from gpuvet.model.network import (
    EfaLimit,
    GroupPair,
    InstanceNetwork,
    Interface,
    Permission,
    PrefixList,
    Route,
    RouteTable,
    RuleChange,
    SecurityGroup,
)
from gpuvet.model.untyped import is_array, object_at, objects_at, text_at, whole_at

T = TypeVar("T")
Json = Mapping[str, Any]

# ec2: a filter takes 200 values; DescribeInstanceTypes takes 100 types.
_MOST_VALUES = 200
_MOST_TYPES = 100
RULE_CALLS = (
    "RevokeSecurityGroupIngress",
    "RevokeSecurityGroupEgress",
    "AuthorizeSecurityGroupIngress",
    "AuthorizeSecurityGroupEgress",
    "ModifySecurityGroupRules",
)


def read_instances(door: AwsDoor, nodes: Sequence[str]) -> Envelope[tuple[InstanceNetwork, ...]]:
    """Return how these EC2 instances are attached; HyperPod nodes are not visible here."""
    answer = _filtered(door, "ec2:DescribeInstances", "instance-id", nodes)
    wanted = set(nodes)
    rows = instance_rows(answer)
    found = (_instance(row) for row in rows if text_at(row, "InstanceId") in wanted)
    return _as(answer, tuple(found))


def read_security_groups(
    door: AwsDoor, groups: Sequence[str]
) -> Envelope[tuple[SecurityGroup, ...]]:
    """Return these groups with their rules in both directions."""
    answer = _filtered(door, "ec2:DescribeSecurityGroups", "group-id", groups)
    rows = (row for page in answer.value or () for row in objects_at(page, "SecurityGroups"))
    found = (one for row in rows if (one := _group(row)) and one.group_id in set(groups))
    return _as(answer, tuple(found))


def read_prefix_lists(door: AwsDoor, lists: Sequence[str]) -> Envelope[tuple[PrefixList, ...]]:
    """Return the ranges of these prefix lists, asked one by one.

    The first that was not read whole stands for all; only whole ones have a value.
    """
    if not lists:
        raise ValueError("no prefix list was named")
    answers = {
        name: door.read("ec2:GetManagedPrefixListEntries", {"PrefixListId": name}) for name in lists
    }
    found = tuple(
        PrefixList(
            list_id=name,
            cidrs=tuple(
                cidr
                for page in answer.value or ()
                for row in objects_at(page, "Entries")
                if (cidr := text_at(row, "Cidr"))
            ),
        )
        for name, answer in answers.items()
        if answer.status.is_complete
    )
    missed = next((one for one in answers.values() if not one.status.is_complete), None)
    if missed is not None:
        return _as(missed, found).model_copy(update={"value": found or None})
    return _as(next(iter(answers.values())), found)


def read_interfaces(door: AwsDoor, subnets: Sequence[str]) -> Envelope[tuple[Interface, ...]]:
    """Return the network interfaces in these subnets, also those a service attached."""
    answer = _filtered(door, "ec2:DescribeNetworkInterfaces", "subnet-id", subnets)
    rows = (row for page in answer.value or () for row in objects_at(page, "NetworkInterfaces"))
    return _as(answer, tuple(_interface(row) for row in rows))


def read_region_interfaces(door: AwsDoor) -> Envelope[tuple[Interface, ...]]:
    """Return every network interface of the region: the use of its quota."""
    answer = door.read("ec2:DescribeNetworkInterfaces", {})
    rows = (row for page in answer.value or () for row in objects_at(page, "NetworkInterfaces"))
    return _as(answer, tuple(_interface(row) for row in rows))


def read_route_tables(door: AwsDoor, subnets: Sequence[str]) -> Envelope[tuple[RouteTable, ...]]:
    """Return the route tables these subnets are explicitly associated with."""
    answer = _filtered(door, "ec2:DescribeRouteTables", "association.subnet-id", subnets)
    return _as(answer, tuple(_tables(answer)))


def read_main_route_tables(door: AwsDoor, vpcs: Sequence[str]) -> Envelope[tuple[RouteTable, ...]]:
    """Return the main tables of VPCs: they hold for subnets without an association of their own."""
    main = {"Name": "association.main", "Values": ["true"]}
    answer = _filtered(door, "ec2:DescribeRouteTables", "vpc-id", vpcs, main)
    return _as(answer, tuple(one for one in _tables(answer) if one.is_main))


def read_efa_limits(door: AwsDoor, types: Sequence[str]) -> Envelope[tuple[EfaLimit, ...]]:
    """Return what these instance types can have; SageMaker's `ml.` is taken off."""
    plain = sorted({name.removeprefix("ml.") for name in types})[:_MOST_TYPES]
    answer = door.read("ec2:DescribeInstanceTypes", {"InstanceTypes": plain})
    rows = (row for page in answer.value or () for row in objects_at(page, "InstanceTypes"))
    found = (_limit(row) for row in rows if text_at(row, "InstanceType") in set(plain))
    return _as(answer, tuple(found))


def read_hyperpod_groups(
    door: AwsDoor, cluster: str
) -> Envelope[tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the security groups of each HyperPod instance group; its own override wins."""
    answer = door.read("sagemaker:DescribeCluster", {"ClusterName": cluster})
    found: dict[str, tuple[str, ...]] = {}
    for page in answer.value or ():
        default = _texts(object_at(page, "VpcConfig").get("SecurityGroupIds"))
        for row in objects_at(page, "InstanceGroups"):
            own = _texts(object_at(row, "OverrideVpcConfig").get("SecurityGroupIds"))
            found[text_at(row, "InstanceGroupName") or ""] = own or default
    return _as(answer, tuple(sorted((name, groups) for name, groups in found.items() if groups)))


def read_rule_changes(
    door: AwsDoor, groups: Sequence[str], window: Window
) -> Envelope[tuple[RuleChange, ...]]:
    """Return the calls that changed rules of these groups, oldest first.

    CloudTrail is asked by event name: an incomplete look-up of one name makes the whole one.
    """
    trail = read_trail(door, window, RULE_CALLS)
    found = tuple(
        RuleChange(
            name=one.name,
            at=one.at,
            group_id=one.resource,
            by=one.by_arn or one.by,
            failed=one.is_attempt,
            evidence=one.evidence,
        )
        for one in trail.changes
        if one.resource is not None and one.resource in groups
    )
    missed = next(iter(trail.missed), None)
    is_read = missed is None or bool(found)
    return Envelope[tuple[RuleChange, ...]](
        service="cloudtrail",
        operation="LookupEvents",
        window=window,
        status=missed.status if missed else Status.OK if found else Status.OK_EMPTY,
        reason=missed.reason if missed else None,
        value=found if is_read else None,
    )


def _filtered(
    door: AwsDoor, operation: str, name: str, values: Sequence[str], *more: Json
) -> Envelope[tuple[Page, ...]]:
    """Ask by a filter, in parts; the first part that was not read whole stands for all."""
    ordered = sorted(set(values))
    parts = [ordered[at : at + _MOST_VALUES] for at in range(0, len(ordered), _MOST_VALUES)]
    answers = [
        door.read(operation, {"Filters": [{"Name": name, "Values": part}, *more]})
        for part in parts or [[]]
    ]
    pages = tuple(page for answer in answers for page in answer.value or ())
    whole = next((one for one in answers if not one.status.is_complete), None)
    if whole is None:
        whole = next((one for one in answers if one.status is Status.OK), answers[0])
    return whole.model_copy(update={"value": pages or None})


def _as(answer: Envelope[tuple[Page, ...]], value: T) -> Envelope[T]:
    """Return the same reading with its pages read; nothing where nothing was read."""
    fields = {name: getattr(answer, name) for name in Envelope.model_fields if name != "value"}
    read = answer.status.is_complete or bool(answer.value)
    if answer.status.is_complete:
        fields["status"] = Status.OK if value else Status.OK_EMPTY
    return Envelope[T](**fields, value=value if read else None)


def _instance(row: Json) -> InstanceNetwork:
    has_interfaces = is_array(row.get("NetworkInterfaces"))
    interfaces = tuple(_interface(one) for one in objects_at(row, "NetworkInterfaces"))
    return InstanceNetwork(
        node=text_at(row, "InstanceId") or "",
        instance_type=text_at(row, "InstanceType"),
        groups=_group_ids(row, "SecurityGroups") or (),
        interfaces=interfaces if has_interfaces else None,
        subnet=text_at(row, "SubnetId"),
        zone=text_at(object_at(row, "Placement"), "AvailabilityZone"),
        state=text_at(object_at(row, "State"), "Name"),
    )


def _interface(row: Json) -> Interface:
    return Interface(
        interface_id=text_at(row, "NetworkInterfaceId"),
        kind=text_at(row, "InterfaceType") or "interface",
        groups=_group_ids(row, "Groups"),
        subnet=text_at(row, "SubnetId"),
        mac=(text_at(row, "MacAddress") or "").lower() or None,
        instance=text_at(object_at(row, "Attachment"), "InstanceId"),
    )


def _group_ids(row: Json, name: str) -> tuple[str, ...] | None:
    """Return group ids; a trimmed reply may write them bare, or leave them out."""
    value = row.get(name)
    if not is_array(value):
        return None
    named = (one if isinstance(one, str) else text_at(one, "GroupId") for one in value)
    return tuple(sorted({name for name in named if name}))


def _group(row: Json) -> SecurityGroup | None:
    name = text_at(row, "GroupId")
    if name is None:
        return None
    return SecurityGroup(
        group_id=name,
        owner=text_at(row, "OwnerId"),
        vpc=text_at(row, "VpcId"),
        inbound=_permissions(row, "IpPermissions"),
        outbound=_permissions(row, "IpPermissionsEgress"),
    )


def _permissions(row: Json, name: str) -> tuple[Permission, ...] | None:
    if not is_array(row.get(name)):
        return None
    return tuple(_permission(one) for one in objects_at(row, name))


def _permission(row: Json) -> Permission:
    v4 = (text_at(one, "CidrIp") for one in objects_at(row, "IpRanges"))
    v6 = (text_at(one, "CidrIpv6") for one in objects_at(row, "Ipv6Ranges"))
    lists = (text_at(one, "PrefixListId") for one in objects_at(row, "PrefixListIds"))
    return Permission(
        protocol=str(row.get("IpProtocol", "")),
        from_port=_port(row.get("FromPort")),
        to_port=_port(row.get("ToPort")),
        pairs=tuple(_pairs(row)),
        cidrs=tuple(one for one in (*v4, *v6) if one),
        prefix_lists=tuple(one for one in lists if one),
    )


def _pairs(row: Json) -> Iterator[GroupPair]:
    for one in objects_at(row, "UserIdGroupPairs"):
        group = text_at(one, "GroupId")
        if group is not None:  # a name alone names nothing: ids are compared
            yield GroupPair(
                group_id=group,
                user_id=text_at(one, "UserId"),
                peering_status=text_at(one, "PeeringStatus"),
            )


def _port(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tables(answer: Envelope[tuple[Page, ...]]) -> Iterator[RouteTable]:
    for page in answer.value or ():
        for row in objects_at(page, "RouteTables"):
            links = objects_at(row, "Associations")
            yield RouteTable(
                table=text_at(row, "RouteTableId") or "",
                vpc=text_at(row, "VpcId"),
                subnets=tuple(sorted(s for one in links if (s := text_at(one, "SubnetId")))),
                is_main=any(one.get("Main") is True for one in links),
                routes=tuple(_route(one) for one in objects_at(row, "Routes")),
            )


_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
_TARGETS = (
    *("GatewayId", "NatGatewayId", "TransitGatewayId", "NetworkInterfaceId"),
    *("VpcPeeringConnectionId", "EgressOnlyInternetGatewayId", "InstanceId"),
)


def _route(row: Json) -> Route:
    return Route(
        destination=next((d for key in _DESTINATIONS if (d := text_at(row, key))), ""),
        target=next((t for key in _TARGETS if (t := text_at(row, key))), None),
        state=text_at(row, "State"),
    )


def _limit(row: Json) -> EfaLimit:
    network = object_at(row, "NetworkInfo")
    supported = network.get("EfaSupported")
    gpus = [whole_at(one, "Count") or 0 for one in objects_at(object_at(row, "GpuInfo"), "Gpus")]
    return EfaLimit(
        instance_type=text_at(row, "InstanceType") or "",
        supported=supported if isinstance(supported, bool) else None,
        most=whole_at(object_at(network, "EfaInfo"), "MaximumEfaInterfaces"),
        gpus=sum(gpus) if gpus else None,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if is_array(value) else ()
