"""What a stream could show, and what a node may claim (coverage.md)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median

from gpuvet.calculators.hours import (
    HOUR,
    NO_RULES,
    OPEN_STATES,
    WHOLE_LIFE,
    CoverageRules,
    Life,
    epoch_hour,
    exposed,
    exposure,
    hour_states,
    hours_of,
    in_words,
    is_caution,
    lines_by_hour,
    states_of,
)
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

__all__ = [
    "HOUR",
    "CoverageRules",
    "Life",
    "count_scope",
    "epoch_hour",
    "exposure",
    "hma_coverage",
    "hours_of",
    "node_coverage",
    "same_image_boot_output",
    "source_coverage",
    "unsearched",
]

# coverage.md: a stream this quiet may miss an hour without being dead; said, never excused.
LOW_RATE_LINES = 3

_QUIET_OR_DEAD = "a kernel-only stream cannot tell quiet from dead (QUIET_OR_DEAD)"
_HEARTBEAT = "a healthy kernel is quiet; ship a heartbeat or the full syslog"
_CARRIES_KERNEL = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)
_NOTHING_CLAIMED = frozenset(
    {CoverageStatus.NOT_OBSERVABLE, CoverageStatus.NOT_SUPPORTED, CoverageStatus.NOT_APPLICABLE}
)


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
        why = _nothing_due(window, life, rules)
        return _source(counts, CoverageStatus.NOT_APPLICABLE, why)
    states = hour_states(counts, span, now, life, rules)
    live = states_of(states, frozenset({HourState.LIVE}))
    asked = states_of(states, OPEN_STATES | {HourState.LIVE})
    unusable = _unusable(counts)
    status, reason = unusable or _status(counts, states, live, asked)
    # Lines of a stream that proves nothing are no claim, whatever hour they lie in.
    unclaimed = unusable is not None or status in _NOTHING_CLAIMED
    return _source(counts, status, reason).model_copy(
        update={
            "live_hours": () if unclaimed else live,
            "hours_asked": len(asked),
            "gaps": _gaps(states, now, rules.lag, all_open=unclaimed),
            "notes": (
                *_cautions(counts, states, span, life, rules),
                *_flags(counts, live, life),
                *((_HEARTBEAT,) if reason == _QUIET_OR_DEAD else ()),
            ),
        }
    )


def _nothing_due(window: Window, life: Life, rules: CoverageRules) -> str:
    """Return why no hour of a window could be asked of a node."""
    born = life.created_at or life.launched_at
    if life.left_at is not None and life.left_at <= window.start - rules.pad:
        return f"node left at {life.left_at:%Y-%m-%dT%H:%M:%SZ}, before the window"
    if born is None:
        return "no full hour of the window was due yet"
    launched = f"node launched at {born:%Y-%m-%dT%H:%M:%SZ}"
    if born >= window.end:
        return f"{launched}, after the window"
    return f"{launched}, no full hour was due yet"


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


def _status(
    counts: StreamCounts,
    states: Mapping[datetime, HourState],
    live: Sequence[datetime],
    asked: Sequence[datetime],
) -> tuple[CoverageStatus, str | None]:
    if not asked:
        return CoverageStatus.INSUFFICIENT_EXPOSURE, "no full hour could be asked for"
    if any(s is HourState.UNKNOWN for s in states.values()):
        why = counts.bins_reason.value if counts.bins_reason else "incomplete"
        return CoverageStatus.UNVERIFIED, f"hourly counts incomplete: {why}"
    if len(live) == len(asked):
        return CoverageStatus.MEASURED, None
    empty = frozenset({HourState.EMPTY, HourState.EMPTY_PARTIAL})
    quiet = counts.shipper is Shipper.KERNEL_ONLY and states_of(states, empty)
    reason = _QUIET_OR_DEAD if quiet else None
    if not live:
        return CoverageStatus.NOT_OBSERVABLE, reason or "no line in any hour asked for"
    return CoverageStatus.PARTIAL, reason


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
    if counts.shipper is Shipper.UNKNOWN and counts.kernel_lines_ever is None:
        return CoverageStatus.UNVERIFIED, "nothing shows that the stream carries the kernel"
    return None


def _cautions(
    counts: StreamCounts,
    states: Mapping[datetime, HourState],
    span: Window,
    life: Life,
    rules: CoverageRules,
) -> tuple[str, ...]:
    notes: list[str] = []
    if life.launched_at is None:
        notes.append("launch unknown: asked from the start of the padded window")
    for hour, state in states.items():
        if is_caution(hour, state, span, life, rules):
            minutes = int(exposed(hour, span).total_seconds() // 60)
            notes.append(f"no line in the {minutes} min of {hour:%Y-%m-%dT%H:00Z} that count")
    busy = lines_by_hour(counts).values()
    if busy and counts.shipper is not Shipper.KERNEL_ONLY and median(busy) < LOW_RATE_LINES:
        notes.append(f"LOW_RATE_STREAM: median {median(busy):g} lines an hour")
    return tuple(notes)


def _flags(counts: StreamCounts, live: Sequence[datetime], life: Life) -> tuple[str, ...]:
    notes: list[str] = []
    if counts.late_share > 0:
        notes.append(f"LATE_DELIVERY: {counts.late_share:.0%} of sampled lines over 1 h late")
    if life.launched_at is None:
        return tuple(notes)
    boot = epoch_hour(life.launched_at)
    if live and all(h in {boot, boot + HOUR} for h in live):
        notes.append("BOOT_ONLY: lines only in the hours around the launch")
    if life.created_at is None and any(h < boot for h in lines_by_hour(counts)):
        notes.append("lines before the launch: the instance was stopped and started")
    return tuple(notes)


def _gaps(
    states: Mapping[datetime, HourState], now: datetime, lag: timedelta, *, all_open: bool
) -> tuple[Gap, ...]:
    """Return runs of consecutive open hours of one state, in order."""
    gaps: list[Gap] = []
    for hour, state in sorted(states.items()):
        if state not in OPEN_STATES and not (all_open and state is HourState.LIVE):
            continue
        shown = HourState.UNKNOWN if state is HourState.LIVE else state
        if gaps and gaps[-1].end == hour and gaps[-1].state is shown:
            gaps[-1] = gaps[-1].model_copy(update={"end": hour + HOUR})
        else:
            gaps.append(Gap(start=hour, end=hour + HOUR, state=shown))
    lives_on = any(s is HourState.LIVE for h, s in states.items() if gaps and h >= gaps[-1].end)
    horizon = now - lag
    may_arrive = gaps and gaps[-1].state in {HourState.EMPTY, HourState.EMPTY_PARTIAL}
    if may_arrive and not lives_on and gaps[-1].end + HOUR > horizon:
        minutes = int(lag.total_seconds() // 60)
        note = (
            f"only hours inside the delivery lag ({minutes} min) may still arrive: "
            f"read up to {horizon:%Y-%m-%dT%H:%MZ}"
        )
        gaps[-1] = gaps[-1].model_copy(update={"note": note})
    return tuple(gaps)


def unsearched(source: SourceCoverage, unread: Sequence[Window]) -> SourceCoverage:
    """Close the hours of a source whose lines were not all read: they prove no absence.

    Args:
        source: As counted: its hours are live where any line arrived.
        unread: Where the search for lines was not complete.
    """
    closed = tuple(h for h in source.live_hours if any(_touches(span, h) for span in unread))
    if not closed:
        return source
    states = dict.fromkeys(closed, HourState.UNKNOWN)
    gaps = sorted(
        (*source.gaps, *_gaps(states, closed[0], timedelta(0), all_open=False)),
        key=lambda g: g.start,
    )
    is_claim = source.status in {CoverageStatus.MEASURED, CoverageStatus.PARTIAL}
    return source.model_copy(
        update={
            "live_hours": tuple(h for h in source.live_hours if h not in states),
            "gaps": tuple(gap.model_copy(update={"note": None}) for gap in gaps),
            "status": CoverageStatus.UNVERIFIED if is_claim else source.status,
            "reason": "not all of its lines were read" if is_claim else source.reason,
        }
    )


def _touches(span: Window, hour: datetime) -> bool:
    return span.start < hour + HOUR and hour < span.end


def hma_coverage(
    node: str,
    *,
    group: str | None,
    stream: str | None,
    detections: int,
    group_live: bool | None,
    has_accelerator: bool,
    detections_before: int | None = None,
    agent_running: bool | None = None,
) -> SourceCoverage:
    """Return what the health agent's silence or speech is worth.

    Args:
        node: Instance id.
        group: The cluster's log group.
        stream: The node's agent stream, or None when it does not exist.
        detections: Detections inside the window.
        group_live: Another stream of the group has an event inside the window; None: not read.
        has_accelerator: The agent runs on accelerator types only.
        detections_before: Detections outside the window that were read, where any could be.
        agent_running: The agent's pod or unit runs; False makes its silence worth nothing.
    """
    reason: str | None = None
    if not has_accelerator:
        status, reason = CoverageStatus.NOT_APPLICABLE, "no accelerator"
    elif detections:
        status = CoverageStatus.DETECTIONS
    elif agent_running is False:
        status, reason = CoverageStatus.NOT_OBSERVABLE, "the health agent does not run"
    elif group_live is None:
        status, reason = CoverageStatus.UNVERIFIED, "liveness of the cluster's group not read"
    elif not group_live:
        status, reason = CoverageStatus.NOT_OBSERVABLE, "no stream of the group was live"
    elif stream is not None:
        before = f", {detections_before} outside it" if detections_before else ""
        status, reason = CoverageStatus.DETECTIONS, f"none in the window{before}"
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
    """Roll up the sources of one node (coverage.md, verdict-rules §12).

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
        told = (f"{s.stream} {in_words(s.live_hours)}" for s in useful if s.live_hours)
        notes.append(f"composite: {'; '.join(told)}")
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
    """Return the status of several streams together, the hours any of them saw, and the rest."""
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
    # A kernel log that could not be read is not one that is not shipped.
    if live or status is CoverageStatus.UNVERIFIED:
        return Gate.PARTIAL
    if any(s.status in {CoverageStatus.NO_HMA_DETECTIONS, CoverageStatus.DETECTIONS} for s in hma):
        return Gate.HMA_ONLY
    return Gate.NONE


def count_scope(count: int, coverage: NodeCoverage) -> str:
    """Return a number of Xids with the hours it speaks for (coverage.md)."""
    asked, live = coverage.hours_asked, coverage.hours_measured
    if not live:
        return f"{count} Xids seen; no hour of this node was covered"
    scope = f"{count} in {live} of {asked} hours"
    return scope if live == asked else f"{scope}; not observable in {asked - live}"


def same_image_boot_output(counts: Sequence[StreamCounts]) -> tuple[str, ...]:
    """Return nodes whose counts agree in every hour: boot output of one image, not life."""
    seen: dict[tuple[tuple[datetime, int], ...], list[str]] = {}
    for item in counts:
        key = tuple(sorted(lines_by_hour(item).items()))
        if len(key) > 1:
            seen.setdefault(key, []).append(item.node)
    return tuple(sorted(n for nodes in seen.values() if len(set(nodes)) > 1 for n in nodes))
