"""Scans a log file of any size once: lines per hour, and the lines worth parsing.

Pure but for reading the file object it is given. Memory stays bounded by the block, the longest
line kept and the most candidates, whatever the file holds.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.coverage import HourCount
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.scan_hours import HourCounts, as_hour
from gpuvet.parse.scan_needles import Hit, hits

BLOCK = 512 << 10  # bytes read at once: each is searched many times, so it should fit a cache
LONGEST_LINE = 16 << 20  # bytes of one line that are looked at; the middle of a longer one is not
MOST_CANDIDATES = 200_000
MOST_TEXT = 16 << 10  # bytes of one candidate that are kept, around what made it one
_KEPT_HEAD = 64 << 10
_BEFORE_NEEDLE = 4 << 10
ENOUGH_KERNEL_MARKS = 10_000  # a stream carries the kernel or not; more need no counting
_KERNEL_MARK = b" kernel: "


class Scan(Value):
    """What one pass over a file found."""

    size: int = 0  # bytes
    lines: int = 0  # all lines, empty ones too
    hours: tuple[HourCount, ...] = ()  # hours that have lines, in order
    untimed: int = 0  # lines without a wall time; they stand in no hour
    uptime_only: int = 0  # of those: lines that have the kernel's uptime instead
    # Kernel markers of syslog and journald, and uptime lines; counted up to `ENOUGH_KERNEL_MARKS`.
    kernel_marks: int = 0
    first_at: AwareDatetime | None = None  # of the first line that has a time, in file order
    last_at: AwareDatetime | None = None
    candidates: tuple[RawLine, ...] = ()
    candidates_dropped: int = 0  # beyond the most kept: their events are not known
    cut_lines: int = 0  # lines too long to be looked at whole
    nul_bytes: int = 0
    invalid_utf8: int = 0  # bad sequences

    @property
    def has_hours(self) -> bool:
        """False where no line carries a wall time, so that no hour can be claimed."""
        return bool(self.hours)


class _Tally:
    """What the blocks so far came to."""

    def __init__(self, reference: datetime, most_candidates: int) -> None:
        self.hours = HourCounts(reference)
        self.candidates: list[RawLine] = []
        self.dropped = self.size = self.cut_lines = self.nul_bytes = self.invalid = self.marks = 0
        self._most = most_candidates

    def take(self, block: bytes) -> None:
        self.hours.take(block, self._keep(block, self.hours.lines))
        if self.marks < ENOUGH_KERNEL_MARKS:
            self.marks += block.count(_KERNEL_MARK)
        if b"\0" in block:
            self.nul_bytes += block.count(0)
        if not block.isascii():
            self.invalid += _bad_sequences(block)

    def _keep(self, block: bytes, lines_before: int) -> int:
        """Keep a block's candidates; return how many newlines it holds."""
        seen = newlines = 0
        for hit in hits(block):
            newlines += block.count(b"\n", seen, hit.start)
            seen = hit.start
            if len(self.candidates) < self._most:
                self.candidates.append(RawLine(_text(block, hit), lines_before + newlines + 1))
            else:
                self.dropped += 1
        return newlines + block.count(b"\n", seen)


def scan(
    file: BinaryIO,
    *,
    reference_time: datetime,
    block_bytes: int = BLOCK,
    most_candidates: int = MOST_CANDIDATES,
) -> Scan:
    """Return the lines per hour of a log and the lines worth parsing, in one pass.

    Args:
        file: A binary file at its start; it is read to its end and not closed.
        reference_time: Latest plausible time of a line; gives stamps without a year theirs.
        block_bytes: Bytes read at once.
        most_candidates: Candidate lines kept; further ones are counted.

    Returns:
        Hours are those of each line's outermost time (see `line_time`). Pass `candidates` to
        `parse_lines` for what they say.
    """
    tally = _Tally(reference_time, most_candidates)
    for block in _blocks(file, block_bytes, tally):
        tally.take(block)
    hours = tally.hours
    return Scan(
        size=tally.size,
        lines=hours.lines,
        hours=tuple(
            HourCount(hour=as_hour(hour), lines=lines)
            for hour, lines in sorted(hours.by_hour.items())
        ),
        untimed=hours.untimed,
        uptime_only=hours.uptime_only,
        kernel_marks=min(tally.marks + hours.kernel_marks, ENOUGH_KERNEL_MARKS),
        first_at=hours.first_at,
        last_at=hours.last_at,
        candidates=tuple(tally.candidates),
        candidates_dropped=tally.dropped,
        cut_lines=tally.cut_lines,
        nul_bytes=tally.nul_bytes,
        invalid_utf8=tally.invalid,
    )


def _blocks(file: BinaryIO, block_bytes: int, tally: _Tally) -> Iterator[bytes]:
    """Yield blocks of whole lines, without the newline that ends each block."""
    rest = b""
    cut = False
    while chunk := file.read(block_bytes):
        tally.size += len(chunk)
        end = chunk.rfind(b"\n")
        if end < 0:
            rest += chunk
            if len(rest) > LONGEST_LINE:  # keep the head; the middle is given up
                rest = rest[:_KEPT_HEAD]
                tally.cut_lines += not cut
                cut = True
            continue
        yield b"".join((rest, memoryview(chunk)[:end]))
        rest, cut = chunk[end + 1 :], False
    if rest:
        yield rest


def _text(block: bytes, hit: Hit) -> str:
    start, end = hit.start, hit.end
    if end - start > MOST_TEXT:
        start = max(start, hit.needle - _BEFORE_NEEDLE)
        end = min(end, start + MOST_TEXT)
    return block[start:end].decode("utf-8", errors="replace").rstrip("\r\n")


def _bad_sequences(block: bytes) -> int:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        text = block.decode("utf-8", errors="replace")
        return text.count("\ufffd") - block.count("\ufffd".encode())
    return 0
