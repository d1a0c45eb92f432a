"""The capacity calendar: gaps, what has ended and is still named, zones, latest safe starts."""

from preflight_world import (
    CR,
    NODES,
    at,
    block,
    denied,
    ec2,
    hyperpod,
    instance,
    plan,
    read,
    reservation,
    subnet,
)

from gpuvet.checks.preflight.calendar import calendar, latest_safe_starts
from gpuvet.model.preflight import SafeStartRow


def test_a_plan_shows_its_stretches_and_the_gap_between_them() -> None:
    view = hyperpod(plans=plan(block(-10, 40), block(64, 400)))
    rows = calendar(view)
    assert [(r.start, r.end, r.gap_before_hours) for r in rows] == [
        (at(-10), at(40), None),
        (at(64), at(400), 24.0),
    ]
    assert rows[0].usable_until == at(39.5)
    assert rows[0].lead == "30 min, lead assumed from Capacity Blocks"


def test_an_ended_reservation_that_nodes_still_name_is_told() -> None:
    view = ec2(reservations=read((reservation(-1, state="expired"),), "reservations"))
    (row,) = calendar(view)
    assert any("its id is still in use" in note for note in row.notes)


def test_an_id_that_is_not_among_the_reservations_is_told() -> None:
    view = ec2(reservations=read((), "reservations"))
    (row,) = calendar(view)
    assert (row.resource, row.end) == (CR, None)
    assert "not among the reservations" in row.notes[0]


def test_the_next_plan_in_another_zone_than_the_file_system_is_told() -> None:
    later = block(500, 900, zone="us-west-2c", zone_id="usw2-az3")
    view = hyperpod(plans=plan(block(-10, 400), later))
    first, second = calendar(view)
    assert first.notes == ()
    assert second.notes == ("fs-0123456789abcdef0 lies in us-west-2a, this capacity in us-west-2c",)


def test_another_account_s_types_and_unknown_subnets_say_nothing() -> None:
    other = reservation(400, id="cr-0bbbbbbbbbbbbbbb2", instance_type="g5.xlarge")
    both = read((reservation(), other), "reservations")
    assert [r.resource for r in calendar(ec2(reservations=both))] == [CR]
    assert calendar(hyperpod(plans=denied())) == ()


def test_the_latest_safe_start_is_that_of_the_source_that_ends_first() -> None:
    second = "cr-0bbbbbbbbbbbbbbb2"
    view = ec2(
        reservations=read((reservation(100), reservation(60, id=second)), "reservations"),
        instances=read((instance(NODES[0]), instance(NODES[1], reservation=second)), "instances"),
        subnets=read((subnet(),), "subnets"),
    )
    assert latest_safe_starts(view, (24, 72)) == (
        SafeStartRow(hours=24, resource=second, at=at(35.5), is_past=False),
        SafeStartRow(hours=72, resource=second, at=at(-12.5), is_past=True),
    )


def test_without_an_end_there_is_no_latest_start() -> None:
    view = ec2(reservations=read((reservation(None, kind="default"),), "reservations"))
    assert latest_safe_starts(view, (24,)) == ()
