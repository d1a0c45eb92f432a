"""Gathers what a verdict needs through the doors: nodes, streams, counts, lines, facts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpuvet.aws.door import LogLine, LogStream, NodeName
from gpuvet.calculators.coverage import (
    HOUR,
    CoverageRules,
    Life,
    hma_coverage,
    node_coverage,
    source_coverage,
)
from gpuvet.calculators.recurrence import RECURRENCE_DAYS
from gpuvet.case.case import Case
from gpuvet.case.inventory import nodes as case_nodes
from gpuvet.model.case import Accelerator, BusHistory, CaseNode, NodeReading
from gpuvet.model.cluster import (
    ClusterEvidence,
    NodeEvidence,
    NodeFacts,
    NodeRecords,
    NotSeen,
    Orchestrator,
)
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
from gpuvet.model.events import AnyRecord, Boundary, HmaRecord, TimeQuality
from gpuvet.model.evidence import Envelope, Reason, Window
from gpuvet.modes.window import Resolved
from gpuvet.parse.kernel_log import LineCounts, RawLine, node_records, parse_lines

_FACTS_STREAM = "operator facts"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The evidence of a question, and what of it could not be read."""

    evidence: ClusterEvidence
    not_seen: tuple[NotSeen, ...]
    counts: LineCounts
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Logs:
    """What came through the log door, by node."""

    streams: Mapping[str, tuple[LogStream, ...]]
    counts: Mapping[str, tuple[StreamCounts, ...]]
    records: Mapping[str, tuple[AnyRecord, ...]]
    in_hand: frozenset[tuple[str, str]]  # (node, stream) whose lines were read completely
    lines: LineCounts
    not_seen: tuple[NotSeen, ...]


def gather(case: Case, asked: Resolved) -> Gathered:
    """Return everything a verdict may use, with every source that was not read named."""
    nodes = tuple(case_nodes(case))
    logs = _read_logs(case, nodes, asked)
    orchestrator = _orchestrator(case, nodes)
    agent, agent_unread = _read_agent(case, orchestrator, logs, asked)
    evidence = ClusterEvidence(
        orchestrator=orchestrator,
        now=asked.now,
        window=asked.window,
        window_source=asked.source,
        failure_at=asked.failure_at,
        failure_measured=asked.failure_measured,
        nodes=tuple(_node(case, node, logs, asked, agent) for node in nodes),
    )
    return Gathered(evidence=evidence, not_seen=(*logs.not_seen, *agent_unread), counts=logs.lines)


def _orchestrator(case: Case, nodes: Sequence[CaseNode]) -> Orchestrator:
    if case.meta.orchestrator is not Orchestrator.UNKNOWN:
        return case.meta.orchestrator
    seen = [n.orchestrator for n in nodes if n.orchestrator is not Orchestrator.UNKNOWN]
    return max(set(seen), key=seen.count) if seen else Orchestrator.UNKNOWN


def _read_logs(case: Case, nodes: Sequence[CaseNode], asked: Resolved) -> _Logs:
    names = [NodeName(node=n.node, aliases=n.aliases) for n in nodes]
    found = case.logs.streams(names)
    not_seen = list(_unread(found, "log streams of the nodes", "list the log streams"))
    streams = found.value or ()
    rules = rules_of(case)
    padded = asked.window.padded(rules.pad, rules.pad)
    counted = case.logs.hourly_counts(streams, padded)
    not_seen += _unread(counted, "lines per hour of the streams", "count lines per hour again")
    lookback = Window(start=padded.start - timedelta(days=RECURRENCE_DAYS), end=padded.end)
    lines = case.logs.gpu_lines(streams, lookback)
    not_seen += _unread(lines, "driver and agent lines of the streams", "read the lines again")
    records, line_counts = _parse(lines.value or (), asked.now)
    by_node: dict[str, list[LogStream]] = defaultdict(list)
    for stream in streams:
        by_node[stream.node].append(stream)
    counts: dict[str, list[StreamCounts]] = defaultdict(list)
    for one in counted.value or ():
        counts[one.node].append(_with_status(one, counted))
    whole = lines.status.is_complete
    return _Logs(
        streams={n: tuple(s) for n, s in by_node.items()},
        counts={n: tuple(c) for n, c in counts.items()},
        records=records,
        in_hand=frozenset((s.node, s.stream) for s in streams) if whole else frozenset(),
        lines=line_counts,
        not_seen=tuple(not_seen),
    )


