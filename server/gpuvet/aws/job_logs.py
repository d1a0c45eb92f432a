"""Lines of a job's own output in CloudWatch Logs: which groups may hold it, and what they say.

Groups are found by substring, in the customer's own name space and among container application
logs; a group of an AWS service is none. Everything passes the AWS door.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpuvet.aws.answers import rows_of
from gpuvet.aws.door import AwsDoor, LogLine, Page
from gpuvet.aws.log_asks import whole_groups
from gpuvet.aws.log_queries import lines_query
from gpuvet.aws.query_runs import Ask, QueryRuns, Row, group_of
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.untyped import text_at
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


class JobAsks(NamedTuple):
    """What reads a job's log groups: the listings that found them, the groups, the queries."""

    listings: tuple[Envelope[tuple[Page, ...]], ...]
    groups: tuple[str, ...]
    asks: tuple[Ask, ...]


def job_asks(door: AwsDoor, names: Iterable[str], window: Window, pattern: str) -> JobAsks:
    """Return what `read_job_lines` of the same arguments asks."""
    listings = [door.read("logs:DescribeLogGroups", {"logGroupNamePattern": n}) for n in names]
    groups = _groups(listings)
    asks = [
        Ask(part.groups, lines_query(part, pattern), window, "@timestamp")
        for part in whole_groups(groups[:_MOST_GROUPS])
    ]
    return JobAsks(tuple(listings), tuple(groups), tuple(asks))


def read_job_lines(
    door: AwsDoor,
    names: Iterable[str],
    window: Window,
    pattern: str,
    runs: QueryRuns | None = None,
) -> Envelope[tuple[LogLine, ...]]:
    """Return the lines of job logs that match a pattern, oldest first in each group.

    Args:
        door: The AWS door.
        names: Substrings of group names.
        window: Which lines.
        pattern: A regular expression of Logs Insights, without slashes.
        runs: The queries of the question; None: its own.
    """
    listings, groups, asks = job_asks(door, names, window, pattern)
    answers = (runs or QueryRuns(door)).found(asks)
    lines = tuple(
        line
        for ask, found in zip(asks, answers, strict=True)
        for line in _lines(found.rows, ask.groups)
    )
    missed = [one for found in answers for one in found.unread]
    failed = [(one.status, one.reason) for one in listings if not one.status.is_complete]
    failed += [(one.status, one.reason) for one in missed]
    if len(groups) > _MOST_GROUPS:
        failed.append((Status.PARTIAL, Reason.BUDGET))
    status, reason = (Status.OK if lines else Status.OK_EMPTY), None
    if failed:
        status, reason = (Status.PARTIAL if lines else failed[0][0]), failed[0][1]
    return Envelope[tuple[LogLine, ...]](
        service="logs",
        operation="StartQuery",
        params=json.dumps({"groups": list(groups), "pattern": pattern}, sort_keys=True),
        window=window,
        status=status,
        reason=reason,
        value=lines,
    )


def _groups(listings: Sequence[Envelope[tuple[Page, ...]]]) -> list[str]:
    found: dict[str, None] = {}
    for row in (row for answer in listings for row in rows_of(answer, "logGroups")):
        group = text_at(row, "logGroupName")
        if group is not None and _OF_A_SERVICE.match(group) is None:
            found[group] = None
    return list(found)


def _lines(rows: Sequence[Row], groups: Sequence[str]) -> Iterator[LogLine]:
    places: Counter[tuple[str, str]] = Counter()
    for row in rows:
        text, stream, group = row.get("@message"), row.get("@logStream", ""), group_of(row, groups)
        if text is None:
            continue
        places[group, stream] += 1
        at = as_datetime(row.get("@timestamp"))
        yield LogLine(
            node=instance_id(stream) or "",
            group=group,
            stream=stream,
            line=places[group, stream],
            text=text,
            shipped_at_ms=None if at is None else round(at.timestamp() * 1000),
        )
