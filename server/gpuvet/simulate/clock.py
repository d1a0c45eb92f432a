"""The clock of a log: its own time stamps, in whichever form it writes them.

Standard library only: the child process that runs patterns loads this. Times are seconds since
1970 in UTC; stamps without a zone count as UTC, which is right for differences.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_WINDOW = 48  # a stamp begins within this many characters of the line
_JSON_WINDOW = 400  # of a line that is a JSON object
_LEAP_YEAR = 2000  # for forms without a year: it has every date
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_MONTH = "(?:" + "|".join(_MONTHS) + ")"
_TIME = r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
DAY = 86400.0


class Form(NamedTuple):
    """One way to write a time."""

    name: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], float]  # raises ValueError for 31 February and the like
    wraps_seconds: float = 0.0  # forms without a date or year start again after this


def _iso(match: re.Match[str]) -> float:
    text = match[0].replace("/", "-").replace("_", " ")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _clock(hour: str, minute: str, second: str, fraction: str | None) -> float:
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second)
    return seconds + (float(f"0.{fraction}") if fraction else 0.0)


def _date(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, tzinfo=UTC).timestamp()


def _named_month(match: re.Match[str]) -> float:
    month, day, hour, minute, second, fraction, year = match.groups()
    date = _date(int(year or _LEAP_YEAR), _MONTHS[month], int(day))
    return date + _clock(hour, minute, second, fraction)


def _glog(match: re.Match[str]) -> float:
    month, day, *clock = match.groups()
    return _date(_LEAP_YEAR, int(month), int(day)) + _clock(*clock)


def _common_log(match: re.Match[str]) -> float:
    day, month, year, hour, minute, second, sign, hours, minutes = match.groups()
    zone = timedelta(hours=int(hours), minutes=int(minutes)).total_seconds()
    local = _date(int(year), _MONTHS[month], int(day)) + _clock(hour, minute, second, None)
    return local - zone if sign == "+" else local + zone


def _slashed(match: re.Match[str]) -> float:
    month, day, year, hour, minute, second, fraction, half = match.groups()
    hours = int(hour) % 12 + (12 if half[0] in "Pp" else 0) if half else int(hour)
    full_year = int(year) + (2000 if len(year) == 2 else 0)
    return _date(full_year, int(month), int(day)) + _clock(str(hours), minute, second, fraction)


def _epoch(match: re.Match[str]) -> float:
    seconds, millis, fraction = match.groups()
    return int(seconds) + int(millis or 0) / 1000 + (float(f"0.{fraction}") if fraction else 0.0)


def _elapsed(match: re.Match[str]) -> float:
    return float(match[1])


def _time_of_day(match: re.Match[str]) -> float:
    hour, minute, second, fraction = match.groups()
    return _clock(hour, minute, second, fraction)


FORMS = (
    Form(
        "ISO 8601",
        re.compile(
            r"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
        ),
        _iso,
    ),
    Form(
        "date of the common log format",
        re.compile(rf"(\d\d)/({_MONTH})/(\d{{4}}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)"),
        _common_log,
    ),
    Form(
        "month by name",
        re.compile(rf"({_MONTH}) {{1,2}}(\d{{1,2}}) {_TIME}(?: (\d{{4}})(?!\d))?"),
        _named_month,
        wraps_seconds=366 * DAY,
    ),
    Form("glog", re.compile(rf"(?<![A-Za-z0-9])[IWEF](\d\d)(\d\d) {_TIME}"), _glog, 366 * DAY),
    Form(
        "month/day/year",
        re.compile(rf"(?<!\d)(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}|\d\d),? {_TIME}(?: ([AaPp][Mm]))?"),
        _slashed,
    ),
    Form(
        "month-day",
        re.compile(rf"(?<![\d-])(\d\d)[-/](\d\d) {_TIME}"),
        _glog,
        wraps_seconds=366 * DAY,
    ),
    Form(
        "seconds since 1970",
        re.compile(r"(?<![\d.])(1[4-9]\d{8}|2\d{9})(\d{3})?(?:\.(\d{1,9}))?(?![\d])"),
        _epoch,
    ),
    Form(
        "seconds since start",
        re.compile(r"^\[ {0,6}(\d{1,9}\.\d{1,9})\]"),
        _elapsed,
    ),
    Form(
        "time of day",
        re.compile(rf"(?<![\d:]){_TIME}(?![\d:])"),
        _time_of_day,
        wraps_seconds=DAY,
    ),
)


def form_of(lines: Iterable[str]) -> Form | None:
    """Return the form that stands on most of the lines, the fuller one when two are equal."""
    counts = dict.fromkeys(range(len(FORMS)), 0)
    for line in lines:
        for index, form in enumerate(FORMS):
            if _found(form, line) is not None:
                counts[index] += 1
                break
    best = max(counts, key=lambda index: (counts[index], -index))
    return FORMS[best] if counts[best] else None


def read_time(text: str, like: Form | None = None) -> float | None:
    """Return a time somebody typed, in any form; `like` is the form of the log it belongs to."""
    text = text.strip()
    for form in FORMS:
        match = form.pattern.match(text)
        if match is None:
            continue
        try:
            seconds = form.read(match)
        except ValueError:
            continue
        if like is not None and like.wraps_seconds and not form.wraps_seconds:
            return _without_date(seconds, like)
        return seconds
    return None


def _without_date(seconds: float, like: Form) -> float:
    """Return a full time as a form without date or year would write it."""
    if like.wraps_seconds == DAY:
        return seconds % DAY
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.replace(year=_LEAP_YEAR).timestamp()


def _found(form: Form, line: str) -> re.Match[str] | None:
    window = _JSON_WINDOW if line.startswith("{") else _WINDOW
    match = form.pattern.search(line, 0, window + 40)
    return match if match is not None and match.start() <= window else None


class Clock:
    """Reads the stamp of line after line; equal stamps are converted once."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._last_text = ""
        self._last_seconds: float | None = None
        self._column = 0
        self._wrapped = 0.0
        self.stamp_end = 0  # column behind the last stamp found
        self._minute = ""  # the last ISO stamp up to its minute, and that minute's time
        self._minute_seconds = 0.0

    def seconds(self, line: str) -> float | None:
        """Return the time on a line, or None where it has none."""
        match = self._form.pattern.match(line, self._column)
        if match is None:
            match = _found(self._form, line)
            if match is None:
                return None
            self._column = match.start()
        self.stamp_end = match.end()
        text = match[0]
        if text != self._last_text:
            try:
                self._last_seconds = self._read(text, match)
            except ValueError:
                return None
            self._last_text = text
        return self._last_seconds

    def _read(self, text: str, match: re.Match[str]) -> float:
        """Convert a stamp; of an ISO one in the minute of the last, only the seconds are read."""
        if self._form is not FORMS[0]:
            return self._unwrapped(self._form.read(match))
        minute, second = text[:17], text[17:].replace(",", ".")
        if not second.replace(".", "", 1).isdecimal():  # carries a zone
            return self._form.read(match)
        if minute != self._minute:
            self._minute_seconds = self._form.read(match) - float(second)
            self._minute = minute
        return self._minute_seconds + float(second)

    def in_order(self, lines: list[str]) -> bool:
        """Return whether every line carries a stamp of one width, none earlier than the last one's.

        Then text order is time order, and only the stamps somebody asks for need to be read.
        False where it is not certain.
        """
        if self._form is not FORMS[0] or not lines:
            return False
        first = self._form.pattern.match(lines[0], self._column)
        last = self._form.pattern.match(lines[-1], self._column)
        if first is None or last is None or first.end() != last.end():
            return False
        begin, end = self._column, first.end()
        if first[0][10] != last[0][10] or (first[0][-3] in ":+-" and len(first[0]) > 23):
            return False  # zones may differ from line to line
        stamps = [line[begin:end] for line in lines]
        return stamps == sorted(stamps)

    def _unwrapped(self, seconds: float) -> float:
        """Add a day or a year when a form without one starts again."""
        period = self._form.wraps_seconds
        if not period:
            return seconds
        seconds += self._wrapped
        if self._last_seconds is not None and seconds < self._last_seconds - period / 2:
            self._wrapped += period
            seconds += period
        return seconds
