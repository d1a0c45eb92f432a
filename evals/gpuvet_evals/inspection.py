"""Everything a journal alone tells of a run: what `gpuvet-evals inspect` prints. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from gpuvet.model.base import Value
from gpuvet.parse.commands import Command
from gpuvet_evals.answer import Answer, AnswerStatus, find_answer
from gpuvet_evals.assertions.grounded import score_grounding
from gpuvet_evals.assertions.job_spec import SpecChecker, score_handed_out, score_job_spec
from gpuvet_evals.assertions.patterns import (
    Findings,
    InProcess,
    Matcher,
    PatternScore,
    Request,
    patterns_of,
    score_patterns,
)
from gpuvet_evals.audit.grounding import Grounding, Trace, grounding_of, trace_answer
from gpuvet_evals.audit.leaks import (
    LeakFinding,
    Leaks,
    find_leaks,
    leak_findings,
    scan_identifiers,
)
from gpuvet_evals.audit.read_only import (
    ReadOnly,
    executed_commands,
    judge_read_only,
    proposed_commands,
)
from gpuvet_evals.calls import ToolCall, hidden_errors, tool_calls
from gpuvet_evals.evals_json import Assertion, Eval
from gpuvet_evals.job_specs import (
    handed_out,
    has_marks,
    specs_attached,
    specs_in_answer,
    specs_in_results,
)
from gpuvet_evals.journal import Journal
from gpuvet_evals.loads import SkillLoad, Trigger, TriggerVerdict, judge_trigger, skill_loads
from gpuvet_evals.timing import RunMetrics, compaction_count, ended_at, run_metrics
from gpuvet_evals.untrusted import mask

WITH_SKILL = "with_skill"
WITHOUT_SKILL = "without_skill"
WITH_SERVER = "with_skill_and_server"  # the skill, and gpuvet's tools beside the plain ones
ALL_SIDES = (WITH_SKILL, WITHOUT_SKILL, WITH_SERVER)
SKILL_SIDES = frozenset({WITH_SKILL, WITH_SERVER})
CONTAMINATED = "the without_skill side loaded the skill under test: drop the pair"
_STARTS_WITH = 40
NO_FILES: Mapping[str, str] = MappingProxyType({})


class RunIdentity(Value):
    """Which run a journal is."""

    case: str
    skill_name: str | None
    eval_id: str | None
    iteration: int
    run_type: str  # with_skill, without_skill or with_skill_and_server


class CallView(Value):
    """One tool call as recorded."""

    tool: str | None
    label: str
    subagent: str | None
    input_recorded: bool
    failed: bool
    record_id: str


class JournalView(Value):
    """What the journal holds: record types, calls, loads, commands."""

    record_types: tuple[tuple[str, int], ...]
    subagents: tuple[str, ...]
    calls: tuple[CallView, ...]
    skill_loads: tuple[SkillLoad, ...]
    executed: tuple[Command, ...]
    proposed: tuple[Command, ...]


class Inspection(Value):
    """One run: status first, then trigger, assertions, audits and metrics."""

    identity: RunIdentity
    task_type: str
    should_trigger: bool
    answer: Answer
    trigger: Trigger
    assertions: tuple[Assertion, ...] | None
    scores: tuple[tuple[int, PatternScore], ...]
    handed_out: PatternScore | None  # of the specs an answer hands out; None where it has none
    read_only: ReadOnly
    leaks: Leaks
    leak_findings: tuple[LeakFinding, ...]  # empty unless inspected in full
    scan_findings: tuple[str, ...]  # of the whole journal; empty unless inspected in full
    traces: tuple[Trace, ...]
    grounding: Grounding
    hidden_errors: tuple[str, ...]
    metrics: RunMetrics
    ended_at: str | None
    compaction_count: int
    unknown_types: tuple[tuple[str, int], ...]
    malformed_records: int
    view: JournalView | None

    @property
    def counts_in_pass_rates(self) -> bool:
        """Whether the run is part of the rates: it has a final answer and is no negative."""
        return self.answer.status is AnswerStatus.FINAL and self.should_trigger


@dataclass(slots=True)
class OpenRun:
    """A run whose answer is found and whose patterns are still to be applied."""

    journal: Journal
    identity: RunIdentity
    eval_: Eval | None
    calls: tuple[ToolCall, ...]
    answer: Answer
    files: Mapping[str, str] = field(default_factory=dict[str, str])  # of the eval, by name

    @property
    def request(self) -> Request:
        """The patterns of the eval and the text they go to; no pattern where nothing answered."""
        text = self.answer.graded_text
        assertions = self.eval_.assertions if self.eval_ else None
        if text is None or not assertions:
            return Request((), "")
        return Request(patterns_of(assertions), text)


def open_run(
    journal: Journal,
    identity: RunIdentity,
    eval_: Eval | None,
    files: Mapping[str, str] = NO_FILES,
) -> OpenRun:
    """Return the run with its calls joined and its answer found."""
    calls = tool_calls(journal)
    investigation = eval_.task_type == "investigation" if eval_ else None
    answer = find_answer(journal, calls, investigation=investigation)
    return OpenRun(journal, identity, eval_, calls, answer, files)


def inspect_journal(
    journal: Journal,
    identity: RunIdentity,
    eval_: Eval | None,
    *,
    files: Mapping[str, str] = NO_FILES,
    matcher: Matcher | None = None,
    checker: SpecChecker | None = None,
    full: bool = True,
) -> Inspection:
    """Return all that can be said of one run without a judge.

    Args:
        journal: The run.
        identity: Which eval, iteration and side it is.
        eval_: Its definition, or None where it is not known.
        files: The eval's files by name: specs and logs.
        matcher: Applies the eval's patterns; by default in this process.
        checker: Checks job specs; without one no spec is looked at.
        full: Also list calls and commands, and scan the whole journal for identifiers.
    """
    run = open_run(journal, identity, eval_, files)
    pending = (matcher or InProcess()).ask([run.request])
    inspection = audit_run(run, checker=checker, full=full)
    return scored(inspection, pending()[0])


def audit_run(run: OpenRun, *, checker: SpecChecker | None = None, full: bool = True) -> Inspection:
    """Return the inspection of a run, its patterns not yet scored."""
    journal, calls, answer, identity = run.journal, run.calls, run.answer, run.identity
    shown = answer.graded_text or ""
    should_trigger = run.eval_.should_trigger if run.eval_ else True
    assertions = run.eval_.assertions if run.eval_ else None
    traces = trace_answer(journal, calls, shown)
    loads = skill_loads(journal, calls, identity.skill_name)
    spec_scores = _spec_scores(run, checker)
    grounding = grounding_of(traces)
    return Inspection(
        identity=identity,
        task_type=run.eval_.task_type if run.eval_ else _task_type(journal),
        should_trigger=should_trigger,
        answer=answer,
        trigger=judge_trigger(
            loads,
            skill=identity.skill_name,
            with_skill=identity.run_type in SKILL_SIDES,
            should_trigger=should_trigger,
        ),
        assertions=assertions,
        scores=(*spec_scores.asked, *_grounded_scores(run, grounding)),
        handed_out=spec_scores.handed_out,
        read_only=judge_read_only(journal, calls, shown),
        leaks=find_leaks(journal, shown, counted_by_pattern=_counts_digits(assertions)),
        leak_findings=tuple(leak_findings(journal, shown)) if full else (),
        scan_findings=tuple(scan_identifiers(journal.raw)) if full else (),
        traces=traces,
        grounding=grounding,
        hidden_errors=tuple(hidden_errors(calls)),
        metrics=run_metrics(journal),
        ended_at=ended_at(journal),
        compaction_count=compaction_count(journal),
        unknown_types=tuple(journal.unknown_types.items()),
        malformed_records=journal.malformed,
        view=_view(journal, calls, loads, shown) if full else None,
    )


def scored(inspection: Inspection, findings: Findings) -> Inspection:
    """Return the inspection with its assertions scored.

    Args:
        inspection: The audited run.
        findings: Of its request's patterns in its request's text.
    """
    text = inspection.answer.graded_text
    if text is None or not inspection.assertions:
        return inspection
    scores = score_patterns(inspection.assertions, text, findings)
    if inspection.scores:  # of job specs and grounding
        scores = tuple(sorted((*inspection.scores, *scores), key=itemgetter(0)))
    return inspection.model_copy(update={"scores": scores})


def _grounded_scores(run: OpenRun, grounding: Grounding) -> tuple[tuple[int, PatternScore], ...]:
    """Score the assertions that every figure was read."""
    assertions = run.eval_.assertions if run.eval_ else None
    if run.answer.graded_text is None:
        return ()
    wanted = (i for i, a in enumerate(assertions or ()) if a.evaluator == "grounded")
    return tuple((i, score_grounding(grounding)) for i in wanted)


class _SpecScores(NamedTuple):
    asked: tuple[tuple[int, PatternScore], ...]  # of job_spec assertions, with their index
    handed_out: PatternScore | None


def _spec_scores(run: OpenRun, checker: SpecChecker | None) -> _SpecScores:
    """Score what the eval asks of specs, and the specs that the answer hands out."""
    text, assertions = run.answer.graded_text, run.eval_.assertions if run.eval_ else None
    asked = [(i, a.job_spec) for i, a in enumerate(assertions or ()) if a.job_spec is not None]
    if text is None or checker is None or not (asked or has_marks(text)):
        return _SpecScores((), None)
    answered = specs_in_answer(text, run.answer.record_id)
    known = (*specs_in_results(run.calls), *specs_attached(run.files))
    given = handed_out(answered, known)
    return _SpecScores(
        tuple(
            (i, score_job_spec(expected, (*given, *known), run.files, checker))
            for i, expected in asked
        ),
        score_handed_out(given, checker),
    )


def inspection_json(inspection: Inspection, *, full: bool = True) -> dict[str, Any]:
    """Return the inspection as JSON values.

    Args:
        inspection: The run.
        full: Add `journal` and `traces`, which the short form leaves out.
    """
    identity, answer = inspection.identity, inspection.answer
    shown: dict[str, Any] = {
        **identity.model_dump(),
        "task_type": inspection.task_type,
        "should_trigger": inspection.should_trigger,
        "answer": {
            "status": answer.status.value,
            "record_id": answer.record_id,
            "starts_with": mask(answer.text)[:_STARTS_WITH] if answer.text else None,
            "counts_in_pass_rates": inspection.counts_in_pass_rates,
            "published_error": answer.published_error,
        },
        "trigger": inspection.trigger.model_dump(mode="json"),
        "expected_output_human": None,
        "assertions": _assertions_json(inspection),
        "assertions_apply_to": answer.applies_to,
        "read_only": inspection.read_only.model_dump(mode="json", by_alias=True),
        "leaks": {
            **inspection.leaks.model_dump(mode="json"),
            "identifier_scan_findings": list(inspection.scan_findings),
        },
        "grounding": inspection.grounding.model_dump(mode="json"),
        "api_errors_reported_as_success": list(inspection.hidden_errors),
        "metrics": inspection.metrics.model_dump(mode="json"),
    }
    if inspection.trigger.verdict is TriggerVerdict.CONTAMINATED:
        shown["contamination"] = CONTAMINATED
    if full and inspection.view is not None:
        if inspection.handed_out is not None:
            shown["handed_out_specs"] = inspection.handed_out.model_dump(mode="json")
        shown["leak_findings"] = [f.model_dump(mode="json") for f in inspection.leak_findings]
        shown["traces"] = [t.model_dump(mode="json") for t in inspection.traces]
        shown["journal"] = {
            **inspection.view.model_dump(mode="json"),
            "record_types": dict(inspection.view.record_types),
            "unknown_types": dict(inspection.unknown_types),
            "malformed_records": inspection.malformed_records,
            "compaction_count": inspection.compaction_count,
        }
    return shown


def _assertions_json(inspection: Inspection) -> list[dict[str, Any]] | None:
    if inspection.assertions is None:
        return None
    scores = dict(inspection.scores)
    return [
        {"index": i, "evaluator": a.evaluator, "text": a.text}
        | (
            {"human_label": None, "status": "unjudged"}
            if a.is_judged
            else {"passed": scores[i].passed if i in scores else None}
        )
        for i, a in enumerate(inspection.assertions)
    ]


def _counts_digits(assertions: Sequence[Assertion] | None) -> bool:
    """Whether an absent-pattern of the eval is one for runs of 12 digits."""
    return any(a.absent and a.pattern and r"\d{12}" in a.pattern for a in assertions or ())


def _task_type(journal: Journal) -> str:
    return "investigation" if journal.is_investigation else "chat"


def _view(
    journal: Journal, calls: Sequence[ToolCall], loads: tuple[SkillLoad, ...], answer: str
) -> JournalView:
    return JournalView(
        record_types=tuple(journal.types.items()),
        subagents=journal.subagents,
        calls=tuple(
            CallView(
                tool=call.tool,
                label=call.label,
                subagent=call.subagent,
                input_recorded=call.has_visible_input,
                failed=call.failed,
                record_id=call.record_id,
            )
            for call in calls
        ),
        skill_loads=loads,
        executed=tuple(executed_commands(calls)),
        proposed=tuple(proposed_commands(journal, answer)),
    )
