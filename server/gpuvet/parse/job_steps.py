"""Step lines of a training job, in the shapes that frameworks print, as points of step time.

Pure. A line counts only when it names a step (or a rate per step) and how long a step took.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from gpuvet.model.job_steps import StepPoint
from gpuvet.parse.times import leading_stamp
from gpuvet.parse.untrusted import clean

_MOST_CHARACTERS = 2_000  # ours: of one line that are searched
_LONGEST_STEP = 86_400.0  # ours: a longer "step time" is something else
_LEAD = 96  # ours: how far into a line its own time may begin

_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?(?:[eE][-+]?\d{1,2})?)"
_UNIT = r"\s*(ms|msecs?|milliseconds?|s|secs?|seconds?)?(?![\w/])"
_SEP = r"[\"']?\s*[:=]?\s*"
_STEP = re.compile(
    r"(?<![\w.])(?:global[_ ]?|train(?:ing)?[_ ]?)?(?:step|iteration|iter|batch)"
    rf"{_SEP}#?\s*\[?\s*(\d[\d,]{{0,11}})",
    re.IGNORECASE,
)
_SAYS_STEP = re.compile(r"step|(?<![a-z])(?:iter|batch|it)(?![a-z])|iteration", re.IGNORECASE)
_OF_STEPS = re.compile(r"(?<![\w.])(\d{1,12})/\d{1,12}\s*\[")  # tqdm: 41200/100000 [1:02:03<…


class _Shape(NamedTuple):
    pattern: re.Pattern[str]
    seconds: Callable[[re.Match[str]], float]


def _in_seconds(found: re.Match[str]) -> float:
    return float(found[1]) * (0.001 if (found[2] or "s").startswith("m") else 1.0)


def _inverse(found: re.Match[str]) -> float:
    rate = float(found[1])
    return 1 / rate if rate > 0 else 0.0


def _shape(pattern: str, seconds: Callable[[re.Match[str]], float] = _in_seconds) -> _Shape:
    return _Shape(re.compile(pattern, re.IGNORECASE), seconds)


# First match decides; the more a shape says of itself, the earlier it stands.
_SHAPES = (
    # Megatron-LM: "elapsed time per iteration (ms): 4021.3"
    _shape(rf"elapsed time per iteration \((ms)\)\s*:\s*{_NUMBER}", lambda m: float(m[2]) / 1000),
    # step time (ms): 3200, train_step_timing in s=3.2, step_time_ms: 3200; then step_time 3.2s
    _shape(
        rf"(?:step|iter(?:ation)?|batch)[_ -]?(?:time|timing|duration)(?:[_ ]in)?[_ ]?\s*"
        rf"[(\[]?(ms|s)[)\]]?{_SEP}{_NUMBER}(?![\w/.])",
        lambda m: float(m[2]) * (0.001 if m[1].lower() == "ms" else 1.0),
    ),
    _shape(
        rf"(?:step|iter(?:ation)?|batch)[_ -]?(?:time|timing|duration|took){_SEP}{_NUMBER}{_UNIT}"
    ),
    _shape(rf"{_SEP}(?:sec(?:ond)?s?)[_ ]per[_ ](?:step|iter(?:ation)?){_SEP}{_NUMBER}()?"),
    # 1.10s/it, 1.10 s/step, 890 ms/iter
    _shape(rf"(?<![\w.]){_NUMBER}\s*(ms|s|secs?|seconds?)/(?:it|iter|iteration|step|batch)\b"),
    # 0.91it/s, 0.91 steps/s
    _shape(
        rf"(?<![\w.]){_NUMBER}\s*(?:it|iters?|iterations?|steps?|batch(?:es)?)/s(?:ec)?\b", _inverse
    ),
    _shape(rf"(?:steps|iters?|iterations)[_ ]per[_ ]sec(?:ond)?{_SEP}{_NUMBER}", _inverse),
    # step 41300 time 4.02s; iter 0: …, time 1234.56ms; Step 100 took 4.02 s
    _shape(rf"(?<![\w.])(?:time|took|elapsed|dt){_SEP}{_NUMBER}\s*(ms|s|secs?|seconds?)(?![\w/])"),
)


class JobLine(NamedTuple):
    """One line of a job's output, with its place."""

    text: str
    source: str  # file or stream
    line: int
    shipped_at: datetime | None = None
    evidence: str | None = None


def step_points(lines: Iterable[JobLine], *, reference: datetime) -> tuple[StepPoint, ...]:
    """Return a point for every step line that has a time, in order of time.

    Args:
        lines: The job's output.
        reference: The latest time a stamp without a year can plausibly have.
    """
    found = {point: None for line in lines if (point := step_point(line, reference)) is not None}
    return tuple(sorted(found, key=lambda p: (p.at, p.source, p.line)))


def step_point(line: JobLine, reference: datetime) -> StepPoint | None:
    """Return the step a line tells of, or None where it tells of none, or of no time."""
    text = line.text[:_MOST_CHARACTERS]
    seconds = _seconds(text)
    if seconds is None:
        return None
    at = line_time(line, reference)
    if at is None:
        return None
    found = _STEP.search(text) or _OF_STEPS.search(text)
    return StepPoint(
        at=at,
        step=int(found[1].replace(",", "")) if found else None,
        seconds=seconds,
        source=line.source,
        line=line.line,
        raw=clean(line.text),
        evidence=line.evidence,
    )


def _seconds(text: str) -> float | None:
    if not _SAYS_STEP.search(text):
        return None
    for shape in _SHAPES:
        found = shape.pattern.search(text)
        if found is not None:
            seconds = shape.seconds(found)
            return seconds if 0 < seconds <= _LONGEST_STEP else None
    return None


_TIME_BEGINS = re.compile(r"(?<![\w.])\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d")


def line_time(line: JobLine, reference: datetime) -> datetime | None:
    """Return when a job line was printed: its own time, else when it was shipped, else None."""
    stamp, _ = leading_stamp(line.text, reference)
    if stamp is None:
        inner = _TIME_BEGINS.search(line.text[:_LEAD])
        stamp = leading_stamp(line.text[inner.start() :], reference)[0] if inner else None
    return stamp.at if stamp is not None else line.shipped_at
