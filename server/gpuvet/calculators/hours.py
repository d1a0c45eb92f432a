"""Epoch hours of a stream: which are asked about, and what each came to (coverage.md).

Pure. A missing hour is zero only when the count itself is complete; it is never zero because a
call failed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.coverage import HourState, StreamCounts
from gpuvet.model.evidence import Window

HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Hours that were asked about and could not be seen.
OPEN_STATES = frozenset(
    {
        HourState.EMPTY,
        HourState.EMPTY_PARTIAL,
        HourState.RETENTION_LOST,
        HourState.NO_GROUP,
        HourState.UNKNOWN,
        HourState.UNKNOWN_STATE,
    }
)


@dataclass(frozen=True, slots=True)
class CoverageRules:
    """The allowances of the proof; defaults from coverage.md.

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
    """When a node existed; None where unknown or not ended.

    Attributes:
        launched_at: Last start. On EC2 a stop and start moves it; a reboot does not.
        left_at: Termination or replacement.
        created_at: First start of the same instance, where it is known to be older: its root
            volume's or interface's attach time.
        stopped: Spans in which it is known to have been stopped.
    """

    launched_at: datetime | None = None
    left_at: datetime | None = None
    created_at: datetime | None = None
    stopped: tuple[Window, ...] = ()


def life_of(node: CaseNode | NodeEvidence, now: datetime) -> Life:
    """Return when a node existed, as far as its own records tell."""
    launched, created, stopped = node.launched_at, node.created_at, node.stopped_at
    is_older = created is not None and launched is not None and created < launched
    return Life(
        launched_at=launched,
        left_at=node.left_at,
        created_at=created if is_older else None,
        stopped=(Window(start=stopped, end=now),) if stopped and stopped < now else (),
    )


NO_RULES = CoverageRules()
WHOLE_LIFE = Life()


def epoch_hour(at: datetime) -> datetime:
    """Return the start of the epoch hour that holds a time."""
    return _EPOCH + ((at - _EPOCH) // HOUR) * HOUR


def exposure(window: Window, now: datetime, life: Life, rules: CoverageRules) -> Window | None:
    """Return the span a node's logs are asked about, or None when it did not exist in it."""
    start = window.start - rules.pad
    end = min(window.end + rules.pad, now - rules.lag)
    born = life.created_at or life.launched_at
    if born is not None:
        start = max(start, born)
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


def exposed(hour: datetime, span: Window) -> timedelta:
    """Return how much of an hour lies inside a span."""
    return min(hour + HOUR, span.end) - max(hour, span.start)


def lines_by_hour(counts: StreamCounts) -> dict[datetime, int]:
    """Return the lines of each epoch hour; hours without lines are left out."""
    lines: dict[datetime, int] = {}
    for item in counts.bins:
        if item.lines > 0:
            hour = epoch_hour(item.hour)
            lines[hour] = lines.get(hour, 0) + item.lines
    return lines


def hour_states(
    counts: StreamCounts, span: Window, now: datetime, life: Life, rules: CoverageRules
) -> dict[datetime, HourState]:
    """Return what every hour of a span came to, in order."""
    lines = lines_by_hour(counts)
    return {
        hour: _state(counts, hour, span, now, life, rules, has_lines=hour in lines)
        for hour in hours_of(span)
    }


def _state(
    counts: StreamCounts,
    hour: datetime,
    span: Window,
    now: datetime,
    life: Life,
    rules: CoverageRules,
    *,
    has_lines: bool,
) -> HourState:
    part = exposed(hour, span)
    if not has_lines and part < rules.min_exposure:
        return HourState.NOT_REQUIRED
    if counts.retention_days is not None and hour < now - timedelta(days=counts.retention_days):
        return HourState.RETENTION_LOST
    if counts.group_created is not None and counts.group_created > max(hour, span.start):
        return HourState.NO_GROUP
    if has_lines:
        return HourState.LIVE
    if not counts.bins_status.is_complete and _is_unread(counts, hour):
        return HourState.UNKNOWN
    if hour + HOUR > now - rules.lag:
        return HourState.INCOMPLETE
    if _is_stopped(hour, life):
        return HourState.NOT_REQUIRED
    if life.launched_at is not None and hour < epoch_hour(life.launched_at):
        return HourState.UNKNOWN_STATE  # before the last start: running or stopped is not known
    return _empty(hour, part, life, rules)


def _is_unread(counts: StreamCounts, hour: datetime) -> bool:
    """Say whether an incomplete count lacks an hour; one that does not tell lacks them all."""
    spans_ = counts.bins_unread
    return not spans_ or any(one.start < hour + HOUR and hour < one.end for one in spans_)


def _is_stopped(hour: datetime, life: Life) -> bool:
    return any(span.start <= hour and hour + HOUR <= span.end for span in life.stopped)


def _empty(hour: datetime, part: timedelta, life: Life, rules: CoverageRules) -> HourState:
    first_hour = life.launched_at is not None and epoch_hour(life.launched_at) == hour
    if first_hour and part < rules.boot_grace:
        return HourState.NOT_REQUIRED
    if part >= HOUR:
        return HourState.EMPTY
    return HourState.EMPTY_PARTIAL if part >= rules.gap_exposure else HourState.NOT_REQUIRED


def spans(hours: Iterable[datetime]) -> tuple[tuple[datetime, datetime], ...]:
    """Return runs of consecutive hours as (start, end), end excluded."""
    runs: list[tuple[datetime, datetime]] = []
    for hour in sorted(set(hours)):
        if runs and runs[-1][1] == hour:
            runs[-1] = (runs[-1][0], hour + HOUR)
        else:
            runs.append((hour, hour + HOUR))
    return tuple(runs)


def in_words(hours: Iterable[datetime]) -> str:
    """Return hours as `2026-03-12 09:00Z to 2026-03-14 08:00Z (47 hours)`, runs apart."""
    told: list[str] = []
    for start, end in spans(hours):
        count = (end - start) // HOUR
        noun = "hour" if count == 1 else "hours"
        told.append(f"{start:%Y-%m-%d %H:%M}Z to {end:%Y-%m-%d %H:%M}Z ({count} {noun})")
    return "; ".join(told)


def is_caution(
    hour: datetime, state: HourState, span: Window, life: Life, rules: CoverageRules
) -> bool:
    """Say whether an empty part of an hour is too short for a gap, but worth a word."""
    first_hour = life.launched_at is not None and epoch_hour(life.launched_at) == hour
    excused = rules.boot_grace if first_hour else rules.min_exposure
    return (
        state is HourState.NOT_REQUIRED
        and excused <= exposed(hour, span) < rules.gap_exposure
        and not _is_stopped(hour, life)
    )


def states_of(
    states: Mapping[datetime, HourState], wanted: frozenset[HourState]
) -> tuple[datetime, ...]:
    """Return the hours in one of these states, in order."""
    return tuple(hour for hour, state in states.items() if state in wanted)
