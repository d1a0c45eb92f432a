"""Logs Insights of the simulated account: which streams a query reads, what it finds and scans.

The language itself is `run_query`'s. Before it runs, streams the query's own filter leaves out
are left out, and hours it cannot see are not made: a fleet's lines are never all in memory.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from simulated.fleet import ACCOUNT, HOUR, Group, Stream
from simulated.limits import BYTES_A_LINE, ROWS_A_QUERY

from gpuvet.aws.log_store import LogStore, StoredEvent, StoredGroup, StoredStream
from gpuvet.aws.logs_insights import run_query
from gpuvet.model.coverage import LogClass, Shipper

_NAMES = re.compile(r"@logStream in \[([^\]]*)\]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LIKE = re.compile(r"@logStream (not )?like /((?:[^/\\]|\\.)+)/")


@dataclass(slots=True)
class Query:
    """A query that was started, and how it ends."""

    id: str
    ends_at: float
    infrequent: bool
    rows: list[list[dict[str, str]]]
    statistics: dict[str, float]
    text: str
    groups: tuple[str, ...]
    state: str = "Complete"
    is_stopped: bool = False


def chosen(text: str, groups: Sequence[Group]) -> list[Stream]:
    """Return the streams a query's filter lets through by their names."""
    names = _NAMES.search(text)
    if names is not None:
        wanted = [_unescaped(one) for one in _QUOTED.findall(names[1])]
        return [g.streams[name] for g in groups for name in wanted if name in g.streams]
    streams = [stream for group in groups for stream in group.streams.values()]
    for negated, pattern in _LIKE.findall(text):
        like = re.compile(pattern.replace(r"\/", "/"))
        streams = [s for s in streams if (like.search(s.name) is None) == bool(negated)]
    return streams


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def answer(
    text: str, groups: Sequence[Group], start: int, end: int, now: float, limit: int | None
) -> tuple[list[list[dict[str, str]]], dict[str, float]]:
    """Return rows and statistics of a query over epoch seconds, both included."""
    streams = chosen(text, groups)
    has_hours = "stats" in text
    by_bin = "bin(" in text
    store = _store(groups, streams, start, end, now, has_hours=has_hours, by_bin=by_bin)
    names = [group.name for group in groups]
    found = run_query(
        store, names, text, start_s=start, end_s=end, account=ACCOUNT, limit=limit or ROWS_A_QUERY
    )
    is_indexed = _NAMES.search(text) is not None
    scanned = sum(
        lines_between(stream, start, end, now)
        for group in groups
        for stream in (
            [s for s in streams if s.group == group.name]
            if is_indexed and group.log_class == "STANDARD"
            else group.streams.values()
        )
    )
    rows = [[{"field": name, "value": value} for name, value in row] for row in found.rows]
    return rows, {
        "recordsMatched": float(found.matched),
        "recordsScanned": float(scanned),
        "bytesScanned": float(scanned * BYTES_A_LINE),
        "resultCount": float(found.total_rows),
    }


def lines_between(stream: Stream, start: float, end: float, now: float) -> int:
    """Return how many lines of a stream lie in a span, by its rule."""
    last = min(end, now if stream.died is None else stream.died)
    first = max(start, stream.born)
    hours = max(0.0, (last - first) / HOUR)
    dark = sum(1 for hour in stream.dark if first - HOUR < hour < last)
    told = sum(1 for event in stream.events if start <= event.at <= end)
    return round(max(0.0, hours - dark) * stream.lines_an_hour) + told


def _store(
    groups: Iterable[Group],
    streams: Iterable[Stream],
    start: int,
    end: int,
    now: float,
    *,
    has_hours: bool,
    by_bin: bool,
) -> LogStore:
    by_group: dict[str, dict[str, StoredStream]] = {group.name: {} for group in groups}
    for stream in streams:
        kept = _stored(stream, start, end, now, has_hours=has_hours, by_bin=by_bin)
        by_group[stream.group][stream.name] = kept
    return LogStore(
        {
            name: StoredGroup(name, None, LogClass.STANDARD, None, None, MappingProxyType(held))
            for name, held in by_group.items()
        }
    )


def _stored(
    stream: Stream, start: int, end: int, now: float, *, has_hours: bool, by_bin: bool
) -> StoredStream:
    hours: dict[int, int] = {}
    kernel: dict[int, int] = {}
    if has_hours:
        for hour in range(start - start % HOUR, end, HOUR):
            lines, of_the_kernel = stream.lines_of(hour, now)
            if lines and hour >= start:
                key = (hour if by_bin else start - start % -HOUR) * 1000
                hours[key] = hours.get(key, 0) + lines
                kernel[key] = kernel.get(key, 0) + of_the_kernel
    events = tuple(
        StoredEvent(round(one.at * 1000), one.text) for one in sorted(stream.events, key=_at)
    )
    return StoredStream(
        stream.name,
        round(stream.born * 1000),
        Shipper.UNKNOWN,
        MappingProxyType(hours),
        MappingProxyType({hour: n for hour, n in kernel.items() if n}),
        events,
    )


def _at(event: Any) -> float:  # noqa: ANN401 (an event, as a sort key)
    return float(event.at)


def group_row(group: Group, stored: Mapping[str, int], *, by_pattern: bool) -> dict[str, Any]:
    """Return a group as DescribeLogGroups shows it; by pattern it shows less."""
    arn = f"arn:aws:logs:us-west-2:{ACCOUNT}:log-group:{group.name}"
    row: dict[str, Any] = {
        "logGroupName": group.name,
        "arn": f"{arn}:*",
        "logGroupArn": arn,
        "creationTime": round(group.created * 1000),
    }
    if by_pattern:
        return row
    kept = {} if group.retention_days is None else {"retentionInDays": group.retention_days}
    return row | kept | {"storedBytes": stored[group.name], "logGroupClass": group.log_class}
