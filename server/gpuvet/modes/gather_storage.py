"""Gathers branch C: file systems, their metrics, what the job and its clients say of them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from gpuvet.aws.fsx import file_systems
from gpuvet.aws.metric_spans import told_series
from gpuvet.aws.metrics import Wanted, finest_period, list_metrics, read_series
from gpuvet.aws.storage_placement import cluster_placement, instance_placement
from gpuvet.calculators.branch_storage import storage_evidence
from gpuvet.calculators.episodes import BASELINE_DAYS
from gpuvet.calculators.fsx_link import Placement
from gpuvet.calculators.fsx_load import FAMILIES, FILE_SYSTEM_ID, NAMESPACE
from gpuvet.calculators.fsx_space import FREE_SPACE
from gpuvet.calculators.storage_inputs import PAD, StorageInputs
from gpuvet.calculators.storage_timeline import storage_timeline
from gpuvet.case.case import Case
from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.case import CaseNode
from gpuvet.model.cause import BranchEvidence, TimelineEvent
from gpuvet.model.evidence import Envelope, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.storage import StorageMention
from gpuvet.modes.gather_gpu import gather_gpu
from gpuvet.modes.job_lines import job_lines, text_lines
from gpuvet.modes.scope import Scope
from gpuvet.parse.job_steps import JobLine
from gpuvet.parse.storage_lines import stat_timings, storage_mentions, stripe_layouts

_MAXIMUM = frozenset(family.metric for family in FAMILIES)
_SUM = frozenset({"DataReadBytes", "DataWriteBytes", "MetadataOperations", "ClientConnections"})
_WITH_HISTORY = "MetadataOperations"
# Cases name their window by first and last hour, with an hour of pad on both sides inside it.
_PAD_INSIDE = timedelta(hours=1)


def gather_storage(case: Case, scope: Scope) -> tuple[BranchEvidence, tuple[TimelineEvent, ...]]:
    """Return what speaks for and against storage, and its entries of the timeline."""
    inputs = storage_inputs(case, scope)
    return storage_evidence(inputs), storage_timeline(inputs)


def storage_inputs(case: Case, scope: Scope) -> StorageInputs:
    """Return everything the storage branch judges, read once."""
    window = asked_window(case, scope)
    reach = window.padded(PAD, PAD)
    told = tuple(one for one in told_series(case.metrics) if one.name.namespace == NAMESPACE)
    listed = list_metrics(case.aws, NAMESPACE)
    gpu = gather_gpu(case, reach, scope.now, _nodes(scope))
    job = job_lines(case, reach, scope.cluster)
    on_nodes = [line for file in case.transcripts for line in text_lines(file)]
    notes = [JobLine(note.text, note.file, note.line) for note in case.notes]
    return StorageInputs(
        failure=scope.failure,
        window=window,
        now=scope.now,
        systems=file_systems(case.aws),
        listed=None if told and not listed.status.is_complete else listed,
        series=(*told, *_read(case, listed, window, scope)),
        gpu_listed=gpu.listed,
        gpu=gpu.series,
        gpu_unread=gpu.not_seen,
        gpus=tuple(_gpus(scope.nodes)),
        mentions=tuple(_mentions(case, scope, [*on_nodes, *job.lines])),
        stripes=tuple(stripe_layouts([*on_nodes, *job.lines])),
        timings=(
            *stat_timings([*on_nodes, *job.lines], measured=True),
            *stat_timings(notes, measured=False),
        ),
        placement=_placement(case, scope),
        maxima=case.facts.clean_signals,
    )


def asked_window(case: Case, scope: Scope) -> Window:
    """Return the window without the pad that a case's own window has inside."""
    is_own = case.meta.window_padded and scope.window == case.meta.window
    if is_own and scope.window.end - scope.window.start > 2 * _PAD_INSIDE:
        return scope.window.padded(-_PAD_INSIDE, -_PAD_INSIDE)
    return scope.window


def _nodes(scope: Scope) -> tuple[CaseNode, ...]:
    """Return the job's nodes; one that nobody listed is known by its id alone."""
    known = {node.node: node for node in scope.nodes}
    return tuple(known.get(one) or CaseNode(node=one) for one in _instances(scope))


def _instances(scope: Scope) -> tuple[str, ...]:
    return scope.failure.nodes or tuple(node.node for node in scope.nodes)


def _gpus(nodes: Sequence[CaseNode]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        kind = instance_type(node.instance_type) if node.instance_type else None
        count = node.gpu_expected or (kind.gpus if kind else 0)
        if count:
            yield node.node, count


def _read(
    case: Case, listed: Envelope[tuple[MetricName, ...]], window: Window, scope: Scope
) -> Iterator[TimeSeries]:
    """Yield the series of every file system that are judged; counts with their history."""
    names = [n for n in listed.value or () if n.of(FILE_SYSTEM_ID) is not None]
    reach = window.padded(PAD, PAD)
    period = finest_period(reach.start, scope.now)
    now_wanted = [w for n in names if n.metric != _WITH_HISTORY and (w := _wanted(n))]
    history = [w for n in names if n.metric == _WITH_HISTORY and (w := _wanted(n))]
    yield from read_series(case.aws, now_wanted, reach, period)
    before = timedelta(days=BASELINE_DAYS)
    long = Window(start=window.start - before, end=reach.end)
    yield from read_series(case.aws, history, long, period)


def _wanted(name: MetricName) -> Wanted | None:
    if name.metric in _MAXIMUM and len(name.dimensions) == 2:
        return Wanted(name, "Maximum")
    if name.metric == FREE_SPACE and name.of("StorageTargetId") is not None:
        return Wanted(name, "Minimum")
    if name.metric in _SUM and len(name.dimensions) == 1:
        return Wanted(name, "Sum")
    return None


def _mentions(case: Case, scope: Scope, lines: Sequence[JobLine]) -> Iterator[StorageMention]:
    manifests = [line for file in case.manifests for line in text_lines(file)]
    every = [*lines, *manifests]
    points = {
        m.mount_point
        for m in storage_mentions(every, reference=scope.now)
        if m.mount_point is not None
    }
    yield from storage_mentions(every, reference=scope.now, mount_points=points)


def _placement(case: Case, scope: Scope) -> Placement:
    if scope.orchestrator.is_hyperpod:
        return cluster_placement(case.aws, scope.cluster) if scope.cluster else Placement()
    return instance_placement(case.aws, _instances(scope))
