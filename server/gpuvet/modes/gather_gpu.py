"""GPU power of the job's nodes from CloudWatch, or from a case's table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuvet.aws.metric_spans import told_series
from gpuvet.aws.metrics import Wanted, finest_period, list_metrics, read_series
from gpuvet.calculators.gpu_activity import GPU_POWER, NAMESPACE, is_gpu_power
from gpuvet.case.case import Case
from gpuvet.model.evidence import Envelope, Window
from gpuvet.model.metrics import MetricName, TimeSeries


@dataclass(frozen=True, slots=True)
class GpuPower:
    """What was read of GPU power: the listing with its status, and one series a GPU."""

    listed: Envelope[tuple[MetricName, ...]]
    series: tuple[TimeSeries, ...]


def gather_gpu(case: Case, window: Window, now: datetime, nodes: Sequence[str]) -> GpuPower:
    """Return the power of the GPUs of these nodes; of all listed ones where none is named.

    Args:
        case: Where the metrics are.
        window: Which points.
        now: The clock: it decides the finest period that is still kept.
        nodes: Instance ids.
    """
    listed = list_metrics(case.aws, NAMESPACE, GPU_POWER)
    own = [n for n in listed.value or () if not nodes or n.of("InstanceId") in nodes]
    wanted = [Wanted(name, "Maximum") for name in own]
    period = finest_period(window.start, now)
    read = read_series(case.aws, wanted, window, period) if wanted else ()
    told = tuple(one for one in told_series(case.metrics) if is_gpu_power(one))
    return GpuPower(listed, (*read, *told))
