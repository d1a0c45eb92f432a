"""EFA counters to episodes: increments, resets, a baseline and a bar (§D, layer 3). Pure.

The bar is a heuristic: three times the median of the prior 24 h, and at least 10 a minute.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from gpuvet.model.network import EfaPoint, EfaSeries

BASELINE = timedelta(hours=24)
FACTOR = 3
LEAST_PER_MINUTE = 10.0
_LEAST_POINTS = 10  # fewer points before the window make no median
_LEAST_RISING = 0.5  # share of steps that rise before a series counts as cumulative


@dataclass(frozen=True, slots=True)
class Episode:
    """One run of increments above the bar.

    Attributes:
        counter: Without prefix.
        node: Whose.
        device: Of which EFA device.
        start: When the first increment's period began.
        end: When the last one's ended.
        most_per_minute: The greatest increment, per minute.
        total: The sum of the increments.
        bar_per_minute: What it was judged against.
        baseline: Where the baseline came from.
        evidence: Id of the reading.
    """

    counter: str
    node: str | None
    device: str | None
    start: datetime
    end: datetime
    most_per_minute: float
    total: float
    bar_per_minute: float
    baseline: str
    evidence: str | None = None


def is_cumulative(points: Sequence[EfaPoint]) -> bool:
    """Say whether a series is a running count: it hardly ever falls, and it is not mostly zero.

    Agents publish the same names as running counts or as counts per period; differencing the
    latter would halve and invent errors. A running count may fall at a reset.
    """
    values = [one.value for one in points]
    steps = list(pairwise(values))
    falls = sum(1 for one, other in steps if other < one)
    if len(steps) < 2 or all(value == 0 for value in values):
        return False
    if falls == 0:
        return True
    holds_up = falls <= max(1, len(steps) // 50)
    rests = sum(1 for one, other in steps if other == one and one > 0)
    rises = sum(1 for one, other in steps if other > one)
    return holds_up and rests + rises >= _LEAST_RISING * len(steps)


def increments(points: Sequence[EfaPoint], *, cumulative: bool) -> tuple[EfaPoint, ...]:
    """Return how much was added at each point; after a reset the new value is the increment.

    Args:
        points: In order of time.
        cumulative: A running count; its first point has no increment.
    """
    if not cumulative:
        return tuple(points)
    return tuple(
        EfaPoint(at=b.at, value=b.value if b.value < a.value else b.value - a.value)
        for a, b in pairwise(points)
    )


def episodes(series: EfaSeries, since: datetime, edge: datetime | None) -> tuple[Episode, ...]:
    """Return the episodes of one counter from `since` on.

    Args:
        series: Its points may begin a day earlier: they are the baseline.
        since: Start of the window.
        edge: Start of the failure; where no baseline was returned, the window before it stands in.
    """
    points = sorted(series.points, key=lambda one: one.at)
    added = increments(points, cumulative=is_cumulative(points))
    minutes = max(series.period_seconds, 1) / 60
    rates = [EfaPoint(at=one.at, value=one.value / minutes) for one in added]
    bar, words = _bar(rates, since, edge)
    period = timedelta(seconds=series.period_seconds)
    inside = [one for one in rates if one.at >= since]
    return tuple(
        Episode(
            counter=series.counter,
            node=series.node,
            device=series.device,
            start=run[0].at,
            end=run[-1].at + period,
            most_per_minute=max(one.value for one in run),
            total=sum(one.value for one in run) * minutes,
            bar_per_minute=bar,
            baseline=words,
            evidence=series.evidence,
        )
        for run in _runs(inside, bar, period)
    )


def _bar(rates: Sequence[EfaPoint], since: datetime, edge: datetime | None) -> tuple[float, str]:
    day = [one.value for one in rates if since - BASELINE <= one.at < since]
    if len(day) >= _LEAST_POINTS:
        return _at_least(day), "median of the 24 h before the window"
    before = [one.value for one in rates if edge is not None and since <= one.at < edge]
    if len(before) >= _LEAST_POINTS:
        return _at_least(before), "no 24 h baseline: median of the window before the failure"
    return LEAST_PER_MINUTE, "no baseline"


def _at_least(values: Sequence[float]) -> float:
    return max(FACTOR * median(values), LEAST_PER_MINUTE)


def _runs(rates: Sequence[EfaPoint], bar: float, period: timedelta) -> Iterator[list[EfaPoint]]:
    """Yield maximal runs at or above the bar; a missing point breaks a run."""
    run: list[EfaPoint] = []
    for one in rates:
        if run and (one.value < bar or one.at - run[-1].at > period * 1.5):
            yield run
            run = []
        if one.value >= bar:
            run.append(one)
    if run:
        yield run
