"""One scored run as benchmarks need it: from a results file, ours or the publisher's. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.evals_json import strings
from gpuvet_evals.inspection import SKILL_SIDES, WITH_SKILL
from gpuvet_evals.journal import mapping, mappings
from gpuvet_evals.loads import TriggerVerdict

UNJUDGED = "unjudged"
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


class ScoredAssertion(Value):
    """One assertion of one run; `passed` is None where nothing decided it."""

    text: str
    evaluator: str
    passed: bool | None
    evidence: str = ""
    error: str = ""
    implied: bool = False  # ours, not the eval's: that a spec handed out has no error


class Run(Value):
    """One run of one side of an eval."""

    eval_id: str
    iteration: int
    side: str
    status: AnswerStatus
    task_type: str = "chat"
    should_trigger: bool = True
    trigger: TriggerVerdict = TriggerVerdict.NOT_APPLICABLE
    assertions: tuple[ScoredAssertion, ...] | None = None
    expected_output: str | None = None  # passed, failed or None where unjudged
    expected_confidence: str | None = None  # of the judge in that
    error: str | None = None
    runtime_seconds: float | None = None
    cost_usd: float | None = None
    context_percent: float | None = None
    compaction_count: int = 0
    ended_at: str | None = None
    read_only: str | None = None
    unsupported: tuple[str, ...] = ()
    leaked: tuple[str, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether the run has a final answer and is no negative: it counts in rates."""
        return self.status is AnswerStatus.FINAL and self.should_trigger

    @property
    def decided(self) -> tuple[ScoredAssertion, ...]:
        """The assertions something decided."""
        return tuple(a for a in self.assertions or () if a.passed is not None)

    @property
    def score(self) -> float | None:
        """The share of decided assertions that hold; None where no assertion was decided."""
        decided = self.decided
        return sum(a.passed is True for a in decided) / len(decided) if decided else None

    @property
    def passed(self) -> bool | None:
        """Whether every decided assertion holds."""
        decided = self.decided
        return all(a.passed for a in decided) if decided else None


def read_run(results: Mapping[str, Any]) -> Run:
    """Return the run a results file tells of; ours says more in its `gpuvet` part."""
    ours, tests = mapping(results.get("gpuvet")), mapping(results.get("tests"))
    side = str(results.get("run_type") or WITH_SKILL)
    metrics = mapping(results.get("metrics"))
    window = mapping(metrics.get("context_window"))
    trigger = mapping(tests.get("trigger"))
    judged = mapping(tests.get("expected_output"))
    expected = judged.get("result")
    return Run(
        eval_id=str(results.get("eval_id") or ""),
        iteration=_whole(results.get("iteration"), 1),
        side=side,
        status=_status(results, ours),
        task_type=str(ours.get("task_type") or "chat"),
        should_trigger=_should_trigger(ours, trigger),
        trigger=_trigger(ours, trigger, side),
        assertions=_assertions(tests),
        expected_output=expected if expected in {"passed", "failed"} else None,
        expected_confidence=_word(judged.get("confidence")),
        error=str(results["error"]) if results.get("error") else None,
        runtime_seconds=_number(ours.get("runtime_seconds"), _seconds(metrics.get("runtime"))),
        cost_usd=_number(ours.get("cost_usd"), _dollars(metrics.get("cost"))),
        context_percent=_percent(window.get("utilization")),
        compaction_count=_whole(window.get("compaction_count"), 0),
        ended_at=_word(ours.get("ended_at")),
        read_only=_word(mapping(ours.get("read_only")).get("verdict")),
        unsupported=_unsupported(mapping(ours.get("grounding"))),
        leaked=_strings(mapping(ours.get("leaks")).get("account_ids_in_answer")),
    )


def _status(results: Mapping[str, Any], ours: Mapping[str, Any]) -> AnswerStatus:
    status = mapping(ours.get("answer")).get("status")
    if isinstance(status, str):
        return AnswerStatus(status)
    if results.get("error") or results.get("success") is False:
        return AnswerStatus.ERRORED
    return (
        AnswerStatus.ERRORED
        if "No FinalResponse" in _errors(results)
        else (
            AnswerStatus.NO_SUMMARY if "No SummaryItem" in _errors(results) else AnswerStatus.FINAL
        )
    )


def _errors(results: Mapping[str, Any]) -> str:
    """Return the errors the published tool writes for a run without an answer."""
    tests = mapping(results.get("tests"))
    rows = mappings(mapping(tests.get("assertions")).get("assertion_results"))
    texts = (tests.get("expected_output"), *(row.get("error") for row in rows))
    return " ".join(str(text) for text in texts if text)


def _should_trigger(ours: Mapping[str, Any], trigger: Mapping[str, Any]) -> bool:
    told = ours.get("should_trigger")
    if isinstance(told, bool):
        return told
    message = str(trigger.get("message") or "")
    return "correctly NOT" not in message and "should not" not in message


def _trigger(ours: Mapping[str, Any], trigger: Mapping[str, Any], side: str) -> TriggerVerdict:
    verdict = mapping(ours.get("trigger")).get("verdict")
    if isinstance(verdict, str):
        return TriggerVerdict(verdict)
    if side not in SKILL_SIDES:
        return TriggerVerdict.NOT_APPLICABLE
    passed = trigger.get("result") == "passed"
    return TriggerVerdict.PASS if passed else TriggerVerdict.FAIL


def _assertions(tests: Mapping[str, Any]) -> tuple[ScoredAssertion, ...] | None:
    part = mapping(tests.get("assertions"))
    if not part:
        return None
    rows = mappings(part.get("assertion_results"))
    return tuple(
        ScoredAssertion(
            text=str(row.get("text") or ""),
            evaluator=str(row.get("evaluator") or "llm"),
            passed=passed if isinstance(passed := row.get("passed"), bool) else None,
            evidence=str(row.get("evidence") or ""),
            error=str(row.get("error") or ""),
            implied=row.get("implied") is True,
        )
        for row in rows
    )


def _unsupported(grounding: Mapping[str, Any]) -> tuple[str, ...]:
    ids, numbers = grounding.get("unsupported_ids"), grounding.get("unsupported_numbers")
    return (*_strings(ids), *_strings(numbers))


def _strings(value: object) -> tuple[str, ...]:
    return () if isinstance(value, str) else strings(value)


def _seconds(shown: object) -> float | None:
    match = _DURATION.fullmatch(shown) if isinstance(shown, str) and shown else None
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(3600 * hours + 60 * minutes + seconds)


def _dollars(shown: object) -> float | None:
    return _float(shown.lstrip("$")) if isinstance(shown, str) else None


def _percent(shown: object) -> float | None:
    return _float(shown.rstrip("%")) if isinstance(shown, str) else _number(shown, None)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(value: object, otherwise: float | None) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    return float(value)


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None
