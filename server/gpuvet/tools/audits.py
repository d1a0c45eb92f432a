"""The tool that says what may be claimed of a period."""

from pydantic import AwareDatetime, Field

from gpuvet.model.audit import AuditReport, NodeSight, Sight
from gpuvet.model.base import Value
from gpuvet.model.cause import Label
from gpuvet.model.report import ReportWindow
from gpuvet.model.verdict import Verdict
from gpuvet.modes.audit import audit_report as report_audit
from gpuvet.modes.window import Asked as Times
from gpuvet.report.audit import fault_line, group_holes, next_steps, replaced_line, used_total
from gpuvet.tools.arguments import Asked
from gpuvet.tools.reply import report_text
from gpuvet.tools.request import Reply, Request, Rest, detail_of

_WHY_CHARACTERS = 240
_CLAIM_CHARACTERS = 500
_MOST_HOLES = 8
_URGENT = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


class SightRow(Value):
    """One node in the short answer of an audit."""

    node: str
    verdict: Verdict | None = None
    hours_measured: int
    hours_asked: int
    xid_events: int
    claim: str
    not_observable: tuple[str, ...] = ()


class HoleRow(Value):
    """Hours that could not be seen on some nodes, and why."""

    nodes: tuple[str, ...]
    nodes_total: int
    group: str | None = None
    stream: str | None = None
    start: AwareDatetime
    end: AwareDatetime
    hours: int
    why: str


class AuditPage(Value):
    """One page of an audit: what may be claimed first, then nodes, most urgent first."""

    schema_: str = Field(
        default="gpuvet/audit-page/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: str
    headline: str
    claim: str
    label: Label
    label_because: str
    confidence: str
    confidence_basis: str
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    window: ReportWindow
    counts: dict[Verdict, int]
    nodes: tuple[SightRow, ...]
    holes: tuple[HoleRow, ...]
    holes_total: int
    faults: tuple[str, ...]
    faults_total: int
    replacements: tuple[str, ...]
    gpu_hours: str | None = None
    next_steps: tuple[str, ...]
    not_seen_total: int
    shown: int
    total: int
    cursor: str | None = None


def audit_report(request: Request, asked: Asked) -> Reply[AuditPage]:
    """Say whether the logs of a fleet can be trusted over a period, and what may be claimed.

    Answers "were there GPU errors last week?": a sentence per node and one for the fleet with
    hours seen of hours asked, every hole with its reason, recurring faults, replaced nodes, lost
    GPU hours, and the cheapest step that would show more. 'full' adds the tables.
    """
    opened = request.case(asked.question)
    report = report_audit(opened.case, Times(asked.since, asked.until), clock=opened.now)
    ordered = sorted(report.sight, key=lambda n: _sight_order(report, n))

    def page(kept: tuple[NodeSight, ...], rest: Rest) -> tuple[AuditPage, str]:
        text = report_text(report.markdown, report.short, detail_of(asked))
        return _page(report, kept, rest), text

    return request.page(ordered, page, opened)


def _sight_order(report: AuditReport, node: NodeSight) -> tuple[object, ...]:
    """Return the place of a node: the most urgent first, then the least seen."""
    verdict = report.verdicts.get(node.node)
    rank = _URGENT.index(verdict) if verdict is not None else len(_URGENT)
    return (rank, node.hours_measured - node.hours_asked, node.node)


def _page(report: AuditReport, nodes: tuple[NodeSight, ...], rest: Rest) -> AuditPage:
    counts: dict[Verdict, int] = {}
    for verdict in report.verdicts.values():
        counts[verdict] = counts.get(verdict, 0) + 1
    holes = group_holes(report.holes)
    return AuditPage(
        mode=report.mode,
        headline=report.headline,
        claim=report.claim,
        label=report.label,
        label_because=report.label_because,
        confidence=report.confidence,
        confidence_basis=report.confidence_basis,
        account=report.account,
        region=report.region,
        cluster=report.cluster,
        orchestrator=report.orchestrator,
        window=report.window,
        counts=counts,
        nodes=tuple(_sight_row(report, node) for node in nodes),
        holes=tuple(
            HoleRow(
                nodes=group.nodes[:4],
                nodes_total=len(group.nodes),
                group=group.shown.group,
                stream=group.shown.stream,
                start=group.shown.start,
                end=group.shown.end,
                hours=group.shown.hours,
                why=group.because[:_WHY_CHARACTERS],
            )
            for group in holes[:_MOST_HOLES]
        ),
        holes_total=len(holes),
        faults=tuple(fault_line(row) for row in report.faults[:8]),
        faults_total=len(report.faults),
        replacements=tuple(replaced_line(row) for row in report.replacements[:6]),
        gpu_hours=used_total(report),
        next_steps=tuple(f"{s.what}: {s.step.do}" for s in next_steps(report)[:6]),
        not_seen_total=len(report.not_seen),
        **rest._asdict(),
    )


def _sight_row(report: AuditReport, node: NodeSight) -> SightRow:
    return SightRow(
        node=node.node,
        verdict=report.verdicts.get(node.node),
        hours_measured=node.hours_measured,
        hours_asked=node.hours_asked,
        xid_events=node.xid_events,
        claim=node.claim[:_CLAIM_CHARACTERS],
        not_observable=tuple(
            row.what.value for row in node.witnesses if row.state is Sight.NOT_OBSERVABLE
        ),
    )
