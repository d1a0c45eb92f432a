"""One run's functional-tests-results.json, in the published form and with our `gpuvet` part. Pure.

What a judge decided comes in as verdicts; what nobody decided is named, e.g. `unjudged`. A run
without an answer has no verdicts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.assertions.job_spec import NO_ERROR_HANDED_OUT
from gpuvet_evals.assertions.patterns import PatternScore
from gpuvet_evals.evals_json import Assertion
from gpuvet_evals.inspection import SKILL_SIDES, Inspection, RunIdentity
from gpuvet_evals.judge.judge import UNJUDGED as NOT_ASKED
from gpuvet_evals.judge.judge import Decision, Verdict
from gpuvet_evals.loads import TriggerVerdict
from gpuvet_evals.runs import UNJUDGED

NO_ASSERTION_CHECKED = "No FinalResponse found in chat output, so no assertion could be checked."
_MESSAGES = {
    TriggerVerdict.PASS: "The skill was triggered as expected",
    TriggerVerdict.FAIL: "The skill was NOT triggered (no skills were loaded)",
    TriggerVerdict.UNPROVEN: "Some skill was loaded; nothing proves that it was this one",
}
_NEGATIVE_MESSAGES = {
    TriggerVerdict.PASS: "The skill was correctly NOT triggered",
    TriggerVerdict.FAIL: "The skill was triggered though it should not have been",
    TriggerVerdict.UNPROVEN: "Some skill was loaded; nothing proves which",
}
_RESULTS = {
    TriggerVerdict.PASS: "passed",
    TriggerVerdict.FAIL: "failed",
    TriggerVerdict.UNPROVEN: "unproven",
}


class JudgedRun(Value):
    """What a judge says of one run."""

    assertions: tuple[tuple[int, Verdict], ...] = ()
    expected: Verdict = NOT_ASKED


NOTHING_JUDGED = JudgedRun()


def run_results(
    run: Inspection, version: str, judged: JudgedRun = NOTHING_JUDGED
) -> dict[str, Any]:
    """Return the results file of one run.

    Args:
        run: The inspected journal.
        version: Version of the suite, e.g. `v1`.
        judged: What a judge says of its free-text assertions.
    """
    negative = not run.should_trigger
    return {
        "version": version,
        "iteration": run.identity.iteration,
        "eval_id": run.identity.eval_id,
        "run_type": run.identity.run_type,
        "success": True,
        "error": None,
        "understanding_agent_space_skill": None,
        "tests": {
            "trigger": _trigger(run),
            "expected_output": None if negative else _expected(run, judged.expected),
            "assertions": _assertions(run, dict(judged.assertions)),
        },
        "metrics": None if negative else _metrics(run),
        "gpuvet": _ours(run),
    }


def broken_results(identity: RunIdentity, version: str, error: str) -> dict[str, Any]:
    """Return the results file of a run whose journal cannot be read."""
    return {
        "version": version,
        "iteration": identity.iteration,
        "eval_id": identity.eval_id,
        "run_type": identity.run_type,
        "success": False,
        "error": error,
        "understanding_agent_space_skill": None,
        "tests": {"trigger": None, "expected_output": None, "assertions": None},
        "metrics": None,
        "gpuvet": {"answer": {"status": AnswerStatus.ERRORED.value, "counts_in_pass_rates": False}},
    }


def _trigger(run: Inspection) -> dict[str, Any] | None:
    verdict = run.trigger.verdict
    if run.identity.run_type not in SKILL_SIDES or verdict not in _RESULTS:
        return None
    messages = _MESSAGES if run.should_trigger else _NEGATIVE_MESSAGES
    loads = run.trigger.named_loads
    shown: dict[str, Any] = {
        "result": _RESULTS[verdict],
        "message": messages[verdict],
        "skill_loads_found": loads,
    }
    if loads > 1:
        shown["warning"] = f"The skill was loaded {loads} times"
    return shown


def _expected(run: Inspection, verdict: Verdict) -> dict[str, Any]:
    if run.answer.status is not AnswerStatus.FINAL:
        return {"result": "errored", "error": run.answer.published_error}
    if verdict.decision is Decision.UNJUDGED:
        return {"result": UNJUDGED, "reasoning": "Only a judge can compare prose; none was asked"}
    if verdict.passed is None:
        return {"result": verdict.decision.value, "reasoning": _said(verdict)}
    return {"result": "passed" if verdict.passed else "failed", **_opinion(verdict)}


def _assertions(run: Inspection, judged: Mapping[int, Verdict]) -> dict[str, Any] | None:
    answered = run.answer.status is AnswerStatus.FINAL
    implied = run.handed_out if answered else None
    if run.assertions is None and implied is None:
        return None
    scores = dict(run.scores) if answered else {}
    rows = [
        _row(run, a, scores.get(i), judged.get(i, NOT_ASKED))
        for i, a in enumerate(run.assertions or ())
    ]
    if implied is not None:
        row = {"text": NO_ERROR_HANDED_OUT, "evaluator": "job_spec", "implied": True}
        rows.append(row | _outcome(implied))
    return {"assertion_results": rows, "summary": summary_of(rows)}


def _row(
    run: Inspection, assertion: Assertion, score: PatternScore | None, verdict: Verdict
) -> dict[str, Any]:
    row: dict[str, Any] = {"text": assertion.text, "evaluator": assertion.evaluator}
    if run.answer.status is not AnswerStatus.FINAL:
        return row | {"passed": None, "error": _no_answer(run)}
    if assertion.is_judged:
        return row | _judged(verdict)
    if score is None:
        return row | {"passed": None, "error": "nothing applied it"}
    return row | _outcome(score)


def _judged(verdict: Verdict) -> dict[str, Any]:
    if verdict.passed is None:
        shown = {"passed": None, "error": verdict.decision.value}
        return shown | ({"reasoning": said} if (said := _said(verdict)) else {})
    return {"passed": verdict.passed, **_opinion(verdict)}


def _opinion(verdict: Verdict) -> dict[str, Any]:
    return {
        "evidence": verdict.evidence,
        "reasoning": verdict.reasoning,
        "confidence": verdict.confidence,
        "votes": dict(verdict.votes),
    }


def _said(verdict: Verdict) -> str:
    """Word why there is no verdict: how the votes fell and what was wrong with replies."""
    votes = ", ".join(f"{count} {outcome}" for outcome, count in verdict.votes)
    flags = ", ".join(verdict.flags)
    return "; ".join(part for part in (verdict.reasoning, votes, flags) if part)


def _outcome(score: PatternScore) -> dict[str, Any]:
    if score.passed is None:
        return {"passed": None, "error": score.error}
    return {"passed": score.passed, "evidence": score.evidence}


def _no_answer(run: Inspection) -> str:
    chat = run.task_type != "investigation"
    return NO_ASSERTION_CHECKED if chat else run.answer.published_error or NO_ASSERTION_CHECKED


def summary_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts under a list of assertion results; the rate leaves undecided ones out."""
    passed = sum(row["passed"] is True for row in rows)
    failed = sum(row["passed"] is False for row in rows)
    unjudged = sum(row.get("error") == UNJUDGED for row in rows)
    idle = sum(row.get("error") == Decision.NOT_APPLICABLE.value for row in rows)
    total = passed + failed
    return {
        "passed": passed,
        "failed": failed,
        "errored": len(rows) - total - unjudged - idle,
        "low_confidence": sum(row.get("confidence") == "low" for row in rows),
        "total": total,
        "pass_rate": round(passed / total, 4) if total else None,
        "unjudged": unjudged,
        "not_applicable": idle,
    }


