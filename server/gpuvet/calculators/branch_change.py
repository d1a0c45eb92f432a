"""Branch E: a change of the cluster, who made it, and what it did to nodes (§E)."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gpuvet.calculators.capacity_evidence import not_read, values
from gpuvet.calculators.change_effects import Effect, affected_nodes, effects_of, is_in_change
from gpuvet.calculators.change_evidence import (
    LOOK_BACK,
    ChangeEvidence,
    foreign_changes,
    hardware_fault_before,
    is_ours,
    is_strong,
    own_changes,
)
from gpuvet.calculators.change_rollouts import rollout_signals
from gpuvet.calculators.change_versions import (
    driver_changes,
    kernel_signals,
    mismatches,
    package_signals,
    version_signals,
)
from gpuvet.calculators.change_words import change_actions, change_facts, who
from gpuvet.calculators.replacements import automatic_replacements
from gpuvet.model.cause import Branch, BranchEvidence, Failure, Signal, Symptom
from gpuvet.model.changes import Change, ChangeKind, ClusterEvent, EventMeaning
from gpuvet.model.cluster import NotSeen
from gpuvet.model.events import Boundary
from gpuvet.model.evidence import Reason
from gpuvet.report.words import counted, some, utc

# These explain missing evidence and break no node.
_NO_CAUSE = frozenset({ChangeKind.LOGS})
# A change of one of these takes the node away from the job.
_TAKES_NODES = frozenset(
    {ChangeKind.REPLACE, ChangeKind.REBOOT, ChangeKind.DELETE, ChangeKind.TERMINATE}
)
_LOSES_NODES = frozenset(
    {Symptom.NODES_LOST, Symptom.CRASH, Symptom.HANG, Symptom.START_UP, Symptom.UNKNOWN}
)
_CONNECTS = frozenset({Symptom.START_UP, Symptom.HANG, Symptom.CRASH, Symptom.SLOW})


def judge_change(evidence: ChangeEvidence, failure: Failure) -> BranchEvidence:
    """Return what speaks for a change of the cluster, what rules it out, what was not seen."""
    calls = own_changes(evidence)
    by_version = list(version_signals(evidence, failure, calls))
    explained = {s.at for s in by_version}
    signals = (
        *by_version,
        *package_signals(evidence, failure),
        *kernel_signals(evidence, failure),
        *rollout_signals(evidence, failure),
        *(
            signal
            for call in calls
            if call.at not in explained
            for signal in _call_signal(call, evidence, failure)
        ),
        *_event_signals(evidence, failure, calls),
        *_rollback_signals(evidence),
        *_driver_signals(evidence, by_version),
    )
    return BranchEvidence(
        branch=Branch.CHANGE,
        signals=signals,
        ruled_out=_ruled_out(evidence, signals, calls),
        deciding_unseen=tuple(_unseen(evidence)),
        assessed=_is_assessed(evidence, signals),
        confirming=None if signals else "cloudtrail:LookupEvents by event name from 6 h before",
        facts=tuple(change_facts(evidence, failure, calls)),
        actions=tuple(change_actions(evidence, signals)),
    )


def _call_signal(call: Change, evidence: ChangeEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield one successful call as a signal; a failed one changed nothing."""
    if call.is_attempt or call.kind in _NO_CAUSE:
        return
    reference = failure.at or evidence.now
    if call.at > reference + timedelta(seconds=failure.precision_seconds):
        yield _later_call(call, evidence)
        return
    nodes = affected_nodes(call, evidence)
    effects = effects_of(call, evidence, failure.at)
    fault = hardware_fault_before(call.targets or nodes, call.at, evidence)
    if fault is not None:
        node, at, what = fault
        yield _response(call, f"{what} on {node} at {utc(at)} came before it", evidence)
        return
    yield _signal_of(call, nodes, effects, evidence, failure)


