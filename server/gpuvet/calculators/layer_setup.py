"""Layer 4 of branch D: what EFA needs before a connection can be made. Pure.

Security groups open to themselves in both directions, interfaces attached, one zone, and in
Kubernetes EFA devices that the containers ask for. A state read now counts as it stands only
where set-up failed for want of it, and no change to it after the failure is known.
"""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.layer_transport import CANDIDATES
from gpuvet.calculators.nccl_transport import Run, set_up_failed
from gpuvet.calculators.network_view import (
    OF_COMMUNICATION,
    Layer,
    NetworkView,
    listed,
    stamp,
)
from gpuvet.calculators.security_groups import Direction, RuleReading, read_direction
from gpuvet.model.case import GONE_STATES
from gpuvet.model.cause import Branch, Signal, Symptom
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason
from gpuvet.model.network import NcclError, NcclLine, PodRequest, RuleChange, Transport
from gpuvet.parse.pod_requests import EFA_RESOURCE

_SOCKET_SETTINGS = {
    "NCCL_NET": ("socket",),
    "NCCL_NET_PLUGIN": ("none",),
    "FI_PROVIDER": ("tcp", "sockets", "udp"),
}


def setup_layer(view: NetworkView, run: Run | None) -> Layer:
    """Return rules, width, zones and requests, judged against how the run went."""
    if not view.is_multi_node or view.is_efa_capable is False:
        return Layer(clean="no connection over EFA is needed")
    readings = tuple(rule_readings(view))
    closed = tuple(one for one in readings if one.is_open is False)
    failed = set_up_failed(run, _completed(view)) if run else ()
    signals = (
        *_rule_signals(view, run, closed, failed),
        *_failed_unexplained(failed, closed),
        *_width_signals(view, run),
        *_zone_signals(view, failed=bool(failed)),
        *_request_signals(view, run),
    )
    facts = (
        *_rule_facts(readings),
        *_width_facts(view),
        *_request_facts(view),
        *_route_facts(view),
        *_change_facts(view),
    )
    is_open = bool(readings) and all(one.is_open for one in readings)
    return Layer(
        signals=signals,
        facts=facts,
        clean="EFA's rules open in both directions, as read" if is_open and not signals else None,
        unseen=tuple(_unseen(view, readings, failed=bool(failed))),
        actions=tuple(_actions(view, closed)),
    )


def rule_readings(view: NetworkView) -> Iterator[RuleReading]:
    """Yield both directions over the groups that the job's EFA interfaces carry."""
    if view.groups is None or view.groups.value is None:
        return
    carried = carried_groups(view)
    if carried:
        for direction in Direction:
            yield read_direction(view.groups.value, carried, direction)


def told_by_rows(view: NetworkView) -> frozenset[str]:
    """Return the sentences about rules, routes and changes, for whoever shows these one by one."""
    readings = tuple(rule_readings(view))
    return frozenset([*_rule_facts(readings), *_blackholes(view), *_change_facts(view)])


def carried_groups(view: NetworkView) -> frozenset[frozenset[str]]:
    """Return the sets of groups that interfaces of the job carry: as attached, else as planned."""
    sets = {one for row in view.attached.values() for one in row.group_sets}
    planned = (view.hyperpod_groups.value if view.hyperpod_groups else None) or ()
    groups = {one.group for one in view.nodes if one.is_hyperpod}
    named = [frozenset(ids) for name, ids in planned if name in groups]
    return frozenset((*sets, *(named or [frozenset(ids) for _, ids in planned])))


def _completed(view: NetworkView) -> int | None:
    """Return the last collective that any rank calls completed, or None where none is told."""
    told = [one.last_completed for one in view.log.watchdog if one.last_completed is not None]
    return max(told, default=None)


