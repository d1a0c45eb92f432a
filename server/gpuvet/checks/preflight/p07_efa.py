"""P7: EFA works between the nodes, at full width.

EFA's own protocol is matched by security group: a rule for all traffic that names a group the
nodes carry, in both directions. Network ACLs are in no reply that is read.
"""

from collections.abc import Iterator

from gpuvet.calculators.security_groups import Direction, RuleReading, read_direction
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View, plain
from gpuvet.model.check import CheckStatus
from gpuvet.model.network import InstanceNetwork
from gpuvet.report.words import some


def efa(view: View) -> Iterator[Part]:
    """Judge rules, width and zone for a run on more than one node."""
    reason = not_applicable(view)
    if reason is not None:
        yield reason
        return
    if not view.listed.is_complete:
        yield unread(view.listed, "the nodes")
    yield from _rules(view)
    yield from _width(view)


def not_applicable(view: View) -> Part | None:
    """Return why EFA does not matter for a run, or None where it does or may."""
    subject = view.cluster_name or "the cluster"
    if view.is_single_node:
        why = "the run takes one node: no traffic between nodes"
        return Part(CheckStatus.NOT_APPLICABLE, subject, why)
    types = view.types
    if types and all(view.most_efa(kind) == 0 for kind in types) and view.listed.is_complete:
        why = f"{', '.join(types)} has no EFA"
        return Part(CheckStatus.NOT_APPLICABLE, subject, why, evidence=view.limits.refs)
    return None


def acl_note(view: View) -> str:
    """Return what no read shows of the network, and what a person would look at."""
    own = (name for group in view.accelerated for name in view.subnets_of(group))
    names = some(sorted({*own} or {*view.subnets_of(None)})) or "the nodes' subnets"
    return (
        "network ACLs are not evaluated (ec2:DescribeNetworkAcls is not among the reads): look at "
        f"those of {names} for rules that deny traffic inside the subnet"
    )


def carried(view: View) -> tuple[frozenset[str], ...] | Part:
    """Return the sets of security groups of the nodes' EFA interfaces, or why not known."""
    subject = view.cluster_name or "the cluster"
    if view.is_hyperpod:
        found = view.cluster.value
        if found is None:
            return unread(view.cluster, subject)
        sets = [frozenset(g.security_groups or found.security_groups) for g in view.accelerated]
    else:
        if not view.attached.is_complete:
            return unread(view.attached, subject)
        sets = [one for node in _nodes(view) for one in node.group_sets]
    kept = tuple(dict.fromkeys(one for one in sets if one))
    if not kept:
        why = "no security group of an accelerated node was returned"
        return Part(CheckStatus.UNVERIFIED, subject, why, closes_with="the nodes' security groups")
    return kept


def _nodes(view: View) -> list[InstanceNetwork]:
    ids = {n.node for n in view.nodes}
    return [one for one in rows(view.attached) if one.node in ids]


def _rules(view: View) -> Iterator[Part]:
    sets = carried(view)
    if isinstance(sets, Part):
        yield sets
        return
    if view.groups.value is None or view.groups.was_refused:
        yield unread(view.groups, ", ".join(sorted(frozenset[str]().union(*sets))))
        return
    for direction in Direction:
        lists = rows(view.prefix_lists)
        yield _rule(view, read_direction(rows(view.groups), sets, direction, lists))


