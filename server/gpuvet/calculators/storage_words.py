"""How storage findings write times, numbers and lists. Pure."""

from collections.abc import Sequence
from datetime import datetime

from gpuvet.model.evidence import Window


def clock(at: datetime, window: Window) -> str:
    """Return a time in UTC: hours and minutes on the window's only day, else with the date.

    Seconds are written where they are not zero.
    """
    seconds = ":%S" if at.second else ""
    is_one_day = window.start.date() == at.date() == window.end.date()
    form = f"%H:%M{seconds}Z" if is_one_day else f"%Y-%m-%d %H:%M{seconds}Z"
    return at.strftime(form)


def span(start: datetime, end: datetime, window: Window) -> str:
    """Return `from 13:00Z to 14:00Z (60 min)`."""
    minutes = round((end - start).total_seconds() / 60)
    return f"from {clock(start, window)} to {clock(end, window)} ({minutes} min)"


def number(value: float) -> str:
    """Return a number without a needless fraction: 88000, 41752.5, 9.8."""
    return str(int(value)) if value == int(value) else f"{value:.1f}"


def percent(value: float) -> str:
    """Return percent as read, with one decimal: 0.9 is 0.9 %."""
    return f"{value:.1f} %"


def rate(bytes_per_second: float) -> str:
    """Return bytes per second in full and in GB/s or MB/s."""
    whole = round(bytes_per_second)
    if whole >= 1_000_000_000:
        return f"{whole} B/s ({whole / 1e9:.2f} GB/s)"
    return f"{whole} B/s ({whole / 1e6:.1f} MB/s)"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names with commas; of many the first ones and how many more."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
