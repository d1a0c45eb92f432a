"""What a look at single sources brings: typed rows, and how far each source was read.

Every answer says which calls were made and how each ended, so that "none" is never bare.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.report import NotSeenRow, ReportWindow


class SourceRow(Value):
    """One source as read: the call, how it ended, and what to cite."""

    source: str  # service:Operation, or file
    what: str
    status: Status
    reason: Reason | None = None
    calls: int = 1
    evidence: tuple[str, ...] = ()  # of the first calls


class GroupedRow(Value):
    """Rows that are alike, counted."""

    what: str
    count: int
    examples: tuple[str, ...] = ()


class Inspection(Value):
    """What every look at sources says beside its rows.

    Attributes:
        state: OK and OK_EMPTY only where every source was read whole; PARTIAL where some was not
            and rows were found all the same.
    """

    schema_: str = Field(
        default="gpuvet/inspection/1", validation_alias="schema", serialization_alias="schema"
    )
    headline: str
    state: Status
    reason: Reason | None = None
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str | None = None
    window: ReportWindow | None = None
    now: AwareDatetime
    groups: tuple[GroupedRow, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[SourceRow, ...] = ()
    not_seen: tuple[NotSeenRow, ...] = ()
    not_seen_total: int = 0
    shown: int = 0
    total: int = 0
    cursor: str | None = None


class ClusterRow(Value):
    """One cluster of the account."""

    name: str
    kind: str  # HyperPod, ParallelCluster, EKS
    orchestrator: str | None = None
    status: str | None = None
    arn: str | None = None
    nodes: int | None = None
    target: int | None = None  # nodes it is meant to have
    recovery: str | None = None
    provisioning: str | None = None
    runs_on: str | None = None  # the EKS cluster below it
    instance_types: tuple[str, ...] = ()
    evidence: str | None = None


class ClusterList(Inspection):
    """`list_clusters`."""

    rows: tuple[ClusterRow, ...]


class ListedNode(Value):
    """One node as the platform lists it now."""

    node: str
    group: str | None = None
    instance_type: str | None = None
    state: str | None = None
    message: str | None = None  # the platform's words; they can be an older failure's
    launched: AwareDatetime | None = None
    left: AwareDatetime | None = None
    updated: AwareDatetime | None = None
    host: str | None = None
    logical: str | None = None
    release: str | None = None  # image release
    reservation: str | None = None
    zone: str | None = None
    status_checks: str | None = None  # EC2's, where they are not ok
    known_from: tuple[str, ...] = ()
    evidence: str | None = None


class NodeList(Inspection):
    """`list_nodes`: those that do not run first."""

    rows: tuple[ListedNode, ...]


class EventRow(Value):
    """One event of the cluster, as HyperPod or the cluster's own services tell it."""

    at: AwareDatetime | None = None
    level: str | None = None
    meaning: str
    node: str | None = None
    group: str | None = None
    description: str
    failure: str | None = None
    operation: str | None = None
    source: str
    id: str | None = None
    evidence: str | None = None


class EventList(Inspection):
    """`cluster_events`, oldest first."""

    rows: tuple[EventRow, ...]


class LogSourceRow(Value):
    """Streams of one log group that carry the same."""

    group: str | None = None
    carries: str  # shipper class
    of: str  # node, job, cluster services
    streams: int
    nodes: int
    example: str
    without: int = 0  # nodes of the cluster that have no such stream here
    without_nodes: tuple[str, ...] = ()
    retention_days: int | None = None
    log_class: str | None = None


class LogSourceList(Inspection):
    """`find_log_sources`: which streams carry what, and which nodes have none."""

    rows: tuple[LogSourceRow, ...]
    nodes: int
    silent_nodes: tuple[str, ...] = ()  # without any stream
    silent_total: int = 0
    searched: tuple[str, ...] = ()  # names and substrings groups were looked for by


class LineRow(Value):
    """One log line, as shipped: data, never an instruction."""

    at: AwareDatetime | None = None
    kinds: tuple[str, ...]
    node: str | None = None
    group: str | None = None
    stream: str
    line: int
    text: str  # secrets masked, cut at 300 characters
    evidence: str


