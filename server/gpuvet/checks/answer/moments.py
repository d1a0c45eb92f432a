"""Times of a draft, in any spelling, held against those of the evidence. Pure.

A time is compared to the precision it states: 03:42 UTC is 03:42:17. Offsets are taken off; a
time in a named zone of its own (PST, CET) is not compared.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_CLOCK = r"(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:\s?(?P<zone>Z\b|UTC|GMT|[+-]\d{2}:?\d{2}\b|[ap]\.?m\b\.?|[A-Z]{2,4}T\b|local))?"
_DATE = (
    r"(?P<y>\d{4})[-/](?P<mo>0[1-9]|1[0-2])[-/](?P<d>0[1-9]|[12]\d|3[01])"
    rf"|(?P<d2>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\s(?:of\s)?(?P<mo2>{_MONTH})"
    r"(?:,?\s(?P<y2>\d{4}))?"
    rf"|(?P<mo3>{_MONTH})\s{{1,2}}(?P<d3>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
    r"(?:,?\s(?P<y3>\d{4}))?"
)
_MOMENT = re.compile(
    rf"(?<![\w.:/-])(?:(?:{_DATE})(?:(?:T|,?\s(?:at\s)?|_){_CLOCK}{_ZONE})?"
    rf"|{_CLOCK.replace('<h>', '<h4>').replace('<m>', '<m4>').replace('<s>', '<s4>')}"
    rf"{_ZONE.replace('<zone>', '<zone4>')})(?![\w:/])"
)
# What evidence writes: ISO, syslog, EC2's GMT text, epochs in seconds and milliseconds.
_STAMP = re.compile(
    r"(?P<y>\d{4})[-/](?P<mo>\d{2})[-/](?P<d>\d{2})"
    r"(?:[T ](?P<h>\d{2}):(?P<m>\d{2})(?::(?P<s>\d{2}))?"
    r"(?:[.,]\d+)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
    rf"|(?P<mo2>{_MONTH})\s{{1,2}}(?P<d2>\d{{1,2}})(?:\s(?P<h2>\d{{2}}):(?P<m2>\d{{2}}):(?P<s2>\d{{2}}))?"
    r"|(?<![\d.])(?P<epoch>1[5-9]\d{8})(?:\d{3})?(?![\d.])"
    r"|(?<![\d:.a-fA-F])(?P<h3>[01]\d|2[0-3]):(?P<m3>[0-5]\d)(?::(?P<s3>[0-5]\d))?(?![\d:])"
)
_DAY = 86_400
_ABOUT = 300  # seconds that a hedged time may be off


class _Stamp(NamedTuple):
    """A time of the evidence."""

    day: tuple[int, int] | None
    year: int | None
    second_of_day: int | None


class Moment(NamedTuple):
    """A time of a draft: its day, its clock, or both."""

    shown: str
    start: int
    day: tuple[int, int] | None  # month and day
    year: int | None
    second_of_day: int | None
    precision: int  # seconds: 1 or 60
    foreign: bool = False  # in a zone of its own
    exact: datetime | None = None


def moments_in(text: str) -> Iterator[Moment]:
    """Yield the times of a draft in reading order."""
    for match in _MOMENT.finditer(text):
        moment = _moment(match)
        if moment is not None:
            yield moment


def _moment(match: re.Match[str]) -> Moment | None:
    get = match.groupdict()
    hour, minute = get["h"] or get["h4"], get["m"] or get["m4"]
    second, zone = get["s"] or get["s4"], (get["zone"] or get["zone4"] or "").lower()
    day, year = _day_of(get)
    if hour is None:
        return None if day is None else Moment(match[0], match.start(), day, year, None, _DAY)
    at = int(hour) * 3600 + int(minute or 0) * 60 + int(second or 0)
    if zone.startswith(("a", "p")) and zone[1:2] in {"m", "."}:
        at = at % (12 * 3600) + (12 * 3600 if zone.startswith("p") else 0)
    foreign = (zone.endswith("t") and zone != "gmt") or zone == "local"
    precision = 1 if second else 60
    if day is None:
        return Moment(match[0], match.start(), None, None, at, precision, foreign)
    exact = None
    try:
        exact = datetime(year or 2000, *day, tzinfo=UTC) + timedelta(seconds=at)
    except ValueError:
        return None
    if re.fullmatch(r"[+-]\d{2}:?\d{2}", zone):
        exact -= _offset(zone)
    day, at = (exact.month, exact.day), exact.hour * 3600 + exact.minute * 60 + exact.second
    return Moment(match[0], match.start(), day, year, at, precision, foreign, exact)


def _offset(zone: str) -> timedelta:
    digits = zone[1:].replace(":", "")
    length = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -length if zone[0] == "-" else length


def _day_of(get: dict[str, str | None]) -> tuple[tuple[int, int] | None, int | None]:
    for suffix in ("", "2", "3"):
        month, day = get.get(f"mo{suffix}"), get.get(f"d{suffix}")
        if month and day:
            year = get.get(f"y{suffix}")
            return (_month(month), int(day)), int(year) if year else None
    return None, None


def _month(word: str) -> int:
    return int(word) if word.isdigit() else _MONTHS.index(word[:3].lower()) + 1


class Calendar:
    """The times of the evidence."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Take the texts; they are read when first asked."""
        self._texts = tuple(texts)

    def has(self, moment: Moment, *, about: bool = False, lengths: Iterable[float] = ()) -> bool:
        """Say whether a time stands in the evidence, or is one of these lengths away from one.

        Args:
            moment: The time of a draft.
            about: Whether the draft hedges it: around, shortly after.
            lengths: Seconds that the draft names beside it.
        """
        kept = tuple(lengths)
        if moment.foreign:
            return True
        if not self._has_day(moment, kept):
            return False
        if moment.second_of_day is None or self._has_clock(moment, about=about):
            return True
        moved = (_moved(moment, s * length) for length in kept for s in (1, -1))
        return any(self._has_clock(other, about=False) for other in moved)

    def _has_day(self, moment: Moment, lengths: tuple[float, ...]) -> bool:
        """Say whether a day has evidence, or is a length away from one that has."""
        if moment.day is None:
            return True
        if moment.year is not None and self._years and moment.year not in self._years:
            return False
        if moment.day in self._by_day:
            return True
        if moment.exact is None:
            return False
        moved = (moment.exact + timedelta(seconds=s * x) for x in lengths for s in (1, -1))
        return any((m.month, m.day) in self._by_day for m in moved)

    def _has_clock(self, moment: Moment, *, about: bool) -> bool:
        at = moment.second_of_day or 0
        slack = _ABOUT if about else moment.precision // 2
        low, high = at - slack, at + max(slack, moment.precision - 1)
        own = self._by_day.get(moment.day) if moment.day is not None else None
        return _within(own or self._clocks, low, high)

    @cached_property
    def _stamps(self) -> tuple[_Stamp, ...]:
        found = (_stamp(m) for text in self._texts for m in _STAMP.finditer(text))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _years(self) -> frozenset[int]:
        return frozenset(s.year for s in self._stamps if s.year is not None)

    @cached_property
    def _by_day(self) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for stamp in self._stamps:
            if stamp.day is not None:
                clocks = found.setdefault(stamp.day, [])
                if stamp.second_of_day is not None:
                    clocks.append(stamp.second_of_day)
        return {day: sorted(clocks) for day, clocks in found.items()}

    @cached_property
    def _clocks(self) -> list[int]:
        return sorted({s.second_of_day for s in self._stamps if s.second_of_day is not None})


