"""Uncorrectable memory errors: which memory, and what that calls for (xid_rules §6, §7)."""

from collections.abc import Iterator
from dataclasses import replace

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, described, ground_of
from gpuvet.calculators.recurrence import OPEN_CHECK, Recurrence, Recurs, recurrence, same_gpu
from gpuvet.calculators.sympathy import poison_travelled
from gpuvet.model.cluster import Flag, GpuFacts
from gpuvet.model.verdict import FaultClass, Ground, Verdict
from gpuvet.parse.xid_text import Memory, containment, ecc_counts, is_pending_remap, memory

# xid_rules §7: look this far either side on the same PCI id.
PARTNER_SECONDS = 60

_LOCATES_DRAM = (171, 63, 64)
_LOCATES_SRAM = 172
_ECC_DRAM = (48, 171)
_RULE = "xid_rules §7"
_SRAM_CHECK = "SRAM Threshold Exceeded (nvidia-smi -q -d ECC, section Aggregate)"
_WHICH_CHECK = (
    "which memory: Xid 171 or 172 beside it, or nvidia-smi -q -d ECC: DRAM Uncorrectable or SRAM "
    "Uncorrectable, and SRAM Threshold Exceeded, section Aggregate"
)
# The first driver branch that prints 171 and 172 (xid_catalog: CUDA 12.7/R565).
_LOCATES_SINCE = 565


