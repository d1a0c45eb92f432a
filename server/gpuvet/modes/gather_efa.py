"""EFA's error counters of a question's nodes, from Managed Prometheus or a case's own answers."""

from collections.abc import Iterator, Mapping, Sequence

from gpuvet.aws.prometheus import Workspace, read_numbers, read_over_time, step_for
from gpuvet.aws.prometheus_queries import EFA_ERRORS
from gpuvet.aws.reads import PROMETHEUS
from gpuvet.case import Case
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason, Window
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.network import EfaPoint, EfaSeries
from gpuvet.model.prometheus import DeviceNumber, NodeLabel
from gpuvet.modes.gather_prometheus import held, locate, unread_of
from gpuvet.parse.efa_names import counter_name

_EFA_DEVICES = 32  # p5.48xlarge has the most
# Whether an exporter was there is looked at every five minutes, of long windows 600 times.
_SLOT, _MOST_SLOTS = 300, 600
# Ours: counters that did not rise say so where samples cover this much of the window.
_SHARE_SEEN = 0.9


def read_efa(
    case: Case, window: Window, nodes: Sequence[CaseNode]
) -> tuple[tuple[EfaSeries, ...], tuple[NotSeen, ...]]:
    """Return EFA's error counters of these nodes over time, and what of them was not read.

    Counters that did not rise come as one flat series a node, where samples cover nine tenths of
    the window; those that rose come device by device, minute by minute.
    """
    told = held(case, EFA_ERRORS, nodes)
    if told:
        names = ((one, counter_name(one.name.metric)) for one in told)
        return tuple(_efa(one, name) for one, name in names if name is not None), ()
    located = locate(case, window, EFA_ERRORS[:1], nodes)
    if located.workspace is None or located.label is None:
        return (), located.not_seen
    missing = list(located.not_seen)
    workspace, label = located.workspace, located.label
    grown = read_numbers(workspace, "grown", label, EFA_ERRORS)
    if not grown.status.is_complete:
        missing.append(unread_of(grown))
    rises = grown.value or ()
    covered = _covered(workspace, label, missing) if rises else {}
    found: list[EfaSeries] = []
    for metric in EFA_ERRORS:
        own = [one for one in rises if one.metric == metric]
        found += _counter(workspace, label, metric, own, covered, missing)
    return tuple(found), tuple(missing)


def _counter(
    workspace: Workspace,
    label: NodeLabel,
    metric: str,
    rises: Sequence[DeviceNumber],
    covered: Mapping[str, float],
    missing: list[NotSeen],
) -> Iterator[EfaSeries]:
    counter = counter_name(metric) or metric
    rose = {one.node for one in rises if one.value > 0}
    pairs = tuple(pair for pair in label.values if pair[1] in rose)
    if pairs:
        only = label.model_copy(update={"values": pairs})
        step = step_for(workspace.window, len(pairs) * _EFA_DEVICES)
        lasts = read_over_time(workspace, "lasts", only, metric, step=step)
        if not lasts.status.is_complete:
            missing.append(unread_of(lasts))
        yield from (_efa(one, counter) for one in lasts.value or ())
    for node in sorted({one.node for one in rises} - rose):
        if covered.get(node, 0.0) >= _SHARE_SEEN:
            evidence = next(one.evidence for one in rises if one.node == node)
            yield _flat(workspace, counter, node, metric, evidence)
        else:
            missing.append(_thin(metric, node))


def _covered(workspace: Workspace, label: NodeLabel, missing: list[NotSeen]) -> dict[str, float]:
    """Return the share of the window's slots that a node's exporter has a sample of."""
    step = max(_SLOT, workspace.span // _MOST_SLOTS)
    whole = label.model_copy(update={"devices": ()})
    slots = read_numbers(workspace, "slots", whole, EFA_ERRORS[:1], step=step)
    if not slots.status.is_complete:
        missing.append(unread_of(slots))
    asked = max(workspace.span // step, 1)
    return {one.node: one.value / asked for one in slots.value or ()}


def _thin(metric: str, node: str) -> NotSeen:
    return NotSeen(
        what=f"{metric} of {node} over the whole window: samples are missing",
        reason=Reason.EMPTY,
        closes_with="the counters read on the node: rdma -p statistic show",
        nodes=(node,),
    )


def _efa(series: TimeSeries, counter: str) -> EfaSeries:
    name = dict(series.name.dimensions)
    return EfaSeries(
        counter=counter,
        node=name["InstanceId"],
        device=name.get("device"),
        period_seconds=series.period_seconds,
        points=tuple(EfaPoint(at=at, value=value) for at, value in series.points()),
        source=f"{PROMETHEUS} {series.name.metric}",
        evidence=series.evidence,
    )


def _flat(
    workspace: Workspace, counter: str, node: str, metric: str, evidence: str | None
) -> EfaSeries:
    ends = (workspace.window.start, workspace.window.end)
    return EfaSeries(
        counter=counter,
        node=node,
        period_seconds=workspace.span,
        points=tuple(EfaPoint(at=at, value=0.0) for at in ends),
        source=f"{PROMETHEUS} {metric}: no rise",
        evidence=evidence,
    )
