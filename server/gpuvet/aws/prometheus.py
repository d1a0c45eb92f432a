"""Managed Prometheus through the AWS door: workspaces, whose series they hold, numbers over time.

Labels are asked for, never assumed: exporters and scrape configurations name nodes differently.
No series is "not collected", never zero.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from gpuvet.aws.answers import with_value
from gpuvet.aws.door import AwsDoor, NodeName, Page
from gpuvet.aws.endpoints import WORKSPACE, workspace_of
from gpuvet.aws.prometheus_answers import Samples, answer_of
from gpuvet.aws.prometheus_names import best_label, name_table
from gpuvet.aws.prometheus_queries import COUNTED, DEVICE_LABELS, MOST_NAMES, NODE_LABELS
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.prometheus import DeviceNumber, NodeLabel, WorkspaceAddress
from gpuvet.model.untyped import object_at, objects_at, text_at
from gpuvet.parse.xid_line import pci_id

T = TypeVar("T")
OBSERVABILITY = "amazon-sagemaker-hyperpod-observability"
NAMESPACE = "Prometheus"
# Prometheus: at most 11,000 points a series and query.
MOST_POINTS_A_SERIES = 11_000
STEPS = (60, 300, 900, 3600)
# Ours: samples that one question asks for; beyond it steps grow.
MOST_SAMPLES = 1_500_000
# Prometheus' own default lets one query touch 50 million samples; a subquery touches one a look.
MOST_TOUCHED = 20_000_000
# Accelerators of a node; EFA devices are up to four times as many, and lie well within.
DEVICES = 8
# Looks over a whole window where only presence is asked.
_LOOKS, _LEAST_STEP = 288, 60
_ENDPOINT = re.compile(r"https?://[^\s\"'\\<>]{0,200}/workspaces/[^\s\"'\\<>]{0,200}")
_CONFIGURATION = 64 * 1024


class Found(NamedTuple):
    """The workspaces that may hold the metrics, and what of the search failed or was refused."""

    workspaces: tuple[WorkspaceAddress, ...]
    unread: tuple[Envelope[Any], ...] = ()
    refused: tuple[str, ...] = ()  # endpoints that are none of AWS's


def find_workspaces(door: AwsDoor, region: str | None, eks: str | None) -> Found:
    """Return the workspaces that may hold a cluster's metrics, the add-on's own first.

    Args:
        door: The AWS door.
        region: Where listed workspaces are.
        eks: The EKS cluster, where there is one: its observability add-on names a workspace.
    """
    found: dict[str, WorkspaceAddress] = {}
    unread: list[Envelope[Any]] = []
    refused: tuple[str, ...] = ()
    if eks is not None:
        params = {"clusterName": eks, "addonName": OBSERVABILITY}
        answer = door.read("eks:DescribeAddon", params)
        own, refused = _of_addon(answer)
        found.update((one.workspace, one) for one in own)
        if not answer.status.is_complete and answer.status is not Status.NOT_FOUND:
            unread.append(answer)
    if not found:
        listed = door.read("amp:ListWorkspaces", {})
        found.update((one.workspace, one) for one in _listed(listed, region or ""))
        if not listed.status.is_complete:
            unread.append(listed)
    return Found(tuple(found.values()), tuple(unread), refused)


def _of_addon(
    answer: Envelope[tuple[Page, ...]],
) -> tuple[list[WorkspaceAddress], tuple[str, ...]]:
    text = next((text_at(object_at(p, "addon"), "configurationValues") for p in _pages(answer)), "")
    named = dict.fromkeys(_ENDPOINT.findall((text or "")[:_CONFIGURATION]))
    places = {url: workspace_of(url) for url in named}
    via = f"the configuration of {OBSERVABILITY}"
    own = [
        WorkspaceAddress(workspace=place.workspace, region=place.region, via=via)
        for place in dict.fromkeys(one for one in places.values() if one is not None)
    ]
    return own, tuple(url for url, place in places.items() if place is None)


def _listed(answer: Envelope[tuple[Page, ...]], region: str) -> Iterator[WorkspaceAddress]:
    for page in _pages(answer):
        for row in objects_at(page, "workspaces"):
            name = text_at(row, "workspaceId") or ""
            state = text_at(object_at(row, "status"), "statusCode")
            if WORKSPACE.fullmatch(name) and state in {"ACTIVE", "UPDATING", None}:
                yield WorkspaceAddress(workspace=name, region=region)


def _pages(answer: Envelope[tuple[Page, ...]]) -> tuple[Page, ...]:
    return answer.value or ()


class Workspace(NamedTuple):
    """One workspace as a question reads it."""

    door: AwsDoor
    address: WorkspaceAddress
    window: Window

    def read(self, operation: str, params: Mapping[str, Any]) -> Envelope[tuple[Page, ...]]:
        """Return one read of this workspace."""
        own = {"workspaceId": self.address.workspace, **params}
        region = self.address.region or None
        return self.door.read(f"prometheus:{operation}", own, region=region)

    @property
    def span(self) -> int:
        """The window in seconds."""
        return max(1, int((self.window.end - self.window.start).total_seconds()))


def find_nodes(workspace: Workspace, metric: str, nodes: Sequence[NodeName]) -> Envelope[NodeLabel]:
    """Return which label of a metric names our nodes; OK_EMPTY where no series of theirs exists.

    Three reads: the metric's labels, one row a node, and one node's series for its devices.
    """
    span = {"start": workspace.window.start, "end": workspace.window.end}
    labels = workspace.read("Labels", {"metric": metric, **span})
    known = {one for page in _pages(labels) for one in page.get("labels", ()) if one in NODE_LABELS}
    if not known:
        return _none(labels)
    by = [one for one in NODE_LABELS if one in known]
    looks = max(_LEAST_STEP, workspace.span // _LOOKS)
    params = {
        "template": "named",
        "metric": metric,
        "by": by,
        "step": looks,
        **_at_end(workspace),
    }
    named = workspace.read("Query", params)
    answer = answer_of(_pages(named))
    best = best_label(answer.series, name_table(nodes))
    if best is None:
        return _none(named)
    label, values = best
    devices = _devices(workspace, metric, label, values[0][0])
    found = NodeLabel(metric=metric, label=label, values=values, devices=devices)
    return _whole(with_value(named, found), is_cut=answer.is_cut)


def _none(answer: Envelope[Any]) -> Envelope[NodeLabel]:
    nothing: Envelope[NodeLabel] = with_value(answer, None)
    is_empty = answer.status is Status.OK
    return nothing.model_copy(update={"status": Status.OK_EMPTY}) if is_empty else nothing


def _devices(workspace: Workspace, metric: str, label: str, value: str) -> tuple[str, ...]:
    params = {
        "metric": metric,
        "label": label,
        "nodes": [value],
        "start": workspace.window.start,
        "end": workspace.window.end,
    }
    series = workspace.read("Series", params)
    rows = [row for page in _pages(series) for row in objects_at(page, "series")]
    return tuple(one for one in DEVICE_LABELS if one != label and any(one in row for row in rows))


def _at_end(workspace: Workspace) -> dict[str, Any]:
    return {"span": workspace.span, "time": workspace.window.end}


def read_numbers(
    workspace: Workspace,
    template: str,
    label: NodeLabel,
    metrics: Sequence[str],
    *,
    step: int | None = None,
) -> Envelope[tuple[DeviceNumber, ...]]:
    """Return one number a device over the window; see `TEMPLATES` for what each one is.

    Args:
        workspace: Where.
        template: highest, lowest, latest, grown, changed or slots.
        label: Which nodes, by which label.
        metrics: Of those we read; several are one query, and what does not exist is left out.
        step: Seconds between two looks; None: as fine as a query may touch samples.
    """
    by = [label.label, *label.devices]
    asked = {"metric": metrics[0]} if len(metrics) == 1 else {"metrics": list(metrics)}
    devices = min(len(label.values), MOST_NAMES) * DEVICES * len(metrics)
    looks = step if step is not None else step_within(workspace.window, devices, MOST_TOUCHED)
    params = {"template": template, **asked, "by": by, "step": looks, **_at_end(workspace)}
    answers = list(_chunks(workspace, "Query", params, label))
    numbers = [
        number
        for answer, samples in answers
        for number in _numbers(samples, metrics[0], label, answer.evidence)
    ]
    return _joined([answer for answer, _ in answers], tuple(numbers))


def _numbers(
    samples: Sequence[Samples], metric: str, label: NodeLabel, evidence: str
) -> Iterator[DeviceNumber]:
    nodes = dict(label.values)
    for one in samples:
        node = nodes.get(one.labels.get(label.label, ""))
        if node is not None:
            yield DeviceNumber(
                metric=one.labels.get(COUNTED, metric),
                node=node,
                value=one.value,
                gpu=one.labels.get("gpu"),
                uuid=one.labels.get("UUID"),
                pci=pci_id(one.labels.get("pci_bus_id", "")),
                device=one.labels.get("device"),
                evidence=evidence,
            )


def read_total(workspace: Workspace, metric: str) -> Envelope[float]:
    """Return how much a counter rose over the window, all series taken together; or None."""
    looks = max(_LEAST_STEP, workspace.span // _LOOKS)
    params = {"template": "grown in all", "metric": metric, "step": looks, **_at_end(workspace)}
    answer = workspace.read("Query", params)
    found = answer_of(_pages(answer)).series
    return with_value(answer, found[0].value if found else None)


def read_over_time(
    workspace: Workspace, template: str, label: NodeLabel, metric: str, *, step: int
) -> Envelope[tuple[TimeSeries, ...]]:
    """Return one series a device over the window; a step without a sample is None, never zero.

    The value of the period from t to t + step is what the template makes of the samples in it.

    Args:
        workspace: Where.
        template: highs, lows or lasts.
        label: Which nodes, by which label.
        metric: One of the metrics we read.
        step: The period in seconds.
    """
    start, end = _grid(workspace.window, step)
    period = timedelta(seconds=step)
    by = [label.label, *label.devices]
    params = {"template": template, "metric": metric, "by": by, "step": step}
    found: list[TimeSeries] = []
    answers: list[Envelope[Any]] = []
    most = (MOST_POINTS_A_SERIES - 1) * period
    first = start
    while first < end:
        last = min(first + most, end)
        # A sample at the end of a period speaks for it.
        asked = {**params, "start": first + period, "end": last}
        for answer, samples in _chunks(workspace, "QueryRange", asked, label):
            answers.append(answer)
            found += _series(samples, metric, label, answer, (first, last, step))
        first = last
    return _joined(answers, tuple(_side_by_side(found)))


def _grid(window: Window, step: int) -> tuple[datetime, datetime]:
    """Return the window with its ends on the epoch's grid, rounded outwards."""
    zone = window.start.tzinfo
    first = window.start.timestamp() // step * step
    last = -(-window.end.timestamp() // step) * step
    return datetime.fromtimestamp(first, zone), datetime.fromtimestamp(last, zone)


def _series(
    samples: Sequence[Samples],
    metric: str,
    label: NodeLabel,
    answer: Envelope[Any],
    grid: tuple[datetime, datetime, int],
) -> Iterator[TimeSeries]:
    nodes = dict(label.values)
    start, end, step = grid
    first, count = start.timestamp(), round((end - start).total_seconds() / step)
    for one in samples:
        node = nodes.get(one.labels.get(label.label, ""))
        if node is None:
            continue
        values: list[float | None] = [None] * count
        for at, value in one.points:
            place = round((at - first) / step) - 1
            if 0 <= place < count:
                values[place] = value
        yield TimeSeries(
            name=MetricName(
                namespace=NAMESPACE, metric=metric, dimensions=_dimensions(one, node, label)
            ),
            stat="Maximum",
            period_seconds=step,
            start=start,
            values=tuple(values),
            status=answer.status,
            reason=answer.reason,
            evidence=answer.evidence,
        )


def _dimensions(one: Samples, node: str, label: NodeLabel) -> tuple[tuple[str, str], ...]:
    """Return a series' dimensions, under CloudWatch's names too: one calculator reads both."""
    own = {name: one.labels[name] for name in label.devices if name in one.labels}
    gpu = own.get("gpu") or own.get("UUID") or own.get("pci_bus_id") or own.get("device")
    named = {"InstanceId": node, **({"GpuId": gpu} if gpu else {}), **own}
    return tuple(sorted(named.items()))


def _side_by_side(series: Sequence[TimeSeries]) -> Iterator[TimeSeries]:
    """Yield each device once: parts of a long window one after the other."""
    parts: dict[MetricName, list[TimeSeries]] = {}
    for one in series:
        parts.setdefault(one.name, []).append(one)
    for own in parts.values():
        joined = own[0]
        for one in own[1:]:
            gap = round((one.start - joined.end).total_seconds() / joined.period_seconds)
            values = (*joined.values, *[None] * max(gap, 0), *one.values)
            joined = joined.model_copy(update={"values": values})
        yield joined


def _chunks(
    workspace: Workspace, operation: str, params: Mapping[str, Any], label: NodeLabel
) -> Iterator[tuple[Envelope[Any], tuple[Samples, ...]]]:
    values = [value for value, _ in label.values]
    for first in range(0, len(values), MOST_NAMES):
        names = values[first : first + MOST_NAMES]
        asked = {**params, "label": label.label, "nodes": names}
        answer = workspace.read(operation, asked)
        found = answer_of(_pages(answer))
        yield _whole(answer, is_cut=found.is_cut), found.series


def _whole(answer: Envelope[T], *, is_cut: bool) -> Envelope[T]:
    return (
        answer.model_copy(update={"status": Status.PARTIAL, "reason": Reason.ROW_CAP})
        if is_cut and answer.status is Status.OK
        else answer
    )


def _joined(answers: Sequence[Envelope[Any]], value: tuple[T, ...]) -> Envelope[tuple[T, ...]]:
    """Return several answers as one, as complete as the least complete of them."""
    if not answers:
        raise ValueError("nothing was asked")
    worst = next((one for one in answers if not one.status.is_complete), answers[0])
    if worst.status.is_complete:
        status = Status.OK if value else Status.OK_EMPTY
        return worst.model_copy(update={"status": status, "value": value})
    status = Status.PARTIAL if value else worst.status
    return worst.model_copy(update={"status": status, "value": value or None})


def step_for(window: Window, devices: int) -> int:
    """Return the finest step at which so many series stay within what a question may ask."""
    return step_within(window, devices, MOST_SAMPLES)


def step_within(window: Window, series: int, most: int) -> int:
    """Return the finest step at which so many series have no more than so many samples."""
    seconds = (window.end - window.start).total_seconds()
    fitting = (step for step in STEPS if series * seconds / step <= most)
    return next(fitting, STEPS[-1])
