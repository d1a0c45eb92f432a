"""What only several nodes together can show (verdict-rules §4, §6, §8)."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from gpuvet.calculators.boots import microseconds
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import US, Finding, NodeView, class_of
from gpuvet.calculators.hours import HOUR
from gpuvet.model.verdict import FaultClass, Verdict

# verdict-rules §4 and §6; ours.
TOGETHER_US = 120 * US
AFTER_A_FAULT_US = 600 * US
AFTER_DRIVER_CHANGE_US = 86_400 * US
MANY_NODES = 3

APPLICATION_CODES = frozenset({11, 13, 25, 31, 69, 80})
GSP_CODES = frozenset({119, 120})
_FOLLOWERS = frozenset({13, 31, 43, 45})
_EVER, _NEVER = -(1 << 62), 1 << 62
_SPREADS = frozenset({FaultClass.HARDWARE, FaultClass.SOFTWARE_LINK, FaultClass.DRIVER_CONFIG})


# Microseconds since 1970, node, PCI id. Plain, because a fleet has hundreds of thousands.
Seen = tuple[int, str, str | None]


@dataclass(frozen=True, slots=True)
class Shared:
    """What the nodes of one question show together.

    Attributes:
        mass_application: Nodes whose application Xids came with those of other nodes.
        teardown: Nodes whose lone Xid 45s came with those of other nodes.
        gsp_after_change: Nodes with 119 or 120 soon after a driver or AMI change, 2 or more.
        gsp: Every 119 and 120.
        drivers: Driver version of each node that states one.
        application: Per application code, every event.
        code_nodes: Per application code, the nodes that raised it.
    """

    mass_application: frozenset[str]
    teardown: frozenset[str]
    gsp_after_change: frozenset[str]
    gsp: Sequence[Seen]
    drivers: Mapping[str, str]
    application: Mapping[int, Sequence[Seen]]
    code_nodes: Mapping[int, frozenset[str]]

    def is_elsewhere(self, code: int, mine: Seen, within_us: int) -> bool:
        """Say whether another GPU or node raised a code at about that time."""
        mine_us, *here = mine
        return any(
            [node, pci] != here and abs(at_us - mine_us) <= within_us
            for at_us, node, pci in self.application.get(code, ())
        )


def look_across(views: Sequence[NodeView]) -> Shared:
    """Return what the nodes show together, before any of them is judged."""
    application: dict[int, list[Seen]] = defaultdict(list)
    teardown: list[Seen] = []
    gsp: list[Seen] = []
    for view in views:
        node, by_code = view.node.node, view.by_code
        for code in APPLICATION_CODES.intersection(by_code):
            application[code] += _seen(view, node, code)
        if 45 in by_code:
            teardown += _seen(view, node, 45)
        for code in GSP_CODES.intersection(by_code):
            gsp += _seen(view, node, code)
    return Shared(
        mass_application=_mass([s for found in application.values() for s in found], views),
        teardown=frozenset(node for _, node, _ in _together(teardown, least=2)),
        gsp_after_change=_gsp_after_change(gsp, views),
        gsp=gsp,
        drivers={v.node.node: v.node.driver_version for v in views if v.node.driver_version},
        application=application,
        code_nodes={
            code: frozenset(node for _, node, _ in found) for code, found in application.items()
        },
    )


def _seen(view: NodeView, node: str, code: int) -> Iterator[Seen]:
    """Yield the events of a code that are no consequence, once for each end of a burst."""
    aside = view.aside_ids
    for occurrence in view.by_code[code]:
        if not occurrence.placed or id(occurrence) in aside:
            continue
        yield occurrence.start_us, node, occurrence.pci
        if occurrence.end_us > occurrence.start_us:
            yield occurrence.end_us, node, occurrence.pci


def _together(seen: Sequence[Seen], *, least: int) -> list[Seen]:
    """Return what lies inside a span of 120 s that holds at least `least` different nodes."""
    ordered = sorted(seen, key=itemgetter(0, 1))
    found: list[Seen] = []
    counts: dict[str, int] = defaultdict(int)
    start = taken = 0
    for end, (at_us, node, _) in enumerate(ordered):
        counts[node] += 1
        while at_us - ordered[start][0] > TOGETHER_US:
            first = ordered[start][1]
            counts[first] -= 1
            if not counts[first]:
                del counts[first]
            start += 1
        if len(counts) >= least:
            found += ordered[max(start, taken) : end + 1]
            taken = end + 1
    return found


def _mass(application: Sequence[Seen], views: Sequence[NodeView]) -> frozenset[str]:
    """Return the nodes of one application fault, unless hardware failed on one of them before."""
    half = max(2, (len(views) + 1) // 2)
    together = _together(application, least=min(MANY_NODES, half))
    if not together:
        return frozenset()
    nodes = frozenset(node for _, node, _ in together)
    first_us = min(at_us for at_us, _, _ in together)
    since_us = microseconds(views[0].incident.window.start - HOUR)
    for view in views:
        if view.node.node in nodes and any(_is_hardware(o, since_us, first_us) for o in view.kept):
            return frozenset()
    return nodes


def _is_hardware(occurrence: Occurrence, since_us: int, until_us: int) -> bool:
    at_us = occurrence.at_us
    if at_us is None or not since_us <= at_us <= until_us:
        return False
    return class_of(occurrence.code) is FaultClass.HARDWARE


def _gsp_after_change(gsp: Sequence[Seen], views: Sequence[NodeView]) -> frozenset[str]:
    if not gsp:
        return frozenset()
    changed = {view.node.node: _driver_changes(view) for view in views}
    nodes = frozenset(
        node
        for at_us, node, _ in gsp
        if any(0 <= at_us - since_us <= AFTER_DRIVER_CHANGE_US for since_us in changed[node])
    )
    return nodes if len(nodes) >= 2 else frozenset()


def _driver_changes(view: NodeView) -> tuple[int, ...]:
    """Return when a node's driver changed: as told, and as its own boot banners show."""
    told = view.incident.driver_changed_at
    banners = sorted(
        (microseconds(b.at), b.driver_version)
        for b in view.node.records.boundaries
        if b.at is not None and b.driver_version is not None
    )
    shown = [at_us for (_, old), (at_us, new) in pairwise(banners) if old != new]
    return (*((microseconds(told),) if told is not None else ()), *shown)


