"""Metric tables that lie in a case, as the same series that CloudWatch gives."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from gpuvet.model.case import MetricSeries, MetricSpan
from gpuvet.model.evidence import Status, evidence_id
from gpuvet.model.metrics import MetricName, TimeSeries

# What a table leaves out, people take from the dimensions.
_NAMESPACE_OF = (("FileSystemId", "AWS/FSx"), ("InstanceId", "AWS/EC2"))
_UNNAMED = ""
_USUAL_PERIOD = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_POINTS = 200_000


def told_series(tables: Iterable[MetricSeries]) -> tuple[TimeSeries, ...]:
    """Return the series of a case's metric tables.

    A span is one datapoint per period with that value; a value without time is the extreme over
    the window. Periods that no span names have no datapoint.
    """
    return tuple(_series(table) for table in tables)


def _series(table: MetricSeries) -> TimeSeries:
    timed = [span for span in table.spans if span.start is not None and span.end is not None]
    untimed = [span.value for span in table.spans if span.start is None]
    period = next((s.period_seconds for s in table.spans if s.period_seconds), _USUAL_PERIOD)
    stat = (table.statistic or "").split(" ")[0] or "Maximum"
    start, values = _on_grid(timed, period)
    return TimeSeries(
        name=_name(table),
        stat=stat,
        period_seconds=period,
        start=start,
        values=values,
        extreme=_extreme(untimed, stat),
        unit=table.unit,
        status=Status.OK if table.spans else Status.OK_EMPTY,
        evidence=evidence_id(
            account=None, region=None, operation="file", params=f"{table.file}#{table.metric}"
        ),
    )


def _name(table: MetricSeries) -> MetricName:
    has = dict(table.dimensions)
    by_dimension = (space for dimension, space in _NAMESPACE_OF if dimension in has)
    namespace = table.namespace or next(by_dimension, _UNNAMED)
    return MetricName(namespace=namespace, metric=table.metric, dimensions=table.dimensions)


def _extreme(values: Sequence[float], stat: str) -> float | None:
    if not values:
        return None
    return min(values) if stat == "Minimum" else max(values)


def _on_grid(spans: Sequence[MetricSpan], period: int) -> tuple[datetime, tuple[float | None, ...]]:
    known = [(s.start, s.end, s.value) for s in spans if s.start is not None and s.end is not None]
    if not known:
        return _EPOCH, ()
    first = min(start for start, _, _ in known)
    last = max(end for _, end, _ in known)
    count = min(-(-int((last - first).total_seconds()) // period), _MOST_POINTS)
    values: list[float | None] = [None] * count
    step = timedelta(seconds=period)
    for start, end, value in known:
        place = -(-(start - first) // step)
        while place < count and first + place * step < end:
            values[place] = value
            place += 1
    return first, tuple(values)
