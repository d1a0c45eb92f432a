"""The mass termination at the end of a Capacity Block (incident-branches §B).

Instances of a block are ended by the service half an hour before the block's end, an hour for
UltraServers. That is documented lifecycle and no fault. One node lost at that time, with others
alive, is something else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.model.capacity import Instance, Reservation, WarningKind
from gpuvet.model.changes import Change, ChangeKind

# preflight P1: terminations begin this long before the end.
LEAD = timedelta(minutes=30)
LEAD_ULTRASERVER = timedelta(minutes=60)
# incident-branches §B: how far around that span a termination still belongs to it.
EARLY = timedelta(minutes=2)
LATE = timedelta(minutes=5)
MOST_SPREAD = timedelta(minutes=10)


class Proof(StrEnum):
    """What shows that the block's end, and nothing else, ended an instance."""

    WARNING = "its own interruption warning"
    RECORD = "its own record: service initiated"
    SCHEDULE = "schedule and membership"
    PLAUSIBLE = "schedule, membership not shown"


@dataclass(frozen=True, slots=True)
class Ending:
    """When a node went away, and who says so."""

    node: str
    at: datetime
    source: str
    evidence: str | None = None
    raw: str | None = None
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """One block's end as it shows on its nodes."""

    reservation: Reservation
    usable_until: datetime
    lead_minutes: int
    endings: tuple[Ending, ...]  # in time order
    proofs: Mapping[str, Proof]
    is_strict: bool

    @property
    def proven(self) -> tuple[str, ...]:
        """Return the nodes whose end the block is shown to be the cause of."""
        good = {Proof.WARNING, Proof.RECORD}
        if not self.is_strict:
            good.add(Proof.SCHEDULE)
        return tuple(e.node for e in self.endings if self.proofs[e.node] in good)

    @property
    def supposed(self) -> tuple[str, ...]:
        """Return the nodes that fit the schedule without a proof of their own."""
        proven = set(self.proven)
        return tuple(e.node for e in self.endings if e.node not in proven)


def lead_of(reservation: Reservation) -> timedelta:
    """Return how long before the end terminations begin."""
    return LEAD_ULTRASERVER if reservation.is_ultraserver else LEAD


def endings(evidence: CapacityEvidence) -> tuple[Ending, ...]:
    """Return when each node of the job went away: EC2's record, else its own shutdown line."""
    instances = {one.id: one for one in values(evidence.instances)}
    found: list[Ending] = []
    for node in evidence.nodes:
        ending = _ending(node.node, node.left_at, instances.get(node.node), evidence)
        if ending is not None:
            found.append(ending)
    return tuple(sorted(found, key=lambda one: (one.at, one.node)))


def _ending(
    node: str, left_at: datetime | None, instance: Instance | None, evidence: CapacityEvidence
) -> Ending | None:
    if instance is not None and instance.ended_at is not None:
        return Ending(node, instance.ended_at, "EC2", instance.evidence, instance.reason)
    if left_at is not None:
        return Ending(node, left_at, "node list")
    is_here = instance is not None and not instance.is_gone
    records = evidence.records.get(node)
    if is_here or records is None:
        return None
    # The last shutdown is the one the node did not come back from.
    lines = sorted((line.at, line.line, line) for line in records.shutdowns if line.at is not None)
    starts = [b.at for b in records.boundaries if b.at is not None]
    if not lines or any(start > lines[-1][0] for start in starts):
        return None
    # systemd prints several lines within the same minutes; the first of them is the ending.
    at, _, first = next(one for one in lines if lines[-1][0] - one[0] <= LATE)
    return Ending(node, at, "shutdown line", first.evidence, first.raw, first.stream)


def block_ends(evidence: CapacityEvidence, *, strict: bool) -> Iterator[BlockEnd]:
    """Yield the blocks whose end shows the signature on the job's nodes.

    Args:
        evidence: Readings.
        strict: Only a node's own warning or its own record proves its end; schedule and
            membership alone stay a hypothesis (`cb_requires_instance_event`).
    """
    ended = endings(evidence)
    for reservation in values(evidence.reservations):
        if not reservation.is_block or reservation.end is None:
            continue
        found = _block_end(reservation, reservation.end, ended, evidence, strict=strict)
        if found is not None:
            yield found


