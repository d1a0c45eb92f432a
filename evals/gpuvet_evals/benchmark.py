"""benchmark.json of a suite: the published form, with our figures in `gpuvet`. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.compare import Comparison, Difference, Finding, compare
from gpuvet_evals.inspection import ALL_SIDES, WITH_SERVER, WITH_SKILL, WITHOUT_SKILL
from gpuvet_evals.json_text import rounded
from gpuvet_evals.judge.quality import judged_quality
from gpuvet_evals.judge.tree import Pair, pairs_json
from gpuvet_evals.loads import TriggerVerdict
from gpuvet_evals.rates import SideRates, TriggerQuality, side_rates, trigger_quality
from gpuvet_evals.runs import Run
from gpuvet_evals.stats import mean
from gpuvet_evals.timing import shown_duration

SIDES = (WITH_SKILL, WITHOUT_SKILL)
RUNTIME_THRESHOLD_SECONDS = 30.0  # of the published tool
NOT_JUDGED = "needs a judge; none was asked"
_NEGATIVE = {"skipped": True, "skip_reason": "Eval is should_trigger: false"}


class SideAudits(Value):
    """How the runs of one side fared in the audits."""

    side: str
    read_only: tuple[tuple[str, int], ...]
    runs_with_unsupported_figures: int
    unsupported_figures: int
    runs_with_account_ids: int


class Benchmark(Value):
    """Every figure of one version of a suite."""

    version: str
    timestamp: str | None  # of the last record of any journal: the same each time
    runs: tuple[Run, ...]
    rates: tuple[SideRates, ...]
    trigger: TriggerQuality
    audits: tuple[SideAudits, ...]
    sides: Comparison  # with_skill against without_skill
    versions: Comparison | None  # this version's with_skill against an older one's
    errored: int
    server: Comparison | None = None  # skill and server against the skill alone
    pairs: tuple[Pair, ...] = ()  # judged in both orders
    judge: str | None = None  # the model that judged

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The comparisons that were made."""
        return tuple(c for c in (self.sides, self.server, self.versions) if c is not None)

    @property
    def has_regression(self) -> bool:
        """Whether some assertion always held before and never does now, or a score fell surely."""
        return any(c.regressions or c.score.finding is Finding.WORSE for c in self.comparisons)

    @property
    def has_loss(self) -> bool:
        """Whether some assertion holds less often than before."""
        return any(
            flip.kind in {"regression", "worse"} for c in self.comparisons for flip in c.flips
        )

    @property
    def says_too_little(self) -> bool:
        """Whether no comparison has enough evals to say anything."""
        return all(c.score.finding is Finding.TOO_FEW for c in self.comparisons)


def benchmark(
    runs: Sequence[Run],
    version: str,
    *,
    older: Sequence[Run] = (),
    older_name: str = "older",
    pairs: Sequence[Pair] = (),
    judge: str | None = None,
) -> Benchmark:
    """Return all figures of a version.

    Args:
        runs: Its runs, both sides.
        version: Its name, e.g. `v2`.
        older: Runs of a version to compare with.
        older_name: That version's name.
        pairs: What a judge says of the version's pairs.
        judge: The model that judged.
    """
    sides = {side: [run for run in runs if run.side == side] for side in ALL_SIDES}
    shown = SIDES if not sides[WITH_SERVER] else ALL_SIDES
    old = [run for run in older if run.side == WITH_SKILL]
    return Benchmark(
        version=version,
        timestamp=max((run.ended_at for run in runs if run.ended_at), default=None),
        runs=tuple(runs),
        rates=tuple(side_rates(side, runs) for side in shown),
        trigger=trigger_quality(runs),
        audits=tuple(_audits(side, sides[side]) for side in shown),
        sides=compare(sides[WITHOUT_SKILL], sides[WITH_SKILL], names=(WITHOUT_SKILL, WITH_SKILL)),
        versions=compare(old, sides[WITH_SKILL], names=(older_name, version)) if old else None,
        errored=sum(run.error is not None for run in runs),
        server=(
            compare(sides[WITH_SKILL], sides[WITH_SERVER], names=(WITH_SKILL, WITH_SERVER))
            if sides[WITH_SERVER]
            else None
        ),
        pairs=tuple(pairs),
        judge=judge,
    )


def benchmark_json(result: Benchmark) -> dict[str, Any]:
    """Return benchmark.json."""
    by_eval: dict[str, list[Run]] = {}
    for run in result.runs:
        by_eval.setdefault(run.eval_id, []).append(run)
    return {
        "summary": statement(result),
        "timestamp": result.timestamp,
        "version": result.version,
        "model": result.judge,
        "iterations": len({run.iteration for run in result.runs}),
        "total_evals": len(by_eval),
        "total_iterations_run": len({(run.eval_id, run.iteration) for run in result.runs}),
        "total_failed": result.errored,
        "cleanup_skipped": False,
        "understanding_agent_space_skill": {
            "enabled": False,
            "found": 0,
            "timed_out": 0,
            "errored": 0,
            "not_waited": len(result.runs),
        },
        "evals": {
            eval_id: _eval_json(runs, [p for p in result.pairs if p.eval_id == eval_id])
            for eval_id, runs in sorted(by_eval.items())
        },
        "gpuvet": _ours(result),
    }


