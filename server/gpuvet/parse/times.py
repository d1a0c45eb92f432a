"""Every form of time the sources write, to UTC, with how far it may be trusted.

Pure: no clock. A stamp without a year takes it from a reference time that the caller passes in; a
stamp without a zone is read as UTC. Both are `ASSUMED`.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from gpuvet.model.events import TimeQuality

MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
SLACK = timedelta(days=1)  # how far a year-less stamp may lie after its reference (clock and zone)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Beyond these an epoch number is something else: a size, a counter, a sequence.
_EPOCH_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
_EPOCH_LAST = datetime(2100, 1, 1, tzinfo=UTC)


class Stamp(NamedTuple):
    """A time in UTC and how far it may be trusted."""

    at: datetime
    quality: TimeQuality


_CLOCK = r"(?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_MONTH = r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ZONE = r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)"
_NOT_MORE = r"(?![\w:])"

_ISO = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    rf"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?{_NOT_MORE}",
    re.ASCII,
)
_SYSLOG = re.compile(rf"{_MONTH} +(?P<day>\d\d?) {_CLOCK}{_NOT_MORE}", re.ASCII)
_DMESG = re.compile(
    rf"{_WEEKDAY} {_MONTH} +(?P<day>\d\d?) {_CLOCK} (?P<year>\d{{4}}){_NOT_MORE}", re.ASCII
)
_FULL = re.compile(rf"{_WEEKDAY} (?=\d{{4}}-)", re.ASCII)
_MAIL = re.compile(
    rf"{_WEEKDAY}, (?P<day>\d\d?) {_MONTH} (?P<year>\d{{4}}) {_CLOCK}(?: {_ZONE})?{_NOT_MORE}",
    re.ASCII,
)
_MONTH_YEAR = re.compile(
    rf"{_MONTH} +(?P<day>\d\d?),? (?P<year>\d{{4}}) {_CLOCK}(?: {_ZONE})?{_NOT_MORE}", re.ASCII
)
_KLOG = re.compile(rf"[IWEF](?P<number>\d\d)(?P<day>\d\d) {_CLOCK}{_NOT_MORE}", re.ASCII)
_UNIX = re.compile(r"(?P<seconds>\d{9,10}\.\d{3,9})(?![\w.])", re.ASCII)


def leading_stamp(text: str, reference: datetime) -> tuple[Stamp | None, int]:
    """Return the time a line starts with, and where the rest of the line begins.

    Args:
        text: A line without its wrapper; it may stand in square brackets.
        reference: The latest time a stamp without a year can plausibly have, give or take a day.

    Returns:
        (None, 0) where the line does not start with a time.
    """
    opening = 1 if text[:1] == "[" else 0
    found = stamp_at(text, opening, reference)
    if found is None:
        return None, 0
    stamp, end = found
    if opening:
        if text[end : end + 1] != "]":
            return None, 0
        end += 1
    return stamp, _skip_blanks(text, end)


def parse_time(text: str, reference: datetime) -> Stamp | None:
    """Return the time that is the whole of `text`, in any form, an epoch number included."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return epoch(int(text)) if len(text) <= 20 else None
    stamp, end = leading_stamp(text, reference)
    return stamp if stamp is not None and end == len(text) else None


