"""How nodes are attached, as replies say it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.aws.network import (
    read_efa_limits,
    read_hyperpod_groups,
    read_instances,
    read_route_tables,
    read_rule_changes,
    read_security_groups,
)
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import CallError, RecordedCall
from gpuvet.model.evidence import Reason, Status, Window
from gpuvet.model.network import (
    EfaLimit,
    GroupPair,
    InstanceNetwork,
    Interface,
    Permission,
    Route,
    RouteTable,
    RuleChange,
    SecurityGroup,
)

NODE, SG = "i-0aaaaaaaaaaaaaaaa", "sg-0aaaabbbbccccdddd"
NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
DAY = Window(start=NOW - timedelta(hours=24), end=NOW)


def door(operation: str, *answers: Any) -> RecordedAws:  # noqa: ANN401 - any field of the value
    call = RecordedCall(operation, {}, tuple(answers), source="test")
    return RecordedAws([call], account="111122223333", region="us-west-2", now=NOW)


def instance(node: str = NODE, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of the value
    return {"Reservations": [{"Instances": [{"InstanceId": node, **more}]}]}


def test_an_instance_gives_its_interfaces_with_their_groups() -> None:
    reply = instance(
        InstanceType="p4d.24xlarge",
        Placement={"AvailabilityZone": "us-west-2c"},
        SubnetId="subnet-0aaaabbbbccccdddd",
        State={"Name": "running"},
        SecurityGroups=[{"GroupId": SG}],
        NetworkInterfaces=[
            {
                "NetworkInterfaceId": "eni-0aaaabbbbccccdddd",
                "InterfaceType": "efa",
                "Groups": [{"GroupId": SG}],
                "MacAddress": "0A:FF:F7:FC:BC:43",
            },
            {"InterfaceType": "efa-only"},
        ],
    )
    found = read_instances(door("ec2:DescribeInstances", reply), [NODE])
    assert found.status is Status.OK
    assert found.value is not None
    (row,) = found.value
    assert row == (
        InstanceNetwork(
            node=NODE,
            instance_type="p4d.24xlarge",
            groups=(SG,),
            interfaces=(
                Interface(
                    interface_id="eni-0aaaabbbbccccdddd",
                    kind="efa",
                    groups=(SG,),
                    mac="0a:ff:f7:fc:bc:43",
                ),
                Interface(kind="efa-only"),
            ),
            subnet="subnet-0aaaabbbbccccdddd",
            zone="us-west-2c",
            state="running",
        )
    )
    assert row.efa_attached == 2
    assert row.group_sets == frozenset({frozenset({SG})})


def test_interfaces_that_were_not_read_are_not_zero() -> None:
    found = read_instances(door("ec2:DescribeInstances", instance()), [NODE])
    assert found.value is not None
    assert found.value[0].efa_attached is None


def test_an_instance_that_nobody_asked_for_is_left_out() -> None:
    other = instance("i-0bbbbbbbbbbbbbbbb")
    found = read_instances(door("ec2:DescribeInstances", other), [NODE])
    assert (found.status, found.value) == (Status.OK_EMPTY, ())


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("UnauthorizedOperation", Reason.DENIED),
        ("RequestLimitExceeded", Reason.THROTTLED),
        ("ExpiredToken", Reason.EXPIRED),
    ],
)
def test_a_reading_that_failed_is_no_empty_list(code: str, reason: Reason) -> None:
    found = read_security_groups(door("ec2:DescribeSecurityGroups", CallError(code, "no")), [SG])
    assert (found.status, found.reason, found.value) == (Status.UNVERIFIED, reason, None)


def test_a_call_that_is_not_recorded_is_not_checked() -> None:
    found = read_security_groups(door("ec2:DescribeInstances", instance()), [SG])
    assert (found.status, found.value) == (Status.NOT_CHECKED, None)


def test_groups_give_both_directions_and_a_missing_one_is_unknown() -> None:
    rule = {
        "IpProtocol": "-1",
        "UserIdGroupPairs": [
            {"GroupId": SG, "UserId": "111122223333"},
            {"GroupName": "only-a-name"},
        ],
        "IpRanges": [{"CidrIp": "10.0.0.0/8"}],
        "Ipv6Ranges": [{"CidrIpv6": "::/0"}],
        "PrefixListIds": [{"PrefixListId": "pl-0aaaabbbbccccdddd"}],
    }
    reply = {
        "SecurityGroups": [{"GroupId": SG, "OwnerId": "111122223333", "IpPermissions": [rule]}]
    }
    found = read_security_groups(door("ec2:DescribeSecurityGroups", reply), [SG])
    assert found.value == (
        SecurityGroup(
            group_id=SG,
            owner="111122223333",
            inbound=(
                Permission(
                    protocol="-1",
                    pairs=(GroupPair(group_id=SG, user_id="111122223333"),),
                    cidrs=("10.0.0.0/8", "::/0"),
                    prefix_lists=("pl-0aaaabbbbccccdddd",),
                ),
            ),
            outbound=None,
        ),
    )


def test_all_pages_of_a_listing_are_read() -> None:
    pages = (
        {"SecurityGroups": [{"GroupId": SG}], "NextToken": "more"},
        {"SecurityGroups": [{"GroupId": "sg-0bbbbccccddddeeee"}]},
    )
    names = [SG, "sg-0bbbbccccddddeeee"]
    found = read_security_groups(door("ec2:DescribeSecurityGroups", *pages), names)
    assert found.value is not None
    assert [one.group_id for one in found.value] == names


def test_types_lose_their_sagemaker_prefix() -> None:
    reply = {
        "InstanceTypes": [
            {
                "InstanceType": "p5.48xlarge",
                "NetworkInfo": {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 32}},
                "GpuInfo": {"Gpus": [{"Count": 8}]},
            }
        ]
    }
    found = read_efa_limits(door("ec2:DescribeInstanceTypes", reply), ["ml.p5.48xlarge"])
    assert found.value == (EfaLimit(instance_type="p5.48xlarge", supported=True, most=32, gpus=8),)


def test_a_group_of_its_own_wins_over_the_clusters() -> None:
    reply = {
        "VpcConfig": {"SecurityGroupIds": [SG]},
        "InstanceGroups": [
            {"InstanceGroupName": "a"},
            {
                "InstanceGroupName": "b",
                "OverrideVpcConfig": {"SecurityGroupIds": ["sg-0bbbbccccddddeeee"]},
            },
        ],
    }
    found = read_hyperpod_groups(door("sagemaker:DescribeCluster", reply), "train")
    assert found.value == (("a", (SG,)), ("b", ("sg-0bbbbccccddddeeee",)))


def test_a_route_table_gives_its_targets() -> None:
    reply = {
        "RouteTables": [
            {
                "RouteTableId": "rtb-0aaaabbbbccccdddd",
                "Associations": [{"Main": False, "SubnetId": "subnet-0aaaabbbbccccdddd"}],
                "Routes": [
                    {
                        "DestinationCidrBlock": "0.0.0.0/0",
                        "NatGatewayId": "nat-1",
                        "State": "active",
                    }
                ],
            }
        ]
    }
    found = read_route_tables(door("ec2:DescribeRouteTables", reply), ["subnet-0aaaabbbbccccdddd"])
    assert found.value == (
        RouteTable(
            table="rtb-0aaaabbbbccccdddd",
            subnets=("subnet-0aaaabbbbccccdddd",),
            routes=(Route(destination="0.0.0.0/0", target="nat-1", state="active"),),
        ),
    )


def event(name: str, group: str, error: str = "") -> dict[str, Any]:
    more = f', "errorCode": "{error}"' if error else ""
    return {
        "EventId": f"{name}{group}{error}",
        "EventName": name,
        "EventTime": NOW - timedelta(hours=1),
        "Username": "ops",
        "CloudTrailEvent": f'{{"requestParameters": {{"groupId": "{group}"}}{more}}}',
    }


def test_rule_changes_of_other_groups_are_left_out_and_failed_ones_marked() -> None:
    reply = {
        "Events": [
            event("RevokeSecurityGroupEgress", SG),
            event("RevokeSecurityGroupEgress", SG, "Client.UnauthorizedOperation"),
            event("RevokeSecurityGroupEgress", "sg-0ffffffffffffffff"),
        ]
    }
    found = read_rule_changes(door("cloudtrail:LookupEvents", reply), [SG], DAY)
    assert found.value is not None
    assert {(one.name, one.group_id, one.failed) for one in found.value} == {
        ("RevokeSecurityGroupEgress", SG, False),
        ("RevokeSecurityGroupEgress", SG, True),
    }
    assert all(isinstance(one, RuleChange) and one.by == "ops" for one in found.value)


def test_cloudtrail_that_was_denied_leaves_changes_unknown() -> None:
    denied = CallError("AccessDeniedException", "no")
    found = read_rule_changes(door("cloudtrail:LookupEvents", denied), [SG], DAY)
    assert (found.status, found.reason, found.value) == (
        Status.UNVERIFIED,
        Reason.DENIED,
        None,
    )
