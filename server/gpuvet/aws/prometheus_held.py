"""Answers of Prometheus that lie in a case as files: the same series a workspace would give. Pure.

Somebody asked `query` or `query_range` by hand and saved what came. The metric's own name and a
label that names a node of the case are all that is needed of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from gpuvet.aws.door import NodeName
from gpuvet.aws.prometheus_answers import Samples, answer_of, page_of
from gpuvet.aws.prometheus_names import best_label, name_table
from gpuvet.aws.prometheus_queries import DEVICE_LABELS, NODE_READY
from gpuvet.model.evidence import evidence_id
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.prometheus import DeviceNumber
from gpuvet.parse.xid_line import pci_id

NAMESPACE = "Prometheus"
_USUAL_STEP = 60
_MOST_POINTS = 100_000


class HeldAnswer(NamedTuple):
    """One answer and the file it lay in."""

    file: str
    page: Mapping[str, Any]


def is_answer(document: object) -> bool:
    """Say whether a JSON document is an answer of `query` or `query_range`."""
    return page_of(document, "result") is not None


def held_series(held: Iterable[HeldAnswer], nodes: Sequence[NodeName]) -> tuple[TimeSeries, ...]:
    """Return the series of these answers that name a node, one a device.

    Several series of one device, as when its labels changed with the pod on it, are one: of
    values at one time the highest. What a step lacks is None, never zero.
    """
    table = name_table(nodes)
    folded: dict[MetricName, dict[float, float]] = defaultdict(dict)
    files: dict[MetricName, str] = {}
    for one in held:
        by_metric: dict[str, list[Samples]] = defaultdict(list)
        for samples in answer_of([one.page]).series:
            if _is_wanted(samples):
                by_metric[samples.labels.get("__name__", "")].append(samples)
        for metric, own in by_metric.items():
            _fold(metric, own, table, folded)
        files.update({name: one.file for name in folded if name not in files})
    return tuple(_series(name, points, files[name]) for name, points in folded.items())


def _is_wanted(one: Samples) -> bool:
    """Leave out what our own query would: of a node's conditions all but Ready."""
    is_condition = one.labels.get("__name__") == NODE_READY
    is_ready = one.labels.get("condition") == "Ready" and one.labels.get("status") == "true"
    return is_ready or not is_condition


def _fold(
    metric: str,
    series: Sequence[Samples],
    table: Mapping[str, str],
    folded: dict[MetricName, dict[float, float]],
) -> None:
    best = best_label(series, table) if metric else None
    if best is None:
        return
    label, values = best
    nodes = dict(values)
    for one in series:
        node = nodes.get(one.labels.get(label, ""))
        if node is None:
            continue
        points = folded[_name(metric, one, node, label)]
        for at, value in one.points:
            points[at] = max(value, points.get(at, value))


def _name(metric: str, one: Samples, node: str, label: str) -> MetricName:
    own = {n: one.labels[n] for n in DEVICE_LABELS if n in one.labels and n != label}
    gpu = own.get("gpu") or own.get("UUID") or own.get("pci_bus_id") or own.get("device")
    named = {"InstanceId": node, **({"GpuId": gpu} if gpu else {}), **own}
    return MetricName(namespace=NAMESPACE, metric=metric, dimensions=tuple(sorted(named.items())))


def _series(name: MetricName, points: Mapping[float, float], file: str) -> TimeSeries:
    times = sorted(points)
    steps = [b - a for a, b in pairwise(times)]
    step = max(1, round(median(steps))) if steps else _USUAL_STEP
    # A sample speaks for the period that ends with it.
    first = times[0] - step
    count = min(round((times[-1] - first) / step), _MOST_POINTS)
    values: list[float | None] = [None] * count
    for at in times:
        place = round((at - first) / step) - 1
        if 0 <= place < count:
            values[place] = points[at]
    return TimeSeries(
        name=name,
        stat="Maximum",
        period_seconds=step,
        start=datetime.fromtimestamp(first, UTC),
        values=tuple(values),
        evidence=evidence_id(
            account=None, region=None, operation="file", params=f"{file}#{name.metric}"
        ),
    )


def number_of(series: TimeSeries, kind: str) -> DeviceNumber | None:
    """Return one number of a series: grown, latest or highest; None where it has no sample."""
    values = [value for _, value in series.points()]
    if not values or (kind == "grown" and len(values) < 2):
        return None
    own = dict(series.name.dimensions)
    found = {
        "grown": sum(b if b < a else b - a for a, b in pairwise(values)),
        "latest": values[-1],
        "highest": max(values),
    }
    return DeviceNumber(
        metric=series.name.metric,
        node=own["InstanceId"],
        value=found[kind],
        gpu=own.get("gpu"),
        uuid=own.get("UUID"),
        pci=pci_id(own.get("pci_bus_id", "")),
        device=own.get("device"),
        evidence=series.evidence,
    )
