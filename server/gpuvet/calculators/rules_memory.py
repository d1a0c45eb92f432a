"""Uncorrectable memory errors: which memory, and what that calls for (verdict-rules §6, §7)."""

from collections.abc import Iterator
from functools import lru_cache

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, described, ground_of, row_of
from gpuvet.calculators.recurrence import (
    Outcome,
    Recurrence,
    Recurs,
    outcome,
    recurrence,
    same_gpu,
    settled,
)
from gpuvet.calculators.rules_repair import with_outcome
from gpuvet.calculators.sympathy import poison_travelled
from gpuvet.model.cluster import Flag, GpuFacts
from gpuvet.model.verdict import FaultClass, Ground, Verdict
from gpuvet.parse.xid_text import (
    Containment,
    Memory,
    containment,
    ecc_counts,
    is_pending_remap,
    memory,
)

# verdict-rules §7: look this far either side on the same PCI id.
PARTNER_SECONDS = 60

_LOCATES_DRAM = (171, 63, 64)
_LOCATES_SRAM = 172
_ECC_DRAM = (48, 171)
_RULE = "verdict-rules §7"
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
    if companions:
        chosen = chosen._replace(companions=(*chosen.companions, *companions))
    if len(judged) > 1:
        both = (
            f"Xid {occurrence.code} on {occurrence.pci}: lines name both DRAM and SRAM; "
            "the stronger verdict is taken"
        )
        chosen = chosen._replace(contradictions=(*chosen.contradictions, both))
    yield chosen


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


@lru_cache(maxsize=4096)
def _named(text: str) -> frozenset[Memory]:
    match memory(text):
        case Memory.BOTH:
            return frozenset({Memory.DRAM, Memory.SRAM})
        case Memory.UNKNOWN:
            return frozenset()
        case one:
            return frozenset({one})


def _counted(text: str) -> frozenset[Memory]:
    """Return the memories whose count in a 140 is above zero."""
    counts = ecc_counts(text)
    if counts is None:
        return frozenset()
    sram = counts.ltc or counts.mmu or counts.pcie
    places = ((Memory.DRAM, counts.dram), (Memory.SRAM, sram))
    return frozenset(place for place, number in places if number)


def _again(view: NodeView, occurrence: Occurrence, place: Memory) -> Recurrence:
    """A new 48 in DRAM on the same GPU recurs even at another address."""
    family = _ECC_DRAM if place is Memory.DRAM and occurrence.code == 48 else (occurrence.code,)

    def same(earlier: Occurrence, later: Occurrence) -> bool:
        if not same_gpu(earlier, later):
            return False
        memories = _memories(view, earlier)[0]
        return place in memories or not memories

    return recurrence(view, occurrence, family=family, same=same)


def _finding(
    occurrence: Occurrence,
    judged: Outcome,
    what: str,
    *,
    open_check: str | None = None,
    notes: tuple[str, ...] = (),
    contradictions: tuple[str, ...] = (),
) -> Finding:
    """Return a finding of hardware; UNVERIFIED leaves REPLACE open (verdict-rules §1)."""
    return with_outcome(
        judged,
        occurrence,
        what,
        rule=_RULE,
        fault_class=FaultClass.HARDWARE,
        minimum_action=Verdict.REBOOT,
        open_check=open_check,
        notes=notes,
        contradictions=contradictions,
        open_replace=True,
    )


_FINAL = Outcome(Verdict.REPLACE)


def _dram(view: NodeView, occurrence: Occurrence, gpu: GpuFacts | None) -> Finding:
    if gpu and gpu.remap_failed is Flag.YES:
        return _finding(occurrence, _FINAL, "DRAM, and the remapping failed")
    if gpu and gpu.unrepairable_memory is Flag.YES:
        return _finding(occurrence, _FINAL, "DRAM, and its memory is unrepairable")
    if any(_is_final(o) for o in view.near(occurrence, (64,), seconds=PARTNER_SECONDS)):
        return _finding(occurrence, _FINAL, "DRAM, and the row remap failed for good")
    again = _again(view, occurrence, Memory.DRAM)
    judged = settled(again, Verdict.REBOOT, Verdict.REPLACE)
    if judged.verdict is Verdict.REPLACE:
        return _finding(occurrence, judged, "DRAM again after a reboot")
    if occurrence.code != 48:
        note = "140 retires nothing: a reboot does not cure the row"
        return _finding(occurrence, judged, "DRAM", notes=(note,))
    contradictions: tuple[str, ...] = ()
    staged = view.near(occurrence, (63,), seconds=PARTNER_SECONDS)
    if gpu and gpu.remap_pending is Flag.NO and not staged:
        contradictions = (
            (
                f"Xid 48 in DRAM on {occurrence.pci}, but no remap is pending and no Xid 63 "
                "stands beside it: nothing was staged, expect it again"
            ),
        )
    return _finding(occurrence, judged, "DRAM", contradictions=contradictions)


