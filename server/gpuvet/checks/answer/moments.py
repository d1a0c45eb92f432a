"""Times of a draft, in any spelling, held against those of the evidence. Pure.

A time is compared to the precision it states: 03:42 UTC is 03:42:17. Offsets are taken off; a
time in a named zone of its own (PST, CET) is not compared.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_CLOCK = r"(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:\s?(?P<zone>Z\b|UTC|GMT|[+-]\d{2}:?\d{2}\b|[ap]\.?m\b\.?|[A-Z]{2,4}T\b|local))?"
_DATE = (
    r"(?P<y>\d{4})[-/](?P<mo>0[1-9]|1[0-2])[-/](?P<d>0[1-9]|[12]\d|3[01])"
    rf"|(?P<d2>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\s(?:of\s)?(?P<mo2>{_MONTH})(?:,?\s(?P<y2>\d{{4}}))?"
    rf"|(?P<mo3>{_MONTH})\s{{1,2}}(?P<d3>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?(?:,?\s(?P<y3>\d{{4}}))?"
)
_MOMENT = re.compile(
    rf"(?<![\w.:/-])(?:(?:{_DATE})(?:(?:T|,?\s(?:at\s)?|_){_CLOCK}{_ZONE})?"
    rf"|{_CLOCK.replace('<h>', '<h4>').replace('<m>', '<m4>').replace('<s>', '<s4>')}"
    rf"{_ZONE.replace('<zone>', '<zone4>')})(?![\w:/])"
)
# What evidence writes: ISO, syslog, EC2's GMT text, epochs in seconds and milliseconds.
_STAMP = re.compile(
    r"(?P<y>\d{4})[-/](?P<mo>\d{2})[-/](?P<d>\d{2})(?:[T ](?P<h>\d{2}):(?P<m>\d{2})(?::(?P<s>\d{2}))?"
    r"(?:[.,]\d+)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
    rf"|(?P<mo2>{_MONTH})\s{{1,2}}(?P<d2>\d{{1,2}})(?:\s(?P<h2>\d{{2}}):(?P<m2>\d{{2}}):(?P<s2>\d{{2}}))?"
    r"|(?<![\d.])(?P<epoch>1[5-9]\d{8})(?:\d{3})?(?![\d.])"
    r"|(?<![\d:.a-fA-F])(?P<h3>[01]\d|2[0-3]):(?P<m3>[0-5]\d)(?::(?P<s3>[0-5]\d))?(?![\d:])"
)
_DAY = 86_400
_ABOUT = 300  # seconds that a hedged time may be off


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
    foreign = zone.endswith("t") and zone not in {"gmt"} or zone == "local"
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

    @cached_property
    def _read(self) -> "tuple[set[tuple[int, int]], set[date], set[tuple[tuple[int, int], int]], set[int]]":
        days: set[tuple[int, int]] = set()
        dates: set[date] = set()
        dated: set[tuple[tuple[int, int], int]] = set()
        clocks: set[int] = set()
        for text in self._texts:
            for match in _STAMP.finditer(text):
                day, year, at = _stamp(match)
                if day is not None:
                    days.add(day)
                    if year is not None:
                        dates.add(date(year, *day))
                    if at is not None:
                        dated.add((day, at))
                if at is not None:
                    clocks.add(at)
        return days, dates, dated, clocks

    def has(self, moment: Moment, *, about: bool = False, lengths: Iterable[float] = ()) -> bool:
        """Say whether a time stands in the evidence, or is one of these lengths away from one.

        Args:
            moment: The time of a draft.
            about: Whether the draft hedges it: around, shortly after.
            lengths: Seconds that the draft names beside it.
        """
        days, dates, _, _ = self._read
        if moment.foreign:
            return True
        if moment.day is not None and moment.day not in days and not self._near_day(moment, lengths):
            return False
        if moment.year is not None and moment.day is not None and dates:
            years = {d.year for d in dates}
            if moment.year not in years:
                return False
        if moment.second_of_day is None:
            return True
        return self._has_clock(moment, about=about) or any(
            self._has_clock(_moved(moment, sign * length), about=False)
            for length in (1800.0, 3600.0, *lengths)
            for sign in (1, -1)
        )

    def _near_day(self, moment: Moment, lengths: Iterable[float]) -> bool:
        """Say whether a day without evidence of its own is a length away from one that has it."""
        if moment.exact is None:
            return False
        days = self._read[0]
        moved = (moment.exact + timedelta(seconds=s * x) for x in lengths for s in (1, -1))
        return any((m.month, m.day) in days for m in moved)

    def _has_clock(self, moment: Moment, *, about: bool) -> bool:
        _, _, dated, clocks = self._read
        at = moment.second_of_day or 0
        slack = _ABOUT if about else moment.precision // 2
        low, high = (at - slack, at + max(slack, moment.precision - 1))
        if moment.day is not None:
            pool = {s for d, s in dated if d == moment.day}
            if any(low <= s <= high for s in pool):
                return True
            return not pool and any(low <= s <= high for s in clocks)
        return any(low <= s <= high for s in clocks) or (high >= _DAY and 0 in clocks)


def _moved(moment: Moment, seconds: float) -> Moment:
    if moment.exact is not None:
        exact = moment.exact + timedelta(seconds=seconds)
        at = exact.hour * 3600 + exact.minute * 60 + exact.second
        return moment._replace(day=(exact.month, exact.day), second_of_day=at, exact=exact)
    return moment._replace(second_of_day=int((moment.second_of_day or 0) + seconds) % _DAY)


def _stamp(match: re.Match[str]) -> tuple[tuple[int, int] | None, int | None, int | None]:
    get = match.groupdict()
    if get["epoch"]:
        at = datetime.fromtimestamp(int(get["epoch"]), UTC)
        return (at.month, at.day), at.year, at.hour * 3600 + at.minute * 60 + at.second
    day, year = _day_of(get)
    hour, minute, second = (get[k] or get[f"{k}2"] or get[f"{k}3"] for k in ("h", "m", "s"))
    at = None if hour is None else int(hour) * 3600 + int(minute or 0) * 60 + int(second or 0)
    if day is not None:
        try:
            exact = datetime(year or 2000, *day, tzinfo=UTC)
        except ValueError:
            return None, None, at
        zone = get["zone"] or ""
        if at is not None and zone not in {"", "Z"}:
            exact = exact + timedelta(seconds=at) - _offset(zone)
            return (exact.month, exact.day), exact.year, (
                exact.hour * 3600 + exact.minute * 60 + exact.second
            )
    return day, year, at