def _signal_of(
    call: Change,
    nodes: Sequence[str],
    effects: Sequence[Effect],
    evidence: ChangeEvidence,
    failure: Failure,
) -> Signal:
    mechanism = _mechanism(call, effects, evidence, failure)
    seen = "; ".join(effect.what for effect in effects[:3])
    about = call.resource or call.cluster or evidence.cluster_name or "the cluster"
    what = f"{call.name} on {some(list(call.targets)) or about} by {who(call)} at {utc(call.at)}"
    is_proven = mechanism is not None and _is_the_symptom(call, evidence, failure)
    needs_effect = call.kind is not ChangeKind.NETWORK
    return Signal(
        branch=Branch.CHANGE,
        kind=call.kind.name.lower(),
        what=f"{what}: {seen}" if seen else f"{what}: no effect on a node of the job was seen",
        resource=call.resource or call.cluster or evidence.cluster_name,
        node=effects[0].node if effects else None,
        at=call.at,
        affected=is_ours(call, evidence) is True
        and (bool(nodes) or call.kind is ChangeKind.NETWORK),
        mechanism=mechanism,
        proven_by_rule=is_proven,
        hypothesis_only=needs_effect and not effects,
        explains=(Branch.COMMUNICATION,) if call.kind is ChangeKind.NETWORK and mechanism else (),
        confirming=None if is_proven else _confirming(call, effects),
        evidence=tuple(
            dict.fromkeys(
                ref for ref in (call.evidence, *(e.evidence for e in effects)) if ref is not None
            )
        ),
    )


def _mechanism(
    call: Change, effects: Sequence[Effect], evidence: ChangeEvidence, failure: Failure
) -> str | None:
    if call.kind in _TAKES_NODES and effects and failure.symptom in _LOSES_NODES:
        return "the call takes the node away; what waits for it is the change, not a fault"
    if call.kind in {ChangeKind.SOFTWARE, ChangeKind.CLUSTER} and effects:
        is_taken = any(is_in_change(n.state) for n in evidence.nodes)
        if failure.symptom in _LOSES_NODES and (is_taken or is_strong(call, failure.at)):
            return "an update drains and restarts the node under the job"
    is_network = call.kind is ChangeKind.NETWORK
    if is_network and failure.symptom in _CONNECTS and is_strong(call, failure.at):
        return "new connections need the rule or the route that was changed"
    return None


def _is_the_symptom(call: Change, evidence: ChangeEvidence, failure: Failure) -> bool:
    """Say whether the failure asked about is the very state the call put a node into.

    A node that is Pending, or gone, because of a successful call explains itself; the link must
    rest on more than launch times.
    """
    if call.kind not in {ChangeKind.REPLACE, ChangeKind.DELETE}:
        return False
    if failure.symptom not in {Symptom.UNKNOWN, Symptom.START_UP, Symptom.NODES_LOST}:
        return False
    mine = [r for r in evidence.replaced if r.call.at == call.at and r.call.name == call.name]
    return any(r.is_certain and any(is_in_change(new.status) for new in r.new) for r in mine)


def _confirming(call: Change, effects: Sequence[Effect]) -> str:
    if call.kind is ChangeKind.NETWORK:
        return "the rules as they were: CloudTrail's request parameters against the present group"
    if not effects:
        return "a state change of a node after the call: cluster events, LaunchTime, boot lines"
    return "when the job lost the node, by its own log"


def _later_call(call: Change, evidence: ChangeEvidence) -> Signal:
    return Signal(
        branch=Branch.CHANGE,
        kind=call.kind.name.lower(),
        what=f"{call.name} by {who(call)} at {utc(call.at)}, after the failure began",
        resource=call.resource or call.cluster or evidence.cluster_name,
        at=call.at,
        effect=True,  # it can follow from the failure and cannot have caused it
        evidence=(call.evidence,) if call.evidence else (),
    )


def _response(call: Change, why: str, evidence: ChangeEvidence) -> Signal:
    return Signal(
        branch=Branch.CHANGE,
        kind=call.kind.name.lower(),
        what=f"{call.name} by {who(call)} at {utc(call.at)} is the response to a fault: {why}",
        resource=call.cluster or evidence.cluster_name,
        node=call.targets[0] if call.targets else None,
        at=call.at,
        effect=True,
        evidence=(call.evidence,) if call.evidence else (),
    )


