"""Facts and actions of the change branch, as a person on call reads them."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gpuvet.calculators.capacity_evidence import values
from gpuvet.calculators.change_evidence import ChangeEvidence, foreign_changes
from gpuvet.calculators.change_versions import mismatch_words, mismatches, script_words
from gpuvet.calculators.replacements import Replacement, automatic_replacements
from gpuvet.catalog.xids import xids
from gpuvet.model.cause import Failure, Signal
from gpuvet.model.changes import Change, ChangeKind
from gpuvet.model.words import FaultClass
from gpuvet.report.words import counted, some, utc

# AWS's API reference: what a replacement takes.
_TYPICAL_MINUTES = (20, 30)
_MOST_ARRIVALS = 8  # ours: how many nodes are told one by one
# AWS's API reference: events arrive up to about this late.
_DELIVERY = timedelta(minutes=15)


def who(change: Change) -> str:
    """Return who made a call, and how far it was a person."""
    if change.invoked_by:
        return f"{change.by or 'a principal'} through {change.invoked_by}"
    session = (change.by_arn or "").rpartition("/")[2]
    if session.startswith("i-"):
        return f"the instance role of {session} (automatic: the cluster manager)"
    role = _role(change.by_arn)
    return f"{change.by or 'unknown'}{f' ({role})' if role else ''}"


def _role(arn: str | None) -> str | None:
    parts = (arn or "").split("/")
    return parts[1] if len(parts) >= 3 and ":assumed-role" in parts[0] else None


def tenth(number: float) -> float:
    """Return a number with one decimal, a half rounded up."""
    return int(number * 10 + 0.5) / 10


def change_facts(
    evidence: ChangeEvidence, failure: Failure, calls: Sequence[Change]
) -> Iterator[str]:
    """Yield what is known of changes beside the signals."""
    for call in calls:
        if call.is_attempt:
            yield (
                f"{call.name} by {who(call)} at {utc(call.at)} failed ({call.error}): only an "
                "attempt, it changed nothing"
            )
        elif call.kind is ChangeKind.LOGS:
            yield (
                f"{call.name} by {who(call)} at {utc(call.at)} on {call.resource}: evidence may "
                "be gone, no cause"
            )
    for found in evidence.replaced:
        yield from _replacement_facts(found, evidence)
    for came in evidence.arrivals[:_MOST_ARRIVALS]:
        yield f"{came.node}: {came.initiator.value}, {came.why}"
    yield from _foreign(evidence)
    yield from _trail_words(evidence, failure)
    for event in automatic_replacements(values(evidence.events), calls):
        yield (
            f"{event.instance or event.group} replaced at {utc(event.at)} without a customer call: "
            "HyperPod's own recovery or unknown"
        )
    for found_mismatch in mismatches(evidence):
        yield mismatch_words(found_mismatch, evidence)
    script = script_words(evidence)
    if script is not None:
        yield script
    yield from _images(evidence)
    yield from _health_words(evidence)


def _replacement_facts(found: Replacement, evidence: ChangeEvidence) -> Iterator[str]:
    call = found.call
    ours = evidence.cluster_name or "this cluster"
    if (call.cluster or "").startswith("arn:"):
        yield f"CloudTrail names the cluster by its ARN {call.cluster}: the same cluster as {ours}"
    for new in found.new:
        if new.status == "Pending" and new.launched_at is not None:
            minutes = tenth((evidence.now - new.launched_at).total_seconds() / 60)
            low, high = _TYPICAL_MINUTES
            bar = "inside" if minutes <= high else "beyond"
            yield (
                f"{new.id} has been Pending for {minutes} min at {utc(evidence.now)}, {bar} the "
                f"normal {low} to {high} min of a replacement"
            )
    if found.old and not found.new:
        yield f"the replacement of {some(list(found.old))} has not joined"
    if len(found.old) > 1 and len(found.new) > 1:
        yield (
            f"{some(list(found.old))} were replaced by {some([n.id for n in found.new])}; which "
            "took whose place is not known"
        )
    if found.still_there:
        yield (
            f"{some(list(found.still_there))} asked for in {call.name} is still listed: not "
            "carried out yet, refused, or rebooted"
        )
    for node in found.old:
        yield from _old_faults(node, call.at, evidence)


def _old_faults(node: str, at: datetime, evidence: ChangeEvidence) -> Iterator[str]:
    """Yield what an old id's own lines say; its verdict never passes to the successor."""
    records = evidence.records.get(node)
    for xid in records.xids if records is not None else ():
        row = xids().get(xid.code)
        if xid.at is None or row is None or xid.at > at:
            continue
        days = (at - xid.at).days
        kind = "hardware" if row.fault_class is FaultClass.HARDWARE else row.fault_class.value
        yield (
            f"Xid {xid.code} on the old id {node} at {utc(xid.at)} is {kind} class, "
            f"{counted(days, 'day')} before the call; it says nothing of the new instance"
        )


