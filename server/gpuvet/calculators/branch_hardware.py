"""Branch A: GPU and node hardware (incident-branches §A), from the node verdicts."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.rules_hardware import RULE as HARDWARE_RULE
from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.cause import Branch, BranchEvidence, Failure, Signal, Symptom
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence, NotSeen
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage
from gpuvet.model.evidence import Reason
from gpuvet.model.verdict import FaultClass, Ground, NodeVerdict, Verdict

_HARDWARE = frozenset({FaultClass.HARDWARE, FaultClass.SOFTWARE_LINK})
_ACTING = frozenset({Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED})
_NOT_CLEARED = frozenset({Verdict.UNVERIFIED, Verdict.MONITOR})
_FAILED_STATUS = frozenset({"Failure", "Failed"})
_GSP_RULE = "§8"

_NO_GPU_NODE = "no node with a GPU is known of the job"
_MECHANISM = {
    Symptom.CRASH: "a GPU that is gone or wrong fails every rank that uses it",
    Symptom.HANG: "ranks on the failed GPU no longer answer their collectives",
    Symptom.NODES_LOST: "the platform takes a node with failed hardware out",
    Symptom.START_UP: "a missing GPU fails CUDA at start",
    Symptom.SLOW: "a degraded GPU or link slows every rank of its collectives",
    Symptom.UNKNOWN: "a GPU that is gone or wrong fails every rank that uses it",
    Symptom.MOUNT: None,
}


def assess_hardware(
    evidence: ClusterEvidence,
    verdicts: Sequence[NodeVerdict],
    failure: Failure,
    *,
    lost: Sequence[NotSeen] = (),
) -> BranchEvidence:
    """Return what speaks for hardware, or what rules it out on every node of the job.

    Args:
        evidence: Of the nodes.
        verdicts: One for each node.
        failure: When and on which nodes the failure began.
        lost: Logs that were not read and may be any node's: with them nothing is ruled out.
    """
    job = [
        n for n in evidence.nodes if has_gpus(n) and (not failure.nodes or n.node in failure.nodes)
    ]
    by_node = {v.node: v for v in verdicts}
    signals = tuple(
        signal for node in job for signal in _signals(node, by_node[node.node], failure)
    )
    unseen = (*(missing for node in job for missing in _unseen(node)), *lost)
    doubts = [v for n in job if (v := by_node[n.node]).verdict is Verdict.UNVERIFIED]
    ruled_out = None if signals or unseen or doubts or not job else _ruled_out(job)
    return BranchEvidence(
        branch=Branch.HARDWARE,
        signals=signals,
        ruled_out=ruled_out,
        unverified=f"{doubts[0].node}: {doubts[0].open_check}" if doubts else None,
        deciding_unseen=unseen,
        assessed=bool(job),
        read_empty=_NO_GPU_NODE if evidence.nodes else None,
        confirming="the kernel log of the affected node over the hour before the failure",
        facts=tuple(_facts(job, by_node)),
        actions=tuple(_actions(verdicts)),
    )


def has_gpus(node: NodeEvidence) -> bool:
    """Say whether a node may have GPUs; only a type known to have none says no."""
    kind = instance_type(node.instance_type) if node.instance_type else None
    return kind is None or kind.gpus > 0 or bool(node.records.xids)


def _signals(node: NodeEvidence, verdict: NodeVerdict, failure: Failure) -> Iterator[Signal]:
    acts = verdict.verdict in _ACTING and verdict.fault_class in _HARDWARE
    driver = verdict.verdict in _ACTING and verdict.fault_class is FaultClass.DRIVER_CONFIG
    ground = verdict.cause or next(iter(verdict.grounds), None)
    # Without an Xid the line proves that something failed, not that a GPU did.
    unnamed = _rule(verdict) == HARDWARE_RULE and verdict.verdict in _NOT_CLEARED
    if (acts or driver or unnamed) and ground is not None:
        yield _signal(node, verdict, ground, failure, hypothesis_only=driver or unnamed)
    if node.facts.status in _FAILED_STATUS:
        yield Signal(
            branch=Branch.HARDWARE,
            kind="node_status",
            what=f"{node.node}: node status {node.facts.status}",
            resource=node.node,
            node=node.node,
            hypothesis_only=True,
            confirming="the failed node's own log or health record",
        )


def _rule(verdict: NodeVerdict) -> str | None:
    return verdict.decided_by.rule if verdict.decided_by is not None else None


def _signal(
    node: NodeEvidence,
    verdict: NodeVerdict,
    ground: Ground,
    failure: Failure,
    *,
    hypothesis_only: bool,
) -> Signal:
    inferred = ground.source == "inferred"
    return Signal(
        branch=Branch.HARDWARE,
        kind="xid" if ground.pci else "platform",
        what=f"{node.node}: {ground.what}" + (f" on {ground.pci}" if ground.pci else ""),
        resource=node.node,
        node=node.node,
        at=ground.at,
        measured=not inferred,
        mechanism=_MECHANISM[failure.symptom],
        hypothesis_only=hypothesis_only,
        confirming=verdict.open_check,
        raw=ground.raw,
        stream=ground.stream,
        evidence=(ground.evidence,) if ground.evidence else (),
    )


def _unseen(node: NodeEvidence) -> Iterator[NotSeen]:
    """Name what keeps hardware from being ruled out on a node."""
    coverage = node.coverage
    if coverage.gate in {Gate.MEASURED, Gate.HMA_ONLY}:
        return
    if coverage.status is CoverageStatus.NOT_APPLICABLE or node.facts.ran_no_job:
        return
    hours = f"{len(coverage.empty_hours)} h of " if coverage.empty_hours else ""
    yield NotSeen(
        what=f"{hours}the kernel log of {node.node}",
        reason=_why_unseen(coverage),
        closes_with="the kernel log of that time, or the health agent's detections",
        nodes=(node.node,),
    )


def _why_unseen(coverage: NodeCoverage) -> Reason:
    """Return why a node's kernel log was not seen: what was not read may well be shipped."""
    if coverage.status is CoverageStatus.UNVERIFIED:
        words = ((source.reason or "").rpartition(": ")[2] for source in coverage.sources)
        read = next((Reason(word) for word in words if word in set(Reason)), None)
        if read is not None:
            return read
    return Reason.EMPTY if coverage.empty_hours else Reason.NOT_SHIPPED