def epoch(number: float) -> Stamp | None:
    """Return an epoch number as a time: seconds, milli-, micro- or nanoseconds by its size."""
    scale = next((s for s in (1, 1_000, 1_000_000, 1_000_000_000) if abs(number) < 1e11 * s), None)
    if scale is None:
        return None
    whole, rest = divmod(number, scale)
    at = _EPOCH + timedelta(seconds=whole, microseconds=rest * 1_000_000 // scale)
    return Stamp(at, TimeQuality.EXACT) if _EPOCH_FIRST <= at < _EPOCH_LAST else None


@lru_cache(maxsize=8192)
def place_in_year(month: int, day: int, clock: str, reference: datetime) -> datetime | None:
    """Return the latest date with this month, day and time not over a day after the reference.

    That is how a year-less December line read in January gets the year before. `clock` is
    `HH:MM:SS`; None where no such day exists, such as a 31 June.
    """
    for year in range(reference.year + 1, reference.year - 9, -1):
        at = _date(year, month, day, clock)
        if at is not None and at <= reference + SLACK:
            return at
    return None


def stamp_at(text: str, start: int, reference: datetime) -> tuple[Stamp, int] | None:
    """Return the bare stamp at one place of a text and its end, or None."""
    first = text[start : start + 1]
    if first.isdecimal():
        return _numeric(text, start)
    pair = text[start : start + 3]
    if pair in MONTHS:
        return _month_first(text, start, reference)
    if first in "IWEF" and (match := _KLOG.match(text, start)):
        at = place_in_year(int(match["number"]), int(match["day"]), match["clock"], reference)
        return _ended(match, at, TimeQuality.ASSUMED)
    if match := _FULL.match(text, start):
        return _numeric(text, match.end())
    if match := _DMESG.match(text, start) or _MAIL.match(text, start):
        return _named(match)
    return None


def _numeric(text: str, start: int) -> tuple[Stamp, int] | None:
    if match := _ISO.match(text, start):
        stamp = _iso(match[0].replace("/", "-"))
        return None if stamp is None else (stamp, match.end())
    if (match := _UNIX.match(text, start)) and (stamp := epoch(float(match["seconds"]))):
        return stamp, match.end()
    return None


def _iso(text: str) -> Stamp | None:
    if text.endswith(("UTC", "GMT")):
        text = text[:-3].rstrip() + "Z"
    try:
        # A leap second is written :60, which datetime does not know.
        at = datetime.fromisoformat(f"{text[:16]}:59{text[19:]}" if text[16:19] == ":60" else text)
        if at.tzinfo is None:
            return Stamp(at.replace(tzinfo=UTC), TimeQuality.ASSUMED)
        return Stamp(at if at.tzinfo is UTC else at.astimezone(UTC), TimeQuality.EXACT)
    except (ValueError, OverflowError):
        return None


def _month_first(text: str, start: int, reference: datetime) -> tuple[Stamp, int] | None:
    if match := _SYSLOG.match(text, start):
        month = MONTHS[match["month"]]
        at = place_in_year(month, int(match["day"]), match["clock"], reference)
        return _ended(match, at, TimeQuality.ASSUMED)
    return _named(match) if (match := _MONTH_YEAR.match(text, start)) else None


def _named(match: re.Match[str]) -> tuple[Stamp, int] | None:
    at = _date(int(match["year"]), MONTHS[match["month"]], int(match["day"]), match["clock"])
    return _ended(match, *_in_zone(at, match.groupdict().get("zone")))


def _ended(
    match: re.Match[str], at: datetime | None, quality: TimeQuality
) -> tuple[Stamp, int] | None:
    if at is None:
        return None
    fraction = match["fraction"]
    if fraction:
        at = at.replace(microsecond=int(fraction.ljust(6, "0")[:6]))
    return Stamp(at, quality), match.end()


def _in_zone(at: datetime | None, zone: str | None) -> tuple[datetime | None, TimeQuality]:
    if zone is None or at is None:
        return at, TimeQuality.ASSUMED
    if zone in {"Z", "UTC", "GMT"}:
        return at, TimeQuality.EXACT
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    try:
        return (at + offset if zone[0] == "-" else at - offset), TimeQuality.EXACT
    except OverflowError:
        return None, TimeQuality.NONE


def _date(year: int, month: int, day: int, clock: str) -> datetime | None:
    hour, minute, second = int(clock[:2]), int(clock[3:5]), int(clock[6:])
    try:
        # A leap second is written :60, which datetime does not know.
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None


def _skip_blanks(text: str, start: int) -> int:
    end = start
    while text[end : end + 1] == " ":
        end += 1
    return end
