"""Exact intervals of rare events against published values, and when there is too little history."""

import pytest

from gpuvet.calculators.poisson import History, Interval, at_most, exact_interval


@pytest.mark.parametrize(
    ("events", "low", "high"),
    [
        # Garwood's table, two-sided 95 %.
        (0, 0.000, 3.689),
        (1, 0.025, 5.572),
        (3, 0.619, 8.767),
        (10, 4.795, 18.390),
        (100, 81.364, 121.627),
    ],
)
def test_the_interval_is_garwoods(events: int, low: float, high: float) -> None:
    found = exact_interval(events)
    assert found.low == pytest.approx(low, abs=0.0015)
    assert found.high == pytest.approx(high, abs=0.0015)


def test_the_probability_of_at_most_so_many() -> None:
    assert at_most(0, 1.0) == pytest.approx(0.36788, abs=1e-5)
    assert at_most(3, 0.0) == 1.0


@pytest.mark.parametrize(
    ("events", "hours", "enough"),
    [(3, 1000.0, True), (2, 5000.0, False), (50, 999.9, False)],
)
def test_a_range_is_shown_from_three_events_and_a_thousand_node_hours(
    events: int, hours: float, enough: bool
) -> None:
    history = History(events, hours)
    assert history.is_enough is enough
    assert (history.interruptions(100.0) is not None) is enough


def test_the_range_is_scaled_to_the_run() -> None:
    found = History(3, 1000.0).interruptions(500.0)
    whole = exact_interval(3)
    assert found == Interval(whole.low * 0.5, whole.high * 0.5)


def test_a_wrong_question_is_refused() -> None:
    with pytest.raises(ValueError, match="no interval"):
        exact_interval(-1)
