"""Which lines of a run are worth watching, and patterns that meet them.

Patterns are built out of escaped text and numbers, so none of them can run away.
"""

import re
from typing import NamedTuple

from gpuvet.errors import UsageError
from gpuvet.simulate.line_shapes import Part, Shape, parted

_LEAST_STEPS = 5
_LEAST_VALUES = 10
_SPECIAL = re.compile(r"([\\.^$*+?{}\[\]|()])")
_NUMBER_GROUP = r"(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
_STEP = re.compile(
    r"(?:global_?step|step|iter(?:ation)?|batch|epoch|update)s?\W{0,4}\Z", re.IGNORECASE
)
_STEP_WORD = re.compile(r"step|iter|batch|epoch|update", re.IGNORECASE)
_LOSS = re.compile(
    r"(?<!\w)[\w./-]*loss(?:_?(?:step|avg|mean|train|value))*['\"]?\W{0,4}\Z", re.IGNORECASE
)
_NOT_LOSS = re.compile(r"scal|eval|val_|valid|test", re.IGNORECASE)
_SPEED_BEFORE = re.compile(
    r"(?:tflops?\w*|throughput|samples?(?:/|_per_)s\w*|tok(?:en)?s?(?:/|_per_)s\w*|speed|mfu|"
    r"images?(?:/|_per_)s\w*|words?_per_s\w*)(?:/gpu)?(?: per \w+)?(?: ?\([^()]{1,20}\))?"
    r"['\"]?\W{0,4}\Z",
    re.IGNORECASE,
)
_SPEED_AFTER = re.compile(
    r"\A\s?(?:tflops?|samples?/s|tok(?:en)?s?/s|images?/s|words?/s|seq/s)", re.IGNORECASE
)
_TIME_BEFORE = re.compile(
    r"(?:(?:step|iter(?:ation)?|batch)[ _]?time(?:_?ms)?|time[ _]per[ _](?:step|iteration|batch)|"
    r"ms/step)(?: ?\(\w{1,8}\))?['\"]?\W{0,4}\Z",
    re.IGNORECASE,
)
CHECKPOINT = re.compile(r"checkpoint|ckpt", re.IGNORECASE)
_SAVED = re.compile(r"sav|finali|commit|complet|writ|stored|upload|done", re.IGNORECASE)
_FINISHED = re.compile(r"saved|finali|commit|complet|written|stored|done", re.IGNORECASE)
EVALUATION = re.compile(r"\beval|validat", re.IGNORECASE)
_END = re.compile(
    r"train\w*(?: \w+)? (?:is )?(?:complet|finish|done|end|over)|(?:finish|complet)\w* train|"
    r"all epochs|max_?steps reached|job (?:complet|finish|done)",
    re.IGNORECASE,
)


class Watched(NamedTuple):
    """A line to watch: its pattern, and where its numbers stand."""

    pattern: str
    shape: Shape
    part: Part


class Metric(NamedTuple):
    """A number of the step line."""

    kind: str  # loss, throughput, time
    label: str
    pattern: str
    nan_pattern: str | None = None


def step_line(shapes: dict[str, Shape]) -> Watched:
    """Return the line that recurs most and speaks of steps or loss."""
    best: tuple[float, Shape] | None = None
    for shape in shapes.values():
        part = parted(shape.example)
        if shape.count < _LEAST_STEPS or not part.numbers:
            continue
        score = float(shape.count)
        if any(_LOSS.search(literal) for literal in part.literals[:-1]):
            score *= 4
        if any(_STEP_WORD.search(literal) for literal in part.literals[:-1]):
            score *= 2
        if CHECKPOINT.search(shape.example) or EVALUATION.search(shape.example):
            score /= 8
        if best is None or score > best[0]:
            best = score, shape
    if best is None:
        raise UsageError(
            f"no line with a number recurs {_LEAST_STEPS} times: give the stdout of a run that "
            "logs its steps"
        )
    shape = best[1]
    part = parted(shape.example)
    return Watched(_step_pattern(part, shapes, shape), shape, part)


def _step_pattern(part: Part, shapes: dict[str, Shape], shape: Shape) -> str:
    """Return the shortest pattern from the step's word on that meets no other recurring line."""
    first = _first_word(part)
    pattern = ""
    for last in range(first, len(part.numbers)):
        pattern = ".*" + _tail(part.literals[first])
        pattern += "".join(
            rf"\d+{_escape(part.literals[index])}" for index in range(first + 1, last + 1)
        )
        counter = re.fullmatch(r"\d+", part.numbers[last]) is not None
        pattern += r"\d+" if counter else ""
        if not counter or not _meets_others(pattern, shapes, shape):
            break
    return pattern


def _first_word(part: Part) -> int:
    """Return which number the step's word stands before, else the first with any word."""
    for wanted in (_STEP, _LOSS, re.compile(r"[A-Za-z]{2,}\W{0,4}\Z")):
        for index in range(len(part.numbers)):
            if wanted.search(part.literals[index]):
                return index
    return 0


