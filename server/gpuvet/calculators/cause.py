"""Which event is put down as the cause, and the order of findings (verdict-rules §1, §2, §4)."""

from collections.abc import Sequence
from typing import NamedTuple

from gpuvet.calculators.boots import microseconds
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import US, Finding, NodeView, class_of, described, ground_of
from gpuvet.calculators.hours import HOUR
from gpuvet.calculators.rules_action import asks_for_reset
from gpuvet.model.verdict import FaultClass, Ground, Verdict

# verdict-rules §4: a hardware event this soon after a program's own beats it; ours.
HARDWARE_BEATS_US = 300 * US

_NEVER_THE_CAUSE = frozenset({FaultClass.INFORMATIONAL, FaultClass.QUALIFIER})


class Cause(NamedTuple):
    """The event that is put down as the cause."""

    ground: Ground
    fault_class: FaultClass


def in_order(view: NodeView, found: Sequence[Finding]) -> list[Finding]:
    """Return findings by rank, then events before facts, then time: a total order."""
    hardware = any(
        f.fault_class is FaultClass.HARDWARE and f.verdict is not Verdict.LEAVE_ALONE
        for f in found
        if f.occurrence is not None
    )
    return sorted(found, key=lambda f: _precedence(view, f, hardware=hardware))


def _precedence(
    view: NodeView, finding: Finding, *, hardware: bool
) -> tuple[int, bool, bool, int, int, str, str]:
    # A code in no list never outranks a known hardware verdict (verdict-rules §6).
    rank = 9 if finding.is_unlisted and hardware else finding.rank
    pci, what, occurrence = finding.pci or "", finding.what, finding.occurrence
    if occurrence is not None:
        late = occurrence.is_ingest_only
        return (rank, finding.is_qualifier, late, occurrence.boot, occurrence.start_us, pci, what)
    if finding.record is None:
        return (rank, True, True, 0, 0, pci, what)
    boot, position = view.clock.place(finding.record)
    return (rank, not finding.is_event, False, boot, position, pci, what)


def cause_of(view: NodeView, strongest: Finding | None) -> Cause | None:
    """Return the event that sets the verdict, else the earliest candidate before the failure.

    An event after the failure keeps its verdict, but is not the cause.
    """
    if strongest is None:
        return None
    if strongest.is_cause and not is_after_failure(view, strongest):
        return Cause(strongest.ground, strongest.fault_class)
    candidates = _candidates(view)
    if not candidates:
        return None
    first = _hardware_first(view, candidates)
    ground = ground_of(first.first, described(first), pci=first.pci, occurrence=first)
    return Cause(ground, class_of(first.code))


def is_after_failure(view: NodeView, finding: Finding) -> bool:
    """Say whether an event lies too late to have caused the failure."""
    latest, at = view.incident.latest_cause, finding.happened_at
    return finding.is_cause and latest is not None and at is not None and at > latest


def _candidates(view: NodeView) -> list[Occurrence]:
    """Return what may be the cause, first what the window holds, in order.

    Events of hardware that was gone before the failure are none; a time that only the shipper
    gives decides no order, so such events stand last.
    """
    latest = view.incident.latest_cause
    then = view.incident.failure_at or view.incident.now
    found = [
        o
        for o in view.kept
        if class_of(o.code) not in _NEVER_THE_CAUSE
        and (latest is None or (at := o.at) is None or at <= latest)
        and o.epoch >= _epoch_at(view, o, microseconds(then))
    ]
    since = view.incident.window.start - HOUR
    inside = [o for o in found if (at := o.at) is None or at >= since]
    return sorted(inside or found, key=lambda o: o.is_ingest_only)


def _epoch_at(view: NodeView, occurrence: Occurrence, at_us: int) -> int:
    return view.clock.epoch_of(occurrence.pci, view.clock.boot_at(at_us), at_us)


def _hardware_first(view: NodeView, candidates: Sequence[Occurrence]) -> Occurrence:
    """Let a hardware event beat a program's own just before it on the same GPU."""
    first = candidates[0]
    if class_of(first.code) is not FaultClass.APPLICATION:
        return first
    for other in candidates:
        same_gpu = other.pci == first.pci and other.boot == first.boot
        if not same_gpu or class_of(other.code) is not FaultClass.HARDWARE:
            continue
        soon = other.start_us - first.end_us <= HARDWARE_BEATS_US
        if soon or asks_for_reset(view, other):
            return other
    return first