def _ours(result: Benchmark) -> dict[str, Any]:
    shown = {
        "rates": [_rates_json(rates) for rates in result.rates],
        "trigger": result.trigger.model_dump(mode="json"),
        "audits": [
            {**audits.model_dump(mode="json"), "read_only": dict(audits.read_only)}
            for audits in result.audits
        ],
        "with_against_without": _comparison_json(result.sides),
        **({"server_against_skill": _comparison_json(result.server)} if result.server else {}),
        **({"pairwise": pairs_json(result.pairs)} if result.pairs else {}),
        "against_version": _comparison_json(result.versions) if result.versions else None,
    }
    return {key: rounded(value) for key, value in shown.items()}


def _rates_json(rates: SideRates) -> dict[str, Any]:
    return {**rates.model_dump(mode="json"), "statuses": dict(rates.statuses)}


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    unpaired = dict(comparison.evals_unpaired)
    return {**comparison.model_dump(mode="json"), "evals_unpaired": unpaired}


def statement(result: Benchmark) -> str:
    """Return what may be said, in one sentence a comparison; only figures, no adjectives."""
    return " ".join(_sentence(c) for c in result.comparisons)


def _sentence(comparison: Comparison) -> str:
    score, names = comparison.score, f"{comparison.candidate} against {comparison.baseline}"
    if score.mean is None:
        return f"{names}: no eval has a final run on both sides; {Finding.TOO_FEW.value}."
    evals = f"{score.pairs} eval{'s' if score.pairs != 1 else ''}"
    shown = f"{names}: {100 * score.mean:+.1f} points of assertions that hold over {evals}"
    interval, p = score.interval, score.p
    if interval is not None and p is not None:
        shown += f" (95 % {100 * interval.low:+.1f} to {100 * interval.high:+.1f}, p {p:.3f})"
    count = len(comparison.regressions)
    regressions = f"; {count} regression{'s' if count != 1 else ''}" if count else ""
    return f"{shown}: {score.finding.value}{_detectable(score)}{regressions}."


def _detectable(score: Difference) -> str:
    if score.finding is not Finding.NO_DIFFERENCE_SHOWN or not score.detectable:
        return ""
    return f"; {100 * score.detectable:.1f} points would be found 4 times in 5"


def _audits(side: str, runs: Sequence[Run]) -> SideAudits:
    verdicts = Counter(run.read_only for run in runs if run.read_only)
    return SideAudits(
        side=side,
        read_only=tuple(sorted(verdicts.items())),
        runs_with_unsupported_figures=sum(bool(run.unsupported) for run in runs),
        unsupported_figures=sum(len(run.unsupported) for run in runs),
        runs_with_account_ids=sum(bool(run.leaked) for run in runs),
    )


def _eval_json(runs: Sequence[Run], pairs: Sequence[Pair]) -> dict[str, Any]:
    negative = not all(run.should_trigger for run in runs)
    shown: dict[str, Any] = {
        "task_type": runs[0].task_type,
        "trigger": {WITH_SKILL: _trigger_json(runs), WITHOUT_SKILL: None},
    }
    if negative:
        parts = ("expected_output", "assertions", "metrics", "comparison", "output_consistency")
        return shown | dict.fromkeys(parts, _NEGATIVE)
    sides = {side: [run for run in runs if run.side == side] for side in SIDES}
    return shown | {
        "expected_output": {side: _expected_json(sides[side]) for side in SIDES},
        "assertions": _assertions_json(sides),
        "metrics": {side: _metrics_json(sides[side]) for side in SIDES},
        "comparison": {"quality": _quality_json(sides, pairs), "runtime": _runtime_json(sides)},
        "output_consistency": {
            "comparison": {"applicable": False, "reason": NOT_JUDGED},
            **{side: {"skipped": True, "skip_reason": NOT_JUDGED} for side in SIDES},
        },
    }


def _fraction(passed: int, total: int) -> dict[str, Any]:
    """Return a rate as the published tool shows it; nothing of nothing has no percentage."""
    percentage = int(100 * passed / total + 0.5) if total else None
    return {"pass_rate": f"{passed}/{total}", "percentage": percentage}


def _trigger_json(runs: Iterable[Run]) -> dict[str, Any]:
    mine = [run for run in runs if run.side == WITH_SKILL and run.error is None]
    return _fraction(sum(run.trigger is TriggerVerdict.PASS for run in mine), len(mine))


def _expected_json(runs: Sequence[Run]) -> dict[str, Any]:
    judged = [run for run in runs if run.is_final and run.expected_output is not None]
    passed = sum(run.expected_output == "passed" for run in judged)
    low = sum(run.expected_confidence == "low" for run in judged)
    return _fraction(passed, len(judged)) | {"low_confidence": low}


