"""What an audit answers: what could be seen, what may be claimed, and what would show more."""

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.cause import Branch, BranchAssessment, Label, TimelineEvent
from gpuvet.model.coverage import CoverageStatus, Shipper
from gpuvet.model.events import Record
from gpuvet.model.hours import HourGrid
from gpuvet.model.report import (
    CountsRow,
    CoverageRow,
    FileRow,
    Mode,
    NotSeenRow,
    ReportConfidence,
    ReportWindow,
)
from gpuvet.model.verdict import FaultClass, NodeVerdict, Verdict


class Sight(StrEnum):
    """Whether a source could have shown something on a node."""

    OBSERVABLE = "Observable"
    NOT_OBSERVABLE = "Not observable"
    NOT_APPLICABLE = "Not applicable"


class Witness(StrEnum):
    """What an audit asks of each node besides its hours."""

    KERNEL = "kernel lines"
    XIDS = "Xids"
    AGENT = "health agent"
    NCCL = "NCCL lines"
    FABRIC_MANAGER = "Fabric Manager lines"
    EFA = "EFA counters"
    GPU_ACTIVITY = "GPU activity"


class WitnessRow(Value):
    """One source of one node: its state, and why."""

    what: Witness
    state: Sight
    because: str
    count: int | None = None  # lines, events or series seen
    evidence: tuple[str, ...] = ()


class AgentWord(StrEnum):
    """What a line of a log agent, or of a program that moves logs, says."""

    PAUSED = "paused, buffer full"
    RESUMED = "resumed"
    DROPPED = "dropped lines"
    ROTATED = "log rotated"
    RELOADED = "configuration reloaded"
    STARTED = "agent started"
    STOPPED = "agent stopped"
    REFUSED = "permission refused"
    THROTTLED = "throttled"
    DISK_FULL = "disk full"
    UNREACHABLE = "endpoint not reachable"


class AgentLine(Record):
    """One such line."""

    word: AgentWord


class HoleKind(StrEnum):
    """Why hours could not be seen, where evidence names a reason."""

    ROTATION = "log rotation"
    BUFFER = "buffer overflow"
    AGENT = "agent restart"
    PERMISSION = "permission"
    THROTTLED = "throttled delivery"
    DISK_FULL = "disk full"
    UNREACHABLE = "endpoint not reachable"
    NODE_DOWN = "node restarted"
    DELETED = "log group or stream changed"
    RETENTION = "retention"
    NO_GROUP = "log group not yet created"
    STOPPED = "perhaps stopped"
    COUNT = "count incomplete"
    PROVES_NOTHING = "stream proves nothing"
    LAG = "delivery lag"  # no reason: what may still arrive
    NO_STREAM = "no stream"
    NOT_SEARCHED = "not searched for Xids"
    TOLD = "as somebody wrote"


class HoleCause(Value):
    """One reason that evidence names for a hole."""

    kind: HoleKind
    words: str
    measured: bool  # False: somebody's words, or only possible
    at: AwareDatetime | None = None
    raw: str | None = None
    stream: str | None = None
    evidence: str | None = None


class Hole(Value):
    """Consecutive hours of one source that could not be seen; end excluded."""

    node: str
    source: Shipper
    group: str | None
    stream: str | None
    start: AwareDatetime
    end: AwareDatetime
    hours: int
    state: str
    causes: tuple[HoleCause, ...] = ()  # (): no evidence names a reason
    seen_elsewhere: int = 0  # of these hours, how many another source of the node covers


class NodeSight(Value):
    """What one node allows to say."""

    node: str
    cluster: str | None = None
    host: str | None = None
    instance_type: str | None = None
    instance_group: str | None = None
    launched_at: AwareDatetime | None = None
    left_at: AwareDatetime | None = None
    status: CoverageStatus
    hours_measured: int
    hours_asked: int
    xid_events: int  # folded, in the hours asked for
    undated_xids: int = 0
    claim: str
    witnesses: tuple[WitnessRow, ...] = ()


class FaultRow(Value):
    """Events of one code on one GPU with one hardware behind it."""

    node: str
    pci: str | None
    epoch: int
    code: int
    fault_class: FaultClass = Field(validation_alias="class", serialization_alias="class")
    events: int
    boots: int
    first: AwareDatetime | None
    last: AwareDatetime | None
    in_window: bool
    recurs: bool  # in more than one boot of the same hardware
    consequence: bool  # every one of them follows from another event
    verdict: Verdict
    raw: str
    stream: str
    sources: tuple[str, ...]
    evidence: str


