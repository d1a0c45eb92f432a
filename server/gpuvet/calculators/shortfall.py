"""Nodes that cannot be had: no capacity, no addresses, a plan's gap, a block not yet begun (§B)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from gpuvet.calculators.addresses import addresses_of_node, nodes_that_fit
from gpuvet.calculators.block_end import LEAD, LEAD_ULTRASERVER
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.model.bootstrap import LaunchFault, ServiceEvent, ServiceRecord
from gpuvet.model.capacity import PlanBlock, Reservation, Subnet, TrainingPlan
from gpuvet.model.cause import Branch, Failure, Signal, Symptom
from gpuvet.model.changes import ClusterEvent, EventMeaning
from gpuvet.model.cluster_state import GroupState, HyperPodCluster
from gpuvet.parse.launch_faults import fault_in_words
from gpuvet.report.words import counted, some, utc

# Failures that missing capacity can be the cause of.
_NEEDS_NODES = frozenset({Symptom.START_UP, Symptom.NODES_LOST, Symptom.UNKNOWN})
_ENDED = frozenset({"expired", "cancelled", "failed", "payment-failed", "unavailable"})
_NOT_YET = frozenset({"scheduled", "payment-pending", "pending", "assessing", "delayed"})
_NO_NODE = "a node that cannot be had leaves the job short of nodes"


def launch_signals(
    evidence: CapacityEvidence, failure: Failure, block_ended_at: datetime | None
) -> Iterator[Signal]:
    """Yield failed launches by what was missing; after a block's end they only follow from it."""
    by_fault = _by_fault(evidence.services)
    for fault, records in by_fault.items():
        first = min(records, key=lambda r: (r.at is None, r.at, r.line))
        is_after = (
            block_ended_at is not None and first.at is not None and first.at >= block_ended_at
        )
        follows = ": a consequence of the block's end" if is_after else ""
        yield Signal(
            branch=Branch.CAPACITY,
            kind=f"launch_{fault.value}",
            what=f"{first.code} at {utc(first.at)} in {first.stream}, "
            f"{counted(len(records), 'line')}{follows}",
            at=first.at,
            affected=failure.symptom in _NEEDS_NODES,
            effect=is_after,
            mechanism=_NO_NODE,
            proven_by_rule=not is_after and len(by_fault) == 1 and _is_start(evidence, failure),
            confirming=_settles_launch(evidence),
            raw=first.raw,
            stream=first.stream,
            evidence=tuple(r.evidence for r in records[:8]),
        )


def _settles_launch(evidence: CapacityEvidence) -> str:
    if not evidence.orchestrator.is_hyperpod and evidence.reservations.value is None:
        return (
            "ec2:DescribeCapacityReservations: whether the nodes' reservation or block was ending; "
            "then the launch's own error in CloudTrail"
        )
    return "the launch's own error in CloudTrail, and the zone the request named"


def _is_start(evidence: CapacityEvidence, failure: Failure) -> bool:
    """Say whether what is asked is that nodes do not come, so that the attempt itself is it."""
    if failure.symptom is Symptom.START_UP:
        return True
    return failure.at is None and failure.symptom in _NEEDS_NODES and evidence.is_short


def _by_fault(
    records: tuple[ServiceRecord, ...],
) -> dict[LaunchFault, list[ServiceRecord]]:
    found: dict[LaunchFault, list[ServiceRecord]] = {}
    for record in records:
        if record.event is ServiceEvent.LAUNCH_FAILED and record.fault is not None:
            found.setdefault(record.fault, []).append(record)
    return found


