"""Two groups of runs compared eval by eval: with against without, or version against version. Pure.

The eval is the unit. With fewer than six pairs even a clean sweep has p above 0.05, so the result
is "too few evals to say" and never a winner.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet_evals.loads import TriggerVerdict
from gpuvet_evals.rates import Measure, all_hold, score_of
from gpuvet_evals.runs import Run, ScoredAssertion
from gpuvet_evals.stats import (
    Interval,
    difference_interval,
    mean,
    mean_difference,
    minimum_detectable_difference,
    paired_p,
    sign_test_p,
    smallest_p,
)

SIGNIFICANCE = 0.05


class Finding(StrEnum):
    """What a comparison allows to say."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE_SHOWN = "no difference shown"
    TOO_FEW = "too few evals to say"


class Difference(Value):
    """Candidate minus baseline over paired evals."""

    measure: str
    pairs: int
    mean: float | None
    interval: Interval | None
    p: float | None
    smallest_p: float  # that so many pairs can give
    better: int  # evals
    worse: int
    sign_test_p: float
    detectable: float | None  # true difference found in 80 of 100 such comparisons
    finding: Finding


class Flip(Value):
    """An assertion of an eval that holds at another rate than before."""

    eval_id: str
    assertion: str
    baseline: str  # passed of scored runs, e.g. 2/3
    candidate: str
    kind: str  # regression, worse, better, uplift
    baseline_iterations: tuple[int, ...]  # in which it held
    candidate_iterations: tuple[int, ...]
    evidence: tuple[str, ...]  # of the side that fails


class Comparison(Value):
    """Everything one comparison says."""

    baseline: str
    candidate: str
    evals_paired: tuple[str, ...]
    evals_unpaired: tuple[tuple[str, str], ...]  # with why
    dropped: tuple[str, ...]  # contaminated pairs
    score: Difference
    all_assertions: Difference
    runtime_seconds: Difference
    cost_usd: Difference
    context_percent: Difference
    flips: tuple[Flip, ...]

    @property
    def regressions(self) -> tuple[Flip, ...]:
        """Assertions that always held and now never do."""
        return tuple(flip for flip in self.flips if flip.kind == "regression")


def compare(
    baseline: Sequence[Run], candidate: Sequence[Run], *, names: tuple[str, str]
) -> Comparison:
    """Compare two groups of runs.

    Args:
        baseline: Runs of the one group, e.g. all of without_skill.
        candidate: Runs of the other.
        names: What to call them.
    """
    contaminated = {_key(run) for run in baseline if run.trigger is TriggerVerdict.CONTAMINATED}
    kept = [
        _by_eval(r for r in runs if _key(r) not in contaminated) for runs in (baseline, candidate)
    ]
    old, new = kept
    evals = sorted({run.eval_id for run in (*baseline, *candidate) if run.should_trigger})
    unpaired = {
        e: why for e in evals if (why := _why_unpaired(old.get(e, ()), new.get(e, ()), names))
    }
    paired = [e for e in evals if e not in unpaired]
    pairs = [(old[e], new[e]) for e in paired]
    return Comparison(
        baseline=names[0],
        candidate=names[1],
        evals_paired=tuple(paired),
        evals_unpaired=tuple(unpaired.items()),
        dropped=tuple(f"{e} iteration {i}" for e, i in sorted(contaminated)),
        score=_difference("share of assertions that hold", pairs, score_of),
        all_assertions=_difference("runs in which all assertions hold", pairs, all_hold),
        runtime_seconds=_difference("runtime in seconds", pairs, _runtime, more_is_better=False),
        cost_usd=_difference("cost in dollars", pairs, _cost, more_is_better=False),
        context_percent=_difference(
            "context use in percent", pairs, _context, more_is_better=False
        ),
        flips=tuple(flip for e in paired for flip in _flips(e, old[e], new[e])),
    )


def _key(run: Run) -> tuple[str, int]:
    return run.eval_id, run.iteration


