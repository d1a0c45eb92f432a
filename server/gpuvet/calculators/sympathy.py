"""Events that follow from another one and so can be no cause (xid_rules §4).

Which follows which, and within how many seconds, is `catalog/consequences.csv`; here stands how a
row is read.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from gpuvet.calculators.boots import NodeClock, microseconds
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.link_lines import (
    drops_a_link,
    is_remap_echo,
    leads_to_reset,
    points_elsewhere,
)
from gpuvet.catalog.consequences import CauseKind, Consequence, Scope, consequences, follows_from
from gpuvet.catalog.kinds import CodeKind
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.events import SxidEvent

_US = 1_000_000
_TEARDOWN = frozenset({43, 45})

# Conditions of the table that take code to read; a row without one holds for every event.
_EFFECT: Mapping[str, Callable[[Occurrence], bool]] = {
    "nvlink5-after-peer": points_elsewhere,
    "nvlink5-after-peer-link": points_elsewhere,
    "nvlink5-after-switch": points_elsewhere,
    "remap-after-link-drop": is_remap_echo,
}
_CAUSE: Mapping[str, Callable[[Occurrence], bool]] = {
    "nvlink-after-peer-link": leads_to_reset,
    "nvlink5-after-peer-link": leads_to_reset,
    "remap-after-link-drop": drops_a_link,
}


@cache
def _rows(code: int) -> tuple[Consequence, ...]:
    """Return the rows that put an Xid aside; a row with a verdict of its own keeps the event."""
    return tuple(row for row in follows_from(CodeKind.XID, code) if row.verdict is None)


@cache
def _row(rule: str) -> Consequence:
    return next(row for row in consequences() if row.rule == rule)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What else happened on the node, for the rows to look up."""

    by_code: Mapping[int, Sequence[Occurrence]]
    fatal_switch: Sequence[tuple[int, int]]  # (boot, position)
    going_down: Sequence[tuple[int, int]]
    causes: Sequence[Occurrence]  # events that are no consequence themselves


def put_aside(
    occurrences: Sequence[Occurrence], node: NodeEvidence, clock: NodeClock
) -> dict[int, str]:
    """Return, by index, the events that are consequences, each with what it follows."""
    by_code: dict[int, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        by_code[occurrence.code].append(occurrence)
    around = _Surroundings(
        by_code=by_code,
        fatal_switch=_fatal_switch_faults(node.records.sxids, clock),
        going_down=_going_down(node, clock),
        causes=(),
    )
    aside: dict[int, str] = {}
    for index, occurrence in enumerate(occurrences):
        if occurrence.code not in _TEARDOWN and (reason := _follows(occurrence, around)):
            aside[index] = reason
    # A teardown follows only what is no consequence itself.
    around = _Surroundings(
        by_code=by_code,
        fatal_switch=around.fatal_switch,
        going_down=around.going_down,
        causes=[o for i, o in enumerate(occurrences) if i not in aside],
    )
    for index, occurrence in enumerate(occurrences):
        if occurrence.code in _TEARDOWN and (reason := _torn_down_by(occurrence, around)):
            aside[index] = reason
    return aside


def _follows(occurrence: Occurrence, around: _Surroundings) -> str | None:
    for row in _rows(occurrence.code):
        condition = _EFFECT.get(row.rule)
        if condition is not None and not condition(occurrence):
            continue
        reason = _cause(row, occurrence, around)
        if reason is not None:
            return reason
    return None


def _cause(row: Consequence, occurrence: Occurrence, around: _Surroundings) -> str | None:
    if row.cause_kind is CauseKind.SXID:
        near = any(_in_reach(row, occurrence, b, p) for b, p in around.fatal_switch)
        return "a fatal SXid of the NVSwitch" if near else None
    if row.cause_kind not in {CauseKind.XID, CauseKind.LINK_DROP}:
        return None
    holds = _CAUSE.get(row.rule)
    for cause in _of_codes(row, around):
        if cause is occurrence or not _in_scope(row.scope, occurrence, cause):
            continue
        if _in_reach(row, occurrence, cause.boot, cause.start_us) and (
            holds is None or holds(cause)
        ):
            return f"Xid {cause.code} on {cause.pci or 'an unnamed GPU'}"
    return None


def _of_codes(row: Consequence, around: _Surroundings) -> Iterator[Occurrence]:
    codes = row.causes or tuple(around.by_code)
    for code in codes:
        if code not in row.not_causes:
            yield from around.by_code.get(code, ())


def _in_scope(scope: Scope, effect: Occurrence, cause: Occurrence) -> bool:
    match scope:
        case Scope.SAME_GPU:
            return effect.pci == cause.pci
        case Scope.OTHER_GPU:
            return effect.pci != cause.pci
        case Scope.NODE | Scope.NVLINK_DOMAIN:
            return True
        case Scope.OTHER_NODE:
            return False


def _in_reach(row: Consequence, effect: Occurrence, boot: int, position: int) -> bool:
    if boot != effect.boot:
        return False
    before_us = effect.start_us - position
    within = row.cause_before_seconds is None or before_us <= row.cause_before_seconds * _US
    return within and before_us >= -row.cause_after_seconds * _US


def _torn_down_by(occurrence: Occurrence, around: _Surroundings) -> str | None:
    """A 45 that names its Xid follows that one only, anywhere earlier in the boot."""
    row = _row("teardown-after-xid")
    roots = {e.root for e in occurrence.lines if e.root is not None}
    for cause in around.causes:
        if cause.boot != occurrence.boot or cause.code in row.not_causes:
            continue
        if roots:
            if cause.code in roots and cause.start_us <= occurrence.start_us:
                return f"Xid {cause.code} on {cause.pci or 'an unnamed GPU'}, which it names"
        elif _in_reach(row, occurrence, cause.boot, cause.start_us):
            return f"Xid {cause.code} on {cause.pci or 'an unnamed GPU'}"
    down = _row("teardown-by-shutdown")
    if any(_in_reach(down, occurrence, b, p) for b, p in around.going_down):
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


def _fatal_switch_faults(sxids: Iterable[SxidEvent], clock: NodeClock) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for event in sxids:
        if event.fatal:
            boot = clock.boot_of(event)
            found.append((boot, clock.position(event, boot)))
    return found


def switch_follows_loss(
    position: int, boot: int, occurrences: Iterable[Occurrence]
) -> Occurrence | None:
    """Return the lost GPU that explains a fatal SXid, if one lies shortly before it."""
    row = _row("switch-after-lost-gpu")
    reach = (row.cause_before_seconds or 0) * _US
    for occurrence in occurrences:
        if occurrence.code not in row.causes or occurrence.boot != boot:
            continue
        if 0 <= position - occurrence.start_us <= reach:
            return occurrence
    return None


def poison_travelled(occurrence: Occurrence, dbes: Iterable[Occurrence]) -> Occurrence | None:
    """Return the 48 of another GPU whose poison a 94 may have consumed."""
    row = _row("poison-from-peer")
    return next(
        (
            dbe
            for dbe in dbes
            if dbe.pci != occurrence.pci and _in_reach(row, occurrence, dbe.boot, dbe.start_us)
        ),
        None,
    )
