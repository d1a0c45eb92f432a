"""Pass rates three ways: over scored runs, unanswered as fails, and as bounds. Pure.

The first alone looks too good where a side answers less often, the second invents a difference
where the harness lost runs; the bounds hold whatever the unanswered runs would have said.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from gpuvet.model.base import Value
from gpuvet_evals.evals_json import OFFLINE_EVALUATORS
from gpuvet_evals.inspection import WITH_SKILL
from gpuvet_evals.loads import TriggerVerdict
from gpuvet_evals.runs import Run
from gpuvet_evals.stats import Estimate, Interval, clustered_mean, rate_interval, wilson

Measure = Callable[[Run], float | None]


class Rate(Value):
    """A rate with its interval."""

    value: float
    interval: Interval
    runs: int
    evals: int


class ThreeRates(Value):
    """One measure of one side, three ways; None where no run can say."""

    scored: Rate | None
    unanswered_as_fails: Rate | None
    low: float | None  # every unanswered run fails
    high: float | None  # every unanswered run passes


class SideRates(Value):
    """All rates of one side over positives."""

    side: str
    runs: int
    statuses: tuple[tuple[str, int], ...]
    assertion_score: ThreeRates  # mean share of decided assertions that hold
    all_assertions: ThreeRates  # share of runs in which all of them hold
    unjudged_assertions: int
    contaminated: int  # runs without the skill that loaded it; comparisons drop them
    expected_reached: int = 0  # final runs whose answer agrees with the expected output
    expected_judged: int = 0  # of so many that a judge decided


class TriggerQuality(Value):
    """Precision and recall of the trigger over positives and negatives with the skill."""

    true_positives: int
    false_negatives: int
    false_positives: int
    true_negatives: int
    unproven_positives: int
    unproven_negatives: int
    precision: Interval | None
    precision_value: float | None
    recall: Interval | None
    recall_value: float | None


def score_of(run: Run) -> float | None:
    """Return the share of the run's decided assertions that hold."""
    return run.score


def all_hold(run: Run) -> float | None:
    """Return 1 where all decided assertions hold, else 0."""
    return None if run.passed is None else float(run.passed)


def side_rates(side: str, runs: Iterable[Run]) -> SideRates:
    """Return a side's rates over its positives."""
    mine = [run for run in runs if run.side == side and run.should_trigger]
    return SideRates(
        side=side,
        runs=len(mine),
        statuses=tuple(sorted(Counter(run.status.value for run in mine).items())),
        assertion_score=three_rates(mine, score_of),
        all_assertions=three_rates(mine, all_hold),
        unjudged_assertions=sum(
            a.passed is None for run in mine if run.is_final for a in run.assertions or ()
        ),
        contaminated=sum(run.trigger is TriggerVerdict.CONTAMINATED for run in mine),
        expected_reached=sum(run.expected_output == "passed" for run in mine if run.is_final),
        expected_judged=sum(run.expected_output is not None for run in mine if run.is_final),
    )


def three_rates(runs: Sequence[Run], measure: Measure) -> ThreeRates:
    """Return a measure's rate over final runs, with unanswered ones as 0, and its bounds."""
    answered = {r: value for r in runs if r.is_final and (value := measure(r)) is not None}
    unanswered = [run for run in runs if not run.is_final and _could_be_scored(run)]
    total = len(answered) + len(unanswered)
    held = sum(answered.values())
    with_fails = [*answered.items(), *((run, 0.0) for run in unanswered)]
    return ThreeRates(
        scored=_rate(answered.items()),
        unanswered_as_fails=_rate(with_fails),
        low=held / total if total else None,
        high=(held + len(unanswered)) / total if total else None,
    )


def trigger_quality(runs: Iterable[Run]) -> TriggerQuality:
    """Return how often the skill was loaded where it should be, and only there."""
    counts = Counter((run.should_trigger, run.trigger) for run in runs if run.side == WITH_SKILL)
    hits, misses = counts[True, TriggerVerdict.PASS], counts[True, TriggerVerdict.FAIL]
    wrong = counts[False, TriggerVerdict.FAIL]
    return TriggerQuality(
        true_positives=hits,
        false_negatives=misses,
        false_positives=wrong,
        true_negatives=counts[False, TriggerVerdict.PASS],
        unproven_positives=counts[True, TriggerVerdict.UNPROVEN],
        unproven_negatives=counts[False, TriggerVerdict.UNPROVEN],
        precision=wilson(hits, hits + wrong) if hits + wrong else None,
        precision_value=hits / (hits + wrong) if hits + wrong else None,
        recall=wilson(hits, hits + misses) if hits + misses else None,
        recall_value=hits / (hits + misses) if hits + misses else None,
    )


def _could_be_scored(run: Run) -> bool:
    """Whether an answer would have been scored: its eval has assertions, or nobody can tell."""
    return run.assertions is None or any(
        a.evaluator in OFFLINE_EVALUATORS or a.passed is not None for a in run.assertions
    )


def _rate(values: Iterable[tuple[Run, float]]) -> Rate | None:
    clusters: dict[str, list[float]] = {}
    for run, value in values:
        clusters.setdefault(run.eval_id, []).append(value)
    estimate = clustered_mean(clusters)
    return _shown(estimate) if estimate else None


def _shown(estimate: Estimate) -> Rate:
    return Rate(
        value=estimate.mean,
        interval=rate_interval(estimate),
        runs=estimate.values,
        evals=estimate.clusters,
    )