def _by_eval(runs: Iterable[Run]) -> Mapping[str, list[Run]]:
    """Return the final positives of each eval: only they have a score, a time and a cost."""
    grouped: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.iteration):
        if run.is_final:
            grouped.setdefault(run.eval_id, []).append(run)
    return grouped


def _why_unpaired(old: Sequence[Run], new: Sequence[Run], names: tuple[str, str]) -> str | None:
    missing = [name for name, runs in zip(names, (old, new), strict=True) if not runs]
    return f"no final run on {' and '.join(missing)}" if missing else None


def _difference(
    name: str,
    pairs: Sequence[tuple[Sequence[Run], Sequence[Run]]],
    measure: Measure,
    *,
    more_is_better: bool = True,
) -> Difference:
    differences = [
        new - old
        for before, after in pairs
        if (old := _mean_of(before, measure)) is not None
        and (new := _mean_of(after, measure)) is not None
    ]
    estimate = mean_difference(differences)
    better = sum(d > 0 if more_is_better else d < 0 for d in differences)
    worse = sum(d < 0 if more_is_better else d > 0 for d in differences)
    p = paired_p(differences) if differences else None
    return Difference(
        measure=name,
        pairs=len(differences),
        mean=estimate.mean if estimate else None,
        interval=difference_interval(estimate) if estimate else None,
        p=p,
        smallest_p=smallest_p(len(differences)),
        better=better,
        worse=worse,
        sign_test_p=sign_test_p(better, worse),
        detectable=minimum_detectable_difference(estimate) if estimate else None,
        finding=_finding(differences, p, more_is_better=more_is_better),
    )


def _finding(differences: Sequence[float], p: float | None, *, more_is_better: bool) -> Finding:
    if p is None or smallest_p(len(differences)) >= SIGNIFICANCE:
        return Finding.TOO_FEW
    if p >= SIGNIFICANCE:
        return Finding.NO_DIFFERENCE_SHOWN
    return Finding.BETTER if (sum(differences) > 0) is more_is_better else Finding.WORSE


def _mean_of(runs: Sequence[Run], measure: Measure) -> float | None:
    return mean([value for run in runs if (value := measure(run)) is not None])


def _runtime(run: Run) -> float | None:
    return run.runtime_seconds


def _cost(run: Run) -> float | None:
    return run.cost_usd


def _context(run: Run) -> float | None:
    return run.context_percent


def _flips(eval_id: str, old: Sequence[Run], new: Sequence[Run]) -> Iterable[Flip]:
    before, after = _outcomes(old), _outcomes(new)
    for text in before:
        if text not in after:
            continue
        was, now = before[text], after[text]
        kind = _kind(_share(was), _share(now))
        if kind is not None:
            failing = now if kind in {"regression", "worse"} else was
            yield Flip(
                eval_id=eval_id,
                assertion=text,
                baseline=_fraction(was),
                candidate=_fraction(now),
                kind=kind,
                baseline_iterations=_held(was),
                candidate_iterations=_held(now),
                evidence=tuple(
                    dict.fromkeys(a.evidence or a.error for _, a in failing if not a.passed)
                ),
            )


Outcomes = list[tuple[int, ScoredAssertion]]


def _outcomes(runs: Sequence[Run]) -> dict[str, Outcomes]:
    """Return the decided outcomes of each assertion, by its text, with their iterations."""
    found: dict[str, Outcomes] = {}
    for run in runs:
        for assertion in run.decided:
            found.setdefault(assertion.text, []).append((run.iteration, assertion))
    return found


def _kind(was: float, now: float) -> str | None:
    if was == now:
        return None
    if now < was:
        return "regression" if (was, now) == (1.0, 0.0) else "worse"
    return "uplift" if (was, now) == (0.0, 1.0) else "better"


def _share(outcomes: Outcomes) -> float:
    return sum(a.passed is True for _, a in outcomes) / len(outcomes)


def _fraction(outcomes: Outcomes) -> str:
    return f"{sum(a.passed is True for _, a in outcomes)}/{len(outcomes)}"


def _held(outcomes: Outcomes) -> tuple[int, ...]:
    return tuple(iteration for iteration, a in outcomes if a.passed)
