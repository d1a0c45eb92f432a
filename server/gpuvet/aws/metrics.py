"""CloudWatch metrics through the AWS door: what exists, and its values over time.

Dimensions are what ListMetrics returns, never guessed. A query that failed, was cut or was not
recorded gives a series with that status and no values, never an empty one that looks complete.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.untyped import is_array, is_number, objects_at, text_at

# GetMetricData: at most 500 queries and 100,800 datapoints a call.
MOST_QUERIES = 500
MOST_DATAPOINTS = 100_800
# CloudWatch keeps 60 s points 15 days, 300 s points 63 days, 3600 s points 455 days
# (AWS's API reference, botocore model).
_KEPT = ((timedelta(days=15), 60), (timedelta(days=63), 300))
_OLDEST_PERIOD = 3600
# Ours: a grid longer than this is somebody's mistake about the window.
_MOST_POINTS = 200_000


class Wanted(NamedTuple):
    """One series to read."""

    name: MetricName
    stat: str  # Maximum, Minimum, Sum, Average, SampleCount


class _Outcome(NamedTuple):
    points: Mapping[datetime, float]
    status: Status
    reason: Reason | None = None


def list_metrics(
    door: AwsDoor, namespace: str, metric: str | None = None
) -> Envelope[tuple[MetricName, ...]]:
    """Return every metric of a namespace that had a datapoint in the last 14 days.

    Args:
        door: The AWS door.
        namespace: e.g. AWS/FSx.
        metric: Only metrics of this name.
    """
    params = {"Namespace": namespace} | ({"MetricName": metric} if metric else {})
    answer = door.read("cloudwatch:ListMetrics", params)
    found = {
        name: None
        for page in answer.value or ()
        for row in objects_at(page, "Metrics")
        if (name := _metric_name(row)) is not None
        and name.namespace == namespace
        and metric in {None, name.metric}
    }
    return _with_value(answer, tuple(found))


def _metric_name(row: Mapping[str, Any]) -> MetricName | None:
    namespace, metric = text_at(row, "Namespace"), text_at(row, "MetricName")
    if namespace is None or metric is None:
        return None
    pairs = ((text_at(d, "Name"), text_at(d, "Value")) for d in objects_at(row, "Dimensions"))
    dimensions = tuple(sorted((name, value) for name, value in pairs if name and value))
    return MetricName(namespace=namespace, metric=metric, dimensions=dimensions)


def _with_value(
    answer: Envelope[Any], value: tuple[MetricName, ...]
) -> Envelope[tuple[MetricName, ...]]:
    is_empty = answer.status is Status.OK and not value
    return Envelope[tuple[MetricName, ...]](
        service=answer.service,
        operation=answer.operation,
        account=answer.account,
        region=answer.region,
        params=answer.params,
        called_at=answer.called_at,
        status=Status.OK_EMPTY if is_empty else answer.status,
        reason=answer.reason,
        error_code=answer.error_code,
        value=value if answer.value is not None or answer.status.is_complete else None,
        pages=answer.pages,
        notes=answer.notes,
    )


def finest_period(start: datetime, now: datetime) -> int:
    """Return the finest period, in seconds, at which CloudWatch still keeps points of a time."""
    age = now - start
    return next((period for kept, period in _KEPT if age <= kept), _OLDEST_PERIOD)


def read_series(
    door: AwsDoor, wanted: Sequence[Wanted], window: Window, period_seconds: int
) -> tuple[TimeSeries, ...]:
    """Return one series for each one wanted, in their order, each with its own status.

    Args:
        door: The AWS door.
        wanted: What to read; as many a call as queries and datapoints allow.
        window: Points whose period starts inside; its ends are rounded outwards to the period.
        period_seconds: 60, 300 or 3600; see `finest_period`.
    """
    aligned = _aligned(window, period_seconds)
    points = round((aligned.end - aligned.start).total_seconds() / period_seconds)
    size = max(1, min(MOST_QUERIES, MOST_DATAPOINTS // points))
    return tuple(
        series
        for first in range(0, len(wanted), size)
        for series in _batch(door, wanted[first : first + size], aligned, period_seconds)
    )


def _aligned(window: Window, period_seconds: int) -> Window:
    first = window.start.timestamp() // period_seconds * period_seconds
    last = -(-window.end.timestamp() // period_seconds) * period_seconds
    last = min(last, first + _MOST_POINTS * period_seconds)
    return Window(start=datetime.fromtimestamp(first, UTC), end=datetime.fromtimestamp(last, UTC))


def _batch(
    door: AwsDoor, wanted: Sequence[Wanted], window: Window, period_seconds: int
) -> Iterator[TimeSeries]:
    params = {
        "MetricDataQueries": [_query(i, one, period_seconds) for i, one in enumerate(wanted)],
        "StartTime": window.start,
        "EndTime": window.end,
        "ScanBy": "TimestampAscending",
    }
    answer = door.read("cloudwatch:GetMetricData", params)
    by_id = _results(answer)
    for place, one in enumerate(wanted):
        outcome = _outcome(by_id.get(f"m{place}", ()), answer)
        yield TimeSeries(
            name=one.name,
            stat=one.stat,
            period_seconds=period_seconds,
            start=window.start,
            values=_on_grid(outcome.points, window, period_seconds),
            status=outcome.status,
            reason=outcome.reason,
            evidence=answer.evidence,
        )


def _query(place: int, wanted: Wanted, period_seconds: int) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in wanted.name.dimensions]
    metric = {
        "Namespace": wanted.name.namespace,
        "MetricName": wanted.name.metric,
        "Dimensions": dimensions,
    }
    stat = {"Metric": metric, "Period": period_seconds, "Stat": wanted.stat}
    return {"Id": f"m{place}", "MetricStat": stat, "ReturnData": True}


def _results(answer: Envelope[Any]) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return the parts of each query's result; one query may go on over several pages."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for page in answer.value or ():
        for row in objects_at(page, "MetricDataResults"):
            found.setdefault(text_at(row, "Id") or "", []).append(row)
    return found


_BY_CODE: Mapping[str, tuple[Status, Reason]] = {
    "PartialData": (Status.PARTIAL, Reason.ROW_CAP),
    "InternalError": (Status.UNVERIFIED, Reason.UNREACHABLE),
    "Forbidden": (Status.UNVERIFIED, Reason.DENIED),
}


def _outcome(parts: Sequence[Mapping[str, Any]], answer: Envelope[Any]) -> _Outcome:
    points = {at: value for part in parts for at, value in _points(part)}
    if not answer.status.is_complete:
        return _Outcome(points, answer.status, answer.reason)
    if not parts:  # the service answers every query it was asked
        return _Outcome(points, Status.NOT_CHECKED, Reason.NOT_RECORDED)
    code = text_at(parts[-1], "StatusCode") or "Complete"
    if code != "Complete":
        return _Outcome(points, *_BY_CODE.get(code, (Status.PARTIAL, Reason.ROW_CAP)))
    return _Outcome(points, Status.OK if points else Status.OK_EMPTY)


def _points(part: Mapping[str, Any]) -> Iterator[tuple[datetime, float]]:
    times, values = part.get("Timestamps"), part.get("Values")
    if not is_array(times) or not is_array(values):
        return
    for time, value in zip(times, values, strict=False):
        at = as_datetime(time)
        if at is not None and is_number(value):
            yield at, float(value)


def _on_grid(
    points: Mapping[datetime, float], window: Window, period_seconds: int
) -> tuple[float | None, ...]:
    if not points:
        return ()
    count = round((window.end - window.start).total_seconds() / period_seconds)
    values: list[float | None] = [None] * count
    for at, value in points.items():
        place = int((at - window.start).total_seconds() // period_seconds)
        if 0 <= place < count:
            values[place] = value
    return tuple(values)
