"""What gauges and counters of exporters say of GPUs and nodes, as events, facts and outliers. Pure.

A gauge that keeps its last value says when only by changing: without a change there is no event.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from gpuvet.calculators.outliers import outliers
from gpuvet.model.cause import TimelineEvent
from gpuvet.model.cluster import ClusterEvidence, Flag, GpuFacts, NodeEvidence
from gpuvet.model.events import Source, TimeQuality, XidEvent
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.prometheus import DeviceNumber, NotReadySpan, XidChange
from gpuvet.parse.xid_line import pci_id

GAUGE = "DCGM_FI_DEV_XID_ERRORS"
FACT_SOURCE = "Managed Prometheus"
# Ours: between samples further apart than this, when a code came is not known to an event's degree.
MOST_IMPRECISE = timedelta(minutes=15)
# A code stands in the log up to one scrape, one step and one delivery before a sample shows it.
SEEN_LATE = timedelta(seconds=330)
_EARLY = timedelta(seconds=60)
_CODES = range(1, 1000)


def xid_changes(series: Iterable[TimeSeries], workspace: str) -> tuple[XidChange, ...]:
    """Return when the last-Xid gauge of each GPU took a new code.

    The first sample of a series is no change: the code may be days old. Back to 0 is the
    exporter's own start.
    """
    found = [change for one in series for change in _changes(one, workspace)]
    return tuple(sorted(found, key=lambda c: (c.at, c.node, c.gpu or "", c.code)))


def _changes(series: TimeSeries, workspace: str) -> Iterator[XidChange]:
    name = dict(series.name.dimensions)
    last: tuple[datetime, int] | None = None
    for start, value in series.points():
        at, code = start + series.period, round(value)
        if last is not None and code != last[1] and code in _CODES:
            yield XidChange(
                node=name["InstanceId"],
                code=code,
                before=last[1],
                at=at,
                precision_seconds=int((at - last[0]).total_seconds()),
                gpu=name.get("gpu"),
                uuid=name.get("UUID"),
                pci=pci_id(name.get("pci_bus_id", "")),
                workspace=workspace,
                evidence=series.evidence,
            )
        last = (at, code)


def witness_events(
    changes: Iterable[XidChange], told: Mapping[str, Sequence[XidEvent]]
) -> Mapping[str, tuple[XidEvent, ...]]:
    """Return the changes as records of their nodes: second witnesses of what logs say.

    A change that follows a line of the same code on the same GPU takes that line's time, so that
    the two are one event; the raw text keeps its own.

    Args:
        changes: Of the last-Xid gauges.
        told: What logs say, by node.
    """
    found: dict[str, list[XidEvent]] = defaultdict(list)
    for place, change in enumerate(changes, start=1):
        if timedelta(seconds=change.precision_seconds) > MOST_IMPRECISE:
            continue
        line = _line_of(change, told.get(change.node, ()))
        found[change.node].append(
            XidEvent(
                node=change.node,
                stream=f"{FACT_SOURCE} {change.workspace} {GAUGE}",
                line=place,
                raw=change_words(change),
                at=line or change.at,
                time_quality=TimeQuality.ASSUMED,
                source=Source.DCGM_GAUGE,
                code=change.code,
                pci=change.pci,
                uuid=change.uuid,
            )
        )
    return {node: tuple(events) for node, events in found.items()}


def change_words(change: XidChange) -> str:
    """Return what was read, with both samples."""
    return (
        f"{GAUGE} of GPU {change.gpu or change.uuid or change.pci or '?'} became {change.code} "
        f"(from {change.before}) by {change.at:%Y-%m-%dT%H:%M:%SZ}, at most "
        f"{change.precision_seconds} s after the sample before"
    )


def _line_of(change: XidChange, told: Sequence[XidEvent]) -> datetime | None:
    times = [
        line.at
        for line in told
        if line.code == change.code
        and line.at is not None
        and (line.pci is None or change.pci is None or line.pci == change.pci)
        and change.at - SEEN_LATE <= line.at <= change.at + _EARLY
    ]
    return max(times) if times else None


def gpu_facts(numbers: Iterable[DeviceNumber], at: datetime) -> Mapping[str, tuple[GpuFacts, ...]]:
    """Return what speaks against a GPU, by node; what speaks for it is left to nvidia-smi.

    A gauge of an exporter may be stale, so it never makes a verdict milder.
    """
    by_gpu: dict[tuple[str, str], list[DeviceNumber]] = defaultdict(list)
    for one in numbers:
        if one.metric in _FACTS and one.value >= 1:
            by_gpu[one.node, one.gpu or one.uuid or one.pci or ""].append(one)
    found: dict[str, list[GpuFacts]] = defaultdict(list)
    for (node, _), own in sorted(by_gpu.items()):
        values = {one.metric: round(one.value) for one in own}
        found[node].append(
            GpuFacts(
                pci=own[0].pci,
                uuid=own[0].uuid,
                remap_failed=Flag.YES if values.get(_REMAP_FAILURE) else Flag.NOT_READ,
                remapped_uncorrectable=values.get(_REMAPPED),
                pcie_replays=values.get(_REPLAYS),
                read_at=at,
                source=FACT_SOURCE,
                raw=tuple(f"{one.metric} {one.value:g}" for one in own),
            )
        )
    return {node: tuple(facts) for node, facts in found.items()}


_REMAP_FAILURE = "DCGM_FI_DEV_ROW_REMAP_FAILURE"
_REMAPPED = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"
_REPLAYS = "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"
_FACTS = frozenset({_REMAP_FAILURE, _REMAPPED, _REPLAYS})
# Counts of errors: each rise is worth a sentence. The others only compare nodes.
_ERRORS = {
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "uncorrectable ECC errors",
    _REPLAYS: "PCIe replays",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "NVLink CRC flit errors",
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": "NVLink CRC data errors",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": "NVLink replays",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": "NVLink recoveries",
}
_COMPARED = {
    **_ERRORS,
    "DCGM_FI_DEV_GPU_TEMP": "highest GPU temperature in °C",
    "DCGM_FI_DEV_MEMORY_TEMP": "highest memory temperature in °C",
    "DCGM_FI_DEV_THERMAL_VIOLATION": "time throttled for heat",
    "DCGM_FI_DEV_POWER_VIOLATION": "time throttled for power",
}
MOST_SENTENCES = 8


def gauge_facts(numbers: Iterable[DeviceNumber]) -> tuple[str, ...]:
    """Return one sentence for each count of errors that rose, the largest device of each node."""
    rows = [one for one in numbers if one.metric in _ERRORS and one.value >= 1]
    rows.sort(key=lambda one: (list(_ERRORS).index(one.metric), -one.value, one.node))
    once = {(one.metric, one.node): one for one in reversed(rows)}
    told = [one for one in rows if once[one.metric, one.node] is one]
    sentences = [
        f"{_ERRORS[one.metric]} rose by about {one.value:,.0f} on {_gpu_of(one)}, {one.node} "
        f"({FACT_SOURCE}, {one.metric})"
        for one in told[:MOST_SENTENCES]
    ]
    more = len(told) - MOST_SENTENCES
    return (*sentences, *([f"and {more} more counts of errors rose"] if more > 0 else []))


def _gpu_of(one: DeviceNumber) -> str:
    return f"GPU {one.gpu}" if one.gpu else one.pci or one.uuid or "an unnamed GPU"


_TRAINING = {
    "training_fault_count": "faults",
    "training_auto_recovery_count": "automatic recoveries",
    "training_manual_recovery_count": "manual recoveries",
}


def training_words(counted: Iterable[tuple[str, float]]) -> tuple[str, ...]:
    """Return what the training operator counted inside the window, as one sentence."""
    told = [f"{value:,.0f} {_TRAINING[name]}" for name, value in counted if name in _TRAINING]
    words = ", ".join(told)
    return (f"training operator, all jobs of the workspace: about {words}",) if told else ()


def gauge_outliers(numbers: Iterable[DeviceNumber]) -> tuple[str, ...]:
    """Return the nodes that stand out among their peers, metric by metric, by their worst GPU."""
    by_metric: dict[str, dict[str, float]] = defaultdict(dict)
    for one in numbers:
        if one.metric in _COMPARED:
            own = by_metric[one.metric]
            own[one.node] = max(own.get(one.node, 0.0), one.value)
    return tuple(
        f"{_COMPARED[metric]}: {standing.sentence}"
        for metric in sorted(by_metric)
        for standing in outliers(by_metric[metric])
    )


def not_ready_spans(series: Iterable[TimeSeries]) -> tuple[NotReadySpan, ...]:
    """Return when nodes were not Ready; a step without a sample is neither ready nor not."""
    found: list[NotReadySpan] = []
    for one in series:
        since: datetime | None = None
        last: datetime | None = None
        for start, value in one.points():
            at = start + one.period  # when the sample was taken, at the latest
            if value < 1:
                since = since or at
            elif since is not None:
                found.append(_span(one, since, at))
                since = None
            last = at
        if since is not None and last is not None:
            found.append(_span(one, since, None))
    return tuple(sorted(found, key=lambda span: (span.since, span.node)))


def _span(series: TimeSeries, since: datetime, until: datetime | None) -> NotReadySpan:
    return NotReadySpan(
        node=dict(series.name.dimensions)["InstanceId"],
        since=since,
        until=until,
        precision_seconds=series.period_seconds,
        evidence=series.evidence,
    )


def gauge_timeline(
    xids: Iterable[XidChange], not_ready: Iterable[NotReadySpan]
) -> Iterator[TimelineEvent]:
    """Yield what exporters alone date: nodes not Ready, and codes between samples far apart."""
    for span in not_ready:
        yield TimelineEvent(
            at=span.since,
            precision_seconds=float(span.precision_seconds),
            until=span.until,
            source=_KUBE_STATE,
            what=f"{span.node} not Ready" + ("" if span.until else " until the last sample"),
            node=span.node,
            resource=span.node,
            code="not ready",
            evidence=(span.evidence,) if span.evidence else (),
        )
    for change in xids:
        if timedelta(seconds=change.precision_seconds) > MOST_IMPRECISE:
            yield TimelineEvent(
                at=change.at,
                precision_seconds=float(change.precision_seconds),
                source=Source.DCGM_GAUGE.value,
                what=change_words(change),
                node=change.node,
                resource=change.node,
                evidence=(change.evidence,) if change.evidence else (),
            )


_KUBE_STATE = "kube-state-metrics"


def merged_gpus(own: Sequence[GpuFacts], told: Sequence[GpuFacts]) -> tuple[GpuFacts, ...]:
    """Return what nvidia-smi and the exporters say of a node's GPUs, one entry a GPU.

    Where both speak of one thing, the worse of the two stands.
    """
    found = list(own)
    for one in told:
        place = next((i for i, gpu in enumerate(found) if _is_same(gpu, one)), None)
        if place is None:
            found.append(one)
        else:
            found[place] = _joined(found[place], one)
    return tuple(found)


def _is_same(one: GpuFacts, other: GpuFacts) -> bool:
    by_pci = one.pci is not None and one.pci == other.pci
    return by_pci or (one.uuid is not None and one.uuid == other.uuid)


def _joined(own: GpuFacts, told: GpuFacts) -> GpuFacts:
    failed = told.remap_failed is Flag.YES
    counts = {
        name: max(getattr(own, name) or 0, worse)
        for name in ("remapped_uncorrectable", "pcie_replays")
        if (worse := getattr(told, name)) is not None
    }
    return own.model_copy(
        update={
            "remap_failed": Flag.YES if failed else own.remap_failed,
            "raw": (*own.raw, *told.raw),
            **counts,
        }
    )


def without_gauges(evidence: ClusterEvidence) -> ClusterEvidence:
    """Return the evidence as it is without any exporter's word."""
    if not any(_has_gauges(node) for node in evidence.nodes):
        return evidence
    nodes = tuple(_plain(node) if _has_gauges(node) else node for node in evidence.nodes)
    return evidence.model_copy(update={"nodes": nodes})


def _has_gauges(node: NodeEvidence) -> bool:
    told = (gpu.source == FACT_SOURCE for gpu in node.facts.gpus)
    return any(one.source is Source.DCGM_GAUGE for one in node.records.xids) or any(told)


def _plain(node: NodeEvidence) -> NodeEvidence:
    xids = tuple(one for one in node.records.xids if one.source is not Source.DCGM_GAUGE)
    gpus = tuple(one for one in node.facts.gpus if one.source != FACT_SOURCE)
    return node.model_copy(
        update={
            "records": node.records.model_copy(update={"xids": xids}),
            "facts": node.facts.model_copy(update={"gpus": gpus}),
        }
    )
