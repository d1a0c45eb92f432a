"""The PromQL that is ever sent: a few written templates, filled with listed names only. Pure.

Nobody's text becomes a query. A metric stands in `METRICS`, a label in `NODE_LABELS` or
`DEVICE_LABELS`, a node's name has the shape of a host; anything else is refused.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from gpuvet.errors import NotReadOnly
from gpuvet.model.untyped import is_array

# AWS's and NVIDIA's exporters (HyperPod observability add-on guide; dcgm-exporter's counters).
GPU_ACTIVITY = ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL")
GPU_XID = "DCGM_FI_DEV_XID_ERRORS"
GPU_HIGHEST = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_MEMORY_TEMP")
GPU_GROWN = (
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "DCGM_FI_DEV_THERMAL_VIOLATION",
    "DCGM_FI_DEV_POWER_VIOLATION",
)
GPU_LATEST = ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS")
EFA_ERRORS = (
    "node_amazonefa_rx_drops",
    "node_amazonefa_rdma_read_wr_err",
    "node_amazonefa_rdma_write_wr_err",
)
NODE_READY = "kube_node_status_condition"
TRAINING = (
    "training_fault_count",
    "training_auto_recovery_count",
    "training_manual_recovery_count",
)
METRICS = frozenset(
    {
        *(*GPU_ACTIVITY, GPU_XID, *GPU_HIGHEST, *GPU_GROWN, *GPU_LATEST),
        *(*EFA_ERRORS, NODE_READY, *TRAINING),
    }
)
# A gauge of many conditions is asked for one of them.
_OWN_MATCH = MappingProxyType({NODE_READY: 'condition="Ready",status="true"'})

# Labels that name a node, the most telling first; which exist is asked, never assumed.
NODE_LABELS = (
    *("instance_id", "InstanceId", "Hostname", "hostname", "node", "Node", "node_name"),
    *("nodename", "kubernetes_node", "host", "instance"),
)
# Labels that tell a node's devices apart.
DEVICE_LABELS = ("gpu", "UUID", "pci_bus_id", "device", "port")

# What may be a node's name as a label's value; `:` is an address with a port.
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
# Ours: a month is more than any window; a query of more names is split.
MOST_SECONDS = 35 * 86_400
MOST_NAMES = 256


class Template(NamedTuple):
    """One shape of query: what is made of a metric, and how a node's series are folded."""

    operation: str
    over: str  # max, min, sum, count; "": neither folded nor asked of several metrics
    text: str


# The label that keeps several metrics of one query apart.
COUNTED = "counted"
# Over a span that ends when the query is asked about, or step by step. `by` keeps a node's devices
# apart and folds what else the exporters put on a series: pods come and go, a GPU stays. Spans
# are looked into every $step: a server reads that many samples, however often it scrapes.
TEMPLATES = MappingProxyType(
    {
        "named": Template("Query", "count", "present_over_time($metric[$span:$step])"),
        "highest": Template("Query", "max", "max_over_time($metric{$match}[$span:$step])"),
        "lowest": Template("Query", "min", "min_over_time($metric{$match}[$span:$step])"),
        "latest": Template("Query", "max", "last_over_time($metric{$match}[$span:$step])"),
        "grown": Template("Query", "sum", "increase($metric{$match}[$span:$step])"),
        "grown in all": Template("Query", "", "sum(increase($metric[$span:$step]))"),
        "changed": Template(
            "Query", "", "changes((max by ($by) ($metric{$match}))[$span:$step]) > 0"
        ),
        "slots": Template(
            "Query", "", "count_over_time((count by ($by) ($metric{$match}))[$span:$step])"
        ),
        "highs": Template("QueryRange", "max", "max_over_time($metric{$match}[$step])"),
        "lasts": Template("QueryRange", "max", "last_over_time($metric{$match}[$step])"),
        "lows": Template("QueryRange", "min", "min_over_time($metric{$match}[$step])"),
    }
)
MOST_METRICS = 16


