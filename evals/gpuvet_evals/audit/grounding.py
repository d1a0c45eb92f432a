"""Each id and number of an answer traced to where the run read it. Pure.

Left out: numbers of one digit, dates, clock times, numbers of list items. A figure is supported
when the same value occurs in a tool result or in the prompt: 1,874 and 1874.0 are the same, 96.4
and 96.39 are not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet.parse.figures import Figure, figures, holds_name, holds_value, number_forms
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


MAX_FIGURES = 2000  # of one answer; the rest is not traced
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
        for f in _each_once(answer)
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


def _each_once(answer: str) -> Iterator[Figure]:
    """Yield ids, names and numbers, each value where it stands first."""
    seen: set[str] = set()
    for figure in figures(answer):
        if figure.kind != "time" and figure.shown not in seen and len(seen) < MAX_FIGURES:
            seen.add(figure.shown)
            yield figure


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


def _trace(figure: Figure, sources: Sequence[_Source], *, lossy: bool) -> Trace:
    find = _value_finder(figure.shown) if figure.kind == "number" else _name_finder(figure.shown)
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
    return lambda source: name in source.raw and holds_name(source.text, name)


def _value_finder(shown: str) -> Callable[[_Source], bool]:
    forms = number_forms(shown)
    return lambda source: any(
        whole in source.raw and holds_value(source.text, whole, forms.decimals)
        for whole in forms.wholes
    )