def _metrics(run: Inspection) -> dict[str, Any]:
    return {
        "runtime": run.metrics.runtime,
        "cost": run.metrics.cost,
        "context_window": {
            "utilization": run.metrics.context_utilization,
            "compaction_count": run.compaction_count,
        },
    }


def _ours(run: Inspection) -> dict[str, Any]:
    ours: dict[str, Any] = {
        "task_type": run.task_type,
        "should_trigger": run.should_trigger,
        "answer": {
            "status": run.answer.status.value,
            "record_id": run.answer.record_id,
            "counts_in_pass_rates": run.counts_in_pass_rates,
        },
        "trigger": run.trigger.model_dump(mode="json"),
        "read_only": run.read_only.model_dump(mode="json", by_alias=True),
        "grounding": run.grounding.model_dump(mode="json"),
        "backing": _backing(run),
        "leaks": run.leaks.model_dump(mode="json"),
        "api_errors_reported_as_success": list(run.hidden_errors),
        "runtime_seconds": run.metrics.runtime_seconds,
        "cost_usd": round(run.metrics.cost_usd, 6),
        "ended_at": run.ended_at,
        "records": run.metrics.records,
        "unknown_record_types": dict(run.unknown_types),
        "malformed_records": run.malformed_records,
    }
    if run.answer.status is AnswerStatus.ANSWERED_THEN_ASKED:
        ours["fallback_assertions"] = _fallback(run)
    return ours


def _backing(run: Inspection) -> dict[str, int]:
    """Return how many figures of the answer have which backing."""
    counts: dict[str, int] = {}
    for trace in run.traces:
        counts[trace.backing.value] = counts.get(trace.backing.value, 0) + 1
    return dict(sorted(counts.items()))


def _fallback(run: Inspection) -> list[dict[str, Any]]:
    """Return the scores on the text before the question, which no rate counts."""
    scores = dict(run.scores)
    return [
        {"text": a.text, "evaluator": a.evaluator, "passed": scores[i].passed}
        for i, a in enumerate(run.assertions or ())
        if i in scores
    ]
