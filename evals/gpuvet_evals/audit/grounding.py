"""Each id and number of an answer traced to where the run read it. Pure.

Left out: numbers of one digit, dates, clock times, numbers of list items. A figure is supported
when the same value occurs in a tool result or in the prompt: 1,874 and 1874.0 are the same, 96.4
and 96.39 are not.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet_evals.calls import ToolCall
from gpuvet_evals.journal import Journal


class Backing(StrEnum):
    """Where a figure comes from, best first."""

    RAW = "raw"  # a tool's own result
    PROMPT = "prompt"
    SECOND_HAND = "second_hand"  # only a model's report of a result: a distill, a subagent
    LOST = "lost"  # not in the journal, which leaves out the end of a large result
    UNSUPPORTED = "unsupported"


_ORDER = {backing: place for place, backing in enumerate(Backing)}


class Trace(Value):
    """One figure of the answer and its backing."""

    shown: str
    kind: str  # number, id or name
    backing: Backing
    record_id: str | None
    offset: int  # where it stands in the answer


class Grounding(Value):
    """The lists of the results."""

    unsupported_numbers: tuple[str, ...]
    unsupported_ids: tuple[str, ...]
    supported_ids: tuple[str, ...]


@dataclass(slots=True)
class _Source:
    """Text that can back a figure; decoded only when its raw form holds the figure."""

    backing: Backing
    record_id: str
    raw: str
    result: object
    decoded: str | None = None

    @property
    def text(self) -> str:
        if self.decoded is None:
            self.decoded = str(getattr(self.result, "text", self.result))
        return self.decoded


MAX_GROUPED = 18  # digits of a number that some text may write in groups
MAX_FIGURES = 2000  # of one answer; the rest is not traced
_ID = re.compile(r"(?<![A-Za-z0-9])[a-z]{1,14}-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9A-Za-z])")
_PCI = r"\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b"
_UUID = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
# What is told apart from numbers: times, then everything whose digits are part of a name.
_TIMES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?"
    r"(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
    r"|\b\d{4}/\d{2}/\d{2}\b"
    r"|(?<![\w:])\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?![\d:])\s?(?:Z|UTC|[ap]m)?"
    r"|\b\d{4}-\d{2}(?:-\d{2})?\b"
    r"|\b(?:\d{1,2}(?:st|nd|rd|th)?\s)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
    r"\s\d{1,4}(?:st|nd|rd|th)?(?:,?\s\d{4})?\b"
    r"|\b\d{1,2}\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b"
)
_NAME = re.compile(
    rf"{_UUID}|{_PCI}"
    r"|\barn:aws[^\s`'\"<>|,;]{0,400}[^\s`'\"<>|,;.)\]]"  # ARNs
    r"|(?<![\w.])/[\w.+-]{1,80}(?:/[\w.@:+=#-]{1,120}){1,12}"  # paths and log groups
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?\b"  # addresses
    r"|\b[A-Za-z][\w-]{0,60}(?:[./:][\w-]{1,60}){0,6}\d[\w-]*(?:[./:][\w-]+)*"  # ml.p5.48xlarge
    r"|\b[A-Za-z]\w{0,60}(?:[-/._:]\w{1,60}){0,6}[-/._:]\d\w*(?:[-/._:]\w+)*"  # us-east-2
    r"|\bv\d+(?:\.\d+)+\b"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?:\d+(?:\.\d+){2,}|(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)"
    r"(?!\w*[-_/]\w*[A-Za-z])"
)
_FIGURE = re.compile(
    rf"(?<!\w)(?:(?P<time>{_TIMES.pattern})|(?P<name>{_NAME.pattern})|(?P<number>{_NUMBER.pattern}))"
)
_TAIL = re.compile(r"(?:\.(\d+))?(?!\d|,\d{3}|\.\d)")
_DIGITS = re.compile(r"\d+")
_TWO_DIGITS = re.compile(r"\d{2}")
_DATE_BEFORE = re.compile(r"(?<!\d)\d{4}-(?:\d{2}-)?\Z")
_NAME_BEFORE = re.compile(r"[A-Za-z][\w.-]*-\Z")
_TIME_AFTER = re.compile(r":\d{2}|-\d{2}-\d{2}(?!\d)")
_LARGE_RESULT = "## Large Tool Result"


def trace_answer(journal: Journal, calls: Sequence[ToolCall], answer: str) -> tuple[Trace, ...]:
    """Return every id, name and number of the answer with its backing, in reading order."""
    if not answer:
        return ()
    sources = _sources(journal, calls)
    lossy = any(_LARGE_RESULT in source.raw for source in sources)
    # A number the user gave needs no further evidence; an id is traced to a tool where it can be.
    given_first = sorted(sources, key=lambda source: source.backing is not Backing.PROMPT)
    traces = [
        _trace(f, given_first if f.kind == "number" else sources, lossy=lossy)
        for f in _figures(answer)
    ]
    return tuple(sorted(traces, key=lambda trace: trace.offset))


def grounding_of(traces: Sequence[Trace]) -> Grounding:
    """Return the lists the results hold, each value once, in reading order."""
    return Grounding(
        unsupported_numbers=_shown(traces, "number", unsupported=True),
        unsupported_ids=_shown(traces, "id", unsupported=True),
        supported_ids=_shown(traces, "id", unsupported=False),
    )


def _shown(traces: Sequence[Trace], kind: str, *, unsupported: bool) -> tuple[str, ...]:
    wanted = (Backing.UNSUPPORTED,) if unsupported else (
        Backing.RAW, Backing.PROMPT, Backing.SECOND_HAND)  # fmt: skip
    return tuple(dict.fromkeys(t.shown for t in traces if t.kind == kind and t.backing in wanted))


@dataclass(frozen=True, slots=True)
class _Figure:
    shown: str
    kind: str
    offset: int


def _figures(answer: str) -> Iterator[_Figure]:
    """Yield ids, names and numbers, each value once, in reading order within a stretch."""
    seen: set[str] = set()
    for start, end in _stretches(answer):
        for figure in _figures_of(answer[start:end], start):
            if _is_list_number(figure, answer):
                continue
            if figure.shown not in seen and len(seen) < MAX_FIGURES:
                seen.add(figure.shown)
                yield figure


def _is_list_number(figure: _Figure, answer: str) -> bool:
    """Whether a number only counts the items of an ordered list: `10. Restart the agent`."""
    end = figure.offset + len(figure.shown)
    if figure.kind != "number" or answer[end : end + 2] not in {". ", ") "}:
        return False
    line = answer.rfind("\n", 0, figure.offset) + 1
    return not answer[line : figure.offset].strip(" \t>")


def _stretches(answer: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of words with digits and their neighbours: nothing else can hold a figure."""
    start, end = 0, -1
    for match in _DIGITS.finditer(answer):
        if match.start() < end:
            continue
        left, right = _word_before(answer, match.start()), _word_after(answer, match.end())
        if left > end:
            if end >= 0:
                yield start, end
            start = left
        end = right
    if end >= 0:
        yield start, end


