"""Rates three ways, comparisons that know their limits, and benchmark.json."""

from collections.abc import Sequence
from typing import Any

import pytest

from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.benchmark import benchmark, benchmark_json, statement
from gpuvet_evals.compare import compare
from gpuvet_evals.loads import TriggerVerdict
from gpuvet_evals.rates import side_rates, trigger_quality
from gpuvet_evals.runs import Run, ScoredAssertion, read_run

SIDES = ("without_skill", "with_skill")


def run(
    eval_id: str = "e",
    *passed: bool | None,
    side: str = "with_skill",
    iteration: int = 1,
    status: AnswerStatus = AnswerStatus.FINAL,
    trigger: TriggerVerdict = TriggerVerdict.PASS,
    seconds: float = 60.0,
) -> Run:
    """A run with assertions named a0, a1, … that hold, fail or are undecided."""
    return Run(
        eval_id=eval_id,
        iteration=iteration,
        side=side,
        status=status,
        trigger=trigger,
        runtime_seconds=seconds,
        cost_usd=seconds * 0.0083,
        context_percent=5.0,
        assertions=tuple(
            ScoredAssertion(text=f"a{i}", evaluator="regex", passed=p, evidence=f"seen {i}")
            for i, p in enumerate(passed)
        ),
    )


def sides(outcomes: Sequence[tuple[bool, bool]]) -> tuple[list[Run], list[Run]]:
    """Runs without and with, one eval a pair."""
    old = [run(f"e{i:02}", was, side="without_skill") for i, (was, _) in enumerate(outcomes)]
    return old, [run(f"e{i:02}", now) for i, (_, now) in enumerate(outcomes)]


def test_rates_are_given_three_ways() -> None:
    unanswered = AnswerStatus.BLOCKED_ON_USER
    runs = [
        run("a", True, True),
        run("a", True, False, iteration=2),
        run("b", None, None, status=unanswered),
    ]

    rates = side_rates("with_skill", runs)

    score = rates.assertion_score
    assert score.scored is not None
    assert score.unanswered_as_fails is not None
    assert (score.scored.value, score.scored.runs, score.scored.evals) == (0.75, 2, 1)
    assert score.unanswered_as_fails.value == pytest.approx(0.5)
    assert score.low == pytest.approx(0.5)
    assert score.high == pytest.approx(2.5 / 3)
    assert rates.all_assertions.scored is not None
    assert rates.all_assertions.scored.value == 0.5
    assert rates.statuses == (("blocked_on_user", 1), ("final", 2))


def test_negatives_and_other_sides_stay_out_of_a_sides_rates() -> None:
    negative = run("n", True).model_copy(update={"should_trigger": False})

    rates = side_rates("with_skill", [negative, run("a", True, side="without_skill")])

    assert (rates.runs, rates.assertion_score.scored, rates.assertion_score.low) == (0, None, None)


def test_a_run_whose_assertions_only_a_judge_decides_has_no_rate() -> None:
    rates = side_rates("with_skill", [run("a", None, None)])

    assert rates.assertion_score.scored is None
    assert rates.unjudged_assertions == 2


def test_precision_and_recall_leave_the_unproven_apart() -> None:
    negative = {"should_trigger": False}
    runs = [
        run("a", trigger=TriggerVerdict.PASS),
        run("b", trigger=TriggerVerdict.FAIL),
        run("c", trigger=TriggerVerdict.UNPROVEN),
        run("n", trigger=TriggerVerdict.FAIL).model_copy(update=negative),
        run("m", trigger=TriggerVerdict.PASS).model_copy(update=negative),
    ]

    quality = trigger_quality(runs)

    assert (quality.precision_value, quality.recall_value) == (0.5, 0.5)
    assert (quality.true_negatives, quality.unproven_positives) == (1, 1)


@pytest.mark.parametrize(
    ("outcomes", "finding"),
    [
        pytest.param([(False, True)] * 5, "too few evals to say", id="a clean sweep of five"),
        pytest.param([(False, True)] * 6, "better", id="a clean sweep of six"),
        pytest.param([(True, False)] * 6, "worse", id="a clean loss of six"),
        pytest.param([(False, True)] * 4 + [(True, False)] * 3, "no difference shown", id="mixed"),
        pytest.param([(True, True)] * 9, "no difference shown", id="nothing changes"),
        pytest.param([(False, True)] * 20 + [(True, False)], "better", id="many"),
        pytest.param([], "too few evals to say", id="none"),
    ],
)
def test_a_winner_needs_evals(outcomes: list[tuple[bool, bool]], finding: str) -> None:
    old, new = sides(outcomes)

    assert compare(old, new, names=SIDES).score.finding.value == finding


def test_a_difference_carries_interval_p_and_what_could_be_found() -> None:
    old, new = sides([(False, True)] * 4 + [(True, True)] * 3 + [(True, False)])

    score = compare(old, new, names=SIDES).score

    assert (score.pairs, score.better, score.worse) == (8, 4, 1)
    assert score.mean == pytest.approx(3 / 8)
    assert score.interval is not None
    assert score.interval.low < 3 / 8 < score.interval.high
    assert score.p == pytest.approx(0.375)
    assert score.detectable is not None
    assert score.detectable > 3 / 8


def test_more_runs_of_an_eval_are_no_more_evals() -> None:
    old = [run("e", False, side="without_skill", iteration=i) for i in range(1, 10)]
    new = [run("e", True, iteration=i) for i in range(1, 10)]

    score = compare(old, new, names=SIDES).score

    assert (score.pairs, score.finding.value) == (1, "too few evals to say")


