"""One log monitor, step by step, with a clock of its own."""

from typing import Any

import pytest

from gpuvet.simulate.rule import RuleMachine, RuleSpec, Trip


def machine(*, empty: bool = False, groups: int = 0, **fields: Any) -> RuleMachine:  # noqa: ANN401  (the fields of a NamedTuple)
    spec = RuleSpec(name="rule", log_pattern=".*x", **fields)
    return RuleMachine(spec, matches_empty=empty, stops_empty=False, groups=groups)


def test_a_rule_waits_until_something_matches() -> None:
    rule = machine(cutoff=60.0)
    rule.advance(60.0)

    assert (rule.outcome(), rule.trip) == ("WAITING", None)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(60.0, None, id="a start equal to the cut-off is in time"),
        pytest.param(
            60.001, Trip("HANGING", 60.0, None, None), id="any longer is a hang at the cut-off"
        ),
    ],
)
def test_the_start_cut_off_is_strict(now: float, expected: Trip | None) -> None:
    rule = machine(cutoff=60.0)
    rule.match(now, 1)

    assert rule.trip == expected


def test_a_gap_is_judged_before_the_line_that_ends_it() -> None:
    rule = machine(recurrence=30.0)
    rule.match(10.0, 1)
    rule.judge(10.0, 1, None)
    rule.match(41.0, 2)
    rule.judge(41.0, 2, None)

    assert rule.trip == Trip("HANGING", 40.0, None, None)
    assert rule.state == "HEALTHY"  # the state heals; the trip stays


def test_recurrence_alone_never_notices_a_job_that_never_logs() -> None:
    rule = machine(recurrence=30.0)
    rule.advance(100_000.0)

    assert rule.outcome() == "WAITING"


def test_slow_needs_consecutive_points_and_one_good_value_resets() -> None:
    rule = machine(groups=1, threshold=2.0, operator="gt", data_points=3)
    for line, value in enumerate(("3", "3", "1", "3", "3", "3")):
        rule.match(float(line), line)
        rule.judge(float(line), line, value)

    assert rule.trip == Trip("SLOW", 5.0, 5, 3.0)


@pytest.mark.parametrize(
    ("captured", "is_number", "state"),
    [
        ("2.5", True, "SLOW"),
        (" 95.3 ", True, "SLOW"),
        ("1_000", True, "SLOW"),
        ("inf", True, "SLOW"),
        ("nan", True, "HEALTHY"),
        ("-4", True, "HEALTHY"),
        ("1,234", False, "WAITING"),
        ("95%", False, "WAITING"),
        ("", False, "WAITING"),
        (None, False, "WAITING"),
    ],
)
def test_a_value_is_read_as_python_reads_floats(
    captured: str | None, is_number: bool, state: str
) -> None:
    rule = machine(groups=1, threshold=2.0, operator="gt")
    rule.match(1.0, 1)

    assert (rule.judge(1.0, 1, captured), rule.state) == (is_number, state)


def test_a_value_that_is_no_number_still_refreshes_the_recurrence() -> None:
    rule = machine(groups=1, threshold=2.0, operator="gt", recurrence=30.0)
    for now in (0.0, 25.0, 50.0):
        rule.match(now, 1)
        rule.judge(now, 1, "words")
    rule.advance(80.0)

    assert rule.trip is None


def test_zero_data_points_make_every_match_slow() -> None:
    rule = machine(groups=1, threshold=2.0, operator="gt", data_points=0)
    rule.match(1.0, 1)
    rule.judge(1.0, 1, "1")

    assert rule.state == "SLOW"


@pytest.mark.parametrize(
    ("operator", "bad"),
    [("gt", 3.0), ("gteq", 2.0), ("lt", 1.0), ("lteq", 2.0), ("eq", 2.0)],
)
def test_the_operator_names_the_bad_side(operator: str, bad: float) -> None:
    rule = machine(groups=1, threshold=2.0, operator=operator)
    rule.match(0.0, 1)
    rule.judge(0.0, 1, str(bad))

    assert rule.state == "SLOW"


def test_a_stopped_rule_never_trips() -> None:
    rule = machine(recurrence=30.0)
    rule.match(0.0, 1)
    rule.stop(10.0, 2)
    rule.advance(1000.0)

    assert (rule.outcome(), rule.stopped_at) == ("STOPPED", 10.0)


def test_fault_on_match_trips_at_the_line() -> None:
    rule = machine(fault_on_match=True)
    rule.match(7.0, 3)

    assert rule.trip == Trip("FAULTED", 7.0, 3, None)


def test_a_pattern_that_matches_nothing_at_all_never_hangs() -> None:
    rule = machine(empty=True, cutoff=10.0, recurrence=10.0)
    rule.advance(1000.0)

    assert (rule.outcome(), rule.trip) == ("HEALTHY", None)


def test_a_fault_pattern_that_matches_nothing_at_all_faults_at_once() -> None:
    assert machine(empty=True, fault_on_match=True).trip == Trip("FAULTED", 0.0, None, None)
