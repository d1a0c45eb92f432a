"""What a report shows, prepared: figures worded, evidence beside answers, times in order. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpuvet.model.base import Value
from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.audit.grounding import Backing, Trace
from gpuvet_evals.benchmark import Benchmark, statement
from gpuvet_evals.calls import Result, ToolCall, tool_calls
from gpuvet_evals.compare import Comparison, Difference, Finding
from gpuvet_evals.inspection import Inspection
from gpuvet_evals.journal import Journal, Record
from gpuvet_evals.rates import Rate, SideRates, ThreeRates
from gpuvet_evals.runs import Run, ScoredAssertion
from gpuvet_evals.untrusted import clean, mask

NOTHING = "\u2013"  # a dash where there is no figure
MAX_ANSWER = 20_000  # characters of an answer that a page shows
MAX_EVIDENCE = 60  # pieces beside one answer
MAX_EVENTS = 400  # of one timeline


class Piece(Value):
    """A stretch of an answer; `evidence` is the number of what backs it, 0 for plain text."""

    text: str
    backing: str = ""
    evidence: int = 0


class Evidence(Value):
    """Where a figure of an answer was read."""

    number: int
    figure: str
    backing: str
    label: str
    excerpt: str


class Event(Value):
    """One moment of a run."""

    offset: str  # since the first record, e.g. +0:43
    share: float  # of the run's length, 0 to 1
    kind: str  # user, assistant, tool, subagent, error, skill, final, accounting, other
    what: str
    detail: str


class RunPage(Value):
    """One run as a page shows it."""

    anchor: str
    run: Run
    answer: tuple[Piece, ...]
    evidence: tuple[Evidence, ...]
    events: tuple[Event, ...]
    runtime: str
    calls: int
    read_only_signs: tuple[str, ...]
    proposed: tuple[str, ...]
    executed: tuple[str, ...]
    notes: tuple[str, ...]
    fallback: tuple[ScoredAssertion, ...] = ()  # on the text before a question; no rate counts it


class Tile(Value):
    """One figure of the overview."""

    label: str
    value: str
    note: str


class Page(Value):
    """A whole report."""

    title: str
    version: str
    timestamp: str | None
    statement: str
    tiles: tuple[Tile, ...]
    rates: tuple[SideRates, ...]
    comparisons: tuple[Comparison, ...]
    benchmark: Benchmark
    runs: tuple[RunPage, ...]


def report_page(
    result: Benchmark,
    skill: str,
    inspected: Mapping[tuple[str, int, str], tuple[Journal, Inspection]],
) -> Page:
    """Return everything a report shows.

    Args:
        result: The benchmark.
        skill: Name of the skill under test.
        inspected: Journal and inspection of each run, by eval, iteration and side.
    """
    pages = [
        run_page(run, inspected.get((run.eval_id, run.iteration, run.side))) for run in result.runs
    ]
    return Page(
        title=skill,
        version=result.version,
        timestamp=result.timestamp,
        statement=statement(result),
        tiles=tuple(_tiles(result)),
        rates=result.rates,
        comparisons=result.comparisons,
        benchmark=result,
        runs=tuple(pages),
    )


def run_page(run: Run, inspected: tuple[Journal, Inspection] | None) -> RunPage:
    """Return one run's page; without its journal only the results are shown."""
    anchor = f"{run.eval_id}-{run.iteration}-{run.side}"
    if inspected is None:
        notes = (run.error,) if run.error else ()
        return RunPage(
            anchor=anchor, run=run, answer=(), evidence=(), events=(), runtime="", calls=0,
            read_only_signs=(), proposed=(), executed=(), notes=notes,
        )  # fmt: skip
    journal, inspection = inspected
    calls = tool_calls(journal)
    evidence = tuple(_evidence(inspection.traces, calls, journal))
    return RunPage(
        anchor=anchor,
        run=run,
        answer=tuple(_pieces(inspection.answer.text[:MAX_ANSWER], inspection.traces, evidence)),
        evidence=evidence,
        events=tuple(_events(journal))[:MAX_EVENTS],
        runtime=inspection.metrics.runtime,
        calls=len(calls),
        read_only_signs=tuple(_signs(inspection)),
        proposed=tuple(clean(c) for c in inspection.read_only.proposed_mutations),
        executed=_executed(inspection),
        notes=tuple(_notes(inspection)),
        fallback=tuple(_fallback(inspection)),
    )


