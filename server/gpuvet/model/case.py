"""A case as read: what was asked, what each file came to, and what people read on their nodes.

Everything here is input as given. Missing means not read, never zero; an empty tuple that was
read stands beside a None that was not.
"""

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.cluster import NodeFacts, Orchestrator
from gpuvet.model.coverage import Gate
from gpuvet.model.events import BoundaryKind
from gpuvet.model.evidence import Reason, Status, Window

# EC2 states of an instance that no longer runs anything.
GONE_STATES = frozenset({"terminated", "shutting-down"})


class CaseForm(StrEnum):
    """What the path turned out to be."""

    FOLDER = "folder"
    ARCHIVE = "archive"
    FILE = "file"
    VERDICT = "verdict"  # one JSON file with nodes, logs and declared coverage
    SCENARIO = "scenario"  # recorded AWS calls with a log and a metric store
    LIVE = "live"  # an account, asked through the doors

    @property
    def searches_by_itself(self) -> bool:
        """True where the log door reads every stream it names, and no file stands for one."""
        return self in {CaseForm.SCENARIO, CaseForm.LIVE}


class FileStatus(StrEnum):
    """How far one file of a case was read."""

    READ = "read"
    PARTLY_READ = "partly read"
    NOT_UNDERSTOOD = "not understood"


class FileKind(StrEnum):
    """What a file's content is; names decide nothing."""

    CASE = "case"
    VERDICT_CASE = "verdict case"
    SCENARIO = "scenario"
    OPERATOR_FACTS = "operator facts"
    SUMMARY = "summary"  # a small table of facts, taken over by the adapter
    RECORDED_CALLS = "recorded calls"
    AWS_REPLY = "aws reply"
    AWS_ERROR = "aws error"
    HOURLY_BINS = "hourly bins"
    SEARCH = "log search"
    METRICS = "metrics"
    PROMETHEUS = "prometheus answer"
    LOG_EXPORT = "log export"  # events of CloudWatch Logs as JSON
    CLOCK = "clock"
    KERNEL_LOG = "kernel log"
    JOURNAL = "journal"
    HMA = "health agent"
    SHIPPER_LOG = "log agent"
    SLURM_LOG = "slurm log"
    CLUSTER_LOG = "parallelcluster log"
    BOOT_LOG = "boot log"  # cloud-init and lifecycle output
    PACKAGE_LOG = "package log"  # dpkg, apt, rpm, dnf
    NCCL_LOG = "nccl log"
    JOB_LOG = "job output"
    OTHER_LOG = "other log"
    NVIDIA_SMI = "nvidia-smi"
    BUG_REPORT = "nvidia bug report"
    TRANSCRIPT = "commands run on a node"
    FLIGHT_RECORDER = "flight recorder"
    KUBE_OBJECT = "kubernetes object"
    MANIFEST = "manifest"
    SCRIPT = "script"
    NOTE = "note"
    WITHHELD = "expected answer"  # never opened
    UNKNOWN = "unknown"


class FileReport(Value):
    """What became of one file; every file of a case has exactly one."""

    path: str  # inside the case, with forward slashes
    kind: FileKind
    status: FileStatus
    reason: str | None = None
    lines: int = 0
    records: int = 0  # values taken from it
    size: int = 0  # bytes, decompressed
    nodes: tuple[str, ...] = ()
    is_loss: bool = False  # what was not read may be any node's log
    ends_in_a_line: bool = False  # a log whose last line is not ended


class RunPlan(Value):
    """The run a preflight is asked about."""

    start: AwareDatetime | None = None
    hours: float | None = None
    checkpoint_interval_minutes: float | None = None
    nodes_needed: int | None = None


class CaseMeta(Value):
    """The question, the clock and the window of a case."""

    id: str
    form: CaseForm
    question: str | None = None
    now: AwareDatetime | None = None
    now_source: str = "not given"
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: Orchestrator = Orchestrator.UNKNOWN
    window: Window | None = None
    window_source: str = "not given"
    window_padded: bool = False  # the pad is inside the window already: do not add it again
    failure_at: AwareDatetime | None = None
    failure_measured: bool = True  # False: the user's word
    mode: str | None = None  # the mode the request names, where it names one
    run: RunPlan | None = None


class CaseHeader(Value):
    """Our own case.json: everything in it is optional."""

    format: Literal["gpuvet-case/1"] = "gpuvet-case/1"
    id: str | None = None
    question: str | None = None
    now: AwareDatetime | None = None
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: Orchestrator | None = None
    window: Window | None = None
    window_padded: bool = False
    failure_at: AwareDatetime | None = None
    failure_measured: bool = False
    mode: str | None = None
    run: RunPlan | None = None


class DeclaredBoot(Value):
    """A boundary that somebody wrote down; its lines may not be in hand."""

    at: AwareDatetime
    kind: BoundaryKind


class DeclaredCoverage(Value):
    """Coverage as a status, where a case gives it so instead of counts."""

    status: Gate
    empty_hours: tuple[AwareDatetime, ...] = ()


