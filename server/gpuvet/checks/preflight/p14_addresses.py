"""P14: the subnets and the interface quota have room for a replacement node."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuvet.calculators.addresses import addresses_of_node
from gpuvet.catalog.instance_types import instance_type
from gpuvet.checks.preflight.holdings import holdings
from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck, no_node, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View, plain
from gpuvet.model.capacity import Subnet
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster_state import GroupState

# preflight P14: less than this share above the need is a risk.
_LEAST_MARGIN = 0.10
_PREFIXES = (
    "with prefix delegation in the VPC CNI a node takes whole /28 blocks: free addresses must also "
    "lie together"
)


def addresses(view: View) -> Iterator[Part]:
    """Hold free addresses against what one more node of each group takes."""
    if view.is_hyperpod and view.cluster.value is None:
        yield unread(view.cluster, view.cluster_name or "the cluster")
    elif view.is_hyperpod:
        for group in view.accelerated:
            yield _room(view, group, plain(group.instance_type))
    else:
        for kind in sorted({plain(n.instance_type) for n in view.nodes if n.instance_type}):
            yield _room(view, None, kind)
    if not (view.accelerated if view.is_hyperpod else view.nodes):
        yield no_node()
    yield from _interfaces(view)


def _room(view: View, group: GroupState | None, kind: str) -> Part:
    subject = group.name if group is not None else kind
    if view.subnets.value is None:
        return unread(view.subnets, subject)
    need = _need(view, group, kind)
    wanted = view.subnets_of(group)
    own = [s for s in rows(view.subnets) if s.id in wanted]
    if not own or need is None:
        what = "its subnets were not returned" if not own else f"what a {kind} needs is not listed"
        return Part(
            CheckStatus.UNVERIFIED,
            subject,
            f"{subject}: {what}",
            closes_with=f"ec2:DescribeSubnets of {', '.join(wanted) or 'the nodes'}"
            if not own
            else f"ec2:DescribeInstanceTypes of {kind}",
            evidence=view.subnets.refs,
        )
    return _judged(view, group, kind, need, _usable(view, group, own))


def _need(view: View, group: GroupState | None, kind: str) -> int | None:
    """Return what one node takes: by the formula, or more where a peer is seen to hold more."""
    interface = group.interface if group else _interface(view, kind)
    formula = addresses_of_node(kind, view.orchestrator, interface)
    held = [i.addresses for i in view.members if plain(i.instance_type) == kind and i.addresses]
    # A trimmed reply shows fewer addresses than a node holds, never more.
    return max((*held, *([] if formula is None else [formula])), default=None)


def _interface(view: View, kind: str) -> str | None:
    """Return `efa-only` where a node of the type has such interfaces: they take no address."""
    own = [one for one in rows(view.attached) if plain(one.instance_type) == kind]
    only = any(i.kind == "efa-only" for one in own for i in one.interfaces or ())
    return "efa-only" if only else None


def _usable(view: View, group: GroupState | None, own: Sequence[Subnet]) -> list[Subnet]:
    """Return the subnets in the zone of the group's capacity; all where that is not known."""
    zones: set[str] = set()
    for one in holdings(view):
        if group is not None and one.group is not None and one.group.name != group.name:
            continue
        if one.reservation is not None and one.reservation.zone:
            zones.add(one.reservation.zone)
        if one.plan is not None:
            zones |= {block.zone for block in one.plan.blocks if block.zone}
    inside = [s for s in own if not zones or s.zone is None or s.zone in zones]
    return inside or list(own)


def _judged(
    view: View, group: GroupState | None, kind: str, need: int, own: Sequence[Subnet]
) -> Part:
    short = group.short if group is not None else 0
    total = need * (short + 1)
    subject = own[0].id
    ipv4 = [s for s in own if not s.is_ipv6_only]
    if not ipv4:
        why = f"{subject} is IPv6 only: free IPv4 addresses say nothing of it"
        return Part(CheckStatus.NOT_APPLICABLE, subject, why, evidence=view.subnets.refs)
    if any(s.free is None for s in ipv4):
        return Part(
            CheckStatus.UNVERIFIED,
            subject,
            f"the free addresses of {subject} were not returned",
            closes_with=f"ec2:DescribeSubnets of {subject}",
            evidence=view.subnets.refs,
        )
    best = max(ipv4, key=lambda s: s.free or 0)
    free = best.free or 0
    counts: dict[str, Number] = {"ip_need": total, "free_ips": free, "ip_need_per_node": need}
    nodes = "one replacement node" if not short else f"{short} missing nodes and a replacement"
    told = f"{best.id}: {free} free IPv4 addresses; a {kind} takes {need}, {nodes} {total}"
    notes = (_PREFIXES,) if view.names_eks else ()
    part = Part(
        CheckStatus.PASS, best.id, told, numbers=counts, evidence=view.subnets.refs, notes=notes
    )
    if free >= total * (1 + _LEAST_MARGIN):
        return part
    act = f"free addresses in {best.id}, or add a larger subnet in the same zone to the group"
    if free >= total:
        return replace(part, status=CheckStatus.RISK, why=f"{told}: margin below 10 %", action=act)
    must = view.run.nodes_needed
    has_to_launch = must is not None and group is not None and (group.current or 0) < must
    status = CheckStatus.FAIL if has_to_launch and free < need else CheckStatus.RISK
    return replace(part, status=status, why=f"{told}: not enough", action=act)


def _interfaces(view: View) -> Iterator[Part]:
    """Hold the region's interfaces against their quota; HyperPod cannot raise it by itself."""
    quota = view.interface_quota.value
    if quota is None or view.interfaces.value is None:
        reading = view.interface_quota if quota is None else view.interfaces
        yield unread(reading, "network interfaces")
        return
    if not view.listed.is_complete:
        yield unread(view.listed, "the nodes", "the interfaces they hold")
    elif not view.nodes:
        yield no_node()
    cards = max((_cards(kind) for kind in view.types), default=1)
    used = len(rows(view.interfaces))
    least = sum(_cards(plain(n.instance_type)) for n in view.nodes)
    free = quota.value - max(used, least)
    counts: dict[str, Number] = {"interfaces": max(used, least), "interface_quota": quota.value}
    told = f"{max(used, least)} of {quota.value:g} network interfaces in use; a node takes {cards}"
    if free < cards:
        yield Part(
            CheckStatus.RISK,
            "network interfaces",
            told,
            numbers=counts,
            action="raise the quota Network interfaces per Region (L-DF5E4CA3)",
            evidence=view.interface_quota.refs,
        )
    elif not view.interfaces.is_complete:
        yield unread(view.interfaces, "network interfaces")
    else:
        refs = view.interface_quota.refs
        yield Part(CheckStatus.PASS, "network interfaces", told, numbers=counts, evidence=refs)


def _cards(kind: str) -> int:
    row = instance_type(kind)
    return row.network_cards or 1 if row else 1


P14 = PreflightCheck(
    "P14",
    "subnets and quota have room for a replacement node",
    "DescribeSubnets, DescribeNetworkInterfaces, GetServiceQuota (L-DF5E4CA3)",
    "FAIL: a node that still has to launch finds no addresses. RISK: none for a replacement, less "
    "than 10 % above the need, or the interface quota used up. Prefix delegation counts in /28",
    "EC2 instance types; formula of gpuvet per orchestrator",
    addresses,
)
