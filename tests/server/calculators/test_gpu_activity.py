"""GPU power: falls, stops and idle reserved hours."""

from datetime import timedelta

import pytest
from storage_world import START, WINDOW, flat, gpu, minute, with_run

from gpuvet.calculators.gpu_activity import GpuHours, PowerFall, idle_hours, power_fall, stopped_at
from gpuvet.model.evidence import Window

HOUR = Window(start=START, end=minute(60))
NODE, OTHER = "i-0aaa0000000000001", "i-0bbb0000000000002"


def test_a_fall_names_its_minute_its_medians_and_its_recovery() -> None:
    low = with_run(75, 25, 40, 80)
    assert power_fall([gpu(NODE, 0, low), gpu(OTHER, 0, low)], WINDOW) == PowerFall(
        at=minute(40),
        precision_seconds=60,
        before_percent=75,
        after_percent=25,
        until=minute(80),
        gpus=2,
        nodes=2,
    )


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(with_run(75, 25, 40, 44), id="four minutes are no fall"),
        pytest.param(with_run(75, 51, 40, 80), id="above two thirds is no fall"),
        pytest.param(with_run(75, 25, 9, 80), id="nine points before are too few"),
        pytest.param(flat(2), id="an idle GPU cannot fall"),
        pytest.param(flat(None), id="no points"),
        pytest.param(
            [*flat(75, 40), 25, 25, None, 25, 25, 25, *flat(75, 74)], id="a gap breaks the hold"
        ),
    ],
)
def test_there_is_no_fall(values: list[float | None]) -> None:
    assert power_fall([gpu(NODE, 0, values)], WINDOW) is None


def test_one_gpu_of_many_does_not_make_the_job_fall() -> None:
    others = [gpu(NODE, i, flat(75)) for i in range(1, 8)]
    assert power_fall([gpu(NODE, 0, with_run(75, 1, 40, 120)), *others], WINDOW) is None


def test_a_fall_that_lasts_has_no_recovery() -> None:
    fall = power_fall([gpu(NODE, 0, with_run(75, 25, 40, 120))], WINDOW)
    assert fall is not None
    assert fall.until is None


def test_a_fall_behind_missing_minutes_may_have_begun_with_the_first_of_them() -> None:
    values = with_run(75, 25, 40, 120)
    values[38:42] = flat(None, 4)
    fall = power_fall([gpu(NODE, 0, values)], WINDOW)
    assert fall is not None
    assert (fall.at, fall.precision_seconds) == (minute(38), 300)


def test_the_job_stopped_when_every_gpu_stays_below_five_percent() -> None:
    late, early = with_run(75, 4.9, 42, 120), with_run(75, 2, 40, 120)
    assert stopped_at([gpu(NODE, 0, early), gpu(OTHER, 0, late)], WINDOW) == minute(42)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(with_run(75, 5, 40, 120), id="five percent is not below five"),
        pytest.param(flat(1), id="a job that never ran did not stop"),
        pytest.param(with_run(75, 1, 40, 44), id="four minutes are no stop"),
    ],
)
def test_the_job_did_not_stop(values: list[float | None]) -> None:
    assert stopped_at([gpu(NODE, 0, values)], WINDOW) is None


@pytest.mark.parametrize(
    ("points", "expected", "hours"),
    [
        pytest.param([flat(4.9), flat(0)], 2, GpuHours(2, 0, 0), id="all below five is idle"),
        pytest.param([flat(0), flat(5)], 2, GpuHours(0, 2, 0), id="one at five is busy"),
        pytest.param([flat(0)], 2, GpuHours(0, 0, 2), id="a missing GPU is unknown, not idle"),
        pytest.param([flat(80)], 2, GpuHours(0, 0, 2), id="also beside a busy one"),
        pytest.param(
            [flat(0), [*flat(0, 54), *flat(None, 6)]], 2, GpuHours(2, 0, 0), id="90 % of points do"
        ),
        pytest.param(
            [flat(0), [*flat(0, 53), *flat(None, 7)]], 2, GpuHours(0, 0, 2), id="less does not"
        ),
        pytest.param([], 0, GpuHours(0, 0, 0), id="no GPUs expected"),
    ],
)
def test_a_reserved_hour_is(
    points: list[list[float | None]], expected: int, hours: GpuHours
) -> None:
    gpus = [gpu(NODE, i, values) for i, values in enumerate(points)]
    assert idle_hours(gpus, expected, HOUR) == hours


def test_partial_hours_count_by_their_minutes() -> None:
    span = Window(start=minute(30), end=minute(75))
    assert idle_hours([gpu(NODE, 0, flat(0))], 1, span) == GpuHours(0.75, 0, 0)


def test_points_of_five_minutes_do_as_well() -> None:
    assert idle_hours([gpu(NODE, 0, flat(0, 24), 300)], 1, WINDOW) == GpuHours(2, 0, 0)


def test_the_parts_add_up_to_the_whole() -> None:
    span = Window(start=START, end=START + timedelta(hours=3))
    hours = idle_hours([gpu(NODE, 0, [*flat(0, 60), *flat(80, 60)])], 1, span)
    assert hours == GpuHours(1, 1, 1)
    assert hours.total == 3
