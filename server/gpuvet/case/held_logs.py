"""The log door over lines that a case holds itself: raw files, exports, and lines in JSON."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from gpuvet.aws.door import LineGap, LineSearch, LogLine, LogStream, NodeName
from gpuvet.model.coverage import HourCount, StreamCounts
from gpuvet.model.evidence import Envelope, Reason, Status, Window

T = TypeVar("T")
UNATTRIBUTED = "unattributed"  # lines whose node the case does not tell


class HeldStream(NamedTuple):
    """One stream of one node: its lines that may matter, and its counts where there are any."""

    node: str
    group: str | None
    stream: str
    lines: tuple[LogLine, ...] = ()
    service_lines: tuple[LogLine, ...] = ()  # of the cluster's services, package managers, events
    service_lines_whole: bool = True
    counts: StreamCounts | None = None
    counts_note: str | None = None  # why there are none
    lines_status: Status = Status.OK  # PARTIAL: more lines stood there than were kept
    lines_reason: Reason | None = None
    shared_with: tuple[str, ...] = ()


class HeldLogs:
    """See `LogDoor`. What is in hand is given whole: the window bounds counts, not lines.

    A line outside the window can still decide (the same GPU before the last boot), and its own
    time may only follow from lines around it; whoever judges it looks at its time.
    """

    def __init__(self, streams: Sequence[HeldStream], *, now: datetime | None = None) -> None:
        self._streams = {(one.node, one.group, one.stream): one for one in streams}
        self._now = now

    @property
    def held(self) -> tuple[HeldStream, ...]:
        """Every stream, also of nodes nobody asked about."""
        return tuple(self._streams.values())

    def streams(
        self,
        nodes: Sequence[NodeName],
        window: Window | None = None,
        *,
        lines: Sequence[Window] = (),
    ) -> Envelope[tuple[LogStream, ...]]:
        """Return the streams of these nodes; see `LogDoor.streams`."""
        del window, lines  # every stream is in hand
        wanted = {name for node in nodes for name in (node.node, *node.aliases)}
        found = tuple(
            LogStream(
                node=one.node, group=one.group, stream=one.stream, shared_with=one.shared_with
            )
            for one in self._streams.values()
            if one.node in wanted
        )
        return self._envelope("streams", sorted(wanted), found)

    def group_streams(self, prefix: str) -> Envelope[tuple[LogStream, ...]]:
        """Return every stream of the groups under a prefix; see `LogDoor.group_streams`."""
        found = tuple(
            LogStream(node="", group=one.group, stream=one.stream)
            for one in self._streams.values()
            if one.group is not None and one.group.startswith(prefix)
        )
        return self._envelope("group_streams", [prefix], found)

    def hourly_counts(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[StreamCounts, ...]]:
        """Return counts per hour; see `LogDoor.hourly_counts`."""
        held = [self._streams.get((one.node, one.group, one.stream)) for one in streams]
        first = window.start.replace(minute=0, second=0, microsecond=0)
        counts = tuple(
            one.counts.model_copy(update={"bins": _between(one.counts.bins, first, window.end)})
            for one in held
            if one is not None and one.counts is not None
        )
        notes = {one.counts_note for one in held if one is not None and one.counts_note}
        envelope = self._envelope("hourly_counts", _names(streams), counts, window=window)
        if counts or not notes:
            return envelope.model_copy(update={"notes": tuple(sorted(notes))})
        update = {"status": Status.NOT_CHECKED, "reason": Reason.NOT_RECORDED, "value": None}
        return envelope.model_copy(update={**update, "notes": tuple(sorted(notes))})

    def group_hours(self, prefix: str, window: Window) -> Envelope[tuple[HourCount, ...]]:
        """Return lines per hour of all groups under a prefix; see `LogDoor.group_hours`."""
        counted = self.hourly_counts(self.group_streams(prefix).value or (), window)
        lines: dict[datetime, int] = {}
        for one in (one for counts in counted.value or () for one in counts.bins):
            lines[one.hour] = lines.get(one.hour, 0) + one.lines
        hours = tuple(HourCount(hour=hour, lines=lines[hour]) for hour in sorted(lines))
        envelope = self._envelope("group_hours", [prefix], hours, window=window)
        update = {} if counted.status.is_complete else {"status": counted.status}
        return envelope.model_copy(update={**update, "reason": counted.reason})

    def unread_lines(self, streams: Sequence[LogStream], window: Window) -> tuple[LineGap, ...]:
        """Return the streams of which not all lines were kept; see `LogDoor.unread_lines`."""
        held = [self._streams.get((one.node, one.group, one.stream)) for one in streams]
        return tuple(
            LineGap(
                node=one.node,
                group=one.group,
                stream=one.stream,
                window=window,
                reason=one.lines_reason,
            )
            for one in held
            if one is not None and not one.lines_status.is_complete
        )

    def gpu_lines(
        self, streams: Sequence[LogStream], window: Window
    ) -> Envelope[tuple[LogLine, ...]]:
        """Return the lines that may matter; see `LogDoor.gpu_lines`."""
        held = [self._streams.get((one.node, one.group, one.stream)) for one in streams]
        lines = tuple(line for one in held if one is not None for line in one.lines)
        envelope = self._envelope("gpu_lines", _names(streams), lines, window=window)
        worst = next((one for one in held if one and not one.lines_status.is_complete), None)
        if worst is None:
            return envelope
        update = {"status": worst.lines_status, "reason": worst.lines_reason}
        return envelope.model_copy(update=update)

    def lines_like(
        self, streams: Sequence[LogStream], window: Window, pattern: str
    ) -> Envelope[tuple[LogLine, ...]]:
        """Return every line in hand of these streams; see `LogDoor.lines_like`."""
        found = self.gpu_lines(streams, window)
        held = [self._streams.get((one.node, one.group, one.stream)) for one in streams]
        lines = tuple(
            line
            for one in held
            if one is not None
            for line in sorted((*one.lines, *one.service_lines), key=lambda line: line.line)
        )
        params = json.dumps([pattern, *_names(streams)], separators=(",", ":"))
        update = {"operation": "lines_like", "params": params, "value": lines}
        return found.model_copy(update=update)

    def find(self, search: LineSearch) -> Envelope[tuple[LogLine, ...]]:
        """Return every line in hand that a search asks for; see `LogDoor.find`."""
        wanted = re.compile(search.pattern)
        held = self._streams.values()
        lines = tuple(
            line
            for one in held
            for line in sorted((*one.lines, *one.service_lines), key=lambda line: line.line)
            if wanted.search(line.text)
        )
        asked = [search.pattern, *search.groups]
        envelope = self._envelope("find", asked, lines, window=search.window)
        if all(one.service_lines_whole and one.lines_status.is_complete for one in held):
            return envelope
        return envelope.model_copy(update={"status": Status.PARTIAL, "reason": Reason.CUT_SHORT})

    def begin(
        self,
        *,
        searches: Sequence[LineSearch] = (),
        like: Sequence[tuple[Sequence[LogStream], Window, str]] = (),
        hours: Sequence[tuple[str, Window]] = (),
        others: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:
        """Do nothing: all of it is in hand; see `LogDoor.begin`."""
        del searches, like, hours, others

    def _envelope(
        self,
        operation: str,
        asked: Sequence[str],
        value: tuple[T, ...],
        *,
        window: Window | None = None,
    ) -> Envelope[tuple[T, ...]]:
        return Envelope(
            service="file",
            operation=operation,
            params=json.dumps(list(asked), separators=(",", ":")),
            window=window,
            called_at=self._now,
            status=Status.OK if value else Status.OK_EMPTY,
            value=value,
        )


def _names(streams: Sequence[LogStream]) -> list[str]:
    return sorted(f"{one.node}|{one.group or ''}|{one.stream}" for one in streams)


def _between(bins: Sequence[HourCount], first: datetime, end: datetime) -> tuple[HourCount, ...]:
    return tuple(one for one in bins if first <= one.hour < end)