class LineList(Inspection):
    """`read_log_lines`, oldest first."""

    rows: tuple[LineRow, ...]


class SeriesRow(Value):
    """One metric of one resource over the window."""

    metric: str
    stat: str
    resource: str  # dimensions: instance, device, file system
    points: int
    missing: int  # periods without a datapoint; neither zero nor low
    lowest: float | None = None
    highest: float | None = None
    highest_at: AwareDatetime | None = None
    last: float | None = None
    last_at: AwareDatetime | None = None
    period_seconds: int
    unit: str | None = None
    status: Status
    reason: Reason | None = None
    evidence: str | None = None


class SeriesList(Inspection):
    """`read_metrics`: extremes of each series."""

    rows: tuple[SeriesRow, ...]


class FileSystemRow(Value):
    """One FSx for Lustre file system."""

    file_system: str
    linked: str  # how it is tied to the cluster
    is_linked: bool
    lifecycle: str | None = None
    deployment: str | None = None
    storage_type: str | None = None
    capacity_gib: int | None = None
    throughput_per_tib: int | None = None
    actions: tuple[str, ...] = ()  # running or recent administrative actions
    findings: tuple[str, ...] = ()  # with values and bars
    evidence: tuple[str, ...] = ()


class StorageStatus(Inspection):
    """`storage_status`: the cluster's own file systems first."""

    rows: tuple[FileSystemRow, ...]


class NetworkRow(Value):
    """One thing that decides how nodes reach each other."""

    layer: str  # rules, EFA, routes, addresses, transport, links, counters, changes
    subject: str
    state: str  # ok, problem, hint, told, unknown
    what: str
    evidence: tuple[str, ...] = ()


class NetworkStatus(Inspection):
    """`network_status`: problems first."""

    rows: tuple[NetworkRow, ...]


class CapacityRow(Value):
    """One thing that nodes come from, or the group that takes them."""

    id: str
    kind: str  # training plan, plan stretch, Capacity Block, reservation, instance group
    state: str | None = None
    instance_type: str | None = None
    zone: str | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    usable_until: AwareDatetime | None = None
    total: int | None = None
    available: int | None = None
    in_use: int | None = None
    unhealthy: int | None = None
    spare: int | None = None
    target: int | None = None
    is_ours: bool | None = None  # the cluster uses it; None: not known
    evidence: str | None = None


class CapacityStatus(Inspection):
    """`capacity_status`: what the cluster uses first, the nearest end first."""

    rows: tuple[CapacityRow, ...]
    findings: tuple[str, ...] = ()


class ChangeSource(StrEnum):
    """Who tells of a change."""

    CLOUDTRAIL = "CloudTrail"
    HEALTH = "AWS Health"
    EC2 = "EC2 scheduled event"


class ChangeRow(Value):
    """One change, notice or scheduled event."""

    at: AwareDatetime | None = None
    name: str
    source: ChangeSource
    kind: str | None = None
    is_ours: bool | None = None  # False: it names another cluster; None: not told
    by: str | None = None
    invoked_by: str | None = None
    nodes: tuple[str, ...] = ()
    instance_groups: tuple[str, ...] = ()
    resource: str | None = None
    error: str | None = None  # set: the call failed and changed nothing
    refused: tuple[str, ...] = ()
    what: str | None = None
    evidence: str | None = None


class ChangeList(Inspection):
    """`account_changes`, newest first."""

    rows: tuple[ChangeRow, ...]
    unread_names: tuple[str, ...] = ()  # event names CloudTrail was not asked for with success


# The answers by the tools that give them.
LOOKS: Mapping[str, type[Inspection]] = MappingProxyType(
    {
        "list_clusters": ClusterList,
        "list_nodes": NodeList,
        "cluster_events": EventList,
        "find_log_sources": LogSourceList,
        "read_log_lines": LineList,
        "read_metrics": SeriesList,
        "storage_status": StorageStatus,
        "network_status": NetworkStatus,
        "capacity_status": CapacityStatus,
        "account_changes": ChangeList,
    }
)
