"""The recurring lines of a log: lines that differ only in their numbers share a shape."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from gpuvet.errors import UsageError
from gpuvet.simulate.clock import Clock, Form, form_of, read_time
from gpuvet.simulate.log_lines import SAMPLE_LINES, Block, blocks, looks_like_console, own_line

MAX_SHAPES = 4000
MAX_TEXT = 2000  # characters of a line that are looked at
NUMBER = re.compile(
    r"(?<![A-Za-z_])[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|nan|inf)(?![A-Za-z_])|\d+"
)


class TimedLine(NamedTuple):
    """One line of local rank 0."""

    number: int
    at: float  # seconds from the start of the stage
    text: str  # without line end; cut at MAX_TEXT
    body: int  # column behind the stamp


class Part(NamedTuple):
    """A line cut into the text before each number, the numbers, and the text behind."""

    literals: tuple[str, ...]  # one more than numbers
    numbers: tuple[str, ...]


@dataclass(slots=True)
class Shape:
    """Every line of one shape."""

    example: str  # the first such line, from its body on
    first_number: int
    times: array[float] = field(default_factory=lambda: array("d"))

    @property
    def count(self) -> int:
        """Lines of this shape."""
        return len(self.times)


class LogReading(NamedTuple):
    """A log and how to read it; `lines` can be walked again and again."""

    opener: Callable[[], BinaryIO]
    form: Form
    start: float | None
    console: bool

    def lines(self) -> Iterator[TimedLine]:
        """Yield local rank 0's lines with their time from the start of the stage."""
        clock, start, now = Clock(self.form), self.start, 0.0
        with self.opener() as log:
            for block in blocks(log):
                for number, raw in enumerate(block.lines, block.first_line):
                    line = own_line(raw) if self.console else raw
                    if line is None:
                        continue
                    stamp = clock.seconds(raw)
                    if stamp is not None:
                        start = stamp if start is None else start
                        now = max(now, stamp - start)
                    cut = len(raw) - len(line)
                    body = max(clock.stamp_end - cut, 0) if stamp is not None else 0
                    yield TimedLine(number, now, line[:MAX_TEXT].rstrip("\n"), min(body, len(line)))


def open_log(
    opener: Callable[[], BinaryIO], *, console: bool | None, stage_start: str | None
) -> LogReading:
    """Return a log ready to be walked.

    Raises:
        UsageError: it is empty or carries no time stamps, or the stage's start is no time.
    """
    with opener() as log:
        first = next(blocks(log), Block([], "", 1, 0))
    form = form_of(first.lines[:SAMPLE_LINES])
    if form is None:
        raise UsageError(
            "the log carries no time stamps, so nothing can be measured; log with a stamp in front "
            "of each line (logging format %(asctime)s), or fetch it with kubectl logs --timestamps"
        )
    start = read_time(stage_start, form) if stage_start is not None else None
    if stage_start is not None and start is None:
        raise UsageError(f"stage start {stage_start[:60]!r} is not a time")
    is_console = looks_like_console(first.lines) if console is None else console
    return LogReading(opener, form, start, is_console)


def parted(body: str) -> Part:
    """Cut a line at its numbers."""
    literals: list[str] = []
    numbers: list[str] = []
    at = 0
    for match in NUMBER.finditer(body):
        literals.append(body[at : match.start()])
        numbers.append(match[0])
        at = match.end()
    return Part((*literals, body[at:]), tuple(numbers))


def shapes_of(reading: LogReading) -> dict[str, Shape]:
    """Return the shapes of a log; past 4,000 of them, new ones are not taken up."""
    shapes: dict[str, Shape] = {}
    for line in reading.lines():
        body = line.text[line.body :]
        key = NUMBER.sub("#", body)
        shape = shapes.get(key)
        if shape is None:
            if len(shapes) >= MAX_SHAPES:
                continue
            shape = shapes[key] = Shape(body, line.number)
        shape.times.append(line.at)
    return shapes
