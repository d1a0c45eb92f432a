"""Maintenance windows and administrative actions of a file system around a stall. Pure.

Rule: incident-branches §C: the weekly window is taken to last 30 minutes [recall]; a stall in
it with the bytes falling to nothing just there is Proven, else a hypothesis.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from statistics import median

from gpuvet.calculators.episodes import RUN_POINTS
from gpuvet.calculators.fsx_load import find
from gpuvet.calculators.storage_inputs import PAD, Seen
from gpuvet.calculators.storage_words import clock, span
from gpuvet.model.cause import Branch, Signal
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.storage import AdministrativeAction, WeeklyTime

LENGTH = timedelta(minutes=30)
# Ours: "about nothing" is one hundredth of what flowed in the half hour before.
NOTHING_SHARE = 0.01
_WEEK = timedelta(days=7)
_OVER = frozenset({"COMPLETED", "FAILED"})
_BYTES = ("DataReadBytes", "DataWriteBytes")


def maintenance_windows(weekly: WeeklyTime | None, window: Window) -> tuple[Window, ...]:
    """Return every maintenance window that touches a window."""
    if weekly is None:
        return ()
    day = window.start - LENGTH
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
    ahead = (weekly.weekday - midnight.isoweekday()) % 7
    start = midnight + timedelta(days=ahead, hours=weekly.hour, minutes=weekly.minute)
    found: list[Window] = []
    while start < window.end:
        if start + LENGTH > window.start:
            found.append(Window(start=start, end=start + LENGTH))
        start += _WEEK
    return tuple(found)


def active_actions(seen: Seen) -> tuple[AdministrativeAction, ...]:
    """Return the administrative actions that may have run in the window.

    They were asked for before its end and are not over, or were asked for inside it.
    """
    reach = seen.inputs.reach
    return tuple(
        action
        for action in seen.system.actions or ()
        if (action.requested_at is None or action.requested_at < reach.end)
        and (
            action.status not in _OVER
            or (action.requested_at is not None and reach.holds(action.requested_at))
        )
    )


def maintenance_signals(seen: Seen) -> Iterator[Signal]:
    """Yield a maintenance window that the failure lies in, and actions that ran beside it."""
    failure = seen.inputs.failure
    for window in maintenance_windows(seen.system.maintenance, seen.inputs.reach):
        if failure.at is not None and window.holds(failure.at):
            yield _maintenance(seen, window, stopped_at(seen, window))
    for action in active_actions(seen):
        yield _action(seen, action)


def _maintenance(seen: Seen, window: Window, stopped: datetime | None) -> Signal:
    reach, at = seen.inputs.reach, seen.inputs.failure.at
    # Bytes that stop after the job did are the job's own silence.
    is_cause = stopped is not None and at is not None and stopped <= at
    when = span(window.start, window.end, reach)
    flow = (
        f"bytes read and written fell to about nothing at {clock(stopped, reach)}"
        if stopped
        else "that the bytes stopped in it was not seen"
    )
    return Signal(
        branch=Branch.STORAGE,
        kind="fsx_maintenance",
        what=(
            f"the failure lies in the weekly maintenance window of {seen.system.id} {when}, "
            f"length assumed; {flow}"
        ),
        resource=seen.system.id,
        at=stopped or window.start,
        precision_seconds=60.0 if stopped else 1.0,
        until=window.end,
        affected=seen.link.is_proven,
        mechanism="clients wait while the file system fails over" if is_cause else None,
        proven_by_rule=is_cause,
        hypothesis_only=not is_cause,
        confirming=None if stopped else "DataReadBytes and DataWriteBytes in the window",
        evidence=tuple(
            one.evidence for name in _BYTES if (one := _series(seen, name)) and one.evidence
        ),
    )


def stopped_at(seen: Seen, window: Window) -> datetime | None:
    """Return when reads and writes together fell to about nothing inside a window, or None.

    They must have flowed in the half hour before, and be at nothing for five points in a row.
    """
    reads, writes = (_series(seen, name) for name in _BYTES)
    if reads is None or writes is None or reads.period_seconds != writes.period_seconds:
        return None
    written = dict(writes.points())
    total = [(at, value + written[at]) for at, value in reads.points() if at in written]
    before = [v for at, v in total if window.start - PAD <= at < window.start]
    if not before or median(before) <= 0:
        return None
    bar = NOTHING_SHARE * median(before)
    for place, (at, _) in enumerate(total):
        run = total[place : place + RUN_POINTS]
        is_run = len(run) == RUN_POINTS and run[-1][0] - at == (RUN_POINTS - 1) * reads.period
        if window.holds(at) and is_run and all(value <= bar for _, value in run):
            return at
    return None


def _series(seen: Seen, metric: str) -> TimeSeries | None:
    return find(seen.series, metric, "Sum")


def _action(seen: Seen, action: AdministrativeAction) -> Signal:
    asked = (
        f"asked for {action.requested_at:%Y-%m-%d %H:%MZ}"
        if action.requested_at
        else "asked for at an unknown time"
    )
    progress = f", {action.progress_percent} % done" if action.progress_percent is not None else ""
    return Signal(
        branch=Branch.STORAGE,
        kind="fsx_admin_action",
        what=f"{seen.system.id} has {action.kind} {action.status}, {asked}{progress}",
        resource=seen.system.id,
        at=action.requested_at,
        affected=seen.link.is_proven,
        hypothesis_only=True,
        effect=_is_after(seen, action),
        confirming="client-side read and write latency while the action runs and after it",
    )


def _is_after(seen: Seen, action: AdministrativeAction) -> bool:
    at = seen.inputs.failure.at
    return at is not None and action.requested_at is not None and action.requested_at > at


def maintenance_words(seen: Seen) -> str | None:
    """Return what maintenance there was in the window, or None where that is not known."""
    weekly = seen.system.maintenance
    found = maintenance_windows(weekly, seen.inputs.reach)
    if found:
        return f"weekly maintenance of {seen.system.id} " + ", ".join(
            span(one.start, one.end, seen.inputs.reach) for one in found
        )
    return None if weekly is None else f"no weekly maintenance of {seen.system.id} in the window"