def uncorrectable(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 48, and 140 with its counts: find the memory first."""
    memories, companions = _memories(view, occurrence)
    gpu = view.gpu(occurrence.pci)
    judged = [
        _dram(view, occurrence, gpu) if place is Memory.DRAM else _sram(view, occurrence, gpu)
        for place in sorted(memories)
    ] or [_unknown(view, occurrence)]
    chosen = min(judged, key=lambda f: f.rank)
    contradictions = chosen.contradictions
    if len(judged) > 1:
        contradictions += (
            (
                f"Xid {occurrence.code} on {occurrence.pci}: lines name both DRAM and SRAM; "
                "the stronger verdict is taken"
            ),
        )
    yield replace(
        chosen,
        companions=(*chosen.companions, *companions),
        contradictions=contradictions,
        provisional=chosen.provisional or occurrence.inferred,
    )


def _memories(
    view: NodeView, occurrence: Occurrence
) -> tuple[frozenset[Memory], tuple[Ground, ...]]:
    """Return the memories named on this PCI id around the event, and the lines that name them."""
    found: set[Memory] = set()
    for line in occurrence.lines:
        found |= _counted(line.text) if occurrence.code == 140 else _named(line.text)
    grounds: list[Ground] = []
    for other in view.near(occurrence, (*_LOCATES_DRAM, _LOCATES_SRAM), seconds=PARTNER_SECONDS):
        place = Memory.SRAM if other.code == _LOCATES_SRAM else Memory.DRAM
        found.add(place)
        what = f"Xid {other.code} places the error in {place}"
        grounds.append(ground_of(other.first, what, pci=other.pci, occurrence=other))
    return frozenset(found), tuple(grounds)


def _named(text: str) -> set[Memory]:
    match memory(text):
        case Memory.BOTH:
            return {Memory.DRAM, Memory.SRAM}
        case Memory.UNKNOWN:
            return set()
        case one:
            return {one}


def _counted(text: str) -> set[Memory]:
    """Return the memories whose count in a 140 is above zero."""
    counts = ecc_counts(text)
    if counts is None:
        return set()
    found = {Memory.DRAM} if counts.dram else set[Memory]()
    return found | ({Memory.SRAM} if counts.ltc or counts.mmu or counts.pcie else set[Memory]())


def _again(view: NodeView, occurrence: Occurrence, place: Memory) -> Recurrence:
    """A new 48 in DRAM on the same GPU recurs even at another address."""
    family = _ECC_DRAM if place is Memory.DRAM and occurrence.code == 48 else (occurrence.code,)

    def same(earlier: Occurrence, later: Occurrence) -> bool:
        memories = _memories(view, earlier)[0]
        return same_gpu(earlier, later) and (place in memories or not memories)

    return recurrence(view, occurrence, family=family, same=same)


def _finding(
    occurrence: Occurrence,
    verdict: Verdict,
    what: str,
    again: Recurrence | None = None,
    *,
    open_replace: bool = False,
    open_check: str | None = None,
    notes: tuple[str, ...] = (),
    contradictions: tuple[str, ...] = (),
) -> Finding:
    unknown = again is not None and again.recurs is Recurs.UNKNOWN and verdict is Verdict.REBOOT
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.HARDWARE,
        what=f"{described(occurrence)}: {what}",
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        open_replace=open_replace,
        minimum_action=Verdict.REBOOT if open_replace else None,
        open_check=open_check or (OPEN_CHECK if unknown else None),
        provisional=unknown,
        companions=_earlier(again),
        notes=(*notes, *(again.notes if again else ())),
        contradictions=contradictions,
    )


def _earlier(again: Recurrence | None) -> tuple[Ground, ...]:
    if again is None or again.earlier is None:
        return ()
    other = again.earlier
    what = f"{described(other)}, before the last reboot"
    return (ground_of(other.first, what, pci=other.pci, occurrence=other),)


def _dram(view: NodeView, occurrence: Occurrence, gpu: GpuFacts | None) -> Finding:
    if gpu and gpu.remap_failed is Flag.YES:
        return _finding(occurrence, Verdict.REPLACE, "DRAM, and the remapping failed")
    if gpu and gpu.unrepairable_memory is Flag.YES:
        return _finding(occurrence, Verdict.REPLACE, "DRAM, and its memory is unrepairable")
    if any(_is_final(o) for o in view.near(occurrence, (64,), seconds=PARTNER_SECONDS)):
        return _finding(occurrence, Verdict.REPLACE, "DRAM, and the row remap failed for good")
    again = _again(view, occurrence, Memory.DRAM)
    if again.recurs is Recurs.YES:
        return _finding(occurrence, Verdict.REPLACE, "DRAM again after a reboot", again)
    staged = any(True for _ in view.near(occurrence, (63,), seconds=PARTNER_SECONDS))
    contradictions: tuple[str, ...] = ()
    if gpu and gpu.remap_pending is Flag.NO and not staged:
        contradictions = (
            (
                f"Xid {occurrence.code} in DRAM on {occurrence.pci}, but no remap is pending and no "
                "Xid 63 stands beside it: nothing was staged, expect it again"
            ),
        )
    retires = occurrence.code != 140
    notes: tuple[str, ...] = ()
    if not retires:
        notes = ("140 retires nothing: a reboot does not cure the row",)
    return _finding(
        occurrence, Verdict.REBOOT, "DRAM", again, notes=notes, contradictions=contradictions
    )


def _is_final(occurrence: Occurrence) -> bool:
    return any(not is_pending_remap(line.text) for line in occurrence.lines)


def _sram(view: NodeView, occurrence: Occurrence, gpu: GpuFacts | None) -> Finding:
    flag = gpu.sram_threshold_exceeded if gpu else Flag.NOT_READ
    if flag is Flag.YES:
        return _finding(occurrence, Verdict.REPLACE, "SRAM, threshold exceeded")
    if flag is Flag.NO:
        again = _again(view, occurrence, Memory.SRAM)
        if again.recurs is Recurs.YES:
            return _finding(occurrence, Verdict.REPLACE, "SRAM again after a reboot", again)
        return _finding(occurrence, Verdict.REBOOT, "SRAM, threshold not exceeded", again)
    return _finding(
        occurrence,
        Verdict.UNVERIFIED,
        "SRAM, threshold flag not read",
        open_replace=True,
        open_check=_SRAM_CHECK,
        notes=("aggregate counters survive a reboot, so rebooting first loses nothing",),
    )


def _unknown(view: NodeView, occurrence: Occurrence) -> Finding:
    notes: tuple[str, ...] = ("the lines do not name the memory",)
    branch = _branch(view.node.driver_version)
    if branch is not None and branch < _LOCATES_SINCE:
        notes += (
            (
                f"driver {view.node.driver_version} is older than R{_LOCATES_SINCE}: "
                "a missing 171 or 172 says nothing"
            ),
        )
    return _finding(
        occurrence,
        Verdict.UNVERIFIED,
        "memory not named",
        open_replace=True,
        open_check=_WHICH_CHECK,
        notes=notes,
    )


def _branch(version: str | None) -> int | None:
    head = (version or "").split(".", 1)[0]
    return int(head) if head.isdigit() else None


def row_marked(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 63: staged repair; with a 48 beside it or a pending remap it needs the reboot."""
    gpu = view.gpu(occurrence.pci)
    pending = gpu is not None and gpu.remap_pending is Flag.YES
    beside = bool(view.near(occurrence, (48,), seconds=PARTNER_SECONDS))
    yield Finding(
        verdict=Verdict.REBOOT if pending or beside else Verdict.MONITOR,
        fault_class=FaultClass.INFORMATIONAL,
        what=f"{described(occurrence)}: row marked for remapping"
        + ("; remap pending" if pending else ""),
        rule="xid_rules §6",
        occurrence=occurrence,
        pci=occurrence.pci,
        is_qualifier=beside,
    )


def remap_failed(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 64: read the text; only the pending forms are cured by a reboot."""
    gpu = view.gpu(occurrence.pci)
    failed = gpu is not None and gpu.remap_failed is Flag.YES
    final = _is_final(occurrence)
    contradictions: tuple[str, ...] = ()
    read_no = gpu is not None and gpu.remap_failed is Flag.NO
    if final and read_no:
        contradictions = (
            (
                f"final Xid 64 on {occurrence.pci}, but Remapping Failure Occurred: No was read: "
                "the line stands"
            ),
        )
    yield Finding(
        verdict=Verdict.REPLACE if final or failed else Verdict.REBOOT,
        fault_class=FaultClass.HARDWARE,
        what=f"{described(occurrence)}: "
        + ("remap failed for good" if final or failed else "already pending, done at the reset"),
        rule="xid_rules §6",
        occurrence=occurrence,
        pci=occurrence.pci,
        provisional=final and read_no,
        contradictions=contradictions,
    )


def contained(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 94: its RST and D-RST flags decide; poison may come from another GPU."""
    flags = [c for line in occurrence.lines if (c := containment(line.text)) is not None]
    reset = any(c.reset for c in flags)
    drain = any(c.drain_and_reset for c in flags)
    origin = poison_travelled(occurrence, view.of(48))
    notes: tuple[str, ...] = ()
    if origin is not None:
        notes = (f"poison may come from Xid 48 on {origin.pci}",)
    elif not (reset or drain):
        notes = ("restart the one application; reset the GPU when convenient",)
    if drain and not reset:
        notes += ("reboot after draining the node",)
    verdict = Verdict.REBOOT if (reset or drain) and origin is None else Verdict.MONITOR
    mig = occurrence.first.gpu_instance
    yield Finding(
        verdict=verdict,
        fault_class=FaultClass.HARDWARE,
        what=f"{described(occurrence)}: contained" + (f", GPU instance {mig}" if mig else ""),
        rule="xid_rules §6",
        occurrence=occurrence,
        pci=occurrence.pci,
        notes=notes,
    )
