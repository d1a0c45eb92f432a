"""Reads the logs of the cluster's own services, once a question."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from gpuvet.aws.door import LineSearch, LogLine
from gpuvet.case import Case
from gpuvet.case.held_logs import UNATTRIBUTED
from gpuvet.case.rollouts import kube_rollouts
from gpuvet.model.bootstrap import ServiceRecord
from gpuvet.model.capacity import CapacityWarning
from gpuvet.model.changes import PackageChange, Rollout, ScriptUpgrade
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Envelope, Status, Window
from gpuvet.parse.capacity_events import read_capacity_events
from gpuvet.parse.cluster_log import read_service_lines
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.package_log import read_package_lines, read_rollout_lines, upgrade_commands
from gpuvet.parse.service_lines import PATTERN

T_co = TypeVar("T_co", covariant=True)
# incident-branches §E: changes matter from six hours before the window; so do launches.
LOOK_BACK = timedelta(hours=6)
_EVENTS = "/aws/events/"  # AWS's API reference: what a rule delivers to must be named so
_CAPACITY_EVENTS = "Interruption Warning|Expiration Warning"
# coverage.md: streams of ParallelCluster that tell of launches, bootstraps and packages.
_PARALLELCLUSTER_STREAMS = (
    r"[.](clustermgtd|clustermgtd_events|slurm_resume|slurm_resume_events|slurm_suspend|slurmctld"
    r"|cloud-init|cloud-init-output|cfn-init|chef-client|bootstrap_error_msg|computemgtd"
    r"|compute_console_output|system-messages|syslog)$"
)


@dataclass(frozen=True, slots=True)
class ServiceLog:
    """What the cluster's services, package managers and rules wrote."""

    records: tuple[ServiceRecord, ...]
    packages: tuple[PackageChange, ...]
    rollouts: tuple[Rollout, ...]
    scripts: tuple[ScriptUpgrade, ...]
    warnings: Envelope[tuple[CapacityWarning, ...]]
    services: Envelope[tuple[LogLine, ...]]


def read_service_log(
    case: Case, window: Window, now: datetime, orchestrator: Orchestrator
) -> ServiceLog:
    """Return what was written from six hours before a window to now."""
    of_services, of_events = service_searches(case, window, now, orchestrator)
    services = _services(case, of_services)
    delivered = case.logs.find(of_events)
    by_stream = _by_stream([*(services.value or ()), *_notes(case)])
    return ServiceLog(
        records=_ordered(_each(by_stream, read_service_lines, now)),
        packages=tuple(_each(by_stream, read_package_lines, now)),
        rollouts=(*_each(by_stream, read_rollout_lines, now), *kube_rollouts(case.kube)),
        scripts=tuple(
            found for text in case.manifests for found in upgrade_commands(text.text, text.file)
        ),
        warnings=_warnings(delivered),
        services=services,
    )


def service_searches(
    case: Case, window: Window, now: datetime, orchestrator: Orchestrator
) -> tuple[LineSearch, LineSearch]:
    """Return what `read_service_log` searches: the services' own lines, and delivered events."""
    end = max(now, window.end) + timedelta(seconds=1)
    span = Window(start=window.start - LOOK_BACK, end=end)
    groups, streams = _where(case.meta.cluster, orchestrator)
    return (
        LineSearch(pattern=PATTERN, groups=groups, window=span, streams=streams),
        LineSearch(pattern=_CAPACITY_EVENTS, groups=(_EVENTS,), window=span),
    )


def _services(case: Case, search: LineSearch) -> Envelope[tuple[LogLine, ...]]:
    found = case.logs.find(search)
    exact = _exact_group(case.meta.cluster)
    if found.value is None or exact is None:
        return found
    kept = tuple(line for line in found.value if line.group is None or exact(line.group))
    return found.model_copy(update={"value": kept})


def _where(name: str | None, orchestrator: Orchestrator) -> tuple[tuple[str, ...], str | None]:
    """Return prefixes of the groups and a pattern of the streams where services write."""
    if name is None:
        return (), None
    if orchestrator.is_hyperpod:
        return (f"/aws/sagemaker/Clusters/{name}/",), "^LifecycleConfig"
    if orchestrator is Orchestrator.PARALLELCLUSTER:
        return (f"/aws/parallelcluster/{name}-",), _PARALLELCLUSTER_STREAMS
    if orchestrator is Orchestrator.EKS:
        return (f"/aws/containerinsights/{name}/host",), None
    return (), None


def _exact_group(name: str | None) -> Callable[[str], bool] | None:
    """Return a test that a group is this cluster's and not one's whose name begins like it."""
    if name is None:
        return None
    wanted = re.compile(
        rf"/aws/(?:parallelcluster/{re.escape(name)}-\d{{12}}$"
        rf"|sagemaker/Clusters/{re.escape(name)}/|containerinsights/{re.escape(name)}/)"
    )
    known = re.compile(r"/aws/(?:parallelcluster|sagemaker/Clusters|containerinsights)/")
    return lambda group: known.match(group) is None or wanted.match(group) is not None


def _notes(case: Case) -> Iterator[LogLine]:
    """Yield short files that were taken as notes: a program's lines among them are stamped."""
    for note in case.notes:
        yield LogLine(node="", group=None, stream=note.file, line=note.line, text=note.text)


_Stream = tuple[str, str | None, str]


def _by_stream(lines: Iterable[LogLine]) -> dict[_Stream, list[RawLine]]:
    found: dict[_Stream, list[RawLine]] = defaultdict(list)
    for line in lines:
        shipped = (
            datetime.fromtimestamp(line.shipped_at_ms / 1000, tz=UTC)
            if line.shipped_at_ms is not None
            else None
        )
        raw = RawLine(text=line.text, line=line.line, shipped_at=shipped)
        found[line.node, line.group, line.stream].append(raw)
    return found


class _Reader(Protocol[T_co]):
    """A reader of the lines of one stream."""

    def __call__(
        self,
        lines: Iterable[RawLine],
        *,
        node: str,
        stream: str,
        reference_time: datetime,
        group: str | None = None,
    ) -> tuple[T_co, ...]: ...


def _each(
    by_stream: dict[_Stream, list[RawLine]], read: _Reader[T_co], now: datetime
) -> Iterator[T_co]:
    for (node, group, stream), lines in by_stream.items():
        own = "" if node == UNATTRIBUTED else node
        yield from read(lines, node=own, stream=stream, group=group, reference_time=now)


def _ordered(records: Iterable[ServiceRecord]) -> tuple[ServiceRecord, ...]:
    return tuple(sorted(records, key=lambda r: (r.at is None, r.at, r.stream, r.line)))


def _warnings(
    delivered: Envelope[tuple[LogLine, ...]],
) -> Envelope[tuple[CapacityWarning, ...]]:
    found: list[CapacityWarning] = []
    for (_, group, stream), lines in _by_stream(delivered.value or ()).items():
        found += read_capacity_events(lines, stream=stream, group=group)
    ordered = tuple(sorted(found, key=lambda w: (w.at, w.instance or "", w.stream)))
    is_read = delivered.status.is_complete
    status = (Status.OK if ordered else Status.OK_EMPTY) if is_read else delivered.status
    return Envelope[tuple[CapacityWarning, ...]](
        service=delivered.service,
        operation=delivered.operation,
        account=delivered.account,
        params=delivered.params,
        window=delivered.window,
        called_at=delivered.called_at,
        status=status,
        reason=delivered.reason,
        error_code=delivered.error_code,
        value=ordered if is_read or ordered else None,
        notes=delivered.notes,
    )
