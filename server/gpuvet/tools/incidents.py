"""Tools that say what failed: the incident report and its timeline."""

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.cause import Branch, BranchStatus, Label, TimelineEvent
from gpuvet.model.report import (
    FailureRow,
    IncidentReport,
    NotSeenRow,
    ReportWindow,
)
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.modes.incident import incident_report as report_incident
from gpuvet.modes.window import Asked as Times
from gpuvet.report.words import cell, code, utc
from gpuvet.tools.arguments import Asked, InWindow
from gpuvet.tools.reply import report_text
from gpuvet.tools.request import Reply, Request, Rest, detail_of

_MOST_NOT_SEEN = 12
_WHY_CHARACTERS = 240


class BranchRow(Value):
    """One branch in the short answer."""

    branch: Branch
    status: BranchStatus
    label: Label | None = None
    why: str
    confirming: str | None = None


class NodeRow(Value):
    """One node in the short answer; `node_verdicts` has its grounds."""

    node: str
    verdict: Verdict
    fault_class: str = Field(validation_alias="class", serialization_alias="class")
    what: str
    pci: str | None = None
    at: AwareDatetime | None = None
    minimum_action: str
    open_check: str | None = None
    evidence: str | None = None


class IncidentPage(Value):
    """One page of an incident report: the cause first, then nodes, most urgent first."""

    schema_: str = Field(
        default="gpuvet/incident-page/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: str
    headline: str
    branch: Branch | None = None
    label: Label
    confidence: str
    confidence_basis: str
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    window: ReportWindow
    failure: FailureRow
    counts: dict[Verdict, int]
    branches: tuple[BranchRow, ...]
    nodes: tuple[NodeRow, ...]
    not_seen: tuple[NotSeenRow, ...]
    not_seen_total: int
    actions: tuple[str, ...]
    recovery: tuple[str, ...]
    shown: int
    total: int
    cursor: str | None = None


class TimelinePage(Value):
    """One page of the timeline, in order."""

    schema_: str = Field(
        default="gpuvet/timeline-page/1", validation_alias="schema", serialization_alias="schema"
    )
    window: ReportWindow
    events: tuple[TimelineEvent, ...]
    shown: int
    total: int
    cursor: str | None = None


class IncidentQuestion(Asked):
    """What `incident_report` takes."""

    failure_at: str | None = Field(
        None, description="When it failed, ISO 8601 with Z: decides the cause.", max_length=40
    )


def incident_report(request: Request, asked: IncidentQuestion) -> Reply[IncidentPage]:
    """Say what failed, why, and what to do, in one call.

    Gives node verdicts, causes A to F (hardware, capacity, storage, communication, change,
    application) as Proven or Hypothesis, what could not be seen, the one measurement that
    decides, and operator actions as text. 'full' adds the tables.
    """
    opened = request.case(asked.question)
    report = report_incident(
        opened.case, Times(asked.since, asked.until, asked.failure_at), clock=opened.now
    )
    ordered = sorted(report.nodes, key=lambda n: (_URGENT.index(n.verdict), n.node))

    def page(kept: tuple[NodeVerdict, ...], rest: Rest) -> tuple[IncidentPage, str]:
        text = report_text(report.markdown, report.short, detail_of(asked))
        return _page(report, kept, rest), text

    return request.page(ordered, page, opened)


def timeline(request: Request, asked: InWindow) -> Reply[TimelinePage]:
    """List what happened in one UTC order, with precision and source of every entry.

    Driver lines, agent detections, boots, capacity ends, control-plane changes, storage and
    network episodes, job log lines. Sources that agree are named side by side; a source that was
    not read has an entry of its own.
    """
    opened = request.case()
    report = report_incident(opened.case, Times(asked.since, asked.until), clock=opened.now)

    def page(kept: tuple[TimelineEvent, ...], rest: Rest) -> tuple[TimelinePage, str]:
        answer = TimelinePage(window=report.window, events=kept, **rest._asdict())
        return answer, _timeline_text(kept)

    return request.page(report.timeline, page, opened)


_URGENT = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


def _page(report: IncidentReport, nodes: tuple[NodeVerdict, ...], rest: Rest) -> IncidentPage:
    counts: dict[Verdict, int] = {}
    for node in report.nodes:
        counts[node.verdict] = counts.get(node.verdict, 0) + 1
    return IncidentPage(
        mode=report.mode,
        headline=report.headline,
        branch=report.branch,
        label=report.label,
        confidence=report.confidence,
        confidence_basis=report.confidence_basis,
        account=report.account,
        region=report.region,
        cluster=report.cluster,
        orchestrator=report.orchestrator,
        window=report.window,
        failure=report.failure,
        counts=counts,
        branches=tuple(
            BranchRow(
                branch=row.branch,
                status=row.status,
                label=row.label,
                why=row.why[:_WHY_CHARACTERS],
                confirming=row.confirming,
            )
            for row in report.branches
        ),
        nodes=tuple(_node_row(node) for node in nodes),
        not_seen=report.not_seen[:_MOST_NOT_SEEN],
        not_seen_total=len(report.not_seen),
        actions=report.actions[:8],
        recovery=report.recovery[:6],
        **rest._asdict(),
    )


def _node_row(node: NodeVerdict) -> NodeRow:
    ground = node.grounds[0] if node.grounds else None
    return NodeRow(
        node=node.node,
        verdict=node.verdict,
        fault_class=node.fault_class.value,
        what=ground.what if ground else "",
        pci=ground.pci if ground else None,
        at=ground.at if ground else None,
        minimum_action=node.minimum_action,
        open_check=node.open_check,
        evidence=ground.evidence if ground else None,
    )


def _timeline_text(events: tuple[TimelineEvent, ...]) -> str:
    lines = ["**Timeline (UTC)**", ""]
    for event in events:
        precision = f" ±{event.precision_seconds:.0f} s" if event.precision_seconds > 1 else ""
        also = f" (also {', '.join(event.agreeing)})" if event.agreeing else ""
        mark = "" if event.kind == "seen" else f" · {event.kind}"
        on = code(event.node or event.resource or "cluster")
        head = f"{utc(event.at)}{precision} · {cell(event.source)}{also}{mark}"
        lines.append(f"- {head} · {on}: {cell(event.what)}")
    return "\n".join(lines) + "\n"
