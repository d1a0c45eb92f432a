"""Which window is meant, and where it came from."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gpuvet.errors import BadWindow
from gpuvet.model.case import CaseMeta
from gpuvet.model.evidence import Window

DEFAULT_SPAN = timedelta(hours=24)
SLOW_SPAN = timedelta(hours=72)
AROUND_FAILURE = timedelta(hours=1)
LONGEST_SPAN = timedelta(days=400)

_BACK = re.compile(r"(\d{1,5})\s*(m|min|h|d|w)", re.IGNORECASE)
_UNITS = {
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_SLOW = re.compile(r"\bslow|\bspeed|throughput|step time|\bhalf the", re.IGNORECASE)


class Asked(NamedTuple):
    """What the caller said about time, as text."""

    since: str | None = None
    until: str | None = None
    failure_at: str | None = None


class Resolved(NamedTuple):
    """The window that is meant."""

    window: Window
    source: str
    now: datetime
    failure_at: datetime | None
    failure_measured: bool


def resolve(meta: CaseMeta, asked: Asked, now: datetime) -> Resolved:
    """Return the window: as asked, else the case's, else the last 24 h (72 h for slowness).

    A case's window that does not hold the failure is widened to hold the hour on either side:
    what decides must be asked for, so that it is missing where it is missing.

    Args:
        meta: What the case says of itself.
        asked: What the caller said.
        now: The clock: the case's own where it has one.

    Raises:
        BadWindow: A time that cannot be read, an end before its start, a failure that is asked
            about and lies outside the window that is asked for or after now.
    """
    failure = read_time(asked.failure_at, now) if asked.failure_at else meta.failure_at
    measured = meta.failure_measured if not asked.failure_at else False
    if asked.since or asked.until:
        end = read_time(asked.until, now) if asked.until else now
        start = read_time(asked.since, now) if asked.since else end - DEFAULT_SPAN
        window = _window(start, end)
        if failure is not None and not window.start <= failure <= window.end:
            raise BadWindow(
                f"the failure at {failure.isoformat()} lies outside the window asked for, "
                f"{start.isoformat()} to {end.isoformat()}; leave the window out or move it"
            )
        return Resolved(window, "as asked", now, failure, measured)
    if asked.failure_at and failure is not None and failure > now:
        raise BadWindow(
            f"the failure at {failure.isoformat()} lies after now, {now.isoformat()}; "
            "give the time at which it was seen"
        )
    if meta.window is not None:
        window = _holding(meta.window, failure)
        wider = "" if window == meta.window else ", widened to hold the failure"
        return Resolved(window, f"{meta.window_source}{wider}", now, failure, measured)
    if failure is not None:
        end = min(now, failure + timedelta(hours=1))
        source = "24 h up to an hour after the failure, assumed"
        return Resolved(_window(failure - DEFAULT_SPAN, end), source, now, failure, measured)
    slow = meta.question is not None and _SLOW.search(meta.question) is not None
    span, hours = (SLOW_SPAN, 72) if slow else (DEFAULT_SPAN, 24)
    return Resolved(_window(now - span, now), f"the last {hours} h, assumed", now, None, measured)


def _holding(window: Window, failure: datetime | None) -> Window:
    if failure is None or window.start <= failure <= window.end:
        return window
    start, end = failure - AROUND_FAILURE, failure + AROUND_FAILURE
    return _window(min(window.start, start), max(window.end, end))


def _window(start: datetime, end: datetime) -> Window:
    if end <= start:
        raise BadWindow(
            f"the window must end after it starts: since {start.isoformat()}, "
            f"until {end.isoformat()}; swap them or leave one out"
        )
    if end - start > LONGEST_SPAN:
        raise BadWindow(f"the window is {(end - start).days} days; give at most 400")
    return Window(start=start, end=end)


# Ours: beyond them a time is a slip of the pen, and spans around it leave the calendar.
_FIRST_YEAR, _LAST_YEAR = 1971, 2199


def read_time(text: str, now: datetime) -> datetime:
    """Return a time: ISO 8601 with a zone, or back from now as `90m`, `24h`, `7d`.

    Raises:
        BadWindow: It is neither; a time without a zone is refused rather than guessed.
    """
    back = _BACK.fullmatch(text.strip())
    if back is not None:
        return now - int(back[1]) * _UNITS[back[2].lower()]
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise BadWindow(
            f"{text[:60]!r} is no time; write ISO 8601 with Z (2026-03-02T04:11:58Z) or 90m, 7d"
        ) from error
    if at.tzinfo is None:
        raise BadWindow(f"{text[:60]!r} has no zone; write it in UTC with a Z at the end")
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise BadWindow(f"{text[:60]!r} is in no year that a cluster's log can be of")
    return at.astimezone(UTC)
