"""Events that follow from another one and so can be no cause (verdict-rules §4).

Which follows which, and within how many seconds, is `catalog/consequences.csv`; here stands how a
row is read.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from gpuvet.calculators.boots import NodeClock, microseconds
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.link_lines import (
    drops_a_link,
    is_remap_echo,
    is_secondary,
    leads_to_reset,
    names_a_fault,
    points_elsewhere,
)
from gpuvet.catalog.consequences import CauseKind, Consequence, Scope, consequences, follows_from
from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.sxids import sxids
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.events import Record, SxidEvent
from gpuvet.model.verdict import Verdict

_US = 1_000_000
_TEARDOWN = frozenset({43, 45})
_LTSSM_FAULT_UP = 20034  # the SXid of a link that lost its GPU

# Conditions of the table that take code to read; a row without one holds for every event.
_EFFECT: Mapping[str, Callable[[Occurrence], bool]] = {
    "nvlink5-after-peer": points_elsewhere,
    "nvlink5-after-peer-link": points_elsewhere,
    "nvlink5-after-switch": points_elsewhere,
    "nvlink-secondary": is_secondary,
    "remap-after-link-drop": is_remap_echo,
}
_CAUSE: Mapping[str, Callable[[Occurrence], bool]] = {
    "nvlink-after-peer-link": leads_to_reset,
    "nvlink5-after-peer-link": leads_to_reset,
    "nvlink-secondary": names_a_fault,
    "remap-after-link-drop": drops_a_link,
}


@cache
def _rows(code: int) -> tuple[Consequence, ...]:
    """Return the rows that put an Xid aside; a row with a verdict of its own keeps the event."""
    return tuple(row for row in follows_from(CodeKind.XID, code) if row.verdict is None)


@cache
def _row(rule: str) -> Consequence:
    return next(row for row in consequences() if row.rule == rule)


class _Span(NamedTuple):
    """When something that is no Xid happened."""

    boot: int
    start_us: int
    end_us: int


class _Ordered(NamedTuple):
    """Events by boot and start, to be searched backwards from a place."""

    found: Sequence[Occurrence]
    places: Sequence[tuple[int, int]]
    longest_us: int  # of any of their bursts


def _ordered(found: Sequence[Occurrence]) -> _Ordered:
    return _Ordered(
        found=found,
        places=[(o.boot, o.start_us) for o in found],
        longest_us=max((o.end_us - o.start_us for o in found), default=0),
    )


class _Surroundings(NamedTuple):
    """What else happened on the node, for the rows to look up."""

    by_code: Mapping[int, Sequence[Occurrence]]
    fatal_switch: Sequence[_Span]
    link_switch: Sequence[_Span]  # those of them that name a link
    going_down: Sequence[_Span]


def put_aside(
    occurrences: Sequence[Occurrence],
    by_code: Mapping[int, Sequence[Occurrence]],
    node: NodeEvidence,
    clock: NodeClock,
) -> list[tuple[Occurrence, str]]:
    """Return the events that are consequences, each with what it follows."""
    switch = [e for e in node.records.sxids if is_fatal(e)]
    around = _Surroundings(
        by_code=by_code,
        fatal_switch=[_span(e, clock) for e in switch],
        link_switch=[_span(e, clock) for e in switch if e.link is not None],
        going_down=_going_down(node, clock),
    )
    aside = [
        (occurrence, reason)
        for code, found in by_code.items()
        if code not in _TEARDOWN and (rows := _with_causes(code, around))
        for occurrence in found
        if (reason := _follows(occurrence, rows, around))
    ]
    torn_down = [o for code in _TEARDOWN.intersection(by_code) for o in by_code[code]]
    if not torn_down:
        return aside
    # A teardown follows only what is no consequence itself.
    effects = {id(occurrence) for occurrence, _ in aside}
    not_causes = _row("teardown-after-xid").not_causes
    causes = [o for o in occurrences if o.code not in not_causes and id(o) not in effects]
    ordered = _ordered(causes)
    aside += [
        (occurrence, reason)
        for occurrence in torn_down
        if (reason := _torn_down_by(occurrence, ordered, occurrences, around))
    ]
    return aside


_Rows = Sequence[tuple[Consequence, _Ordered]]


def _with_causes(code: int, around: _Surroundings) -> _Rows:
    """Return the rows of a code that have a cause on the node, with these causes."""
    rows: list[tuple[Consequence, _Ordered]] = []
    for row in _rows(code):
        by_switch = row.cause_kind is not CauseKind.XID and bool(around.fatal_switch)
        causes = _of_codes(row, around)
        if causes or by_switch:
            rows.append((row, _ordered(causes)))
    return rows


def _of_codes(row: Consequence, around: _Surroundings) -> list[Occurrence]:
    """Return the events whose code a row names as a cause, in order."""
    if row.cause_kind not in {CauseKind.XID, CauseKind.LINK_DROP}:
        return []
    codes = row.causes or tuple(around.by_code)
    lists = [around.by_code[c] for c in codes if c in around.by_code and c not in row.not_causes]
    if len(lists) == 1:
        return list(lists[0])
    return sorted((o for found in lists for o in found), key=lambda o: (o.boot, o.start_us, o.code))


def _follows(occurrence: Occurrence, rows: _Rows, around: _Surroundings) -> str | None:
    for row, causes in rows:
        condition = _EFFECT.get(row.rule)
        if condition is not None and not condition(occurrence):
            continue
        reason = _cause(row, occurrence, causes, around)
        if reason is not None:
            return reason
    return None


def _cause(
    row: Consequence, occurrence: Occurrence, causes: _Ordered, around: _Surroundings
) -> str | None:
    if row.cause_kind is CauseKind.SXID and _near(row, occurrence, around.fatal_switch):
        return "a fatal SXid of the NVSwitch"
    if row.cause_kind is CauseKind.LINK_DROP and _near(row, occurrence, around.link_switch):
        return "a fatal SXid of a link"
    holds = _CAUSE.get(row.rule)
    for cause in _reaching(row, occurrence, causes):
        if (
            cause is not occurrence
            and _in_scope(row.scope, occurrence, cause)
            and (holds is None or holds(cause))
        ):
            return _named(cause)
    return None


def _reaching(row: Consequence, effect: Occurrence, causes: _Ordered) -> Sequence[Occurrence]:
    """Return the causes in a row's window around the start of an effect, the last first."""
    latest = (effect.boot, effect.start_us + row.cause_after_seconds * _US)
    reach_us = (row.cause_before_seconds or 0) * _US + causes.longest_us
    found: list[Occurrence] = []
    for index in range(bisect_right(causes.places, latest) - 1, -1, -1):
        cause = causes.found[index]
        if cause.boot != effect.boot or effect.start_us - cause.start_us > reach_us:
            break
        if _precedes(row, effect, cause):
            found.append(cause)
    return found