def _is_final(occurrence: Occurrence) -> bool:
    return any(not is_pending_remap(line.text) for line in occurrence.lines)


def _sram(view: NodeView, occurrence: Occurrence, gpu: GpuFacts | None) -> Finding:
    flag = gpu.sram_threshold_exceeded if gpu else Flag.NOT_READ
    if flag is Flag.YES:
        return _finding(occurrence, _FINAL, "SRAM, threshold exceeded")
    again = _again(view, occurrence, Memory.SRAM)
    # Whatever the flag says, a recurrence is a REPLACE.
    if flag is Flag.NO or again.recurs is Recurs.YES:
        judged = settled(again, Verdict.REBOOT, Verdict.REPLACE)
        recurs = judged.verdict is Verdict.REPLACE
        what = "SRAM again after a reboot" if recurs else "SRAM, threshold not exceeded"
        return _finding(occurrence, judged, what)
    return _finding(
        occurrence,
        Outcome(Verdict.UNVERIFIED),
        "SRAM, threshold flag not read",
        open_check=_SRAM_CHECK,
        notes=("aggregate counters survive a reboot, so rebooting first loses nothing",),
    )


def _unknown(view: NodeView, occurrence: Occurrence) -> Finding:
    notes = ["the lines do not name the memory"]
    branch = _branch(view.node.driver_version)
    if branch is not None and branch < _LOCATES_SINCE:
        notes.append(
            f"driver {view.node.driver_version} is older than R{_LOCATES_SINCE}: "
            "a missing 171 or 172 says nothing"
        )
    if recurrence(view, occurrence).recurs is Recurs.YES:
        notes.append("the second uncorrectable error on this GPU with a reboot in between")
    return _finding(
        occurrence,
        Outcome(Verdict.UNVERIFIED),
        "memory not named",
        open_check=_WHICH_CHECK,
        notes=tuple(notes),
    )


def _branch(version: str | None) -> int | None:
    head = (version or "").split(".", 1)[0]
    return int(head) if head.isdigit() else None


def row_marked(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 63: staged repair; with a 48 beside it or a pending remap it needs the reboot.

    It never names a cause alone.
    """
    gpu = view.gpu(occurrence.pci)
    pending = gpu is not None and gpu.remap_pending is Flag.YES
    beside = bool(view.near(occurrence, (48,), seconds=PARTNER_SECONDS))
    row = row_of(occurrence.code)
    then = row.on_recurrence if row is not None else Verdict.MONITOR
    judged = (
        Outcome(Verdict.REBOOT)
        if pending or beside
        else outcome(view, occurrence, Verdict.MONITOR, then)
    )
    yield with_outcome(
        judged,
        occurrence,
        "row marked for remapping" + ("; remap pending" if pending else ""),
        open_check="whether rows keep failing: the remap histogram (nvidia-smi -q -d ROW_REMAPPER)",
        is_qualifier=True,
    )


def remap_failed(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 64: read the text; only the pending forms are cured by a reboot."""
    gpu = view.gpu(occurrence.pci)
    failed = gpu is not None and gpu.remap_failed is Flag.YES
    final = _is_final(occurrence)
    if not (final or failed):
        judged = outcome(view, occurrence, Verdict.REBOOT, Verdict.REPLACE)
        yield with_outcome(judged, occurrence, "already pending, done at the reset")
        return
    found = with_outcome(_FINAL, occurrence, "remap failed for good")
    if final and gpu is not None and gpu.remap_failed is Flag.NO and _read_after(gpu, occurrence):
        told = (
            f"final Xid 64 on {occurrence.pci}, but Remapping Failure Occurred: No was read "
            "afterwards: the line stands"
        )
        found = found._replace(provisional=True, contradictions=(told,))
    yield found


def _read_after(gpu: GpuFacts, occurrence: Occurrence) -> bool:
    at = occurrence.at
    return gpu.read_at is None or at is None or gpu.read_at >= at


@lru_cache(maxsize=1024)
def _containment(text: str) -> Containment | None:
    return containment(text)


def contained(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 94: its RST and D-RST flags decide; poison may come from another GPU."""
    flags = [c for line in occurrence.lines if (c := _containment(line.text)) is not None]
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
        rule="verdict-rules §6",
        occurrence=occurrence,
        pci=occurrence.pci,
        is_qualifier=origin is not None,
        notes=notes,
    )
