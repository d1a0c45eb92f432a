"""Lines of a job's own output in CloudWatch Logs: which groups may hold it, and what they say.

Groups are found by substring, in the customer's own name space and among container application
logs; a group of an AWS service is none. Everything passes the AWS door.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor, LogLine, LogStream, Page
from gpuvet.aws.log_queries import MOST_LINES, query_parts
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.untyped import is_array, objects_at, text_at
from gpuvet.parse.wrappers import instance_id

# A job's name in a question: "Job nova on …", "our job llm-7b failed".
_NAMED_JOB = re.compile(
    r"\bjob\s+[\"'`]?(?P<name>[a-z][\w.-]{3,62})[\"'`]?"
    r"(?=\s+(?:on|in|at|ran|runs|was|is|has|slowed|failed|hung|hangs|crashed|died)\b)",
    re.IGNORECASE,
)
_NO_NAMES = frozenset({"that", "this", "which", "there", "also", "still", "then"})
_OF_A_SERVICE = re.compile(r"/aws/(?!containerinsights/[^/]+/application$)")
_MOST_GROUPS = 20  # ours


class _Part(NamedTuple):
    status: Status
    reason: Reason | None


def job_group_names(cluster: str | None, question: str | None = None) -> tuple[str, ...]:
    """Return the substrings of the job's group: cluster, how its name begins, the job's name.

    Only names that tie a group to this job: another job's steps would be another job's slowdown.
    """
    names: list[str] = []
    if cluster is not None:
        head = re.split(r"[-_.]", cluster)[0]
        names += [cluster, head] if len(head) >= 4 else [cluster]
    found = _NAMED_JOB.search(question or "")
    if found is not None and found["name"].lower() not in _NO_NAMES:
        names.append(found["name"])
    return tuple(dict.fromkeys(names))


def read_job_lines(
    door: AwsDoor, names: Iterable[str], window: Window, pattern: str
) -> Envelope[tuple[LogLine, ...]]:
    """Return the lines of job logs that match a pattern, oldest first in each group.

    Args:
        door: The AWS door.
        names: Substrings of group names.
        window: Which lines.
        pattern: A regular expression of Logs Insights, without slashes.
    """
    parts: list[_Part] = []
    groups = _groups(door, names, parts)
    found: list[LogLine] = []
    for group in groups[:_MOST_GROUPS]:
        found.extend(_of_group(door, group, window, pattern, parts))
    if len(groups) > _MOST_GROUPS:
        parts.append(_Part(Status.PARTIAL, Reason.BUDGET))
    worst = next((p for p in parts if not p.status.is_complete), None)
    is_partial = worst is not None and bool(found)
    status = Status.OK if found else Status.OK_EMPTY
    if worst is not None:
        status = Status.PARTIAL if is_partial else worst.status
    return Envelope[tuple[LogLine, ...]](
        service="logs",
        operation="StartQuery",
        params=json.dumps({"groups": groups, "pattern": pattern}, sort_keys=True),
        window=window,
        status=status,
        reason=worst.reason if worst else None,
        value=tuple(found),
    )


def _groups(door: AwsDoor, names: Iterable[str], parts: list[_Part]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        answer = door.read("logs:DescribeLogGroups", {"logGroupNamePattern": name})
        parts.append(_Part(answer.status, answer.reason))
        for page in answer.value or ():
            for row in objects_at(page, "logGroups"):
                group = text_at(row, "logGroupName")
                if group is not None and _OF_A_SERVICE.match(group) is None:
                    found[group] = None
    return list(found)


def _of_group(
    door: AwsDoor, group: str, window: Window, pattern: str, parts: list[_Part]
) -> list[LogLine]:
    answer = door.read("logs:DescribeLogStreams", {"logGroupName": group})
    parts.append(_Part(answer.status, answer.reason))
    streams = [
        LogStream(node="", group=group, stream=name)
        for page in answer.value or ()
        for row in objects_at(page, "logStreams")
        if (name := text_at(row, "logStreamName")) is not None
    ]
    return [
        line
        for part in query_parts(streams)
        for line in _query(door, group, part, window, pattern, parts)
    ]


def _query(
    door: AwsDoor,
    group: str,
    streams: Sequence[LogStream],
    window: Window,
    pattern: str,
    parts: list[_Part],
) -> list[LogLine]:
    among = ", ".join(json.dumps(one.stream) for one in streams)
    params = {
        "logGroupNames": [group],
        "queryString": (
            f"filter @logStream in [{among}] and @message like /{pattern}/"
            " | fields @timestamp, @logStream, @message"
            f" | sort @timestamp asc | limit {MOST_LINES}"
        ),
        "startTime": int(window.start.timestamp()),
        "endTime": int(window.end.timestamp()),
        "limit": MOST_LINES,
    }
    started = door.read("logs:StartQuery", params)
    query = next((text_at(page, "queryId") for page in started.value or ()), None)
    if query is None:
        parts.append(_Part(started.status, started.reason))
        return []
    answer = door.read("logs:GetQueryResults", {"queryId": query})
    pages = answer.value or ()
    rows = [_cells(cells) for page in pages for cells in page.get("results", ())]
    parts.append(_ended(answer, len(rows)))
    return [line for place, row in enumerate(rows, 1) if (line := _line(group, place, row))]


def _ended(answer: Envelope[tuple[Page, ...]], rows: int) -> _Part:
    if not answer.status.is_complete:
        return _Part(answer.status, answer.reason)
    if any(page.get("status") != "Complete" for page in answer.value or ()):
        return _Part(Status.UNVERIFIED, Reason.TIMED_OUT)
    return _Part(Status.PARTIAL, Reason.ROW_CAP) if rows >= MOST_LINES else _Part(Status.OK, None)


def _cells(cells: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    if not is_array(cells):
        return {}
    return {str(cell.get("field")): str(cell.get("value")) for cell in cells}


def _line(group: str, place: int, row: Mapping[str, str]) -> LogLine | None:
    text, stream = row.get("@message"), row.get("@logStream", "")
    at = as_datetime(row.get("@timestamp"))
    if text is None:
        return None
    return LogLine(
        node=instance_id(stream) or "",
        group=group,
        stream=stream,
        line=place,
        text=text,
        shipped_at_ms=_milliseconds(at),
    )


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
