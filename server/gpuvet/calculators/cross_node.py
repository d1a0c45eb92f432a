"""What only several nodes together can show (xid_rules §4, §6, §8)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, Incident, NodeView, class_of
from gpuvet.model.verdict import FaultClass, Verdict

# xid_rules §4 and §6; ours.
TOGETHER = timedelta(seconds=120)
AFTER_A_FAULT = timedelta(minutes=10)
AFTER_DRIVER_CHANGE = timedelta(hours=24)
MANY_NODES = 3

APPLICATION_CODES = frozenset({11, 13, 25, 31, 69, 80})
_FOLLOWERS = frozenset({13, 31, 43, 45})
_GSP = (119, 120)
_SPREADS = frozenset({FaultClass.HARDWARE, FaultClass.SOFTWARE_LINK, FaultClass.DRIVER_CONFIG})


@dataclass(frozen=True, slots=True)
class Shared:
    """What the nodes of one question show together.

    Attributes:
        mass_application: Nodes whose application Xids came with those of other nodes.
        teardown: Nodes whose lone Xid 45s came with those of other nodes.
        gsp_after_change: Nodes with 119 or 120 soon after a driver or AMI change, 2 or more.
        gsp_nodes: Every node with 119 or 120.
        application_gpus: Per application code, the (node, PCI id) pairs that raised it.
        code_nodes: Per application code, the nodes that raised it.
    """

    mass_application: frozenset[str]
    teardown: frozenset[str]
    gsp_after_change: frozenset[str]
    application_gpus: Mapping[int, frozenset[tuple[str, str | None]]]
    code_nodes: Mapping[int, frozenset[str]]


def look_across(views: Sequence[NodeView]) -> Shared:
    """Return what the nodes show together, before any of them is judged."""
    application: list[tuple[datetime, str, Occurrence]] = []
    teardown: list[tuple[datetime, str]] = []
    gsp: list[tuple[datetime | None, str]] = []
    gpus: dict[int, set[tuple[str, str | None]]] = defaultdict(set)
    for view in views:
        node = view.node.node
        for occurrence in view.candidates():
            code = occurrence.code
            if code in APPLICATION_CODES:
                gpus[code].add((node, occurrence.pci))
                at = occurrence.at
                if at is not None:
                    application.append((at, node, occurrence))
            elif code == 45 and occurrence.at is not None:
                teardown.append((occurrence.at, node))
            elif code in _GSP:
                gsp.append((occurrence.at, node))
    return Shared(
        mass_application=_mass(application, views),
        teardown=_together(teardown, least=2),
        gsp_after_change=_gsp_after_change(gsp, views),
        application_gpus={code: frozenset(pairs) for code, pairs in gpus.items()},
        code_nodes={code: frozenset(n for n, _ in pairs) for code, pairs in gpus.items()},
    )


def _together(seen: list[tuple[datetime, str]], *, least: int) -> frozenset[str]:
    """Return nodes that lie inside a span of 120 s holding at least `least` different nodes."""
    seen.sort()
    found: set[str] = set()
    start = 0
    for end in range(len(seen)):
        while seen[end][0] - seen[start][0] > TOGETHER:
            start += 1
        nodes = {node for _, node in seen[start : end + 1]}
        if len(nodes) >= least:
            found |= nodes
    return frozenset(found)


def _mass(
    application: list[tuple[datetime, str, Occurrence]], views: Sequence[NodeView]
) -> frozenset[str]:
    if len(application) < 2:
        return frozenset()
    half = max(2, (len(views) + 1) // 2)
    nodes = _together([(at, n) for at, n, _ in application], least=min(MANY_NODES, half))
    if not nodes:
        return nodes
    first = min(at for at, node, _ in application if node in nodes)
    for view in views:
        if view.node.node not in nodes:
            continue
        for occurrence in view.candidates():
            at = occurrence.at
            if class_of(occurrence.code) is FaultClass.HARDWARE and at is not None and at <= first:
                return frozenset()
    return nodes


def _gsp_after_change(
    gsp: Iterable[tuple[datetime | None, str]], views: Sequence[NodeView]
) -> frozenset[str]:
    changed = views[0].incident.driver_changed_at if views else None
    if changed is None:
        return frozenset()
    nodes = frozenset(
        node
        for at, node in gsp
        if at is not None and timedelta(0) <= at - changed <= AFTER_DRIVER_CHANGE
    )
    return nodes if len(nodes) >= 2 else frozenset()


def first_fault_elsewhere(
    found: Mapping[str, Sequence[Finding]], incident: Incident
) -> tuple[str, Finding, datetime] | None:
    """Return the earliest REBOOT-or-stronger event of a spreading class, with its node."""
    del incident  # the rule looks at all of the evidence
    earliest: tuple[str, Finding, datetime] | None = None
    for node, findings in found.items():
        for finding in findings:
            at = finding.occurrence.at if finding.occurrence is not None else None
            spreads = finding.rank <= 3 and finding.fault_class in _SPREADS
            if at is not None and spreads and (earliest is None or at < earliest[2]):
                earliest = (node, finding, at)
    return earliest


def only_follows(view: NodeView, fault_at: datetime) -> bool:
    """Say whether a node shows nothing but the echo of a fault on another node."""
    seen = False
    for occurrence in view.candidates():
        at = occurrence.at
        if occurrence.code not in _FOLLOWERS or at is None:
            return False
        if not timedelta(0) <= at - fault_at <= AFTER_A_FAULT:
            return False
        seen = True
    return seen


def echo(finding: Finding, node: str, source: Finding) -> Finding:
    """Return a finding turned into the echo of a fault on another node."""
    code = source.occurrence.code if source.occurrence is not None else "?"
    return Finding(
        verdict=Verdict.LEAVE_ALONE,
        fault_class=FaultClass.SYMPATHETIC,
        what=f"{finding.what}, after Xid {code} on {node}",
        rule="xid_rules §4",
        occurrence=finding.occurrence,
        record=finding.record,
        pci=finding.pci,
    )
