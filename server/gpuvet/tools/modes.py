"""Tools that answer a whole question: incident report, timeline, audit report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

from mcp.types import CallToolResult
from pydantic import AwareDatetime, Field

from gpuvet.model.audit import AuditReport
from gpuvet.model.base import Value
from gpuvet.model.cause import Branch, BranchStatus, Label, TimelineEvent
from gpuvet.model.report import (
    FailureRow,
    IncidentReport,
    NotSeenRow,
    ReportWindow,
)
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.tools.arguments import (
    Cluster,
    Cursor,
    Detail,
    FailureAt,
    Instances,
    Profile,
    Question,
    Region,
    Role,
    Since,
    Tag,
    Until,
    Where,
)
from gpuvet.tools.audit_pages import AuditPage, audit_page, sight_order
from gpuvet.tools.paging import onward, resume, with_rest
from gpuvet.tools.reply import fit, limit_of, reply

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


class Triage(Protocol):
    """Whatever can answer a question: a case today, a live account likewise."""

    def incident(
        self,
        *,
        question: str | None,
        since: str | None,
        until: str | None,
        failure_at: str | None,
        where: Where,
    ) -> IncidentReport:
        """Return the incident report of a window."""
        ...

    def audit(
        self, *, question: str | None, since: str | None, until: str | None, where: Where
    ) -> AuditReport:
        """Return the audit report of a window."""
        ...


@dataclass(frozen=True, slots=True)
class ModeTools:
    """Questions answered whole."""

    triage: Triage

    def incident_report(
        self,
        question: Question = None,
        since: Since = None,
        until: Until = None,
        failure_at: FailureAt = None,
        cluster: Cluster = None,
        instances: Instances = None,
        tag: Tag = None,
        profile: Profile = None,
        region: Region = None,
        role: Role = None,
        detail: Detail = "summary",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, IncidentPage]:
        """Say what failed, why, and what to do, in one call.

        Gives node verdicts, causes A to F (hardware, capacity, storage, communication, change,
        application) as Proven or Hypothesis, the bars they were judged against, what could not
        be seen, the one measurement that decides, and operator actions as text. 'full' adds the
        tables. `cursor` goes on with more nodes.
        """
        asked = {
            "question": question,
            "since": since,
            "until": until,
            "failure_at": failure_at,
            **Where(cluster, instances, tag, profile, region, role)._asdict(),
        }
        start = resume(cursor, "incident_report", asked)
        report = self._incident(asked)
        ordered = sorted(report.nodes, key=lambda n: (_URGENT.index(n.verdict), n.node))

        def page(count: int) -> tuple[IncidentPage, str]:
            kept = ordered[start : start + count]
            rest = onward("incident_report", asked, start + len(kept), len(ordered))
            answer = _page(report, kept, shown=len(kept), total=len(ordered), cursor=rest)
            text = report.markdown if detail == "full" else report.short
            return answer, with_rest(text, len(kept), len(ordered), rest)

        answer, text, _ = fit(page, len(ordered) - start, limit_of(detail))
        return reply(answer, text)

    def _incident(self, asked: Mapping[str, str | None]) -> IncidentReport:
        return self.triage.incident(
            question=asked["question"],
            since=asked["since"],
            until=asked["until"],
            failure_at=asked["failure_at"],
            where=Where.of(asked),
        )

    def timeline(
        self,
        since: Since = None,
        until: Until = None,
        cluster: Cluster = None,
        instances: Instances = None,
        tag: Tag = None,
        profile: Profile = None,
        region: Region = None,
        role: Role = None,
        detail: Detail = "summary",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, TimelinePage]:
        """List what happened in one UTC order, with precision and source of every entry.

        Driver lines, agent detections, boots, capacity ends, control-plane changes, storage and
        network episodes, job log lines. Sources that agree are named side by side; planned
        events and failed calls are marked; a source that was not read has an entry of its own.
        """
        asked = {
            "question": None,
            "since": since,
            "until": until,
            "failure_at": None,
            **Where(cluster, instances, tag, profile, region, role)._asdict(),
        }
        start = resume(cursor, "timeline", asked)
        report = self._incident(asked)
        events = report.timeline

        def page(count: int) -> tuple[TimelinePage, str]:
            kept = events[start : start + count]
            rest = onward("timeline", asked, start + len(kept), len(events))
            answer = TimelinePage(
                window=report.window,
                events=kept,
                shown=len(kept),
                total=len(events),
                cursor=rest,
            )
            return answer, with_rest(_timeline_text(kept), len(kept), len(events), rest)

        answer, text, _ = fit(page, len(events) - start, limit_of(detail))
        return reply(answer, text)

    def audit_report(
        self,
        question: Question = None,
        since: Since = None,
        until: Until = None,
        cluster: Cluster = None,
        instances: Instances = None,
        tag: Tag = None,
        profile: Profile = None,
        region: Region = None,
        role: Role = None,
        detail: Detail = "summary",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AuditPage]:
        """Say whether the logs of a fleet can be trusted over a period, and what may be claimed.

        Ask this for "were there GPU errors last week?". Gives a sentence per node and one for the
        fleet with hours seen of hours asked, every hole with its reason, faults that recur,
        replaced nodes, lost GPU hours, and the cheapest step that would show more. 'full' adds
        the tables. `cursor` goes on with more nodes.
        """
        asked = {
            "question": question,
            "since": since,
            "until": until,
            **Where(cluster, instances, tag, profile, region, role)._asdict(),
        }
        start = resume(cursor, "audit_report", asked)
        report = self.triage.audit(
            question=asked["question"],
            since=asked["since"],
            until=asked["until"],
            where=Where.of(asked),
        )
        ordered = sorted(report.sight, key=lambda n: sight_order(report, n))

        def page(count: int) -> tuple[AuditPage, str]:
            kept = ordered[start : start + count]
            rest = onward("audit_report", asked, start + len(kept), len(ordered))
            answer = audit_page(report, kept, total=len(ordered), cursor=rest)
            text = report.markdown if detail == "full" else report.short
            return answer, with_rest(text, len(kept), len(ordered), rest)

        answer, text, _ = fit(page, len(ordered) - start, limit_of(detail))
        return reply(answer, text)


_URGENT = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


def _page(
    report: IncidentReport,
    nodes: list[NodeVerdict],
    *,
    shown: int,
    total: int,
    cursor: str | None,
) -> IncidentPage:
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
        shown=shown,
        total=total,
        cursor=cursor,
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
    from gpuvet.report.words import cell, code, utc

    lines = ["**Timeline (UTC)**", ""]
    for event in events:
        precision = f" ±{event.precision_seconds:.0f} s" if event.precision_seconds > 1 else ""
        also = f" (also {', '.join(event.agreeing)})" if event.agreeing else ""
        mark = "" if event.kind == "seen" else f" · {event.kind}"
        on = code(event.node or event.resource or "cluster")
        head = f"{utc(event.at)}{precision} · {cell(event.source)}{also}{mark}"
        lines.append(f"- {head} · {on}: {cell(event.what)}")
    return "\n".join(lines) + "\n"
