"""EFA counters: increments, resets, baseline, bar."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.efa_counters import episodes, increments, is_cumulative
from gpuvet.model.network import EfaPoint, EfaSeries

START = datetime(2026, 3, 7, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def points(*values: float | None, start: datetime = START) -> tuple[EfaPoint, ...]:
    return tuple(
        EfaPoint(at=start + MINUTE * place, value=value)
        for place, value in enumerate(values)
        if value is not None
    )


def series(*values: float | None, start: datetime = START) -> EfaSeries:
    return EfaSeries(counter="retrans_timeout_events", points=points(*values, start=start))


@pytest.mark.parametrize(
    ("values", "cumulative"),
    [
        pytest.param((0, 0, 5, 5, 9, 9, 12), True, id="never falls"),
        pytest.param((100, 120, 140, 3, 20, 40, 41, 41), True, id="falls once: a reset"),
        pytest.param((0, 12, 0, 15, 0, 0, 30, 0), False, id="falls again and again"),
        pytest.param((0, 0, 0, 0), False, id="zero throughout"),
        pytest.param((7,), False, id="one point"),
    ],
)
def test_a_running_count_is_told_from_counts_per_period(
    values: tuple[float, ...], *, cumulative: bool
) -> None:
    assert is_cumulative(points(*values)) is cumulative


def test_after_a_reset_the_new_value_is_the_increment() -> None:
    found = increments(points(100, 130, 4, 10), cumulative=True)
    assert [one.value for one in found] == [30, 4, 6]


def test_counts_per_period_are_not_differenced() -> None:
    assert increments(points(3, 9), cumulative=False) == points(3, 9)


def test_a_rise_above_ten_a_minute_is_an_episode() -> None:
    found = episodes(series(5, 5, 5, 30, 60, 60, 60), START, None)
    assert [(one.start, one.end, one.total) for one in found] == [
        (START + 3 * MINUTE, START + 5 * MINUTE, 55.0)
    ]
    assert (found[0].bar_per_minute, found[0].baseline) == (10.0, "no baseline")


def test_the_bar_is_three_times_the_median_of_the_day_before() -> None:
    before = [n * 20.0 for n in range(60)]  # 20 a minute
    rising = series(*before, 1230.0, 1290.0, start=START - 60 * MINUTE)
    assert episodes(rising, START, None)[0].bar_per_minute == 60.0
    slower = series(*before, 1210.0, 1240.0, start=START - 60 * MINUTE)
    assert episodes(slower, START, None) == ()


def test_without_the_day_before_the_window_before_the_failure_stands_in() -> None:
    flat = [n * 20.0 for n in range(30)]
    rising = series(*flat, 580.0 + 100, 580.0 + 200)
    found = episodes(rising, START, START + 30 * MINUTE)
    assert [one.start for one in found] == [START + 30 * MINUTE]
    assert found[0].baseline.startswith("no 24 h baseline")


def test_a_missing_point_breaks_an_episode() -> None:
    found = episodes(series(0, 20, 0, 40, None, 40, 0), START, None)
    assert len(found) == 3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20))
def test_the_order_of_points_changes_nothing(values: list[int]) -> None:
    whole = series(*[float(one) for one in values])
    mixed = whole.model_copy(update={"points": whole.points[::-1]})
    assert episodes(mixed, START, None) == episodes(whole, START, None)
