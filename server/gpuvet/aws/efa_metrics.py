"""EFA error counters in CloudWatch: which exist, and their points over a window.

The CloudWatch agent publishes `efa_*` under CWAgent. Series are discovered, never guessed: one
that is not listed was not published, which is no zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope, Status, Window
from gpuvet.model.network import EfaPoint, EfaSeries
from gpuvet.model.untyped import is_array, is_number, objects_at, text_at
from gpuvet.parse.efa_names import ERROR_COUNTERS, counter_name

NAMESPACE = "CWAgent"
_PERIOD = 60
# AWS's API reference: a call gives 100,800 points and takes 500 queries; 24 h of minutes are 1,440.
_MOST_POINTS = 100_800
_MOST_QUERIES = 500
_DEVICE_KEYS = ("device", "interface", "name", "port")


class _Metric(NamedTuple):
    name: str
    counter: str
    dimensions: tuple[tuple[str, str], ...]

    @property
    def node(self) -> str | None:
        return dict(self.dimensions).get("InstanceId")

    @property
    def device(self) -> str | None:
        own = dict(self.dimensions)
        return next((own[key] for key in _DEVICE_KEYS if key in own), None)


def read_efa_series(
    door: AwsDoor, nodes: Sequence[str], window: Window
) -> Envelope[tuple[EfaSeries, ...]]:
    """Return the error counters of these nodes, a point a minute.

    An empty value with OK_EMPTY means that none is published, not that none rose.
    """
    listed = door.read("cloudwatch:ListMetrics", {"Namespace": NAMESPACE})
    metrics = sorted(_metrics(listed, frozenset(nodes)))
    if not listed.status.is_complete or not metrics:
        status = Status.OK_EMPTY if listed.status.is_complete else listed.status
        return _envelope(listed, status, ())
    size = max(1, min(_MOST_QUERIES, _MOST_POINTS // _points_of(window)))
    found: list[EfaSeries] = []
    whole: Envelope[Any] = listed
    for at in range(0, len(metrics), size):
        part = metrics[at : at + size]
        answer = door.read("cloudwatch:GetMetricData", _query(part, window))
        whole = whole if answer.status.is_complete else answer
        found += _series(part, answer)
    return _envelope(whole, Status.OK if whole.status.is_complete else whole.status, tuple(found))


def _metrics(answer: Envelope[Any], nodes: frozenset[str]) -> Iterator[_Metric]:
    for page in answer.value or ():
        for row in objects_at(page, "Metrics"):
            name = text_at(row, "MetricName") or ""
            counter = counter_name(name)
            dimensions = tuple(
                sorted(
                    (text_at(one, "Name") or "", text_at(one, "Value") or "")
                    for one in objects_at(row, "Dimensions")
                )
            )
            metric = _Metric(name, counter or "", dimensions)
            if counter in ERROR_COUNTERS and metric.node in nodes:
                yield metric


def _points_of(window: Window) -> int:
    return max(1, int((window.end - window.start).total_seconds() // _PERIOD))


def _query(metrics: Sequence[_Metric], window: Window) -> Mapping[str, Any]:
    queries = [
        {
            "Id": f"m{place}",
            "MetricStat": {
                "Metric": {
                    "Namespace": NAMESPACE,
                    "MetricName": one.name,
                    "Dimensions": [{"Name": k, "Value": v} for k, v in one.dimensions],
                },
                "Period": _PERIOD,
                "Stat": "Maximum",
            },
            "ReturnData": True,
        }
        for place, one in enumerate(metrics)
    ]
    return {
        "MetricDataQueries": queries,
        "StartTime": window.start,
        "EndTime": window.end,
        "ScanBy": "TimestampAscending",
    }


def _series(metrics: Sequence[_Metric], answer: Envelope[Any]) -> Iterator[EfaSeries]:
    points: dict[str, list[EfaPoint]] = {}
    for page in answer.value or ():
        for row in objects_at(page, "MetricDataResults"):
            points.setdefault(text_at(row, "Id") or "", []).extend(_points(row))
    for place, metric in enumerate(metrics):
        own = points.get(f"m{place}")
        if own:
            yield EfaSeries(
                counter=metric.counter,
                node=metric.node,
                device=metric.device,
                period_seconds=_PERIOD,
                points=tuple(sorted(own, key=lambda one: one.at)),
                source=f"CloudWatch {NAMESPACE} {metric.name}",
                evidence=answer.evidence,
            )


def _points(row: Mapping[str, Any]) -> Iterator[EfaPoint]:
    times, values = row.get("Timestamps"), row.get("Values")
    if not is_array(times) or not is_array(values):
        return
    for time, value in zip(times, values, strict=False):
        at: datetime | None = as_datetime(time)
        if at is not None and is_number(value):
            yield EfaPoint(at=at, value=float(value))


def _envelope(
    answer: Envelope[Any], status: Status, value: tuple[EfaSeries, ...]
) -> Envelope[tuple[EfaSeries, ...]]:
    fields = {
        name: getattr(answer, name)
        for name in Envelope.model_fields
        if name not in {"value", "status"}
    }
    read = status.is_complete or bool(value)
    return Envelope[tuple[EfaSeries, ...]](**fields, status=status, value=value if read else None)
