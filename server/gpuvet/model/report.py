"""What a mode answers: one value, from which text, Markdown and JSON are written."""

from typing import Literal

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.cause import Branch, BranchAssessment, Label, Symptom, TimelineEvent
from gpuvet.model.coverage import CoverageStatus, Shipper
from gpuvet.model.evidence import Reason
from gpuvet.model.hours import HourGrid
from gpuvet.model.verdict import NodeVerdict, Verdict

Mode = Literal["Incident", "Preflight", "Audit"]
ReportConfidence = Literal["High", "Medium", "Low"]


class ReportWindow(Value):
    """The window asked about and where it came from."""

    since: AwareDatetime
    until: AwareDatetime
    source: str


class GapRow(Value):
    """Consecutive hours of one source that could not be seen; end excluded."""

    start: AwareDatetime
    end: AwareDatetime
    hours: int
    state: str
    note: str | None = None


class CoverageRow(Value):
    """One source of one node."""

    node: str
    source: Shipper
    group: str | None
    stream: str | None
    status: CoverageStatus
    reason: str | None = None
    hours_measured: int
    hours_asked: int
    gaps: tuple[GapRow, ...] = ()
    detections: int | None = None
    notes: tuple[str, ...] = ()
    evidence: str | None = None


class NotSeenRow(Value):
    """A source that was not seen, why, and what would close it."""

    what: str
    reason: Reason | str
    closes_with: str
    nodes: tuple[str, ...] = ()
    any_node: bool = False  # nobody knows whose it was: no node is known to be whole


class FileRow(Value):
    """One file of a case and how far it was read."""

    path: str
    kind: str
    status: Literal["read", "partly read", "not understood"]
    reason: str | None = None
    lines: int | None = None


class CountsRow(Value):
    """Lines by what became of them, so that nothing is lost silently."""

    understood: int = 0
    benign: int = 0
    not_understood: int = 0


class VerdictReport(Value):
    """`gpuvet verdict`: node verdicts only; branch and label stay null."""

    schema_: str = Field(
        default="gpuvet/verdict/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: Mode
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    now: AwareDatetime
    failure_at: AwareDatetime | None = None
    window: ReportWindow
    verdicts: dict[str, Verdict]
    branch: None = None
    label: None = None
    confidence: ReportConfidence
    nodes: tuple[NodeVerdict, ...]
    coverage: tuple[CoverageRow, ...]
    branches: tuple[None, ...] = ()
    timeline: tuple[None, ...] = ()
    not_seen: tuple[NotSeenRow, ...]
    files: tuple[FileRow, ...] = ()
    lines: CountsRow = CountsRow()
    notes: tuple[str, ...] = ()
    markdown: str = ""


class CapabilityRow(Value):
    """What one instance type brings, and how much of it the nodes have attached."""

    instance_type: str
    nodes: tuple[str, ...]
    gpus: int | None = None
    gpu_name: str | None = None
    efa_attached: str | None = None  # "32 of 32", "not visible in EC2", …
    nvswitch: bool | None = None
    fabric_manager: str | None = None  # started, not confirmed, …


class FailureRow(Value):
    """When and how the failure began, as far as known."""

    symptom: Symptom
    at: AwareDatetime | None = None
    precision_seconds: float | None = None
    source: str
    observed: bool
    slow_until: AwareDatetime | None = None


class GuiltyRow(Value):
    """The rank, node or peer that the others waited for, and how that is known."""

    what: str
    ranks: tuple[int, ...] = ()
    node: str | None = None
    pci: str | None = None
    evidence: tuple[str, ...] = ()


class IncidentReport(Value):
    """`gpuvet incident`: verdicts, branch, label, and what was not seen."""

    schema_: str = Field(
        default="gpuvet/incident/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: Mode = "Incident"
    mode_because: str = ""
    question: str | None = None
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    now: AwareDatetime
    window: ReportWindow
    failure: FailureRow
    headline: str
    verdicts: dict[str, Verdict]
    branch: Branch | None
    label: Label
    confidence: ReportConfidence
    confidence_basis: str
    nodes: tuple[NodeVerdict, ...]
    coverage: tuple[CoverageRow, ...]
    hours: HourGrid | None = None
    branches: tuple[BranchAssessment, ...]
    timeline: tuple[TimelineEvent, ...]
    guilty: tuple[GuiltyRow, ...] = ()
    outliers: tuple[str, ...] = ()
    capabilities: tuple[CapabilityRow, ...] = ()
    cluster_state: tuple[str, ...] = ()
    recovery: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    not_seen: tuple[NotSeenRow, ...]
    files: tuple[FileRow, ...] = ()
    context: tuple[str, ...] = ()
    lines: CountsRow = CountsRow()
    short: str = ""
    markdown: str = ""