def _word_before(text: str, at: int) -> int:
    """Return where the word before the one at `at` starts, on the same line."""
    line = text.rfind("\n", 0, at) + 1
    own = text.rfind(" ", line, at)
    return max(line, text.rfind(" ", line, own) + 1) if own > line else line


def _word_after(text: str, at: int) -> int:
    """Return where the word after the one at `at` ends, on the same line."""
    line = text.find("\n", at)
    line = len(text) if line < 0 else line
    own = text.find(" ", at, line)
    following = text.find(" ", own + 1, line) if own >= 0 else -1
    return following if following >= 0 else line


def _figures_of(stretch: str, offset: int) -> Iterator[_Figure]:
    """Yield ids wherever they stand, then names and numbers of what is left."""
    rest = stretch
    for match in _ID.finditer(stretch):
        yield _Figure(match[0], "id", offset + match.start())
        rest = f"{rest[: match.start()]}{' ' * len(match[0])}{rest[match.end() :]}"
    for match in _FIGURE.finditer(rest):
        kind = match.lastgroup
        if kind != "time" and _is_figure(kind or "", match[0]):
            yield _Figure(match[0], kind or "", offset + match.start())


def _is_figure(kind: str, shown: str) -> bool:
    """Whether a name or a number has two digits or more."""
    if kind == "number":
        whole, _, decimals = shown.replace(",", "").partition(".")
        return len(whole) > 1 or bool(decimals.rstrip("0"))  # 5.0 is a number of one digit
    return _TWO_DIGITS.search(shown) is not None


