"""Reads the logs of a question through the log door, once, for every calculator."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from gpuvet.aws.door import LineGap, LogLine, LogStream
from gpuvet.calculators.coverage import CoverageRules
from gpuvet.calculators.recurrence import RECURRENCE_DAYS
from gpuvet.case import Case, node_names
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import NotSeen
from gpuvet.model.coverage import StreamCounts
from gpuvet.model.events import AnyRecord
from gpuvet.model.evidence import Envelope, Reason, Window
from gpuvet.modes.window import Resolved
from gpuvet.parse.kernel_log import LineCounts, RawLine, parse_lines

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Logs:
    """What came through the log door, by node."""

    streams: Mapping[str, tuple[LogStream, ...]]
    counts: Mapping[str, tuple[StreamCounts, ...]]
    records: Mapping[str, tuple[AnyRecord, ...]]
    line_gaps: Mapping[str, tuple[LineGap, ...]]  # where not every candidate line could be read
    garbled: frozenset[str]  # nodes with a report that was begun and cannot be read
    lines: LineCounts
    not_seen: tuple[NotSeen, ...]
    streams_unread: str | None = None  # why not every stream of the nodes was found


def read_logs(case: Case, nodes: Sequence[CaseNode], asked: Resolved) -> Logs:
    """Return streams, counts and records of these nodes, and what of them was not read.

    An account is asked about the window first, and about the month before it last.
    """
    rules = rules_of(case)
    padded = asked.window.padded(rules.pad, rules.pad)
    before = Window(start=padded.start - timedelta(days=RECURRENCE_DAYS), end=padded.start)
    found = case.logs.streams(node_names(nodes), padded, lines=(padded, before))
    not_seen = list(unread(found, "log streams of the nodes", "list the log streams"))
    streams = found.value or ()
    is_searched = case.meta.form.searches_by_itself
    span = padded if is_searched else Window(start=before.start, end=padded.end)
    lines = case.logs.gpu_lines(streams, span)
    not_seen += unread(lines, "driver and agent lines of the streams", "read the lines again")
    gaps = _by_node(case.logs.unread_lines(streams, span))
    counted = case.logs.hourly_counts(streams, padded)
    not_seen += unread(counted, "lines per hour of the streams", "count lines per hour again")
    older: tuple[LogLine, ...] = ()
    if is_searched:
        older, missing = _history(case, streams, before)
        not_seen += missing
    records, line_counts, garbled = _parse(_in_order(older, lines.value or ()), asked.now)
    counts: dict[str, list[StreamCounts]] = defaultdict(list)
    for one in counted.value or ():
        counts[one.node].append(one if is_searched else _with_status(one, counted))
    by_node: dict[str, list[LogStream]] = defaultdict(list)
    for stream in streams:
        by_node[stream.node].append(stream)
    return Logs(
        streams={n: tuple(s) for n, s in by_node.items()},
        counts={n: tuple(c) for n, c in counts.items()},
        records=records,
        line_gaps=gaps,
        garbled=garbled,
        lines=line_counts,
        not_seen=tuple(not_seen),
        streams_unread=None if found.status.is_complete else found.reason or "refused",
    )


def _by_node(gaps: Iterable[LineGap]) -> dict[str, tuple[LineGap, ...]]:
    found: dict[str, list[LineGap]] = defaultdict(list)
    for gap in gaps:
        found[gap.node].append(gap)
    return {node: tuple(own) for node, own in found.items()}


def _history(
    case: Case, streams: Sequence[LogStream], before: Window
) -> tuple[tuple[LogLine, ...], Sequence[NotSeen]]:
    """Return the lines of the month before: a fault that comes back weighs more."""
    lines = case.logs.gpu_lines(streams, before)
    span = f"driver lines of the {RECURRENCE_DAYS} days before"
    what = f"{span}: faults that still stand, or came back"
    nodes = {gap.node for gap in case.logs.unread_lines(streams, before)}
    missing = [
        one.model_copy(update={"nodes": tuple(sorted(nodes))})
        for one in unread(lines, what, "read them again")
    ]
    return lines.value or (), missing


def _in_order(older: Sequence[LogLine], lines: Sequence[LogLine]) -> Sequence[LogLine]:
    """Return lines of two readings with the places they have in both together."""
    if not older:
        return lines
    places: dict[tuple[str, str | None, str], int] = defaultdict(int)
    joined: list[LogLine] = []
    for line in (*older, *lines):
        key = (line.node, line.group, line.stream)
        places[key] += 1
        joined.append(line.model_copy(update={"line": places[key]}))
    return joined


def _with_status(
    counts: StreamCounts, envelope: Envelope[tuple[StreamCounts, ...]]
) -> StreamCounts:
    """Let an incomplete reading make its missing hours unknown instead of empty."""
    if envelope.status.is_complete or not counts.bins_status.is_complete:
        return counts
    return counts.model_copy(
        update={"bins_status": envelope.status, "bins_reason": envelope.reason}
    )


def _parse(
    lines: Iterable[LogLine], now: datetime
) -> tuple[dict[str, tuple[AnyRecord, ...]], LineCounts, frozenset[str]]:
    """Return records by node, what became of the lines, and nodes with an unreadable Xid report."""
    by_stream: dict[tuple[str, str | None, str], list[RawLine]] = defaultdict(list)
    for line in lines:
        shipped = (
            datetime.fromtimestamp(line.shipped_at_ms / 1000, tz=UTC)
            if line.shipped_at_ms is not None
            else None
        )
        by_stream[(line.node, line.group, line.stream)].append(
            RawLine(text=line.text, line=line.line, shipped_at=shipped)
        )
    records: dict[str, list[AnyRecord]] = defaultdict(list)
    totals = LineCounts()
    garbled: set[str] = set()
    for (node, group, stream), raw in by_stream.items():
        parsed = parse_lines(raw, node=node, stream=stream, group=group, reference_time=now)
        for record in parsed.records:
            records[record.node].append(record)
        totals = _added(totals, parsed.counts)
        if parsed.garbled:
            garbled.add(node)
    return {node: tuple(found) for node, found in records.items()}, totals, frozenset(garbled)


def _added(one: LineCounts, other: LineCounts) -> LineCounts:
    return LineCounts(
        lines=one.lines + other.lines,
        understood=one.understood + other.understood,
        benign=one.benign + other.benign,
        unrelated=one.unrelated + other.unrelated,
        not_understood=one.not_understood + other.not_understood,
    )


def unread(envelope: Envelope[T], what: str, closes: str) -> Iterator[NotSeen]:
    """Yield the absence that an incomplete reading is."""
    if envelope.status.is_complete:
        return
    yield NotSeen(
        what=what,
        reason=envelope.reason or (Reason.REFUSED if envelope.error_code else Reason.NOT_RECORDED),
        closes_with=f"{closes} ({envelope.service}:{envelope.operation})",
    )


def rules_of(case: Case) -> CoverageRules:
    """Return the allowances of the coverage proof for a case.

    A recorded count that ends at the case's own clock has no delivery lag to wait for, and a
    window whose pad is inside it already is not widened again.
    """
    rules = CoverageRules()
    pad = timedelta(0) if case.meta.window_padded else rules.pad
    lag = timedelta(0) if case.meta.window_padded else rules.lag
    return CoverageRules(pad=pad, lag=lag)
