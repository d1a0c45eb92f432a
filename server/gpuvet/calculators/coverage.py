"""Which hours of which stream could be seen, and what a node may claim (log_sources §4).

Pure: hours in, states out. A missing hour is zero only when the count itself is complete; it is
never zero because a call failed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from gpuvet.model.coverage import (
    CoverageStatus,
    Gap,
    Gate,
    HourState,
    LogClass,
    NodeCoverage,
    Shipper,
    SourceCoverage,
    StreamCounts,
)
from gpuvet.model.evidence import Window

HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# log_sources §4.1: a stream this quiet may miss an hour without being dead; said, never excused.
LOW_RATE_LINES = 3

_OPEN = frozenset(
    {
        HourState.EMPTY,
        HourState.EMPTY_PARTIAL,
        HourState.RETENTION_LOST,
        HourState.NO_GROUP,
        HourState.UNKNOWN,
    }
)
_CARRIES_KERNEL = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)


@dataclass(frozen=True, slots=True)
class CoverageRules:
    """The allowances of the proof; defaults from log_sources §4.

    Attributes:
        pad: Widening of the window on both sides.
        lag: Delivery allowance before `now`.
        boot_grace: A first partial hour shorter than this after launch is excused.
        min_exposure: Less of an hour than this is not asked for.
        gap_exposure: An empty partial hour is a gap from here on, a caution below.
    """

    pad: timedelta = HOUR
    lag: timedelta = timedelta(minutes=15)
    boot_grace: timedelta = timedelta(minutes=15)
    min_exposure: timedelta = timedelta(minutes=10)
    gap_exposure: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Life:
    """When a node existed; None where unknown or not ended."""

    launched_at: datetime | None = None
    left_at: datetime | None = None


NO_RULES = CoverageRules()
WHOLE_LIFE = Life()


def epoch_hour(at: datetime) -> datetime:
    """Return the start of the epoch hour that holds a time."""
    return _EPOCH + ((at - _EPOCH) // HOUR) * HOUR


def exposure(window: Window, now: datetime, life: Life, rules: CoverageRules) -> Window | None:
    """Return the span a node's logs are asked about, or None when it did not exist in it."""
    start = window.start - rules.pad
    end = min(window.end + rules.pad, now - rules.lag)
    if life.launched_at is not None:
        start = max(start, life.launched_at)
    if life.left_at is not None:
        end = min(end, life.left_at)
    return Window(start=start, end=end) if start < end else None


def hours_of(span: Window) -> tuple[datetime, ...]:
    """Return every epoch hour that a span touches."""
    hours: list[datetime] = []
    hour = epoch_hour(span.start)
    while hour < span.end:
        hours.append(hour)
        hour += HOUR
    return tuple(hours)


def source_coverage(
    counts: StreamCounts,
    window: Window,
    now: datetime,
    *,
    life: Life = WHOLE_LIFE,
    rules: CoverageRules = NO_RULES,
) -> SourceCoverage:
    """Return what one stream of one node could show.

    Args:
        counts: The stream with its hourly counts; hours without lines are left out.
        window: The window asked about, without the pad.
        now: When the count finished.
        life: When the node existed.
        rules: Pad, lag and graces.
    """
    span = exposure(window, now, life, rules)
    if span is None:
        return _source(counts, CoverageStatus.NOT_APPLICABLE, "node did not exist in the window")
    states = _hour_states(counts, span, now, life, rules)
    live = tuple(h for h, s in states.items() if s is HourState.LIVE)
    asked = tuple(h for h, s in states.items() if s is HourState.LIVE or s in _OPEN)
    cautions = _cautions(counts, states, span, rules)
    status, reason = _status(counts, states, live, asked)
    return SourceCoverage(
        node=counts.node,
        source=counts.shipper,
        group=counts.group,
        stream=counts.stream,
        status=status,
        reason=reason,
        live_hours=() if status in _NOTHING_CLAIMED else live,
        hours_asked=len(asked),
        gaps=_gaps(states, now - rules.lag, all_open=status in _NOTHING_CLAIMED),
        notes=(*cautions, *_flags(counts, live, life)),
        evidence=counts.evidence,
    )


