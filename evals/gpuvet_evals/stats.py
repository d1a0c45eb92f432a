"""Intervals and tests for few, clustered runs; from the standard library alone. Pure.

Runs of one eval resemble each other, so the eval is the unit: standard errors are clustered by
eval and sides are compared eval by eval (Miller 2024, "Adding Error Bars to Evals", arXiv
2411.00640; Student's t with few clusters). Each function is checked against a second
implementation in tests.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from statistics import NormalDist, fmean

from gpuvet.model.base import Value

CONFIDENCE = 0.95
POWER = 0.8
EXACT_UP_TO = 14  # differences; 2^14 sign patterns are enumerated in well under a second


class Interval(Value):
    """A confidence interval of a rate or a difference."""

    low: float
    high: float
    method: str


class Estimate(Value):
    """A mean with its standard error, clustered by eval."""

    mean: float
    standard_error: float | None  # None from one cluster alone
    clusters: int
    values: int


def wilson(passes: float, trials: float, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a rate (Wilson 1927).

    Args:
        passes: How many passed; may be fractional where clusters pass in part.
        trials: Of how many independent ones; above 0.
        confidence: Share of intervals that hold the truth.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, spread = passes / trials, z * z / trials
    centre = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / trials + spread / trials / 4) / (1 + spread)
    return Interval(
        low=max(0.0, centre - half) if passes else 0.0,
        high=min(1.0, centre + half) if passes < trials else 1.0,
        method="Wilson",
    )


def clustered_mean(clusters: Mapping[str, Sequence[float]]) -> Estimate | None:
    """Return the mean over all values with its standard error clustered by key; None of nothing.

    The sandwich estimator for a mean, with the usual factor G/(G-1) for G clusters.
    """
    filled = [values for values in clusters.values() if values]
    count, total = len(filled), sum(len(values) for values in filled)
    if not count:
        return None
    mean = math.fsum(math.fsum(values) for values in filled) / total
    if count == 1:
        return Estimate(mean=mean, standard_error=None, clusters=1, values=total)
    sums = [math.fsum(value - mean for value in values) for values in filled]
    variance = math.fsum(s * s for s in sums) / total**2 * count / (count - 1)
    return Estimate(mean=mean, standard_error=math.sqrt(variance), clusters=count, values=total)


def rate_interval(estimate: Estimate) -> Interval:
    """Return an interval of a rate: Student's t on the clusters, Wilson's where they all agree."""
    error = estimate.standard_error
    if not error or estimate.clusters < 3:
        interval = wilson(estimate.mean * estimate.clusters, estimate.clusters)
        return interval.model_copy(update={"method": "Wilson, evals as trials"})
    half = t_quantile((1 + CONFIDENCE) / 2, estimate.clusters - 1) * error
    return Interval(
        low=max(0.0, estimate.mean - half),
        high=min(1.0, estimate.mean + half),
        method="t, clustered by eval",
    )


def mean_difference(differences: Sequence[float]) -> Estimate | None:
    """Return the mean of paired differences with its standard error; None of nothing."""
    return clustered_mean({str(i): (d,) for i, d in enumerate(differences)})


def difference_interval(estimate: Estimate) -> Interval | None:
    """Return Student's t interval of a mean difference; None from fewer than two pairs."""
    if estimate.standard_error is None:
        return None
    half = t_quantile((1 + CONFIDENCE) / 2, estimate.clusters - 1) * estimate.standard_error
    return Interval(low=estimate.mean - half, high=estimate.mean + half, method="paired t")


def paired_p(differences: Sequence[float]) -> float:
    """Return the two-sided p of no difference: exact sign flips where few, Student's t else."""
    if len(differences) <= EXACT_UP_TO:
        return sign_flip_p(differences)
    estimate = mean_difference(differences)
    error = estimate.standard_error if estimate else None
    if estimate is None or not error:
        return 1.0 if not any(differences) else 0.0
    return 2 * (1 - t_cdf(abs(estimate.mean) / error, estimate.clusters - 1))


def sign_flip_p(differences: Sequence[float]) -> float:
    """Return Fisher's exact randomisation p: how many sign patterns give a mean as far from 0."""
    seen = abs(math.fsum(differences)) - 1e-9  # sums of the same terms may differ by rounding
    patterns = product((1.0, -1.0), repeat=len(differences))
    extreme = sum(
        abs(math.fsum(s * d for s, d in zip(signs, differences, strict=True))) >= seen
        for signs in patterns
    )
    return extreme / 2.0 ** len(differences)


def sign_test_p(better: int, worse: int) -> float:
    """Return the two-sided exact binomial p of `better` against `worse`, ties left out."""
    trials = better + worse
    if not trials:
        return 1.0
    tail = sum(math.comb(trials, k) for k in range(min(better, worse) + 1)) / 2.0**trials
    return min(1.0, 2 * tail)


def smallest_p(pairs: int) -> float:
    """Return the smallest p that sign flips of so many pairs can give: a clean sweep's."""
    return min(1.0, 2 / 2.0**pairs)


def minimum_detectable_difference(estimate: Estimate, power: float = POWER) -> float | None:
    """Return the true difference that such a comparison finds with this power, two-sided."""
    error, freedom = estimate.standard_error, estimate.clusters - 1
    if error is None:
        return None
    return (t_quantile((1 + CONFIDENCE) / 2, freedom) + t_quantile(power, freedom)) * error


def t_cdf(value: float, freedom: int) -> float:
    """Return Student's t distribution function, through the incomplete beta function."""
    tail = 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value * value))
    return 1 - tail if value > 0 else tail


def t_quantile(probability: float, freedom: int) -> float:
    """Return the value below which Student's t lies with this probability, by bisection."""
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None of nothing."""
    return fmean(values) if values else None


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function (DLMF 8.17.22, Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    log_front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_front) / _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + …)) of DLMF 8.17.22 by Lentz's method."""
    tiny = 1e-300
    value, c, d = 1.0, 1.0, 0.0
    for i in range(1, 500):
        m = i // 2
        if i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + term * d) or tiny)
        c = (1 + term / c) or tiny
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