def _sources(journal: Journal, calls: Sequence[ToolCall]) -> list[_Source]:
    """Return what can back a figure, best first."""
    sources: list[_Source] = []
    for call in calls:
        backing = _backing_of(call)
        # A summary and the result after it say the same, but for skills, where it says "Done".
        results = call.results if call.block_type == "load_skill" else call.results[:1]
        sources.extend(_Source(backing, r.record.record_id, r.record.content, r) for r in results)
    for record in journal.records:
        if record.kind == "message":
            if '"tool_result"' not in record.content and record.role == "user":
                sources.append(_Source(Backing.PROMPT, record.record_id, record.content, record))
        elif record.kind in {"finding", "symptom", "ui_investigation_summary"}:
            sources.append(
                _Source(Backing.SECOND_HAND, record.record_id, record.content, record.content)
            )
    return sorted(sources, key=lambda source: _ORDER[source.backing])


def _backing_of(call: ToolCall) -> Backing:
    """A distill or a subagent's report is a model's text; everything else is the tool's own."""
    if call.tool in {"distill", "gather_context"} or call.block_type == "run_subagent":
        return Backing.SECOND_HAND
    if call.tool == "ask_user":
        return Backing.PROMPT
    return Backing.SECOND_HAND if call.label == "Running Distill" else Backing.RAW


def _trace(figure: _Figure, sources: Sequence[_Source], *, lossy: bool) -> Trace:
    is_value = figure.kind == "number" and figure.shown.count(".") < 2  # 570.133.20 is a version
    find = _value_finder(figure.shown) if is_value else _name_finder(figure.shown)
    found = next((source for source in sources if find(source)), None)
    missing = Backing.LOST if lossy else Backing.UNSUPPORTED
    return Trace(
        shown=figure.shown,
        kind=figure.kind,
        backing=found.backing if found else missing,
        record_id=found.record_id if found else None,
        offset=figure.offset,
    )


# The finders ask the raw form first, which needs no decoding.
def _name_finder(name: str) -> Callable[[_Source], bool]:
    return lambda source: name in source.raw and _holds_name(source.text, name)


def _value_finder(shown: str) -> Callable[[_Source], bool]:
    whole, _, decimals = shown.replace(",", "").partition(".")
    kept = decimals.rstrip("0")
    grouped = f"{int(whole):,}" if len(whole) <= MAX_GROUPED else whole
    if grouped == whole:
        return lambda source: whole in source.raw and _holds_value(source.text, whole, kept)
    return lambda source: (
        (whole in source.raw and _holds_value(source.text, whole, kept))
        or (grouped in source.raw and _holds_value(source.text, grouped, kept))
    )


def _holds_name(text: str, name: str) -> bool:
    """Whether a name stands in the text and not as a part of a longer word."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _is_word(text[at - 1 : at]) and not _is_word(text[end : end + 1]):
            return True
        at = text.find(name, at + 1)
    return False


def _holds_value(text: str, whole: str, decimals: str) -> bool:
    """Whether a number of this value stands in the text; `decimals` has no trailing zeros."""
    at = text.find(whole)
    while at >= 0:
        before = text[at - 1 : at]
        end = at + len(whole)
        starts = not (_is_word(before) or before in {".", ","}) or _ends_a_list(text, at)
        if starts and _decimals_at(text, end) == decimals and not _in_a_name(text, at, end):
            return True
        at = text.find(whole, at + 1)
    return False


def _in_a_name(text: str, at: int, end: int) -> bool:
    """Whether digits belong to a clock time, an ISO date or a name: ip-10-0-0-48 has no 48."""
    before = text[max(0, at - 40) : at]
    if before[-1:] == ":" and before[-2:-1].isdigit():
        return True
    if before[-1:] == "-" and (_DATE_BEFORE.search(before) or _NAME_BEFORE.search(before)):
        return True
    return _TIME_AFTER.match(text, end) is not None


def _ends_a_list(text: str, at: int) -> bool:
    """Whether the comma or stop before a number follows no digit, so that it is punctuation."""
    return text[at - 1 : at] in {".", ","} and not text[at - 2 : at - 1].isdigit()


def _decimals_at(text: str, at: int) -> str | None:
    """Return the decimals after a whole part, without trailing zeros; None inside a number."""
    match = _TAIL.match(text, at)
    if match is None:
        return None
    return (match[1] or "").rstrip("0")


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
