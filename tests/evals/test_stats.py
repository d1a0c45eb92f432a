"""Each statistic against a second implementation: integration, brute force, published tables."""

import math
import random
from itertools import product
from statistics import NormalDist, fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet_evals import stats
from gpuvet_evals.stats import (
    Estimate,
    clustered_mean,
    difference_interval,
    mean_difference,
    minimum_detectable_difference,
    paired_p,
    rate_interval,
    sign_flip_p,
    sign_test_p,
    smallest_p,
    t_cdf,
    t_quantile,
    wilson,
)


def t_cdf_by_integration(value: float, freedom: int, steps: int = 4000) -> float:
    """Simpson's rule over the density of Student's t, from 0."""
    front = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    front /= math.sqrt(freedom * math.pi)

    def density(x: float) -> float:
        return float(front * (1 + x * x / freedom) ** (-(freedom + 1) / 2))

    width = value / steps
    inner = sum((4 if i % 2 else 2) * density(i * width) for i in range(1, steps))
    return 0.5 + width / 3 * (density(0) + inner + density(value))


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 11, 40, 200])
@pytest.mark.parametrize("value", [-2.5, 0.0, 0.3, 1.0, 2.0, 4.5])
def test_students_t_agrees_with_integration(value: float, freedom: int) -> None:
    assert t_cdf(value, freedom) == pytest.approx(t_cdf_by_integration(value, freedom), abs=1e-9)


# Table of Student's t, two-sided 95 %: NIST/SEMATECH e-Handbook 1.3.6.7.2.
@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042)]
)
def test_quantiles_agree_with_the_printed_table(freedom: int, quantile: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=5e-4)
    assert t_quantile(0.025, freedom) == pytest.approx(-quantile, abs=5e-4)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert t_quantile(0.9, 100_000) == pytest.approx(NormalDist().inv_cdf(0.9), abs=1e-4)


@pytest.mark.parametrize(("passes", "trials"), [(0, 5), (3, 5), (5, 5), (48, 50)])
def test_wilsons_ends_are_the_rates_that_the_score_test_just_keeps(
    passes: int, trials: int
) -> None:
    interval = wilson(passes, trials)
    z = NormalDist().inv_cdf(0.975)

    def distance(rate: float) -> float:
        return abs(passes / trials - rate) - z * math.sqrt(rate * (1 - rate) / trials)

    for end in (interval.low, interval.high):
        assert end in {0.0, 1.0} or distance(end) == pytest.approx(0, abs=1e-12)
    assert 0 <= interval.low <= passes / trials <= interval.high <= 1


def test_the_clustered_error_is_the_sandwich_of_a_regression_on_one() -> None:
    clusters = {"a": (1.0, 0.0, 1.0), "b": (1.0, 1.0), "c": (0.0,), "d": (0.5, 0.25)}
    values = [(key, value) for key, group in clusters.items() for value in group]
    centre = sum(value for _, value in values) / len(values)
    meat = 0.0  # sum over all pairs of runs of the same cluster, straight from the definition
    for (one, x), (other, y) in product(values, repeat=2):
        meat += (x - centre) * (y - centre) if one == other else 0.0
    expected = math.sqrt(meat / len(values) ** 2 * 4 / 3)

    estimate = clustered_mean(clusters)

    assert estimate is not None
    assert estimate.mean == pytest.approx(centre)
    assert estimate.standard_error == pytest.approx(expected)
    assert (estimate.clusters, estimate.values) == (4, 8)


def test_clusters_of_one_give_the_plain_error_of_a_mean() -> None:
    values = (0.2, 0.9, 0.4, 0.6)

    estimate = mean_difference(values)

    assert estimate is not None
    assert estimate.mean == pytest.approx(fmean(values))
    assert estimate.standard_error == pytest.approx(stdev(values) / 2)


def test_runs_of_an_eval_that_agree_add_nothing() -> None:
    once = clustered_mean({"a": (1.0,), "b": (0.0,), "c": (1.0,)})
    often = clustered_mean({"a": (1.0,) * 9, "b": (0.0,) * 9, "c": (1.0,) * 9})

    assert once is not None
    assert often is not None
    assert often.standard_error == pytest.approx(once.standard_error)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_sign_flips_agree_with_counting_in_whole_numbers(differences: list[int]) -> None:
    sums = [0]
    for difference in differences:
        sums = [s + sign * difference for s in sums for sign in (1, -1)]
    extreme = sum(abs(s) >= abs(sum(differences)) for s in sums)

    assert sign_flip_p([d / 4 for d in differences]) == extreme / len(sums)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12))
def test_the_sign_test_agrees_with_tossing_every_coin(better: int, worse: int) -> None:
    trials = better + worse
    far = sum(
        math.comb(trials, heads)
        for heads in range(trials + 1)
        if abs(heads - trials / 2) >= abs(better - trials / 2)
    )

    assert sign_test_p(better, worse) == pytest.approx(far / 2**trials)


def test_a_clean_sweep_has_the_smallest_p() -> None:
    assert [smallest_p(n) for n in (1, 4, 5, 6)] == [1.0, 0.125, 0.0625, 0.03125]
    assert sign_flip_p([1.0] * 6) == smallest_p(6)


def test_many_pairs_are_tested_with_students_t_and_agree_with_sampled_flips() -> None:
    draw = random.Random(7)  # noqa: S311 - a test's own draws
    differences = [draw.gauss(0.25, 0.5) for _ in range(24)]
    seen, trials = abs(sum(differences)), 20_000
    extreme = sum(
        abs(sum(d if draw.random() < 0.5 else -d for d in differences)) >= seen
        for _ in range(trials)
    )

    assert paired_p(differences) == pytest.approx(extreme / trials, abs=0.01)


def test_the_detectable_difference_is_found_that_often() -> None:
    """Simulate a true difference of that size; about 80 of 100 comparisons find it."""
    draw = random.Random(11)  # noqa: S311 - a test's own draws
    pairs, noise = 20, 0.3
    size = minimum_detectable_difference(
        Estimate(mean=0, standard_error=noise / math.sqrt(pairs), clusters=pairs, values=pairs)
    )
    assert size is not None
    found = sum(
        paired_p([draw.gauss(size, noise) for _ in range(pairs)]) < 0.05 for _ in range(400)
    )

    assert found / 400 == pytest.approx(0.8, abs=0.06)


def test_ninety_five_of_a_hundred_intervals_hold_the_truth() -> None:
    draw = random.Random(5)  # noqa: S311 - a test's own draws
    held = 0
    for _ in range(600):
        estimate = mean_difference([draw.gauss(0.1, 0.4) for _ in range(8)])
        interval = difference_interval(estimate) if estimate else None
        held += interval is not None and interval.low <= 0.1 <= interval.high

    assert held / 600 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(
    "clusters",
    [
        pytest.param({"a": (1.0, 1.0), "b": (1.0,)}, id="all pass"),
        pytest.param({"a": (0.0,), "b": (0.0,), "c": (0.0,)}, id="none passes"),
        pytest.param({"a": (1.0, 0.0)}, id="one eval"),
    ],
)
def test_a_rate_without_spread_is_not_called_certain(clusters: dict[str, tuple[float]]) -> None:
    estimate = clustered_mean(clusters)

    assert estimate is not None
    interval = rate_interval(estimate)
    assert interval.high - interval.low > 0.3


def test_nothing_has_no_mean() -> None:
    assert clustered_mean({}) is None
    assert stats.mean([]) is None
    assert difference_interval(Estimate(mean=1, standard_error=None, clusters=1, values=1)) is None
