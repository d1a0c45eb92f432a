"""DaemonSet rollouts that end in a node condition (incident-branches §E). Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.calculators.change_evidence import STRONG_ROLLOUT, ChangeEvidence
from gpuvet.model.cause import Branch, Failure, Signal
from gpuvet.model.changes import Rollout
from gpuvet.model.events import NodeCondition
from gpuvet.report.words import counted, utc

# What watches GPUs through DCGM, or hands them out; their restart breaks a running monitor.
_MONITORS = ("dcgm", "device-plugin", "node-monitoring", "gpu-operator", "health-monitoring", "npd")
_DCGM = frozenset({"DCGMError"})


def rollout_signals(evidence: ChangeEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield rollouts of GPU monitors or device plugins that end in a node condition.

    The condition is measured against its own transition: a rollout within 5 minutes before it is
    its cause by a known mechanism, and the GPU itself is not spoken of.
    """
    conditions = list(_conditions(evidence))
    for rollout in evidence.rollouts:
        at = rollout.at
        if rollout.step != "started" or at is None or not _is_monitor(rollout.workload):
            continue
        moved = sorted(
            (c.transition_at, c.node, c)
            for c in conditions
            if c.transition_at is not None and at <= c.transition_at <= at + STRONG_ROLLOUT
        )
        if moved:
            first = [c for _, _, c in moved]
            yield _rollout_signal(rollout, at, first, moved[0][0], evidence, failure)


def _is_monitor(workload: str) -> bool:
    return any(word in workload for word in _MONITORS)


def _conditions(evidence: ChangeEvidence) -> Iterator[NodeCondition]:
    for node in (n.node for n in evidence.nodes):
        facts, records = evidence.facts.get(node), evidence.records.get(node)
        for one in (
            *(facts.conditions if facts is not None else ()),
            *(records.conditions if records is not None else ()),
        ):
            if one.reason in _DCGM and one.status != "True":
                yield one


def _rollout_signal(
    rollout: Rollout,
    at: datetime,
    conditions: Sequence[NodeCondition],
    moved: datetime,
    evidence: ChangeEvidence,
    failure: Failure,
) -> Signal:
    condition = conditions[0]
    others = f" and {len(conditions) - 1} more nodes" if len(conditions) > 1 else ""
    is_asked = failure.at is None or abs((failure.at - moved).total_seconds()) <= max(
        1.0, failure.precision_seconds
    )
    image = f" (image {rollout.old} -> {rollout.new})" if rollout.new else ""
    ready = _ready_on(condition.node, rollout, evidence)
    days = (evidence.now - moved).days
    latched = (
        f"; latched: lastTransitionTime is {counted(days, 'day')} old while lastHeartbeatTime "
        f"moves on ({utc(condition.heartbeat_at)})"
        if condition.heartbeat_at is not None and days
        else ""
    )
    return Signal(
        branch=Branch.CHANGE,
        kind="daemonset_rollout",
        what=f"rollout of {rollout.workload}{image} at {utc(at)}, "
        f"{int((moved - at).total_seconds())} s before {condition.kind}={condition.status} "
        f"({condition.reason}) on {condition.node}{others} at {utc(moved)}{ready}{latched}",
        resource=rollout.workload,
        node=condition.node,
        at=at,
        affected=is_asked,
        mechanism="a restart of what serves DCGM cuts the monitor's connection while it starts"
        if is_asked
        else None,
        proven_by_rule=is_asked,
        raw=rollout.raw,
        stream=rollout.stream,
        evidence=(rollout.evidence, *(c.evidence for c in conditions[:8])),
    )


def _ready_on(node: str, rollout: Rollout, evidence: ChangeEvidence) -> str:
    names = {node, *evidence.host_of.get(node, ())}
    for other in evidence.rollouts:
        is_same = other.workload == rollout.workload and other.step == "pod ready"
        if is_same and other.on in names:
            return f"; its pod there Ready {utc(other.at)}"
    return ""