def _rule_signals(
    view: NetworkView,
    run: Run | None,
    closed: Sequence[RuleReading],
    failed: Sequence[NcclLine],
) -> Iterator[Signal]:
    if not closed:
        return
    selected = run is not None and run.selected_efa
    change = _closing(view, closed)
    undone = _changed_after(view, closed)
    is_proven = bool(failed) and selected and undone is None
    concerns = view.failure.symptom in OF_COMMUNICATION or bool(failed)
    if not concerns and change is None:
        return
    groups = listed([name for one in closed for name in one.groups])
    way = " and no ".join(one.direction.value for one in closed)
    words = [f"{groups} has no {way} rule for all traffic (IpProtocol -1) with itself, as read now"]
    words += [f"set-up failed with provider efa: `{failed[0].said[:120]}`"] if failed else []
    words += [f"{change.name} on {change.group_id} at {stamp(change.at)}"] if change else []
    words += [f"but {undone.name} changed it after the failure"] if undone else []
    line_times = [line.at for line in failed if line.at is not None]
    yield Signal(
        branch=Branch.COMMUNICATION,
        kind="self_rule_missing",
        what="; ".join(words),
        resource=closed[0].groups[0] if closed[0].groups else None,
        at=change.at if change else min(line_times, default=None),
        standing=undone is None and (is_proven or change is not None),
        mechanism=(
            "EFA between nodes needs a rule for all traffic to and from the group itself in both "
            "directions; without it no address or connection is set up"
        ),
        proven_by_rule=is_proven,
        hypothesis_only=not is_proven and (change is None or undone is not None),
        confirming=None
        if is_proven
        else "fi_pingpong -p efa between two nodes, before and after adding the rule",
        raw=failed[0].raw if failed else None,
        stream=failed[0].stream if failed else None,
        evidence=(
            *((view.groups.evidence,) if view.groups else ()),
            *(line.evidence for line in failed[:4]),
            *((change.evidence,) if change and change.evidence else ()),
        ),
    )


def _failed_unexplained(
    failed: Sequence[NcclLine], closed: Sequence[RuleReading]
) -> Iterator[Signal]:
    if not failed or closed:
        return
    times = [line.at for line in failed if line.at is not None]
    kind = failed[0].error or NcclError.OTHER
    yield Signal(
        branch=Branch.COMMUNICATION,
        kind="set_up_failed",
        what=f"NCCL could not set up connections between nodes: `{failed[0].said[:160]}`",
        at=min(times, default=None),
        hypothesis_only=True,
        confirming=f"one of the candidates read: {CANDIDATES[kind]}",
        raw=failed[0].raw,
        stream=failed[0].stream,
        evidence=tuple(line.evidence for line in failed[:4]),
    )


def _closing(view: NetworkView, closed: Sequence[RuleReading]) -> RuleChange | None:
    """Return the last successful call that took a rule of a closed direction away before t0."""
    wanted = {f"RevokeSecurityGroup{_suffix(one.direction)}" for one in closed}
    at = view.failure.at
    found = [
        one
        for one in (view.changes.value if view.changes else None) or ()
        if not one.failed and one.name in wanted and (at is None or one.at <= at)
    ]
    return found[-1] if found else None


def _changed_after(view: NetworkView, closed: Sequence[RuleReading]) -> RuleChange | None:
    at = view.failure.at
    names = {name for one in closed for name in one.groups}
    changes = (view.changes.value if view.changes else None) or ()
    if at is None:
        return None
    return next(
        (one for one in changes if not one.failed and one.at > at and one.group_id in names), None
    )


def _suffix(direction: Direction) -> str:
    return "Ingress" if direction is Direction.INBOUND else "Egress"


def _width_signals(view: NetworkView, run: Run | None) -> Iterator[Signal]:
    narrow = [
        (node.node, have, most)
        for node in view.nodes
        if (row := view.attached.get(node.node)) is not None
        and row.state not in GONE_STATES
        and (have := row.efa_attached) is not None
        and (most := view.most_efa(node.instance_type or row.instance_type))
        and have < most
    ]
    told = run is not None and bool(run.telling)
    if not narrow or not told or view.failure.symptom not in OF_COMMUNICATION:
        return
    words = [f"{have} of {most} on {node}" for node, have, most in narrow]
    nothing = all(have == 0 for _, have, _ in narrow)
    sockets = run is not None and bool(run.of(Transport.SOCKET))
    yield Signal(
        branch=Branch.COMMUNICATION,
        kind="efa_width",
        what=f"EFA interfaces attached: {listed(words)}",
        resource=narrow[0][0],
        node=narrow[0][0] if len(narrow) == 1 else None,
        standing=True,
        mechanism="fewer EFA interfaces carry less" if not nothing else "no EFA interface at all",
        hypothesis_only=not (nothing and sockets and view.failure.symptom is Symptom.SLOW),
        confirming="nccl-tests all_reduce_perf between two of these nodes",
        evidence=(view.instances.evidence,) if view.instances else (),
    )


