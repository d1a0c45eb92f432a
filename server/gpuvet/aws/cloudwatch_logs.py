"""The log door over CloudWatch Logs: discovery by substring, counts and lines by Logs Insights.

It speaks to AWS through the AWS door only, so the live and the recorded side share it. A group
that was denied, or a query that did not end, is a status on its streams, never an absence.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from gpuvet.aws.door import AwsDoor, LineSearch, LogLine, LogStream, NodeName
from gpuvet.aws.log_queries import (
    CANDIDATES,
    MOST_LINES,
    MOST_ROWS,
    bins_query,
    find_query,
    kernel_query,
    lines_query,
    query_parts,
)
from gpuvet.aws.log_store import from_milliseconds, group_name
from gpuvet.aws.stream_names import owned_streams
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.coverage import HourCount, LogClass, StreamCounts
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.untyped import objects_at, text_at, whole_at
from gpuvet.parse.shipper import shipper_of_name
from gpuvet.parse.wrappers import instance_id

T = TypeVar("T")

# coverage.md: the cluster's own names first, then these.
SUBSTRINGS = ("kernel", "messages", "syslog", "system", "dmesg", "journal", "gpu")
# Ours: how far back kernel lines are looked for where the group's age is not known.
_LIFETIME = timedelta(days=30)
_HOUR = timedelta(hours=1)


class _Group(NamedTuple):
    name: str
    created: datetime | None
    retention_days: int | None
    log_class: LogClass


class _Outcome(NamedTuple):
    """How far a reading got."""

    status: Status
    reason: Reason | None = None


_READ = _Outcome(Status.OK)


class _Rows(NamedTuple):
    """What one query came to."""

    rows: tuple[Mapping[str, str], ...]
    status: Status
    reason: Reason | None = None
    evidence: str | None = None


class CloudWatchLogs:
    """See `LogDoor`."""

    def __init__(
        self,
        door: AwsDoor,
        *,
        clusters: Sequence[str] = (),
        account: str | None = None,
        now: datetime | None = None,
    ) -> None:
        """Look through a door.

        Args:
            door: The AWS door; its GetQueryResults answers once a query has ended.
            clusters: Names of the cluster: HyperPod, EKS, ParallelCluster.
            account: For evidence ids.
            now: When it is asked; the end of kernel look-ups.
        """
        self._door = door
        self._clusters = tuple(clusters)
        self._account = account
        self._now = now
        self._groups: dict[str, _Group] = {}

    def streams(self, nodes: Sequence[NodeName]) -> Envelope[tuple[LogStream, ...]]:
        """Return the streams whose names carry a name of these nodes; see `LogDoor.streams`."""
        notes: list[str] = []
        troubles: list[Envelope[Any]] = []
        names = self._group_names(nodes, notes, troubles)
        found: list[LogStream] = []
        for name in names:
            answer = self._door.read("logs:DescribeLogStreams", {"logGroupName": name})
            if not answer.status.is_complete:
                troubles.append(answer)
                notes.append(f"streams of {name}: {_why(answer)}")
            for page in answer.value or ():
                for row in objects_at(page, "logStreams"):
                    found.extend(owned_streams(name, text_at(row, "logStreamName") or "", nodes))
        asked = {"groups": names, "nodes": sorted(node.node for node in nodes)}
        outcome = _worst(troubles, has_value=bool(found))
        return self._envelope("streams", asked, tuple(found), outcome, notes=notes)

    def group_streams(self, prefix: str) -> Envelope[tuple[LogStream, ...]]:
        """Return every stream of the groups under a prefix; see `LogDoor.group_streams`."""
        troubles: list[Envelope[Any]] = []
        found: list[LogStream] = []
        answer = self._door.read("logs:DescribeLogGroups", {"logGroupNamePrefix": prefix})
        names = [
            text_at(row, "logGroupName") or ""
            for page in answer.value or ()
            for row in objects_at(page, "logGroups")
        ]
        troubles += [] if answer.status.is_complete else [answer]
        for name in filter(self._is_of_the_cluster, names):
            answer = self._door.read("logs:DescribeLogStreams", {"logGroupName": name})
            troubles += [] if answer.status.is_complete else [answer]
            found.extend(
                LogStream(node="", group=name, stream=text_at(row, "logStreamName") or "")
                for page in answer.value or ()
                for row in objects_at(page, "logStreams")
            )
        outcome = _worst(troubles, has_value=bool(found))
        return self._envelope("group_streams", {"prefix": prefix}, tuple(found), outcome)

    def _is_of_the_cluster(self, group: str) -> bool:
        return not self._clusters or any(name in group for name in self._clusters)

    def hourly_counts(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[StreamCounts, ...]]:
        """Return lines per hour and whether a stream ever carried kernel lines."""
        start = window.start.replace(minute=0, second=0, microsecond=0)
        end = window.end.replace(minute=0, second=0, microsecond=0)
        span = Window(start=start, end=end if end == window.end else end + _HOUR)
        counts: list[StreamCounts] = []
        for name, members in _by_group(streams).items():
            group = self._group(name)
            for part in query_parts(members):
                counts.extend(self._counted(group, part, span))
        asked = {"streams": _names(streams)}
        outcome = _worst_of([_Outcome(one.bins_status, one.bins_reason) for one in counts])
        return self._envelope("hourly_counts", asked, tuple(counts), outcome, window=span)

    def gpu_lines(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines that may matter, in the order of each stream."""
        return self._matching("gpu_lines", streams, window, CANDIDATES)

    def lines_like(
        self, streams: Sequence[LogStream], window: Window, pattern: str
    ) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines that match a pattern; see `LogDoor.lines_like`."""
        return self._matching("lines_like", streams, window, pattern)

    def _matching(
        self, operation: str, streams: Sequence[LogStream], window: Window, pattern: str
    ) -> Envelope[tuple[LogLine, ...]]:
        lines: list[LogLine] = []
        outcomes: list[_Rows] = []
        for name, members in _by_group(streams).items():
            for part in query_parts(members):
                rows = self._query(name, lines_query(part, pattern), window, MOST_LINES)
                outcomes.append(rows)
                lines.extend(_lines(name, part, rows.rows))
        asked = {"streams": _names(streams), "pattern": pattern}
        outcome = _worst_of([_Outcome(one.status, one.reason) for one in outcomes])
        return self._envelope(operation, asked, tuple(lines), outcome, window=window)

    def find(self, search: LineSearch) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines a search asks for; see `LogDoor.find`."""
        lines: list[LogLine] = []
        outcomes: list[_Outcome] = []
        for name in self._named_like(search.groups, outcomes):
            rows = self._query(
                name, find_query(search.pattern, search.streams), search.window, MOST_LINES
            )
            outcomes.append(_Outcome(rows.status, rows.reason))
            lines.extend(_found_lines(name, rows.rows))
        asked = search.model_dump(mode="json", exclude={"window"})
        outcome = _worst_of(outcomes)
        return self._envelope("find", asked, tuple(lines), outcome, window=search.window)

    def _named_like(self, prefixes: Sequence[str], outcomes: list[_Outcome]) -> list[str]:
        """Return the groups under these prefixes; a listing that failed is an outcome too."""
        names: dict[str, None] = {}
        for prefix in prefixes:
            answer = self._door.read("logs:DescribeLogGroups", {"logGroupNamePrefix": prefix})
            if not answer.status.is_complete:
                outcomes.append(_Outcome(answer.status, answer.reason))
            for page in answer.value or ():
                for row in objects_at(page, "logGroups"):
                    name = group_name(text_at(row, "logGroupName") or "")
                    if name.startswith(prefix):
                        names[name] = None
        return sorted(names)

    def _group_names(
        self, nodes: Sequence[NodeName], notes: list[str], troubles: list[Envelope[Any]]
    ) -> list[str]:
        names = dict.fromkeys(group for node in nodes for group in node.groups)
        for pattern in (*self._clusters, *SUBSTRINGS):
            answer = self._door.read("logs:DescribeLogGroups", {"logGroupNamePattern": pattern})
            if not answer.status.is_complete:
                troubles.append(answer)
                notes.append(f"groups named like {pattern!r}: {_why(answer)}")
            for page in answer.value or ():
                for row in objects_at(page, "logGroups"):
                    names[group_name(text_at(row, "logGroupName") or "")] = None
        return sorted(name for name in names if name)

    def _group(self, name: str) -> _Group:
        """Return class, retention and age of a group; an answer by pattern has none of them."""
        if name not in self._groups:
            answer = self._door.read("logs:DescribeLogGroups", {"logGroupNamePrefix": name})
            pages = answer.value or ()
            rows = [row for page in pages for row in objects_at(page, "logGroups")]
            none: Mapping[str, Any] = {}
            exact = next((row for row in rows if row.get("logGroupName") == name), none)
            created = whole_at(exact, "creationTime")
            kind = exact.get("logGroupClass")
            self._groups[name] = _Group(
                name=name,
                created=None if created is None else from_milliseconds(created),
                retention_days=whole_at(exact, "retentionInDays"),
                log_class=LogClass(kind) if kind in set(LogClass) else LogClass.STANDARD,
            )
        return self._groups[name]

    def _counted(
        self, group: _Group, streams: Sequence[LogStream], span: Window
    ) -> Iterator[StreamCounts]:
        bins = self._query(group.name, bins_query(streams), span, MOST_ROWS)
        until = self._now or span.end
        since = group.created or min(span.start, until - _LIFETIME)
        life = Window(start=since, end=max(until, since + _HOUR))
        kernel = self._query(group.name, kernel_query(streams), life, MOST_LINES)
        for stream in streams:
            yield StreamCounts(
                node=stream.node,
                group=group.name,
                stream=stream.stream,
                shipper=shipper_of_name(stream.stream, group.name),
                log_class=group.log_class,
                retention_days=group.retention_days,
                group_created=group.created,
                bins=_bins(bins.rows, stream.stream),
                bins_status=bins.status,
                bins_reason=bins.reason,
                kernel_lines_ever=_kernel_lines(kernel, stream.stream),
                kernel_status=kernel.status,
                kernel_reason=kernel.reason,
                shared_with=stream.shared_with,
                evidence=bins.evidence,
            )

    def _query(self, group: str, query: str, window: Window, most: int) -> _Rows:
        params = {
            "logGroupNames": [group],
            "queryString": query,
            "startTime": int(window.start.timestamp()),
            "endTime": int(window.end.timestamp()),
            "limit": most,
        }
        started = self._door.read("logs:StartQuery", params)
        query_id = next((text_at(page, "queryId") for page in started.value or ()), None)
        if query_id is None:
            return _Rows((), _unless_complete(started), started.reason, started.evidence)
        ended = self._door.read("logs:GetQueryResults", {"queryId": query_id})
        if not ended.status.is_complete and not ended.value:
            return _Rows((), ended.status, ended.reason, started.evidence)
        pages = ended.value or ()
        rows = tuple(_row(cells) for page in pages for cells in page.get("results", ()))
        if any(page.get("status") != "Complete" for page in pages):
            return _Rows(rows, Status.UNVERIFIED, Reason.TIMED_OUT, started.evidence)
        is_capped = len(rows) >= most or not ended.status.is_complete
        status, reason = (
            (Status.PARTIAL, ended.reason or Reason.ROW_CAP) if is_capped else (Status.OK, None)
        )
        return _Rows(rows, status, reason, started.evidence)

    def _envelope(
        self,
        operation: str,
        asked: Mapping[str, Any],
        value: T,
        outcome: _Outcome,
        *,
        notes: Sequence[str] = (),
        window: Window | None = None,
    ) -> Envelope[T]:
        return Envelope(
            service="logs",
            operation=operation,
            account=self._account,
            params=json.dumps(asked, sort_keys=True, separators=(",", ":")),
            window=window,
            called_at=self._now,
            status=Status.OK_EMPTY if outcome == _READ and not value else outcome.status,
            reason=outcome.reason,
            value=value,
            notes=tuple(notes),
        )


