"""AWS replies that lie in a case as files: told by their members, brought to boto3's shape.

People keep replies whole, or trim them by hand: a state as a word, instances without their
reservations, groups as bare ids, interfaces as counts. What a trimmed form does not say stays
unsaid in the normal form too.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpuvet.aws.recorded_calls import RecordedCall
from gpuvet.aws.timestamps import as_datetime, with_datetimes
from gpuvet.case.case import Reply
from gpuvet.model.untyped import is_array, is_number, is_object, object_at, objects_at, text_at

Json = Mapping[str, Any]

# A member of this name at the top of a reply belongs to one operation only.
_BY_MEMBER = MappingProxyType(
    {
        "ClusterSummaries": "sagemaker:ListClusters",
        "ClusterNodeSummaries": "sagemaker:ListClusterNodes",
        "NodeDetails": "sagemaker:DescribeClusterNode",
        "TrainingPlanSummaries": "sagemaker:ListTrainingPlans",
        "Reservations": "ec2:DescribeInstances",
        "Instances": "ec2:DescribeInstances",
        "InstanceTypes": "ec2:DescribeInstanceTypes",
        "InstanceStatuses": "ec2:DescribeInstanceStatus",
        "CapacityReservations": "ec2:DescribeCapacityReservations",
        "CapacityBlocks": "ec2:DescribeCapacityBlocks",
        "CapacityBlockStatuses": "ec2:DescribeCapacityBlockStatus",
        "CapacityBlockExtensionOfferings": "ec2:DescribeCapacityBlockExtensionOfferings",
        "CapacityBlockExtensions": "ec2:DescribeCapacityBlockExtensionHistory",
        "SecurityGroups": "ec2:DescribeSecurityGroups",
        "Subnets": "ec2:DescribeSubnets",
        "RouteTables": "ec2:DescribeRouteTables",
        "NetworkInterfaces": "ec2:DescribeNetworkInterfaces",
        "VpcEndpoints": "ec2:DescribeVpcEndpoints",
        "logGroups": "logs:DescribeLogGroups",
        "logStreams": "logs:DescribeLogStreams",
        "Metrics": "cloudwatch:ListMetrics",
        "MetricDataResults": "cloudwatch:GetMetricData",
        "MetricAlarms": "cloudwatch:DescribeAlarms",
        "AlarmHistoryItems": "cloudwatch:DescribeAlarmHistory",
        "entities": "health:DescribeAffectedEntities",
        "successfulSet": "health:DescribeEventDetails",
        "Rules": "events:ListRules",
        "Targets": "events:ListTargetsByRule",
        "FileSystems": "fsx:DescribeFileSystems",
        "nodegroups": "eks:ListNodegroups",
        "nodegroup": "eks:DescribeNodegroup",
        "addons": "eks:ListAddons",
        "addon": "eks:DescribeAddon",
        "Quota": "service-quotas:GetServiceQuota",
        "Quotas": "service-quotas:ListServiceQuotas",
        "workspaces": "amp:ListWorkspaces",
        "workspace": "amp:DescribeWorkspace",
        "KeyMetadata": "kms:DescribeKey",
    }
)
# Which parameter of a question names the object that a single-object reply describes.
_IDENTITY: Mapping[str, Callable[[Json], Iterable[tuple[str, str | None]]]] = MappingProxyType(
    {
        "sagemaker:DescribeCluster": lambda r: (
            ("ClusterName", text_at(r, "ClusterName")),
            ("ClusterName", text_at(r, "ClusterArn")),
        ),
        "sagemaker:DescribeClusterNode": lambda r: (
            ("NodeId", text_at(object_at(r, "NodeDetails"), "InstanceId")),
            ("NodeLogicalId", text_at(object_at(r, "NodeDetails"), "NodeLogicalId")),
        ),
        "sagemaker:DescribeClusterEvent": lambda r: (
            ("EventId", text_at(object_at(r, "EventDetails"), "EventId")),
        ),
        "sagemaker:DescribeTrainingPlan": lambda r: (
            ("TrainingPlanName", text_at(r, "TrainingPlanName")),
            ("TrainingPlanName", text_at(r, "TrainingPlanArn")),
        ),
        "eks:DescribeCluster": lambda r: (("name", text_at(object_at(r, "cluster"), "name")),),
        "eks:DescribeNodegroup": lambda r: (
            ("nodegroupName", text_at(object_at(r, "nodegroup"), "nodegroupName")),
        ),
        "eks:DescribeAddon": lambda r: (
            ("addonName", text_at(object_at(r, "addon"), "addonName")),
        ),
        "amp:DescribeWorkspace": lambda r: (
            ("workspaceId", text_at(object_at(r, "workspace"), "workspaceId")),
        ),
        "service-quotas:GetServiceQuota": lambda r: (
            ("QuotaCode", text_at(object_at(r, "Quota"), "QuotaCode")),
        ),
        "logs:DescribeLogStreams": lambda r: (
            ("logGroupName", text_at(r, "logGroupName")),
            ("logGroupIdentifier", text_at(r, "logGroupName")),
        ),
    }
)
AMBIGUOUS = "an empty list of events, which several operations answer with; name it as a call"


class Recognised(NamedTuple):
    """What the members of a document say it answers."""

    operations: tuple[str, ...]  # several where one file holds several replies
    problem: str | None = None


def recognise_reply(document: object, *, name: str = "") -> Recognised:
    """Return the operations whose reply a document is.

    Args:
        document: Parsed JSON.
        name: The file's name: asked only where an empty reply could be of several operations.
    """
    if not is_object(document):
        return Recognised(())
    if is_array(document.get("Events")):
        return _events(document["Events"], name)
    whole = next((operation for operation, is_it in _WHOLE if is_it(document)), None)
    if whole is not None:
        return Recognised((whole,))
    found = (_BY_MEMBER.get(key) for key in document)
    return Recognised(tuple(dict.fromkeys(operation for operation in found if operation)))


def _events(events: Sequence[Any], name: str) -> Recognised:
    first = next((event for event in events if is_object(event)), None)
    if first is not None:
        is_trail = "EventName" in first or "CloudTrailEvent" in first
        return Recognised(
            ("cloudtrail:LookupEvents" if is_trail else "sagemaker:ListClusterEvents",)
        )
    plain = name.lower().replace("-", "_")
    if "lookup" in plain or "trail" in plain:
        return Recognised(("cloudtrail:LookupEvents",))
    if "cluster_event" in plain or "clusterevents" in plain:
        return Recognised(("sagemaker:ListClusterEvents",))
    return Recognised((), AMBIGUOUS)


def _is_health(document: Json) -> bool:
    return any("eventTypeCode" in event for event in objects_at(document, "events"))


def _is_eks_cluster(document: Json) -> bool:
    return {"arn", "status"} <= object_at(document, "cluster").keys()


def _is_type_table(document: Json) -> bool:
    """Say whether this is a table of instance types by name, as people shorten it."""
    rows = [value for value in document.values() if is_object(value)]
    return bool(rows) and len(rows) == len(document) and all("EfaSupported" in r for r in rows)


# Replies that are one object, told by several of its members.
_WHOLE: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("sagemaker:DescribeCluster", lambda d: {"ClusterName", "InstanceGroups"} <= d.keys()),
    ("sagemaker:DescribeTrainingPlan", lambda d: {"TrainingPlanArn", "Status"} <= d.keys()),
    ("sagemaker:DescribeClusterEvent", lambda d: is_object(d.get("EventDetails"))),
    ("sts:GetCallerIdentity", lambda d: {"UserId", "Account", "Arn"} <= d.keys()),
    ("eks:DescribeCluster", _is_eks_cluster),
    ("health:DescribeEvents", _is_health),
    ("ec2:DescribeInstanceTypes", _is_type_table),
)


def read_replies(document: Json, operations: Sequence[str], file: str) -> Iterator[Reply]:
    """Yield each operation's reply from one document, in boto3's shape."""
    for operation in operations:
        own = dict(document)
        if len(operations) > 1:
            own = {k: v for k, v in own.items() if _BY_MEMBER.get(k) == operation}
        normal = _NORMAL.get(operation, _as_it_is)(own)
        notes = () if normal == own else ("a trimmed form; what it leaves out is not read",)
        yield Reply(operation, file, with_datetimes(normal), notes)


def reply_calls(replies: Iterable[Reply]) -> Iterator[RecordedCall]:
    """Yield recorded calls that serve replies: by the object's own name, or as pages together."""
    listed: dict[str, list[Reply]] = {}
    for reply in replies:
        identity = _IDENTITY.get(reply.operation)
        names = [pair for pair in identity(reply.reply) if pair[1]] if identity else []
        for key, value in names:
            yield _call(reply.operation, {key: value}, [reply])
        if not names:
            listed.setdefault(reply.operation, []).append(reply)
    for operation, pages in listed.items():
        yield _call(operation, {}, pages)