class OutlierRow(Value):
    """A node that stands out against its peers, and how that was reckoned."""

    node: str
    what: str
    sentence: str


class ReplacementRow(Value):
    """A call that replaced nodes, and what took their places."""

    at: AwareDatetime
    by: str
    call: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    group: str | None = None
    link: str | None = None  # None: no successor has joined
    certain: bool = False
    evidence: str | None = None


class LostCause(StrEnum):
    """What GPU hours were lost to."""

    IDLE = "idle"
    DOWN = "down"
    RESTARTING = "restarting"


class LostRow(Value):
    """GPU hours of one node lost to one cause, with the sum written out."""

    node: str
    cause: LostCause
    gpu_hours: float
    formula: str
    basis: str
    money: float | None = None
    evidence: tuple[str, ...] = ()


class UsedRow(Value):
    """GPU hours of one node by what power says of them."""

    node: str
    idle: float
    busy: float
    unknown: float
    reserved: bool
    basis: str


class LostHours(Value):
    """All lost hours, what could not be told, and money only where a price was given."""

    rows: tuple[LostRow, ...] = ()
    used: tuple[UsedRow, ...] = ()
    unknown: tuple[str, ...] = ()
    price_per_gpu_hour: float | None = None
    currency: str | None = None
    formulas: tuple[str, ...] = ()


class LightStep(Value):
    """One step that would light a dark source; text for an operator, never run."""

    cost: int  # order: 0 nothing to install, 1 a permission, 2 a file, 3 a rollout, 4 an add-on
    do: str
    kind: str  # shell, json, ini, yaml
    text: str


class LightRow(Value):
    """A dark source, whose it is, and what would light it, the cheapest step first."""

    what: Witness
    nodes: tuple[str, ...]
    why: str
    steps: tuple[LightStep, ...]


class ClusterRow(Value):
    """One cluster of the question: read, or why not."""

    cluster: str | None
    account: str | None = None
    region: str | None = None
    source: str  # the case, or the profile and region asked
    status: Literal["read", "not read"]
    reason: str | None = None
    orchestrator: str = "unknown"
    window: ReportWindow | None = None
    nodes: int = 0
    claim: str = ""


class DiffSpan(Value):
    """Hours of one source that changed since the baseline."""

    node: str
    group: str | None
    stream: str | None
    start: AwareDatetime
    end: AwareDatetime
    hours: int


class BaselineDiff(Value):
    """What changed since an earlier audit."""

    since: AwareDatetime
    until: AwareDatetime
    made_at: AwareDatetime
    new_holes: tuple[DiffSpan, ...] = ()
    healed_holes: tuple[DiffSpan, ...] = ()
    new_faults: tuple[FaultRow, ...] = ()
    new_nodes: tuple[str, ...] = ()
    gone_nodes: tuple[str, ...] = ()


class AuditReport(Value):
    """`gpuvet audit`: claims with their hours, holes with their reasons, faults, lost hours."""

    schema_: str = Field(
        default="gpuvet/audit/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: Mode = "Audit"
    mode_because: str = ""
    question: str | None = None
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    now: AwareDatetime
    window: ReportWindow
    headline: str
    claim: str
    verdicts: dict[str, Verdict]
    branch: Branch | None = None
    label: Label
    label_because: str
    confidence: ReportConfidence
    confidence_basis: str
    clusters: tuple[ClusterRow, ...]
    nodes: tuple[NodeVerdict, ...]
    sight: tuple[NodeSight, ...]
    coverage: tuple[CoverageRow, ...]
    holes: tuple[Hole, ...]
    hours: HourGrid
    faults: tuple[FaultRow, ...] = ()
    outliers: tuple[OutlierRow, ...] = ()
    replacements: tuple[ReplacementRow, ...] = ()
    lost: LostHours = LostHours()
    lights: tuple[LightRow, ...] = ()
    baseline: BaselineDiff | None = None
    branches: tuple[BranchAssessment, ...] = ()
    timeline: tuple[TimelineEvent, ...]
    not_seen: tuple[NotSeenRow, ...]
    files: tuple[FileRow, ...] = ()
    context: tuple[str, ...] = ()
    lines: CountsRow = CountsRow()
    notes: tuple[str, ...] = ()
    short: str = ""
    markdown: str = ""
