"""Metrics of a cluster's nodes, file systems and services over a window, as extremes."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from gpuvet.aws.metric_spans import told_series
from gpuvet.aws.metrics import Wanted, finest_period, list_metrics, read_series
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.catalog.metric_families import FAMILIES, Family, namespaces, row_of
from gpuvet.errors import UsageError
from gpuvet.model.case import CaseNode
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.inspection import GroupedRow, SeriesList, SeriesRow
from gpuvet.model.metrics import MetricName
from gpuvet.model.report import NotSeenRow
from gpuvet.modes.evidence import orchestrator_of
from gpuvet.modes.inspect_exported import read_exported, series_row
from gpuvet.modes.inspection import Look, State, counts_of, state_of, told, whole_of
from gpuvet.modes.window import Asked
from gpuvet.report.words import counted, some

# Ours: as many series as ten calls of 500 bring.
_MOST_SERIES = 5_000
# Ours: a window of up to six hours is read as finely as it is kept, a longer one more coarsely.
_FINE = timedelta(hours=6)
_HOUR = 3600
_MIDDLE = 300
_MOST_METRICS = 12


def series_list(
    case: Case,
    family: Family,
    times: Asked,
    *,
    metric: str | None = None,
    nodes: Sequence[str] = (),
    now: datetime,
) -> SeriesList:
    """Return the extremes of each series of a family, the highest first.

    Args:
        case: Where the metrics are.
        family: What they are about.
        times: The window.
        metric: One metric by its exact name; None: those that tell most.
        nodes: Of these nodes only; () for all.
        now: The clock.

    Raises:
        UsageError: A metric that is none of the family, a node that is none of the cluster.
    """
    if metric is not None and not any(row_of(family, n, metric) for n in namespaces(family)):
        prefixes = some([f"{r.namespace} {r.prefix}*" for r in FAMILIES[family]], 8)
        raise UsageError(f"{metric[:80]!r} is no {family.value} metric; these are: {prefixes}")
    look = Look.at(case, times, now)
    known = _nodes(nodes_of(look.case), nodes)
    listed = [list_metrics(look.aws, one) for one in namespaces(family)]
    told_here = [one for one in told_series(look.case.metrics) if _is_of(one.name, family, metric)]
    ids = frozenset(node.node for node in known)
    wanted = _wanted(listed, look, family, metric, ids)
    kept = wanted[:_MOST_SERIES]
    window = look.asked.window
    read = read_series(look.aws, kept, window, _period(window, look.asked.now)) if kept else ()
    exported = read_exported(look.case, family, window, known)
    rows = (
        *(series_row(one, window) for one in (*read, *told_here)),
        *(one for one in exported.rows if metric in {None, one.metric}),
    )
    found = _Found(tuple(sorted(rows, key=_order)), len(wanted) - len(kept), exported.not_seen)
    return _list(look, family, found, listed, nodes=len(known))


class _Found(NamedTuple):
    """The rows of a look, how many series it left out, and what exporters did not tell."""

    rows: tuple[SeriesRow, ...]
    cut: int
    not_seen: tuple[NotSeenRow, ...]


def _list(
    look: Look,
    family: Family,
    found: _Found,
    listed: Sequence[Envelope[tuple[MetricName, ...]]],
    *,
    nodes: int,
) -> SeriesList:
    answers, rows, cut = look.answers(), found.rows, found.cut
    stands_in = rows and not any(one.status.is_complete for one in listed)
    state = State(Status.OK) if stands_in else state_of(len(rows), whole_of(answers))
    common = look.common(
        len(rows), answers, State(Status.PARTIAL, Reason.ROW_CAP) if cut else state
    )
    told_already = {row.what for row in common["not_seen"]}
    more = (row for row in found.not_seen if row.what not in told_already)
    common["not_seen"] = (*common["not_seen"], *more, *((_not_read(cut),) if cut else ()))
    kinds = ", ".join(f"{n} of {word}" for word, n in counts_of(r.metric for r in rows).items())
    nothing = (
        f"no {family.value} metric of {counted(nodes, 'node')} is published in CloudWatch "
        f"({some(namespaces(family))}): not collected, which is no zero"
    )
    none = told(state, nothing, f"{family.value} metrics are")
    return SeriesList(
        **common,
        headline=f"{counted(len(rows), 'series', 'series')}: {kinds}" if rows else none,
        orchestrator=orchestrator_of(look.case, nodes_of(look.case)).value,
        groups=tuple(_groups(rows)),
        notes=("a period without a datapoint is neither zero nor low",),
        rows=rows,
    )


def _not_read(cut: int) -> NotSeenRow:
    return NotSeenRow(
        what=f"{counted(cut, 'series', 'series')} beyond the first {_MOST_SERIES}",
        reason=Reason.ROW_CAP,
        closes_with="name some nodes, or one metric",
    )


def _nodes(found: Sequence[CaseNode], wanted: Sequence[str]) -> tuple[CaseNode, ...]:
    known = {node.node: node for node in found}
    missing = next((name for name in wanted if name not in known), None)
    if missing is not None:
        raise UsageError(
            f"no node {missing[:60]!r} in this cluster; it has {len(known)}: "
            f"{some(sorted(known), 8)}"
        )
    return tuple(known[name] for name in wanted or known)


def _wanted(
    listed: Sequence[Envelope[tuple[MetricName, ...]]],
    look: Look,
    family: Family,
    metric: str | None,
    nodes: frozenset[str],
) -> list[Wanted]:
    cluster = look.case.meta.cluster
    found: list[Wanted] = []
    for answer in listed:
        for name in answer.value or ():
            row = row_of(family, name.namespace, name.metric)
            is_asked = metric == name.metric or (metric is None and row and row.is_shown)
            if row and is_asked and _is_ours(name, nodes, cluster):
                found.append(Wanted(name, row.stat))
    return sorted(found, key=lambda one: (one.name.metric, one.name.dimensions))


def _is_ours(name: MetricName, nodes: frozenset[str], cluster: str | None) -> bool:
    """Say whether a metric is of these nodes, this cluster, or of a file system."""
    instance, of_cluster = name.of("InstanceId"), name.of("ClusterName")
    if instance is not None:
        return instance in nodes
    if of_cluster is not None:
        return of_cluster == cluster
    return name.of("FileSystemId") is not None


def _is_of(name: MetricName, family: Family, metric: str | None) -> bool:
    if metric is not None:
        return name.metric == metric
    return row_of(family, name.namespace, name.metric) is not None


def _period(window: Window, now: datetime) -> int:
    """Return the period: as fine as is kept, coarser over a longer window. Extremes stay."""
    finest = finest_period(window.start, now)
    span = window.end - window.start
    wanted = finest if span <= _FINE else _MIDDLE if span <= 4 * _FINE else _HOUR
    return max(finest, wanted)


def _order(row: SeriesRow) -> tuple[str, float, str]:
    return (row.metric, -(row.highest if row.highest is not None else float("-inf")), row.resource)


def _groups(rows: Sequence[SeriesRow]) -> Iterator[GroupedRow]:
    """Yield each metric with its range over all its resources."""
    by_metric: dict[str, list[SeriesRow]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, []).append(row)
    for metric, members in list(by_metric.items())[:_MOST_METRICS]:
        lows = [row.lowest for row in members if row.lowest is not None]
        highs = [row.highest for row in members if row.highest is not None]
        silent = sum(1 for row in members if row.lowest is None)
        words = f"{min(lows):g} to {max(highs):g}" if lows and highs else "no datapoint"
        lacking = f", {silent} without a datapoint" if silent else ""
        yield GroupedRow(
            what=f"{metric}: {words}{lacking}",
            count=len(members),
            examples=tuple(row.resource for row in members[:2]),
        )
