"""The coverage of each node: its counted streams, its health agent, or what a case declares."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuvet.aws.door import LineGap, LogStream
from gpuvet.calculators.coverage import (
    HOUR,
    hma_coverage,
    node_coverage,
    source_coverage,
    unsearched,
)
from gpuvet.calculators.hours import life_of
from gpuvet.case import Case, KubeObject, xid_sight
from gpuvet.case.kube_state import agent_runs
from gpuvet.model.case import Accelerator, CaseNode, FileReport, NodeReading
from gpuvet.model.cluster import NodeRecords, NotSeen, Orchestrator
from gpuvet.model.coverage import (
    CoverageStatus,
    Gap,
    Gate,
    HourState,
    NodeCoverage,
    Shipper,
    SourceCoverage,
    StreamCounts,
)
from gpuvet.model.events import HmaRecord
from gpuvet.model.evidence import Window
from gpuvet.modes.logs import Logs, rules_of, unread
from gpuvet.modes.window import Resolved
from gpuvet.parse.shipper import shipper_of_name


@dataclass(frozen=True, slots=True)
class Agent:
    """What bears on the health agent's silence: its group, and whether that is live."""

    group: str | None
    group_live: bool | None


# A stream that was not counted is a hole only where it was meant to carry the kernel's lines.
_MAY_CARRY_KERNEL_LINES = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)
_CLUSTER_GROUP = "/aws/sagemaker/Clusters/"


def read_agent(
    case: Case, orchestrator: Orchestrator, logs: Logs, asked: Resolved
) -> tuple[Agent | None, tuple[NotSeen, ...]]:
    """Return whether the cluster's own log group was live inside the window, without the pad."""
    if not orchestrator.is_hyperpod:
        return None, ()
    groups = sorted(
        {
            s.group
            for streams in logs.streams.values()
            for s in streams
            if s.group is not None and s.group.startswith(_CLUSTER_GROUP)
        }
    )
    group = groups[0] if groups else None
    counted = case.logs.group_hours(group or cluster_groups(case), asked.window)
    live = any(
        one.lines and _counts_as_inside(one.hour, asked.window) for one in counted.value or ()
    )
    missing = tuple(unread(counted, "liveness of the cluster's log group", "count its lines"))
    return Agent(group, True if live else None if missing else False), missing


def cluster_groups(case: Case) -> str:
    """Return how the log groups of the cluster's own service begin."""
    return f"{_CLUSTER_GROUP}{case.meta.cluster}/" if case.meta.cluster else _CLUSTER_GROUP


def _counts_as_inside(hour: datetime, window: Window) -> bool:
    """Say whether an hour's lines lie inside a window; a short window takes the hour around it."""
    if window.end - window.start < 2 * HOUR:
        return window.start < hour + HOUR and hour < window.end
    return window.start <= hour < window.end


def coverage_of(
    case: Case,
    node: CaseNode,
    reading: NodeReading | None,
    logs: Logs,
    records: NodeRecords,
    asked: Resolved,
    hma: Agent | None,
) -> NodeCoverage:
    """Return what every source of a node could show, and what the node may claim."""
    streams = logs.streams.get(node.node, ())
    if reading is not None and reading.coverage is not None:
        return _declared(node.node, reading, streams)
    life = life_of(node, asked.now)
    rules = rules_of(case)
    counts = [c for c in logs.counts.get(node.node, ()) if c.shipper is not Shipper.HMA]
    sources = [source_coverage(c, asked.window, asked.now, life=life, rules=rules) for c in counts]
    counted = {c.stream for c in logs.counts.get(node.node, ())}
    # Beside counted streams a raw file is an excerpt of one of them, not a source of its own.
    sources += [
        _uncounted(s)
        for s in streams
        if s.stream not in counted
        and shipper_of_name(s.stream, s.group) in _MAY_CARRY_KERNEL_LINES
        and (s.group is not None or not counts)
    ]
    gaps = logs.line_gaps.get(node.node, ())
    sources = [unsearched(one, _gaps_of(one, gaps)) for one in sources]
    if not sources and logs.streams_unread is not None:
        sources.append(_not_listed(node.node, logs.streams_unread))
    if hma is not None:
        sources.append(_agent_coverage(hma, node, streams, records, asked.window, case.kube))
    return node_coverage(node.node, sources, searched=_searched(case, node, logs))