def _zone_signals(view: NetworkView, *, failed: bool) -> Iterator[Signal]:
    by_zone: dict[str, list[str]] = {}
    for node, row in sorted(view.attached.items()):
        if row.zone and row.efa_attached:
            by_zone.setdefault(row.zone, []).append(node)
    if len(by_zone) < 2 or view.failure.symptom not in OF_COMMUNICATION:
        return
    words = [f"{listed(nodes, 4)} in {zone}" for zone, nodes in sorted(by_zone.items())]
    yield Signal(
        branch=Branch.COMMUNICATION,
        kind="efa_across_zones",
        what=f"nodes with EFA lie in {len(by_zone)} zones: {'; '.join(words)}",
        standing=True,
        mechanism="EFA does not cross availability zones: ranks in two of them cannot connect",
        hypothesis_only=not failed,
        confirming="whether ranks of this job ran in both zones",
        evidence=(view.instances.evidence,) if view.instances else (),
    )


def _without_efa(view: NetworkView) -> tuple[PodRequest, ...]:
    return tuple(one for one in view.pods if not one.efa)


def _offered(view: NetworkView) -> tuple[int, ...]:
    return tuple(sorted({one.efa_allocatable for one in view.nodes if one.efa_allocatable}))


def _request_signals(view: NetworkView, run: Run | None) -> Iterator[Signal]:
    missing = _without_efa(view)
    if not missing or not (_offered(view) or view.is_efa_capable):
        return
    if view.failure.symptom not in OF_COMMUNICATION:
        return
    told = run.telling if run else ()
    sockets = [one for one in told if one.transport is Transport.SOCKET]
    if told and not sockets:  # the lines show another transport: the request was no obstacle
        return
    first = missing[0]
    offered = _offered(view)
    nodes = f"; nodes offer {listed([str(n) for n in offered])} each" if offered else ""
    yield Signal(
        branch=Branch.COMMUNICATION,
        kind="efa_not_requested",
        what=(
            f"container {first.container or '?'} of {first.kind} {first.name or '?'} "
            f"({first.file}) requests no {EFA_RESOURCE}{nodes}"
        ),
        resource=first.name,
        standing=True,
        mechanism=(
            "a container that does not request EFA gets no EFA device; libfabric finds no "
            "provider and NCCL falls back to sockets"
        ),
        hypothesis_only=not sockets or view.failure.symptom is not Symptom.SLOW,
        confirming="fi_info -p efa inside the container, with the request and without",
    )


def _rule_facts(readings: Sequence[RuleReading]) -> Iterator[str]:
    for one in readings:
        groups = listed(one.groups)
        if one.is_open:
            note = " by rules between different groups that the nodes carry" if one.is_cross else ""
            yield f"{groups} {one.direction.value}: all traffic to and from itself is open{note}"
        elif one.is_open is False:
            yield (
                f"{groups} {one.direction.value}: no rule for all traffic (IpProtocol -1) that "
                "names the same group itself"
            )
            yield from one.near
        else:
            yield f"{groups} {one.direction.value}: not decided, a group's rules were not read"
    if readings:
        yield "network ACLs are not evaluated"


