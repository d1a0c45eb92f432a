"""P26: nodes, capacity and storage lie in one zone."""

from collections.abc import Iterator

from gpuvet.checks.preflight.holdings import Holding, holdings
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.p08_storage import no_system
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.capacity import Subnet
from gpuvet.model.check import CheckStatus
from gpuvet.report.words import counted

_SUBNETS = "the nodes' subnets"


def zone(view: View) -> Iterator[Part]:
    """Compare zones of nodes, of subnets with capacity, and of file systems."""
    known = {s.id: s for s in rows(view.subnets)}
    if not view.subnets.is_complete:
        yield unread(view.subnets, "the nodes' subnets")
    yield from _nodes(view)
    for one in holdings(view):
        if one.is_reserved:
            yield from _capacity(view, one, known)
        elif one.open_part is not None:
            yield one.open_part
    yield from _storage(view, known)


def _nodes(view: View) -> Iterator[Part]:
    zones: dict[str, str] = {one.id: one.zone for one in view.members if one.zone}
    for place in view.places:
        if place.value is not None and place.value.zone:
            zones[place.value.node] = place.value.zone
    if len(set(zones.values())) > 1:
        named = ", ".join(sorted(set(zones.values())))
        yield Part(
            CheckStatus.FAIL,
            named,
            f"the nodes lie in several zones: {named}",
            action="put all nodes of the run into one zone",
        )
    elif zones and len(zones) >= len(view.nodes):
        only = next(iter(zones.values()))
        yield Part(CheckStatus.PASS, only, f"{counted(len(zones), 'node')} in {only}")
    else:
        yield Part(
            CheckStatus.UNVERIFIED,
            "the nodes",
            f"the zone of {counted(len(view.nodes) - len(zones), 'node')} was not returned",
            closes_with="DescribeInstances, or DescribeClusterNode of each node: Placement",
        )


def _capacity(view: View, one: Holding, known: dict[str, Subnet]) -> Iterator[Part]:
    wanted = _zones_of(one)
    own = [known[name] for name in view.subnets_of(one.group) if name in known]
    if not wanted or not own:
        yield Part(
            CheckStatus.UNVERIFIED,
            one.subject,
            f"the zone of {one.subject if not wanted else _SUBNETS} was not returned",
            closes_with="ec2:DescribeSubnets of the nodes, and the zone of their capacity",
        )
        return
    if not any(s.zone_id in wanted or s.zone in wanted for s in own):
        here = ", ".join(sorted({s.zone or s.zone_id or s.id for s in own}))
        yield Part(
            CheckStatus.FAIL,
            one.subject,
            f"{one.subject} is in {', '.join(sorted(wanted))}, the nodes' subnets in {here}",
            action=f"give the nodes a subnet in {min(wanted)}",
            evidence=one.evidence,
        )


def _zones_of(one: Holding) -> set[str]:
    found: set[str | None] = set()
    if one.reservation is not None:
        found |= {one.reservation.zone, one.reservation.zone_id}
    if one.plan is not None:
        found |= {z for block in one.plan.blocks for z in (block.zone, block.zone_id)}
    return {z for z in found if z is not None}


def _storage(view: View, known: dict[str, Subnet]) -> Iterator[Part]:
    if not view.systems or view.storage is None or not view.storage.systems.status.is_complete:
        yield no_system(view)
    for seen in view.systems:
        theirs = {known[name].zone for name in seen.system.subnets if name in known}
        wanted = {z for one in holdings(view) if one.is_reserved for z in _zones_of(one)}
        if wanted and not theirs - {None}:
            yield Part(
                CheckStatus.UNVERIFIED,
                seen.system.id,
                f"the zone of {seen.system.id} was not returned",
                closes_with=f"ec2:DescribeSubnets of {', '.join(seen.system.subnets) or 'it'}",
            )
        if theirs - {None} and wanted and not theirs & wanted:
            yield Part(
                CheckStatus.RISK,
                seen.system.id,
                f"{seen.system.id} lies in {', '.join(sorted(z for z in theirs if z))}, the "
                f"capacity in {', '.join(sorted(wanted))}: reads and writes cross zones",
                action="use a file system in the zone of the capacity",
            )


P26 = PreflightCheck(
    "P26",
    "nodes, capacity and storage lie in one zone",
    "DescribeSubnets, DescribeClusterNode, DescribeInstances, plan and reservation zones",
    "FAIL: nodes in several zones, or capacity in another zone than the subnets. RISK: the file "
    "system in another zone",
    "EC2 user guide",
    zone,
)
