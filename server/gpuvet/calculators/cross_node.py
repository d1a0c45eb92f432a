"""What only several nodes together can show (xid_rules §4, §6, §8)."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import NamedTuple

from gpuvet.calculators.coverage import HOUR
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of
from gpuvet.model.verdict import FaultClass, Verdict

# xid_rules §4 and §6; ours.
TOGETHER = timedelta(seconds=120)
AFTER_A_FAULT = timedelta(minutes=10)
AFTER_DRIVER_CHANGE = timedelta(hours=24)
MANY_NODES = 3

APPLICATION_CODES = frozenset({11, 13, 25, 31, 69, 80})
GSP_CODES = frozenset({119, 120})
_FOLLOWERS = frozenset({13, 31, 43, 45})
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = datetime(9999, 1, 1, tzinfo=UTC)
_SPREADS = frozenset({FaultClass.HARDWARE, FaultClass.SOFTWARE_LINK, FaultClass.DRIVER_CONFIG})


class Seen(NamedTuple):
    """One event of one GPU of one node, where its time is known."""

    at: datetime
    node: str
    pci: str | None
    code: int


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

    def is_elsewhere(self, code: int, mine: Seen, within: timedelta) -> bool:
        """Say whether another GPU or node raised a code at about that time."""
        return any(
            (other.node, other.pci) != (mine.node, mine.pci) and abs(other.at - mine.at) <= within
            for other in self.application.get(code, ())
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
        teardown=frozenset(s.node for s in _together(teardown, least=2)),
        gsp_after_change=_gsp_after_change(gsp, views),
        gsp=gsp,
        drivers={v.node.node: v.node.driver_version for v in views if v.node.driver_version},
        application=application,
        code_nodes={code: frozenset(s.node for s in found) for code, found in application.items()},
    )


def _seen(view: NodeView, node: str, code: int) -> Iterator[Seen]:
    """Yield the events of a code that are no consequence, once for each end of a burst."""
    for occurrence in view.by_code[code]:
        at = occurrence.at
        if at is None or view.is_aside(occurrence):
            continue
        yield Seen(at, node, occurrence.pci, code)
        if occurrence.end_us > occurrence.start_us:
            lasted = timedelta(microseconds=occurrence.end_us - occurrence.start_us)
            yield Seen(at + lasted, node, occurrence.pci, code)


def _together(seen: Sequence[Seen], *, least: int) -> list[Seen]:
    """Return what lies inside a span of 120 s that holds at least `least` different nodes."""
    ordered = sorted(seen, key=lambda s: (s.at, s.node))
    found: list[Seen] = []
    counts: dict[str, int] = defaultdict(int)
    start = taken = 0
    for end, item in enumerate(ordered):
        counts[item.node] += 1
        while item.at - ordered[start].at > TOGETHER:
            first = ordered[start].node
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
    nodes = frozenset(s.node for s in together)
    first = min(s.at for s in together)
    since = views[0].incident.window.start - HOUR
    for view in views:
        if view.node.node in nodes and any(_is_hardware(o, since, first) for o in view.kept):
            return frozenset()
    return nodes


def _is_hardware(occurrence: Occurrence, since: datetime, until: datetime) -> bool:
    if class_of(occurrence.code) is not FaultClass.HARDWARE:
        return False
    at = occurrence.at
    return at is not None and since <= at <= until


def _gsp_after_change(gsp: Sequence[Seen], views: Sequence[NodeView]) -> frozenset[str]:
    if not gsp:
        return frozenset()
    changed = {view.node.node: _driver_changes(view) for view in views}
    nodes = frozenset(
        s.node
        for s in gsp
        if any(timedelta(0) <= s.at - at <= AFTER_DRIVER_CHANGE for at in changed[s.node])
    )
    return nodes if len(nodes) >= 2 else frozenset()


def _driver_changes(view: NodeView) -> tuple[datetime, ...]:
    """Return when a node's driver changed: as told, and as its own boot banners show."""
    told = view.incident.driver_changed_at
    banners = sorted(
        (b.at, b.driver_version)
        for b in view.node.records.boundaries
        if b.at is not None and b.driver_version is not None
    )
    shown = [at for (_, old), (at, new) in pairwise(banners) if old != new]
    return (*((told,) if told is not None else ()), *shown)


class Fault(NamedTuple):
    """A finding on one node that may echo on others."""

    at: datetime
    node: str
    what: str


def spreading_faults(found: Mapping[str, Sequence[Finding]]) -> tuple[Fault, ...]:
    """Return every finding of REBOOT or higher whose class spreads, by time."""
    faults = [
        Fault(at, node, finding.what)
        for node, findings in found.items()
        for finding in findings
        if finding.rank <= 3
        and finding.fault_class in _SPREADS
        and (at := finding.happened_at) is not None
    ]
    return tuple(sorted(faults))


def echoes(view: NodeView, findings: Sequence[Finding], faults: Sequence[Fault]) -> list[Finding]:
    """Return a node's findings, those that only follow another node's fault turned to echoes."""
    if not faults or _FOLLOWERS.isdisjoint(view.by_code):
        return list(findings)
    others = [o.at for o in view.kept if o.code not in _FOLLOWERS]
    own = sorted(at for at in others if at is not None)
    if len(own) < len(others):
        return list(findings)  # something of its own at an unknown time
    return [_echo(view.node.node, finding, own, faults) for finding in findings]


def _echo(node: str, finding: Finding, own: Sequence[datetime], faults: Sequence[Fault]) -> Finding:
    occurrence = finding.occurrence
    at = occurrence.at if occurrence is not None else None
    if occurrence is None or at is None or occurrence.code not in _FOLLOWERS:
        return finding
    fault = _origin(node, at, own, faults)
    if fault is None:
        return finding
    return Finding(
        verdict=Verdict.LEAVE_ALONE,
        fault_class=FaultClass.SYMPATHETIC,
        what=f"{finding.what}, after {fault.what} on {fault.node}",
        rule="xid_rules §4",
        occurrence=occurrence,
        pci=finding.pci,
    )


def _origin(
    node: str, at: datetime, own: Sequence[datetime], faults: Sequence[Fault]
) -> Fault | None:
    """Return a fault of another node in the 10 min before, after which this one only followed.

    Args:
        node: The node that may have followed.
        at: When it did.
        own: Times of its own events that are no followers, sorted.
        faults: By time.
    """
    earliest = at - AFTER_A_FAULT
    index = bisect_left(own, earliest)
    after = own[index - 1] if index else _EVER
    for before in (*own[index : bisect_right(own, at + AFTER_A_FAULT)], _NEVER):
        # Between two of its own events only a fault that leaves it 10 min of following counts.
        last = min(at, before - AFTER_A_FAULT)
        first = bisect_left(faults, max(earliest, after), key=_time)
        for fault in islice(faults, first, None):
            if fault.at > last or (before - fault.at <= AFTER_A_FAULT):
                break
            if fault.node != node and fault.at > after:
                return fault
        after = before
    return None


def _time(fault: Fault) -> datetime:
    return fault.at
