"""The log door over CloudWatch Logs: discovery by substring, counts and lines by Logs Insights.

It speaks to AWS through the AWS door only, so the live and the recorded side share it. A group
that was denied, or a query that did not end, is a status on its streams and hours, never an
absence.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from gpuvet.aws.door import AwsDoor, LineGap, LineSearch, LogLine, LogStream, NodeName
from gpuvet.aws.log_asks import HOUR, Asked, LogAsks, Query, hours_around, whole_groups
from gpuvet.aws.log_queries import (
    CANDIDATES,
    bins_query,
    hours_query,
    kernel_query,
    lines_query,
    packed,
)
from gpuvet.aws.log_streams import LogStreams
from gpuvet.aws.node_groups import GroupFacts, LogGroups
from gpuvet.aws.query_runs import Ask, Found, QueryRuns, Row, Unread, group_of
from gpuvet.aws.stream_counts import Counted, stream_counts, without_kernel
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.coverage import HourCount, LogClass, StreamCounts
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.parse.wrappers import instance_id

T = TypeVar("T")


class _Outcome(NamedTuple):
    """How far a reading got."""

    status: Status
    reason: Reason | None = None


_READ = _Outcome(Status.OK)


class CloudWatchLogs:
    """See `LogDoor`."""

    def __init__(
        self,
        door: AwsDoor,
        *,
        clusters: Sequence[str] = (),
        account: str | None = None,
        now: datetime | None = None,
        runs: QueryRuns | None = None,
    ) -> None:
        """Look through a door.

        Args:
            door: The AWS door; its GetQueryResults answers once a query has ended.
            clusters: Names of the cluster: HyperPod, EKS, ParallelCluster.
            account: For evidence ids.
            now: When it is asked; the end of kernel look-ups.
            runs: The queries of the question, where others ask some too.
        """
        self._account = account
        self._now = now
        self._groups = LogGroups(door, clusters)
        self._runs = runs or QueryRuns(door)
        self._asks = LogAsks(self._groups)
        self._streams = LogStreams(door, self._groups, self._asks, self._runs, now=now)

    def streams(
        self,
        nodes: Sequence[NodeName],
        window: Window | None = None,
        *,
        lines: Sequence[Window] = (),
    ) -> Envelope[tuple[LogStream, ...]]:
        """Return the streams whose names carry a name of these nodes; see `LogDoor.streams`."""
        found = self._streams.of(nodes, window, lines)
        groups = found.groups
        asked = {"groups": [*groups.own, *groups.foreign], "nodes": sorted(n.node for n in nodes)}
        outcome = _worst(found.troubles, found.missed, has_value=bool(found.streams))
        if groups.left_out and outcome == _READ:
            outcome = _Outcome(Status.PARTIAL, Reason.BUDGET)
        return self._envelope("streams", asked, found.streams, outcome, notes=found.notes)

    def group_streams(self, prefix: str) -> Envelope[tuple[LogStream, ...]]:
        """Return every stream of the groups under a prefix; see `LogDoor.group_streams`."""
        streams, troubles, missed = self._streams.under(prefix)
        outcome = _worst(troubles, missed, has_value=bool(streams))
        return self._envelope("group_streams", {"prefix": prefix}, tuple(streams), outcome)

    def hourly_counts(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[StreamCounts, ...]]:
        """Return lines per hour and whether a stream ever carried kernel lines."""
        span = hours_around(window)
        facts = self._groups.facts(one.group for one in streams if one.group is not None)
        counted = Counted(span)
        for asked, found in self._answers(streams, span, bins_query, "hour"):
            counted.add(asked, found)
        ever = self._kernel_ever(without_kernel(streams, counted), facts)
        counts = tuple(
            stream_counts(one, facts[one.group], counted, ever)
            for one in streams
            if one.group is not None
        )
        outcome = _worst_of([_Outcome(one.bins_status, one.bins_reason) for one in counts])
        asked_of = {"streams": _names(streams)}
        return self._envelope("hourly_counts", asked_of, counts, outcome, window=span)

    def _kernel_ever(
        self, streams: Sequence[LogStream], facts: Mapping[str, GroupFacts]
    ) -> Counted | None:
        """Search streams without kernel lines in the window further back, by their names."""
        names = [
            (one.group, one.stream)
            for one in streams
            if one.group is not None and facts[one.group].log_class is not LogClass.DELIVERY
        ]
        if not names:
            return None
        until = self._now or self._streams.looked_at().end
        since = min(facts[group].life(until) for group, _ in names)
        life = Window(start=since, end=max(until, since + HOUR))
        asked = [
            Asked(Ask(part.groups, kernel_query(part), life), part.streams)
            for part in packed(names, kernel_query)
        ]
        counted = Counted(life)
        for one, found in zip(asked, self._runs.found([one.ask for one in asked]), strict=True):
            counted.add(one, found)
        return counted

    def group_hours(self, prefix: str, window: Window) -> Envelope[tuple[HourCount, ...]]:
        """Return lines per hour of all groups under a prefix; see `LogDoor.group_hours`."""
        names, listing = self._groups.under(prefix)
        asks = self._hours_asks(names, window)
        answers = self._runs.found(asks)
        lines: dict[datetime, int] = {}
        for row in (row for one in answers for row in one.rows):
            hour = as_datetime(row.get("hour"))
            if hour is not None:
                lines[hour] = lines.get(hour, 0) + int(row.get("lines", "0"))
        counts = tuple(HourCount(hour=hour, lines=n) for hour, n in sorted(lines.items()) if n)
        troubles = [] if listing.status.is_complete else [listing]
        missed = [one for found in answers for one in found.unread]
        outcome = _worst(troubles, missed, has_value=bool(counts))
        asked = {"prefix": prefix}
        return self._envelope("group_hours", asked, counts, outcome, window=window)

    def _hours_asks(self, groups: Sequence[str], window: Window) -> list[Ask]:
        own = [name for name in groups if self._groups.is_of_the_cluster(name)]
        return [
            Ask(part.groups, hours_query(part), hours_around(window), "hour")
            for part in whole_groups(own)
        ]

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

    def unread_lines(self, streams: Sequence[LogStream], window: Window) -> tuple[LineGap, ...]:
        """Return where `gpu_lines` did not read all; see `LogDoor.unread_lines`."""
        return tuple(
            LineGap(
                node=one.node,
                group=one.group,
                stream=one.stream,
                window=missed.window,
                reason=missed.reason,
            )
            for asked, found in self._answers(streams, window, lines_query, "@timestamp")
            for missed in found.unread
            for one in streams
            if one.group in missed.groups and (not asked.streams or one.stream in asked.streams)
        )

    def _matching(
        self, operation: str, streams: Sequence[LogStream], window: Window, pattern: str
    ) -> Envelope[tuple[LogLine, ...]]:
        lines: list[LogLine] = []
        outcomes: list[_Outcome] = []
        owners = self._owners_of(streams)
        for asked, found in self._answers(streams, window, _like(pattern), "@timestamp"):
            outcomes += _outcomes(found)
            lines.extend(_lines(found.rows, asked.ask.groups, owners))
        asked_of = {"streams": _names(streams), "pattern": pattern}
        outcome = _worst_of(outcomes)
        return self._envelope(operation, asked_of, tuple(lines), outcome, window=window)

    def _owners_of(self, streams: Sequence[LogStream]) -> Callable[[str, str], Sequence[str]]:
        """Return whose a stream is: as asked for, and in a whole group also by its name."""
        known: dict[tuple[str, str], list[str]] = {}
        for one in streams:
            known.setdefault((one.group or "", one.stream), []).append(one.node)
        asked = {one.node for one in streams}

        def owners(group: str, stream: str) -> Sequence[str]:
            found = known.get((group, stream))
            if found is None and group in self._asks.whole:
                found = [node for node in self._streams.owners.of(stream) if node in asked]
                known[group, stream] = found
            return found or ()

        return owners

    def find(self, search: LineSearch) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines a search asks for; see `LogDoor.find`."""
        asks, outcomes = self._find_asks(search)
        lines: list[LogLine] = []
        for ask, found in zip(asks, self._runs.found(asks), strict=True):
            outcomes += _outcomes(found)
            lines.extend(_lines(found.rows, ask.groups, lambda _, name: [instance_id(name) or ""]))
        asked = search.model_dump(mode="json", exclude={"window"})
        outcome = _worst_of(outcomes)
        return self._envelope("find", asked, tuple(lines), outcome, window=search.window)

    def _find_asks(self, search: LineSearch) -> tuple[list[Ask], list[_Outcome]]:
        names: dict[str, None] = {}
        outcomes: list[_Outcome] = []
        for prefix in search.groups:
            under, listing = self._groups.under(prefix)
            names |= dict.fromkeys(under)
            if not listing.status.is_complete:
                outcomes.append(_Outcome(listing.status, listing.reason))
        asks = [
            Ask(part.groups, lines_query(part, search.pattern), search.window, "@timestamp")
            for part in whole_groups(sorted(names), search.streams)
        ]
        return asks, outcomes

    def begin(
        self,
        *,
        searches: Sequence[LineSearch] = (),
        like: Sequence[tuple[Sequence[LogStream], Window, str]] = (),
        hours: Sequence[tuple[str, Window]] = (),
        others: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:
        """Start what will be asked for soon; see `LogDoor.begin`."""
        self._runs.meanwhile(others)
        asks = [ask for search in searches for ask in self._find_asks(search)[0]]
        for streams, window, pattern in like:
            asked = self._asks.of(streams, window, _like(pattern), "@timestamp")
            asks += [one.ask for one in asked]
        for prefix, window in hours:
            asks += self._hours_asks(self._groups.under(prefix)[0], window)
        self._runs.begin(asks)

    def _answers(
        self, streams: Sequence[LogStream], window: Window, query: Query, order: str
    ) -> Iterator[tuple[Asked, Found]]:
        asked = self._asks.of(streams, window, query, order)
        yield from zip(asked, self._runs.found([one.ask for one in asked]), strict=True)

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


def _like(pattern: str) -> Query:
    """Return the query for lines that match a pattern, as a function of the part it reads."""
    return partial(lines_query, pattern=pattern)


def _lines(
    rows: Sequence[Row], groups: Sequence[str], owners: Callable[[str, str], Sequence[str]]
) -> Iterator[LogLine]:
    """Yield rows as lines of each owner, with their places among the rows of their stream."""
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        group, stream = group_of(row, groups), row.get("@logStream", "")
        places[group, stream] = places.get((group, stream), 0) + 1
        at = as_datetime(row.get("@timestamp"))
        for node in owners(group, stream):
            yield LogLine(
                node=node,
                group=group,
                stream=stream,
                line=places[group, stream],
                text=row.get("@message", ""),
                shipped_at_ms=None if at is None else round(at.timestamp() * 1000),
            )


def _names(streams: Sequence[LogStream]) -> list[str]:
    return sorted(f"{one.group or ''}|{one.stream}" for one in streams)


def _worst(
    troubles: Sequence[Envelope[Any]], missed: Sequence[Unread], *, has_value: bool
) -> _Outcome:
    failed = [_Outcome(one.status, one.reason) for one in troubles]
    failed += [_Outcome(one.status, one.reason) for one in missed]
    if not failed:
        return _READ
    return _Outcome(Status.PARTIAL if has_value else failed[0].status, failed[0].reason)


def _outcomes(found: Found) -> list[_Outcome]:
    """Return how far the parts of an answer got; one that was read in part says so too."""
    failed = [_Outcome(one.status, one.reason) for one in found.unread]
    return [*failed, _READ] if failed and found.rows else failed or [_READ]


def _worst_of(outcomes: Sequence[_Outcome]) -> _Outcome:
    failed = [outcome for outcome in outcomes if not outcome.status.is_complete]
    if not failed:
        return _READ
    status = failed[0].status if len(failed) == len(outcomes) else Status.PARTIAL
    return _Outcome(status, failed[0].reason)