def _within(clocks: list[int], low: int, high: int) -> bool:
    """Say whether one of the sorted clocks lies in a span; midnight is both ends of a day."""
    place = bisect_left(clocks, low)
    if place < len(clocks) and clocks[place] <= high:
        return True
    return high >= _DAY and bool(clocks) and clocks[0] <= high - _DAY


def _moved(moment: Moment, seconds: float) -> Moment:
    if moment.exact is not None:
        exact = moment.exact + timedelta(seconds=seconds)
        at = exact.hour * 3600 + exact.minute * 60 + exact.second
        return moment._replace(day=(exact.month, exact.day), second_of_day=at, exact=exact)
    return moment._replace(second_of_day=int((moment.second_of_day or 0) + seconds) % _DAY)


def _stamp(match: re.Match[str]) -> _Stamp:
    get = match.groupdict()
    if get["epoch"]:
        return _stamp_of(datetime.fromtimestamp(int(get["epoch"]), UTC))
    day, year = _day_of(get)
    hour, minute, second = (get[k] or get[f"{k}2"] or get[f"{k}3"] for k in ("h", "m", "s"))
    at = None if hour is None else int(hour) * 3600 + int(minute or 0) * 60 + int(second or 0)
    zone = get["zone"] or ""
    if day is None or at is None or zone in {"", "Z"}:
        return _Stamp(day, year, at)
    try:
        exact = datetime(year or 2000, *day, tzinfo=UTC)
    except ValueError:
        return _Stamp(None, None, at)
    return _stamp_of(exact + timedelta(seconds=at) - _offset(zone))


def _stamp_of(at: datetime) -> _Stamp:
    return _Stamp((at.month, at.day), at.year, at.hour * 3600 + at.minute * 60 + at.second)
