"""Counts lines per hour at the speed of a byte search. Pure.

Neighbouring lines nearly always share the hour. So the stamp of one line is turned into a pattern
that every line of that hour and that writer fits, and one search finds the first line that does
not. Only such lines are looked at one by one. The counts are exact for any input.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import NamedTuple

from gpuvet.parse.times import Stamp, epoch, stamp_at

MOST_PATTERNS = 4096  # kept compiled; more hours than that are half a year of them
_LONGEST_LEAD = 64
_HEAD = 256  # bytes of a line in which a plain stamp must stand
_HOUR = 3600
_JSON_KERNEL_MARKS = (b'"_TRANSPORT":"kernel"', b'"_TRANSPORT": "kernel"')
_MOST_RUNS = 1024  # of one block that are held at once

_LEAD = re.compile(rb"(?:<\d{1,3}>(?:1 )?|\[)?")
_UPTIME = re.compile(rb"\[ {0,12}\d{1,9}\.\d{6}\]|\d{1,4},\d+,\d{1,18},[^;\n]{0,64};")
_JOURNAL = re.compile(rb'"__REALTIME_TIMESTAMP" ?: ?"(?P<digits>\d{16})"')
_JSON_TIME = re.compile(
    rb'"(?:log|message|MESSAGE|@message|time|timestamp|@timestamp|date|ts)" ?: ?"?'
)
_DIGITS = re.compile(rb"\d{10,19}(?!\d)")
_CLOCK = re.compile(
    rb"(?P<before>.*?\d\d:)\d\d:\d\d(?P<fraction>[.,]\d{1,9})?(?P<after>.*)", re.DOTALL
)
_NO_ZONE = rb"(?! ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))"
_MINUTES = rb"[0-5]\d:[0-5]\d"  # a leap second's :60 is looked at by itself
# What a line starts with that may carry a time or an uptime; all others certainly carry none.
_MAY_START_TIME = (
    rb"[0-9\[{<]|[IWEF]\d|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
    rb"|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[ ,]"
)
_STARTS = re.compile(_MAY_START_TIME)
_NEXT_START = re.compile(rb"\n(?=" + _MAY_START_TIME + rb")")


class LineTime(NamedTuple):
    """When one line was written, and the pattern of the lines that share its hour."""

    stamp: Stamp | None
    uptime_only: bool = False
    misfit: re.Pattern[bytes] | None = None  # finds the next line that may not share the hour


class _Run(NamedTuple):
    """Neighbouring lines of one hour, from the start of the first to the end of the last."""

    time: LineTime
    start: int
    stop: int


class HourCounts:
    """Takes blocks of whole lines and counts them by hour."""

    def __init__(self, reference: datetime) -> None:
        self.lines = self.untimed = self.uptime_only = 0
        self.kernel_marks = 0  # of journald records and of lines with an uptime
        self.by_hour: dict[int, int] = {}  # seconds since the epoch, a multiple of 3600
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self._reference = reference
        self._patterns: dict[bytes, re.Pattern[bytes]] = {}

    def take(self, block: bytes, newlines: int) -> None:
        """Count the lines of one block.

        Args:
            block: Whole lines; the last one's newline is left out.
            newlines: How many newlines the block holds.
        """
        found = self._runs(block)
        runs = list(islice(found, _MOST_RUNS))
        more = next(found, None)
        if more is None:
            self._add_all(runs, block, newlines)
            return
        for run in chain(runs, (more,), found):
            self._add(run, block, block.count(b"\n", run.start, run.stop) + 1)

    def _add_all(self, runs: list[_Run], block: bytes, newlines: int) -> None:
        """Add a block's runs; the longest is not counted again: the others leave it the rest."""
        longest = max(runs, key=lambda run: run.stop - run.start)
        left = newlines + 1
        for run in runs:
            if run is not longest:
                left -= block.count(b"\n", run.start, run.stop) + 1
        for run in runs:
            count = left if run is longest else block.count(b"\n", run.start, run.stop) + 1
            self._add(run, block, count)

    def _runs(self, block: bytes) -> Iterator[_Run]:
        """Yield the runs of neighbouring lines that share an hour."""
        journal: bool | None = None  # looked for once a block, when its first JSON line comes
        start = 0
        while start <= len(block):
            end = block.find(b"\n", start)
            end = len(block) if end < 0 else end
            if block.startswith(b"{", start) and journal is None:
                journal = b'"__REALTIME_TIMESTAMP"' in block
            time = line_time(block[start:end], self._reference, self._patterns, bool(journal))
            stop = _run_end(block, start, end, time)
            yield _Run(time, start, stop)
            start = stop + 1

    def _add(self, run: _Run, block: bytes, count: int) -> None:
        time = run.time
        self.lines += count
        if block.startswith(b"{", run.start):
            for mark in _JSON_KERNEL_MARKS:
                self.kernel_marks += block.count(mark, run.start, run.stop)
        if time.stamp is None:
            self.untimed += count
            if time.uptime_only:
                self.uptime_only += count
                self.kernel_marks += count
            return
        hour = int(time.stamp.at.timestamp()) // _HOUR * _HOUR
        self.by_hour[hour] = self.by_hour.get(hour, 0) + count
        if self.first_at is None:
            self.first_at = time.stamp.at
        self.last_at = time.stamp.at
        if count > 1:
            last = block[block.rfind(b"\n", run.start, run.stop) + 1 : run.stop]
            final = line_time(last, self._reference, self._patterns, with_journal=True).stamp
            self.last_at = final.at if final else self.last_at


def _run_end(block: bytes, start: int, end: int, time: LineTime) -> int:
    """Return where the run of lines that share the first one's hour ends."""
    if time.misfit is None:
        return end
    match = time.misfit.search(block, start)
    return len(block) if match is None else match.start()


