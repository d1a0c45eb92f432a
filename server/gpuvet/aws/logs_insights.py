"""The part of the Logs Insights language that our queries use, run over a log store.

Pipes of `filter`, `fields`, `display`, `stats … by …`, `sort` and `limit`; filters compare
fields with =, !=, in and like, joined by and, or and not. Anything else is refused as malformed:
a query that was half understood would answer a question nobody asked.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from gpuvet.aws.insights_filter import (
    QUOTED,
    REGEX,
    MalformedQuery,
    Test,
    read_filter,
    unquoted,
)
from gpuvet.aws.log_store import HOUR_MS, LogStore, StoredGroup, StoredStream
from gpuvet.model.untyped import is_object

Row = Mapping[str, str]
# Ours: enough of a kernel line for the marker that coverage queries look for.
_KERNEL_MARKER = "kernel:"
DEFAULT_LIMIT = 10_000
MAX_LIMIT = 100_000


class QueryAnswer(NamedTuple):
    """Rows in order, as GetQueryResults writes them, and what was read for them."""

    rows: tuple[tuple[tuple[str, str], ...], ...]
    matched: int
    scanned: int
    total_rows: int  # before the limit


class _Record(NamedTuple):
    """One event, or a count of lines without text that share an hour."""

    group: str
    stream: str
    at_ms: int
    lines: int
    message: str
    has_text: bool

    def value(self, name: str) -> str | None:
        match name:
            case "@logStream":
                return self.stream
            case "@log":
                return self.group
            case "@message":
                return self.message
            case "@timestamp":
                return stamp(self.at_ms)
            case _:
                return self._of_json(name)

    def _of_json(self, name: str) -> str | None:
        if not self.message.startswith("{"):
            return None
        try:
            document: object = json.loads(self.message)
        except (ValueError, RecursionError):
            return None
        found = document.get(name) if is_object(document) else None
        return None if found is None else str(found)


@lru_cache(maxsize=10_000)  # bins repeat
def stamp(at_ms: int) -> str:
    """Return a time as Insights prints it: UTC, without a zone."""
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at_ms % 1000:03d}"


def run_query(
    store: LogStore,
    groups: Sequence[str],
    query: str,
    *,
    start_s: int,
    end_s: int,
    account: str,
    limit: int | None = None,
) -> QueryAnswer:
    """Return what Insights would answer from the store.

    Args:
        store: The recorded groups.
        groups: Names or ARNs of groups that exist in the store.
        query: Logs Insights query language.
        start_s: Epoch seconds, included.
        end_s: Epoch seconds, included; an hour that begins at it is not.
        account: For the `@log` field.
        limit: StartQuery's own limit; the smaller of it and the query's counts.

    Raises:
        MalformedQuery: The query uses what is not served.
    """
    plan = _plan(query)
    found = [group for name in groups if (group := store.group(name)) is not None]
    records = [r for group in found for r in _records(group, account, start_s, end_s)]
    kept = [record for record in records if all(test(record) for test in plan.tests)]
    if plan.stats is None:
        kept = [record for record in kept if record.has_text]
        rows = [_fields_row(record, plan.fields) for record in kept]
    else:
        rows = _stats_rows(kept, plan.stats)
    for key, descending in reversed(plan.sorts):
        rows = _sorted_by(rows, key, descending=descending)
    cap = min(n for n in (plan.limit, limit, MAX_LIMIT) if n is not None)
    return QueryAnswer(
        rows=tuple(tuple(row.items()) for row in rows[:cap]),
        matched=sum(record.lines for record in kept),
        scanned=sum(record.lines for record in records),
        total_rows=len(rows),
    )


def _records(group: StoredGroup, account: str, start_s: int, end_s: int) -> Iterator[_Record]:
    label = f"{account}:{group.name}"
    for stream in group.streams.values():
        for _, event in stream.events_between(start_s * 1000, end_s * 1000 + 1):
            yield _Record(label, stream.name, event.at_ms, 1, event.message, has_text=True)
        yield from _counted_lines(stream, label, start_s * 1000, end_s * 1000)


def _counted_lines(
    stream: StoredStream, label: str, start_ms: int, end_ms: int
) -> Iterator[_Record]:
    """Yield the lines whose text the store lacks: events are counted inside their hour."""
    known: dict[int, list[bool]] = {}
    for event in stream.events:
        hour = event.at_ms - event.at_ms % HOUR_MS
        known.setdefault(hour, []).append(_KERNEL_MARKER in event.message)
    for hour, lines in stream.hours.items():
        if not start_ms <= hour < end_ms:
            continue
        told = known.get(hour, [])
        kernel = max(0, stream.kernel_hours.get(hour, 0) - sum(told))
        others = max(0, lines - len(told) - kernel)
        if kernel:
            yield _Record(label, stream.name, hour, kernel, _KERNEL_MARKER, has_text=False)
        if others:
            yield _Record(label, stream.name, hour, others, "", has_text=False)


def _sorted_by(rows: list[dict[str, str]], key: str, *, descending: bool) -> list[dict[str, str]]:
    return sorted(rows, key=lambda row: row.get(key, ""), reverse=descending)


def _fields_row(record: _Record, names: Sequence[str]) -> dict[str, str]:
    values = ((name, record.value(name)) for name in names)
    return {name: value for name, value in values if value is not None}


@dataclass
class _Stats:
    aggregates: list[tuple[str, str, str]]  # function, argument, name of the column
    by: list[tuple[str, str]]  # expression, name of the column


@dataclass
class _Plan:
    tests: list[Test] = field(default_factory=list[Test])
    fields: list[str] = field(default_factory=lambda: ["@timestamp", "@message"])
    stats: _Stats | None = None
    sorts: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    limit: int = DEFAULT_LIMIT


def _stats_rows(records: Sequence[_Record], stats: _Stats) -> list[dict[str, str]]:
    buckets: dict[tuple[str, ...], list[_Record]] = {}
    values = [_group_value(expression) for expression, _ in stats.by]
    for record in records:
        key = tuple(value(record) for value in values)
        buckets.setdefault(key, []).append(record)
    rows: list[dict[str, str]] = []
    for key, members in sorted(buckets.items()):
        row = dict(zip((name for _, name in stats.by), key, strict=True))
        for function, argument, name in stats.aggregates:
            row[name] = _aggregate(function, argument, members)
        rows.append(row)
    return rows


def _group_value(expression: str) -> Callable[[_Record], str]:
    """Return what a record is grouped under: a field, or the start of its bin."""
    period = _BIN.fullmatch(expression)
    if period is None:
        return lambda record: record.value(expression) or ""
    width = int(period[1]) * _BIN_MS[period[2]]
    return lambda record: stamp(record.at_ms - record.at_ms % width)


def _aggregate(function: str, argument: str, members: Sequence[_Record]) -> str:
    if function == "count":
        if argument == "*":
            return str(sum(m.lines for m in members))
        return str(sum(m.lines for m in members if m.value(argument) is not None))
    if function == "sum":
        name, wanted = _read_contains(argument)
        return str(sum(m.lines for m in members if wanted in (m.value(name) or "")))
    if argument != "@timestamp":
        msg = f"{function}({argument}) is not served; @timestamp is"
        raise MalformedQuery(msg)
    # Beside lines that are only counted, an event too is known by its hour (as the recorded
    # reference answers have it); a bucket of events alone has exact times.
    grain = 1 if all(m.has_text for m in members) else HOUR_MS
    times = [m.at_ms - m.at_ms % grain for m in members]
    return stamp(min(times) if function in {"min", "earliest"} else max(times))


def _read_contains(text: str) -> tuple[str, str]:
    """Return field and wanted text of `strcontains(field, "text")`."""
    found = re.fullmatch(_CONTAINS, text, re.IGNORECASE)
    if found is None:
        msg = f"sum({text}) is not served; sum(strcontains(field, text)) is"
        raise MalformedQuery(msg)
    return found[1], unquoted(found[2])


_BIN = re.compile(r"bin\(\s*(\d+)\s*([smhd])\s*\)")
_BIN_MS = {"s": 1000, "m": 60_000, "h": HOUR_MS, "d": 24 * HOUR_MS}
_CONTAINS = rf"strcontains\(\s*([@\w.]+)\s*,\s*({QUOTED})\s*\)"
_AGGREGATE = re.compile(
    rf"\s*(count|min|max|earliest|latest|sum(?=\(\s*strcontains))"
    rf"\(\s*(\*|[@\w.]+|{_CONTAINS})\s*\)(?:\s+as\s+([@\w]+))?\s*",
    re.IGNORECASE,
)
_BY = re.compile(r"\s*(bin\(\s*\d+\s*[smhd]\s*\)|[@\w.]+)(?:\s+as\s+([@\w]+))?\s*", re.IGNORECASE)
_SORT = re.compile(r"([@\w.]+|bin\([^)]*\))(?:\s+(asc|desc))?", re.IGNORECASE)


def _plan(query: str) -> _Plan:
    plan = _Plan()
    for command in _split(query, "|"):
        word, _, rest = command.strip().partition(" ")
        match word.lower():
            case "":
                continue
            case "filter":
                plan.tests.append(read_filter(rest))
            case "fields" | "display":
                plan.fields = [name.strip() for name in rest.split(",")]
            case "stats":
                plan.stats = _read_stats(rest)
            case "sort":
                plan.sorts = [_read_sort(part) for part in rest.split(",")]
            case "limit":
                plan.limit = _read_limit(rest)
            case _:
                msg = f"the command {word!r} is not served"
                raise MalformedQuery(msg)
    return plan


def _read_limit(text: str) -> int:
    if not text.strip().isdigit():
        msg = f"limit wants a number, not {text!r}"
        raise MalformedQuery(msg)
    return int(text)


def _read_sort(text: str) -> tuple[str, bool]:
    found = _SORT.fullmatch(text.strip())
    if found is None:
        msg = f"cannot sort by {text!r}"
        raise MalformedQuery(msg)
    return found[1], (found[2] or "asc").lower() == "desc"


def _read_stats(text: str) -> _Stats:
    parts = re.split(r"\s+by\s+", text, maxsplit=1, flags=re.IGNORECASE)
    aggregates: list[tuple[str, str, str]] = []
    for part in _split(parts[0], ","):
        found = _AGGREGATE.fullmatch(part)
        if found is None:
            msg = f"the statistic {part.strip()!r} is not served"
            raise MalformedQuery(msg)
        aggregates.append((found[1].lower(), found[2], found[5] or part.strip()))
    by: list[tuple[str, str]] = []
    for part in _split(parts[1], ",") if len(parts) > 1 else ():
        found = _BY.fullmatch(part)
        if found is None:
            msg = f"grouping by {part.strip()!r} is not served"
            raise MalformedQuery(msg)
        by.append((found[1], found[2] or found[1]))
    return _Stats(aggregates, by)


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator that stands outside quotes, slashes and brackets."""
    parts: list[str] = []
    start = 0
    for token in _TOKEN_OR_ANY.finditer(text):
        if token[0] == separator:
            parts.append(text[start : token.start()])
            start = token.end()
    return [*parts, text[start:]]


_TOKEN_OR_ANY = re.compile(
    rf"{QUOTED}|(?<=like )\s*{REGEX}|\((?:[^()\"'/]|{QUOTED})*\)|.", re.DOTALL
)
