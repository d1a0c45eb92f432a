"""What each source says befell a node, as words that `fault_history` joins. Pure."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from gpuvet.calculators.arrivals import JOINS_WITHIN
from gpuvet.calculators.change_words import who
from gpuvet.calculators.finding import NodeView, class_of
from gpuvet.calculators.identity import is_slurms
from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.model.capacity import HealthEvent, Instance, InstanceHealth
from gpuvet.model.changes import Change, ChangeKind, ClusterEvent, EventMeaning
from gpuvet.model.history import Life, Role, Teller, Told, Weight
from gpuvet.model.words import FaultClass

_STARTING = re.compile(r"\bis starting\b|\bfailed to start\b", re.IGNORECASE)
_ENDING = re.compile(r"\bterminat", re.IGNORECASE)
_FAILED = re.compile(r"\bfailed\b", re.IGNORECASE)
_SICK = re.compile(r"\bunhealthy\b|\bfaulty\b", re.IGNORECASE)
_OVER = "[completed]"
# Conditions of HyperPod's health agent that reboot or end a node.
_CONDITIONS = frozenset({"NvidiaErrorReboot", "NvidiaErrorTerminate"})
_SERVICE_FAULTS = frozenset(
    {
        ServiceEvent.NOT_RESPONDING,
        ServiceEvent.HEALTH_CHECK_FAILED,
        ServiceEvent.NO_BACKING_INSTANCE,
    }
)
_ROLES = MappingProxyType(
    {
        ChangeKind.REPLACE: (Role.LEFT, Weight.ALWAYS),
        ChangeKind.REBOOT: (Role.FAULT, Weight.ALWAYS),
        ChangeKind.TERMINATE: (Role.LEFT, Weight.WITH_SUCCESSOR),
        ChangeKind.LAUNCH: (Role.CAME, Weight.NEVER),
    }
)
# AWS Health: what tells an account something without anything having happened.
_NOTICES = frozenset({"accountNotification"})


@dataclass(frozen=True, slots=True)
class Known:
    """The nodes of a cluster as far as they are known.

    Attributes:
        launched: Launch time of every node that is there now; None where it was not told.
        groups: Instance group or queue of nodes, past ones among them.
        former: Ids that were the cluster's and are gone.
        logical: Instance id now behind a logical id.
    """

    launched: Mapping[str, datetime | None] = field(default_factory=dict[str, datetime | None])
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    former: frozenset[str] = frozenset()
    logical: Mapping[str, str] = field(default_factory=dict[str, str])

    def holds(self, node: str) -> bool:
        """Say whether a node is one of the cluster's."""
        return node in self.launched or node in self.former

    def came_near(self, node: str, at: datetime) -> bool:
        """Say whether a node that is there now was launched around a time."""
        launched = self.launched.get(node)
        return launched is not None and abs(launched - at) <= JOINS_WITHIN

    def is_most(self, nodes: Collection[str]) -> bool:
        """Say whether a call names most of the nodes: maintenance rather than a fault."""
        return len(nodes) > 1 and 2 * len(nodes) > len(self.launched)


def event_words(events: Iterable[ClusterEvent], known: Known) -> Iterator[Told]:
    """Yield what HyperPod's own events say: replacements, reboots, ends, sick nodes."""
    for event in events:
        if event.meaning is EventMeaning.REPLACEMENT:
            yield _event(event, _role(event, known), Weight.ALWAYS)
        elif event.meaning is EventMeaning.REBOOT:
            yield _event(event, Role.FAULT, Weight.ALWAYS)
        elif event.meaning is EventMeaning.TERMINATION:
            # Also what a smaller target count looks like.
            yield _event(event, Role.LEFT, Weight.WITH_FAULT)
        elif event.meaning is EventMeaning.PROVISIONED:
            yield _event(event, Role.CAME, Weight.NEVER)
        elif event.meaning is EventMeaning.HEALTH and _SICK.search(event.description):
            yield _event(event, Role.FAULT, Weight.ALWAYS)


def _role(event: ClusterEvent, known: Known) -> Role:
    """Return whether a replacement event speaks of the node that goes or of the one that comes."""
    if _STARTING.search(event.description):
        return Role.CAME
    if _ENDING.search(event.description):
        return Role.LEFT
    if event.instance is None or known.came_near(event.instance, event.at):
        return Role.CAME
    return Role.LEFT


def _event(event: ClusterEvent, role: Role, weight: Weight) -> Told:
    return Told(
        teller=Teller.EVENTS,
        role=role,
        node=event.instance or f"{event.group or 'a node'} ({event.operation or event.id})",
        at=event.at,
        what=event.meaning.value,
        weight=weight,
        group=event.group,
        failed=role is Role.CAME and bool(_FAILED.search(event.description)),
        evidence=event.evidence,
    )


def call_words(calls: Iterable[Change], known: Known, now: datetime) -> Iterator[Told]:
    """Yield what CloudTrail says of the cluster's nodes; failed calls changed nothing.

    A replace call whose node is still there two hours later was not carried out. An end counts
    only where a node came in its place. One by the cluster manager, a stop, and a call that names
    most of the nodes count only where the node had failed: scaling and maintenance look the same.
    """
    for call in calls:
        if call.kind not in _ROLES:
            continue
        role, weight = _ROLES[call.kind]
        nodes = [node for node in _named(call, known) if _took_effect(call, node, known, now)]
        is_usual = call.name == "StopInstances" or is_slurms(call.by_arn) or known.is_most(nodes)
        if is_usual and weight is not Weight.NEVER:
            weight = Weight.WITH_FAULT
        for node in nodes:
            yield Told(
                teller=Teller.TRAIL,
                role=role,
                node=node,
                at=call.at,
                what=f"{call.name} by {who(call)}",
                weight=weight,
                group=known.groups.get(node),
                evidence=call.evidence,
            )


