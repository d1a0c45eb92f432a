"""Reads what a Managed Prometheus workspace has of the nodes of a question.

Two readings, each made where its mode needs it: activity of GPUs, and faults of GPUs and nodes;
EFA's error counters are a third (`gather_efa.py`). All look for the workspace and its labels
first; those reads are the same ones each time and leave only once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gpuvet.aws.closing import closes_with, subject_of
from gpuvet.aws.prometheus import (
    DEVICES,
    OBSERVABILITY,
    Workspace,
    find_nodes,
    find_workspaces,
    read_numbers,
    read_over_time,
    read_total,
    step_for,
)
from gpuvet.aws.prometheus_held import held_series, number_of
from gpuvet.aws.prometheus_queries import (
    GPU_ACTIVITY,
    GPU_GROWN,
    GPU_HIGHEST,
    GPU_LATEST,
    GPU_XID,
    NODE_READY,
    TRAINING,
)
from gpuvet.aws.reads import PROMETHEUS
from gpuvet.calculators.gauges import not_ready_spans, xid_changes
from gpuvet.calculators.gpu_activity import as_percent
from gpuvet.case import Case, node_names
from gpuvet.case.eks_name import eks_name
from gpuvet.model.case import Accelerator, CaseNode
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Envelope, Reason, Window
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.prometheus import DeviceNumber, NodeLabel, NotReadySpan, XidChange

# Ours: workspaces that are looked into; a region rarely has more than two.
MOST_WORKSPACES = 3
_GPUS = DEVICES
# preflight P18: whose series arrive is asked of the last half hour.
RECENT = timedelta(minutes=30)
_DCGM = "the DCGM exporter (HyperPod observability add-on, or your own) writing to the workspace"


@dataclass(frozen=True, slots=True)
class Located:
    """The workspace that has a metric of our nodes; None where none has, with the reasons."""

    workspace: Workspace | None = None
    label: NodeLabel | None = None
    not_seen: tuple[NotSeen, ...] = ()
    looked_into: tuple[str, ...] = ()  # workspaces
    evidence: str | None = None  # of the reading that found nodes, or found none


@dataclass(frozen=True, slots=True)
class Activity:
    """Activity of GPUs in percent, one series a GPU, of one metric."""

    series: tuple[TimeSeries, ...] = ()
    not_seen: tuple[NotSeen, ...] = ()
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class Faults:
    """What speaks of faults.

    Attributes:
        xids: When last-Xid gauges took a new code.
        numbers: Temperatures, and counts that rose or stand.
        not_ready: When Kubernetes nodes were not Ready.
        training: How often the training operator counted faults and restarts, of any job.
        nodes: Nodes whose GPU series were found.
        workspace: Where.
        read_at: The end of the window: what stands, stood then.
    """

    xids: tuple[XidChange, ...] = ()
    numbers: tuple[DeviceNumber, ...] = ()
    not_ready: tuple[NotReadySpan, ...] = ()
    training: tuple[tuple[str, float], ...] = ()
    not_seen: tuple[NotSeen, ...] = ()
    nodes: tuple[str, ...] = ()
    workspace: str | None = None
    read_at: datetime | None = None


def locate(
    case: Case, window: Window, metrics: Sequence[str], nodes: Sequence[CaseNode]
) -> Located:
    """Return where the first of these metrics that names our nodes is, and by which label.

    Args:
        case: Whose doors are asked; a recorded case without such a recording is not.
        window: When.
        metrics: The most telling first.
        nodes: Of these.
    """
    if PROMETHEUS not in case.doors or not nodes:
        return Located()
    found = find_workspaces(case.aws, case.meta.region, eks_name(case))
    missing = [unread_of(one) for one in found.unread]
    missing += [_foreign(url) for url in found.refused]
    empty: list[str] = []
    evidence: str | None = None
    for address in found.workspaces[:MOST_WORKSPACES]:
        workspace = Workspace(case.aws, address, window)
        for metric in metrics:
            answer = find_nodes(workspace, metric, node_names(nodes))
            if answer.value is not None:
                missing += () if answer.status.is_complete else (unread_of(answer),)
                return Located(workspace, answer.value, tuple(missing), evidence=answer.evidence)
            evidence = answer.evidence
            if not answer.status.is_complete:
                missing.append(unread_of(answer))
                break  # what one metric is denied, so is the next
        else:
            empty.append(address.workspace)
    if len(found.workspaces) > MOST_WORKSPACES:
        missing.append(_too_many(len(found.workspaces)))
    return Located(None, None, tuple(missing), tuple(empty), evidence)


def unread_of(answer: Envelope[Any]) -> NotSeen:
    """Return the absence that an incomplete reading of a workspace is."""
    reason = answer.reason or (Reason.REFUSED if answer.error_code else Reason.NOT_RECORDED)
    return NotSeen(what=subject_of(answer), reason=reason, closes_with=closes_with(answer))


def _foreign(url: str) -> NotSeen:
    return NotSeen(
        what=f"metrics at an endpoint that is none of Managed Prometheus: {url[:100]}",
        reason=Reason.REFUSED,
        closes_with=f"{OBSERVABILITY} with a workspace of Managed Prometheus",
    )


def _too_many(count: int) -> NotSeen:
    return NotSeen(
        what=f"{count - MOST_WORKSPACES} of {count} Managed Prometheus workspaces",
        reason=Reason.BUDGET,
        closes_with=f"the workspace named in the configuration of {OBSERVABILITY}",
    )


def _not_collected(what: str, located: Located, nodes: Sequence[CaseNode]) -> Iterator[NotSeen]:
    """Yield what no series of any workspace said, for the nodes without one."""
    named = set(located.label.nodes) if located.label is not None else set[str]()
    without = tuple(n.node for n in nodes if n.node not in named)
    places = located.looked_into if located.label is None else ()
    if without and (places or named):
        where = f"workspace {', '.join(places)}" if places else "the workspace"
        yield NotSeen(
            what=f"{what} of {len(without)} of {len(nodes)} nodes: not collected in {where}",
            reason=Reason.NOT_SHIPPED,
            closes_with=_DCGM,
            nodes=without,
        )


def with_gpus(nodes: Sequence[CaseNode]) -> tuple[CaseNode, ...]:
    """Return the nodes that may have GPUs."""
    return tuple(one for one in nodes if one.accelerator is not Accelerator.NO)


def read_activity(case: Case, window: Window, nodes: Sequence[CaseNode]) -> Activity:
    """Return the activity of these nodes' GPUs in percent, as fine as the budget of samples allows.

    A GPU's engine activity where it is collected, else its utilisation.
    """
    ours = with_gpus(nodes)
    for metric in GPU_ACTIVITY:
        told = held(case, (metric,), ours)
        if told:
            return Activity(tuple(as_percent(one) for one in told))
    window = _whole_hours(window)  # so that questions about nearly one window are one read
    located = locate(case, window, GPU_ACTIVITY, ours)
    missing = (*located.not_seen, *_not_collected("GPU activity", located, ours))
    if located.workspace is None or located.label is None:
        return Activity((), missing)
    label = located.label
    step = step_for(window, len(label.values) * _GPUS)
    answer = read_over_time(located.workspace, "highs", label, label.metric, step=step)
    if not answer.status.is_complete:
        missing = (*missing, unread_of(answer))
    series = tuple(as_percent(one) for one in answer.value or ())
    return Activity(series, missing, located.workspace.address.workspace)


def _whole_hours(window: Window) -> Window:
    hour = 3600
    first = window.start.timestamp() // hour * hour
    last = -(-window.end.timestamp() // hour) * hour
    zone = window.start.tzinfo
    return Window(start=datetime.fromtimestamp(first, zone), end=datetime.fromtimestamp(last, zone))


def read_faults(case: Case, window: Window, nodes: Sequence[CaseNode]) -> Faults:
    """Return what exporters say of faults of GPUs and nodes inside a window."""
    ours = with_gpus(nodes)
    if case.prometheus:
        return _held_faults(case, window, ours)
    located = locate(case, window, (GPU_XID, *GPU_HIGHEST[:1]), ours)
    missing = [*located.not_seen, *_not_collected("GPU faults in metrics", located, ours)]
    workspace, label = located.workspace, located.label
    if workspace is None or label is None:
        return Faults(not_seen=tuple(missing))
    xids: tuple[XidChange, ...] = ()
    if label.metric == GPU_XID:
        xids = tuple(_xids(workspace, label, missing))
    numbers = tuple(_numbers(workspace, label, missing))
    return Faults(
        xids=xids,
        numbers=numbers,
        not_ready=tuple(_not_ready(case, window, nodes, missing)),
        training=tuple(_training(workspace, missing)),
        not_seen=tuple(missing),
        nodes=label.nodes,
        workspace=workspace.address.workspace,
        read_at=window.end,
    )


def held(case: Case, metrics: Sequence[str], nodes: Sequence[CaseNode]) -> tuple[TimeSeries, ...]:
    """Return the series of these metrics that files of the case have."""
    if not case.prometheus:
        return ()
    series = held_series(case.prometheus, node_names(nodes))
    return tuple(one for one in series if one.name.metric in metrics)


def _held_faults(case: Case, window: Window, nodes: Sequence[CaseNode]) -> Faults:
    """Return what answers in files of the case say of faults."""
    series = held_series(case.prometheus, node_names(nodes))
    kinds = {
        **dict.fromkeys(GPU_LATEST, "latest"),
        **dict.fromkeys(GPU_GROWN, "grown"),
        **dict.fromkeys(GPU_HIGHEST, "highest"),
    }
    numbers = (number_of(one, kinds[m]) for one in series if (m := one.name.metric) in kinds)
    gauges = [one for one in series if one.name.metric == GPU_XID]
    ready = [one for one in series if one.name.metric == NODE_READY]
    return Faults(
        xids=tuple(c for c in xid_changes(gauges, "in the case") if window.holds(c.at)),
        numbers=tuple(one for one in numbers if one is not None),
        not_ready=not_ready_spans(ready),
        nodes=tuple(sorted({one.name.of("InstanceId") or "" for one in series})),
        read_at=window.end,
    )


def _xids(workspace: Workspace, label: NodeLabel, missing: list[NotSeen]) -> Iterator[XidChange]:
    """Yield changes of last-Xid gauges: first which GPUs had one, then when, on their nodes."""
    changed = read_numbers(workspace, "changed", label, (GPU_XID,))
    if not changed.status.is_complete:
        missing.append(unread_of(changed))
    concerned = {one.node for one in changed.value or ()}
    pairs = tuple(pair for pair in label.values if pair[1] in concerned)
    if not pairs:
        return
    only = label.model_copy(update={"values": pairs})
    fine = step_for(workspace.window, len(pairs) * _GPUS)
    lasts = read_over_time(workspace, "lasts", only, GPU_XID, step=fine)
    if not lasts.status.is_complete:
        missing.append(unread_of(lasts))
    yield from xid_changes(lasts.value or (), workspace.address.workspace)


def _numbers(
    workspace: Workspace, label: NodeLabel, missing: list[NotSeen]
) -> Iterator[DeviceNumber]:
    for template, metrics in (
        ("latest", GPU_LATEST),
        ("grown", GPU_GROWN),
        ("highest", GPU_HIGHEST),
    ):
        answer = read_numbers(workspace, template, label, metrics)
        if not answer.status.is_complete:
            missing.append(unread_of(answer))
            if not answer.value:
                return  # throttled, denied or out of time: so would be the rest
        yield from answer.value or ()


def _training(workspace: Workspace, missing: list[NotSeen]) -> Iterator[tuple[str, float]]:
    """Yield what the training operator counted; its metrics are off by default."""
    for metric in TRAINING:
        answer = read_total(workspace, metric)
        if not answer.status.is_complete:
            missing.append(unread_of(answer))
            return
        if answer.value is not None:
            yield metric, answer.value


def _not_ready(
    case: Case, window: Window, nodes: Sequence[CaseNode], missing: list[NotSeen]
) -> Iterator[NotReadySpan]:
    located = locate(case, window, (NODE_READY,), nodes)
    if located.workspace is None or located.label is None:
        return
    label = located.label.model_copy(update={"devices": ()})
    lowest = read_numbers(located.workspace, "lowest", label, (NODE_READY,))
    if not lowest.status.is_complete:
        missing.append(unread_of(lowest))
    down = {one.node for one in lowest.value or () if one.value < 1}
    pairs = tuple(pair for pair in label.values if pair[1] in down)
    if not pairs:
        return
    only = label.model_copy(update={"values": pairs})
    step = step_for(window, len(pairs))
    lows = read_over_time(located.workspace, "lows", only, NODE_READY, step=step)
    if not lows.status.is_complete:
        missing.append(unread_of(lows))
    yield from not_ready_spans(lows.value or ())


def arriving(case: Case, now_window: Window, nodes: Sequence[CaseNode]) -> Located:
    """Return whose GPU series arrive inside a short window: the question before a run."""
    return locate(case, now_window, (*GPU_ACTIVITY[1:], *GPU_ACTIVITY[:1]), with_gpus(nodes))
