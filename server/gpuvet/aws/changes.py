"""Who changed what: CloudTrail, asked by event name.

Absence of a call is no absence of a replacement: what a service does by itself leaves none.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from gpuvet.aws.answers import Row, rows_of
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.changes import Change, ChangeKind, Missed, Trail
from gpuvet.model.evidence import Envelope, Window, evidence_id
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id

# incident-branches §E: how long before the window a change can still matter.
LOOK_BACK = timedelta(hours=6)
# AWS's API reference: events arrive up to about 15 minutes late.
DELIVERY = timedelta(minutes=15)
# Each is a look-up of its own.
EVENT_NAMES = MappingProxyType(
    {
        "BatchReplaceClusterNodes": ChangeKind.REPLACE,
        "BatchRebootClusterNodes": ChangeKind.REBOOT,
        "BatchDeleteClusterNodes": ChangeKind.DELETE,
        "BatchAddClusterNodes": ChangeKind.ADD,
        "UpdateCluster": ChangeKind.CLUSTER,
        "UpdateClusterSoftware": ChangeKind.SOFTWARE,
        "StartClusterHealthCheck": ChangeKind.HEALTH_CHECK,
        "DeleteCluster": ChangeKind.DELETE,
        "TerminateInstances": ChangeKind.TERMINATE,
        "StopInstances": ChangeKind.TERMINATE,
        "RebootInstances": ChangeKind.REBOOT,
        "ModifyCapacityReservation": ChangeKind.CAPACITY,
        "CancelCapacityReservation": ChangeKind.CAPACITY,
        "AuthorizeSecurityGroupIngress": ChangeKind.NETWORK,
        "AuthorizeSecurityGroupEgress": ChangeKind.NETWORK,
        "RevokeSecurityGroupIngress": ChangeKind.NETWORK,
        "RevokeSecurityGroupEgress": ChangeKind.NETWORK,
        "CreateRoute": ChangeKind.NETWORK,
        "ReplaceRoute": ChangeKind.NETWORK,
        "DeleteRoute": ChangeKind.NETWORK,
        "UpdateFileSystem": ChangeKind.STORAGE,
        "UpdateAddon": ChangeKind.KUBERNETES,
        "UpdateNodegroupVersion": ChangeKind.KUBERNETES,
        "UpdateNodegroupConfig": ChangeKind.KUBERNETES,
        "UpdateStack": ChangeKind.CLUSTER,
        "PutRetentionPolicy": ChangeKind.LOGS,
        "DeleteLogGroup": ChangeKind.LOGS,
        "DeleteLogStream": ChangeKind.LOGS,
    }
)
# Understood, and looked up only by who asks about lives of instances or rules of groups.
FURTHER_NAMES = MappingProxyType(
    {"RunInstances": ChangeKind.LAUNCH, "ModifySecurityGroupRules": ChangeKind.NETWORK}
)
_CLUSTER_TAGS = frozenset({"parallelcluster:cluster-name", "eks:cluster-name"})
_KUBERNETES_TAG = "kubernetes.io/cluster/"
# EKS records its calls under names of its own, with the operation inside.
_CLUSTER_MEMBERS = ("clusterName", "clusterArn", "name", "stackName")
_RESOURCE_MEMBERS = (
    *("groupId", "routeTableId", "fileSystemId", "capacityReservationId", "addonName"),
    *("nodegroupName", "stackName", "logGroupName", "logStreamName"),
)


def read_trail(door: AwsDoor, window: Window, names: Sequence[str] = tuple(EVENT_NAMES)) -> Trail:
    """Return the calls of these names in a window, oldest first."""
    changes: dict[str, Change] = {}
    missed: list[Missed] = []
    evidence: list[str] = []
    for name, (operation, params) in zip(names, trail_reads(window, names), strict=True):
        answer: Envelope[Any] = door.read(operation, params)
        if not answer.status.is_complete:
            missed.append(Missed(name=name, status=answer.status, reason=answer.reason))
        evidence.append(answer.evidence)
        for row in rows_of(answer, "Events"):
            change = read_change(row, answer.evidence)
            if (
                change is not None
                and change.name == name
                and window.start <= change.at <= window.end
            ):
                changes.setdefault(change.event_id or f"{change.name}{change.at}", change)
    ordered = sorted(changes.values(), key=lambda one: (one.at, one.name, one.event_id or ""))
    return Trail(
        window=window,
        changes=tuple(ordered),
        missed=tuple(missed),
        asked=tuple(names),
        evidence=tuple(evidence),
    )


def trail_reads(
    window: Window, names: Sequence[str] = tuple(EVENT_NAMES)
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return the reads of `read_trail`: a look-up takes one name, and two a second may be made."""
    return tuple(
        (
            "cloudtrail:LookupEvents",
            {
                "LookupAttributes": [{"AttributeKey": "EventName", "AttributeValue": name}],
                "StartTime": window.start,
                "EndTime": window.end,
            },
        )
        for name in names
    )