def test_a_contaminated_run_drops_its_pair() -> None:
    old = [
        run("e", True, side="without_skill", trigger=TriggerVerdict.CONTAMINATED),
        run("e", False, side="without_skill", iteration=2),
    ]
    new = [run("e", False), run("e", True, iteration=2)]

    comparison = compare(old, new, names=SIDES)

    assert comparison.dropped == ("e iteration 1",)
    assert comparison.score.mean == 1.0


def test_unanswered_evals_are_named_and_not_paired() -> None:
    old = [run("e", True, side="without_skill")]
    new = [run("e", None, status=AnswerStatus.TRUNCATED_MID_TOOL)]

    comparison = compare(old, new, names=SIDES)

    assert comparison.evals_unpaired == (("e", "no final run on with_skill"),)
    assert comparison.runtime_seconds.pairs == 0


def test_a_regression_shows_the_flip_behind_it() -> None:
    old = [run("e", True, True, side="without_skill", iteration=i) for i in (1, 2)]
    new = [run("e", False, True, iteration=1), run("e", False, False, iteration=2)]

    flips = compare(old, new, names=SIDES).flips

    assert [(f.assertion, f.kind, f.baseline, f.candidate) for f in flips] == [
        ("a0", "regression", "2/2", "0/2"),
        ("a1", "worse", "2/2", "1/2"),
    ]
    assert flips[0].baseline_iterations == (1, 2)
    assert flips[0].evidence == ("seen 0",)


def test_versions_are_compared_on_the_side_with_the_skill() -> None:
    old, new = sides([(True, False)] * 6)
    older = [r.model_copy(update={"side": "with_skill"}) for r in old]

    result = benchmark(new, "v2", older=older, older_name="v1")

    assert result.versions is not None
    assert (result.versions.baseline, result.versions.candidate) == ("v1", "v2")
    assert result.has_regression
    assert not result.says_too_little


def classification(result: dict[str, Any], eval_id: str) -> str:
    return str(result["evals"][eval_id]["assertions"]["per_assertion"][0]["classification"])


def test_the_published_form_is_filled() -> None:
    runs = [
        *(r for pair in sides([(True, True), (False, False), (False, True), (True, False)])
          for r in pair),
        run("lone", True),
        run("n", trigger=TriggerVerdict.PASS).model_copy(update={"should_trigger": False}),
    ]  # fmt: skip

    written = benchmark_json(benchmark(runs, "v1"))

    words = [classification(written, f"e{i:02}") for i in range(4)]
    assert words == ["always_passes", "always_fails", "skill_uplift", "regression"]
    assert classification(written, "lone") == "inconclusive"
    assert written["evals"]["e00"]["assertions"]["with_skill"] == {
        "pass_rate": "1/1",
        "percentage": 100,
    }
    assert written["evals"]["n"]["metrics"] == {
        "skipped": True,
        "skip_reason": "Eval is should_trigger: false",
    }
    assert (written["total_evals"], written["version"], written["iterations"]) == (6, "v1", 1)


def test_means_of_time_and_cost_are_over_final_runs_alone() -> None:
    runs = [
        run("e", True, seconds=100.0),
        run("e", None, iteration=2, seconds=0.0, status=AnswerStatus.BLOCKED_ON_USER),
    ]

    metrics = benchmark_json(benchmark(runs, "v1"))["evals"]["e"]["metrics"]["with_skill"]

    assert metrics == {
        "runtime_avg": "1m40s",
        "cost_avg": "$0.83",
        "context_window_avg": {"utilization": "5.0%", "compaction_count": 0.0},
    }


def test_a_statement_holds_figures_and_no_winner_of_too_few() -> None:
    old, new = sides([(False, True)] * 3)

    said = statement(benchmark([*old, *new], "v1"))

    assert said == (
        "with_skill against without_skill: +100.0 points of assertions that hold over 3 evals "
        "(95 % +100.0 to +100.0, p 0.250): too few evals to say."
    )


def test_results_of_the_published_tool_are_read_too() -> None:
    results = {
        "version": "v5", "iteration": 2, "eval_id": "x", "run_type": "with_skill", "success": True,
        "error": None,
        "tests": {
            "trigger": {"result": "passed", "message": "m", "skill_loads_found": 1},
            "expected_output": {"result": "passed", "confidence": "high"},
            "assertions": {"assertion_results": [
                {"text": "t", "evaluator": "llm", "passed": True, "evidence": "e"},
                {"text": "u", "evaluator": "regex", "passed": False, "evidence": "n"}]},
        },
        "metrics": {"runtime": "1m56s", "cost": "$0.97",
                    "context_window": {"utilization": "4.0%", "compaction_count": 0}},
    }  # fmt: skip

    read = read_run(results)

    assert (read.status.value, read.trigger.value, read.score) == ("final", "pass", 0.5)
    assert (read.runtime_seconds, read.cost_usd, read.context_percent) == (116.0, 0.97, 4.0)


def test_a_published_run_without_an_answer_is_no_fail() -> None:
    error = "No FinalResponse found in chat output, so no assertion could be checked."
    results = {
        "eval_id": "x", "run_type": "without_skill", "success": True,
        "tests": {"trigger": None, "expected_output": None, "assertions": {"assertion_results": [
            {"text": "t", "evaluator": "llm", "passed": None, "error": error}]}},
    }  # fmt: skip

    read = read_run(results)

    assert (read.status.value, read.score, read.is_final) == ("errored", None, False)