_NODE_EVENTS = {
    EventMeaning.SOFTWARE: "software update",
    EventMeaning.ROLLBACK: "rollback",
    EventMeaning.EVICTION: "eviction",
    EventMeaning.REBOOT: "reboot",
    EventMeaning.TERMINATION: "termination",
}


def _event_signals(
    evidence: ChangeEvidence, failure: Failure, calls: Sequence[Change]
) -> Iterator[Signal]:
    """Yield changes that only cluster events tell of: that they happened is shown, who is not."""
    told = {EventMeaning.SOFTWARE: ChangeKind.SOFTWARE, EventMeaning.REBOOT: ChangeKind.REBOOT}
    have = {call.kind for call in calls if not call.is_attempt}
    nodes = evidence.node_ids
    by_meaning: dict[EventMeaning, list[ClusterEvent]] = {}
    for event in values(evidence.events):
        if event.meaning not in _NODE_EVENTS or told.get(event.meaning) in have:
            continue
        if event.instance is not None and event.instance not in nodes:
            continue
        if failure.at is None or _within(event.at, failure.at):
            by_meaning.setdefault(event.meaning, []).append(event)
    for events in by_meaning.values():
        yield _event_signal(events, evidence, failure)
    for event in automatic_replacements(values(evidence.events), calls):
        if event.instance not in nodes:
            continue
        fault = hardware_fault_before([event.instance or ""], event.at, evidence)
        if fault is None:
            yield _automatic(event)


def _within(at: datetime, failure_at: datetime) -> bool:
    return failure_at - LOOK_BACK <= at <= failure_at


def _event_signal(
    events: Sequence[ClusterEvent], evidence: ChangeEvidence, failure: Failure
) -> Signal:
    event = next((one for one in events if one.instance is not None), events[0])
    more = f" (and {len(events) - 1} more)" if len(events) > 1 else ""
    is_near = failure.at is not None and failure.at - event.at <= timedelta(minutes=60)
    is_on_node = event.instance is not None
    known = is_near and is_on_node and failure.symptom in _LOSES_NODES
    return Signal(
        branch=Branch.CHANGE,
        kind=f"event_{_NODE_EVENTS[event.meaning].replace(' ', '_')}",
        what=f"cluster event at {utc(event.at)}: {event.description}{more}; who asked for it is "
        "unknown",
        resource=evidence.cluster_name,
        node=event.instance,
        at=event.at,
        mechanism="the change takes the node from the job" if known else None,
        hypothesis_only=not is_on_node,
        confirming="CloudTrail's call behind it",
        raw=event.description,
        evidence=(event.evidence,) if event.evidence else (),
    )


def _automatic(event: ClusterEvent) -> Signal:
    return Signal(
        branch=Branch.CHANGE,
        kind="replacement_without_call",
        what=f"cluster event at {utc(event.at)}: {event.description}; service-initiated or "
        "unknown: no customer call found",
        node=event.instance,
        at=event.at,
        hypothesis_only=True,
        confirming="the health agent's stream of the old id before that time",
        raw=event.description,
        evidence=(event.evidence,) if event.evidence else (),
    )


def _rollback_signals(evidence: ChangeEvidence) -> Iterator[Signal]:
    found = evidence.described
    for group in found.groups if found is not None else ():
        if group.software not in {"RollbackInProgress", "RollbackComplete", "Failed"}:
            continue
        yield Signal(
            branch=Branch.CHANGE,
            kind="software_rollback",
            what=f"{group.name} SoftwareUpdateStatus {group.software}: image {group.image}, "
            f"wanted {group.wanted_image}",
            resource=group.name,
            standing=True,
            mechanism="a failed update takes nodes out while it rolls back"
            if group.software != "RollbackComplete"
            else None,
            confirming="LastSoftwareUpdateTime and SystemUpdating of the job's nodes",
            evidence=(found.evidence,) if found and found.evidence else (),
        )


