"""Layer 3 of branch D: EFA's error counters, before or after the failure began. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gpuvet.calculators.efa_counters import Episode, episodes
from gpuvet.calculators.network_view import Layer, NetworkView, count_of, listed, stamp
from gpuvet.calculators.outliers import outliers
from gpuvet.model.cause import Branch, Signal
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason
from gpuvet.model.network import EfaReading
from gpuvet.parse.efa_names import ERROR_COUNTERS, WEAK_COUNTERS

_MECHANISM = "errors of the EFA device delay or break what the ranks send each other"
_TWICE = "read the counters twice, 60 s apart, on the nodes named: rdma -p statistic show"


def counter_layer(view: NetworkView) -> Layer:
    """Return episodes and single readings of EFA's error counters."""
    if not view.is_multi_node or view.is_efa_capable is False:
        return Layer(clean="EFA is not in use between nodes")
    series = (view.series.value if view.series else None) or ()
    found = [
        one
        for row in series
        if row.counter in ERROR_COUNTERS
        for one in episodes(row, view.since, view.failure.at)
    ]
    signals = (*_episodes(view, found), *_readings(view))
    return Layer(
        signals=signals,
        facts=(*_facts(view, found), *_standing_out(view)),
        clean=_clean(view, signals),
        unseen=tuple(_unseen(view)),
    )


def _episodes(view: NetworkView, found: Sequence[Episode]) -> Iterator[Signal]:
    by_node: dict[str | None, list[Episode]] = defaultdict(list)
    for one in found:
        by_node[one.node].append(one)
    for node in sorted(by_node, key=str):
        first = min(by_node[node], key=lambda one: (one.start, one.counter))
        period = (first.end - first.start).total_seconds() or 60.0
        is_after = view.failure.at is not None and first.start >= view.failure.at
        yield Signal(
            branch=Branch.COMMUNICATION,
            kind="efa_errors",
            what=(
                f"EFA {first.counter} rose by {first.total:,.0f} on {node or 'an unnamed node'} "
                f"from {stamp(first.start)} to {stamp(first.end)}, at most "
                f"{first.most_per_minute:,.0f} a minute; bar {first.bar_per_minute:,.0f} a minute "
                f"({first.baseline})"
            ),
            resource=node,
            node=node,
            at=first.start,
            precision_seconds=min(period, 60.0),
            until=first.end,
            affected=node is None or node in {one.node for one in view.nodes},
            mechanism=_MECHANISM,
            effect=is_after,
            confirming=_TWICE,
            evidence=tuple(dict.fromkeys(e.evidence for e in by_node[node] if e.evidence)),
        )


def _readings(view: NetworkView) -> Iterator[Signal]:
    by_counter: dict[str, list[EfaReading]] = defaultdict(list)
    for one in view.readings:
        if one.counter in ERROR_COUNTERS and one.value > 0:
            by_counter[one.counter].append(one)
    for counter in sorted(by_counter):
        rows = sorted(by_counter[counter], key=lambda one: (-one.value, str(one.node)))
        words = [f"{one.value:,.0f} on {one.node or one.device or one.file}" for one in rows]
        yield Signal(
            branch=Branch.COMMUNICATION,
            kind="efa_counter_read",
            what=f"EFA {counter} as read once: {listed(words)}; when it rose is not known",
            resource=rows[0].node,
            node=rows[0].node if len(rows) == 1 else None,
            mechanism=_MECHANISM,
            hypothesis_only=True,
            confirming=_TWICE,
        )


def _facts(view: NetworkView, found: Sequence[Episode]) -> Iterator[str]:
    after = [one for one in found if view.failure.at and one.start >= view.failure.at]
    if after:
        yield (
            f"{len(after)} EFA error episode{'' if len(after) == 1 else 's'} began after the "
            "failure: an effect, no cause"
        )
    weak = [one for one in view.readings if one.counter in WEAK_COUNTERS and one.value > 0]
    if weak:
        words = [f"{one.counter} {one.value:,.0f} on {one.node or one.file}" for one in weak]
        yield f"retransmissions alone are weak evidence: {listed(words)}"
    silent = [one for one in found if one.counter == "unresponsive_remote_events"]
    if silent:
        nodes = sorted({one.node or "?" for one in silent})
        yield (
            f"unresponsive_remote_events is counted by the side that waits ({listed(nodes)}): "
            "which peer did not answer needs the peer's name from the job's lines"
        )


def _standing_out(view: NetworkView) -> Iterator[str]:
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in view.readings:
        if one.node is not None and one.counter in ERROR_COUNTERS:
            sums[one.counter][one.node] += one.value
    for counter in sorted(sums):
        for standing in outliers(sums[counter]):
            yield f"EFA {counter}: {standing.sentence}"


def _clean(view: NetworkView, signals: Sequence[Signal]) -> str | None:
    if signals:
        return None
    read = _clean_readings(view)
    if read is not None:
        return read
    series = view.series
    if series is None or not series.status.is_complete or not series.value:
        return None
    nodes = {one.node for one in series.value} & {one.node for one in view.nodes}
    if len(nodes) < len(view.nodes):
        return None
    names = sorted({one.counter for one in series.value})
    return f"EFA {listed(names)} below the bar on {count_of(len(nodes), len(view.nodes), 'node')}"


def _clean_readings(view: NetworkView) -> str | None:
    """Return zero counters as read with status OK; one that was not read is no zero."""
    for one in view.clean:
        values = (one.efa_retrans_timeout_events, one.efa_unresponsive_remote_events)
        if all(value == 0 for value in values):
            return "EFA retrans_timeout_events 0 and unresponsive_remote_events 0, as read"
    nodes = {one.node for one in view.readings if one.counter in ERROR_COUNTERS}
    if view.nodes and {one.node for one in view.nodes} <= nodes:
        return f"EFA error counters 0 on {count_of(len(view.nodes), len(view.nodes), 'node')}"
    return None


def _unseen(view: NetworkView) -> Iterator[NotSeen]:
    has_clean = any(one.efa_retrans_timeout_events is not None for one in view.clean)
    series = view.series
    if view.readings or has_clean or (series and series.value and series.status.is_complete):
        return
    reason = series.reason if series and series.reason else Reason.NOT_RECORDED
    yield NotSeen(
        what="EFA error counters of the job's nodes over time",
        reason=reason,
        closes_with=(
            "publish efa_* with the CloudWatch agent (or node_amazonefa_* to Managed Prometheus), "
            "or read them now: rdma -p statistic show"
        ),
        nodes=tuple(one.node for one in view.nodes),
    )