def _block_end(
    reservation: Reservation,
    end: datetime,
    ended: Sequence[Ending],
    evidence: CapacityEvidence,
    *,
    strict: bool,
) -> BlockEnd | None:
    lead = lead_of(reservation)
    first, last = end - lead - EARLY, end + LATE
    members = _members(reservation, evidence)
    inside = [
        one for one in ended if first <= one.at <= last and members.get(one.node, "") is not None
    ]
    inside = [one for one in inside if not _ended_by_somebody(one, evidence)]
    known = [node for node, how in members.items() if how]
    all_of_it = bool(known) and set(known) <= {one.node for one in inside}
    if len(inside) < 2 and not (inside and all_of_it):
        return None
    if inside[-1].at - inside[0].at > MOST_SPREAD:
        return None
    if evidence.now > last and _others_alive(inside, known, evidence):
        return None  # the block did not end: its other members still run
    look = _Look.at(evidence)
    proofs = {one.node: _proof(one, members.get(one.node), look, first, last) for one in inside}
    minutes = int(lead.total_seconds() // 60)
    return BlockEnd(reservation, end - lead, minutes, tuple(inside), proofs, strict)


def _members(reservation: Reservation, evidence: CapacityEvidence) -> dict[str, str | None]:
    """Return how each node belongs to a block; None: it is known not to; absent: not known."""
    found: dict[str, str | None] = {}
    for one in values(evidence.instances):
        if one.reservation == reservation.id or (one.block and one.block == reservation.block):
            found[one.id] = "reservation"
        elif one.reservation is not None:
            found[one.id] = None
        elif one.lifecycle == "capacity-block" and one.zone in {reservation.zone, None}:
            found[one.id] = "lifecycle"
        elif one.lifecycle is not None or one.instance_type not in {
            reservation.instance_type,
            None,
        }:
            found[one.id] = None
    for warning in values(evidence.warnings):
        if warning.instance and warning.reservation in {reservation.id, None}:
            found.setdefault(warning.instance, "warning")
    return found


def _others_alive(
    inside: Sequence[Ending], members: Sequence[str], evidence: CapacityEvidence
) -> bool:
    """Say whether members of the block still run although others of them ended."""
    gone = {one.node for one in inside}
    running = {one.id for one in values(evidence.instances) if one.state == "running"}
    return any(node in running and node not in gone for node in members)


def _ended_by_somebody(ending: Ending, evidence: CapacityEvidence) -> bool:
    """Say whether CloudTrail has a successful call that ended this very node."""
    return any(_ends(change, ending) for change in evidence.trail.changes)


def _ends(change: Change, ending: Ending) -> bool:
    is_ending = change.kind in {ChangeKind.TERMINATE, ChangeKind.DELETE, ChangeKind.REPLACE}
    is_before = change.at <= ending.at + timedelta(minutes=1)
    return is_ending and is_before and ending.node in change.targets


_TERMINATING = ("TerminateInstances", "StopInstances")


@dataclass(frozen=True, slots=True)
class _Look:
    """What proves an ending, by instance."""

    warned_at: Mapping[str, datetime]  # the first warning of each
    instances: Mapping[str, Instance]
    nobody_else: bool  # CloudTrail was read for calls that end instances

    @classmethod
    def at(cls, evidence: CapacityEvidence) -> "_Look":
        warned: dict[str, datetime] = {}
        for one in values(evidence.warnings):
            if one.instance and one.kind is WarningKind.INTERRUPTION:
                warned[one.instance] = min(one.at, warned.get(one.instance, one.at))
        instances = {one.id: one for one in values(evidence.instances)}
        return cls(warned, instances, evidence.trail.has_read(_TERMINATING))


def _proof(
    ending: Ending, membership: str | None, look: _Look, first: datetime, last: datetime
) -> Proof:
    warned_at = look.warned_at.get(ending.node)
    if warned_at is not None and warned_at <= ending.at:
        return Proof.WARNING
    instance = look.instances.get(ending.node)
    if instance is not None and instance.was_ended_by_service:
        at = instance.ended_at
        if at is not None and first <= at <= last and membership:
            return Proof.RECORD
    is_told = membership in {"reservation", "lifecycle"}
    return Proof.SCHEDULE if is_told and look.nobody_else else Proof.PLAUSIBLE