class Faults(NamedTuple):
    """Findings that may echo on other nodes, by time."""

    at_us: Sequence[int]
    found: Sequence[tuple[int, str, str]]  # time, node, what


def spreading_faults(found: Mapping[str, Sequence[Finding]]) -> Faults:
    """Return every finding of REBOOT or higher whose class spreads."""
    faults = sorted(
        (at_us, node, finding.what)
        for node, findings in found.items()
        for finding in findings
        if finding.fault_class in _SPREADS
        and finding.rank <= 3
        and (at_us := _time(finding)) is not None
    )
    return Faults([at_us for at_us, _, _ in faults], faults)


def _time(finding: Finding) -> int | None:
    if finding.occurrence is not None:
        return finding.occurrence.at_us
    at = finding.happened_at
    return microseconds(at) if at is not None else None


def echoes(view: NodeView, findings: Sequence[Finding], faults: Faults) -> list[Finding]:
    """Return a node's findings, those that only follow another node's fault turned to echoes."""
    if not faults.at_us or _FOLLOWERS.isdisjoint(view.by_code):
        return list(findings)
    others = [o for o in view.kept if o.code not in _FOLLOWERS]
    own = sorted(o.start_us for o in others if o.placed)
    if len(own) < len(others):
        return list(findings)  # something of its own at an unknown time
    node = view.node.node
    return [
        _echo(node, f, o, own, faults)
        if (o := f.occurrence) is not None and o.code in _FOLLOWERS and o.placed
        else f
        for f in findings
    ]


def _echo(
    node: str, finding: Finding, occurrence: Occurrence, own: Sequence[int], faults: Faults
) -> Finding:
    origin = _origin(node, occurrence.start_us, own, faults)
    if origin is None:
        return finding
    _, elsewhere, what = origin
    return Finding(
        verdict=Verdict.LEAVE_ALONE,
        fault_class=FaultClass.SYMPATHETIC,
        what=f"{finding.what}, after {what} on {elsewhere}",
        rule="verdict-rules §4",
        occurrence=occurrence,
        pci=finding.pci,
    )


def _origin(
    node: str, at_us: int, own: Sequence[int], faults: Faults
) -> tuple[int, str, str] | None:
    """Return a fault of another node in the 10 min before, after which this one only followed.

    Args:
        node: The node that may have followed.
        at_us: When it did.
        own: Times of its own events that are no followers, sorted.
        faults: By time.
    """
    earliest = at_us - AFTER_A_FAULT_US
    index = bisect_left(own, earliest)
    after = own[index - 1] if index else _EVER
    for before in (*own[index : bisect_right(own, at_us + AFTER_A_FAULT_US)], _NEVER):
        # Between two of its own events only a fault that leaves it 10 min of following counts.
        first_us, last_us = max(earliest, after + 1), min(at_us, before - AFTER_A_FAULT_US - 1)
        if first_us <= last_us:
            first = bisect_left(faults.at_us, first_us)
            for place in range(first, bisect_right(faults.at_us, last_us, lo=first)):
                if faults.found[place][1] != node:
                    return faults.found[place]
        after = before
    return None
