"""Where the run's nodes come from: plan, block, reservation, on-demand or Spot; or not known.

An empty list of EC2 reservations says nothing of HyperPod, whose capacity it never shows; and
"on-demand" is only said where an instance or the service itself shows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpuvet.checks.preflight.outcome import Part, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View, plain
from gpuvet.model.capacity import Instance, Reservation, TrainingPlan
from gpuvet.model.changes import ClusterEvent, EventMeaning
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster_state import GroupState


class Kind(StrEnum):
    """What capacity is."""

    PLAN = "training plan"
    RESERVATION = "reservation"  # a Capacity Block is one
    ON_DEMAND = "on-demand"
    SPOT = "Spot"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Holding:
    """One source of capacity and who runs on it.

    Attributes:
        kind: What it is.
        subject: Plan, reservation, or the group or nodes it serves.
        instance_type: Of the nodes on it, without `ml.`.
        group: The HyperPod group.
        plan: Of a training plan.
        reservation: Of a reservation.
        open_part: Why it is not known.
        on_demand_since: A plan's group got on-demand nodes after the plan began.
        note: How the membership is known, where that is not plain.
        evidence: What shows it.
    """

    kind: Kind
    subject: str
    instance_type: str = ""
    group: GroupState | None = None
    plan: TrainingPlan | None = None
    reservation: Reservation | None = None
    open_part: Part | None = None
    on_demand_since: ClusterEvent | None = None
    note: str | None = None
    evidence: tuple[str, ...] = ()

    @property
    def is_reserved(self) -> bool:
        """Say whether it is a plan or a reservation."""
        return self.kind in {Kind.PLAN, Kind.RESERVATION}


def holdings(view: View) -> tuple[Holding, ...]:
    """Return every source of capacity of the run's nodes; at least one, which may be unknown."""
    # A cluster that could not be described may be HyperPod's, whose capacity EC2 never shows.
    may_be_hyperpod = view.is_hyperpod or (not view.is_known and view.cluster.was_refused)
    found = tuple(_hyperpod(view) if may_be_hyperpod else _ec2(view))
    return found or (_unknown("the cluster", "no accelerated node or group was found"),)


def _unknown(subject: str, why: str, closes: str = "ask where its capacity comes from") -> Holding:
    part = Part(CheckStatus.UNVERIFIED, subject, why, closes_with=closes)
    return Holding(Kind.UNKNOWN, subject, open_part=part)


def _hyperpod(view: View) -> Iterator[Holding]:
    if view.cluster.value is None:
        subject = view.cluster_name or "the cluster"
        yield Holding(Kind.UNKNOWN, subject, open_part=unread(view.cluster, subject))
        return
    for group in view.accelerated:
        if group.is_spot:
            yield Holding(Kind.SPOT, group.name, plain(group.instance_type), group)
        elif group.plan is not None:
            yield from _of_plan(view, group, group.plan.rpartition("/")[2])
        else:
            yield from _by_events(view, group)


def _of_plan(view: View, group: GroupState, name: str) -> Iterator[Holding]:
    plan = next((one for one in rows(view.plans) if one.name == name), None)
    kind = plain(group.instance_type)
    if plan is None:
        part = (
            Part(
                CheckStatus.UNVERIFIED,
                name,
                f"{group.name} names training plan {name}, which was not returned",
                closes_with=f"sagemaker:DescribeTrainingPlan of {name}",
            )
            if view.plans.is_complete
            else unread(view.plans, name)
        )
        yield Holding(Kind.UNKNOWN, name, kind, group, open_part=part)
        return
    after = [e for e in _events_of(view, group, EventMeaning.ON_DEMAND) if _is_after(e, plan)]
    yield Holding(
        Kind.PLAN,
        name,
        kind,
        group,
        plan=plan,
        on_demand_since=after[-1] if after else None,
        evidence=tuple(e for e in (plan.evidence, view.cluster.evidence) if e),
    )
    if not after and view.events.was_refused:
        why = f"whether nodes of {group.name} came from the on-demand pool instead of {name}"
        part = unread(view.events, name, why)
        yield Holding(Kind.UNKNOWN, name, kind, group, open_part=part)


def _is_after(event: ClusterEvent, plan: TrainingPlan) -> bool:
    return plan.start is None or event.at >= plan.start


def _events_of(view: View, group: GroupState, meaning: EventMeaning) -> list[ClusterEvent]:
    return [
        one
        for one in rows(view.events)
        if one.meaning is meaning and one.group in {group.name, None}
    ]


def _by_events(view: View, group: GroupState) -> Iterator[Holding]:
    """Yield what HyperPod itself says of a group without a plan."""
    kind = plain(group.instance_type)
    used = _events_of(view, group, EventMeaning.RESERVATION_USED)
    for name in dict.fromkeys(e.reservation for e in used if e.reservation):
        yield _reservation(view, name, kind, f"HyperPod says so of {group.name}", group)
    pool = _events_of(view, group, EventMeaning.ON_DEMAND)
    if pool:
        yield Holding(Kind.ON_DEMAND, group.name, kind, group, evidence=_refs(pool[-1]))
    if used or pool:
        return
    if view.events.was_refused:
        yield Holding(
            Kind.UNKNOWN, group.name, kind, group, open_part=unread(view.events, group.name)
        )
        return
    why = (
        f"{group.name} names no training plan and no cluster event says where its instances come "
        "from; EC2's reservations do not show HyperPod's capacity"
    )
    closes = "ask: is it an account-team reservation (until when) or on-demand?"
    part = Part(CheckStatus.UNVERIFIED, group.name, why, closes_with=closes)
    yield Holding(Kind.UNKNOWN, group.name, kind, group, open_part=part)