def query_text(operation: str, params: Mapping[str, Any]) -> str:
    """Return the PromQL of a query's parameters.

    Args:
        operation: Query or QueryRange.
        params: `template`, `metric` or `metrics`; as the template wants them `by` (label names),
            `label` and `nodes` (which nodes), `span` and `step` (seconds).

    Raises:
        NotReadOnly: A template, name or number that is not on the written lists.
    """
    template = TEMPLATES.get(str(params.get("template")))
    if template is None or template.operation != operation or "query" in params:
        _refuse(f"{params.get('template')!r} is no template of {operation}")
    by = ", ".join(_labels(params.get("by")))
    several = params.get("metrics")
    if several is None:
        text = _filled(template, params, by)
        return f"{template.over} by ({by}) ({text})" if template.over else text
    is_list = is_array(several) and 0 < len(several) <= MOST_METRICS
    if not template.over or not is_list or "metric" in params:
        _refuse(f"{params.get('template')!r} takes a metric, or a list of up to {MOST_METRICS}")
    parts = [_named(template, {**params, "metric": one}, by) for one in several]
    return f"{template.over} by ({COUNTED}{', ' if by else ''}{by}) ({' or '.join(parts)})"


def _named(template: Template, params: Mapping[str, Any], by: str) -> str:
    """Return what is made of one of several metrics, with its name as a label."""
    text = _filled(template, params, by)
    return f'label_replace({text}, "{COUNTED}", "{_metric(params)}", "", "")'


def _filled(template: Template, params: Mapping[str, Any], by: str) -> str:
    filled = {
        "$metric": _metric(params),
        "$by": by,
        "$match": match_text(params),
        "$span": f"{_seconds(params, 'span')}s" if "$span" in template.text else "",
        "$step": f"{_seconds(params, 'step')}s" if "$step" in template.text else "",
    }
    return re.sub(r"\$[a-z]+", lambda found: filled[found[0]], template.text)


def selector_text(params: Mapping[str, Any]) -> str:
    """Return the series selector of a labels or series read; see `query_text`."""
    return f"{_metric(params)}{{{match_text(params)}}}"


def match_text(params: Mapping[str, Any]) -> str:
    """Return the matchers: a metric's own, and the nodes by exact name."""
    own = _OWN_MATCH.get(_metric(params), "")
    nodes = params.get("nodes")
    if nodes is None:
        return own
    (label,) = _labels([params.get("label")])
    if not is_array(nodes) or not 0 < len(nodes) <= MOST_NAMES:
        _refuse(f"a query names 1 to {MOST_NAMES} nodes")
    bad = next((one for one in nodes if not is_node_value(one)), None)
    if bad is not None:
        _refuse(f"{str(bad)[:80]!r} is no node's name")
    names = "|".join(one.replace(".", r"\\.") for one in nodes)
    return ",".join(part for part in (own, f'{label}=~"{names}"') if part)


def is_node_value(value: object) -> bool:
    """Say whether a label's value can be a node's name and may stand in a query."""
    return isinstance(value, str) and _VALUE.fullmatch(value) is not None


def _metric(params: Mapping[str, Any]) -> str:
    metric = params.get("metric")
    if not isinstance(metric, str) or metric not in METRICS:
        _refuse(f"{str(metric)[:80]!r} is none of the metrics we read")
    return metric


def _labels(names: object) -> Sequence[str]:
    if names is None:
        return ()
    known = frozenset({*NODE_LABELS, *DEVICE_LABELS})
    if not is_array(names) or not all(isinstance(one, str) and one in known for one in names):
        _refuse(f"{str(names)[:80]!r} are not labels we read")
    return tuple(names)


def _seconds(params: Mapping[str, Any], name: str) -> int:
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MOST_SECONDS:
        _refuse(f"{name} {str(value)[:20]!r} is no whole number of seconds up to 35 days")
    return value


def _refuse(why: str) -> NoReturn:
    raise NotReadOnly(f"{why}: PromQL comes from written templates alone; nothing was sent")