def _rule(view: View, reading: RuleReading) -> Part:
    names = ", ".join(reading.groups)
    refs = view.groups.refs
    way = reading.direction.value
    if reading.is_open is None:
        return Part(
            CheckStatus.UNVERIFIED,
            names,
            f"{way}: not every group was returned ({'; '.join(reading.near[:2]) or names})",
            closes_with=f"ec2:DescribeSecurityGroups of {names}",
            evidence=refs,
        )
    if reading.is_open:
        pairs = ", ".join(f"{a} to {b}" if a != b else f"{a} to itself" for a, b in reading.rules)
        notes: tuple[str, ...] = (acl_note(view),)
        if reading.is_cross:
            notes = (*notes, f"{way} is open by rules between different groups of each interface")
        why = f"{way} all traffic: {pairs}"
        return Part(CheckStatus.PASS, names, why, evidence=refs, notes=notes)
    near = f"; {'; '.join(reading.near[:3])}" if reading.near else ""
    return Part(
        CheckStatus.FAIL,
        names,
        f"no {way} rule for all traffic names a group that the nodes carry ({names}){near}",
        action=f"add to {reading.groups[0]} an {way} rule: protocol -1, "
        f"{'source' if way == 'inbound' else 'destination'} {reading.groups[0]} itself",
        evidence=refs,
        notes=(acl_note(view),),
    )


def _width(view: View) -> Iterator[Part]:
    if view.is_hyperpod:
        yield Part(
            CheckStatus.PASS,
            "width",
            "width (interfaces attached of most) is not observable on HyperPod: EC2's API does "
            "not show its nodes; the security groups decide",
            notes=("whether all nodes lie in one zone is in P26",),
        )
        return
    nodes = _nodes(view)
    if view.attached.is_complete and not nodes:
        yield Part(
            CheckStatus.UNVERIFIED,
            view.cluster_name or "the cluster",
            "no accelerated instance was returned: attached EFA interfaces are not known",
            closes_with="ec2:DescribeInstances of the nodes once they run",
        )
    for node in nodes:
        yield _attached(view, node)
    zones = sorted({node.zone for node in nodes if node.zone})
    if len(zones) > 1:
        yield Part(
            CheckStatus.FAIL,
            ", ".join(zones),
            f"the nodes lie in {len(zones)} zones ({', '.join(zones)}): EFA does not cross zones",
            action="put all nodes of the run into one zone",
            evidence=view.attached.refs,
        )
    subnets = sorted({node.subnet for node in nodes if node.subnet})
    if len(subnets) > 1 and len(zones) == 1:
        yield Part(
            CheckStatus.PASS,
            zones[0],
            f"the nodes lie in {len(subnets)} subnets of one zone ({zones[0]})",
            notes=(f"nodes in several subnets of one zone: {some(subnets)}; EFA does not mind",),
        )


def _attached(view: View, node: InstanceNetwork) -> Part:
    most = view.most_efa(plain(node.instance_type))
    have = node.efa_attached
    refs = view.attached.refs
    if have is None or most is None:
        return Part(
            CheckStatus.UNVERIFIED,
            node.node,
            f"{node.node}: interfaces {'not returned' if have is None else have}, most for "
            f"{node.instance_type} {most if most is not None else 'not known'}",
            closes_with="ec2:DescribeInstances and DescribeInstanceTypes of the node",
            evidence=refs,
        )
    counts = {"efa_attached": have, "efa_most": most}
    told = f"{node.node}: {have} of {most} EFA interfaces attached"
    if have == 0 and most > 0:
        return Part(
            CheckStatus.FAIL,
            node.node,
            f"{told}: the run would go over TCP",
            numbers=counts,
            action=f"launch the node with {most} EFA interfaces",
            evidence=refs,
        )
    if have < most:
        return Part(
            CheckStatus.RISK,
            node.node,
            f"{told}: bandwidth is lost",
            numbers=counts,
            action=f"launch the node with {most} EFA interfaces",
            evidence=refs,
        )
    return Part(CheckStatus.PASS, node.node, told, numbers=counts, evidence=refs)


P7 = PreflightCheck(
    "P7",
    "EFA works between the nodes at full width",
    "DescribeSecurityGroups, DescribeInstances, DescribeInstanceTypes, DescribeCluster",
    "FAIL: a direction without an all-traffic rule to a carried group, no EFA interface, or nodes "
    "in several zones. RISK: fewer interfaces than the type has. TCP and UDP ports, ranges and "
    "prefix lists do not replace the group reference. Width is not observable on HyperPod",
    "EC2 user guide, EFA security group",
    efa,
)