def _refs(event: ClusterEvent) -> tuple[str, ...]:
    return (event.evidence,) if event.evidence else ()


def _reservation(
    view: View, name: str, kind: str, note: str | None, group: GroupState | None = None
) -> Holding:
    found = next((one for one in rows(view.reservations) if one.id == name), None)
    if found is None:
        part = (
            Part(
                CheckStatus.UNVERIFIED,
                name,
                f"{name} serves nodes and is not among the reservations this account sees",
                closes_with=f"ec2:DescribeCapacityReservations of {name} in its owner's account",
            )
            if view.reservations.is_complete
            else unread(view.reservations, name)
        )
        return Holding(Kind.UNKNOWN, name, kind, group, open_part=part)
    refs = (found.evidence,) if found.evidence else ()
    type_ = found.instance_type or kind
    return Holding(
        Kind.RESERVATION, name, type_, group, reservation=found, note=note, evidence=refs
    )


def _ec2(view: View) -> Iterator[Holding]:
    members = view.members
    if not view.instances.is_complete:
        yield Holding(
            Kind.UNKNOWN, "instances", open_part=unread(view.instances, "the run's instances")
        )
    seen = {one.id for one in members}
    missing = [n.node for n in view.nodes if n.node not in seen]
    if view.instances.is_complete and members and missing:
        yield _unknown(missing[0], f"{len(missing)} nodes are not among the instances EC2 lists")
    by_source: dict[tuple[str, str], list[Instance]] = {}
    for one in members:
        by_source.setdefault((_source(view, one), plain(one.instance_type)), []).append(one)
    for (name, kind), own in sorted(by_source.items()):
        yield from _of_instances(view, name, kind, own)
    if not members and view.instances.is_complete:
        yield from _without_members(view)


_ON_DEMAND, _SPOT, _SOME_BLOCK = "on-demand", "spot", "a block"


def _source(view: View, one: Instance) -> str:
    """Return the reservation's id of an instance, or a word for what it is without one."""
    if one.reservation is not None:
        return one.reservation
    if one.lifecycle == "spot":
        return _SPOT
    in_block = [r.id for r in rows(view.reservations) if r.block and r.block == one.block]
    if one.lifecycle == "capacity-block" or one.block is not None:
        return in_block[0] if in_block else _SOME_BLOCK
    return _ON_DEMAND


def _of_instances(view: View, name: str, kind: str, own: list[Instance]) -> Iterator[Holding]:
    shown = own[0].id if len(own) == 1 else f"{len(own)} instances ({own[0].id}, …)"
    refs = (own[0].evidence,) if own[0].evidence else ()
    if name == _SPOT:
        yield Holding(Kind.SPOT, shown, kind, evidence=refs)
    elif name == _SOME_BLOCK:
        yield _unknown(shown, f"{shown} run in a Capacity Block that was not returned")
    elif name != _ON_DEMAND:
        yield _reservation(view, name, kind, None)
    else:
        # A trimmed reply leaves membership out; a block of the type in use may be theirs.
        may_be = [r for r in rows(view.reservations) if _may_serve(r, kind, own)]
        for one in may_be:
            yield _reservation(view, one.id, kind, "by instance type; membership not shown")
        if not may_be and own[0].lifecycle is None and not view.reservations.is_complete:
            part = unread(view.reservations, shown, "the instances carry no reservation id")
            yield Holding(Kind.UNKNOWN, shown, kind, open_part=part)
        elif not may_be:
            yield Holding(Kind.ON_DEMAND, shown, kind, evidence=refs)


def _may_serve(one: Reservation, kind: str, own: list[Instance]) -> bool:
    in_use = one.total is not None and one.available is not None and one.available < one.total
    is_told = any(i.lifecycle is not None for i in own)
    return one.is_block and one.instance_type == kind and in_use and not is_told


_CANDIDATES = frozenset(
    {"active", "scheduled", "pending", "payment-pending", "assessing", "delayed", None}
)


def _without_members(view: View) -> Iterator[Holding]:
    """Yield the reservations that nodes could be launched into, where no node runs yet."""
    if not view.reservations.is_complete:
        subject = "capacity reservations"
        yield Holding(Kind.UNKNOWN, subject, open_part=unread(view.reservations, subject))
    if not rows(view.instances):
        yield _unknown("instances", "EC2 lists no instance at all: whose capacity it is, is open")
    wanted = view.wanted_types or frozenset(view.types)
    open_ones = [
        one
        for one in rows(view.reservations)
        if one.state in _CANDIDATES and (not wanted or one.instance_type in wanted)
    ]
    for one in open_ones:
        yield _reservation(view, one.id, one.instance_type or "", "no node runs yet")
    if not open_ones and view.reservations.is_complete:
        yield _unknown(
            "the cluster", "no accelerated node runs and no open reservation is for its type"
        )
