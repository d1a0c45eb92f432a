"""CloudWatch metrics that speak of a cluster, by what they are about.

Names and dimensions as AWS's documentation of each namespace lists them (FSx for Lustre, EC2,
CloudWatch agent, Container Insights, ParallelCluster); which of them exist is asked, never guessed.
"""

from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Family(StrEnum):
    """What metrics are about."""

    GPU = "gpu"
    EFA = "efa"
    HOST = "host"
    STORAGE = "storage"
    CLUSTER = "cluster"


class MetricRow(NamedTuple):
    """Metrics of one namespace whose names begin alike."""

    namespace: str
    prefix: str
    stat: str
    is_shown: bool = True  # False: read only where it is asked for by name


_CWAGENT, _INSIGHTS, _EC2 = "CWAgent", "ContainerInsights", "AWS/EC2"

FAMILIES = MappingProxyType(
    {
        Family.GPU: (
            MetricRow(_EC2, "GPUPowerUtilization", "Maximum"),
            MetricRow(_CWAGENT, "nvidia_smi_utilization_gpu", "Average"),
            MetricRow(_CWAGENT, "nvidia_smi_temperature_gpu", "Maximum"),
            MetricRow(_CWAGENT, "nvidia_smi_power_draw", "Maximum"),
            MetricRow(_CWAGENT, "nvidia_smi_", "Maximum", is_shown=False),
            MetricRow(_INSIGHTS, "node_gpu_", "Maximum"),
        ),
        Family.EFA: (
            MetricRow(_CWAGENT, "efa_", "Maximum"),
            MetricRow(_INSIGHTS, "node_efa_", "Maximum"),
        ),
        Family.HOST: (
            MetricRow(_EC2, "StatusCheckFailed", "Maximum"),
            MetricRow(_CWAGENT, "mem_used_percent", "Maximum"),
            MetricRow(_CWAGENT, "disk_used_percent", "Maximum"),
            MetricRow(_EC2, "CPUUtilization", "Average", is_shown=False),
            MetricRow(_INSIGHTS, "node_cpu_utilization", "Maximum", is_shown=False),
            MetricRow(_INSIGHTS, "node_memory_utilization", "Maximum", is_shown=False),
        ),
        Family.STORAGE: (
            MetricRow("AWS/FSx", "NetworkThroughputUtilization", "Maximum"),
            MetricRow("AWS/FSx", "FileServerDisk", "Maximum"),
            MetricRow("AWS/FSx", "DiskIopsUtilization", "Maximum"),
            MetricRow("AWS/FSx", "CPUUtilization", "Maximum"),
            MetricRow("AWS/FSx", "FreeDataStorageCapacity", "Minimum"),
            MetricRow("AWS/FSx", "", "Maximum", is_shown=False),
        ),
        Family.CLUSTER: (
            MetricRow("ParallelCluster", "", "Maximum"),
            MetricRow(_INSIGHTS, "cluster_failed_node_count", "Maximum"),
        ),
    }
)


def namespaces(family: Family) -> tuple[str, ...]:
    """Return the namespaces that have metrics of a family."""
    return tuple(dict.fromkeys(row.namespace for row in FAMILIES[family]))


def row_of(family: Family, namespace: str, metric: str) -> MetricRow | None:
    """Return the row of a metric: the longest beginning that fits, or None."""
    fitting = [
        row
        for row in FAMILIES[family]
        if row.namespace == namespace and metric.startswith(row.prefix)
    ]
    return max(fitting, key=lambda row: len(row.prefix), default=None)
