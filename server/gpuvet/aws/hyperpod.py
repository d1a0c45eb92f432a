"""HyperPod: the cluster, its nodes and its events."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from gpuvet.aws.answers import Row, read_rows, rows_of, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.changes import ClusterEvent, EventMeaning
from gpuvet.model.cluster_state import GroupState, HyperPodCluster, HyperPodNode
from gpuvet.model.evidence import Envelope, Window
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at, whole_at
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id

# AWS's API reference: one fault emits a pair of Error events about a second apart.
_PAIR = timedelta(seconds=5)
# Ours: how many failures are asked for their reason; describe calls throttle early.
_MOST_REASONS = 20


def read_cluster(door: AwsDoor, cluster: str | None) -> Envelope[HyperPodCluster]:
    """Return a HyperPod cluster by name or ARN."""
    params = {"ClusterName": cluster} if cluster else {}
    answer = door.read("sagemaker:DescribeCluster", params)
    page = next(iter(answer.value or ()), None)
    return with_value(answer, None if page is None else _cluster(page, answer.evidence))


def _cluster(page: Row, evidence: str) -> HyperPodCluster:
    vpc = object_at(page, "VpcConfig")
    eks = text_at(object_at(object_at(page, "Orchestrator"), "Eks"), "ClusterArn")
    groups = [*objects_at(page, "InstanceGroups"), *objects_at(page, "RestrictedInstanceGroups")]
    return HyperPodCluster(
        name=text_at(page, "ClusterName") or "",
        arn=text_at(page, "ClusterArn"),
        status=text_at(page, "ClusterStatus"),
        recovery=text_at(page, "NodeRecovery"),
        provisioning=text_at(page, "NodeProvisioningMode"),
        eks=eks,
        groups=tuple(_group(group) for group in groups),
        subnets=_texts(vpc.get("Subnets")),
        security_groups=_texts(vpc.get("SecurityGroupIds")),
        failure=_clean(text_at(page, "FailureMessage")),
        evidence=evidence,
    )


def _group(row: Row) -> GroupState:
    types = _texts(object_at(row, "InstanceRequirements").get("CurrentInstanceTypes"))
    patch = object_at(row, "AutoPatchConfig")
    schedule = object_at(patch, "CurrentPatchSchedule") or object_at(patch, "DesiredPatchSchedule")
    own = object_at(row, "OverrideVpcConfig")
    stores = objects_at(row, "InstanceStorageConfigs")
    volumes = [object_at(one, "EbsVolumeConfig") for one in stores]
    return GroupState(
        name=text_at(row, "InstanceGroupName") or "",
        instance_type=text_at(row, "InstanceType") or next(iter(types), None),
        current=whole_at(row, "CurrentCount"),
        target=whole_at(row, "TargetCount"),
        status=text_at(row, "Status"),
        deep_checks=_texts(row.get("OnStartDeepHealthChecks")),
        plan=text_at(row, "TrainingPlanArn"),
        plan_status=text_at(row, "TrainingPlanStatus"),
        image=text_at(row, "CurrentImageId"),
        wanted_image=text_at(row, "DesiredImageId"),
        software=text_at(row, "SoftwareUpdateStatus"),
        subnets=_texts(own.get("Subnets")),
        interface=text_at(object_at(row, "NetworkInterface"), "InterfaceType"),
        is_controller=text_at(object_at(row, "SlurmConfig"), "NodeType") == "Controller",
        security_groups=_texts(own.get("SecurityGroupIds")),
        image_status=text_at(row, "ImageVersionStatus"),
        patch_at=as_datetime(schedule.get("NextPatchDate")),
        patch_strategy=text_at(patch, "PatchingStrategy"),
        update_schedule=text_at(object_at(row, "ScheduledUpdateConfig"), "ScheduleExpression"),
        is_spot=is_object(object_at(row, "CapacityRequirements").get("Spot")),
        role=text_at(row, "ExecutionRole"),
        volume_gb=tuple(size for one in volumes if (size := whole_at(one, "VolumeSizeInGB"))),
        volume_keys=tuple(key for one in volumes if (key := text_at(one, "VolumeKmsKeyId"))),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if is_array(value) else ()


def _clean(text: str | None) -> str | None:
    return clean(text) if text else None


def read_nodes(door: AwsDoor, cluster: str | None) -> Envelope[tuple[HyperPodNode, ...]]:
    """Return the nodes SageMaker lists now, with their logical ids where it gives them."""
    params: dict[str, Any] = {"IncludeNodeLogicalIds": True}
    if cluster:
        params["ClusterName"] = cluster
    return read_rows(door, "sagemaker:ListClusterNodes", params, "ClusterNodeSummaries", _node)


def _node(row: Row, evidence: str) -> HyperPodNode | None:
    name = text_at(row, "InstanceId")
    if name is None:
        return None
    status = object_at(row, "InstanceStatus")
    return HyperPodNode(
        id=name,
        group=text_at(row, "InstanceGroupName"),
        logical=text_at(row, "NodeLogicalId"),
        instance_type=text_at(row, "InstanceType"),
        status=text_at(status, "Status"),
        message=_clean(text_at(status, "Message")),
        launched_at=as_datetime(row.get("LaunchTime")),
        updated_at=as_datetime(row.get("LastSoftwareUpdateTime")),
        host=text_at(row, "PrivateDnsHostname"),
        release=text_at(row, "CurrentImageReleaseVersion"),
        evidence=evidence,
    )


class _Meaning(NamedTuple):
    pattern: re.Pattern[str]
    meaning: EventMeaning


# AWS's API reference, most telling first.
_MEANINGS = tuple(
    _Meaning(re.compile(pattern, re.IGNORECASE), meaning)
    for pattern, meaning in (
        (r"as part of instance replacement", EventMeaning.REPLACEMENT),
        (r"termination of ec2 instance|failed to terminate", EventMeaning.TERMINATION),
        (r"reboot of ec2 instance", EventMeaning.REBOOT),
        (r"no capacityreservation found", EventMeaning.ON_DEMAND),
        (r"found capacityreservation id", EventMeaning.RESERVATION_USED),
        (r"failed to process capacityreservationdetails", EventMeaning.PROVISION_FAILED),
        (
            r"failed to (?:create customer eni|process instance group network configuration)",
            EventMeaning.NETWORK_FAILED,
        ),
        (r"found subnet \S+ in az", EventMeaning.NETWORK),
        (r"failed to provision ec2 instance", EventMeaning.PROVISION_FAILED),
        (r"instance (?:creation|launch|\w+) in cluster .* failed", EventMeaning.PROVISION_FAILED),
        (r"successfully provisioned|instance creation .*succeeded", EventMeaning.PROVISIONED),
        (r"lifecycle script execution .* has failed", EventMeaning.LIFECYCLE_FAILED),
        (r"lifecycle script execution", EventMeaning.LIFECYCLE),
        (r"rollback|rolled back|baking period", EventMeaning.ROLLBACK),
        (
            r"updateclustersoftware|root volume replacement|updated successfully|being patched",
            EventMeaning.SOFTWARE,
        ),
        (r"cordoned and pods evicted|poddisruptionbudget|karpenter", EventMeaning.EVICTION),
        (r"slurm (?:configuration drift|was reconfigured)", EventMeaning.SLURM),
        (r"lost orchestration-ready status", EventMeaning.READINESS),
        (r"health (?:check|monitoring)|unhealthy|faulty", EventMeaning.HEALTH),
        (
            r"(?:instance ?group|cluster) \S+ .*(?:started|completed|failed)",
            EventMeaning.SCALING,
        ),
    )
)
_RESERVATION = re.compile(r"\bcr-[0-9a-f]{8,17}\b")
_SUBNET = re.compile(r"\bsubnet-[0-9a-f]{8,17}\b")


def meaning_of(description: str) -> EventMeaning:
    """Return what a cluster event is about, by its documented wording."""
    return next(
        (row.meaning for row in _MEANINGS if row.pattern.search(description)), EventMeaning.OTHER
    )


def read_cluster_events(
    door: AwsDoor, cluster: str | None, window: Window
) -> Envelope[tuple[ClusterEvent, ...]]:
    """Return the cluster's events of a window, oldest first, pairs about one fault as one.

    Only clusters that provision continuously have them: elsewhere the reading is NOT_SUPPORTED.
    The reason of a failure stands in the event's own description call; the first ones are asked.
    """
    params: dict[str, Any] = {"EventTimeAfter": window.start, "EventTimeBefore": window.end}
    if cluster:
        params["ClusterName"] = cluster
    answer = door.read("sagemaker:ListClusterEvents", params)
    if answer.value is None and not answer.status.is_complete:
        return with_value(answer, None)
    rows = [_event(row, answer.evidence) for row in rows_of(answer, "Events")]
    events = sorted(
        (one for one in rows if one is not None and window.start <= one.at <= window.end),
        key=lambda one: (one.at, one.id),
    )
    explained = tuple(_explained(door, cluster, _paired(events)))
    return with_value(answer, explained)


def _event(row: Row, evidence: str) -> ClusterEvent | None:
    name, at = text_at(row, "EventId"), as_datetime(row.get("EventTime"))
    if name is None or at is None:
        return None
    description = clean(text_at(row, "Description") or "")
    reservation, subnet = _RESERVATION.search(description), _SUBNET.search(description)
    return ClusterEvent(
        id=name,
        at=at,
        meaning=meaning_of(description),
        description=description,
        level=text_at(row, "EventLevel"),
        group=text_at(row, "InstanceGroupName"),
        instance=text_at(row, "InstanceId") or instance_id(description),
        operation=text_at(row, "OperationId"),
        failure=_failure_message(row),
        reservation=reservation[0] if reservation else None,
        subnet=subnet[0] if subnet else None,
        evidence=evidence,
    )


def _paired(events: Sequence[ClusterEvent]) -> Iterator[ClusterEvent]:
    """Yield events, Error events of one group within a few seconds as one."""
    kept: list[ClusterEvent] = []
    for event in events:
        earlier = next((one for one in reversed(kept) if _same_fault(one, event)), None)
        if earlier is None:
            kept.append(event)
            continue
        merged = earlier.model_copy(
            update={
                "also": (*earlier.also, event.id),
                "instance": earlier.instance or event.instance,
                "failure": earlier.failure or event.failure,
            }
        )
        kept[kept.index(earlier)] = merged
    yield from kept


def _same_fault(one: ClusterEvent, other: ClusterEvent) -> bool:
    return (
        one.level == other.level == "Error"
        and one.meaning is other.meaning
        and one.group == other.group
        and (one.instance == other.instance or not one.instance or not other.instance)
        and one.id != other.id
        and other.at - one.at <= _PAIR
    )


_REASONED = frozenset(
    {
        EventMeaning.PROVISION_FAILED,
        EventMeaning.NETWORK_FAILED,
        EventMeaning.LIFECYCLE_FAILED,
        EventMeaning.REPLACEMENT,
        EventMeaning.SCALING,
        EventMeaning.OTHER,
    }
)


def _explained(
    door: AwsDoor, cluster: str | None, events: Iterator[ClusterEvent]
) -> Iterator[ClusterEvent]:
    asked = 0
    for event in events:
        is_failure = event.level == "Error" or "fail" in event.description.lower()
        if event.failure or not is_failure or event.meaning not in _REASONED:
            yield event
            continue
        asked += 1
        yield event if asked > _MOST_REASONS else _with_reason(door, cluster, event)


def _with_reason(door: AwsDoor, cluster: str | None, event: ClusterEvent) -> ClusterEvent:
    for name in (event.id, *event.also):
        params = {"EventId": name} | ({"ClusterName": cluster} if cluster else {})
        answer = door.read("sagemaker:DescribeClusterEvent", params)
        for page in answer.value or ():
            found = _failure_message(page)
            if found is not None:
                return event.model_copy(update={"failure": found})
    return event


def _failure_message(value: object, level: int = 0) -> str | None:
    """Return FailureMessage of whichever metadata subtree carries one."""
    if not is_object(value) or level > 10:
        return None
    own = text_at(value, "FailureMessage")
    if own is not None:
        return clean(own)
    found = (_failure_message(inner, level + 1) for inner in value.values())
    return next((message for message in found if message is not None), None)