def _searched(case: Case, node: CaseNode, logs: Logs) -> frozenset[str]:
    """Return the streams of a node over which "0 Xids" may be said.

    The log door searches by itself: where its answer was complete, every stream was searched. A
    case of files tells by its raw logs, which stand for the node's counted streams (people keep
    counts and lines of one stream under different names), or by complete searches of exact
    streams. A file that ends inside a line and holds less than was counted is cut: what came after
    it was searched by nobody.
    """
    counted = {c.stream for c in logs.counts.get(node.node, ())}
    if node.node in logs.garbled:
        return frozenset()
    if case.meta.form.searches_by_itself:
        return frozenset(counted)
    sight = xid_sight(case, node.node, node.aliases)
    arrived = lines_of(logs.counts.get(node.node, ()))
    cut = {report.path for report in case.files if is_cut(report, arrived)}
    if not cut.issuperset(sight.logs):
        return frozenset(counted)
    return frozenset(s for s in counted if any(x.covers(s) for x in sight.searches))


def lines_of(counts: Iterable[StreamCounts]) -> int:
    """Return the lines that were counted of a node's own streams, its health agent's left out."""
    own = (one for one in counts if one.shipper is not Shipper.HMA)
    return sum(one_hour.lines for one in own for one_hour in one.bins)


def is_cut(report: FileReport, counted: int) -> bool:
    """Say whether a raw log was cut: it ends inside a line, and more lines were counted."""
    return report.ends_in_a_line and report.lines < counted


def _declared(node: str, reading: NodeReading, streams: Sequence[LogStream]) -> NodeCoverage:
    """Take coverage as the case states it, stream by stream where it names any."""
    declared = reading.coverage
    gate = declared.status if declared else Gate.NONE
    status = _DECLARED[gate]
    empty = declared.empty_hours if declared else ()
    gaps = tuple(Gap(start=h, end=h + HOUR, state=HourState.EMPTY) for h in empty)
    named: list[tuple[str | None, str | None]] = [(s.group, s.stream) for s in streams]
    return NodeCoverage(
        node=node,
        status=status,
        gate=gate,
        hours_asked=len(empty),
        empty_hours=tuple(empty),
        sources=tuple(
            SourceCoverage(
                node=node,
                source=Shipper.HMA if gate is Gate.HMA_ONLY else Shipper.UNKNOWN,
                group=group,
                stream=stream,
                status=status,
                reason="as the case states it",
                hours_asked=len(empty),
                gaps=gaps,
            )
            for group, stream in named or [(None, None)]
        ),
        notes=("coverage as the case states it, not measured here",),
    )


_DECLARED = {
    Gate.MEASURED: CoverageStatus.MEASURED,
    Gate.PARTIAL: CoverageStatus.PARTIAL,
    Gate.NONE: CoverageStatus.NOT_OBSERVABLE,
    Gate.HMA_ONLY: CoverageStatus.NO_HMA_DETECTIONS,
}


def _uncounted(stream: LogStream) -> SourceCoverage:
    """A stream whose lines cannot be counted by hour, such as dmesg with uptime only."""
    return SourceCoverage(
        node=stream.node,
        source=Shipper.UNKNOWN,
        group=stream.group,
        stream=stream.stream,
        status=CoverageStatus.UNVERIFIED,
        reason="no lines per hour could be counted",
    )


def _not_listed(node: str, reason: str) -> SourceCoverage:
    """A node of which no stream was found where not all streams could be looked at."""
    return SourceCoverage(
        node=node,
        source=Shipper.UNKNOWN,
        group=None,
        stream=None,
        status=CoverageStatus.UNVERIFIED,
        reason=f"not all log streams were read: {reason}",
    )


def _gaps_of(source: SourceCoverage, gaps: Sequence[LineGap]) -> list[Window]:
    """Return where the lines of a source's stream were not all read."""
    place = (source.group, source.stream)
    return [gap.window for gap in gaps if (gap.group, gap.stream) == place]


_AGENT_STREAM = "SagemakerHealthMonitoringAgent/"


def _is_agents(stream: LogStream) -> bool:
    return stream.stream.startswith(_AGENT_STREAM)


def _agent_coverage(
    agent: Agent,
    node: CaseNode,
    streams: Sequence[LogStream],
    records: NodeRecords,
    window: Window,
    kube: Sequence[KubeObject],
) -> SourceCoverage:
    own = next((s for s in streams if _is_agents(s)), None)
    detections = [
        r for r in records.hma if _at(r) is not None and window.holds(_at(r) or window.start)
    ]
    return hma_coverage(
        node.node,
        group=own.group if own else agent.group,
        stream=own.stream if own else None,
        detections=len(detections),
        group_live=agent.group_live or None if agent.group is None else agent.group_live,
        has_accelerator=node.accelerator is not Accelerator.NO,
        detections_before=len(records.hma) - len(detections) if own else None,
        agent_running=agent_runs(kube, (node.node, *node.aliases)),
    )


def _at(record: HmaRecord) -> datetime | None:
    return record.at or record.agent_at