def _named(call: Change, known: Known) -> Iterator[str]:
    """Yield the cluster's nodes that a call took effect on.

    A replace call names the cluster; its ids may be long gone. A logical id is the slot: the old
    instance id is not told.
    """
    is_replace = call.kind is ChangeKind.REPLACE
    yield from (node for node in call.targets if is_replace or known.holds(node))
    if is_replace and not call.is_attempt:
        for logical in call.logical:
            launched = known.launched.get(known.logical.get(logical, ""))
            if launched is None or launched > call.at:
                yield f"logical id {logical}"


def _took_effect(call: Change, node: str, known: Known, now: datetime) -> bool:
    if call.kind is not ChangeKind.REPLACE or node not in known.launched:
        return True
    launched = known.launched[node]
    is_same = launched is None or launched <= call.at
    return not is_same or now - call.at <= JOINS_WITHIN


def launch_words(known: Known, since: datetime) -> Iterator[Told]:
    """Yield the launches of nodes that are there now: they take the place of those that left."""
    for node, launched in known.launched.items():
        if launched is not None and launched >= since:
            yield Told(
                teller=Teller.LAUNCHES,
                role=Role.CAME,
                node=node,
                at=launched,
                what="launched",
                weight=Weight.NEVER,
                group=known.groups.get(node),
            )


def ended_words(instances: Iterable[Instance], known: Known) -> Iterator[Told]:
    """Yield instances that EC2 ended by itself; an end for a block's end is no fault."""
    for one in instances:
        is_planned = one.lifecycle == "capacity-block"
        if one.was_ended_by_service and one.ended_at is not None and not is_planned:
            yield Told(
                teller=Teller.LAUNCHES,
                role=Role.LEFT,
                node=one.id,
                at=one.ended_at,
                what=f"EC2 ended it ({one.state_reason or one.reason})",
                group=known.groups.get(one.id),
                evidence=one.evidence,
            )


def log_words(views: Iterable[NodeView], known: Known) -> Iterator[Told]:
    """Yield hardware Xids of node logs, consequences left out, and the health agent's verdicts."""
    for view in views:
        node, group = view.node.node, known.groups.get(view.node.node)
        for one in view.kept:
            if one.at is not None and class_of(one.code) is FaultClass.HARDWARE:
                yield Told(
                    teller=Teller.LOGS,
                    role=Role.FAULT,
                    node=node,
                    at=one.at,
                    what=f"Xid {one.code}",
                    group=group,
                    evidence=one.first.evidence,
                )
        for record in view.node.records.hma:
            if record.at and record.condition in _CONDITIONS and record.condition_true:
                yield Told(
                    teller=Teller.LOGS,
                    role=Role.FAULT,
                    node=node,
                    at=record.at,
                    what=f"health agent: {record.condition}",
                    group=group,
                    evidence=record.evidence,
                )


def service_words(records: Iterable[ServiceRecord], known: Known) -> Iterator[Told]:
    """Yield nodes that the cluster manager took out because they failed."""
    for record in records:
        if record.event in _SERVICE_FAULTS and record.at is not None:
            for node in record.instances:
                yield Told(
                    teller=Teller.SERVICES,
                    role=Role.FAULT,
                    node=node,
                    at=record.at,
                    what=record.event.value,
                    group=known.groups.get(node),
                    evidence=record.evidence,
                )


def status_words(statuses: Iterable[InstanceHealth], known: Known, now: datetime) -> Iterator[Told]:
    """Yield instances whose status checks fail now, and events of EC2 that are over."""
    for one in statuses:
        if not known.holds(one.id):
            continue
        told = [(now, "status checks fail")] if one.is_impaired else []
        if len(one.scheduled) == len(one.scheduled_at):
            told += [
                (at, words)
                for at, words in zip(one.scheduled_at, one.scheduled, strict=True)
                if at <= now and _OVER in words.lower()
            ]
        for at, words in told:
            yield Told(
                teller=Teller.STATUS,
                role=Role.FAULT,
                node=one.id,
                at=at,
                what=words,
                group=known.groups.get(one.id),
                evidence=one.evidence,
            )


def health_words(events: Iterable[HealthEvent], known: Known, now: datetime) -> Iterator[Told]:
    """Yield what AWS Health reported of the nodes and has begun."""
    for one in events:
        if one.start is None or one.start > now or one.category in _NOTICES:
            continue
        for node in filter(known.holds, one.entities or ()):
            yield Told(
                teller=Teller.HEALTH,
                role=Role.FAULT,
                node=node,
                at=one.start,
                what=one.code,
                group=known.groups.get(node),
                evidence=one.evidence,
            )


def lives(known: Known, words: Iterable[Told], now: datetime) -> tuple[Life, ...]:
    """Return when each node is known to have existed.

    A node that is there now has lived since its launch; one without a launch time adds nothing.
    One that is gone has lived from its first sign to its last.
    """
    found = [
        Life(node=node, start=launched, end=now)
        for node, launched in known.launched.items()
        if launched is not None and launched < now
    ]
    signs: dict[str, list[datetime]] = {}
    for word in words:
        if word.node not in known.launched and word.node.startswith("i-"):
            signs.setdefault(word.node, []).append(word.at)
    found += [
        Life(node=node, start=min(times), end=max(times))
        for node, times in sorted(signs.items())
        if min(times) < max(times)
    ]
    return tuple(found)
