"""Turns at what a service rations: never more than its rate, and no wait without need."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.aws.live_paces import PACES, Paces


@pytest.mark.parametrize("operation", PACES)
@given(gaps=st.lists(st.floats(0, 2), min_size=1, max_size=40))
@settings(max_examples=30, deadline=None)
def test_no_second_sees_more_calls_than_the_rate_and_those_at_once(
    operation: str, gaps: list[float]
) -> None:
    paces, now, made = Paces(), 0.0, list[float]()
    for gap in gaps:
        now += gap
        now += paces.wait(operation, now)
        made.append(now)
    pace = PACES[operation]
    for start in made:
        within = sum(start <= at < start + 1 for at in made)
        assert within <= pace.at_once + pace.a_second + 1


def test_a_caller_that_comes_seldom_never_waits() -> None:
    paces = Paces()
    assert [paces.wait("cloudtrail:LookupEvents", 10.0 * n) for n in range(5)] == [0.0] * 5


def test_what_no_service_rations_is_never_waited_for() -> None:
    paces = Paces()
    assert [paces.wait("ec2:DescribeInstances", 0.0) for _ in range(100)] == [0.0] * 100
