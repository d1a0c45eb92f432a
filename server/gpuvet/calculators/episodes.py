"""Runs of high utilisation, and the baselines that counts are compared with. Pure.

Rules: incident-branches §C. Percent is percent (0.9 is 0.9 %); a missing point is neither high
nor zero: it breaks a run; what 5-minute points cannot show is not claimed from them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median

from gpuvet.calculators.running import medians_before
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import TimeSeries

SATURATED_PERCENT = 90.0
RUN_POINTS = 5
FINE_SECONDS = 60
# Ours: rounding by the service; more than this above 100 is no percent.
PERCENT_SLACK = 0.5
BASELINE_DAYS = 3
BASELINE_POINTS = 10
SPIKE_FACTOR = 3.0
_DAY = timedelta(days=1)


class Load(StrEnum):
    """What a series of percents says, strongest first."""

    SATURATED = "saturated"
    COARSE = "coarse"  # a point at the bar, but periods too long to show five minutes
    BROKEN = "broken"  # points at the bar, no run of five
    REJECTED = "rejected"  # holds values that are no percent
    GAPS = "gaps"  # below the bar where seen, but a run could hide in what is missing
    BELOW = "below"
    NO_DATA = "no data"


@dataclass(frozen=True, slots=True)
class Episode:
    """A run of points at or above a bar: from the first one to the end of the last one's period."""

    start: datetime
    end: datetime
    minimum: float
    maximum: float
    points: int

    @property
    def minutes(self) -> float:
        """Its length in minutes."""
        return (self.end - self.start) / timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class LoadReading:
    """What a series says, and of how many points.

    Attributes:
        load: In one word.
        episodes: Runs of five or more.
        maximum: The highest valid value, or None.
        seen: Points in the part that must be without gaps.
        asked: Periods of that part.
        rejected: Values that are no percent.
    """

    load: Load
    episodes: tuple[Episode, ...]
    maximum: float | None
    seen: int
    asked: int
    rejected: int = 0


def episodes(
    series: TimeSeries, *, threshold: float = SATURATED_PERCENT, points: int = RUN_POINTS
) -> tuple[Episode, ...]:
    """Return the maximal runs of `points` or more values at or above the threshold.

    Values above 100 % and a half are no percent and break a run as a missing point does. Periods
    other than a minute show no run of minutes, so they give none.
    """
    if series.period_seconds != FINE_SECONDS:
        return ()
    return tuple(run for run in _runs(series, threshold) if run.points >= points)


def _runs(series: TimeSeries, threshold: float) -> Iterator[Episode]:
    run: list[tuple[datetime, float]] = []
    for at, value in series.grid():
        if value is not None and _is_percent(value) and value >= threshold:
            run.append((at, value))
        elif run:
            yield _episode(run, series.period)
            run = []
    if run:
        yield _episode(run, series.period)


def _episode(run: Sequence[tuple[datetime, float]], period: timedelta) -> Episode:
    values = [value for _, value in run]
    return Episode(run[0][0], run[-1][0] + period, min(values), max(values), len(run))


