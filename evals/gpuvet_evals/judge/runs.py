"""The questions of graded runs, asked together, and their verdicts put back."""

from collections.abc import Iterator, Sequence

from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.grade import NOTHING_JUDGED, JudgedRun
from gpuvet_evals.inspection import Inspection, OpenRun
from gpuvet_evals.judge.judge import UNJUDGED, Judge, Verdict
from gpuvet_evals.judge.prompts import Question

_EXPECTED = -1  # place of the expected output among assertions


def judge_runs(
    runs: Sequence[OpenRun], inspected: Sequence[Inspection], judge: Judge | None
) -> list[JudgedRun]:
    """Return what a judge says of each run; without a judge, or one without a model, nothing.

    Args:
        runs: Opened journals with their evals.
        inspected: The inspection of each.
        judge: Cached or live.
    """
    if judge is None or judge.model is None:
        return [NOTHING_JUDGED] * len(runs)
    asked = [
        (place, index, question)
        for place, (run, inspection) in enumerate(zip(runs, inspected, strict=True))
        for index, question in questions_of(run, inspection)
    ]
    found: list[dict[int, Verdict]] = [{} for _ in runs]
    verdicts = judge.verdicts([question for _, _, question in asked])
    for (place, index, _), verdict in zip(asked, verdicts, strict=True):
        found[place][index] = verdict
    return [_judged(verdicts_of) for verdicts_of in found]


def questions_of(run: OpenRun, inspection: Inspection) -> Iterator[tuple[int, Question]]:
    """Yield each question of a final run with its assertion's index; -1: the expected output."""
    if inspection.answer.status is not AnswerStatus.FINAL or run.eval_ is None:
        return
    prompt, answer = run.eval_.prompt, inspection.answer.text
    if run.eval_.should_trigger and run.eval_.expected:
        yield (
            _EXPECTED,
            Question(
                prompt=prompt, answer=answer, assertion=run.eval_.expected, is_expected_output=True
            ),
        )
    for index, assertion in enumerate(run.eval_.assertions or ()):
        if assertion.is_judged:
            yield index, Question(prompt=prompt, answer=answer, assertion=assertion.text)


def _judged(verdicts: dict[int, Verdict]) -> JudgedRun:
    expected = verdicts.get(_EXPECTED, UNJUDGED)
    return JudgedRun(
        assertions=tuple((i, v) for i, v in verdicts.items() if i != _EXPECTED),
        expected=expected,
    )
