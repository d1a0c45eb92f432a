"""Runs of five minutes at 90 %, baselines and rises (incident-branches §C)."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_world import START, WINDOW, flat, minute, series, server, with_run

from gpuvet.calculators.episodes import (
    Baseline,
    Episode,
    Load,
    Spike,
    episodes,
    read_load,
    spike,
    usual,
)
from gpuvet.model.evidence import Status, Window
from gpuvet.model.metrics import TimeSeries

OSS = server("OSS0000")


def percents(values: list[float | None], period: int = 60) -> TimeSeries:
    return series("NetworkThroughputUtilization", values, unit=OSS, period=period)


def test_an_episode_ends_with_the_period_of_its_last_point() -> None:
    found = episodes(percents([10, 91, 95, 99.5, 90, 92, 20]))
    assert found == (Episode(minute(1), minute(6), 90, 99.5, 5),)
    assert found[0].minutes == 5


@pytest.mark.parametrize(
    ("values", "load"),
    [
        pytest.param([95] * 4 + [10] * 116, Load.BROKEN, id="four points are no episode"),
        pytest.param([95] * 5 + [10] * 115, Load.SATURATED, id="five are"),
        pytest.param([90.0] * 120, Load.SATURATED, id="the bar itself counts"),
        pytest.param([89.9] * 120, Load.BELOW, id="just below does not"),
        pytest.param(
            [95, 95, None, 95, 95, 95, *flat(10, 114)], Load.BROKEN, id="a missing point breaks"
        ),
        pytest.param([0.9] * 120, Load.BELOW, id="0.9 is 0.9 percent"),
        pytest.param([100.3] * 120, Load.SATURATED, id="rounding above 100 is a percent"),
        pytest.param([950.0] * 120, Load.REJECTED, id="950 is no percent"),
        pytest.param([-1.0] * 120, Load.REJECTED, id="nor is a negative value"),
        pytest.param([float("nan")] * 120, Load.REJECTED, id="nor is not-a-number"),
        pytest.param(
            [95, 95, 400, 95, 95, 95, *flat(10, 114)], Load.BROKEN, id="a rejected value breaks too"
        ),
        pytest.param(flat(None), Load.NO_DATA, id="no point is no statement"),
        pytest.param([], Load.NO_DATA, id="nor is no series"),
        pytest.param(
            [*flat(10, 50), *flat(None, 4), *flat(10, 66)],
            Load.BELOW,
            id="four missing hide no run",
        ),
        pytest.param(
            [*flat(10, 50), *flat(None, 5), *flat(10, 65)], Load.GAPS, id="five missing can"
        ),
        pytest.param(flat(10, 115), Load.GAPS, id="also at the end of the window"),
        pytest.param([*flat(None, 5), *flat(10, 115)], Load.GAPS, id="and at its start"),
    ],
)
def test_a_series_is_called(values: list[float | None], load: Load) -> None:
    assert read_load(percents(values), WINDOW).load is load


@pytest.mark.parametrize(
    ("value", "load"),
    [
        pytest.param(95.0, Load.COARSE, id="five minutes at 90 cannot be shown"),
        pytest.param(89.0, Load.BELOW, id="a maximum below the bar can"),
    ],
)
def test_periods_of_five_minutes_show_no_run(value: float, load: Load) -> None:
    reading = read_load(percents([value] * 24, period=300), WINDOW)
    assert (reading.load, reading.episodes) == (load, ())


@pytest.mark.parametrize(("value", "load"), [(31.0, Load.BELOW), (97.0, Load.BROKEN)])
def test_an_extreme_without_time_shows_no_run(value: float, load: Load) -> None:
    told = percents([]).model_copy(update={"extreme": value})
    assert read_load(told, WINDOW).load is load


def test_points_of_a_reading_that_was_cut_rule_nothing_out() -> None:
    cut = percents(flat(10)).model_copy(update={"status": Status.PARTIAL})
    assert read_load(cut, WINDOW).load is Load.GAPS


def test_only_the_covered_part_must_be_without_gaps() -> None:
    late = percents([*flat(None, 60), *flat(10, 60)])
    cover = Window(start=minute(60), end=WINDOW.end)
    reading = read_load(late, WINDOW, cover)
    assert (reading.load, reading.seen, reading.asked) == (Load.BELOW, 60, 60)


values = st.lists(
    st.one_of(st.none(), st.sampled_from([10.0, 89.9, 90.0, 95.0, 100.0, 500.0])), max_size=40
)


@settings(max_examples=60)
@given(values, st.sets(st.integers(0, 39)))
def test_taking_points_away_never_adds_a_saturated_minute(
    points: list[float | None], away: set[int]
) -> None:
    left = [None if i in away else v for i, v in enumerate(points)]

    def minutes(shown: list[float | None]) -> set[int]:
        return {
            i
            for run in episodes(percents(shown))
            for i in range(len(shown))
            if run.start <= minute(i) < run.end
        }

    assert minutes(left) <= minutes(points)


@settings(max_examples=60)
@given(values, st.sets(st.integers(0, 39)))
def test_taking_points_away_never_makes_a_series_low(
    points: list[float | None], away: set[int]
) -> None:
    if not points:
        return
    window = Window(start=START, end=minute(len(points)))
    left = [None if i in away else v for i, v in enumerate(points)]
    if read_load(percents(left), window).load is Load.BELOW:
        assert read_load(percents(points), window).load in {
            Load.BELOW,
            Load.BROKEN,
            Load.REJECTED,
        }


@settings(max_examples=60)
@given(values)
def test_runs_are_maximal_and_of_valid_points_only(points: list[float | None]) -> None:
    for run in episodes(percents(points)):
        inside = [points[i] for i in range(len(points)) if run.start <= minute(i) < run.end]
        assert len(inside) == run.points >= 5
        assert all(v is not None and 90 <= v <= 100.5 for v in inside)
        first, last = (run.start - START) // timedelta(minutes=1), run.points
        around = [first - 1, first + last]
        outside = [points[i] for i in around if 0 <= i < len(points)]
        assert all(v is None or not 90 <= v <= 100.5 for v in outside)


def counts(points: list[float | None], start_days_before: int = 0) -> TimeSeries:
    start = START - timedelta(days=start_days_before)
    return series("MetadataOperations", points, stat="Sum", start=start)


def test_without_earlier_days_the_window_before_the_rise_is_the_baseline() -> None:
    rise = spike(counts([*flat(100, 60), *flat(900, 60)]), WINDOW)
    assert rise is not None
    assert rise == Spike(minute(60), Baseline(100, 60, is_fallback=True), 900, WINDOW.end)
    assert "no baseline of the previous 72 h is recorded" in rise.baseline.words
    assert rise.ratio == 9


def test_the_same_hours_of_earlier_days_are_the_baseline_where_they_have_points() -> None:
    day = 24 * 60
    quiet = [50.0 if i % day < 120 else 4000.0 for i in range(3 * day)]
    busy_today = counts([*quiet, *flat(900)], start_days_before=3)
    rise = spike(busy_today, WINDOW)
    assert rise == Spike(START, Baseline(50, 360, is_fallback=False), 900, WINDOW.end)


def test_a_window_of_two_days_takes_all_hours_before_it() -> None:
    window = Window(start=START, end=START + timedelta(days=2))
    history = counts([7.0] * (3 * 24 * 60), start_days_before=3)
    assert usual(history, window) == Baseline(7, 3 * 24 * 60, is_fallback=False)


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([*flat(100, 9), *flat(900, 111)], id="nine points are no baseline"),
        pytest.param([*flat(100, 60), *flat(299, 60)], id="less than three times is no rise"),
        pytest.param(with_run(100, 900, 60, 64), id="four points are no rise"),
        pytest.param([*flat(0, 60), *flat(900, 60)], id="nothing is no baseline"),
        pytest.param(flat(None), id="no points"),
        pytest.param(
            [*flat(100, 60), 900, 900, None, 900, 900, 900, *flat(100, 54)],
            id="a missing point breaks a rise",
        ),
    ],
)
def test_there_is_no_rise(points: list[float | None]) -> None:
    assert spike(counts(points), WINDOW) is None
