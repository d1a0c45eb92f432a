"""What `gpuvet preflight` answers: ready or not for each run length, check by check."""

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.cause import Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Ready
from gpuvet.model.report import (
    CountsRow,
    CoverageRow,
    FileRow,
    Mode,
    NotSeenRow,
    ReportConfidence,
    ReportWindow,
)
from gpuvet.model.verdict import NodeVerdict, Verdict

Number = str | int | float


class SubjectRow(Value):
    """One further thing a check looked at."""

    subject: str
    status: CheckStatus
    why: str
    action: str | None = None
    closes_with: str | None = None


class CheckRow(Value):
    """One check: its worst part in full, the others behind it.

    Where several run lengths were asked for, `status` is the worst over them.
    """

    id: str
    name: str
    core: bool
    status: CheckStatus
    by_hours: dict[str, CheckStatus]
    subject: str
    why: str
    arithmetic: dict[str, Number] = Field(default_factory=dict[str, Number])
    action: str | None = None
    closes_with: str | None = None
    evidence: tuple[str, ...] = ()
    also: tuple[SubjectRow, ...] = ()
    notes: tuple[str, ...] = ()


class RunRow(Value):
    """The run as it was understood; what was assumed stands in `assumed`."""

    start: AwareDatetime
    hours: tuple[float, ...]
    checkpoint_every_minutes: float | None = None
    nodes_needed: int | None = None
    nodes_from: str = "not told"
    assumed: tuple[str, ...] = ()


class CapacityRow(Value):
    """One stretch of capacity in the calendar."""

    resource: str
    kind: str
    state: str | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    usable_until: AwareDatetime | None = None
    lead: str = ""
    instances: int | None = None
    zone: str | None = None
    gap_before_hours: float | None = None
    notes: tuple[str, ...] = ()


class SafeStartRow(Value):
    """The latest start at which a run of a length still fits."""

    hours: float
    resource: str
    at: AwareDatetime
    is_past: bool


class SpecFindingRow(Value):
    """One finding of the job spec, with what it means for the run."""

    severity: CheckStatus
    code: str
    path: str
    about: str
    fix: str
    file: str
    line: int


class HistorySourceRow(Value):
    """One source of the history: how far it was seen, and how many of the events it tells."""

    source: str
    events: int
    seen_since: AwareDatetime | None = None  # None: as it is now, hour by hour, or not read
    reason: str | None = None  # why it was not read
    closes_with: str | None = None


class PastEventRow(Value):
    """One fault or replacement, however many sources tell it."""

    at: AwareDatetime
    nodes: tuple[str, ...]
    what: str
    told_by: tuple[str, ...]
    counted: bool  # False: outside of the hours that count
    evidence: tuple[str, ...] = ()


class HistoryRow(Value):
    """Faults and replacements in the account's own node-hours; never changes a status."""

    events: int
    node_hours: float
    said: str
    low: float | None = None  # interruptions to expect in the longest run asked about
    high: float | None = None
    hours_from: str | None = None  # the source whose hours count; None: none was seen
    sources: tuple[HistorySourceRow, ...] = ()
    past: tuple[PastEventRow, ...] = ()  # newest first
    not_counted: tuple[str, ...] = ()  # what may be ordinary scaling


class PreflightReport(Value):
    """`gpuvet preflight`: will this run survive until its end."""

    schema_: str = Field(
        default="gpuvet/preflight/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: Mode = "Preflight"
    mode_because: str = ""
    question: str | None = None
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    now: AwareDatetime
    window: ReportWindow
    headline: str
    ready: dict[str, Ready]
    because: dict[str, tuple[str, ...]]
    run: RunRow
    checks: tuple[CheckRow, ...]
    calendar: tuple[CapacityRow, ...] = ()
    latest_safe_start: tuple[SafeStartRow, ...] = ()
    spec_findings: tuple[SpecFindingRow, ...] = ()
    simulation: tuple[str, ...] = ()
    history: HistoryRow | None = None
    verdicts: dict[str, Verdict]
    branch: None = None
    label: Label
    confidence: ReportConfidence
    confidence_basis: str = ""
    nodes: tuple[NodeVerdict, ...] = ()
    coverage: tuple[CoverageRow, ...] = ()
    branches: tuple[None, ...] = ()
    timeline: tuple[None, ...] = ()
    not_seen: tuple[NotSeenRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    lines: CountsRow = CountsRow()
    short: str = ""
    markdown: str = ""
