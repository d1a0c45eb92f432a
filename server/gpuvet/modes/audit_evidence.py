"""Reads what an audit asks beyond the verdicts: log agents, NCCL, EFA, GPU activity."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpuvet.aws.door import LogLine
from gpuvet.aws.metric_spans import told_series
from gpuvet.aws.metrics import Wanted, finest_period, list_metrics, read_series
from gpuvet.calculators.audit_witnesses import WitnessEvidence
from gpuvet.calculators.finding import expected_gpus
from gpuvet.calculators.gpu_activity import GPU_POWER, NAMESPACE, measure_of
from gpuvet.case import Case
from gpuvet.model.audit import AgentLine, Witness
from gpuvet.model.case import FileKind
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.network import NcclLog
from gpuvet.modes.evidence import Gathered
from gpuvet.modes.gather_efa import read_efa
from gpuvet.modes.gather_network import transport_lines
from gpuvet.modes.gather_prometheus import read_activity, with_gpus
from gpuvet.modes.logs import unread
from gpuvet.modes.network_facts import efa_readings, efa_series
from gpuvet.modes.scope import Scope
from gpuvet.modes.unread import not_of_the_ledger
from gpuvet.parse.agent_log import CANDIDATES, read_agent_lines
from gpuvet.parse.efa_names import counter_name
from gpuvet.parse.kernel_log import RawLine

_EFA_NAMESPACE = "CWAgent"
_PAD = timedelta(hours=1)
# Ours: a week of minutes for 100 nodes of 8 GPUs; beyond it idle hours are not reckoned.
MOST_POINTS = 10_000_000
_COARSE = 300
_FINE_UP_TO = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class AuditEvidence:
    """What was read besides the nodes' records.

    Attributes:
        agents: Lines of log agents and rotation.
        power: GPU power series by node.
    """

    witnesses: WitnessEvidence
    agents: tuple[AgentLine, ...]
    power: Mapping[str, tuple[TimeSeries, ...]]
    not_seen: tuple[NotSeen, ...]


def read_audit_evidence(case: Case, scope: Scope, gathered: Gathered) -> AuditEvidence:
    """Return what an audit asks beyond the verdicts, and what of it was not read."""
    agents, missing = _agents(case, scope, gathered)
    nccl, nccl_missing = transport_lines(case, scope)
    efa, efa_missing = _efa(case, scope)
    power, power_missing = _power(case, scope)
    unread_kinds = {
        witness: found[0].reason
        for witness, found in (
            (Witness.NCCL, nccl_missing),
            (Witness.EFA, efa_missing),
            (Witness.GPU_ACTIVITY, power_missing),
        )
        if found
    }
    witnesses = WitnessEvidence(
        kernel_lines=_kernel_lines(gathered),
        nccl=_by_owner(nccl, scope),
        efa=efa,
        gpu={node: len(series) for node, series in power.items()},
        gpu_measure=measure_of(one for series in power.values() for one in series),
        unread=unread_kinds,
        many_nodes=len(scope.nodes) != 1,
    )
    not_seen = not_of_the_ledger(case, (*missing, *nccl_missing, *efa_missing, *power_missing))
    return AuditEvidence(witnesses, agents, power, not_seen)


def _kernel_lines(gathered: Gathered) -> dict[tuple[str | None, str | None], int]:
    return {
        (one.group, one.stream): one.kernel_lines_ever
        for counts in gathered.logs.counts.values()
        for one in counts
        if one.kernel_lines_ever is not None
    }


def _agents(
    case: Case, scope: Scope, gathered: Gathered
) -> tuple[tuple[AgentLine, ...], tuple[NotSeen, ...]]:
    found: list[AgentLine] = []
    for text in case.service_logs:
        if text.kind is FileKind.SHIPPER_LOG:
            lines = (RawLine(line, place) for place, line in enumerate(text.text.splitlines(), 1))
            owner = text.node or ""
            found += read_agent_lines(lines, node=owner, stream=text.file, reference_time=scope.now)
    streams = [s for own in gathered.logs.streams.values() for s in own]
    window = scope.window.padded(_PAD, _PAD)
    answer = case.logs.lines_like(streams, window, CANDIDATES)
    for (node, group, stream), raw in _by_stream(answer.value or ()).items():
        found += read_agent_lines(
            raw, node=node, stream=stream, reference_time=scope.now, group=group
        )
    once = {(line.node, line.at, line.raw): line for line in found}
    missing = unread(answer, "log agents' own lines", "read the agents' lines again")
    return tuple(once.values()), tuple(missing)


def _by_stream(
    lines: Iterable[LogLine],
) -> dict[tuple[str, str | None, str], list[RawLine]]:
    found: dict[tuple[str, str | None, str], list[RawLine]] = defaultdict(list)
    for line in lines:
        at = line.shipped_at_ms
        shipped = datetime.fromtimestamp(at / 1000, tz=UTC) if at is not None else None
        found[line.node, line.group, line.stream].append(RawLine(line.text, line.line, shipped))
    return found


def _by_owner(log: NcclLog, scope: Scope) -> dict[str, int]:
    """Return NCCL lines by node; lines of nobody known stand under an empty name."""
    ids = {node.node for node in scope.nodes}
    names = {
        name.partition(".")[0]: node.node
        for node in scope.nodes
        for name in (node.host, *node.aliases)
        if name
    }
    counts: Counter[str] = Counter()
    for line in log.lines:
        host = (line.host or "").partition(".")[0]
        counts[line.node if line.node in ids else names.get(host, "")] += 1
    return dict(counts)


def _efa(case: Case, scope: Scope) -> tuple[dict[str, int], tuple[NotSeen, ...]]:
    """Return how many EFA counters are published or were read, by node."""
    told = [one.node for one in efa_series(case)] + [one.node for one in efa_readings(case)]
    counts: Counter[str] = Counter(node for node in told if node is not None)
    listed = list_metrics(case.aws, _EFA_NAMESPACE)
    ids = {node.node for node in scope.nodes}
    counts.update(
        node
        for name in listed.value or ()
        if counter_name(name.metric) is not None and (node := name.of("InstanceId")) in ids
    )
    missing: tuple[NotSeen, ...] = ()
    if not counts:
        found, missing = read_efa(case, scope.window, with_gpus(scope.nodes))
        counts.update(one.node for one in found if one.node is not None)
        missing = (*unread(listed, "EFA counters", "list the metrics again"), *missing)
    return dict(counts), missing


def _power(
    case: Case, scope: Scope
) -> tuple[dict[str, tuple[TimeSeries, ...]], tuple[NotSeen, ...]]:
    """Return GPU power of the nodes, within a budget of points."""
    listed = list_metrics(case.aws, NAMESPACE, GPU_POWER)
    ids = {node.node for node in scope.nodes}
    own = [name for name in listed.value or () if name.of("InstanceId") in ids]
    span = scope.window.end - scope.window.start
    finest = finest_period(scope.window.start, scope.now)
    period = finest if span <= _FINE_UP_TO else max(finest, _COARSE)
    if len(own) * int(span.total_seconds()) // period > MOST_POINTS:
        too_many = NotSeen(
            what=f"GPU power of {len(own)} GPUs over {span.days} days",
            reason=Reason.BUDGET,
            closes_with="a shorter window, or fewer nodes",
        )
        return {}, (too_many,)
    wanted = [Wanted(name, "Maximum") for name in own]
    read = read_series(case.aws, wanted, scope.window, period) if wanted else ()
    told = (one for one in told_series(case.metrics) if one.name.metric == GPU_POWER)
    by_node: dict[str, list[TimeSeries]] = defaultdict(list)
    for series in (*read, *told):
        node = series.name.of("InstanceId")
        if node in ids and series.values:
            by_node[node].append(series)
    more = read_activity(case, scope.window, [n for n in scope.nodes if n.node not in by_node])
    for series in more.series:
        by_node[series.name.of("InstanceId") or ""].append(series)
    missing = tuple(unread(listed, "GPU activity", "list the metrics again")) if not by_node else ()
    return {node: tuple(found) for node, found in by_node.items()}, (*missing, *more.not_seen)


def gpus_of(gathered: Gathered) -> dict[str, int]:
    """Return the GPUs of every node that is known to have some."""
    return {node.node: gpus for node in gathered.evidence.nodes if (gpus := expected_gpus(node))}
