"""Events that follow from another one and so can be no cause (xid_rules §4)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gpuvet.calculators.boots import NodeClock, microseconds
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.link_lines import leads_to_reset, points_elsewhere
from gpuvet.calculators.finding import US
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.events import SxidEvent

# Windows of xid_rules §4 in seconds; ours unless a source is named there.
TEARDOWN_AFTER = 300
SHUTDOWN_BEFORE = 60
GSP_AFTER_LOSS = 300
LINK_BEFORE, LINK_AFTER = 60, 30
SWITCH_AFTER_LOSS = 60
FAULT_AFTER_LOSS = 30
POISON_AFTER_DBE = 60

_TEARDOWN = frozenset({43, 45})
_NEVER_A_CAUSE_OF_TEARDOWN = frozenset({43, 45, 154, 171, 172})
_LINK_CODES = frozenset({74, *range(144, 151)})
_TAKES_LINKS_DOWN = (79, 46, 62, 95, 110, 119, 140, 143, 158)
_TAKES_MEMORY_DOWN = (48, 95, 79, 140)
GPU_LOST = 79


def put_aside(
    occurrences: Sequence[Occurrence], node: NodeEvidence, clock: NodeClock
) -> dict[int, str]:
    """Return, by index, the events that are consequences, each with what it follows."""
    by_code: dict[int, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        by_code[occurrence.code].append(occurrence)
    downs = _going_down(node, clock)
    switch_faults = _fatal_switch_faults(node.records.sxids, clock)
    aside: dict[int, str] = {}
    teardown: list[tuple[int, Occurrence]] = []
    for index, occurrence in enumerate(occurrences):
        if occurrence.code in _TEARDOWN:
            teardown.append((index, occurrence))
            continue
        reason = _follows(occurrence, by_code, switch_faults)
        if reason is not None:
            aside[index] = reason
    set_aside = {id(occurrences[i]) for i in aside}
    causes = [
        o
        for o in occurrences
        if o.code not in _NEVER_A_CAUSE_OF_TEARDOWN and id(o) not in set_aside
    ]
    for index, occurrence in teardown:
        reason = _torn_down_by(occurrence, causes, downs)
        if reason is not None:
            aside[index] = reason
    return aside


def _follows(
    occurrence: Occurrence,
    by_code: dict[int, list[Occurrence]],
    switch_faults: Sequence[tuple[int, int]],
) -> str | None:
    code = occurrence.code
    if code in {119, 120}:
        return _after(occurrence, by_code, (GPU_LOST,), GSP_AFTER_LOSS)
    if code in {13, 31}:
        return _after(occurrence, by_code, _TAKES_MEMORY_DOWN, FAULT_AFTER_LOSS)
    if code in _LINK_CODES:
        return _link_follows(occurrence, by_code, switch_faults)
    return None


def _after(
    occurrence: Occurrence,
    by_code: dict[int, list[Occurrence]],
    causes: Iterable[int],
    seconds: int,
) -> str | None:
    """Find a cause on the same PCI id no more than `seconds` before."""
    for code in causes:
        for cause in by_code.get(code, ()):
            distance = occurrence.start_us - cause.start_us
            same_place = cause.pci == occurrence.pci and cause.boot == occurrence.boot
            if same_place and 0 <= distance <= seconds * US:
                return f"Xid {code} on the same GPU {distance / US:.0f} s before"
    return None


def _link_follows(
    occurrence: Occurrence,
    by_code: dict[int, list[Occurrence]],
    switch_faults: Sequence[tuple[int, int]],
) -> str | None:
    if occurrence.code != 74 and not points_elsewhere(occurrence):
        return None
    others = [o for code in _TAKES_LINKS_DOWN for o in by_code.get(code, ())]
    others += [
        o for code in range(144, 151) for o in by_code.get(code, ()) if leads_to_reset(o)
    ]
    for other in others:
        if other.pci == occurrence.pci or other.boot != occurrence.boot:
            continue
        distance = occurrence.start_us - other.start_us
        if -LINK_AFTER * US <= distance <= LINK_BEFORE * US:
            return f"Xid {other.code} on {other.pci or 'another GPU'}, the other end of the link"
    for boot, position in switch_faults:
        distance = occurrence.start_us - position
        if boot == occurrence.boot and -LINK_AFTER * US <= distance <= LINK_BEFORE * US:
            return "a fatal SXid of the NVSwitch"
    return None


def _torn_down_by(
    occurrence: Occurrence, causes: Sequence[Occurrence], downs: Sequence[tuple[int, int]]
) -> str | None:
    roots = {e.root for e in occurrence.lines if e.root is not None}
    for cause in causes:
        if cause.boot != occurrence.boot:
            continue
        distance = occurrence.start_us - cause.start_us
        if cause.code in roots and distance >= 0:
            return f"Xid {cause.code}, which it names itself"
        if not roots and 0 <= distance <= TEARDOWN_AFTER * US:
            return f"Xid {cause.code} {distance / US:.0f} s before"
    for boot, position in downs:
        if boot == occurrence.boot and occurrence.start_us >= position - SHUTDOWN_BEFORE * US:
            return "the node's own shutdown"
    return None


def _going_down(node: NodeEvidence, clock: NodeClock) -> list[tuple[int, int]]:
    """Return (boot, position) of every sign that the node was going down."""
    downs: list[tuple[int, int]] = []
    for record in node.records.shutdowns:
        boot = clock.boot_of(record)
        downs.append((boot, clock.position(record, boot)))
    if node.left_at is not None:
        left_us = microseconds(node.left_at)
        downs.append((sum(1 for s in clock.start_us if s <= left_us), left_us))
    return downs


def _fatal_switch_faults(
    sxids: Iterable[SxidEvent], clock: NodeClock
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for event in sxids:
        if event.fatal:
            boot = clock.boot_of(event)
            found.append((boot, clock.position(event, boot)))
    return found


def switch_follows_loss(
    position: int, boot: int, occurrences: Iterable[Occurrence]
) -> Occurrence | None:
    """Return the lost GPU that explains a fatal SXid, if one lies 0 to 60 s before it."""
    for occurrence in occurrences:
        if occurrence.code != GPU_LOST or occurrence.boot != boot:
            continue
        if 0 <= position - occurrence.start_us <= SWITCH_AFTER_LOSS * US:
            return occurrence
    return None


def poison_travelled(occurrence: Occurrence, dbes: Iterable[Occurrence]) -> Occurrence | None:
    """Return the 48 of another GPU whose poison a 94 may have consumed."""
    for dbe in dbes:
        if dbe.pci == occurrence.pci or dbe.boot != occurrence.boot:
            continue
        if 0 <= occurrence.start_us - dbe.start_us <= POISON_AFTER_DBE * US:
            return dbe
    return None