_NOTHING_CLAIMED = frozenset(
    {CoverageStatus.NOT_OBSERVABLE, CoverageStatus.NOT_SUPPORTED, CoverageStatus.NOT_APPLICABLE}
)


def _source(counts: StreamCounts, status: CoverageStatus, reason: str | None) -> SourceCoverage:
    return SourceCoverage(
        node=counts.node,
        source=counts.shipper,
        group=counts.group,
        stream=counts.stream,
        status=status,
        reason=reason,
        evidence=counts.evidence,
    )


def _hour_states(
    counts: StreamCounts, span: Window, now: datetime, life: Life, rules: CoverageRules
) -> dict[datetime, HourState]:
    lines: dict[datetime, int] = {}
    for item in counts.bins:
        hour = epoch_hour(item.hour)
        lines[hour] = lines.get(hour, 0) + item.lines
    states: dict[datetime, HourState] = {}
    for hour in hours_of(span):
        exposed = min(hour + HOUR, span.end) - max(hour, span.start)
        if exposed < rules.min_exposure and lines.get(hour, 0) == 0:
            states[hour] = HourState.NOT_REQUIRED
        else:
            states[hour] = _hour_state(counts, hour, exposed, lines.get(hour, 0), now, life, rules)
    return states


def _hour_state(
    counts: StreamCounts,
    hour: datetime,
    exposed: timedelta,
    lines: int,
    now: datetime,
    life: Life,
    rules: CoverageRules,
) -> HourState:
    if counts.retention_days is not None and hour < now - timedelta(days=counts.retention_days):
        return HourState.RETENTION_LOST
    if lines > 0:
        return HourState.LIVE
    if counts.group_created is not None and counts.group_created >= hour + HOUR:
        return HourState.NO_GROUP
    if not counts.bins_status.is_complete:
        return HourState.UNKNOWN
    if hour + HOUR > now - rules.lag:
        return HourState.INCOMPLETE
    first_hour = life.launched_at is not None and epoch_hour(life.launched_at) == hour
    if first_hour and exposed < rules.boot_grace:
        return HourState.NOT_REQUIRED
    if exposed >= HOUR:
        return HourState.EMPTY
    return HourState.EMPTY_PARTIAL if exposed >= rules.gap_exposure else HourState.NOT_REQUIRED


def _status(
    counts: StreamCounts,
    states: Mapping[datetime, HourState],
    live: Sequence[datetime],
    asked: Sequence[datetime],
) -> tuple[CoverageStatus, str | None]:
    unusable = _unusable(counts)
    if unusable is not None:
        return unusable
    if not asked:
        return CoverageStatus.INSUFFICIENT_EXPOSURE, "no full hour could be asked for"
    if any(s is HourState.UNKNOWN for s in states.values()):
        why = counts.bins_reason.value if counts.bins_reason else "incomplete"
        return CoverageStatus.UNVERIFIED, f"hourly counts incomplete: {why}"
    if len(live) == len(asked):
        return CoverageStatus.MEASURED, None
    quiet = (
        "a kernel-only stream cannot tell quiet from dead (QUIET_OR_DEAD)"
        if counts.shipper is Shipper.KERNEL_ONLY
        else None
    )
    if not live:
        return CoverageStatus.NOT_OBSERVABLE, quiet or "no line in any hour asked for"
    return CoverageStatus.PARTIAL, quiet


def _unusable(counts: StreamCounts) -> tuple[CoverageStatus, str] | None:
    """Return why a stream proves nothing at all, or None."""
    if counts.log_class is LogClass.DELIVERY:
        return CoverageStatus.NOT_SUPPORTED, "group of class DELIVERY cannot be queried"
    if counts.skewed:
        return CoverageStatus.UNVERIFIED, "CLOCK_SKEW: lines fall into wrong hours"
    if counts.shared_with:
        others = ", ".join(counts.shared_with[:3])
        return CoverageStatus.NOT_OBSERVABLE, f"SHARED_STREAM with {others}"
    if not counts.kernel_status.is_complete:
        why = counts.kernel_reason.value if counts.kernel_reason else "not read"
        return CoverageStatus.UNVERIFIED, f"search for kernel lines: {why}"
    if counts.kernel_lines_ever == 0:
        return CoverageStatus.NOT_OBSERVABLE, "NO_KERNEL_LINES in the life of the stream"
    return None


