"""Branch D, GPU communication, from its four layers (incident-branches §D). Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta

from gpuvet.calculators.guilty import suspect_name
from gpuvet.calculators.layer_counters import counter_layer
from gpuvet.calculators.layer_links import LINK_XIDS, last_state, link_layer
from gpuvet.calculators.layer_setup import setup_layer
from gpuvet.calculators.layer_transport import transport_layer
from gpuvet.calculators.nccl_transport import Run, affected_run, read_runs
from gpuvet.calculators.network_view import Layer, NetworkView, stamp
from gpuvet.calculators.outliers import standings
from gpuvet.model.cause import Branch, BranchEvidence, EventKind, Signal, TimelineEvent
from gpuvet.model.network import GuiltyFinding, WatchdogKind

# Ours: entries of one kind that a timeline shows.
_MOST_TIMEOUTS = 64


def network_evidence(view: NetworkView, guilty: GuiltyFinding | None = None) -> BranchEvidence:
    """Return everything of branch D, before it is weighed against the others.

    Args:
        view: What was read.
        guilty: What the ranks say of each other.
    """
    runs = read_runs(view.log.lines, view.names)
    run = affected_run(runs, view.failure)
    earlier = [one for one in runs if run is not None and one is not run and _is_before(one, run)]
    layers = (
        transport_layer(view, run, earlier),
        link_layer(view),
        counter_layer(view),
        setup_layer(view, run),
    )
    signals = tuple(signal for layer in layers for signal in layer.signals)
    signals = (*_strongest_first(signals), *_straggler(view, guilty))
    proven = any(one.proven_by_rule for one in signals)
    unseen = tuple(one for layer in _deciding(layers, proven=proven) for one in layer.unseen)
    facts = tuple(fact for layer in layers for fact in layer.facts)
    return BranchEvidence(
        branch=Branch.COMMUNICATION,
        signals=signals,
        ruled_out=_ruled_out(layers, signals),
        deciding_unseen=tuple(dict.fromkeys(unseen)),
        confirming=next((one.closes_with for one in unseen), None),
        facts=tuple(dict.fromkeys((*facts, *_guilty_facts(guilty), *_peers_of_xids(view)))),
        actions=_actions(layers, guilty),
    )


def timeline_network(view: NetworkView) -> tuple[TimelineEvent, ...]:
    """Return transport, Fabric Manager, watchdog, EFA and rule changes as timeline entries."""
    runs = read_runs(view.log.lines, view.names)
    found = (
        *(_transports(runs)),
        *_fabric_events(view),
        *_watchdog_events(view),
        *_rule_events(view),
        *_counter_events(view),
    )
    return tuple(sorted(set(found), key=lambda one: (one.at, one.source, one.what)))


def _is_before(one: Run, run: Run) -> bool:
    return one.began is not None and run.began is not None and one.began < run.began


def _strongest_first(signals: Sequence[Signal]) -> tuple[Signal, ...]:
    """Order signals for a reader: what is proven, what counts, hints, effects."""
    return tuple(
        sorted(
            signals,
            key=lambda one: (
                not one.proven_by_rule,
                one.effect,
                one.hypothesis_only,
                one.at.isoformat() if one.at else "",
                one.kind,
                one.what,
            ),
        )
    )


def _deciding(layers: Sequence[Layer], *, proven: bool) -> Sequence[Layer]:
    """Return the layers whose blind spots can still change the answer.

    Where one layer proves the branch, neither counters nor further hosts can undo it.
    """
    return (layers[3],) if proven else layers


def _ruled_out(layers: Sequence[Layer], signals: Sequence[Signal]) -> str | None:
    """Return the sentence only where transport, links and counters were each seen clean."""
    if any(not one.effect for one in signals):
        return None
    if any(layer.unseen for layer in layers):
        return None
    needed = [layer.clean for layer in layers[:3]]
    if not all(needed):
        return None
    words = dict.fromkeys(one for one in (*needed, layers[3].clean) if one)
    return "; ".join(words)


def _straggler(view: NetworkView, guilty: GuiltyFinding | None) -> Iterator[Signal]:
    """Yield the node that all other ranks wait for: a hypothesis, never more."""
    if guilty is None or not guilty.suspects:
        return
    nodes = {one.node for one in guilty.suspects if one.node}
    first = guilty.suspects[0]
    at = view.failure.at
    yield Signal(
        branch=Branch.COMMUNICATION,
        kind="straggler",
        what=f"suspect {suspect_name(first)}: {'; '.join(first.why)}",
        resource=first.node or first.host or first.pod,
        node=first.node if len(nodes) == 1 else None,
        at=at,
        hypothesis_only=True,
        confirming=guilty.confirming,
        evidence=guilty.evidence,
    )


def _guilty_facts(guilty: GuiltyFinding | None) -> Iterator[str]:
    if guilty is None:
        return
    yield from guilty.facts
    for one in guilty.suspects[1:4]:
        yield f"also {suspect_name(one)}: {'; '.join(one.why)}"


def _peers_of_xids(view: NetworkView) -> Iterator[str]:
    """Yield counts of Xids that look alarming and are usual among the job's nodes, or are not."""
    counts: dict[int, Counter[str]] = {}
    for node in view.nodes:
        for event in node.records.xids:
            counts.setdefault(event.code, Counter())[node.node] += 1
    for code in sorted(counts):
        values = {one.node: float(counts[code][one.node]) for one in view.nodes}
        found = standings(values)
        most = max(found, key=lambda one: (one.value, one.peer), default=None)
        if most is not None and most.value >= 10 and (most.stands_out or code not in LINK_XIDS):
            yield f"Xid {code}: {most.sentence}"


