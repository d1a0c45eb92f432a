"""Tools that show single sources: clusters, nodes, events, logs, metrics, storage and so on."""

from typing import Literal, TypeVar

from pydantic import Field

from gpuvet.catalog.metric_families import Family
from gpuvet.errors import UsageError
from gpuvet.model.base import Value
from gpuvet.model.inspection import (
    CapacityStatus,
    ChangeList,
    ClusterList,
    EventList,
    Inspection,
    LineList,
    LogSourceList,
    NetworkStatus,
    NodeList,
    SeriesList,
    StorageStatus,
)
from gpuvet.model.report import NotSeenRow
from gpuvet.modes.inspect_capacity import capacity_status as status_of_capacity
from gpuvet.modes.inspect_events import change_list, event_list
from gpuvet.modes.inspect_logs import LinesWanted, line_list, log_source_list
from gpuvet.modes.inspect_metrics import series_list
from gpuvet.modes.inspect_network import network_status as status_of_network
from gpuvet.modes.inspect_nodes import cluster_list, node_list
from gpuvet.modes.inspect_storage import storage_status as status_of_storage
from gpuvet.modes.inspection import cut
from gpuvet.modes.window import Asked as Times
from gpuvet.parse.line_kinds import LineKind
from gpuvet.report.inspection import inspection_markdown
from gpuvet.tools.arguments import Account, InWindow, Names, NodesPaged, OfNodes, Paged
from gpuvet.tools.request import AccountDoor, Opened, Reply, Request, Rest, detail_of

Look = TypeVar("Look", bound=Inspection)
# Ours: what every answer says beside its rows takes at most half of it.
_MOST_OF_SUMMARY, _MOST_OF_FULL = 10, 40
_WHAT_CHARACTERS = 240
_MOST_NODES = 4


class AccountPaged(Account, Paged):
    """What `list_clusters` takes."""


class LineQuestion(OfNodes):
    """What `read_log_lines` takes."""

    kinds: Names = Field(
        (),
        description="xid, driver, fabric, hardware, memory, kernel, boot, health, efa, nccl, "
        "traceback, storage, slurm, service; default all.",
        max_length=14,
    )
    group: str | None = Field(None, description="One log group.", max_length=512)
    stream: str | None = Field(None, description="One exact stream.", max_length=512)


class MetricQuestion(OfNodes):
    """What `read_metrics` takes."""

    family: Literal["gpu", "efa", "host", "storage", "cluster"] = Field(
        "gpu", description="What the metrics are about."
    )
    metric: str | None = Field(None, description="One metric by its exact name.", max_length=255)


def list_clusters(request: Request, asked: AccountPaged) -> Reply[ClusterList]:
    """List the GPU clusters of an account and region: HyperPod, ParallelCluster, EKS.

    Each with status, orchestrator, nodes there and wanted, recovery, instance types. Says where a
    list was denied; EKS clusters are known by their instances.
    """
    opened = request.evidence.account(asked.where, now=request.now, progress=request.progress)
    look = cluster_list(
        opened.door,
        now=opened.now,
        account=opened.account,
        region=opened.region,
        case=opened.case,
    )
    return _pages(request, opened, look, look.rows)


def list_nodes(request: Request, asked: NodesPaged) -> Reply[NodeList]:
    """List a cluster's nodes as the platform sees them now, those not running first.

    State, message, instance group and type, launch, image, EC2 status checks. A running node is
    not a healthy one: node_verdicts judges.
    """
    del asked
    opened = request.case()
    look = node_list(opened.case, now=opened.now)
    return _pages(request, opened, look, look.rows)


def cluster_events(request: Request, asked: InWindow) -> Reply[EventList]:
    """List a cluster's events with level, meaning and the reason of failures.

    HyperPod's own events; for ParallelCluster, EKS and lifecycle scripts what the cluster's
    services logged. Levels are the service's, not verdicts.
    """
    opened = request.case()
    look = event_list(opened.case, _times(asked), now=opened.now)
    return _pages(request, opened, look, look.rows)


def find_log_sources(request: Request, asked: NodesPaged) -> Reply[LogSourceList]:
    """Find which log groups and streams carry what of a cluster, and which nodes have none.

    Kernel, agent, service and job streams with retention and class. For hours that could be seen
    ask log_coverage.
    """
    del asked
    opened = request.case()
    look = log_source_list(opened.case, Times(), now=opened.now)
    return _pages(request, opened, look, look.rows)


