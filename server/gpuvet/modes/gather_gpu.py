"""Activity of the job's GPUs: from CloudWatch, a case's table, or Managed Prometheus."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuvet.aws.metric_spans import told_series
from gpuvet.aws.metrics import Wanted, finest_period, list_metrics, read_series
from gpuvet.calculators.gpu_activity import GPU_POWER, NAMESPACE
from gpuvet.case.case import Case
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import NotSeen, Orchestrator
from gpuvet.model.evidence import Envelope, Reason, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.modes.gather_prometheus import read_activity, with_gpus

# mission R10: HyperPod exports no system metrics to CloudWatch.
IN_PROMETHEUS = (
    "DCGM_FI_DEV_GPU_UTIL in Managed Prometheus, where the HyperPod observability add-on writes it"
)


@dataclass(frozen=True, slots=True)
class GpuPower:
    """What was read of GPU activity.

    Attributes:
        listed: CloudWatch's listing with its status.
        series: One series a GPU, in percent.
        not_seen: What of Managed Prometheus was not read, or not collected.
    """

    listed: Envelope[tuple[MetricName, ...]]
    series: tuple[TimeSeries, ...]
    not_seen: tuple[NotSeen, ...] = ()


def gather_gpu(case: Case, window: Window, now: datetime, nodes: Sequence[CaseNode]) -> GpuPower:
    """Return the activity of these nodes' GPUs; of all listed ones where none is named.

    Managed Prometheus is asked for the nodes of which CloudWatch has nothing.

    Args:
        case: Where the metrics are.
        window: Which points.
        now: The clock: it decides the finest period that is still kept.
        nodes: Whose.
    """
    ids = {one.node for one in nodes}
    listed = list_metrics(case.aws, NAMESPACE, GPU_POWER)
    own = [n for n in listed.value or () if not ids or n.of("InstanceId") in ids]
    wanted = [Wanted(name, "Maximum") for name in own]
    period = finest_period(window.start, now)
    read = read_series(case.aws, wanted, window, period) if wanted else ()
    told = tuple(one for one in told_series(case.metrics) if _is_power(one))
    have = {one.name.of("InstanceId") for one in (*read, *told) if one.values}
    rest = [one for one in nodes if one.node not in have]
    more = read_activity(case, window, rest)
    return GpuPower(listed, (*read, *told, *more.series), more.not_seen)


def _is_power(series: TimeSeries) -> bool:
    return series.name.metric == GPU_POWER and series.name.of("InstanceId") is not None


def activity_not_seen(
    gpu: GpuPower, nodes: Sequence[CaseNode], orchestrator: Orchestrator
) -> tuple[NotSeen, ...]:
    """Return whose GPU activity was not seen, and on HyperPod what may have it."""
    if not orchestrator.is_hyperpod:
        return gpu.not_seen
    have = {one.name.of("InstanceId") for one in gpu.series if one.values}
    told = {node for one in gpu.not_seen for node in one.nodes}
    dark = tuple(n.node for n in with_gpus(nodes) if n.node not in have | told)
    if not dark:
        return gpu.not_seen
    row = NotSeen(
        what=(
            f"GPU activity of {len(dark)} of {len(nodes)} nodes: not observable in CloudWatch, "
            "Managed Prometheus may have it"
        ),
        reason=Reason.NOT_SHIPPED,
        closes_with=IN_PROMETHEUS,
        nodes=dark,
    )
    return (*gpu.not_seen, row)
