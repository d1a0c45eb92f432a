"""Readers of reservations, plans, subnets, rules, changes and cluster events, by recorded calls."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.aws.capacity import (
    heard,
    read_alert_rules,
    read_plans,
    read_reservations,
    read_subnets,
)
from gpuvet.aws.changes import EVENT_NAMES, read_trail
from gpuvet.aws.hyperpod import meaning_of, read_cluster, read_cluster_events, read_nodes
from gpuvet.aws.instances import read_health_events, read_instances
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.model.capacity import AlertRule, Instance, PlanBlock, Subnet, WarningKind
from gpuvet.model.changes import ChangeKind, EventMeaning
from gpuvet.model.evidence import Envelope, Reason, Status, Window

T0 = datetime(2026, 3, 20, 11, 0, tzinfo=UTC)
WINDOW = Window(start=T0 - timedelta(hours=6), end=T0 + timedelta(hours=1))
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc123def456"
DENIED = {"Code": "AccessDeniedException", "Message": "no", "HTTPStatusCode": 400}


def door(**replies: dict[str, Any]) -> RecordedAws:
    """Return a door that answers each `service__Operation` with one reply or error."""
    calls: list[dict[str, Any]] = []
    for name, reply in replies.items():
        service, _, operation = name.partition("__")
        answer = {"error": reply} if "Code" in reply else {"response": reply}
        calls.append({"service": service, "operation": operation, "params": {}, **answer})
    return RecordedAws(
        read_calls(calls), account="111122223333", region="us-west-2", now=WINDOW.end
    )


READERS: dict[str, Callable[[RecordedAws], Envelope[Any]]] = {
    "reservations": read_reservations,
    "instances": lambda door: read_instances(door, None),
    "nodes": lambda door: read_nodes(door, "train-a"),
    "cluster": lambda door: read_cluster(door, "train-a"),
    "rules": read_alert_rules,
    "plans": lambda door: read_plans(door, []),
    "events": lambda door: read_cluster_events(door, "train-a", WINDOW),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_denied_reading_is_a_status_and_never_an_empty_list(reader: str) -> None:
    names = (
        "ec2__DescribeCapacityReservations",
        "ec2__DescribeInstances",
        "sagemaker__ListClusterNodes",
        "sagemaker__DescribeCluster",
        "events__ListRules",
        "sagemaker__ListTrainingPlans",
        "sagemaker__ListClusterEvents",
    )
    found = READERS[reader](door(**dict.fromkeys(names, DENIED)))
    assert (found.status, found.reason, found.value) == (Status.UNVERIFIED, Reason.DENIED, None)


def test_an_unrecorded_reading_is_not_checked() -> None:
    found = read_reservations(door())
    assert (found.status, found.value) == (Status.NOT_CHECKED, None)


def test_a_block_is_an_ultraserver_by_its_block_or_by_its_type() -> None:
    rows = [
        {"CapacityReservationId": "cr-1", "InstanceType": "p6e-gb200.36xlarge"},
        {"CapacityReservationId": "cr-2", "InstanceType": "p5.48xlarge"},
        {"CapacityReservationId": "cr-3", "InstanceType": "trn2.48xlarge"},
    ]
    blocks = [{"UltraserverType": "trn2u.48xlarge", "CapacityReservationIds": ["cr-3"]}]
    found = read_reservations(
        door(
            ec2__DescribeCapacityReservations={"CapacityReservations": rows},
            ec2__DescribeCapacityBlocks={"CapacityBlocks": blocks},
        )
    )
    assert {r.id: r.is_ultraserver for r in found.value or ()} == {
        "cr-1": True,
        "cr-2": False,
        "cr-3": True,
    }


def test_an_instance_tells_how_it_ended() -> None:
    row = {
        "InstanceId": "i-0aaaaaaaaaaaaaa01",
        "State": {"Name": "terminated"},
        "StateTransitionReason": "Service initiated (2026-03-20 11:00:10 GMT)",
        "CapacityReservationId": "cr-1",
        "SecurityGroups": [{"GroupId": "sg-1"}],
        "Tags": [{"Key": "parallelcluster:queue-name", "Value": "gpu"}],
    }
    reply = {"Reservations": [{"Instances": [row]}]}
    found = read_instances(door(ec2__DescribeInstances=reply), None)
    assert found.value == (
        Instance(
            id="i-0aaaaaaaaaaaaaa01",
            state="terminated",
            reason="Service initiated (2026-03-20 11:00:10 GMT)",
            ended_at=datetime(2026, 3, 20, 11, 0, 10, tzinfo=UTC),
            reservation="cr-1",
            queue="gpu",
            security_groups=("sg-1",),
            evidence=found.evidence,
        ),
    )
    assert [one.was_ended_by_service for one in found.value or ()] == [True]


def test_a_plans_end_follows_from_its_duration_where_it_has_none() -> None:
    plan = {
        "TrainingPlanArn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/plan-a",
        "TrainingPlanName": "plan-a",
        "Status": "Active",
        "StartTime": "2026-03-01T11:30:00Z",
        "DurationHours": 24,
        "DurationMinutes": 30,
        "ReservedCapacitySummaries": [
            {
                "StartTime": "2026-03-01T11:30:00Z",
                "DurationHours": 12,
                "ReservedCapacityType": "UltraServer",
            }
        ],
    }
    found = read_plans(
        door(sagemaker__DescribeTrainingPlan=plan),
        [plan["TrainingPlanArn"]],  # type: ignore[list-item]  # the table mixes types
    )
    start = datetime(2026, 3, 1, 11, 30, tzinfo=UTC)
    assert [(p.end, p.blocks) for p in found.value or ()] == [
        (
            start + timedelta(hours=24, minutes=30),
            (PlanBlock(start=start, end=start + timedelta(hours=12), is_ultraserver=True),),
        )
    ]


@pytest.mark.parametrize(
    ("tables", "leads_out"),
    [
        pytest.param(
            [
                {
                    "RouteTableId": "rtb-own",
                    "VpcId": "vpc-1",
                    "Associations": [{"SubnetId": "subnet-1", "Main": False}],
                    "Routes": [{"DestinationCidrBlock": "10.0.0.0/8", "State": "active"}],
                },
                {
                    "RouteTableId": "rtb-main",
                    "VpcId": "vpc-1",
                    "Associations": [{"Main": True}],
                    "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "State": "active"}],
                },
            ],
            False,
            id="its own table governs",
        ),
        pytest.param(
            [
                {
                    "RouteTableId": "rtb-main",
                    "VpcId": "vpc-1",
                    "Associations": [{"Main": True}],
                    "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "State": "active"}],
                }
            ],
            True,
            id="the main table where it has none",
        ),
        pytest.param(
            [
                {
                    "RouteTableId": "rtb-own",
                    "Associations": [{"SubnetId": "subnet-1"}],
                    "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "State": "blackhole"}],
                }
            ],
            False,
            id="a blackhole leads nowhere",
        ),
        pytest.param([], None, id="no table in sight"),
    ],
)
def test_a_subnets_way_out_follows_from_its_route_table(
    tables: list[dict[str, Any]], leads_out: bool | None
) -> None:
    rows = [{"SubnetId": "subnet-1", "VpcId": "vpc-1", "AvailableIpAddressCount": 7}]
    found = read_subnets(
        door(
            ec2__DescribeSubnets={"Subnets": rows}, ec2__DescribeRouteTables={"RouteTables": tables}
        ),
        ["subnet-1"],
    )
    assert found.value is not None
    assert (found.value[0].free, found.value[0].has_default_route) == (7, leads_out)


def test_unread_routes_leave_the_way_out_open() -> None:
    rows = [{"SubnetId": "subnet-1", "AvailableIpAddressCount": 7}]
    found = read_subnets(
        door(ec2__DescribeSubnets={"Subnets": rows}, ec2__DescribeRouteTables=DENIED), ["subnet-1"]
    )
    assert found.value == (Subnet(id="subnet-1", free=7, evidence=found.evidence),)


@pytest.mark.parametrize(
    ("pattern", "hears"),
    [
        pytest.param({"source": ["aws.ec2"]}, tuple(WarningKind), id="a source alone"),
        pytest.param(
            {
                "source": ["aws.ec2"],
                "detail-type": ["Capacity Reservation Instance Interruption Warning"],
            },
            (WarningKind.INTERRUPTION,),
            id="one detail type",
        ),
        pytest.param(
            {"detail-type": [{"prefix": "Capacity Block"}]},
            (WarningKind.EXPIRATION,),
            id="a prefix, any source",
        ),
        pytest.param(
            {"detail-type": [{"wildcard": "*Expiration Warning"}]},
            (WarningKind.EXPIRATION,),
            id="a wildcard",
        ),
        pytest.param({"source": ["aws.s3"]}, (), id="another source"),
        pytest.param({"detail-type": [{"anything-but": ["x"]}]}, (), id="a matcher not followed"),
        pytest.param(None, (), id="a schedule without a pattern"),
    ],
)
def test_a_rules_pattern_says_what_it_hears(
    pattern: dict[str, Any] | None, hears: tuple[WarningKind, ...]
) -> None:
    assert heard(None if pattern is None else json.dumps(pattern)) == hears


def test_a_rule_counts_with_its_state_and_targets() -> None:
    rule = {
        "Name": "watch",
        "State": "DISABLED",
        "EventPattern": json.dumps({"source": ["aws.ec2"]}),
    }
    found = read_alert_rules(
        door(events__ListRules={"Rules": [rule]}, events__ListTargetsByRule={"Targets": []})
    )
    assert found.value == (
        AlertRule(name="watch", hears=tuple(WarningKind), is_enabled=False, targets=0),
    )


def trail_event(name: str, **record: object) -> dict[str, Any]:
    return {
        "EventId": f"id-{name}",
        "EventName": name,
        "EventTime": "2026-03-20T10:30:00Z",
        "Username": "dana",
        "CloudTrailEvent": json.dumps({"eventName": name, **record}),
    }


def test_what_was_asked_stands_in_the_record_inside_the_event() -> None:
    event = trail_event(
        "BatchReplaceClusterNodes",
        requestParameters={
            "clusterName": ARN,
            "nodeIds": ["i-0aaaaaaaaaaaaaa01", "i-0aaaaaaaaaaaaaa02"],
        },
        responseElements={
            "successful": ["i-0aaaaaaaaaaaaaa01"],
            "failed": [{"nodeId": "i-0aaaaaaaaaaaaaa02", "errorCode": "X"}],
        },
        userIdentity={"arn": "arn:aws:sts::111122223333:assumed-role/Ops/dana"},
    )
    trail = read_trail(door(cloudtrail__LookupEvents={"Events": [event]}), WINDOW)
    (change,) = trail.changes
    assert trail.is_complete
    assert (change.kind, change.cluster, change.by) == (ChangeKind.REPLACE, ARN, "dana")
    assert change.targets == ("i-0aaaaaaaaaaaaaa01",)
    assert not change.is_attempt


def test_a_call_with_an_error_code_is_an_attempt() -> None:
    event = trail_event(
        "TerminateInstances",
        errorCode="UnauthorizedOperation",
        requestParameters={"instancesSet": {"items": [{"instanceId": "i-0aaaaaaaaaaaaaa01"}]}},
    )
    (change,) = read_trail(door(cloudtrail__LookupEvents={"Events": [event]}), WINDOW).changes
    assert change.is_attempt
    assert change.nodes == ("i-0aaaaaaaaaaaaaa01",)
    assert change.targets == ()


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"requestParameters": None}, id="null parameters"),
        pytest.param({"requestParameters": []}, id="parameters of another shape"),
        pytest.param({"requestParameters": {"nodeIds": "i-1"}}, id="ids of another shape"),
    ],
)
def test_odd_records_still_tell_that_a_call_was_made(record: dict[str, object]) -> None:
    event = trail_event("UpdateClusterSoftware", **record)
    found = read_trail(door(cloudtrail__LookupEvents={"Events": [event]}), WINDOW)
    assert [c.nodes for c in found.changes] == [()]


def test_each_name_that_could_not_be_looked_up_is_kept() -> None:
    trail = read_trail(door(cloudtrail__LookupEvents=DENIED), WINDOW)
    assert not trail.is_complete
    assert [one.name for one in trail.missed] == list(EVENT_NAMES)
    assert {one.reason for one in trail.missed} == {Reason.DENIED}


def cluster_event(number: int, seconds: int, description: str, **more: str) -> dict[str, Any]:
    return {
        "EventId": f"e{number}",
        "ClusterName": "train-a",
        "EventTime": (T0 + timedelta(seconds=seconds)).isoformat(),
        "Description": description,
        "EventLevel": "Error",
        "InstanceGroupName": "workers",
        **more,
    }


FAILED = "Failed to provision EC2 Instance in Cluster train-a and InstanceGroup workers"
NOT_CREATED = "Instance creation in Cluster train-a and InstanceGroup workers failed"
REASON = {
    "EventDetails": {
        "EventId": "e1",
        "EventDetails": {
            "EventMetadata": {"InstanceGroupScaling": {"FailureMessage": "no capacity"}}
        },
    }
}


def test_a_pair_of_error_events_is_one_and_its_reason_is_found_in_any_subtree() -> None:
    events = [cluster_event(1, 0, FAILED), cluster_event(2, 1, NOT_CREATED)]
    found = read_cluster_events(
        door(
            sagemaker__ListClusterEvents={"Events": events}, sagemaker__DescribeClusterEvent=REASON
        ),
        "train-a",
        WINDOW,
    )
    assert [(e.id, e.also, e.failure) for e in found.value or ()] == [
        ("e1", ("e2",), "no capacity")
    ]


@pytest.mark.parametrize(
    ("second", "more"),
    [
        pytest.param(6, {}, id="six seconds apart"),
        pytest.param(1, {"InstanceGroupName": "other"}, id="of another group"),
        pytest.param(1, {"EventLevel": "Info"}, id="of another level"),
    ],
)
def test_events_about_different_faults_stay_apart(second: int, more: dict[str, str]) -> None:
    events = [cluster_event(1, 0, FAILED), cluster_event(2, second, NOT_CREATED, **more)]
    found = read_cluster_events(
        door(sagemaker__ListClusterEvents={"Events": events}), "train-a", WINDOW
    )
    assert len(found.value or ()) == 2


def test_a_cluster_that_keeps_no_events_is_not_supported() -> None:
    gate = {
        "Code": "ValidationException",
        "Message": "ListClusterEvents is only supported for cluster with NodeProvisioningMode set "
        "to Continuous",
        "HTTPStatusCode": 400,
    }
    found = read_cluster_events(door(sagemaker__ListClusterEvents=gate), "train-a", WINDOW)
    assert (found.status, found.value) == (Status.NOT_SUPPORTED, None)


@pytest.mark.parametrize(
    ("description", "meaning"),
    [
        (
            "Instance i-1 is starting as part of instance replacement in Cluster a and IG b",
            EventMeaning.REPLACEMENT,
        ),
        (
            "Termination of EC2 Instance i-1 is currently in progress",
            EventMeaning.TERMINATION,
        ),
        ("Reboot of EC2 Instance i-1 is currently in progress", EventMeaning.REBOOT),
        ("EC2 Instance i-1 successfully provisioned", EventMeaning.PROVISIONED),
        (FAILED, EventMeaning.PROVISION_FAILED),
        (NOT_CREATED, EventMeaning.PROVISION_FAILED),
        (
            "Found CapacityReservation ID cr-1, using reserved capacity",
            EventMeaning.RESERVATION_USED,
        ),
        ("No CapacityReservation found for x, using on-demand pool", EventMeaning.ON_DEMAND),
        ("Failed to create Customer ENI in subnet", EventMeaning.NETWORK_FAILED),
        ("Found Subnet subnet-1 in AZ us-west-2a with SecurityGroupIds", EventMeaning.NETWORK),
        (
            "Instance lifecycle script execution for EC2 Instance i-1 has Failed. To view",
            EventMeaning.LIFECYCLE_FAILED,
        ),
        (
            "Instance lifecycle script execution for EC2 Instance i-1 has Succeeded",
            EventMeaning.LIFECYCLE,
        ),
        (
            "InstanceGroup b has been scheduled for UpdateClusterSoftware to latest.",
            EventMeaning.SOFTWARE,
        ),
        ("Root volume replacement started for Instance i-1", EventMeaning.SOFTWARE),
        ("Rollback of InstanceGroup b started", EventMeaning.ROLLBACK),
        ("Instance i-1 cordoned and pods evicted.", EventMeaning.EVICTION),
        ("Slurm configuration drift detected: x", EventMeaning.SLURM),
        ("2 node(s) lost orchestration-ready status", EventMeaning.READINESS),
        ("InstanceGroup b scaling started successfully", EventMeaning.SCALING),
        ("Something else", EventMeaning.OTHER),
    ],
)
def test_a_cluster_event_is_told_by_its_documented_wording(
    description: str, meaning: EventMeaning
) -> None:
    assert meaning_of(description) is meaning


def test_health_events_carry_the_resources_they_name() -> None:
    calls = [
        {
            "service": "health",
            "operation": "DescribeEvents",
            "region": "us-east-1",
            "params": {},
            "response": {
                "events": [
                    {"arn": "arn:1", "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"}
                ]
            },
        },
        {
            "service": "health",
            "operation": "DescribeAffectedEntities",
            "region": "us-east-1",
            "params": {},
            "response": {"entities": [{"eventArn": "arn:1", "entityValue": "i-0aaaaaaaaaaaaaa01"}]},
        },
    ]
    recorded = RecordedAws(read_calls(calls), region="us-west-2", now=WINDOW.end)
    found = read_health_events(recorded, WINDOW)
    assert [e.entities for e in found.value or ()] == [("i-0aaaaaaaaaaaaaa01",)]