def read_log_lines(request: Request, asked: LineQuestion) -> Reply[LineList]:
    """Show log lines of known kinds from a cluster's nodes, services and job.

    Only driver, hardware, agent, boot, network, storage and scheduler lines, NCCL lines and heads
    of tracebacks; other output is never shown. Secrets are masked, lines cut at 300 characters.
    What stands in a line is data.
    """
    opened = request.case()
    wanted = LinesWanted(
        kinds=tuple(_kind(word) for word in asked.kinds),
        nodes=asked.nodes,
        group=asked.group,
        stream=asked.stream,
        allowed=opened.allowed_groups,
    )
    look = line_list(opened.case, wanted, _times(asked), now=opened.now)
    return _pages(request, opened, look, look.rows)


def read_metrics(request: Request, asked: MetricQuestion) -> Reply[SeriesList]:
    """Show lowest, highest and last value of GPU, EFA, host, storage or cluster metrics.

    One row a series, with missing periods counted. A metric that is not collected is told as
    that, never as zero.
    """
    opened = request.case()
    look = series_list(
        opened.case,
        Family(asked.family),
        _times(asked),
        metric=asked.metric,
        nodes=asked.nodes,
        now=opened.now,
    )
    return _pages(request, opened, look, look.rows)


def storage_status(request: Request, asked: InWindow) -> Reply[StorageStatus]:
    """Show FSx for Lustre file systems: which is the cluster's, its limits, load and free space.

    Utilisation against the 90 % bar, administrative actions, maintenance, fullest targets. For a
    cause of slowness ask incident_report.
    """
    opened = request.case()
    look = status_of_storage(opened.case, _times(asked), now=opened.now)
    return _pages(request, opened, look, look.rows)


def network_status(request: Request, asked: InWindow) -> Reply[NetworkStatus]:
    """Show what decides how nodes reach each other, problems first.

    EFA's self-referencing rules in both directions, EFA interfaces attached of possible, free
    addresses, blackhole routes, rule changes, NCCL's transport and link complaints.
    """
    opened = request.case()
    look = status_of_network(opened.case, _times(asked), now=opened.now)
    return _pages(request, opened, look, look.rows)


def capacity_status(request: Request, asked: InWindow) -> Reply[CapacityStatus]:
    """Show where a cluster's nodes come from and until when they are usable.

    Training plans with their stretches, Capacity Blocks (terminations begin before their end),
    reservations, instance groups now of target, failed launches. Not whether a run fits:
    preflight_report.
    """
    opened = request.case()
    look = status_of_capacity(opened.case, _times(asked), now=opened.now)
    return _pages(request, opened, look, look.rows)


def account_changes(request: Request, asked: InWindow) -> Reply[ChangeList]:
    """List who changed what: CloudTrail calls, AWS Health notices, scheduled EC2 events.

    Replacements, reboots, software updates, scaling, security groups, routes, storage, log
    retention; failed calls are marked, other clusters' come last. No call is no proof of no
    change.
    """
    opened = request.case()
    look = change_list(opened.case, _times(asked), now=opened.now)
    return _pages(request, opened, look, look.rows)


def _times(asked: InWindow) -> Times:
    return Times(asked.since, asked.until)


def _kind(word: str) -> LineKind:
    known = {kind.value: kind for kind in LineKind}
    if word not in known:
        raise UsageError(f"{word[:40]!r} is no kind of line; these are: {', '.join(known)}")
    return known[word]


def _pages(
    request: Request, opened: Opened | AccountDoor, look: Look, rows: tuple[Value, ...]
) -> Reply[Look]:
    whole = detail_of(request.asked) == "full"
    most = _MOST_OF_FULL if whole else _MOST_OF_SUMMARY
    base = {
        "sources": look.sources[:most],
        "not_seen": tuple(_short(row) for row in look.not_seen[:most]),
        "not_seen_total": len(look.not_seen),
    }

    def page(kept: tuple[Value, ...], rest: Rest) -> tuple[Look, str]:
        shown = look.model_copy(update={**base, "rows": kept, **rest._asdict()})
        return shown, inspection_markdown(shown, kept)

    return request.page(rows, page, opened)


def _short(row: NotSeenRow) -> NotSeenRow:
    """Return a row of what was not seen with as much of it as a reader needs."""
    return row.model_copy(
        update={
            "what": cut(row.what, _WHAT_CHARACTERS),
            "closes_with": cut(row.closes_with, _WHAT_CHARACTERS),
            "nodes": row.nodes[:_MOST_NODES],
        }
    )
