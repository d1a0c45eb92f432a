"""Until when capacity can be used: the two worked examples of the rules, plans with gaps, leads."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.calculators.block_end import LEAD, LEAD_ULTRASERVER
from gpuvet.calculators.run_capacity import (
    Fit,
    LastCheckpoint,
    SafeStart,
    Stretch,
    ends_at_the_usual_time,
    extension_hours,
    fit_run,
    holding,
    last_checkpoint,
    lead_of,
    length_key,
    next_after,
    plan_stretches,
    reservation_stretch,
    safe_starts,
)
from gpuvet.model.capacity import PlanBlock, Reservation, TrainingPlan

NOW = datetime(2026, 3, 17, 15, 0, tzinfo=UTC)
END = datetime(2026, 3, 20, 11, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def block(**changes: object) -> Reservation:
    base = Reservation(
        id="cr-1",
        kind="capacity-block",
        state="active",
        instance_type="p5.48xlarge",
        end=END,
        end_type="limited",
        total=4,
    )
    return base.model_copy(update=changes)


def part(start: int, end: int, total: int | None = 4, **changes: object) -> PlanBlock:
    base = PlanBlock(
        start=NOW + start * HOUR,
        end=NOW + end * HOUR,
        status="Active",
        instance_type="ml.p5.48xlarge",
        total=total,
    )
    return base.model_copy(update=changes)


def plan(*blocks: PlanBlock) -> TrainingPlan:
    return TrainingPlan(name="plan", status="Active", blocks=blocks)


def spans(*blocks: PlanBlock, need: int | None = None) -> list[tuple[float, float]]:
    found = plan_stretches(plan(*blocks), "ml.p5.48xlarge", need)
    return [((s.start - NOW) / HOUR, (s.end - NOW) / HOUR) for s in found if s.start and s.end]


def test_example_a_a_block_that_ends_four_hours_too_early() -> None:
    until = datetime(2026, 3, 20, 11, 0, tzinfo=UTC)
    assert reservation_stretch(block(), types_read=True).usable_until == until

    assert safe_starts(until, (24, 48, 72), NOW) == (
        SafeStart(24, datetime(2026, 3, 19, 11, 0, tzinfo=UTC), 44 * HOUR),
        SafeStart(48, datetime(2026, 3, 18, 11, 0, tzinfo=UTC), 20 * HOUR),
        SafeStart(72, datetime(2026, 3, 17, 11, 0, tzinfo=UTC), -4 * HOUR),
    )
    fit = fit_run(until, NOW, 72)
    assert fit == Fit(NOW, datetime(2026, 3, 20, 15, 0, tzinfo=UTC), until)
    assert (fit.margin, fit.usable_hours, fit.covered_hours) == (-4 * HOUR, 68.0, 68.0)


def test_example_b_an_ultraserver_ends_an_hour_early() -> None:
    one = block(instance_type="p6e-gb200.36xlarge", is_ultraserver=True)
    until = reservation_stretch(one, types_read=True).usable_until
    assert until == datetime(2026, 3, 20, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "is_ultraserver", "types_read", "lead"),
    [
        pytest.param("p5.48xlarge", False, True, LEAD, id="a plain block"),
        pytest.param("p5.48xlarge", True, True, LEAD_ULTRASERVER, id="said to be an UltraServer"),
        pytest.param("p6e-gb200.36xlarge", False, False, LEAD_ULTRASERVER, id="by its family"),
        pytest.param("p5.48xlarge", False, False, LEAD, id="a listed type is none"),
        pytest.param("p9.48xlarge", False, False, LEAD_ULTRASERVER, id="not known: the longer one"),
        pytest.param(None, False, True, LEAD, id="blocks were read, and it is none"),
    ],
)
def test_the_lead_of_a_block(
    kind: str | None, is_ultraserver: bool, types_read: bool, lead: timedelta
) -> None:
    found = lead_of(kind, is_ultraserver=is_ultraserver, types_read=types_read)
    assert found.time == lead


def test_an_on_demand_reservation_is_usable_to_its_end_and_may_have_none() -> None:
    limited = reservation_stretch(block(kind="default"), types_read=True)
    assert limited.usable_until == END
    endless = reservation_stretch(block(kind="default", end_type="unlimited"), types_read=True)
    assert endless.usable_until is None


@pytest.mark.parametrize(
    ("blocks", "need", "expected"),
    [
        pytest.param([part(0, 10)], None, [(0, 10)], id="one block"),
        pytest.param([part(0, 10), part(10, 20)], None, [(0, 20)], id="blocks that touch"),
        pytest.param([part(0, 10), part(12, 20)], None, [(0, 10), (12, 20)], id="a gap"),
        pytest.param([part(0, 10), part(5, 20)], None, [(0, 20)], id="an overlap"),
        pytest.param([part(0, 10, 2), part(5, 20, 2)], 4, [(5, 10)], id="enough only together"),
        pytest.param([part(0, 10, 2)], 4, [], id="never enough"),
        pytest.param([part(0, 10, None)], 4, [(0, 10)], id="a count that was not returned"),
        pytest.param([part(0, 10, status="Failed")], None, [], id="a failed block"),
        pytest.param([part(0, 10, instance_type="ml.g5.xlarge")], None, [], id="another type"),
        pytest.param([], None, [], id="no block and no dates"),
    ],
)
def test_a_plan_is_its_unbroken_stretches(
    blocks: list[PlanBlock], need: int | None, expected: list[tuple[float, float]]
) -> None:
    assert spans(*blocks, need=need) == expected


def test_a_plan_without_blocks_is_its_own_dates() -> None:
    bare = TrainingPlan(name="plan", status="Active", start=NOW, end=END, total=2)
    (one,) = plan_stretches(bare, "ml.p5.48xlarge", None)
    assert (one.start, one.usable_until, one.instances) == (NOW, END - LEAD, 2)
    assert "assumed from Capacity Blocks" in one.lead.words


def test_the_stretch_of_a_start_and_the_one_behind_its_gap() -> None:
    first, second = plan_stretches(plan(part(0, 10), part(12, 20)), None, None)
    assert holding((first, second), NOW) is first
    assert holding((first, second), NOW + 9.6 * HOUR) is second
    assert holding((first, second), NOW + 30 * HOUR) is None
    assert next_after((first, second), first) is second
    assert next_after((first, second), second) is None


def test_the_last_checkpoint_before_capacity_ends() -> None:
    until = NOW + timedelta(hours=2, minutes=50)
    assert last_checkpoint(NOW, until, HOUR) == LastCheckpoint(
        NOW + 2 * HOUR, timedelta(minutes=50)
    )
    assert last_checkpoint(until, NOW, HOUR) is None


@pytest.mark.parametrize(
    ("lacking", "asked"),
    [(-5, 24), (0, 24), (1, 24), (24, 24), (25, 48), (336, 336), (337, 504), (400, 504)],
)
def test_an_extension_goes_by_days_then_by_weeks(lacking: int, asked: int) -> None:
    assert extension_hours(lacking * HOUR) == asked


@pytest.mark.parametrize(("at", "usual"), [(END, True), (END + timedelta(seconds=1), False)])
def test_blocks_end_at_half_past_eleven(at: datetime, usual: bool) -> None:
    assert ends_at_the_usual_time(at) is usual


@pytest.mark.parametrize(("length", "word"), [(72.0, "72"), (36.5, "36.5")])
def test_a_length_is_named(length: float, word: str) -> None:
    assert length_key(length) == word


@given(
    end=st.integers(1, 4000),
    start=st.integers(0, 4000),
    length=st.integers(1, 400),
)
@settings(max_examples=40)
def test_a_run_started_no_later_than_its_latest_safe_start_fits(
    end: int, start: int, length: int
) -> None:
    stretch = Stretch("cr-1", NOW, NOW + end * HOUR)
    until = stretch.usable_until
    assert until is not None
    (late,) = safe_starts(until, (length,), NOW)
    begin = NOW + start * HOUR
    assert (fit_run(until, begin, length).margin >= timedelta(0)) == (begin <= late.at)