def percent(value: float | None) -> str:
    """Return a share as whole percent, or a dash."""
    return NOTHING if value is None else f"{100 * value:.0f}\u00a0%"


def rate_text(rate: Rate | None) -> str:
    """Return a rate with its interval and what it counts."""
    if rate is None:
        return "no scored run"
    low, high = 100 * rate.interval.low, 100 * rate.interval.high
    runs, evals = _plural(rate.runs, "run"), _plural(rate.evals, "eval")
    return f"{percent(rate.value)} ({low:.0f} to {high:.0f}; {runs} of {evals})"


def bounds_text(rates: ThreeRates) -> str:
    """Return the bounds whatever unanswered runs would have said."""
    return NOTHING if rates.low is None else f"{percent(rates.low)} to {percent(rates.high)}"


def difference_text(difference: Difference, *, unit: str) -> str:
    """Return a difference with interval, p and finding; unit `points`, `s`, `$` or `%`."""
    if difference.mean is None:
        return "no pair"
    scale = 100 if unit == "points" else 1
    shown = _amount(scale * difference.mean, unit)
    if difference.interval is not None and difference.p is not None:
        low, high = scale * difference.interval.low, scale * difference.interval.high
        shown += f" (95 % {_amount(low, unit)} to {_amount(high, unit)}, p {difference.p:.3f})"
    return f"{shown}, {_plural(difference.pairs, 'eval')}"


def _amount(value: float, unit: str) -> str:
    if unit == "$":
        return f"{'-' if value < 0 else '+'}${abs(value):.2f}"
    return f"{value:+.1f} {unit}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _tiles(result: Benchmark) -> Iterator[Tile]:
    score = result.sides.score
    points = "no pair" if score.mean is None else f"{100 * score.mean:+.0f} points"
    few = score.finding is Finding.TOO_FEW
    yield Tile(
        label="Skill against no skill, assertions that hold",
        value="Too few" if few else points,
        note=f"{points} over {_plural(score.pairs, 'eval')}" if few else score.finding.value,
    )
    for rates in result.rates:
        scored = rates.assertion_score.scored
        final = dict(rates.statuses).get(AnswerStatus.FINAL.value, 0)
        yield Tile(
            label=f"Assertions that hold, {rates.side.replace('_', ' ')}",
            value=percent(scored.value) if scored else NOTHING,
            note=f"{final} of {_plural(rates.runs, 'run')} answered",
        )
    trigger = result.trigger
    yield Tile(
        label="Trigger recall",
        value=percent(trigger.recall_value),
        note=f"precision {percent(trigger.precision_value)}; "
        f"{trigger.unproven_positives + trigger.unproven_negatives} unproven",
    )
    count = sum(len(c.regressions) for c in result.comparisons)
    yield Tile(
        label="Regressions",
        value=str(count),
        note="assertions that always held and now never do",
    )


def _evidence(
    traces: Sequence[Trace], calls: Sequence[ToolCall], journal: Journal
) -> Iterator[Evidence]:
    results = {id_: pair for call in calls for r in call.results for id_, pair in _named(call, r)}
    records = {record.record_id: record for record in journal.records}
    for number, trace in enumerate(traces[:MAX_EVIDENCE], start=1):
        label, text = _origin(trace, results, records)
        yield Evidence(
            number=number,
            figure=clean(trace.shown, limit=120),
            backing=trace.backing.value,
            label=clean(label, limit=120),
            excerpt=_excerpt(text, trace.shown),
        )


def _named(call: ToolCall, result: Result) -> Iterator[tuple[str, tuple[ToolCall, Result]]]:
    yield result.record.record_id, (call, result)


def _origin(
    trace: Trace,
    results: Mapping[str, tuple[ToolCall, Result]],
    records: Mapping[str, Record],
) -> tuple[str, str]:
    source = trace.record_id or ""
    if source in results:
        call, result = results[source]
        return call.label or call.tool or "a tool's result", result.text
    if source in records:
        record = records[source]
        return record.kind, record.text or record.content
    if trace.backing is Backing.LOST:
        return "the journal leaves out the end of a large result", ""
    return "no tool result and no prompt has it", ""


def _excerpt(text: str, shown: str) -> str:
    """Return the surroundings of a figure in what backs it."""
    forms = (shown, shown.replace(",", ""), shown.partition(".")[0])
    at = next((found for form in forms if (found := text.find(form)) >= 0), -1)
    if at < 0:
        return ""
    start = max(0, at - 110)
    head = "…" if start else ""
    return clean(f"{head}{text[start : at + 130]}", limit=260)


