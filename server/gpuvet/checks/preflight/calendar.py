"""The capacity calendar: blocks and plans in time, their gaps, and what comes next."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.run_capacity import (
    Stretch,
    holding,
    hours,
    plan_stretches,
    reservation_stretch,
    safe_starts,
)
from gpuvet.checks.preflight.holdings import holdings
from gpuvet.checks.preflight.p01_capacity_end import ENDED
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.capacity import Reservation, TrainingPlan
from gpuvet.model.preflight import CapacityRow, SafeStartRow

_OVER = frozenset({"Expired", "Failed"})


def calendar(view: View) -> tuple[CapacityRow, ...]:
    """Return every plan and reservation that may concern the run, in time order."""
    found = [*_plans(view), *_reservations(view)]
    return tuple(sorted(found, key=lambda r: (r.start is None, r.start, r.resource)))


def _plans(view: View) -> Iterator[CapacityRow]:
    served = {one.plan.name for one in holdings(view) if one.plan is not None}
    for plan in rows(view.plans):
        is_ours = plan.name in served
        kinds = {b.instance_type for b in plan.blocks if b.instance_type}
        if not is_ours and not _concerns(view, kinds):
            continue
        stretches = plan_stretches(plan, None, None)
        for place, one in enumerate(stretches):
            before = stretches[place - 1].end if place else None
            gap = hours(one.start - before) if before and one.start else None
            notes = tuple(_plan_notes(view, plan, one, is_ours=is_ours))
            yield _row(one, "training plan", plan.status, notes, gap)


def _concerns(view: View, kinds: set[str]) -> bool:
    plain = {kind.removeprefix("ml.") for kind in kinds}
    return not plain or not view.types or bool(plain & set(view.types))


def _plan_notes(view: View, plan: TrainingPlan, one: Stretch, *, is_ours: bool) -> Iterator[str]:
    if not is_ours:
        yield "no group of this cluster names it"
    if plan.status in _OVER:
        yield f"the plan is {plan.status}"
    yield from _zone_notes(view, one)


def _reservations(view: View) -> Iterator[CapacityRow]:
    in_use: dict[str, int] = {}
    for instance in view.members:
        if instance.reservation:
            in_use[instance.reservation] = in_use.get(instance.reservation, 0) + 1
    for one in rows(view.reservations):
        if one.id not in in_use and not _concerns(view, {one.instance_type or ""} - {""}):
            continue
        stretch = reservation_stretch(one, types_read=view.blocks.is_complete)
        kind = "Capacity Block" if one.is_block else "on-demand reservation"
        notes = tuple(_reservation_notes(view, one, stretch, in_use.get(one.id, 0)))
        yield _row(stretch, kind, one.state, notes)
    known = {one.id for one in rows(view.reservations)}
    for name, count in sorted(in_use.items()):
        if name not in known:
            note = f"{count} running nodes carry this id, and it is not among the reservations read"
            yield CapacityRow(resource=name, kind="reservation", notes=(note,))


def _reservation_notes(
    view: View, one: Reservation, stretch: Stretch, in_use: int
) -> Iterator[str]:
    if in_use:
        yield f"{in_use} running nodes of the run are in it"
    is_past = one.end is not None and one.end <= view.now
    if in_use and (one.state in ENDED or is_past):
        yield "it has ended, and its id is still in use: nodes and launch templates that name it"
    yield from _zone_notes(view, stretch)


def _zone_notes(view: View, one: Stretch) -> Iterator[str]:
    """Yield file systems that lie in another zone than capacity still to come or in use."""
    if one.zone is None or (one.end is not None and one.end <= view.now):
        return
    known = {s.id: s.zone for s in rows(view.subnets)}
    for seen in view.systems:
        zones = {known[name] for name in seen.system.subnets if known.get(name)}
        if zones and one.zone not in zones:
            yield (
                f"{seen.system.id} lies in {', '.join(sorted(z for z in zones if z))}, this "
                f"capacity in {one.zone}"
            )


def _row(
    one: Stretch,
    kind: str,
    state: str | None,
    notes: tuple[str, ...],
    gap: float | None = None,
) -> CapacityRow:
    return CapacityRow(
        resource=one.resource,
        kind=kind,
        state=state,
        start=one.start,
        end=one.end,
        usable_until=one.usable_until,
        lead=one.lead.words,
        instances=one.instances,
        zone=one.zone,
        gap_before_hours=gap,
        notes=notes,
    )


def latest_safe_starts(view: View, lengths: Sequence[float]) -> tuple[SafeStartRow, ...]:
    """Return, for each length, the latest start that some capacity of the run still allows.

    Where several sources serve the run, the earliest of their ends counts.
    """
    ends: dict[str, Stretch] = {}
    for one in holdings(view):
        if one.plan is not None:
            stretches = plan_stretches(one.plan, one.instance_type, view.run.nodes_needed)
            here = holding(stretches, view.run.start)
            if here is not None:
                ends[one.subject] = here
        elif one.reservation is not None and one.reservation.end is not None:
            stretch = reservation_stretch(one.reservation, types_read=view.blocks.is_complete)
            ends[one.subject] = stretch
    timed = [(until, one) for one in ends.values() if (until := one.usable_until) is not None]
    if not timed:
        return ()
    until, first = min(timed, key=lambda pair: (pair[0], pair[1].resource))
    return tuple(
        SafeStartRow(hours=late.hours, resource=first.resource, at=late.at, is_past=late.is_past)
        for late in safe_starts(until, lengths, view.now)
    )
