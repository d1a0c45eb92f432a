"""Each id and number of an answer traced to where the run read it. Pure.

Left out: numbers of one digit, dates and clock times. A figure is supported when the same value
occurs in a tool result or in the prompt: 1,874 and 1874.0 are the same, 96.4 and 96.39 are not.
"""

import re
from collections.abc import Iterator, Sequence
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


_ID = re.compile(r"(?<![A-Za-z0-9])[a-z]{1,14}-(?:[0-9a-f]{17}|[0-9a-f]{8})(?![0-9A-Za-z])")
_PCI = r"\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b"
_UUID = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
# What is blanked before numbers are read: times, then everything whose digits are part of a name.
_TIMES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?"
    r"(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
    r"|\b\d{4}/\d{2}/\d{2}\b"
    r"|(?<![\d:])\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?![\d:])\s?(?:Z|UTC|[ap]m)?"
    r"|\b\d{4}-\d{2}(?:-\d{2})?\b"
    r"|\b(?:\d{1,2}(?:st|nd|rd|th)?\s)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
    r"\s\d{1,4}(?:st|nd|rd|th)?(?:,?\s\d{4})?\b"
    r"|\b\d{1,2}\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b"
)
_NAME = re.compile(
    rf"{_UUID}|{_PCI}"
    r"|\barn:aws[^\s`'\"<>|,;]*[^\s`'\"<>|,;.)\]]"  # ARNs
    r"|(?<![\w.])/[\w.+-]+(?:/[\w.@:+=#-]+)+"  # paths and log groups
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?\b"  # addresses
    r"|\b[A-Za-z][\w-]*(?:[./:][\w-]+)*\d[\w-]*(?:[./:][\w-]+)*"  # ml.p5.48xlarge
    r"|\b[A-Za-z][\w]*(?:[-/._:]\w+)*[-/._:]\d\w*(?:[-/._:]\w+)*"  # us-east-2, ip-10-0-0-1
    r"|\bv\d+(?:\.\d+)+\b"
)
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w*[-_/]\w*[A-Za-z])")
_HAS_DIGITS = re.compile(r"\d{2}")
_LARGE_RESULT = "## Large Tool Result"


def trace_answer(journal: Journal, calls: Sequence[ToolCall], answer: str) -> tuple[Trace, ...]:
    """Return every id, name and number of the answer with its backing, in reading order."""
    if not answer:
        return ()
    sources = _sources(journal, calls)
    lossy = any(_LARGE_RESULT in source.raw for source in sources)
    traces = [_trace(figure, sources, lossy=lossy) for figure in _figures(answer)]
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
    """Yield ids, then names, then what is left of numbers, each value once."""
    rest = answer
    seen: set[str] = set()
    for kind, pattern in (("id", _ID), ("", _TIMES), ("name", _NAME), ("number", _NUMBER)):
        for match in pattern.finditer(rest):
            shown = match[0].strip()
            if not kind or shown in seen:
                continue
            if kind == "number" and not _HAS_DIGITS.search(shown.replace(".", "").replace(",", "")):
                continue
            if kind == "name" and not _HAS_DIGITS.search(shown):
                continue
            seen.add(shown)
            yield _Figure(shown, kind, match.start())
        if kind != "number":
            rest = pattern.sub(lambda m: " " * len(m[0]), rest)


def _sources(journal: Journal, calls: Sequence[ToolCall]) -> list[_Source]:
    sources: list[_Source] = []
    for call in calls:
        backing = _backing_of(call)
        sources.extend(
            _Source(backing, result.record.record_id, result.record.content, result)
            for result in call.results
        )
    for record in journal.records:
        if (
            record.kind == "message"
            and record.role == "user"
            and '"tool_result"' not in record.content
        ):
            sources.append(_Source(Backing.PROMPT, record.record_id, record.content, record))
        elif record.kind in {"finding", "symptom", "ui_investigation_summary"}:
            sources.append(
                _Source(Backing.SECOND_HAND, record.record_id, record.content, record.content)
            )
    order = list(Backing)
    return sorted(sources, key=lambda source: order.index(source.backing))


def _backing_of(call: ToolCall) -> Backing:
    """A distill or a subagent's report is a model's text; everything else is the tool's own."""
    if call.tool in {"distill", "gather_context"} or call.block_type == "run_subagent":
        return Backing.SECOND_HAND
    if call.tool == "ask_user":
        return Backing.PROMPT
    return Backing.SECOND_HAND if call.label == "Running Distill" else Backing.RAW


def _trace(figure: _Figure, sources: Sequence[_Source], *, lossy: bool) -> Trace:
    found = next((s for s in sources if _occurs(figure, s)), None)
    missing = Backing.LOST if lossy else Backing.UNSUPPORTED
    return Trace(
        shown=figure.shown,
        kind=figure.kind,
        backing=found.backing if found else missing,
        record_id=found.record_id if found else None,
        offset=figure.offset,
    )


def _occurs(figure: _Figure, source: _Source) -> bool:
    if figure.kind != "number":
        needle = figure.shown
        return needle in source.raw and _whole(needle, source.text)
    plain = figure.shown.replace(",", "")
    whole = plain.partition(".")[0]
    grouped = f"{int(whole):,}"
    if whole not in source.raw and grouped not in source.raw:
        return False
    pattern = _value_pattern(plain)
    return pattern.search(source.text) is not None


def _whole(name: str, text: str) -> bool:
    """Whether a name stands in the text and not as a part of a longer word."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) is not None


def _value_pattern(plain: str) -> re.Pattern[str]:
    """Return what matches the same value: grouped or not, with or without zero decimals."""
    whole, _, decimals = plain.partition(".")
    forms = {re.escape(whole), re.escape(f"{int(whole):,}")}
    kept = decimals.rstrip("0")
    tail = rf"\.{kept}0*" if kept else r"(?:\.0+)?"
    return re.compile(rf"(?<![\w.,]){_either(forms)}{tail}(?!\d|[.,]\d)")


def _either(forms: set[str]) -> str:
    return f"(?:{'|'.join(sorted(forms))})"
