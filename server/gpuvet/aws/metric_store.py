"""A recorded store of CloudWatch metrics: series of equal periods, gaps where there was nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.untyped import is_object, object_at


class StoredSeries(NamedTuple):
    """One metric with its dimensions; None is an hour without a datapoint, never zero."""

    namespace: str
    metric: str
    dimensions: tuple[tuple[str, str], ...]  # sorted by name
    period_s: int
    stat: str
    unit: str | None
    start: datetime
    values: tuple[float | None, ...]

    def points(self, start: datetime, end: datetime) -> list[tuple[datetime, float]]:
        """Return the datapoints of [start, end), oldest first."""
        step = timedelta(seconds=self.period_s)
        times = (self.start + step * place for place in range(len(self.values)))
        pairs = zip(times, self.values, strict=True)
        return [(at, value) for at, value in pairs if value is not None and start <= at < end]


def read_metric_store(raw: Iterable[Mapping[str, Any]]) -> tuple[StoredSeries, ...]:
    """Return the series of a scenario's `metric_store`.

    Raises:
        ValueError: A series lacks a name, a start or a period that can be read.
    """
    return tuple(_series(one) for one in raw)


def _series(raw: Mapping[str, Any]) -> StoredSeries:
    start = as_datetime(raw.get("start"))
    if start is None:
        msg = f"a metric series needs a start in ISO 8601, not {raw.get('start')!r}"
        raise ValueError(msg)
    return StoredSeries(
        namespace=str(raw["namespace"]),
        metric=str(raw["metric"]),
        dimensions=tuple(sorted((k, str(v)) for k, v in object_at(raw, "dimensions").items())),
        period_s=int(raw["period"]),
        stat=str(raw["stat"]),
        unit=raw.get("unit"),
        start=start,
        values=tuple(None if v is None else float(v) for v in raw["values"]),
    )


def list_metrics(store: Sequence[StoredSeries], params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the `Metrics` of ListMetrics: by namespace, name and dimensions, each once."""
    wanted = [(d.get("Name"), d.get("Value")) for d in params.get("Dimensions") or ()]
    seen: dict[tuple[str, str, tuple[tuple[str, str], ...]], None] = {}
    for series in store:
        if params.get("Namespace") not in {None, series.namespace}:
            continue
        if params.get("MetricName") not in {None, series.metric}:
            continue
        has = dict(series.dimensions)
        if all(name in has and value in {None, has[name]} for name, value in wanted):
            seen[series.namespace, series.metric, series.dimensions] = None
    return [
        {"Namespace": namespace, "MetricName": metric, "Dimensions": _dimensions(dimensions)}
        for namespace, metric, dimensions in seen
    ]


def _dimensions(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in pairs]


class NotServed(ValueError):
    """A metric query that the store cannot answer."""


def metric_data(store: Sequence[StoredSeries], params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the `MetricDataResults` of GetMetricData.

    A metric the store lacks has no datapoints, as the service answers. A longer period is
    rolled up where the statistic allows it.

    Raises:
        NotServed: An expression, or a statistic that the recorded one does not give.
    """
    start, end = as_datetime(params.get("StartTime")), as_datetime(params.get("EndTime"))
    if start is None or end is None:
        raise NotServed("GetMetricData wants StartTime and EndTime")
    ascending = params.get("ScanBy") == "TimestampAscending"
    results: list[dict[str, Any]] = []
    for query in params.get("MetricDataQueries") or ():
        points = _points(store, query, start, end)
        points.sort(reverse=not ascending)
        if query.get("ReturnData", True):
            results.append(_result(query, points))
    return results


def _result(query: Mapping[str, Any], points: Sequence[tuple[datetime, float]]) -> dict[str, Any]:
    label = query.get("Label") or query["MetricStat"]["Metric"]["MetricName"]
    return {
        "Id": query["Id"],
        "Label": label,
        "Timestamps": [at for at, _ in points],
        "Values": [value for _, value in points],
        "StatusCode": "Complete",
    }


def _points(
    store: Sequence[StoredSeries], query: Mapping[str, Any], start: datetime, end: datetime
) -> list[tuple[datetime, float]]:
    wanted = query.get("MetricStat")
    if not is_object(wanted):
        msg = f"the expression of {query.get('Id')!r} is not recorded; only MetricStat is served"
        raise NotServed(msg)
    metric = wanted["Metric"]
    pairs = tuple(sorted((d["Name"], d["Value"]) for d in metric.get("Dimensions") or ()))
    name = (metric["Namespace"], metric["MetricName"], pairs)
    same = [s for s in store if (s.namespace, s.metric, s.dimensions) == name]
    if not same:
        return []
    series = next((s for s in same if s.stat == wanted["Stat"]), None)
    if series is None:
        msg = f"{name[1]} is recorded as {same[0].stat}, not as {wanted['Stat']}"
        raise NotServed(msg)
    points = series.points(start, end)
    period = int(wanted["Period"])
    return points if period <= series.period_s else _rolled_up(points, period, series.stat)


_ROLL_UP: Mapping[str, Callable[[Iterable[float]], float]] = {
    "Maximum": max,
    "Minimum": min,
    "Sum": sum,
    "SampleCount": sum,
}


def _rolled_up(
    points: Sequence[tuple[datetime, float]], period_s: int, stat: str
) -> list[tuple[datetime, float]]:
    buckets: dict[datetime, list[float]] = {}
    for at, value in points:
        offset = timedelta(seconds=at.timestamp() % period_s)
        buckets.setdefault(at - offset, []).append(value)
    if stat == "Average":  # of equal periods, so the mean of means is the mean
        return [(at, sum(values) / len(values)) for at, values in buckets.items()]
    if stat not in _ROLL_UP:
        msg = f"{stat} of a longer period does not follow from the recorded one"
        raise NotServed(msg)
    return [(at, _ROLL_UP[stat](values)) for at, values in buckets.items()]