def _named(cause: Occurrence) -> str:
    return f"Xid {cause.code} on {cause.pci or 'an unnamed GPU'}"


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


def _precedes(row: Consequence, effect: Occurrence, cause: Occurrence) -> bool:
    """Say whether a cause lies in a row's window; equal times of one stream keep its order."""
    if not _in_reach(row, effect, cause):
        return False
    told_later = (
        row.cause_after_seconds == 0
        and cause.start_us == effect.start_us
        and cause.first.stream == effect.first.stream
        and cause.first.line > effect.first.line
    )
    return not told_later


def _in_reach(row: Consequence, effect: Occurrence, cause: Occurrence | _Span) -> bool:
    """Say whether a span reaches into a row's window around the start of the effect."""
    start, before = effect.start_us, row.cause_before_seconds
    return (
        cause.boot == effect.boot
        and cause.start_us - start <= row.cause_after_seconds * _US
        and (before is None or start - cause.end_us <= before * _US)
    )


def _near(row: Consequence, effect: Occurrence, spans: Iterable[_Span]) -> bool:
    return any(_in_reach(row, effect, span) for span in spans)


def _torn_down_by(
    occurrence: Occurrence,
    causes: _Ordered,
    everything: Sequence[Occurrence],
    around: _Surroundings,
) -> str | None:
    """A 45 that names its Xid follows that one only, anywhere earlier in the boot."""
    roots = {e.root for e in occurrence.lines if e.root is not None}
    if roots:
        return _named_root(occurrence, roots, everything)
    row = _row("teardown-after-xid")
    for cause in _reaching(row, occurrence, causes):
        return _named(cause)
    down = _row("teardown-by-shutdown")
    return "the node's own shutdown" if _near(down, occurrence, around.going_down) else None


def _named_root(
    occurrence: Occurrence, roots: set[int], everything: Sequence[Occurrence]
) -> str | None:
    for cause in everything:
        same_boot = cause.boot == occurrence.boot and cause is not occurrence
        if same_boot and cause.code in roots and cause.start_us <= occurrence.start_us:
            return f"{_named(cause)}, which it names"
    return None


def _going_down(node: NodeEvidence, clock: NodeClock) -> list[_Span]:
    """Return every sign that the node was going down."""
    downs = [_span(record, clock) for record in node.records.shutdowns]
    if node.left_at is not None:
        left_us = microseconds(node.left_at)
        downs.append(_Span(clock.boot_at(left_us), left_us, left_us))
    return [down._replace(end_us=down.start_us) for down in downs]


def _span(record: Record, clock: NodeClock) -> _Span:
    boot = clock.boot_of(record)
    position = clock.position(record, boot)
    return _Span(boot, position, position)


def is_fatal(event: SxidEvent) -> bool:
    """Say whether an NVSwitch error is fatal: the printed word, else what the table says."""
    if event.fatal is not None:
        return event.fatal
    row = sxids().get(event.code)
    return row is not None and row.default_verdict is Verdict.REBOOT


def switch_follows_loss(event: SxidEvent, clock: NodeClock, lost: Iterable[Occurrence]) -> bool:
    """Say whether a lost GPU shortly before explains a fatal SXid that names a link."""
    if event.code != _LTSSM_FAULT_UP and not (event.link is not None and is_fatal(event)):
        return False
    row = _row("switch-after-lost-gpu")
    reach_us = (row.cause_before_seconds or 0) * _US
    boot = clock.boot_of(event)
    position = clock.position(event, boot)
    return any(
        cause.boot == boot and cause.start_us <= position <= cause.end_us + reach_us
        for cause in lost
    )


def poison_travelled(occurrence: Occurrence, dbes: Iterable[Occurrence]) -> Occurrence | None:
    """Return the 48 of another GPU whose poison a 94 may have consumed."""
    row = _row("poison-from-peer")
    return next(
        (dbe for dbe in dbes if dbe.pci != occurrence.pci and _precedes(row, occurrence, dbe)),
        None,
    )