class NodeReading(Value):
    """What people or small tables say of one node."""

    node: str
    host: str | None = None
    aliases: tuple[str, ...] = ()
    instance_type: str | None = None
    gpu_expected: int | None = None
    driver_version: str | None = None
    driver_open: bool | None = None
    launched_at: AwareDatetime | None = None
    left_at: AwareDatetime | None = None
    boots: tuple[DeclaredBoot, ...] = ()
    coverage: DeclaredCoverage | None = None
    facts: NodeFacts = NodeFacts()
    labels: tuple[tuple[str, str], ...] = ()
    allocatable: tuple[tuple[str, str], ...] = ()  # Kubernetes quantities, as written
    hma_stream: str | None = None
    hma_stream_asked: bool = False  # True with hma_stream None: asked for, does not exist
    other_streams_live: tuple[str, ...] = ()  # of the same group, inside the window
    files: tuple[str, ...] = ()  # where this was read


class BusHistory(Value):
    """Earlier events on the same PCI id, and reboots since; None is not read."""

    node: str | None = None  # None: the case does not say which node
    pci: str | None = None
    earlier_events: int | None = None
    earlier_days: int | None = None  # how far back that count looks
    reboots_since: int | None = None
    visible_gpus: int | None = None
    file: str = ""


class Leaf(Value):
    """One value of a small table, with its place."""

    path: tuple[str, ...]
    value: str | int | float | bool | None = None
    is_empty: bool = False  # an empty list or object that was read


class Summary(Value):
    """A small table of facts, kept whole; what is typed elsewhere is also here."""

    name: str  # clean signals, efa counters, vpc, pods, history, or the file's own
    file: str
    leaves: tuple[Leaf, ...]


class CleanSignals(Value):
    """Extremes and lists read with status OK. None: not in the table; (): read, nothing there."""

    file: str
    fsx_max_percent: tuple[tuple[str, float], ...] = ()
    efa_retrans_timeout_events: int | None = None
    efa_unresponsive_remote_events: int | None = None
    nccl_transport: str | None = None
    cluster_events: tuple[str, ...] | None = None
    capacity: str | None = None


class EfaCounter(Value):
    """One EFA counter as read."""

    name: str
    value: float
    node: str | None = None
    device: str | None = None
    file: str = ""


class OperatorFacts(Value):
    """Our own format for what people read on their nodes (operator_facts.json)."""

    format: Literal["gpuvet-operator-facts/1"] = "gpuvet-operator-facts/1"
    nodes: tuple[NodeReading, ...] = ()
    bus_history: tuple[BusHistory, ...] = ()
    clean_signals: tuple[CleanSignals, ...] = ()
    efa_counters: tuple[EfaCounter, ...] = ()
    summaries: tuple[Summary, ...] = ()

    def of(self, node: str) -> NodeReading | None:
        """Return what was read on one node, or None."""
        return next((reading for reading in self.nodes if reading.node == node), None)


class Note(Value):
    """Somebody's words: context, never measured evidence."""

    file: str
    line: int
    text: str  # bounded, secrets masked
    at: AwareDatetime | None = None
    at_words: str | None = None  # the time as written, where its date is not


class TextFile(Value):
    """A file kept as text: job output, a manifest, a script."""

    file: str
    kind: FileKind
    text: str
    node: str | None = None
    cut: bool = False  # longer than we keep


class LogSearch(Value):
    """One search of exact streams, and its rows. Complete makes an absence a statement."""

    file: str
    query: str
    group: str | None
    streams: tuple[str, ...]
    window: Window | None
    status: Status
    reason: Reason | None = None
    rows: int = 0
    row_streams: tuple[str, ...] = ()
    is_for_xids: bool = False  # the query looks for the driver's Xid lines

    def covers(self, stream: str) -> bool:
        """Say whether this search was complete over a stream."""
        return self.status.is_complete and stream in self.streams


class MetricSpan(Value):
    """A run of equal datapoints: one per period from start to end, each with this value."""

    value: float
    start: AwareDatetime | None = None  # None: the extreme over the window
    end: AwareDatetime | None = None
    period_seconds: int | None = None


class MetricSeries(Value):
    """One metric as a case gives it."""

    file: str
    metric: str
    dimensions: tuple[tuple[str, str], ...] = ()
    statistic: str | None = None
    namespace: str | None = None
    unit: str | None = None
    spans: tuple[MetricSpan, ...] = ()


class Accelerator(StrEnum):
    """Whether a node has GPUs or Neuron devices."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class CaseNode(Value):
    """One node of a case, from every source that names it."""

    node: str
    host: str | None = None
    aliases: tuple[str, ...] = ()  # host names, private DNS names, addresses, kube names
    instance_group: str | None = None
    instance_type: str | None = None
    accelerator: Accelerator = Accelerator.UNKNOWN
    gpu_expected: int | None = None
    driver_version: str | None = None
    driver_open: bool | None = None
    launched_at: AwareDatetime | None = None
    left_at: AwareDatetime | None = None
    created_at: AwareDatetime | None = None  # first start; a stop and start moves launched_at
    stopped_at: AwareDatetime | None = None  # since when it has been stopped
    state: str | None = None  # the platform's word
    orchestrator: Orchestrator = Orchestrator.UNKNOWN
    known_from: tuple[str, ...] = ()  # operations and files