def _call(operation: str, params: Json, replies: Sequence[Reply]) -> RecordedCall:
    """Return one call; several files of one listing are its pages, joined."""
    notes = dict.fromkeys(note for reply in replies for note in reply.notes)
    files = ", ".join(reply.file for reply in replies)
    return RecordedCall(
        operation=operation,
        params=params,
        answers=(_joined([reply.reply for reply in replies]),),
        source=files,
        notes=(f"from {files}; its own parameters are not recorded", *notes),
    )


def _joined(pages: Sequence[Json]) -> dict[str, Any]:
    whole = dict(pages[0])
    for page in pages[1:]:
        for name, value in page.items():
            if is_array(value) and is_array(whole.get(name, [])):
                whole[name] = [*whole.get(name, []), *value]
    # Each token but the last one leads to a page that is here.
    ends = any("NextToken" not in page and "nextToken" not in page for page in pages)
    if ends:
        whole.pop("NextToken", None)
        whole.pop("nextToken", None)
    return whole


def _as_it_is(reply: Json) -> dict[str, Any]:
    return dict(reply)


def _instances(reply: Json) -> dict[str, Any]:
    reservations = objects_at(reply, "Reservations")
    if not reservations:
        reservations = [{"Instances": objects_at(reply, "Instances")}]
    rest = {k: v for k, v in reply.items() if k not in {"Reservations", "Instances"}}
    rows = [
        {**one, "Instances": [_instance(i) for i in objects_at(one, "Instances")]}
        for one in reservations
    ]
    return {**rest, "Reservations": [row for row in rows if row["Instances"]]}


