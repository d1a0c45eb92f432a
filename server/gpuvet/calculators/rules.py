"""Which rule judges which Xid: the dispatch of verdict-rules §6 to §10."""

from collections.abc import Callable, Iterator, Mapping

from gpuvet.calculators import (
    rules_gsp,
    rules_link,
    rules_memory,
    rules_process,
    rules_repair,
)
from gpuvet.calculators.cross_node import APPLICATION_CODES, Shared
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, described
from gpuvet.calculators.hours import HOUR
from gpuvet.calculators.link_lines import SPEAKS_OF_NVLINK
from gpuvet.calculators.rules_action import recovery_findings
from gpuvet.model.events import Source
from gpuvet.model.verdict import FaultClass, Verdict

NodeRule = Callable[[NodeView, Occurrence], Iterator[Finding]]
SharedRule = Callable[[NodeView, Occurrence, Shared], Iterator[Finding]]

_BY_NODE: Mapping[int, NodeRule] = {
    48: rules_memory.uncorrectable,
    140: rules_memory.uncorrectable,
    63: rules_memory.row_marked,
    64: rules_memory.remap_failed,
    94: rules_memory.contained,
    74: rules_link.nvlink4,
    109: rules_process.context_switch,
    137: rules_link.illegal_peer_access,
    155: rules_link.software_defined,
    **dict.fromkeys(range(144, 151), rules_link.nvlink5),
    **dict.fromkeys((156, 160, 177), rules_repair.staged_repair),
    **dict.fromkeys((157, 161), rules_repair.no_spare_left),
}

_BY_CLUSTER: Mapping[int, SharedRule] = {
    13: rules_process.graphics_exception,
    31: rules_process.mmu,
    32: rules_process.pushbuffer,
    43: rules_process.reset_channel,
    45: rules_process.preempted,
    119: rules_gsp.silent_gsp,
    120: rules_gsp.silent_gsp,
}

# 154 is read per GPU and boot; 171 and 172 only place a 48.
_NEVER_ALONE = frozenset({154, 171, 172})


def event_findings(view: NodeView, shared: Shared) -> Iterator[Finding]:
    """Yield what the Xids of a node call for, consequences left out."""
    for occurrence in view.kept:
        if occurrence.code in _NEVER_ALONE:
            continue
        first = occurrence.first
        in_doubt = occurrence.inferred or first.source is Source.GPU_LOST or "NVLink:" in first.text
        for finding in _judge(view, occurrence, shared):
            yield _with_doubts(finding, occurrence) if in_doubt else finding
    if 154 in view.by_code:
        yield from recovery_findings(view)


def _judge(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    special = _out_of_place(view, occurrence)
    if special is not None:
        return iter((special,))
    code = occurrence.code
    if code in APPLICATION_CODES and view.node.node in shared.mass_application:
        return rules_process.on_many_nodes(view, occurrence)
    if code in _BY_CLUSTER:
        return _BY_CLUSTER[code](view, occurrence, shared)
    return _BY_NODE.get(code, rules_repair.by_catalog)(view, occurrence)


def _out_of_place(view: NodeView, occurrence: Occurrence) -> Finding | None:
    """Return the finding of an event that is not what or where it claims to be, or None."""
    if occurrence.first.source is not Source.KERNEL:
        by_others = _not_from_the_kernel(view, occurrence)
        if by_others is not None:
            return by_others
    if occurrence.code in view.foreign_codes:
        return rules_repair.wrong_architecture(view, occurrence)
    return rules_repair.foreign_gpu(view, occurrence) if view.known_gpus else None


def _with_doubts(finding: Finding, occurrence: Occurrence) -> Finding:
    """Mark what is inferred as provisional, and a text that its number contradicts."""
    if occurrence.inferred or occurrence.is_gpu_lost_only:
        finding = finding._replace(provisional=True)
    told = _told_otherwise(occurrence)
    if told is not None:
        finding = finding._replace(contradictions=(*finding.contradictions, told))
    return finding


def _told_otherwise(occurrence: Occurrence) -> str | None:
    if occurrence.code in SPEAKS_OF_NVLINK or "NVLink:" not in occurrence.text:
        return None
    return (
        f"Xid {occurrence.code} with the text of an NVLink error: the number gives the class, the "
        "platform's own condition the verdict; a published sample is known to be odd in this way"
    )


def _not_from_the_kernel(view: NodeView, occurrence: Occurrence) -> Finding | None:
    """Return the finding of an event that only user space or a condition tells of, or None."""
    if occurrence.sources == (Source.USER_SPACE.value,):
        return Finding(
            verdict=Verdict.LEAVE_ALONE,
            fault_class=FaultClass.INFORMATIONAL,
            what=f"{described(occurrence)}: written by a program, not the kernel: an injection or "
            "a copy",
            rule="the driver's log formats",
            occurrence=occurrence,
            pci=occurrence.pci,
            notes=("the health agent may still act on such a line",),
        )
    if _is_condition_alone(view, occurrence):
        return Finding(
            verdict=Verdict.UNVERIFIED,
            fault_class=FaultClass.UNKNOWN,
            what=f"{described(occurrence)}: a node condition alone, the measured kernel log has "
            "no such line",
            rule="verdict-rules §11",
            occurrence=occurrence,
            pci=occurrence.pci,
            minimum_action=Verdict.MONITOR,
            open_check="the kernel line behind the condition",
        )
    return None


def _is_condition_alone(view: NodeView, occurrence: Occurrence) -> bool:
    """Say whether a node condition names what the measured log of that time does not have."""
    if occurrence.sources != (Source.EKS_CONDITION.value,) or not view.is_measured:
        return False
    at = occurrence.at
    return at is None or view.incident.window.padded(HOUR, HOUR).holds(at)
