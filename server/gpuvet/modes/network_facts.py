"""What a case's own tables, manifests and pods say of the network, as values."""

from collections.abc import Iterator
from datetime import timedelta

from gpuvet.case import Case
from gpuvet.model.case import Leaf, MetricSeries, MetricSpan, OperatorFacts, Summary
from gpuvet.model.events import Source
from gpuvet.model.network import (
    EfaPoint,
    EfaReading,
    EfaSeries,
    PeerComplaint,
    PodRequest,
)
from gpuvet.model.untyped import is_number, object_at, text_at
from gpuvet.parse.efa_names import counter_name
from gpuvet.parse.pod_requests import pod_requests, read_pod_requests
from gpuvet.parse.wrappers import instance_id

_NODE_DIMENSIONS = ("InstanceId", "instance", "node", "NodeName")
_PERIOD = 60
_MOST_POINTS = 10_000  # of one span: a week of minutes
_BEFORE = frozenset({"before", "first", "start", "baseline"})
_AFTER = frozenset({"after", "last", "end", "now"})
_POD_KEYS = frozenset({"name", "pod", "pod_name", "podName"})
_NODE_KEYS = frozenset({"node", "nodeName", "node_name", "instance", "instance_id", "host"})
_PEER_KEYS = ("peer", "remote", "unresponsive_peer", "peer_host_id", "peer_node")


def efa_readings(case: Case) -> tuple[EfaReading, ...]:
    """Return EFA counters that are one number each: read on a node, or an extreme of a window."""
    read = (
        EfaReading(counter=name, value=one.value, node=one.node, device=one.device, file=one.file)
        for one in case.facts.efa_counters
        if (name := counter_name(one.name)) is not None
    )
    extremes = (
        EfaReading(counter=name, value=span.value, node=_node(series), file=series.file)
        for series in case.metrics
        if (name := counter_name(series.metric)) is not None
        for span in series.spans
        if span.start is None
    )
    return (*read, *extremes, *_rises(case.facts))


def _rises(facts: OperatorFacts) -> Iterator[EfaReading]:
    """Yield how much a counter rose where a table gives it twice, before and after."""
    for summary in facts.summaries:
        pairs: dict[tuple[str, ...], dict[bool, float]] = {}
        for leaf in summary.leaves:
            word = leaf.path[-1].lower() if leaf.path else ""
            if is_number(leaf.value) and word in _BEFORE | _AFTER:
                pairs.setdefault(leaf.path[:-1], {})[word in _AFTER] = float(leaf.value)
        for path, values in sorted(pairs.items()):
            name = next((found for part in path if (found := counter_name(part))), None)
            node = next((part for part in path if instance_id(part) == part), None)
            if name is not None and len(values) == 2:
                rise = max(values[True] - values[False], 0.0)
                yield EfaReading(counter=name, value=rise, node=node, file=summary.file)


def efa_series(case: Case) -> tuple[EfaSeries, ...]:
    """Return EFA counters that a case gives over time."""
    return tuple(
        EfaSeries(
            counter=name,
            node=_node(series),
            device=dict(series.dimensions).get("device"),
            period_seconds=_period(series),
            points=points,
            source=series.file,
        )
        for series in case.metrics
        if (name := counter_name(series.metric)) is not None and (points := tuple(_points(series)))
    )


def _node(series: MetricSeries) -> str | None:
    own = dict(series.dimensions)
    return next((own[key] for key in _NODE_DIMENSIONS if key in own), None)


def _period(series: MetricSeries) -> int:
    return next((one.period_seconds for one in series.spans if one.period_seconds), _PERIOD)


def _points(series: MetricSeries) -> Iterator[EfaPoint]:
    dated = [one for one in series.spans if one.start is not None]
    for span in sorted(dated, key=lambda one: str(one.start)):
        yield from _span(span)


def _span(span: MetricSpan) -> Iterator[EfaPoint]:
    step = timedelta(seconds=span.period_seconds or _PERIOD)
    at, end = span.start, span.end
    for _ in range(_MOST_POINTS):
        if at is None or (end is not None and at >= end):
            return
        yield EfaPoint(at=at, value=span.value)
        if end is None:
            return
        at += step


def requests_of(case: Case) -> tuple[PodRequest, ...]:
    """Return what the containers of manifests and pods ask for; a pod as seen wins over neither."""
    written = (one for text in case.manifests for one in read_pod_requests(text.text, text.file))
    seen = (
        one
        for thing in case.kube
        if thing.kind == "Pod"
        for one in pod_requests(thing.body, thing.file)
    )
    return tuple(dict.fromkeys((*written, *seen)))


def pod_nodes(case: Case) -> dict[str, str]:
    """Return on which node each pod ran: Kubernetes objects first, then tables of pods."""
    found: dict[str, str] = {}
    for summary in case.facts.summaries:
        found.update(_pods_of(summary))
    for thing in case.kube:
        if thing.kind == "Pod":
            pod = text_at(object_at(thing.body, "metadata"), "name")
            node = text_at(object_at(thing.body, "spec"), "nodeName")
            if pod and node:
                found[pod] = node
    return found


def _pods_of(summary: Summary) -> Iterator[tuple[str, str]]:
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for leaf in summary.leaves:
        if not leaf.path or not isinstance(leaf.value, str):
            continue
        *above, key = leaf.path
        rows.setdefault(tuple(above), {})[key] = leaf.value
    for path, row in sorted(rows.items()):
        pod = next((row[key] for key in sorted(_POD_KEYS & row.keys())), None)
        node = next((row[key] for key in sorted(_NODE_KEYS & row.keys())), None)
        if node is not None and (pod or path):
            yield pod or path[-1], node
        if "pods" in path or summary.name == "pods":
            yield from (
                (key, value) for key, value in sorted(row.items()) if instance_id(value) == value
            )


def told_complaints(facts: OperatorFacts) -> Iterator[PeerComplaint]:
    """Yield peers that a table of EFA counters names beside a node."""
    for summary in facts.summaries:
        if not summary.name.startswith("efa"):
            continue
        for place, leaf in enumerate(summary.leaves, start=1):
            found = _complaint(summary, leaf, place)
            if found is not None:
                yield found


def _complaint(summary: Summary, leaf: Leaf, place: int) -> PeerComplaint | None:
    key = next((part for part in reversed(leaf.path) if not part.isdigit()), "")
    if not isinstance(leaf.value, str) or key not in _PEER_KEYS:
        return None
    above = leaf.path[:-1]
    beside = (
        one.value
        for one in summary.leaves
        if one.path[:-1] == above and one.path[-1] in {"node", "instance_id", "id"}
    )
    under = (part for part in above if instance_id(part) == part)
    reporter = next((str(one) for one in beside if one), None) or next(under, None)
    return PeerComplaint(
        node="",
        stream=summary.file,
        line=place,
        raw=f"{'.'.join(leaf.path)}: {leaf.value}",
        source=Source.USER_SPACE,
        reporter=reporter,
        peer=leaf.value,
        error="named in a table",
    )
