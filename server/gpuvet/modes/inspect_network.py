"""How a cluster's nodes reach each other: rules, EFA, routes, addresses, what NCCL said."""

from collections.abc import Iterator
from datetime import datetime

from gpuvet.aws.capacity import read_subnets
from gpuvet.aws.hyperpod import read_cluster
from gpuvet.calculators.capacity_evidence import values
from gpuvet.calculators.layer_counters import counter_layer
from gpuvet.calculators.layer_setup import rule_readings, setup_layer, told_by_rows
from gpuvet.calculators.layer_transport import transport_layer
from gpuvet.calculators.nccl_transport import affected_run, read_runs
from gpuvet.calculators.network_view import Layer, NetworkView
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.capacity import Subnet
from gpuvet.model.cause import Signal
from gpuvet.model.evidence import Envelope
from gpuvet.model.inspection import NetworkRow, NetworkStatus
from gpuvet.modes.evidence import orchestrator_of
from gpuvet.modes.gather_network import network_view
from gpuvet.modes.inspect_storage import missing_rows, scope_of
from gpuvet.modes.inspection import Look, counts_of, cut, state_of, told, whole_of
from gpuvet.modes.window import Asked
from gpuvet.report.words import counted, utc

# preflight P14: fewer free addresses than this cannot replace a handful of nodes.
_FEW_ADDRESSES = 16
_LONGEST = 600
_ORDER = ("problem", "unknown", "hint", "told", "ok")


def network_status(case: Case, times: Asked, *, now: datetime) -> NetworkStatus:
    """Return what decides how nodes reach each other, problems first.

    Args:
        case: Where it is read.
        times: The window: of NCCL's lines, counters and changes of rules.
        now: The clock.
    """
    look = Look.at(case, times, now)
    nodes = nodes_of(look.case)
    scope = scope_of(look, nodes)
    view = network_view(look.case, scope)
    layers = _layers(view)
    found = [
        *_rules(view),
        *_addresses(_subnets(look, view)),
        *_routes(view),
        *_changes(view),
        *(row for name, layer in layers for row in _of_layer(name, layer, told_by_rows(view))),
    ]
    rows = tuple(sorted(dict.fromkeys(found), key=lambda row: _ORDER.index(row.state)))
    answers = look.answers()
    state = state_of(len(rows), whole_of(answers, beside=()))
    states = ", ".join(f"{n} {word}" for word, n in counts_of(r.state for r in rows).items())
    none = told(state, "nothing about the network was found", "the network is")
    common = look.common(len(rows), answers, state)
    unseen = tuple(dict.fromkeys(one for _, layer in layers for one in layer.unseen))
    common["not_seen"] = (*common["not_seen"], *missing_rows(unseen))
    return NetworkStatus(
        **common,
        headline=f"{counted(len(rows), 'finding')}: {states}" if rows else none,
        orchestrator=orchestrator_of(look.case, nodes).value,
        notes=_NOTES,
        rows=rows,
    )


_NOTES = (
    "network ACLs are not evaluated",
    "NVLink and Fabric Manager are judged by node_verdicts, from the driver's lines",
)


def _layers(view: NetworkView) -> tuple[tuple[str, Layer], ...]:
    """Return the layers between nodes; the one inside a node needs its driver's lines."""
    run = affected_run(read_runs(view.log.lines, view.names), view.failure)
    return (
        ("transport", transport_layer(view, run, ())),
        ("counters", counter_layer(view)),
        ("set-up", setup_layer(view, run)),
    )


def _of_layer(name: str, layer: Layer, told: frozenset[str]) -> Iterator[NetworkRow]:
    yield from (_signal(one) for one in layer.signals)
    for words in dict.fromkeys(layer.facts):
        if words not in told:
            yield NetworkRow(layer=name, subject="cluster", state="told", what=cut(words, _LONGEST))
    if layer.clean is not None:
        yield NetworkRow(layer=name, subject="cluster", state="ok", what=layer.clean)


def _signal(signal: Signal) -> NetworkRow:
    return NetworkRow(
        layer=signal.kind,
        subject=signal.resource or signal.node or "cluster",
        state="hint" if signal.hypothesis_only else "problem",
        what=cut(signal.what, _LONGEST),
        evidence=signal.evidence[:3],
    )


def _rules(view: NetworkView) -> Iterator[NetworkRow]:
    """Yield whether the nodes' groups let EFA through, in both directions."""
    evidence = (view.groups.evidence,) if view.groups is not None else ()
    for one in rule_readings(view):
        state = {True: "ok", False: "problem", None: "unknown"}[one.is_open]
        words = {
            True: "all traffic to and from the group itself is open",
            False: "no rule for all traffic (IpProtocol -1) that names the group itself: EFA "
            "between nodes needs one",
            None: "not decided: rules of a group were not read",
        }
        yield NetworkRow(
            layer="security groups",
            subject=", ".join(one.groups) or "the nodes' groups",
            state=state,
            what=f"{one.direction.value}: {words[one.is_open]}",
            evidence=evidence,
        )


def _subnets(look: Look, view: NetworkView) -> Envelope[tuple[Subnet, ...]] | None:
    """Return the subnets the nodes are in; None where no node tells one."""
    ids = {row.subnet for row in view.attached.values() if row.subnet}
    if any(node.is_hyperpod for node in view.nodes):
        cluster = read_cluster(look.aws, look.case.meta.cluster).value
        own = [s for group in cluster.groups for s in group.subnets] if cluster else []
        ids |= {*(cluster.subnets if cluster else ()), *own}
    return read_subnets(look.aws, sorted(ids)) if ids else None


def _addresses(subnets: Envelope[tuple[Subnet, ...]] | None) -> Iterator[NetworkRow]:
    for one in values(subnets):
        few = one.free is not None and one.free < _FEW_ADDRESSES
        free = "not told" if one.free is None else str(one.free)
        route = {True: "", False: "; no active default route", None: "; routes not read"}
        yield NetworkRow(
            layer="addresses",
            subject=one.id,
            state="problem" if few else "unknown" if one.free is None else "ok",
            what=f"{free} free IPv4 addresses in {one.zone_id or one.zone or 'a zone not told'}, "
            f"as read now{route[one.has_default_route]}",
            evidence=(one.evidence,) if one.evidence else (),
        )


def _routes(view: NetworkView) -> Iterator[NetworkRow]:
    for table in values(view.routes):
        for route in table.routes:
            if route.state == "blackhole":
                yield NetworkRow(
                    layer="routes",
                    subject=table.table,
                    state="problem",
                    what=f"the route to {route.destination} is a blackhole",
                    evidence=(view.routes.evidence,) if view.routes else (),
                )


def _changes(view: NetworkView) -> Iterator[NetworkRow]:
    for one in values(view.changes):
        word = "attempted, failed" if one.failed else "done"
        yield NetworkRow(
            layer="changes",
            subject=one.group_id,
            state="told",
            what=f"{utc(one.at)} {one.name} {word} by {one.by or 'unknown'}",
            evidence=(one.evidence,) if one.evidence else (),
        )