def _with_status(
    counts: StreamCounts, envelope: Envelope[tuple[StreamCounts, ...]]
) -> StreamCounts:
    """Let an incomplete reading make its missing hours unknown instead of empty."""
    if envelope.status.is_complete or not counts.bins_status.is_complete:
        return counts
    return counts.model_copy(
        update={"bins_status": envelope.status, "bins_reason": envelope.reason}
    )


def _unread(envelope: Envelope[tuple[object, ...]], what: str, closes: str) -> Iterable[NotSeen]:
    if envelope.status.is_complete:
        return
    yield NotSeen(
        what=what,
        reason=envelope.reason or Reason.NOT_RECORDED,
        closes_with=f"{closes} ({envelope.service}:{envelope.operation})",
    )


def rules_of(case: Case) -> CoverageRules:
    """Return the allowances of the coverage proof for a case.

    A recorded count that ends at the case's own clock has no delivery lag to wait for, and a
    window whose pad is inside it already is not widened again.
    """
    rules = CoverageRules()
    pad = timedelta(0) if case.meta.window_padded else rules.pad
    lag = timedelta(0) if case.meta.window_padded else rules.lag
    return CoverageRules(pad=pad, lag=lag)


def _parse(
    lines: Iterable[LogLine], now: datetime
) -> tuple[dict[str, tuple[AnyRecord, ...]], LineCounts]:
    by_stream: dict[tuple[str, str | None, str], list[RawLine]] = defaultdict(list)
    for line in lines:
        shipped = (
            datetime.fromtimestamp(line.shipped_at_ms / 1000, tz=UTC)
            if line.shipped_at_ms is not None
            else None
        )
        by_stream[(line.node, line.group, line.stream)].append(
            RawLine(text=line.text, line=line.line, shipped_at=shipped)
        )
    records: dict[str, list[AnyRecord]] = defaultdict(list)
    totals = LineCounts()
    for (node, group, stream), raw in by_stream.items():
        parsed = parse_lines(raw, node=node, stream=stream, group=group, reference_time=now)
        for record in parsed.records:
            records[record.node].append(record)
        totals = _added(totals, parsed.counts)
    return {node: tuple(found) for node, found in records.items()}, totals


def _added(one: LineCounts, other: LineCounts) -> LineCounts:
    return LineCounts(
        lines=one.lines + other.lines,
        understood=one.understood + other.understood,
        benign=one.benign + other.benign,
        unrelated=one.unrelated + other.unrelated,
        not_understood=one.not_understood + other.not_understood,
    )


_CLUSTER_GROUP = "/aws/sagemaker/Clusters/"


def _read_agent(
    case: Case, orchestrator: Orchestrator, logs: _Logs, asked: Resolved
) -> tuple[_Agent | None, tuple[NotSeen, ...]]:
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
    found = case.logs.group_streams(groups[0] if groups else _CLUSTER_GROUP)
    others = found.value or ()
    if not others:
        unread = tuple(_unread(found, "streams of the cluster's log group", "list its streams"))
        return _Agent(groups[0] if groups else None, None if unread else False), unread
    counted = case.logs.hourly_counts(others, asked.window)
    live = any(
        b.lines and asked.window.start <= b.hour + HOUR and b.hour < asked.window.end
        for one in counted.value or ()
        for b in one.bins
    )
    unread = tuple(_unread(counted, "liveness of the cluster's log group", "count its lines"))
    return _Agent(others[0].group, True if live else None if unread else False), unread


def _node(
    case: Case, node: CaseNode, logs: _Logs, asked: Resolved, agent: "_Agent | None"
) -> NodeEvidence:
    reading = case.facts.of(node.node)
    records = node_records([*logs.records.get(node.node, ()), *_declared_boots(node.node, reading)])
    return NodeEvidence(
        node=node.node,
        host=node.host,
        instance_type=node.instance_type,
        gpu_expected=node.gpu_expected,
        driver_version=node.driver_version,
        driver_open=node.driver_open,
        launched_at=node.launched_at,
        left_at=node.left_at,
        records=records,
        facts=_facts(case, node, reading, records),
        coverage=_coverage(case, node, reading, logs, records, asked, agent),
    )