def _ruled_out(job: Sequence[NodeEvidence]) -> str:
    measured = [n for n in job if n.coverage.gate is Gate.MEASURED]
    agent = [n for n in job if n.coverage.gate is Gate.HMA_ONLY]
    parts: list[str] = []
    if measured:
        hours = sum(n.coverage.hours_measured for n in measured)
        parts.append(
            f"0 hardware Xids in {hours} measured node-hours of {len(measured)} of {len(job)} nodes"
            if hours
            else f"0 hardware Xids on {len(measured)} of {len(job)} measured nodes"
        )
    if agent:
        parts.append(f"no hardware detections by the health agent on {len(agent)} nodes")
    rest = len(job) - len(measured) - len(agent)
    if rest:
        parts.append(f"{rest} nodes ran no job")
    return "; ".join(parts)


def _facts(job: Sequence[NodeEvidence], by_node: dict[str, NodeVerdict]) -> Iterator[str]:
    for node in job:
        verdict = by_node[node.node]
        for contradiction in verdict.contradictions:
            yield f"{node.node}: {contradiction}"


def _actions(verdicts: Sequence[NodeVerdict]) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.verdict is Verdict.REPLACE:
            yield f"replace {verdict.node}; a reboot keeps the faulty hardware"
        elif verdict.verdict is Verdict.REBOOT:
            yield (
                f"reboot {verdict.node} first: it is the first occurrence known; "
                "REPLACE if it recurs on the same GPU after that reboot"
            )
        elif verdict.verdict is Verdict.UNVERIFIED and verdict.open_check:
            yield f"{verdict.node}: {verdict.minimum_action} at least; check {verdict.open_check}"
