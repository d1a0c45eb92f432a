"""Alarms, quotas, add-ons, offers and the small reads: whole, empty, refused, cut short."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpuvet.aws.alarms import read_alarms, read_schedules
from gpuvet.aws.capacity_blocks import read_blocks, read_offerings
from gpuvet.aws.eks import read_addons, read_nodegroups, read_secret_keys
from gpuvet.aws.hyperpod import read_cluster
from gpuvet.aws.network import read_prefix_lists
from gpuvet.aws.quotas import INTERFACES, read_quota, read_quotas, read_usage
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.support_reads import read_key, read_place, read_retention, read_workspaces
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.metrics import MetricName
from gpuvet.model.network import PrefixList
from gpuvet.model.readiness import (
    Addon,
    CapacityBlock,
    GroupRetention,
    KeyState,
    NodeGroup,
    NodePlace,
    Offering,
    Quota,
    Workspace,
)

SINCE = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


def door(*calls: dict[str, Any]) -> RecordedAws:
    return RecordedAws(read_calls(calls))


def call(operation: str, response: dict[str, Any], **params: Any) -> dict[str, Any]:  # noqa: ANN401
    service, name = operation.split(":")
    return {"service": service, "operation": name, "params": params, "response": response}


def refusal(operation: str, code: str = "AccessDeniedException") -> dict[str, Any]:
    service, name = operation.split(":")
    error = {"Code": code, "Message": "no", "HTTPStatusCode": 400}
    return {"service": service, "operation": name, "params": {}, "error": error}


def test_alarms_keep_state_since_and_whose_they_are() -> None:
    found = read_alarms(
        door(
            call(
                "cloudwatch:DescribeAlarms",
                {
                    "MetricAlarms": [
                        {
                            "AlarmName": "a-HeadNode-Cpu",
                            "StateValue": "ALARM",
                            "StateTransitionedTimestamp": "2026-03-02T10:00:00Z",
                            "Dimensions": [{"Name": "InstanceId", "Value": "i-1"}],
                        }
                    ],
                    "CompositeAlarms": [{"AlarmName": "all", "AlarmRule": "ALARM(x)"}],
                },
            )
        )
    )
    assert found.status is Status.OK
    assert found.value is not None
    metric, joined = found.value
    assert (metric.name, metric.state, metric.since) == ("a-HeadNode-Cpu", "ALARM", SINCE)
    assert metric.dimensions == (("InstanceId", "i-1"),)
    assert (joined.is_composite, joined.rule) == (True, "ALARM(x)")


def test_no_alarm_is_empty_and_a_denial_is_not() -> None:
    none = door(call("cloudwatch:DescribeAlarms", {"MetricAlarms": [], "CompositeAlarms": []}))
    assert read_alarms(none).status is Status.OK_EMPTY
    assert read_alarms(none).value == ()
    denied = read_alarms(door(refusal("cloudwatch:DescribeAlarms", "AccessDenied")))
    assert (denied.status, denied.reason, denied.value) == (
        Status.UNVERIFIED,
        Reason.DENIED,
        None,
    )


def test_schedules_carry_what_they_tell_and_to_how_many() -> None:
    rules = {
        "Rules": [
            {
                "Name": "ends",
                "ScheduleExpression": "rate(1 day)",
                "State": "ENABLED",
                "Description": "capacity",
            },
            {"Name": "event", "EventPattern": "{}", "State": "ENABLED"},
        ]
    }
    targets = {"Targets": [{"Id": "1", "Input": "the plan ends"}]}
    found = read_schedules(
        door(
            call("events:ListRules", rules), call("events:ListTargetsByRule", targets, Rule="ends")
        )
    )
    assert found.value is not None
    (one,) = found.value
    assert (one.name, one.targets, one.words) == ("ends", 1, "capacity the plan ends")
    blind = read_schedules(
        door(call("events:ListRules", rules), refusal("events:ListTargetsByRule"))
    )
    assert [s.targets for s in blind.value or ()] == [None]


def test_a_quota_that_is_not_applied_is_the_default() -> None:
    own = {"Quota": {"QuotaName": "n", "Value": 5000.0}}
    applied = read_quota(door(call("service-quotas:GetServiceQuota", own)), *INTERFACES)
    assert applied.value is not None
    assert (applied.value.value, applied.value.is_default) == (5000.0, False)
    fallback = read_quota(
        door(
            refusal("service-quotas:GetServiceQuota", "NoSuchResourceException"),
            call("service-quotas:GetAWSDefaultServiceQuota", own),
        ),
        *INTERFACES,
    )
    assert fallback.value is not None
    assert fallback.value.is_default
    assert read_quota(door(refusal("service-quotas:GetServiceQuota")), *INTERFACES).value is None


def test_quotas_by_name() -> None:
    rows = {"Quotas": [{"QuotaName": "ml.p5.48xlarge for cluster usage", "Value": 4.0}, {"x": 1}]}
    found = read_quotas(door(call("service-quotas:ListServiceQuotas", rows)), "sagemaker")
    assert [(q.name, q.value) for q in found.value or ()] == [
        ("ml.p5.48xlarge for cluster usage", 4.0)
    ]


def test_node_groups_and_add_ons_are_described_one_by_one() -> None:
    group = {
        "nodegroup": {
            "nodegroupName": "ng",
            "status": "ACTIVE",
            "nodeRepairConfig": {"enabled": True},
            "health": {"issues": [{"code": "X", "message": "m"}]},
        }
    }
    addon = {"addon": {"addonName": "vpc-cni", "status": "ACTIVE", "addonVersion": "v1"}}
    eks = door(
        call("eks:ListNodegroups", {"nodegroups": ["ng"]}),
        call("eks:DescribeNodegroup", group, nodegroupName="ng"),
        call("eks:ListAddons", {"addons": ["vpc-cni"]}),
        call("eks:DescribeAddon", addon, addonName="vpc-cni"),
    )
    assert read_nodegroups(eks, "c").value == (
        NodeGroup(name="ng", status="ACTIVE", repair=True, issues=("X: m",)),
    )
    assert read_addons(eks, "c").value == (Addon(name="vpc-cni", status="ACTIVE", version="v1"),)


@pytest.mark.parametrize("operation", ["eks:DescribeNodegroup", "eks:DescribeAddon"])
def test_one_description_that_is_refused_leaves_the_listing_open(operation: str) -> None:
    eks = door(
        call("eks:ListNodegroups", {"nodegroups": ["ng"]}),
        call("eks:ListAddons", {"addons": ["a"]}),
        refusal(operation),
    )
    read = read_nodegroups if operation.endswith("group") else read_addons
    found = read(eks, "c")
    assert not found.status.is_complete
    assert found.value is None


def test_blocks_and_offers() -> None:
    blocks = {
        "CapacityBlocks": [
            {
                "CapacityBlockId": "cb-1",
                "UltraserverType": "u-p6e",
                "CapacityReservationIds": ["cr-1"],
            }
        ]
    }
    offer = {
        "CapacityBlockExtensionOfferings": [
            {"CapacityBlockExtensionEndDate": "2026-03-02T10:00:00Z", "InstanceCount": 2}
        ]
    }
    aws = door(
        call("ec2:DescribeCapacityBlocks", blocks),
        call("ec2:DescribeCapacityBlockExtensionOfferings", offer, CapacityReservationId="cr-1"),
    )
    assert read_blocks(aws).value == (
        CapacityBlock(id="cb-1", ultraserver="u-p6e", reservations=("cr-1",)),
    )
    assert read_offerings(aws, "cr-1", 24).value == (
        Offering(reservation="cr-1", hours=24, end=SINCE, instances=2),
    )
    assert read_offerings(aws, "cr-2", 24).status is Status.NOT_CHECKED


def test_retention_is_that_of_the_exact_group() -> None:
    rows = {"logGroups": [{"logGroupName": "/a", "retentionInDays": 7}, {"logGroupName": "/a/b"}]}
    found = read_retention(door(call("logs:DescribeLogGroups", rows)), ["/a"])
    assert found.value == (GroupRetention(name="/a", days=7),)


def test_workspaces_keys_and_places() -> None:
    aws = door(
        call(
            "amp:ListWorkspaces",
            {
                "workspaces": [
                    {"workspaceId": "ws-1", "alias": "gpu", "status": {"statusCode": "ACTIVE"}}
                ]
            },
        ),
        call("kms:DescribeKey", {"KeyMetadata": {"KeyState": "Enabled"}}),
        call(
            "sagemaker:DescribeClusterNode",
            {
                "NodeDetails": {
                    "Placement": {
                        "AvailabilityZone": "us-west-2a",
                        "AvailabilityZoneId": "usw2-az1",
                    },
                    "CurrentImageId": "ami-1",
                    "KubernetesConfig": {"CurrentLabels": {"k": "v"}},
                }
            },
            NodeId="i-1",
        ),
    )
    assert read_workspaces(aws).value == (Workspace(id="ws-1", alias="gpu", status="ACTIVE"),)
    assert read_key(aws, "k").value == KeyState(key="k", state="Enabled")
    assert read_place(aws, "c", "i-1").value == NodePlace(
        node="i-1", zone="us-west-2a", zone_id="usw2-az1", image="ami-1", labels=(("k", "v"),)
    )
    assert read_place(aws, "c", "i-2").value is None


def test_a_refused_key_and_a_refused_place_are_no_values() -> None:
    aws = door(refusal("kms:DescribeKey"), refusal("sagemaker:DescribeClusterNode"))
    assert read_key(aws, "k").reason is Reason.DENIED
    assert read_place(aws, "c", "i-1").reason is Reason.DENIED


def test_a_quota_tells_how_its_use_is_measured_and_the_last_point_is_the_use() -> None:
    dimensions = {"Service": "EC2", "Resource": "vCPU", "Type": "Resource", "Class": "P/OnDemand"}
    metric = {
        "MetricNamespace": "AWS/Usage",
        "MetricName": "ResourceCount",
        "MetricDimensions": dimensions,
        "MetricStatisticRecommendation": "Maximum",
    }
    quota = {"QuotaName": "Running On-Demand P instances", "Value": 768.0, "UsageMetric": metric}
    points = {"Id": "m0", "Timestamps": [SINCE, SINCE.replace(minute=5)], "Values": [192.0, 384.0]}
    own = door(
        call("service-quotas:GetServiceQuota", {"Quota": quota}),
        call("cloudwatch:GetMetricData", {"MetricDataResults": [points]}),
    )

    found = read_quota(own, "ec2", "L-417A185B").value
    assert found is not None
    used = read_usage(own, found, SINCE.replace(minute=10))

    assert found.usage == MetricName(
        namespace="AWS/Usage", metric="ResourceCount", dimensions=tuple(sorted(dimensions.items()))
    )
    assert (used.status, used.value) == (Status.OK, 384.0)


def test_use_that_was_refused_or_has_no_metric_or_no_point_is_not_zero() -> None:
    name = MetricName(namespace="AWS/Usage", metric="ResourceCount")
    quota = Quota(name="q", value=1.0, usage=name)
    refused = read_usage(door(refusal("cloudwatch:GetMetricData", "AccessDenied")), quota, SINCE)
    silent = read_usage(
        door(call("cloudwatch:GetMetricData", {"MetricDataResults": [{"Id": "m0"}]})), quota, SINCE
    )
    unmeasured = read_usage(door(), Quota(name="q", value=1.0), SINCE)

    assert [(one.status, one.value) for one in (refused, silent, unmeasured)] == [
        (Status.UNVERIFIED, None),
        (Status.OK_EMPTY, None),
        (Status.NOT_SUPPORTED, None),
    ]


def test_groups_of_hyperpod_log_groups_and_eks_name_their_keys() -> None:
    volumes = [
        {"EbsVolumeConfig": {"VolumeSizeInGB": 500, "VolumeKmsKeyId": "key-data"}},
        {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": "key-root"}},
    ]
    own = {"InstanceGroupName": "gpu", "InstanceStorageConfigs": volumes}
    cluster = read_cluster(
        door(call("sagemaker:DescribeCluster", {"ClusterName": "a", "InstanceGroups": [own]})), "a"
    )
    group = {"logGroupName": "g", "kmsKeyId": "key-logs"}
    logs = read_retention(door(call("logs:DescribeLogGroups", {"logGroups": [group]})), ["g"])
    described = {"cluster": {"encryptionConfig": [{"provider": {"keyArn": "key-secrets"}}]}}
    secrets = read_secret_keys(door(call("eks:DescribeCluster", described)), "a")

    assert cluster.value is not None
    assert cluster.value.groups[0].volume_gb == (500,)
    assert cluster.value.groups[0].volume_keys == ("key-data", "key-root")
    assert logs.value == (GroupRetention(name="g", key="key-logs"),)
    assert secrets.value == ("key-secrets",)
    denied = read_secret_keys(door(refusal("eks:DescribeCluster")), "a")
    assert (denied.status, denied.value) == (Status.UNVERIFIED, None)


def test_prefix_lists_are_read_one_by_one_and_a_refused_one_is_no_empty_one() -> None:
    entries = {"Entries": [{"Cidr": "10.0.0.0/8"}, {"Cidr": "fd00::/8"}]}
    one = call("ec2:GetManagedPrefixListEntries", entries, PrefixListId="pl-1")
    whole = read_prefix_lists(door(one), ["pl-1"])
    assert (whole.status, whole.value) == (
        Status.OK,
        (PrefixList(list_id="pl-1", cidrs=("10.0.0.0/8", "fd00::/8")),),
    )
    denied = read_prefix_lists(
        door(refusal("ec2:GetManagedPrefixListEntries", "UnauthorizedOperation")), ["pl-1"]
    )
    assert (denied.status, denied.value) == (Status.UNVERIFIED, None)
    some = read_prefix_lists(
        door(
            one, {**refusal("ec2:GetManagedPrefixListEntries"), "params": {"PrefixListId": "pl-2"}}
        ),
        ["pl-1", "pl-2"],
    )
    assert some.status is Status.UNVERIFIED
    assert [one.list_id for one in some.value or ()] == ["pl-1"]
    with pytest.raises(ValueError, match="no prefix list"):
        read_prefix_lists(door(), [])