def _width_facts(view: NetworkView) -> Iterator[str]:
    by_width: dict[tuple[int, int | None, str], list[str]] = {}
    for node in view.nodes:
        row = view.attached.get(node.node)
        have = row.efa_attached if row else None
        if row is None or have is None or row.state in GONE_STATES:
            continue
        kind = node.instance_type or row.instance_type or "unknown type"
        by_width.setdefault((have, view.most_efa(kind), kind), []).append(node.node)
    for (have, most, kind), nodes in sorted(by_width.items(), key=lambda one: one[1]):
        full = ": full width, not the problem" if have and have == most else ""
        bound = f"{have} of {most}" if most is not None else f"{have} of an unknown maximum"
        yield f"{bound} EFA interfaces attached on {listed(nodes)} ({kind}){full}"
    hyperpod = [one.node for one in view.nodes if one.is_hyperpod]
    if hyperpod:
        yield "HyperPod nodes are not visible to EC2's API: attached EFA interfaces not observable"


def _request_facts(view: NetworkView) -> Iterator[str]:
    for one in view.pods:
        where = f"{one.kind} {one.name or ''} container {one.container or '?'} ({one.file})"
        offered = _offered(view)
        of = f" of {listed([str(n) for n in offered])} that a node offers" if offered else ""
        asked = f"{one.efa}{of}" if one.efa else f"none{of}"
        yield f"{where} requests {EFA_RESOURCE}: {asked}; nvidia.com/gpu: {one.gpus}"
        settings = dict(one.environment)
        if not one.efa and settings.get("FI_PROVIDER", "").lower().startswith("efa"):
            yield (
                "FI_PROVIDER=efa alone does not give a container EFA: it only restricts "
                f"libfabric's choice; the device comes with {EFA_RESOURCE}"
            )
        for name, values in _SOCKET_SETTINGS.items():
            if settings.get(name, "").lower() in values:
                yield f"{name}={settings[name]} in {where} forces a transport other than EFA"


def _route_facts(view: NetworkView) -> Iterator[str]:
    yield from _blackholes(view)
    tables = (view.routes.value if view.routes else None) or ()
    for table in tables:
        for route in table.routes:
            if (
                route.state != "blackhole"
                and route.destination == "0.0.0.0/0"
                and (route.target or "").startswith("igw-")
            ):
                yield (
                    f"{table.table}: default route to {route.target}; nodes with several network "
                    "cards get no public address there"
                )


def _blackholes(view: NetworkView) -> Iterator[str]:
    for table in (view.routes.value if view.routes else None) or ():
        for route in table.routes:
            if route.state == "blackhole":
                yield f"{table.table}: the route to {route.destination} is a blackhole"


def _change_facts(view: NetworkView) -> Iterator[str]:
    for one in (view.changes.value if view.changes else None) or ():
        word = "attempted, failed" if one.failed else "by"
        yield f"{stamp(one.at)} {one.name} on {one.group_id}, {word} {one.by or 'unknown'}"


def _unseen(
    view: NetworkView, readings: Sequence[RuleReading], *, failed: bool
) -> Iterator[NotSeen]:
    if failed and not any(one.is_open is False for one in readings):
        undecided = not readings or any(one.is_open is None for one in readings)
        envelope = view.groups
        if undecided:
            yield NotSeen(
                what="security group rules of the job's nodes, both directions",
                reason=(envelope.reason if envelope else None) or Reason.NOT_RECORDED,
                closes_with="ec2:DescribeSecurityGroups of the nodes' groups",
            )


def _actions(view: NetworkView, closed: Sequence[RuleReading]) -> Iterator[str]:
    for one in closed:
        groups = listed(one.groups)
        yield (
            f"add an {one.direction.value} rule for all traffic (IpProtocol -1) to {groups} that "
            f"names the group itself; it takes effect at the next connection: restart the job"
        )
    if closed:
        yield "EFA needs the self-referencing rule in both directions; keep the rules that exist"
    if _without_efa(view) and (_offered(view) or view.is_efa_capable):
        offered = _offered(view)
        count = str(offered[-1]) if offered else "all interfaces of the type"
        yield (
            f"set {EFA_RESOURCE}: {count} in requests and limits of the job's containers and add "
            "hugepages-2Mi; the image needs aws-ofi-nccl"
        )
