"""Rows of counting queries as counts of streams, with what of each was not counted. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from gpuvet.aws.door import LogStream
from gpuvet.aws.log_asks import Asked
from gpuvet.aws.node_groups import GroupFacts
from gpuvet.aws.query_runs import Found, Unread, group_of
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.coverage import HourCount, LogClass, Shipper, StreamCounts
from gpuvet.model.evidence import Reason, Status, Window
from gpuvet.parse.shipper import shipper_of_name

_Key = tuple[str, str]  # group and stream
_ANY = ""  # every stream of a group that was read whole


class Counted:
    """What some counting queries over one span came to."""

    def __init__(self, span: Window) -> None:
        self.span = span
        self._hours: dict[_Key, dict[datetime, int]] = {}
        self._kernel: dict[_Key, int] = {}
        self._unread: dict[str, list[tuple[frozenset[str], Unread]]] = {}
        self._evidence: dict[_Key, str] = {}

    def add(self, asked: Asked, found: Found) -> None:
        """Add the rows of one query."""
        for row in found.rows:
            key = group_of(row, asked.ask.groups), row.get("@logStream", "")
            kernel = int(row.get("kernelLines", "0")) + int(row.get("journalLines", "0"))
            self._kernel[key] = self._kernel.get(key, 0) + kernel
            hour = as_datetime(row.get("hour"))
            if hour is not None:
                hours = self._hours.setdefault(key, {})
                hours[hour] = hours.get(hour, 0) + int(row.get("lines", "0"))
        names = frozenset(asked.streams)
        for missed in found.unread:
            for group in missed.groups:
                self._unread.setdefault(group, []).append((names, missed))
        if found.evidence is not None:
            for group in asked.ask.groups:
                for name in asked.streams or (_ANY,):
                    self._evidence.setdefault((group, name), found.evidence)

    def bins(self, group: str, stream: str) -> tuple[HourCount, ...]:
        """Return the hours of a stream that hold lines."""
        hours = self._hours.get((group, stream), {})
        return tuple(HourCount(hour=hour, lines=n) for hour, n in sorted(hours.items()) if n)

    def kernel(self, group: str, stream: str) -> int:
        """Return how many of its lines are the kernel's."""
        return self._kernel.get((group, stream), 0)

    def unread(self, group: str, stream: str) -> list[Unread]:
        """Return what of a stream was not counted."""
        missed = self._unread.get(group, ())
        return [one for names, one in missed if not names or stream in names]

    def evidence(self, group: str, stream: str) -> str | None:
        """Return the evidence id of the query behind a stream's hours."""
        return self._evidence.get((group, stream)) or self._evidence.get((group, _ANY))


def without_kernel(streams: Iterable[LogStream], counted: Counted) -> list[LogStream]:
    """Return the streams to search further back: they had no kernel line in the window."""
    return [
        one
        for one in streams
        if one.group is not None
        and shipper_of_name(one.stream, one.group) is not Shipper.HMA
        and not counted.kernel(one.group, one.stream)
    ]


def stream_counts(
    stream: LogStream, facts: GroupFacts, counted: Counted, ever: Counted | None
) -> StreamCounts:
    """Return one stream as counted.

    Args:
        stream: Of a group.
        facts: Of its group.
        counted: Lines of the window.
        ever: Kernel lines of streams that had none in the window; None: nobody was searched.
    """
    group, name = facts.name, stream.stream
    shipper = shipper_of_name(name, group)
    missed = counted.unread(group, name)
    lines = counted.kernel(group, name)
    older = [] if lines or ever is None else ever.unread(group, name)
    if not lines and ever is not None:
        lines = ever.kernel(group, name)
    is_open = bool(older) and not lines and shipper is not Shipper.HMA
    status, reason = _state(missed, counted.span)
    if facts.log_class is LogClass.DELIVERY:
        status, reason = Status.NOT_SUPPORTED, Reason.NOT_SUPPORTED
    return StreamCounts(
        node=stream.node,
        group=group,
        stream=name,
        shipper=shipper,
        log_class=facts.log_class,
        retention_days=facts.retention_days,
        group_created=facts.created,
        bins=counted.bins(group, name),
        bins_status=status,
        bins_reason=reason,
        bins_unread=tuple(one.window for one in missed) if status is Status.PARTIAL else (),
        kernel_lines_ever=None if is_open else lines,
        kernel_status=older[0].status if is_open else Status.OK,
        kernel_reason=older[0].reason if is_open else None,
        shared_with=stream.shared_with,
        evidence=counted.evidence(group, name),
    )


def _state(missed: Sequence[Unread], span: Window) -> tuple[Status, Reason | None]:
    """Return the state of a count: of a part that was not read the rest stays counted."""
    if not missed:
        return Status.OK, None
    whole = next(
        (m for m in missed if m.window.start <= span.start and span.end <= m.window.end), None
    )
    if whole is not None:
        return whole.status, whole.reason
    return Status.PARTIAL, missed[0].reason