def _instance(row: Json) -> dict[str, Any]:
    normal = dict(row)
    if isinstance(row.get("State"), str):
        normal["State"] = {"Name": row["State"]}
    if is_array(row.get("SecurityGroups")):
        normal["SecurityGroups"] = [
            {"GroupId": group} if isinstance(group, str) else group
            for group in row["SecurityGroups"]
        ]
    if is_object(row.get("NetworkInterfaces")):
        normal["NetworkInterfaces"] = list(_interfaces(row["NetworkInterfaces"]))
    if is_object(row.get("Tags")):
        normal["Tags"] = [{"Key": key, "Value": str(v)} for key, v in row["Tags"].items()]
    return normal


def _interfaces(counts: Json) -> Iterator[dict[str, Any]]:
    """Yield as many interfaces of each type as the counts say; nothing else is known of them."""
    for kind, count in counts.items():
        if is_number(count):
            for _ in range(min(int(count), 128)):
                yield {"InterfaceType": kind}


def _types(reply: Json) -> dict[str, Any]:
    if not _is_type_table(reply):
        return dict(reply)
    return {"InstanceTypes": [_type(name, row) for name, row in reply.items()]}


def _type(name: str, row: Json) -> dict[str, Any]:
    network: dict[str, Any] = {"EfaSupported": row["EfaSupported"]}
    if is_number(row.get("MaximumEfaInterfaces")):
        network["EfaInfo"] = {"MaximumEfaInterfaces": row["MaximumEfaInterfaces"]}
    normal: dict[str, Any] = {"InstanceType": name, "NetworkInfo": network}
    if is_number(row.get("GpuCount")):
        normal["GpuInfo"] = {"Gpus": [{"Count": row["GpuCount"]}] if row["GpuCount"] else []}
    return normal


def _trail(reply: Json) -> dict[str, Any]:
    return {**reply, "Events": [_trail_event(event) for event in objects_at(reply, "Events")]}


def _trail_event(event: Json) -> dict[str, Any]:
    """Give a trimmed event the record in which its request parameters belong."""
    if "CloudTrailEvent" in event:
        return dict(event)
    inner = ("requestParameters", "responseElements", "errorCode", "userIdentity")
    record = {key: event[key] for key in inner if key in event}
    normal = {key: value for key, value in event.items() if key not in inner}
    if record:
        record["eventName"] = event.get("EventName")
        at = as_datetime(event.get("EventTime"))
        record["eventTime"] = at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else None
        normal["CloudTrailEvent"] = json.dumps(record, sort_keys=True)
    return normal


def _streams(reply: Json) -> dict[str, Any]:
    rows = reply.get("logStreams")
    named = [
        {"logStreamName": row} if isinstance(row, str) else row
        for row in (rows if is_array(rows) else ())
    ]
    return {**reply, "logStreams": named}


def _groups(reply: Json) -> dict[str, Any]:
    rows = reply.get("logGroups")
    named = [
        {"logGroupName": row} if isinstance(row, str) else row
        for row in (rows if is_array(rows) else ())
    ]
    return {**reply, "logGroups": named}


_NORMAL: Mapping[str, Callable[[Json], dict[str, Any]]] = MappingProxyType(
    {
        "ec2:DescribeInstances": _instances,
        "ec2:DescribeInstanceTypes": _types,
        "cloudtrail:LookupEvents": _trail,
        "logs:DescribeLogStreams": _streams,
        "logs:DescribeLogGroups": _groups,
    }
)
