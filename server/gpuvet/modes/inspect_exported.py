"""What exporters write to Managed Prometheus about GPUs and EFA, as rows of a look at metrics."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpuvet.aws.prometheus_queries import GPU_GROWN, GPU_HIGHEST, GPU_XID
from gpuvet.case import Case
from gpuvet.catalog.metric_families import Family
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Status, Window
from gpuvet.model.inspection import SeriesRow
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.network import EfaSeries
from gpuvet.model.prometheus import DeviceNumber, XidChange
from gpuvet.model.report import NotSeenRow
from gpuvet.modes.gather_efa import read_efa
from gpuvet.modes.gather_prometheus import read_activity, read_faults


class Exported(NamedTuple):
    """Rows, and what the exporters did not tell."""

    rows: tuple[SeriesRow, ...] = ()
    not_seen: tuple[NotSeenRow, ...] = ()


def read_exported(
    case: Case, family: Family, window: Window, nodes: Sequence[CaseNode]
) -> Exported:
    """Return what Managed Prometheus has of a family; nothing where it is not asked."""
    if family is Family.GPU:
        activity = read_activity(case, window, nodes)
        faults = read_faults(case, window, nodes)
        rows = (
            *(series_row(one, window) for one in activity.series),
            *(_number(one, window) for one in faults.numbers),
            *(_xid(one) for one in faults.xids),
        )
        return Exported(rows, _unseen((*activity.not_seen, *faults.not_seen)))
    if family is Family.EFA:
        series, missing = read_efa(case, window, nodes)
        return Exported(tuple(_efa(series)), _unseen(missing))
    return Exported()


def _unseen(missing: Sequence[NotSeen]) -> tuple[NotSeenRow, ...]:
    rows = (
        NotSeenRow(what=one.what, reason=one.reason, closes_with=one.closes_with, nodes=one.nodes)
        for one in missing
    )
    return tuple({row.what: row for row in rows}.values())


def series_row(series: TimeSeries, window: Window) -> SeriesRow:
    """Return a series by its extremes inside a window; None is no datapoint."""
    periods = [(at, value) for at, value in series.grid() if window.holds(at)]
    points = [(at, value) for at, value in periods if value is not None]
    extreme = series.extreme
    highest = max(points, key=lambda one: one[1], default=None)
    return SeriesRow(
        metric=series.name.metric,
        stat=series.stat,
        resource=", ".join(f"{key} {value}" for key, value in series.name.dimensions),
        points=len(points),
        missing=len(periods) - len(points),
        lowest=min((value for _, value in points), default=extreme),
        highest=highest[1] if highest else extreme,
        highest_at=highest[0] if highest else None,
        last=points[-1][1] if points else None,
        last_at=points[-1][0] if points else None,
        period_seconds=series.period_seconds,
        unit=series.unit,
        status=series.status,
        reason=series.reason,
        evidence=series.evidence,
    )


def _number(one: DeviceNumber, window: Window) -> SeriesRow:
    stat = "increase" if one.metric in GPU_GROWN else "last"
    return SeriesRow(
        metric=one.metric,
        stat="Maximum" if one.metric in GPU_HIGHEST else stat,
        resource=_device(one.node, gpu=one.gpu, uuid=one.uuid, pci=one.pci, device=one.device),
        points=1,
        missing=0,
        highest=one.value,
        period_seconds=int((window.end - window.start).total_seconds()),
        status=Status.OK,
        evidence=one.evidence,
    )


def _xid(one: XidChange) -> SeriesRow:
    return SeriesRow(
        metric=GPU_XID,
        stat=f"changed from {one.before}",
        resource=_device(one.node, gpu=one.gpu, uuid=one.uuid, pci=one.pci),
        points=1,
        missing=0,
        last=float(one.code),
        last_at=one.at,
        period_seconds=max(1, one.precision_seconds),
        status=Status.OK,
        evidence=one.evidence,
    )


def _efa(series: Sequence[EfaSeries]) -> Iterator[SeriesRow]:
    for one in series:
        values = [point.value for point in one.points]
        last = one.points[-1] if one.points else None
        yield SeriesRow(
            metric=one.counter,
            stat="counter",
            resource=_device(one.node or "", device=one.device),
            points=len(values),
            missing=0,
            lowest=min(values, default=None),
            highest=max(values, default=None),
            last=last.value if last else None,
            last_at=last.at if last else None,
            period_seconds=one.period_seconds or 60,
            status=Status.OK if values else Status.OK_EMPTY,
            evidence=one.evidence,
        )


def _device(node: str, **parts: str | None) -> str:
    named = [f"{name} {value}" for name, value in parts.items() if value]
    return ", ".join([f"InstanceId {node}", *named])