def line_time(
    line: bytes,
    reference: datetime,
    patterns: dict[bytes, re.Pattern[bytes]],
    with_journal: bool,
) -> LineTime:
    """Return the outermost time of one line.

    Plain lines carry it at their start, after a priority or a bracket at most. JSON records carry
    `__REALTIME_TIMESTAMP`, else the first stamp under `log`, `message`, `time` or the like.

    Args:
        line: One line without its newline.
        reference: Gives stamps without a year theirs.
        patterns: Compiled patterns, shared between calls.
        with_journal: Whether any line nearby has a journal's time; if not, it isn't looked for.
    """
    if line.startswith(b"{"):
        return _json_time(line, reference, patterns, with_journal)
    if _UPTIME.match(line):
        return LineTime(None, uptime_only=True, misfit=_pattern(patterns, _UPTIME.pattern))
    if _STARTS.match(line) is None:
        return LineTime(None, misfit=_NEXT_START)
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    return _stamped(line, start, reference, patterns)


def _stamped(
    line: bytes, start: int, reference: datetime, patterns: dict[bytes, re.Pattern[bytes]]
) -> LineTime:
    found = stamp_at(line[start : start + _HEAD].decode("latin-1"), 0, reference)
    if found is None:
        return LineTime(None)
    stamp, length = found
    text = line[start : start + length]
    return LineTime(stamp, misfit=_same_hour(line[:start], text, stamp, reference, patterns))


def _json_time(
    line: bytes,
    reference: datetime,
    patterns: dict[bytes, re.Pattern[bytes]],
    with_journal: bool,
) -> LineTime:
    if with_journal and (match := _JOURNAL.search(line)):
        stamp = epoch(int(match["digits"]))
        if stamp is None:
            return LineTime(None)
        seconds = _seconds_of_hour(int(stamp.at.timestamp()))
        whole = rb'(?>\{[^\n]*?"__REALTIME_TIMESTAMP" ?: ?")' + seconds + rb'\d{6}"'
        return LineTime(stamp, misfit=_pattern(patterns, whole))
    for match in _JSON_TIME.finditer(line):
        time = _stamped(line, match.end(), reference, patterns)
        if time.stamp is not None:
            return time._replace(misfit=None) if with_journal else time
        if (digits := _DIGITS.match(line, match.end())) and (stamp := epoch(int(digits[0]))):
            if with_journal or match.end() > _LONGEST_LEAD:
                return LineTime(stamp)
            rest = rb"\d{%d}(?!\d)" % (len(digits[0]) - 10)
            seconds = _seconds_of_hour(int(stamp.at.timestamp()))
            whole = re.escape(line[: match.end()]) + seconds + rest
            return LineTime(stamp, misfit=_pattern(patterns, whole))
    return LineTime(None)


def _same_hour(
    lead: bytes,
    text: bytes,
    stamp: Stamp,
    reference: datetime,
    patterns: dict[bytes, re.Pattern[bytes]],
) -> re.Pattern[bytes] | None:
    """Return what finds the next line whose stamp is not of this form and hour."""
    match = _CLOCK.fullmatch(text)
    if match is None or len(lead) > _LONGEST_LEAD or b"\n" in lead:
        return None
    fraction = _same_fraction(match["fraction"])
    guard = b"" if match["after"] else _NO_ZONE
    whole = re.escape(lead + match["before"]) + _MINUTES + fraction + re.escape(match["after"])
    whole += guard + rb"(?![\w:])"
    if whole not in patterns and not _is_one_hour(match, stamp, reference):
        return None
    return _pattern(patterns, whole)


def _is_one_hour(match: re.Match[bytes], stamp: Stamp, reference: datetime) -> bool:
    """Say whether every minute of the hour as printed lies in one hour of UTC and one year."""
    first, last = (
        stamp_at((match["before"] + edge + match["after"]).decode("latin-1"), 0, reference)
        for edge in (b"00:00", b"59:59")
    )
    if first is None or last is None or last[0].at - first[0].at >= timedelta(hours=1):
        return False
    # A zone of half an hour has hours that are not ours.
    return first[0].at.minute == 0 and first[0].at.hour == stamp.at.hour


def _same_fraction(fraction: bytes | None) -> bytes:
    """Return the fraction a writer prints: milli- and microseconds keep their width."""
    if not fraction:
        return rb"(?![.,]\d)"
    digits = len(fraction) - 1
    return rb"[.,]\d{%d}" % digits if digits in {3, 6} else rb"[.,]\d{1,9}"


def _pattern(patterns: dict[bytes, re.Pattern[bytes]], whole: bytes) -> re.Pattern[bytes]:
    found = patterns.get(whole)
    if found is None:
        if len(patterns) >= MOST_PATTERNS:
            patterns.clear()
        found = patterns[whole] = re.compile(rb"\n(?!" + whole + rb")")
    return found


def _seconds_of_hour(second: int) -> bytes:
    """Return a pattern for the ten digits of every second in the same hour."""
    start = second // _HOUR * _HOUR
    return b"(?:" + b"|".join(_digit_ranges(start, start + _HOUR - 1)) + b")"


def _digit_ranges(first: int, last: int) -> list[bytes]:
    """Return patterns that together fit the numbers of a range, in blocks of powers of ten."""
    ranges: list[bytes] = []
    while first <= last:
        size = 1
        while first % (size * 10) == 0 and first + size * 10 - 1 <= last:
            size *= 10
        free = len(str(size)) - 1
        ranges.append(str(first // size).encode() + rb"\d" * free)
        first += size
    return ranges


def as_hour(seconds: int) -> datetime:
    """Return an hour key as a time."""
    return datetime.fromtimestamp(seconds, UTC)