def _by_group(streams: Sequence[LogStream]) -> dict[str, list[LogStream]]:
    groups: dict[str, list[LogStream]] = {}
    for stream in streams:
        if stream.group is not None:
            groups.setdefault(stream.group, []).append(stream)
    return groups


def _row(cells: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    return {cell["field"]: cell["value"] for cell in cells if "field" in cell and "value" in cell}


def _bins(rows: Sequence[Mapping[str, str]], stream: str) -> tuple[HourCount, ...]:
    counts = (
        (as_datetime(row.get("hour")), int(row.get("lines", "0")))
        for row in rows
        if row.get("@logStream") == stream
    )
    return tuple(HourCount(hour=hour, lines=n) for hour, n in counts if hour is not None and n)


def _kernel_lines(kernel: _Rows, stream: str) -> int | None:
    mine = [row for row in kernel.rows if row.get("@logStream") == stream]
    if not mine:
        return 0 if kernel.status.is_complete else None
    return sum(int(row.get("kernelLines", "0")) for row in mine)


def _lines(
    group: str, streams: Sequence[LogStream], rows: Sequence[Mapping[str, str]]
) -> Iterator[LogLine]:
    for stream in streams:
        mine = (row for row in rows if row.get("@logStream") == stream.stream)
        for place, row in enumerate(mine, start=1):
            at = as_datetime(row.get("@timestamp"))
            yield LogLine(
                node=stream.node,
                group=group,
                stream=stream.stream,
                line=place,
                text=row.get("@message", ""),
                shipped_at_ms=None if at is None else round(at.timestamp() * 1000),
            )


def _found_lines(group: str, rows: Sequence[Mapping[str, str]]) -> Iterator[LogLine]:
    """Yield rows as lines, each with its place among the rows of its stream."""
    places: dict[str, int] = {}
    for row in rows:
        stream = row.get("@logStream", "")
        places[stream] = places.get(stream, 0) + 1
        at = as_datetime(row.get("@timestamp"))
        yield LogLine(
            node=instance_id(stream) or "",
            group=group,
            stream=stream,
            line=places[stream],
            text=row.get("@message", ""),
            shipped_at_ms=None if at is None else round(at.timestamp() * 1000),
        )


def _names(streams: Sequence[LogStream]) -> list[str]:
    return sorted(f"{one.group or ''}|{one.stream}" for one in streams)


def _why(answer: Envelope[Any]) -> str:
    word = answer.reason or answer.status
    return f"{word} ({answer.error_code})" if answer.error_code else str(word)


def _unless_complete(answer: Envelope[Any]) -> Status:
    return Status.UNVERIFIED if answer.status.is_complete else answer.status


def _worst(troubles: Sequence[Envelope[Any]], *, has_value: bool) -> _Outcome:
    if not troubles:
        return _READ
    first = troubles[0]
    return _Outcome(Status.PARTIAL if has_value else first.status, first.reason)


def _worst_of(outcomes: Sequence[_Outcome]) -> _Outcome:
    failed = [outcome for outcome in outcomes if not outcome.status.is_complete]
    if not failed:
        return _READ
    status = failed[0].status if len(failed) == len(outcomes) else Status.PARTIAL
    return _Outcome(status, failed[0].reason)