def read_change(row: Row, evidence: str | None = None) -> Change | None:
    """Return one event as a change, or None for a name that is not a change."""
    record = _record(row)
    name = text_at(row, "EventName") or text_at(record, "eventName") or ""
    at = as_datetime(row.get("EventTime")) or as_datetime(record.get("eventTime"))
    kind = EVENT_NAMES.get(name) or FURTHER_NAMES.get(name)
    if kind is None or at is None:
        return None
    asked = object_at(record, "requestParameters")
    answered = object_at(record, "responseElements")
    identity = object_at(record, "userIdentity")
    event_id = text_at(row, "EventId") or text_at(record, "eventID")
    return Change(
        kind=kind,
        name=name,
        at=at,
        by=_word(text_at(row, "Username") or (text_at(identity, "arn") or "").rpartition("/")[2]),
        by_arn=_word(text_at(identity, "arn")),
        invoked_by=_word(text_at(identity, "invokedBy")),
        error=_word(text_at(record, "errorCode")),
        cluster=_cluster_of(asked) or _cluster_tag(answered),
        nodes=tuple(dict.fromkeys(_nodes(answered if kind is ChangeKind.LAUNCH else asked))),
        logical=_words(asked.get("nodeLogicalIds")),
        groups=tuple(dict.fromkeys(_groups(asked))),
        resource=_resource(row, asked),
        accepted=_accepted(answered),
        refused=tuple(dict.fromkeys(_ids(answered.get("failed") or answered.get("Failed")))),
        event_id=_word(event_id),
        evidence=_event_evidence(event_id) or evidence,
    )


def _record(row: Row) -> Row:
    """Return the record inside an event: `CloudTrailEvent` is JSON in a string."""
    text = text_at(row, "CloudTrailEvent")
    try:
        document: object = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return document if is_object(document) else {}


def _event_evidence(event_id: str | None) -> str | None:
    if not event_id:
        return None
    return evidence_id(
        account=None, region=None, operation="cloudtrail:LookupEvents", params=event_id
    )


def _word(text: str | None) -> str | None:
    return clean(text) if text else None


def _words(value: object) -> tuple[str, ...]:
    texts = [clean(item) for item in value if isinstance(item, str)] if is_array(value) else []
    return tuple(texts)


def _cluster_of(asked: Mapping[str, Any]) -> str | None:
    return next((_word(c) for key in _CLUSTER_MEMBERS if (c := text_at(asked, key))), None)


def _resource(row: Row, asked: Mapping[str, Any]) -> str | None:
    """Return what a call is about: named in its request, else a group among its resources."""
    own = next((r for key in _RESOURCE_MEMBERS if (r := text_at(asked, key))), None)
    inner = text_at(object_at(asked, "ModifySecurityGroupRulesRequest"), "GroupId")
    named = (text_at(one, "ResourceName") for one in objects_at(row, "Resources"))
    group = next((one for one in named if one and one.startswith("sg-")), None)
    return _word(own or inner or group)


def _cluster_tag(answered: Mapping[str, Any]) -> str | None:
    """Return the cluster that the tags of launched instances name."""
    for item in objects_at(object_at(answered, "instancesSet"), "items"):
        for tag in objects_at(object_at(item, "tagSet"), "items"):
            key, value = text_at(tag, "key") or "", text_at(tag, "value")
            if key in _CLUSTER_TAGS and value:
                return clean(value)
            if key.startswith(_KUBERNETES_TAG):
                return clean(key.removeprefix(_KUBERNETES_TAG))
    return None


def _nodes(asked: Mapping[str, Any]) -> Iterator[str]:
    yield from _ids(asked.get("nodeIds"))
    for item in objects_at(object_at(asked, "instancesSet"), "items"):
        found = instance_id(text_at(item, "instanceId") or "")
        if found:
            yield found


def _ids(value: object) -> Iterator[str]:
    """Yield the instance ids of an array: bare ids, or objects that carry one."""
    for item in value if is_array(value) else ():
        text = (
            item
            if isinstance(item, str)
            else (
                text_at(item, "nodeId")
                or text_at(item, "NodeId")
                or text_at(item, "instanceId")
                or ""
            )
        )
        found = instance_id(text)
        if found:
            yield found


def _groups(asked: Mapping[str, Any]) -> Iterator[str]:
    name = text_at(asked, "instanceGroupName")
    if name:
        yield clean(name)
    for member in ("instanceGroups", "instanceGroupsToUpdate"):
        for group in objects_at(asked, member):
            found = text_at(group, "instanceGroupName")
            if found:
                yield clean(found)


def _accepted(answered: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the ids an answer lists as successful; None where it lists none at all."""
    for member in ("successful", "Successful"):
        if is_array(answered.get(member)):
            return tuple(dict.fromkeys(_ids(answered[member])))
    return None