def _driver_signals(evidence: ChangeEvidence, by_version: Sequence[Signal]) -> Iterator[Signal]:
    """Yield boots with another driver than the boot before, where nothing else tells of them."""
    told = {ref for signal in by_version for ref in signal.evidence}
    by_versions: dict[tuple[str | None, str | None], list[Boundary]] = {}
    for before, after in driver_changes(evidence):
        if after.evidence not in told:
            pair = (before.driver_version, after.driver_version)
            by_versions.setdefault(pair, []).append(after)
    for (old, new), boots in by_versions.items():
        first = min(boots, key=lambda b: (b.at is None, b.at, b.node))
        yield Signal(
            branch=Branch.CHANGE,
            kind="driver_version",
            what=f"{counted(len(boots), 'node')} booted with driver {new}, before that {old}; "
            f"first {first.node} at {utc(first.at)}",
            node=first.node,
            at=first.at,
            confirming="the same job on a node with the old driver",
            raw=first.raw,
            stream=first.stream,
            evidence=tuple(b.evidence for b in boots[:8]),
        )


def _ruled_out(
    evidence: ChangeEvidence, signals: Sequence[Signal], calls: Sequence[Change]
) -> str | None:
    """Return the sentence that rules a change out; CloudTrail must have been read in full."""
    if not evidence.trail.is_complete or signals:
        return None
    if mismatches(evidence) or not evidence.nodes:
        return None
    attempts = [call for call in calls if call.is_attempt]
    foreign = foreign_changes(evidence)
    more = [
        *([f"{counted(len(attempts), 'failed attempt')} changed nothing"] if attempts else []),
        *([f"{counted(len(foreign), 'call')} on other resources"] if foreign else []),
    ]
    return "; ".join(
        [
            _trail_sentence(evidence),
            *more,
            "no package upgrade, rollout or new driver in the logs in hand",
        ]
    )


def _trail_sentence(evidence: ChangeEvidence) -> str:
    trail = evidence.trail
    if trail.told_by is not None:
        return f"no cluster event in CloudTrail, as read in {trail.told_by}"
    return (
        f"no change of this cluster among {len(trail.asked)} CloudTrail event names from "
        f"{utc(trail.window.start)} to {utc(trail.window.end)}, all read"
    )


def _unseen(evidence: ChangeEvidence) -> Iterator[NotSeen]:
    missed = evidence.trail.missed
    if missed:
        names = [one.name for one in missed]
        what = f"CloudTrail ({len(names)} of {len(evidence.trail.asked)} event names)"
        yield NotSeen(
            what=what if len(names) < len(evidence.trail.asked) else "CloudTrail",
            reason=missed[0].reason or Reason.NOT_RECORDED,
            closes_with=f"look up {some(names, 3)} (cloudtrail:LookupEvents)",
        )
    if _needs_the_list(evidence):
        yield from not_read(evidence.nodes_read, "the list of the cluster's nodes", "list them")
    yield from not_read(evidence.events, "HyperPod cluster events", "list them")
    yield from not_read(evidence.services_read, "logs of the cluster's services", "search them")


def _needs_the_list(evidence: ChangeEvidence) -> bool:
    """Say whether the list of nodes decides: none is known, it was refused, or a call asks for it.

    Nodes that logs and tables name are enough where nothing replaced or ended one.
    """
    if not evidence.nodes:
        return True
    if evidence.nodes_read is not None and evidence.nodes_read.reason is not Reason.NOT_RECORDED:
        return True
    taken = [c for c in own_changes(evidence) if c.kind in _TAKES_NODES and not c.is_attempt]
    return bool(taken)


def _is_assessed(evidence: ChangeEvidence, signals: Sequence[Signal]) -> bool:
    unread = not evidence.trail.has_read(evidence.trail.asked[:1]) and all(
        one.reason is Reason.NOT_RECORDED for one in evidence.trail.missed
    )
    if not unread or signals:
        return True
    return evidence.cluster is not None and evidence.cluster.value is not None