def _meets_others(pattern: str, shapes: dict[str, Shape], own: Shape) -> bool:
    compiled = re.compile(pattern)
    return any(
        each is not own and each.count > 1 and compiled.match(each.example)
        for each in shapes.values()
    )


def _escape(text: str) -> str:
    """Return literal text as a pattern; tabs are any blank, other control characters any one."""
    text = _SPECIAL.sub(r"\\\1", text).replace("\t", r"\s")
    return "".join(char if char.isprintable() else "." for char in text)


def _tail(literal: str, most: int = 32) -> str:
    """Return the end of a literal, from a word's beginning, as a pattern."""
    if len(literal) > most:
        cut = literal[-most:]
        word = re.search(r"(?<=[^\w])[\w\[({'\"]", cut)
        literal = cut[word.start() :] if word else cut
    return _escape(literal.lstrip())


def metrics_of(shapes: dict[str, Shape], step: Watched) -> list[Metric]:
    """Return loss, throughput or step time, one of each; the step line is looked at first."""
    others = sorted(
        (
            each
            for each in shapes.values()
            if each is not step.shape and each.count >= _LEAST_VALUES
        ),
        key=lambda each: -each.count,
    )
    found: dict[str, Metric] = {}
    for shape in (step.shape, *others):
        if CHECKPOINT.search(shape.example) or EVALUATION.search(shape.example):
            continue
        part = parted(shape.example)
        for before, after in zip(part.literals, part.literals[1:], strict=False):
            kind = _kind(before, after)
            if kind and kind not in found:
                found[kind] = _metric(kind, before, after)
    if "throughput" in found:
        found.pop("time", None)
    return list(found.values())


def _kind(before: str, after: str) -> str | None:
    if _LOSS.search(before) and not _NOT_LOSS.search(before[-24:]):
        return "loss"
    if _SPEED_BEFORE.search(before) or _SPEED_AFTER.match(after):
        return "throughput"
    return "time" if _TIME_BEFORE.search(before) else None


def _metric(kind: str, before: str, after: str) -> Metric:
    literal = _tail_with_separator(before)
    unit = re.match(r"\A\s?[A-Za-z/]{2,12}", after)
    behind = _escape(unit[0]) if unit and kind == "throughput" else ""
    label = re.sub(r"\W+\Z", "", before).rsplit(" ", 1)[-1].strip("'\"{[(,") or kind
    nan = f".*{literal}(?:nan|NaN|inf|Infinity)" if kind == "loss" else None
    return Metric(kind, f"{kind} {label}"[:60], f".*{literal}{_NUMBER_GROUP}{behind}", nan)


def _tail_with_separator(literal: str) -> str:
    """Return the end of a literal with the separator before its last word: `, loss: `."""
    tail = literal[-32:]
    match = re.search(r"(?:[^\w./-]|\A)[\w./-]+['\"]?\W{0,4}\Z", tail)
    return _escape(match[0] if match else tail)


def _around(literal: str, word: re.Pattern[str]) -> str:
    """Return the words around a keyword, as a pattern."""
    match = word.search(literal)
    at = match.start() if match else 0
    start = max(literal.rfind(" ", 0, max(at - 1, 0)), -1) + 1
    stop = at + 40
    if len(literal) > stop:
        stop = max(literal.rfind(" ", at, stop), at + 10)
    return _escape(literal[start:stop].strip())


def end_line(shapes: dict[str, Shape], step: Watched) -> str | None:
    """Return a pattern for the one line that ends training, when it comes behind the last step."""
    last_step = step.shape.times[-1]
    compiled = re.compile(step.pattern)
    for shape in shapes.values():
        is_end = shape.count == 1 and shape.times[0] >= last_step
        match = _END.search(shape.example) if is_end else None
        if match and compiled.match(shape.example) is None:
            end = shape.example.find(" ", match.end())
            return ".*" + _escape(shape.example[match.start() : end if end > 0 else None][:60])
    return None


def checkpoint_line(shapes: dict[str, Shape]) -> tuple[Shape, str] | None:
    """Return the recurring line of a finished checkpoint with its pattern."""
    found = [
        shape
        for shape in shapes.values()
        if shape.count >= 3 and CHECKPOINT.search(shape.example) and _SAVED.search(shape.example)
    ]
    if not found:
        return None
    shape = max(found, key=lambda each: (bool(_FINISHED.search(each.example)), each.count))
    literals = parted(shape.example).literals
    literal = next((each for each in literals if CHECKPOINT.search(each)), "")
    return (shape, ".*" + _around(literal, CHECKPOINT)) if literal else None


def cause_of(text: str) -> str:
    """Return why training pauses around a line: checkpoint, evaluation, or nothing known."""
    if CHECKPOINT.search(text):
        return "checkpoint"
    return "evaluation" if EVALUATION.search(text) else ""
