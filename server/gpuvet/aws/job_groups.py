"""Log groups: how long they keep lines and of which class they are, and the streams of a job's."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor, LogStream
from gpuvet.aws.log_store import group_name
from gpuvet.model.coverage import LogClass
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.untyped import objects_at, text_at, whole_at

# Groups of an AWS service are no job's; container output is.
_OF_A_SERVICE = re.compile(r"/aws/(?!containerinsights/[^/]+/application$)")
# Ours: so many groups of a job, or of nodes, are looked at.
_MOST_GROUPS = 20
_MOST_DESCRIBED = 50


class GroupFacts(NamedTuple):
    """What decides how a group can be read, and how far back."""

    retention_days: int | None  # None: never expires
    log_class: LogClass


class _Part(NamedTuple):
    status: Status
    reason: Reason | None


def read_groups(door: AwsDoor, names: Sequence[str]) -> Mapping[str, GroupFacts]:
    """Return class and retention of groups, each by its exact name; those not read are left out.

    An answer by pattern carries neither, so each group is asked for by its whole name.
    """
    found: dict[str, GroupFacts] = {}
    for name in names[:_MOST_DESCRIBED]:
        answer = door.read("logs:DescribeLogGroups", {"logGroupNamePrefix": name})
        for page in answer.value or ():
            for row in objects_at(page, "logGroups"):
                if text_at(row, "logGroupName") == name:
                    kind = text_at(row, "logGroupClass")
                    known = LogClass(kind) if kind in set(LogClass) else LogClass.STANDARD
                    found[name] = GroupFacts(whole_at(row, "retentionInDays"), known)
    return found


def read_job_streams(door: AwsDoor, names: Iterable[str]) -> Envelope[tuple[LogStream, ...]]:
    """Return the streams of groups in the customer's own name space that bear one of these names.

    Args:
        door: The AWS door.
        names: The cluster's; in a group's name each stands as a word of its own.
    """
    parts: list[_Part] = []
    groups: dict[str, None] = {}
    for name in names:
        for row in _listed(door, "logs:DescribeLogGroups", {"logGroupNamePattern": name}, parts):
            group = group_name(text_at(row, "logGroupName") or "")
            if _bears(group, name) and _OF_A_SERVICE.match(group) is None:
                groups[group] = None
    found = tuple(
        LogStream(node="", group=group, stream=stream)
        for group in list(groups)[:_MOST_GROUPS]
        for row in _listed(door, "logs:DescribeLogStreams", {"logGroupName": group}, parts)
        if (stream := text_at(row, "logStreamName"))
    )
    if len(groups) > _MOST_GROUPS:
        parts.append(_Part(Status.PARTIAL, Reason.BUDGET))
    worst = next((one for one in parts if not one.status.is_complete), None)
    status = Status.OK if found else Status.OK_EMPTY
    if worst is not None:
        status = Status.PARTIAL if found else worst.status
    return Envelope[tuple[LogStream, ...]](
        service="logs",
        operation="job_streams",
        params=json.dumps({"groups": sorted(groups)}),
        status=status,
        reason=worst.reason if worst else None,
        value=found,
    )


def _bears(group: str, name: str) -> bool:
    """Say whether a group bears a name that no longer word merely begins or ends with."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", group) is not None


def _listed(
    door: AwsDoor, operation: str, params: Mapping[str, Any], parts: list[_Part]
) -> list[Mapping[str, Any]]:
    answer = door.read(operation, params)
    parts.append(_Part(answer.status, answer.reason))
    member = "logGroups" if operation.endswith("Groups") else "logStreams"
    return [row for page in answer.value or () for row in objects_at(page, member)]
