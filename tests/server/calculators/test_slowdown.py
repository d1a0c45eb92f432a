"""When steps became slow: the first line at 1.5 times the median before it."""

from datetime import UTC, datetime, timedelta
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.running import medians_before
from gpuvet.calculators.slowdown import slowdown
from gpuvet.model.job_steps import Slowdown, StepPoint

T0 = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def steps(*seconds: float) -> list[StepPoint]:
    return [
        StepPoint(
            at=T0 + timedelta(minutes=i),
            step=100 * i,
            seconds=s,
            source="job.log",
            line=i + 1,
            raw=f"step {100 * i} time {s}s",
        )
        for i, s in enumerate(seconds)
    ]


def test_a_slowdown_says_when_how_much_and_until_when() -> None:
    assert slowdown(steps(1, 1.2, 1, 4, 4.1, 3.9, 1, 1)) == Slowdown(
        at=T0 + timedelta(minutes=3),
        seconds=4,
        median_before_seconds=1,
        points_before=3,
        last_normal_at=T0 + timedelta(minutes=2),
        slow_until=T0 + timedelta(minutes=6),
        slow_lines=3,
        source="job.log",
        line=4,
        raw="step 300 time 4s",
    )


@pytest.mark.parametrize(
    ("seconds", "start", "end"),
    [
        pytest.param([1.1, 4.02], 1, None, id="two lines are enough, and it is not over"),
        pytest.param([1, 1, 1.5], 2, None, id="one and a half times counts"),
        pytest.param([1, 1, 1.49], None, None, id="less does not"),
        pytest.param([4, 1, 1, 1], None, None, id="a slow first step is warm-up"),
        pytest.param([], None, None, id="no lines"),
        pytest.param([1], None, None, id="one line"),
        pytest.param(
            [1, 9, 1, 1, 4, 4, 4], 4, None, id="a single slow line gives way to a stretch"
        ),
        pytest.param([1, 1, 9, 1, 1], 2, 3, id="alone it stands"),
        pytest.param([1, 1, 4, 4, 1, 4, 4, 1, 1], 2, 7, id="one normal line does not end it"),
        pytest.param([1, 1, 4, 4, 1], 2, 4, id="unless it is the last"),
    ],
)
def test_the_slow_stretch(seconds: list[float], start: int | None, end: int | None) -> None:
    found = slowdown(steps(*seconds))
    if start is None:
        assert found is None
        return
    assert found is not None
    until = None if end is None else T0 + timedelta(minutes=end)
    assert (found.at, found.slow_until) == (T0 + timedelta(minutes=start), until)


@settings(max_examples=40)
@given(st.data())
def test_order_and_copies_of_lines_change_nothing(data: st.DataObject) -> None:
    points = steps(*data.draw(st.lists(st.sampled_from([1.0, 1.1, 1.6, 4.0]), max_size=12)))
    assert slowdown(data.draw(st.permutations([*points, *points]))) == slowdown(points)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1e6), max_size=20))
def test_the_running_median_is_the_median_of_what_came_before(values: list[float]) -> None:
    expected = [median(values[:i]) if i else None for i in range(len(values))]
    assert list(medians_before(values)) == expected