def _is_percent(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= 100 + PERCENT_SLACK


def read_load(series: TimeSeries, window: Window, cover: Window | None = None) -> LoadReading:
    """Return what a series of percents says of a window.

    BELOW is a statement only where no run of five could hide: fewer than five minutes in a row
    lack a datapoint, the ends of `cover` included. A maximum over longer periods that stays below
    the bar says the same.

    Args:
        series: Percent, statistic Maximum.
        window: Where runs and highest values are looked for; runs that touch it count.
        cover: The part that must be without gaps; the window itself where not given.
    """
    cover = cover or window
    runs = tuple(
        run for run in episodes(series) if run.end > window.start and run.start < window.end
    )
    inside = [value for _, value in series.points(window.start, window.end)]
    if series.extreme is not None:
        inside.append(series.extreme)
    valid = [value for value in inside if _is_percent(value)]
    rejected = len(inside) - len(valid)
    maximum = max(valid, default=None)
    if runs:
        load = Load.SATURATED
    elif maximum is not None and maximum >= SATURATED_PERCENT:
        load = _unproven(series, window)
    elif rejected:
        load = Load.REJECTED
    elif maximum is None:
        load = Load.NO_DATA
    else:
        load = Load.GAPS if _could_hide_a_run(series, cover) else Load.BELOW
    seen = len(series.points(cover.start, cover.end))
    return LoadReading(load, runs, maximum, seen, _asked(series, cover), rejected)


def _asked(series: TimeSeries, window: Window) -> int:
    return math.ceil((window.end - window.start) / series.period)


def _unproven(series: TimeSeries, window: Window) -> Load:
    """Return how a value at the bar without a run of five is to be called."""
    timed = any(v >= SATURATED_PERCENT for _, v in series.points(window.start, window.end))
    return Load.COARSE if timed and series.period_seconds > FINE_SECONDS else Load.BROKEN


def _could_hide_a_run(series: TimeSeries, window: Window) -> bool:
    """Say whether minutes without a datapoint are enough for a run of five, or status unsound."""
    if not series.status.is_complete:
        return True
    if series.extreme is not None and not series.values:
        return False  # the highest value over the whole window
    allowed = RUN_POINTS * timedelta(seconds=FINE_SECONDS)
    seen_until = window.start
    for at, _ in series.points(window.start - series.period, window.end):
        if at - seen_until >= allowed:
            return True
        seen_until = max(seen_until, at + series.period)
    return window.end - seen_until >= allowed


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a count usually is.

    Attributes:
        value: The median.
        points: How many datapoints it is of.
        is_fallback: True: earlier days had no datapoints, so it is the window before the edge.
    """

    value: float
    points: int
    is_fallback: bool

    @property
    def words(self) -> str:
        """Where it comes from, for a reader."""
        if self.is_fallback:
            return (
                f"median of the {self.points} points of the window before the rise: "
                "no baseline of the previous 72 h is recorded"
            )
        return f"median of {self.points} points at the same hours of the previous 72 h"


def usual(series: TimeSeries, window: Window, *, days: int = BASELINE_DAYS) -> Baseline | None:
    """Return the median at the same hours of the days before, or None without ten datapoints."""
    length = min(window.end - window.start, _DAY)
    values = [
        value
        for at, value in series.points(window.start - days * _DAY, window.start)
        if (at - window.start) % _DAY < length and math.isfinite(value)
    ]
    if len(values) < BASELINE_POINTS:
        return None
    return Baseline(median(values), len(values), is_fallback=False)


@dataclass(frozen=True, slots=True)
class Spike:
    """A count that rose to three times its baseline and stayed there for five points.

    Attributes:
        at: The first point of the rise.
        baseline: What it is compared with.
        level: The median from the rise to the last high point.
        until: The end of the last high point of the run.
    """

    at: datetime
    baseline: Baseline
    level: float
    until: datetime

    @property
    def ratio(self) -> float:
        """How many times the baseline."""
        return self.level / self.baseline.value if self.baseline.value else math.inf


def spike(series: TimeSeries, window: Window, *, factor: float = SPIKE_FACTOR) -> Spike | None:
    """Return the first rise to `factor` times the baseline that holds for five points in a row.

    The baseline is the same hours of the previous 72 h; where they have no datapoints it is the
    median of the points of the window before the rise, of which there must be ten.

    Args:
        series: A count per period; it may begin 72 h before the window.
        window: Where the rise is looked for.
        factor: How many times the baseline.
    """
    known = usual(series, window)
    finite = [(at, v) for at, v in series.points(window.start, window.end) if math.isfinite(v)]
    before = medians_before(value for _, value in finite)
    for place, ((_, value), middle) in enumerate(zip(finite, before, strict=True)):
        baseline = known or _fallback(middle, place)
        bar = factor * baseline.value if baseline is not None else 0.0
        began_earlier = place > 0 and finite[place - 1][1] >= bar
        if baseline is None or not value >= bar > 0 or began_earlier:
            continue
        run = _high_run(finite[place:], series.period, bar)
        if len(run) >= RUN_POINTS:
            level = median(high for _, high in run)
            return Spike(run[0][0], baseline, level, run[-1][0] + series.period)
    return None


def _fallback(middle: float | None, points: int) -> Baseline | None:
    if middle is None or points < BASELINE_POINTS:
        return None
    return Baseline(middle, points, is_fallback=True)


def _high_run(
    points: Sequence[tuple[datetime, float]], period: timedelta, bar: float
) -> list[tuple[datetime, float]]:
    run: list[tuple[datetime, float]] = []
    for at, value in points:
        if value < bar or (run and at - run[-1][0] != period):
            break
        run.append((at, value))
    return run