def attempt_signals(evidence: CapacityEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield HyperPod's failed attempts to get an instance, in the service's own words.

    That the attempt failed so is proven; why capacity was missing is not, while a plan or a
    reservation shows instances free.
    """
    by_fault: dict[LaunchFault, list[ClusterEvent]] = {}
    for event in values(evidence.events):
        fault = fault_in_words(event.failure) if event.failure else None
        if event.meaning in _ATTEMPTS and fault is not None:
            by_fault.setdefault(fault, []).append(event)
    is_start = _is_start(evidence, failure)
    for fault, events in by_fault.items():
        first = events[0]
        free = _shown_free(evidence) if fault is LaunchFault.CAPACITY else None
        doubt = f"; yet {free} shows instances free: suspect another zone or subnet" if free else ""
        again = f", {len(events)} attempts" if len(events) > 1 else ""
        yield Signal(
            branch=Branch.CAPACITY,
            kind=f"attempt_{fault.value}",
            what=f"HyperPod at {utc(first.at)} in {first.group or 'the cluster'}{again}: "
            f"“{first.failure}”{doubt}",
            resource=first.group,
            node=first.instance,
            at=first.at,
            mechanism=_NO_NODE,
            proven_by_rule=is_start and failure.symptom in _NEEDS_NODES,
            confirming=_confirms(fault),
            raw=first.description,
            evidence=tuple(dict.fromkeys(e.evidence for e in events[:8] if e.evidence)),
        )


_ATTEMPTS = frozenset(
    {
        EventMeaning.PROVISION_FAILED,
        EventMeaning.NETWORK_FAILED,
        EventMeaning.REPLACEMENT,
        EventMeaning.SCALING,
        EventMeaning.OTHER,
    }
)


def _confirms(fault: LaunchFault) -> str:
    if fault is LaunchFault.ADDRESSES:
        return "free addresses of the group's own subnets at that time"
    return "free instances of the group's reservation or plan in the subnet's zone at that time"


def _shown_free(evidence: CapacityEvidence) -> str | None:
    """Return the plan or reservation that shows instances free while none could be had."""
    for plan in values(evidence.plans):
        if plan.status == "Active" and (plan.available or plan.spare):
            return plan.name
    for one in values(evidence.reservations):
        if one.state == "active" and one.available:
            return one.id
    return None


def shortfall_signals(evidence: CapacityEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield groups below their target with a measured lack: addresses first, then capacity."""
    found = evidence.cluster.value if evidence.cluster is not None else None
    if found is None:
        return
    for group in found.groups:
        if not group.short:
            continue
        yield from _no_addresses(evidence, found, group, failure)
        yield from _no_room(evidence, group, failure)


def _no_addresses(
    evidence: CapacityEvidence, cluster: HyperPodCluster, group: GroupState, failure: Failure
) -> Iterator[Signal]:
    need = addresses_of_node(group.instance_type, evidence.orchestrator, group.interface)
    own = _own_subnets(evidence, cluster, group)
    fit = nodes_that_fit(own, need) if need else None
    if need is None or fit is None or fit >= group.short:
        return
    free = ", ".join(f"{one.id} {one.free} free" for one in own)
    yield Signal(
        branch=Branch.CAPACITY,
        kind="addresses",
        what=f"{group.name} has {group.current} of {group.target} nodes and no room for "
        f"{counted(group.short, 'more')}: {free} as read now, a {group.instance_type} needs {need}",
        resource=own[0].id,
        standing=True,
        mechanism="without free addresses an instance cannot be attached to the subnet",
        proven_by_rule=failure.symptom in _NEEDS_NODES,
        affected=failure.symptom in _NEEDS_NODES,
        confirming="free addresses of these subnets when the attempt failed",
        evidence=tuple(one.evidence for one in own if one.evidence),
    )


def _own_subnets(
    evidence: CapacityEvidence, cluster: HyperPodCluster, group: GroupState
) -> list[Subnet]:
    wanted = set(group.subnets or cluster.subnets)
    every = values(evidence.subnets)
    return [one for one in every if one.id in wanted] if wanted else list(every)


def _no_room(evidence: CapacityEvidence, group: GroupState, failure: Failure) -> Iterator[Signal]:
    plan = _plan_of(evidence, group)
    if plan is None or plan.available is None or plan.available > 0:
        return
    yield Signal(
        branch=Branch.CAPACITY,
        kind="no_room",
        what=f"{group.name} has {group.current} of {group.target} nodes and training plan "
        f"{plan.name} has {plan.available} of {plan.total} instances available as read now",
        resource=plan.name,
        standing=True,
        mechanism="a replacement needs a free instance of the plan",
        proven_by_rule=failure.symptom in _NEEDS_NODES,
        affected=failure.symptom in _NEEDS_NODES,
        confirming="DescribeTrainingPlan when the attempt failed",
        evidence=(plan.evidence,) if plan.evidence else (),
    )


def _plan_of(evidence: CapacityEvidence, group: GroupState) -> TrainingPlan | None:
    if group.plan is None:
        return None
    name = group.plan.rpartition("/")[2]
    return next((one for one in values(evidence.plans) if one.name == name), None)


def calendar_signals(evidence: CapacityEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield reservations and plans that did not cover the failure's time."""
    at = failure.at or evidence.now
    for one in values(evidence.reservations):
        signal = _reservation_signal(one, at, evidence, failure)
        if signal is not None:
            yield signal
    for plan in values(evidence.plans):
        if plan.name in evidence.plan_names:
            yield from _plan_signals(plan, at, failure)


def _reservation_signal(
    one: Reservation, at: datetime, evidence: CapacityEvidence, failure: Failure
) -> Signal | None:
    if not _is_wanted(one, evidence):
        return None
    if one.start is not None and one.start > at and one.state in _NOT_YET:
        what = f"{one.id} is {one.state} and not active before {utc(one.start)}"
        kind, mechanism = "not_active_yet", "no instance starts in a reservation before its start"
        since = None
    elif one.state in _ENDED and one.end is not None and one.end <= at:
        what = f"{one.id} is {one.state} since {utc(one.end)}"
        kind, mechanism, since = "expired", "an ended reservation gives no instance", one.end
    else:
        return None
    return Signal(
        branch=Branch.CAPACITY,
        kind=kind,
        what=what,
        resource=one.id,
        at=since,
        standing=since is None,
        affected=failure.symptom in _NEEDS_NODES,
        mechanism=mechanism if failure.symptom is Symptom.START_UP else None,
        confirming="which reservation the launch request named",
        evidence=(one.evidence,) if one.evidence else (),
    )


def _is_wanted(one: Reservation, evidence: CapacityEvidence) -> bool:
    """Say whether nodes of the job belong to a reservation's type and none runs in it."""
    types = {(n.instance_type or "").removeprefix("ml.") for n in evidence.nodes}
    running = {i.reservation for i in values(evidence.instances) if i.state == "running"}
    return one.id not in running and (not types - {""} or one.instance_type in types)


def _plan_signals(plan: TrainingPlan, at: datetime, failure: Failure) -> Iterator[Signal]:
    refs = (plan.evidence,) if plan.evidence else ()
    needs = failure.symptom in _NEEDS_NODES
    for before, after in gaps(plan):
        lead = LEAD_ULTRASERVER if before.is_ultraserver else LEAD
        if not before.end - lead - timedelta(minutes=2) <= at < after.start:
            continue
        yield Signal(
            branch=Branch.CAPACITY,
            kind="plan_gap",
            what=f"training plan {plan.name} has a gap from {utc(before.end)} to "
            f"{utc(after.start)}; terminations begin {int(lead.total_seconds() // 60)} minutes "
            "before it (lead assumed from Capacity Blocks)",
            resource=plan.name,
            at=before.end - lead,
            until=after.start,
            affected=needs,
            mechanism="the plan has no capacity in its gap" if needs else None,
            confirming="when the nodes ended, by HyperPod's cluster events",
            evidence=refs,
        )
    yield from _plan_end(plan, at, refs, needs=needs)


def _plan_end(
    plan: TrainingPlan, at: datetime, refs: tuple[str, ...], *, needs: bool
) -> Iterator[Signal]:
    last = plan.blocks[-1] if plan.blocks else None
    end = last.end if last is not None else plan.end
    if end is None:
        return
    usable_until = end - (LEAD_ULTRASERVER if last and last.is_ultraserver else LEAD)
    is_over = at >= usable_until - timedelta(minutes=2)
    if not is_over and plan.status not in {"Expired", "Failed"}:
        return
    yield Signal(
        branch=Branch.CAPACITY,
        kind="plan_ended",
        what=f"training plan {plan.name} is {plan.status}; its last capacity ends {utc(end)}, "
        f"usable until {utc(usable_until)} (lead assumed from Capacity Blocks)",
        resource=plan.name,
        at=usable_until if is_over else None,
        standing=not is_over,
        affected=needs,
        mechanism="an ended plan gives no instance" if needs else None,
        confirming="when the nodes ended, by HyperPod's cluster events",
        evidence=refs,
    )


def gaps(plan: TrainingPlan) -> Iterator[tuple[PlanBlock, PlanBlock]]:
    """Yield neighbouring stretches of a plan with time between them; overlaps are joined."""
    kept: list[PlanBlock] = []
    for block in plan.blocks:
        if kept and block.start <= kept[-1].end:
            if block.end > kept[-1].end:
                kept[-1] = kept[-1].model_copy(update={"end": block.end})
            continue
        kept.append(block)
    yield from pairwise(kept)


def free_addresses(evidence: CapacityEvidence) -> str | None:
    """Return the sentence about free addresses as read now, with the bar they are held against."""
    subnets = values(evidence.subnets)
    if not subnets:
        return None
    kinds = sorted({n.instance_type for n in evidence.nodes if n.instance_type})
    bars = [
        f"a {kind} needs {need}"
        for kind in kinds
        if (need := addresses_of_node(kind, evidence.orchestrator)) is not None
    ]
    shown = some([f"{one.id} {one.free}" for one in subnets if one.free is not None])
    return f"free IPv4 addresses as read now: {shown}{'; ' + some(bars) if bars else ''}"
