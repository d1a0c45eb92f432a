"""Which sources could have shown something on a node: observable, not observable, no matter. Pure.

An observable source that says nothing is a statement about its hours; one that is not observable
says nothing at all, and one that does not apply could never speak on this type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpuvet.calculators.finding import expected_gpus
from gpuvet.catalog.instance_types import InstanceType, instance_type
from gpuvet.model.audit import Sight, Witness, WitnessRow
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage, Shipper, SourceCoverage
from gpuvet.model.evidence import Reason

_WHOLE_LOG = frozenset({Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL})


@dataclass(frozen=True, slots=True)
class WitnessEvidence:
    """What was read besides the nodes' own lines.

    Attributes:
        kernel_lines: Kernel lines ever, by stream (group, stream); a stream left out was not asked.
        nccl: NCCL lines by node; an empty key: of a job whose node is not told.
        efa: EFA series and readings by node.
        gpu: GPU activity series by node.
        gpu_measure: What these measure.
        unread: Why a kind of reading failed, where it did.
        many_nodes: The job spans several nodes, so that NCCL and EFA matter.
    """

    kernel_lines: Mapping[tuple[str | None, str | None], int] = field(
        default_factory=dict[tuple[str | None, str | None], int]
    )
    nccl: Mapping[str, int] = field(default_factory=dict[str, int])
    efa: Mapping[str, int] = field(default_factory=dict[str, int])
    gpu: Mapping[str, int] = field(default_factory=dict[str, int])
    gpu_measure: str = "GPU power"
    unread: Mapping[Witness, Reason] = field(default_factory=dict[Witness, Reason])
    many_nodes: bool = True


def witnesses_of(
    node: NodeEvidence, found: WitnessEvidence, *, is_hyperpod: bool, xid_events: int
) -> tuple[WitnessRow, ...]:
    """Return the state of every source of one node.

    Args:
        node: The node.
        found: What was read besides.
        is_hyperpod: Only HyperPod has a health agent.
        xid_events: Xid events in the hours asked for.
    """
    kind = instance_type(node.instance_type) if node.instance_type else None
    gpus = expected_gpus(node)
    if gpus == 0:
        return tuple(_row(w, Sight.NOT_APPLICABLE, "no GPU on this type") for w in Witness)
    return (
        _kernel(node.coverage, found),
        _xids(node.coverage, xid_events),
        _agent(node.coverage, is_hyperpod=is_hyperpod),
        _nccl(node.node, found),
        _fabric_manager(node, kind),
        _efa(node.node, kind, found),
        _gpu(node.node, gpus, found, is_hyperpod=is_hyperpod),
    )


def _row(
    what: Witness,
    state: Sight,
    because: str,
    count: int | None = None,
    evidence: tuple[str, ...] = (),
) -> WitnessRow:
    return WitnessRow(what=what, state=state, because=because, count=count, evidence=evidence)


def _kernel(coverage: NodeCoverage, found: WitnessEvidence) -> WitnessRow:
    carriers = [s for s in coverage.sources if s.source is not Shipper.HMA and s.stream]
    counts = [n for s in carriers if (n := found.kernel_lines.get((s.group, s.stream))) is not None]
    refs = tuple(s.evidence for s in carriers if s.evidence)
    if sum(counts):
        live = coverage.hours_measured
        words = f"{sum(counts)} kernel lines ever; live in {live} of {coverage.hours_asked} h"
        state = Sight.OBSERVABLE if live else Sight.NOT_OBSERVABLE
        return _row(Witness.KERNEL, state, words, sum(counts), refs)
    if coverage.live_hours:
        words = f"live in {coverage.hours_measured} of {coverage.hours_asked} h; ever: not counted"
        return _row(Witness.KERNEL, Sight.OBSERVABLE, words, None, refs)
    if counts:
        return _row(Witness.KERNEL, Sight.NOT_OBSERVABLE, "no kernel line ever", 0, refs)
    if coverage.gate is Gate.MEASURED:
        return _row(Witness.KERNEL, Sight.OBSERVABLE, "covered as the case states it")
    return _row(Witness.KERNEL, Sight.NOT_OBSERVABLE, _worst(carriers), None, refs)


def _worst(sources: Sequence[SourceCoverage]) -> str:
    reasons = dict.fromkeys(s.reason for s in sources if s.reason)
    return "; ".join(reasons) or "no stream carries this node's kernel log"


def _xids(coverage: NodeCoverage, events: int) -> WitnessRow:
    live, asked = coverage.hours_measured, coverage.hours_asked
    if coverage.gate is Gate.MEASURED and not live:
        return _row(Witness.XIDS, Sight.OBSERVABLE, "hours as the case states them", events)
    if not live:
        told = "seen all the same" if events else "no hour was covered"
        return _row(Witness.XIDS, Sight.NOT_OBSERVABLE, told, events or None)
    return _row(Witness.XIDS, Sight.OBSERVABLE, f"{events} in {live} of {asked} h", events)


def _agent(coverage: NodeCoverage, *, is_hyperpod: bool) -> WitnessRow:
    own = next((s for s in coverage.sources if s.source is Shipper.HMA), None)
    if own is None:
        if not is_hyperpod:
            return _row(Witness.AGENT, Sight.NOT_APPLICABLE, "no HyperPod node")
        return _row(Witness.AGENT, Sight.NOT_OBSERVABLE, "its log group was not found")
    refs = (own.evidence,) if own.evidence else ()
    where = f"{own.group or 'no group'}, {own.stream or 'no stream of this node'}"
    match own.status:
        case CoverageStatus.DETECTIONS:
            words = f"{own.detections or 0} detections in the window; {where}"
            return _row(Witness.AGENT, Sight.OBSERVABLE, words, own.detections or 0, refs)
        case CoverageStatus.NO_HMA_DETECTIONS:
            return _row(Witness.AGENT, Sight.OBSERVABLE, f"no detection; group live: {where}", 0)
        case CoverageStatus.NOT_APPLICABLE:
            return _row(Witness.AGENT, Sight.NOT_APPLICABLE, own.reason or "no accelerator")
        case _:
            why = own.reason or own.status.value
            return _row(Witness.AGENT, Sight.NOT_OBSERVABLE, f"{why}; {where}", None, refs)


def _nccl(node: str, found: WitnessEvidence) -> WitnessRow:
    own, anybody = found.nccl.get(node, 0), found.nccl.get("", 0)
    if own:
        return _row(Witness.NCCL, Sight.OBSERVABLE, f"{own} lines", own)
    if anybody:
        words = f"{anybody} lines of the job; which node wrote them is not told"
        return _row(Witness.NCCL, Sight.OBSERVABLE, words, anybody)
    if not found.many_nodes:
        return _row(Witness.NCCL, Sight.NOT_APPLICABLE, "one node: nothing between nodes")
    return _unread(Witness.NCCL, found, "no NCCL line of this node was found")


def _unread(what: Witness, found: WitnessEvidence, otherwise: str) -> WitnessRow:
    reason = found.unread.get(what)
    words = f"not read: {reason.value}" if reason is not None else otherwise
    return _row(what, Sight.NOT_OBSERVABLE, words)


def _fabric_manager(node: NodeEvidence, kind: InstanceType | None) -> WitnessRow:
    lines = node.records.fabric_manager
    if kind is not None and not kind.nvswitch:
        return _row(Witness.FABRIC_MANAGER, Sight.NOT_APPLICABLE, f"{kind.name} has no NVSwitch")
    if lines:
        refs = tuple(dict.fromkeys(line.evidence for line in lines[:3]))
        words = f"{len(lines)} lines, last: {lines[-1].state.value.replace('_', ' ')}"
        return _row(Witness.FABRIC_MANAGER, Sight.OBSERVABLE, words, len(lines), refs)
    whole = [s for s in node.coverage.sources if s.source in _WHOLE_LOG and s.live_hours]
    if whole:
        hours = max(s.hours_measured for s in whole)
        words = f"none in {hours} h of the host's whole log; it writes at start and on failure"
        return _row(Witness.FABRIC_MANAGER, Sight.OBSERVABLE, words, 0)
    return _row(
        Witness.FABRIC_MANAGER, Sight.NOT_OBSERVABLE, "no log of the node's services was seen"
    )


def _efa(node: str, kind: InstanceType | None, found: WitnessEvidence) -> WitnessRow:
    if kind is not None and not kind.max_efa and kind.max_efa is not None:
        return _row(Witness.EFA, Sight.NOT_APPLICABLE, f"{kind.name} has no EFA")
    own = found.efa.get(node, 0)
    if own:
        return _row(Witness.EFA, Sight.OBSERVABLE, f"{own} counters published", own)
    return _unread(Witness.EFA, found, "no EFA counter is published for this node")


_IN_PROMETHEUS = (
    "no GPU activity of this node in CloudWatch, where HyperPod publishes none; Managed "
    "Prometheus may have it"
)


def _gpu(node: str, gpus: int | None, found: WitnessEvidence, *, is_hyperpod: bool) -> WitnessRow:
    own = found.gpu.get(node, 0)
    if own:
        of = f" of {gpus}" if gpus else ""
        return _row(
            Witness.GPU_ACTIVITY,
            Sight.OBSERVABLE,
            f"{found.gpu_measure.removeprefix('GPU ')} of {own}{of} GPUs",
            own,
        )
    nothing = _IN_PROMETHEUS if is_hyperpod else "no GPU activity is published for this node"
    return _unread(Witness.GPU_ACTIVITY, found, nothing)
