"""Step lines in the shapes that frameworks print."""

from datetime import UTC, datetime

import pytest

from gpuvet.model.job_steps import StepPoint
from gpuvet.parse.job_steps import JobLine, line_time, step_point, step_points

NOW = datetime(2026, 7, 3, tzinfo=UTC)
SHIPPED = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def line(text: str, shipped: datetime | None = SHIPPED, place: int = 1) -> JobLine:
    return JobLine(text, "rank0.log", place, shipped)


@pytest.mark.parametrize(
    ("text", "step", "seconds"),
    [
        pytest.param("step 41200 time 1.10s data 0.08s", 41200, 1.1, id="time with a unit"),
        pytest.param("rank0 step 4100 loss 1.112 step_time 3.2s", 4100, 3.2, id="step_time"),
        pytest.param(
            "iteration      100/  500000 | elapsed time per iteration (ms): 4021.5 | lr: 1.0E-4",
            100,
            4.0215,
            id="Megatron-LM",
        ),
        pytest.param(
            "Epoch 0:  10%|# | 41200/100000 [01:02:03<99:00, 1.10s/it, loss=2.3]",
            41200,
            1.1,
            id="tqdm, seconds an iteration",
        ),
        pytest.param("10%|# | 10/100 [00:10<01:30,  2.00it/s]", 10, 0.5, id="tqdm, its inverse"),
        pytest.param('{"step": 100, "loss": 2.3, "step_time": 1.1}', 100, 1.1, id="JSON"),
        pytest.param('{"iteration": 5, "step_time_ms": 1100}', 5, 1.1, id="JSON in milliseconds"),
        pytest.param("iter 100: loss 2.31, time 1234.5ms, mfu 41.2%", 100, 1.2345, id="nanoGPT"),
        pytest.param(
            "global_step=41200, train_step_timing in s=1.102, reduced_train_loss=2.1",
            41200,
            1.102,
            id="NeMo",
        ),
        pytest.param("Step 1,000 took 4.02 s", 1000, 4.02, id="took, thousands with a comma"),
        pytest.param("step=100 sec_per_step=1.2", 100, 1.2, id="seconds per step"),
        pytest.param("step: 10 loss: 2.0 throughput 0.5 steps/s", 10, 2.0, id="steps per second"),
        pytest.param("step 3 iter_time (s): 1.5", 3, 1.5, id="unit in brackets"),
    ],
)
def test_a_step_line_gives_step_and_seconds(text: str, step: int, seconds: float) -> None:
    point = step_point(line(text), NOW)
    assert point is not None
    assert point.step == step
    assert point.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("checkpoint save start step 4270 path /fsx/nova/ckpt", id="no time"),
        pytest.param("step 5 eta 3 days", id="days to go are no step time"),
        pytest.param("uptime 3s", id="no step"),
        pytest.param("step 7 time 0.0s", id="nothing takes no time"),
        pytest.param("step 7 step_time 900000", id="over a day is something else"),
        pytest.param("epoch finished, time 33s", id="an epoch is no step"),
        pytest.param("disk read 0.5 MB/s at step 3", id="another rate"),
    ],
)
def test_this_is_no_step_line(text: str) -> None:
    assert step_point(line(text), NOW) is None


@pytest.mark.parametrize(
    ("text", "shipped", "at"),
    [
        pytest.param(
            "2026-07-01T10:00:05Z step 1 time 1s",
            SHIPPED,
            datetime(2026, 7, 1, 10, 0, 5, tzinfo=UTC),
            id="its own time before the shipped one",
        ),
        pytest.param(
            "[rank0] [2026-07-01 10:00:05] step 1 time 1s",
            None,
            datetime(2026, 7, 1, 10, 0, 5, tzinfo=UTC),
            id="behind a tag",
        ),
        pytest.param("step 1 time 1s", SHIPPED, SHIPPED, id="else the shipped one"),
        pytest.param("step 1 time 1s", None, None, id="else none"),
    ],
)
def test_the_time_of_a_line(text: str, shipped: datetime | None, at: datetime | None) -> None:
    assert line_time(line(text, shipped), NOW) == at


def test_points_come_in_order_and_lines_without_time_give_none() -> None:
    late = line("2026-07-01T10:02:00Z step 2 time 2s", place=1)
    early = line("2026-07-01T10:01:00Z step 1 time 1s", place=2)
    lost = line("step 3 time 3s", None, place=3)
    assert step_points([late, early, lost], reference=NOW) == (
        StepPoint(
            at=datetime(2026, 7, 1, 10, 1, tzinfo=UTC),
            step=1,
            seconds=1,
            source="rank0.log",
            line=2,
            raw="2026-07-01T10:01:00Z step 1 time 1s",
        ),
        StepPoint(
            at=datetime(2026, 7, 1, 10, 2, tzinfo=UTC),
            step=2,
            seconds=2,
            source="rank0.log",
            line=1,
            raw="2026-07-01T10:02:00Z step 2 time 2s",
        ),
    )


def test_secrets_and_control_characters_of_a_line_are_not_kept() -> None:
    point = step_point(line("step 1 time 1s token=abcdefghijkl \x1b[31m"), NOW)
    assert point is not None
    assert "abcdefghijkl" not in point.raw
    assert "\x1b" not in point.raw