def _cautions(
    counts: StreamCounts,
    states: Mapping[datetime, HourState],
    span: Window,
    rules: CoverageRules,
) -> tuple[str, ...]:
    notes: list[str] = []
    for hour, state in states.items():
        exposed = min(hour + HOUR, span.end) - max(hour, span.start)
        short = rules.min_exposure <= exposed < rules.gap_exposure
        if state is HourState.NOT_REQUIRED and short:
            minutes = int(exposed.total_seconds() // 60)
            notes.append(f"no line in the {minutes} min of {hour:%Y-%m-%dT%H:00Z} that count")
    busy = [b.lines for b in counts.bins if b.lines > 0]
    if busy and median(busy) < LOW_RATE_LINES:
        notes.append(f"LOW_RATE_STREAM: median {median(busy):g} lines an hour")
    return tuple(notes)


def _flags(counts: StreamCounts, live: Sequence[datetime], life: Life) -> tuple[str, ...]:
    notes: list[str] = []
    if counts.late_share > 0:
        notes.append(f"LATE_DELIVERY: {counts.late_share:.0%} of sampled lines over 1 h late")
    if live and life.launched_at is not None:
        boot = epoch_hour(life.launched_at)
        if all(h in {boot, boot + HOUR} for h in live):
            notes.append("BOOT_ONLY: lines only in the hours around the launch")
    return tuple(notes)


def _gaps(
    states: Mapping[datetime, HourState], horizon: datetime, *, all_open: bool
) -> tuple[Gap, ...]:
    """Return runs of consecutive open hours of one state, in order."""
    gaps: list[Gap] = []
    for hour, state in sorted(states.items()):
        if state not in _OPEN and not (all_open and state is HourState.LIVE):
            continue
        shown = HourState.UNKNOWN if state is HourState.LIVE else state
        if gaps and gaps[-1].end == hour and gaps[-1].state is shown:
            gaps[-1] = gaps[-1].model_copy(update={"end": hour + HOUR})
        else:
            gaps.append(Gap(start=hour, end=hour + HOUR, state=shown))
    if gaps and gaps[-1].end + HOUR > horizon:
        gaps[-1] = gaps[-1].model_copy(update={"note": "may still be delivery delay"})
    return tuple(gaps)


def hma_coverage(
    node: str,
    *,
    group: str | None,
    stream: str | None,
    detections: int,
    group_live: bool | None,
    has_accelerator: bool,
) -> SourceCoverage:
    """Return what the health agent's silence or speech is worth.

    Args:
        node: Instance id.
        group: The cluster's log group.
        stream: The node's agent stream, or None when it does not exist.
        detections: Detections inside the window.
        group_live: Another stream of the group has an event inside the window; None: not read.
        has_accelerator: The agent runs on accelerator types only.
    """
    reason: str | None = None
    if not has_accelerator:
        status, reason = CoverageStatus.NOT_APPLICABLE, "no accelerator"
    elif detections:
        status = CoverageStatus.DETECTIONS
    elif group_live is None:
        status, reason = CoverageStatus.UNVERIFIED, "liveness of the cluster's group not read"
    elif not group_live:
        status, reason = CoverageStatus.NOT_OBSERVABLE, "no stream of the group was live"
    elif stream is not None:
        status, reason = CoverageStatus.DETECTIONS, "none in the window"
    else:
        status, reason = CoverageStatus.NO_HMA_DETECTIONS, "agent detections only"
    return SourceCoverage(
        node=node,
        source=Shipper.HMA,
        group=group,
        stream=stream,
        status=status,
        reason=reason,
        detections=detections if status is CoverageStatus.DETECTIONS else None,
    )


def node_coverage(
    node: str, sources: Sequence[SourceCoverage], *, searched: Iterable[str] | None = None
) -> NodeCoverage:
    """Roll up the sources of one node (log_sources §4.5, xid_rules §12).

    Args:
        node: Instance id.
        sources: Every source of the node, dead ones included.
        searched: Streams whose raw lines are in hand or were searched completely for Xids; None
            means all of them. A live stream that nobody searched supports no "0 Xids".
    """
    kernel = [s for s in sources if s.source in _CARRIES_KERNEL]
    useful = kernel if searched is None else [s for s in kernel if s.stream in set(searched)]
    status, live, empty = _rollup(useful)
    notes: list[str] = []
    if len(useful) < len(kernel) and status is not CoverageStatus.MEASURED:
        _, all_live, _ = _rollup(kernel)
        if len(all_live) > len(live):
            notes.append("lines arrived, but no complete Xid search ran over their stream")
    if status is CoverageStatus.MEASURED and not any(
        s.status is CoverageStatus.MEASURED for s in useful
    ):
        names = ", ".join(s.stream or "" for s in useful if s.live_hours)
        notes.append(f"composite of {names}")
    hma = [s for s in sources if s.source is Shipper.HMA]
    gate = _gate(status, live, hma)
    if gate is Gate.HMA_ONLY:
        status = hma[0].status
    return NodeCoverage(
        node=node,
        status=status,
        gate=gate,
        hours_asked=len(live) + len(empty),
        live_hours=live,
        empty_hours=empty,
        whole_window_unknown=status is CoverageStatus.UNVERIFIED,
        sources=tuple(sources),
        notes=tuple(notes),
    )


def _rollup(
    sources: Sequence[SourceCoverage],
) -> tuple[CoverageStatus, tuple[datetime, ...], tuple[datetime, ...]]:
    applicable = [s for s in sources if s.status is not CoverageStatus.NOT_APPLICABLE]
    if sources and not applicable:
        return CoverageStatus.NOT_APPLICABLE, (), ()
    live = {h for s in applicable for h in s.live_hours}
    asked = live | {
        gap.start + HOUR * n for s in applicable for gap in s.gaps for n in range(gap.hours)
    }
    empty = tuple(sorted(asked - live))
    hours = tuple(sorted(live))
    if any(s.status is CoverageStatus.MEASURED for s in applicable):
        return CoverageStatus.MEASURED, hours, ()
    if live and not empty:
        return CoverageStatus.MEASURED, hours, ()
    statuses = {s.status for s in applicable}
    if live:
        unverified = statuses <= {CoverageStatus.UNVERIFIED, CoverageStatus.NOT_OBSERVABLE}
        partial = CoverageStatus.UNVERIFIED if unverified else CoverageStatus.PARTIAL
        return partial, hours, empty
    if CoverageStatus.UNVERIFIED in statuses:
        return CoverageStatus.UNVERIFIED, (), empty
    if statuses == {CoverageStatus.INSUFFICIENT_EXPOSURE}:
        return CoverageStatus.INSUFFICIENT_EXPOSURE, (), empty
    return CoverageStatus.NOT_OBSERVABLE, (), empty


def _gate(status: CoverageStatus, live: Sequence[datetime], hma: Sequence[SourceCoverage]) -> Gate:
    if status is CoverageStatus.MEASURED:
        return Gate.MEASURED
    if live:
        return Gate.PARTIAL
    if any(s.status in {CoverageStatus.NO_HMA_DETECTIONS, CoverageStatus.DETECTIONS} for s in hma):
        return Gate.HMA_ONLY
    return Gate.PARTIAL if status is CoverageStatus.UNVERIFIED else Gate.NONE


def same_image_boot_output(counts: Sequence[StreamCounts]) -> tuple[str, ...]:
    """Return nodes whose counts agree in every hour: boot output of one image, not life."""
    seen: dict[tuple[tuple[datetime, int], ...], list[str]] = {}
    for item in counts:
        key = tuple(sorted((b.hour, b.lines) for b in item.bins if b.lines))
        if len(key) > 1:
            seen.setdefault(key, []).append(item.node)
    return tuple(sorted(n for nodes in seen.values() if len(set(nodes)) > 1 for n in nodes))