def _pieces(answer: str, traces: Sequence[Trace], evidence: Sequence[Evidence]) -> Iterator[Piece]:
    """Cut an answer where its figures stand."""
    last = 0
    for trace, piece in zip(traces, evidence, strict=False):
        end = trace.offset + len(trace.shown)
        if trace.offset < last or end > len(answer):
            continue
        if trace.offset > last:
            yield Piece(text=_plain(answer[last : trace.offset]))
        shown = _plain(answer[trace.offset : end])
        yield Piece(text=shown, backing=piece.backing, evidence=piece.number)
        last = end
    if last < len(answer):
        yield Piece(text=_plain(answer[last:]))


def _plain(text: str) -> str:
    """Return text over several lines that is safe to show."""
    return "\n".join(clean(line, limit=4000) for line in mask(text).split("\n"))


def _events(journal: Journal) -> Iterator[Event]:
    times = [time for r in journal.records if (time := r.time) is not None]
    if not times:
        return
    first, length = min(times), max((max(times) - min(times)).total_seconds(), 1e-9)
    for record in journal.records:
        time = record.time
        if time is None or record.kind == "chat_title":
            continue
        seconds = (time - first).total_seconds()
        kind, what, detail = _moment(record)
        yield Event(
            offset=f"+{int(seconds) // 60}:{int(seconds) % 60:02}",
            share=round(seconds / length, 4),
            kind=kind,
            what=clean(what, limit=120),
            detail=clean(detail, limit=240),
        )


def _moment(record: Record) -> tuple[str, str, str]:
    """Return kind, heading and detail of one record."""
    if record.kind == "message":
        return _message(record)
    if record.kind == "tool_summary":
        label, block = str(record.body.get("label") or ""), record.body.get("block_type")
        kind = {"load_skill": "skill", "run_subagent": "subagent"}.get(str(block), "tool")
        failed = any(b.get("status") == "error" for b in record.blocks)
        return "error" if failed else kind, label, ""
    if record.kind == "utilization":
        return "accounting", "context use", ""
    if record.kind in {"final_response", "investigation_summary_md"}:
        return "final", "final answer", record.text
    return "other", record.kind.replace("_", " "), str(record.body.get("title") or "")


def _message(record: Record) -> tuple[str, str, str]:
    uses = [str(b.get("tool_name")) for b in record.blocks if b.get("type") == "tool_use"]
    results = [b for b in record.blocks if b.get("type") == "tool_result"]
    if results:
        failed = any(b.get("status") == "error" for b in results)
        return ("error" if failed else "tool"), "result", ""
    if uses:
        return "assistant", f"calls {', '.join(uses)}", record.text
    return ("user" if record.role == "user" else "assistant"), record.role, record.text


def _fallback(inspection: Inspection) -> Iterator[ScoredAssertion]:
    if inspection.answer.status is not AnswerStatus.ANSWERED_THEN_ASKED:
        return
    for index, score in inspection.scores:
        assertion = (inspection.assertions or ())[index]
        yield ScoredAssertion(
            text=assertion.text,
            evaluator=assertion.evaluator,
            passed=score.passed,
            evidence=score.evidence or score.error or "",
        )


def _signs(inspection: Inspection) -> Iterator[str]:
    for mutation in inspection.read_only.model_dump(by_alias=True)["mutating_calls"]:
        signs = mutation.get("from") or f"{mutation['service']} {mutation['operation']}"
        yield clean(f"{mutation['level']}: {signs}", limit=200)


def _executed(inspection: Inspection) -> tuple[str, ...]:
    commands = inspection.view.executed if inspection.view else ()
    return tuple(dict.fromkeys(clean(c.shown, limit=120) for c in commands))


def _notes(inspection: Inspection) -> Iterator[str]:
    if inspection.answer.published_error:
        yield inspection.answer.published_error
    for digits in inspection.leaks.twelve_digit_not_accounts:
        yield clean(digits)
    shown = Counter(f.kind for f in inspection.leak_findings if not f.documentation)
    shown["account"] = len(inspection.leaks.account_ids_in_answer)
    for kind, count in sorted(shown.items()):
        if count:
            yield f"the answer shows {_plural(count, kind)}"
    if inspection.hidden_errors:
        yield f"{_plural(len(inspection.hidden_errors), 'API error')} recorded as success"
    unknown = sum(count for _, count in inspection.unknown_types)
    if unknown:
        yield f"{_plural(unknown, 'record')} of unknown type"