def _assertions_json(sides: dict[str, list[Run]]) -> dict[str, Any] | None:
    texts = {
        (a.text, a.evaluator): None
        for runs in sides.values()
        for run in runs
        for a in run.assertions or ()
    }
    if not texts:
        return None
    rows = [_assertion_json(i, text, sides) for i, text in enumerate(texts)]
    totals = {side: _fraction(*_sum(rows, side)) for side in SIDES}
    return {"per_assertion": rows, **totals}


def _assertion_json(
    index: int, assertion: tuple[str, str], sides: dict[str, list[Run]]
) -> dict[str, Any]:
    text, evaluator = assertion
    shown: dict[str, Any] = {"index": index, "text": text, "evaluator": evaluator}
    counts = {side: _held(runs, text) for side, runs in sides.items()}
    for side, (passed, total) in counts.items():
        shown[side] = _fraction(passed, total) if total else None
    return shown | {"classification": _classification(counts[WITH_SKILL], counts[WITHOUT_SKILL])}


def _held(runs: Iterable[Run], text: str) -> tuple[int, int]:
    """Return in how many final runs an assertion holds, of those that decided it."""
    outcomes = [a for run in runs if run.is_final for a in run.decided if a.text == text]
    return sum(a.passed is True for a in outcomes), len(outcomes)


def _classification(with_skill: tuple[int, int], without_skill: tuple[int, int]) -> str:
    if not with_skill[1] or not without_skill[1]:
        return "inconclusive"
    shares = with_skill[0] / with_skill[1], without_skill[0] / without_skill[1]
    named = {
        (1.0, 1.0): "always_passes",
        (0.0, 0.0): "always_fails",
        (1.0, 0.0): "skill_uplift",
        (0.0, 1.0): "regression",
    }
    return named.get(shares, "flaky")


def _sum(rows: Iterable[dict[str, Any]], side: str) -> tuple[int, int]:
    counts = [row[side]["pass_rate"].split("/") for row in rows if row[side] is not None]
    return sum(int(passed) for passed, _ in counts), sum(int(total) for _, total in counts)


def _metrics_json(runs: Sequence[Run]) -> dict[str, Any]:
    """Return means over final runs alone: a run without an answer took no time worth a mean."""
    final = [run for run in runs if run.is_final]
    seconds = mean([run.runtime_seconds for run in final if run.runtime_seconds is not None])
    cost = mean([run.cost_usd for run in final if run.cost_usd is not None])
    context = mean([run.context_percent for run in final if run.context_percent is not None])
    return {
        "runtime_avg": shown_duration(seconds) if seconds is not None else None,
        "cost_avg": f"${cost:.2f}" if cost is not None else None,
        "context_window_avg": {
            "utilization": f"{context:.1f}%" if context is not None else None,
            "compaction_count": mean([float(run.compaction_count) for run in final]),
        },
    }


def _quality_json(sides: dict[str, list[Run]], pairs: Sequence[Pair]) -> dict[str, Any]:
    iterations = sorted({run.iteration for runs in sides.values() for run in runs})
    if pairs:
        return judged_quality(iterations, {pair.iteration: pair for pair in pairs})
    return {
        "pairs_evaluated": 0,
        "pairs_skipped": len(iterations),
        "skip_reasons": [NOT_JUDGED],
        "overall": None,
        "per_criterion": {},
        "iterations": [
            {"iteration": i, "skipped": True, "skip_reason": NOT_JUDGED} for i in iterations
        ],
    }


def _runtime_json(sides: dict[str, list[Run]]) -> dict[str, Any]:
    """Return time differences of iterations with a final run on both sides."""
    seconds = {
        side: {r.iteration: r.runtime_seconds for r in runs if r.is_final}
        for side, runs in sides.items()
    }
    rows: list[dict[str, Any]] = []
    for iteration, ours in sorted(seconds[WITH_SKILL].items()):
        theirs = seconds[WITHOUT_SKILL].get(iteration)
        if ours is None or theirs is None:
            continue
        delta = round(ours - theirs, 3)
        rows.append(
            {
                "iteration": iteration,
                "with_skill_seconds": ours,
                "without_skill_seconds": theirs,
                "delta_seconds": delta,
                "threshold_exceeded": abs(delta) > RUNTIME_THRESHOLD_SECONDS,
                "position_assignment": "with_skill=profile_a",
                "contributors": [],
            }
        )
    iterations = {run.iteration for runs in sides.values() for run in runs}
    return {
        "pairs_evaluated": len(rows),
        "pairs_skipped": len(iterations) - len(rows),
        "threshold_exceeded_count": sum(row["threshold_exceeded"] for row in rows),
        "threshold_seconds": RUNTIME_THRESHOLD_SECONDS,
        "iterations": rows,
    }