def _actions(layers: Sequence[Layer], guilty: GuiltyFinding | None) -> tuple[str, ...]:
    found = [action for layer in layers for action in layer.actions]
    if guilty is not None and guilty.suspects:
        found.append(f"look at {suspect_name(guilty.suspects[0])} first, not at who reported")
    return tuple(dict.fromkeys(found))


def _transports(runs: Sequence[Run]) -> Iterator[TimelineEvent]:
    for run in runs:
        for one in run.hosts:
            if one.at is not None and one.transport is not None:
                yield TimelineEvent(
                    at=one.at,
                    source="job log",
                    what=f"NCCL on {one.host}: {one.transport.value} by `{one.said}`",
                    node=one.node,
                    code="nccl transport",
                    stream=one.streams[0] if one.streams else None,
                    evidence=one.evidence[:1],
                )
        for line in run.errors[:20]:
            if line.at is not None:
                yield TimelineEvent(
                    at=line.at,
                    source="job log",
                    what=f"NCCL error on {line.host or line.stream}: `{line.said[:120]}`",
                    node=line.node or None,
                    code="nccl error",
                    stream=line.stream,
                    evidence=(line.evidence,),
                )


def _fabric_events(view: NetworkView) -> Iterator[TimelineEvent]:
    for node in view.nodes:
        line = last_state(node, view.failure.at)
        for one in dict.fromkeys(x for x in (line, *node.records.fabric_manager[:4]) if x):
            if one.at is not None:
                yield TimelineEvent(
                    at=one.at,
                    source="kernel",
                    what=f"Fabric Manager {one.state.value.replace('_', ' ')} on {node.node}",
                    node=node.node,
                    code=f"fabric manager {one.state.value}",
                    stream=one.stream,
                    evidence=(one.evidence,),
                )


def _watchdog_events(view: NetworkView) -> Iterator[TimelineEvent]:
    seen: set[tuple[int | None, int | None]] = set()
    for line in view.log.watchdog:
        key = (line.rank, line.sequence)
        if line.at is None or line.kind is not WatchdogKind.TIMEOUT or key in seen:
            continue
        seen.add(key)
        began = ""
        if line.timeout_ms:
            start = line.at - timedelta(milliseconds=line.timeout_ms)
            began = f", waiting since {stamp(start)}"
        yield TimelineEvent(
            at=line.at,
            source="job log",
            what=(
                f"rank {line.rank} timed out in {line.operation or 'a collective'} "
                f"{line.sequence if line.sequence is not None else ''}{began}"
            ).replace(" ,", ","),
            node=line.node or None,
            code="nccl watchdog",
            stream=line.stream,
            evidence=(line.evidence,),
        )
        if len(seen) >= _MOST_TIMEOUTS:
            return


def _rule_events(view: NetworkView) -> Iterator[TimelineEvent]:
    for one in (view.changes.value if view.changes else None) or ():
        yield TimelineEvent(
            at=one.at,
            source="cloudtrail",
            kind=EventKind.ATTEMPT if one.failed else EventKind.SEEN,
            what=f"{one.name} on {one.group_id} by {one.by or 'unknown'}",
            resource=one.group_id,
            code=one.name,
            evidence=(one.evidence,) if one.evidence else (),
        )


def _counter_events(view: NetworkView) -> Iterator[TimelineEvent]:
    for signal in counter_layer(view).signals:
        if signal.at is not None:
            yield TimelineEvent(
                at=signal.at,
                precision_seconds=signal.precision_seconds,
                until=signal.until,
                source="efa",
                what=signal.what,
                node=signal.node,
                code="efa errors",
                evidence=signal.evidence,
            )