def _foreign(evidence: ChangeEvidence) -> Iterator[str]:
    foreign = foreign_changes(evidence)
    if foreign:
        shown = some(
            [f"{c.name} on {c.cluster or c.resource or some(list(c.nodes))}" for c in foreign], 3
        )
        yield f"{counted(len(foreign), 'call')} on other clusters or nodes ignored: {shown}"


def _trail_words(evidence: ChangeEvidence, failure: Failure) -> Iterator[str]:
    trail = evidence.trail
    if trail.told_by is not None:
        yield f"no cluster event in CloudTrail, as read in {trail.told_by}"
    elif trail.is_complete:
        yield (
            f"CloudTrail read by {len(trail.asked)} event names from {utc(trail.window.start)} to "
            f"{utc(trail.window.end)}: {counted(len(trail.changes), 'change')}"
        )
    is_fresh = failure.at is not None and evidence.now - failure.at < _DELIVERY
    if is_fresh and trail.is_complete:
        yield "the failure is less than 15 minutes old: CloudTrail may still be filling"
    if evidence.orchestrator.is_hyperpod and trail.is_complete:
        found = evidence.described
        recovery = found.recovery if found is not None else None
        yield (
            "what HyperPod does by itself leaves no customer call in CloudTrail "
            f"(NodeRecovery {recovery or 'not read'})"
        )


def _images(evidence: ChangeEvidence) -> Iterator[str]:
    found = evidence.described
    for group in found.groups if found is not None else ():
        if group.image and group.wanted_image and group.image != group.wanted_image:
            yield (
                f"{group.name}: CurrentImageId {group.image}, DesiredImageId "
                f"{group.wanted_image}: an update is in progress"
            )


def _health_words(evidence: ChangeEvidence) -> Iterator[str]:
    """Yield what was read on the nodes of the GPUs themselves."""
    for node in evidence.nodes:
        facts = evidence.facts.get(node.node)
        if facts is not None and facts.gpus_seen is not None:
            yield f"{node.node} lists {facts.gpus_seen} GPUs ({facts.gpus_seen_source})"
    yield from evidence.health_words


def change_actions(evidence: ChangeEvidence, signals: Sequence[Signal]) -> Iterator[str]:
    """Yield what an operator does about a change."""
    kinds = {signal.kind for signal in signals if not signal.effect and signal.affected}
    if mismatches(evidence):
        found = mismatches(evidence)[0]
        total = len(evidence.nodes)
        yield (
            f"bring Fabric Manager and driver to the same version on all {total} nodes (matching "
            f"version {found.driver}, or pin the driver at {found.manager}); a reboot cures no "
            "package mismatch, and a new node gets the same packages"
        )
        yield (
            "pin (hold) the NVIDIA packages in image and lifecycle script, so that driver and "
            "Fabric Manager move together"
        )
    if "daemonset_rollout" in kinds:
        yield (
            "restart the eks-node-monitoring-agent pod on the node, so that the latched condition "
            "is judged anew; nothing is wrong with the node's GPUs by this condition"
        )
        yield "roll monitoring DaemonSets node by node, outside of jobs"
    if "replace" in kinds:
        yield (
            "wait for the replacement (typically 20 to 30 min); ask again only when it is Pending "
            "for longer than 30 min or a cluster event says it failed"
        )
    if "network" in kinds:
        yield "put the rule or route back as it was; connections are made anew only after a restart"
    if "software_rollback" in kinds:
        yield "let the rollback end before jobs start; then read SoftwareUpdateStatus again"