def _declared_boots(node: str, reading: NodeReading | None) -> tuple[Boundary, ...]:
    return tuple(
        Boundary(
            node=node,
            stream=_FACTS_STREAM,
            line=0,
            raw="",
            at=boot.at,
            time_quality=TimeQuality.EXACT,
            kind=boot.kind,
        )
        for boot in (reading.boots if reading else ())
    )


_HEALTH_LABEL = "sagemaker.amazonaws.com/node-health-status"


def _facts(
    case: Case, node: CaseNode, reading: NodeReading | None, records: NodeRecords
) -> NodeFacts:
    facts = reading.facts if reading else NodeFacts()
    labels = dict(reading.labels) if reading else {}
    updates: dict[str, object] = {}
    if node.state and facts.status is None:
        updates["status"] = node.state
    if facts.health_label is None and _HEALTH_LABEL in labels:
        updates["health_label"] = labels[_HEALTH_LABEL]
    history = _history(case, node.node, records)
    if history is not None:
        updates["earlier_same_gpu_events"] = history.earlier_events
        updates["reboots_since_event"] = history.reboots_since
        if facts.gpus_seen is None:
            updates["gpus_seen"] = history.visible_gpus
    return facts.model_copy(update=updates)


def _history(case: Case, node: str, records: NodeRecords) -> BusHistory | None:
    """Return the told history of this node's GPU; one without a node goes to whoever has events."""
    for history in case.facts.bus_history:
        named = history.node == node or (history.node is None and bool(records.xids))
        pci_fits = history.pci is None or any(x.pci == history.pci for x in records.xids)
        if named and pci_fits:
            return history
    return None


def _coverage(
    case: Case,
    node: CaseNode,
    reading: NodeReading | None,
    logs: _Logs,
    records: NodeRecords,
    asked: Resolved,
    hma: "_Agent | None",
) -> NodeCoverage:
    streams = logs.streams.get(node.node, ())
    if reading is not None and reading.coverage is not None:
        return _declared(node.node, reading, streams)
    life = Life(launched_at=node.launched_at, left_at=node.left_at)
    rules = rules_of(case)
    counts = [c for c in logs.counts.get(node.node, ()) if c.shipper is not Shipper.HMA]
    sources = [source_coverage(c, asked.window, asked.now, life=life, rules=rules) for c in counts]
    counted = {c.stream for c in logs.counts.get(node.node, ())}
    sources += [_uncounted(s) for s in streams if s.stream not in counted and not _is_agents(s)]
    if hma is not None:
        sources.append(_agent_coverage(hma, node, streams, records, asked.window))
    return node_coverage(node.node, sources, searched=_searched(case, node.node, logs))


def _searched(case: Case, node: str, logs: _Logs) -> frozenset[str]:
    """Return the streams of a node over which "0 Xids" may be said.

    Either the lines of the stream itself were read completely, or a search over exactly that
    stream completed. A raw kernel log of the node stands for its counted streams: people keep
    counts and lines of one stream under different names.
    """
    counted = {c.stream for c in logs.counts.get(node, ())}
    read = {stream for owner, stream in logs.in_hand if owner == node}
    found = {s for s in counted if any(x.is_for_xids and x.covers(s) for x in case.searches)}
    return frozenset(counted | read if read else found | read)


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


_AGENT_STREAM = "SagemakerHealthMonitoringAgent/"


def _is_agents(stream: LogStream) -> bool:
    return stream.stream.startswith(_AGENT_STREAM)


@dataclass(frozen=True, slots=True)
class _Agent:
    """What bears on the health agent's silence: its group, and whether that is live."""

    group: str | None
    group_live: bool | None


def _agent_coverage(
    agent: _Agent,
    node: CaseNode,
    streams: Sequence[LogStream],
    records: NodeRecords,
    window: Window,
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
    )


def _at(record: HmaRecord) -> datetime | None:
    return record.at or record.agent_at
