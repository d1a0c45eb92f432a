"""What the restart budget does with a fault that comes again and again."""

import pytest

from gpuvet.model.log_monitor import RestartPolicy
from gpuvet.simulate.budget import forecast


def actions(policy: RestartPolicy, trip: float) -> list[str]:
    return [each.action for each in forecast(policy, trip).restarts]


def test_aws_s_own_numbers_end_at_the_eighth_fault() -> None:
    policy = RestartPolicy(
        max_retries=50, restarts_before_full=3, eval_period_seconds=21600, max_full_restarts=1
    )

    assert actions(policy, 120.0) == [
        "process restart 1 of 3",
        "process restart 2 of 3",
        "process restart 3 of 3",
        "full restart 1 of 1",
        "process restart 1 of 3",
        "process restart 2 of 3",
        "process restart 3 of 3",
        "job fails",
    ]


def test_retries_that_run_out_first_end_the_job() -> None:
    assert actions(RestartPolicy(max_retries=1), 60.0) == ["process restart 1", "job fails"]


@pytest.mark.parametrize(
    ("window", "ends"),
    [
        pytest.param(300, False, id="a window shorter than a cycle resets the counters for ever"),
        pytest.param(86400, True, id="a long window lets them escalate"),
    ],
)
def test_the_window_decides_whether_it_ends(window: int, ends: bool) -> None:
    policy = RestartPolicy(restarts_before_full=3, eval_period_seconds=window, max_full_restarts=0)

    assert (forecast(policy, 900.0).ends_at_seconds is not None) == ends


def test_no_limits_never_end() -> None:
    assert "without end" in forecast(RestartPolicy(), 60.0).verdict
