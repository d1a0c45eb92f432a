"""Tools over the calculators: node verdicts, log coverage, what a code means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from mcp.types import CallToolResult
from pydantic import Field

from gpuvet.catalog.kinds import CodeKind
from gpuvet.errors import UsageError
from gpuvet.explain.xid import XidExplanation, explain_code
from gpuvet.model.base import Value
from gpuvet.model.report import CoverageRow, NotSeenRow, ReportWindow, VerdictReport
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.tools.arguments import (
    Cluster,
    Cursor,
    Detail,
    FailureAt,
    Instances,
    Nodes,
    Profile,
    Region,
    Role,
    Since,
    Tag,
    Until,
    Where,
)
from gpuvet.tools.paging import onward, resume, with_rest
from gpuvet.tools.reply import fit, limit_of, reply


class VerdictPage(Value):
    """One page of node verdicts, the most urgent first."""

    schema_: str = Field(
        default="gpuvet/verdict-page/1", validation_alias="schema", serialization_alias="schema"
    )
    mode: str
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    orchestrator: str
    window: ReportWindow
    counts: dict[Verdict, int]
    confidence: str
    nodes: tuple[NodeVerdict, ...]
    not_seen: tuple[NotSeenRow, ...]
    shown: int
    total: int
    cursor: str | None = None


class CoveragePage(Value):
    """One page of log coverage, the least seen first."""

    schema_: str = Field(
        default="gpuvet/coverage-page/1", validation_alias="schema", serialization_alias="schema"
    )
    account: str | None = None
    region: str | None = None
    cluster: str | None = None
    window: ReportWindow
    counts: dict[str, int]
    coverage: tuple[CoverageRow, ...]
    not_seen: tuple[NotSeenRow, ...]
    shown: int
    total: int
    cursor: str | None = None


class ExplanationPage(Value):
    """What codes or lines mean."""

    schema_: str = Field(
        default="gpuvet/xid/1", validation_alias="schema", serialization_alias="schema"
    )
    explanations: tuple[XidExplanation, ...]


class Judge(Protocol):
    """Whatever can answer for a window: a case today, a live account likewise."""

    def verdicts(
        self, *, since: str | None, until: str | None, failure_at: str | None, where: Where
    ) -> VerdictReport:
        """Return the verdict report of a window."""
        ...


@dataclass(frozen=True, slots=True)
class CalculatorTools:
    """Questions that the calculators answer over the evidence the server was started with."""

    judge: Judge

    def node_verdicts(
        self,
        since: Since = None,
        until: Until = None,
        failure_at: FailureAt = None,
        nodes: Nodes = (),
        cluster: Cluster = None,
        instances: Instances = None,
        tag: Tag = None,
        profile: Profile = None,
        region: Region = None,
        role: Role = None,
        detail: Detail = "summary",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, VerdictPage]:
        """Judge every node: REPLACE, REBOOT, UNVERIFIED, MONITOR, LEAVE ALONE or NOT OBSERVABLE.

        Each verdict carries its grounds with the raw line, stream and time, the check that is
        still open, and what could not be seen. Nodes come most urgent first; `cursor` goes on.
        Not for causes outside the nodes (capacity, storage, network).
        """
        from gpuvet.report.verdict import verdict_markdown

        question = {
            "since": since,
            "until": until,
            "failure_at": failure_at,
            "nodes": ",".join(nodes),
            **Where(cluster, instances, tag, profile, region, role)._asdict(),
        }
        start = resume(cursor, "node_verdicts", question)
        report = self._verdicts(question)
        ordered = sorted(report.nodes, key=_urgency)

        def page(count: int) -> tuple[VerdictPage, str]:
            kept = tuple(ordered[start : start + count])
            rest = onward("node_verdicts", question, start + len(kept), len(ordered))
            ids = {n.node for n in kept}
            shown = report.model_copy(
                update={
                    "nodes": kept,
                    "coverage": tuple(c for c in report.coverage if c.node in ids),
                }
            )
            answer = VerdictPage(
                mode=report.mode,
                account=report.account,
                region=report.region,
                cluster=report.cluster,
                orchestrator=report.orchestrator,
                window=report.window,
                counts=_counts(report),
                confidence=report.confidence,
                nodes=kept,
                not_seen=report.not_seen[:20],
                shown=len(kept),
                total=len(ordered),
                cursor=rest,
            )
            return answer, with_rest(verdict_markdown(shown), len(kept), len(ordered), rest)

        answer, text, _ = fit(page, len(ordered) - start, limit_of(detail))
        return reply(answer, text)

    def log_coverage(
        self,
        since: Since = None,
        until: Until = None,
        nodes: Nodes = (),
        cluster: Cluster = None,
        instances: Instances = None,
        tag: Tag = None,
        profile: Profile = None,
        region: Region = None,
        role: Role = None,
        detail: Detail = "summary",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, CoveragePage]:
        """Show which hours of which log stream of each node could be seen at all.

        Ask this before saying "no errors": an hour without a line proves nothing. Each row names
        group, exact stream, hours measured of hours asked, and every hole. The least seen
        sources come first; `cursor` goes on.
        """
        from gpuvet.report.verdict import coverage_markdown

        question = {
            "since": since,
            "until": until,
            "failure_at": None,
            "nodes": ",".join(nodes),
            **Where(cluster, instances, tag, profile, region, role)._asdict(),
        }
        start = resume(cursor, "log_coverage", question)
        report = self._verdicts(question)
        rows = sorted(report.coverage, key=_blindness)

        def page(count: int) -> tuple[CoveragePage, str]:
            kept = tuple(rows[start : start + count])
            rest = onward("log_coverage", question, start + len(kept), len(rows))
            counts: dict[str, int] = {}
            for row in rows:
                counts[row.status.value] = counts.get(row.status.value, 0) + 1
            answer = CoveragePage(
                account=report.account,
                region=report.region,
                cluster=report.cluster,
                window=report.window,
                counts=counts,
                coverage=kept,
                not_seen=report.not_seen[:20],
                shown=len(kept),
                total=len(rows),
                cursor=rest,
            )
            shown = report.model_copy(update={"coverage": kept})
            return answer, with_rest(coverage_markdown(shown), len(kept), len(rows), rest)

        answer, text, _ = fit(page, len(rows) - start, limit_of(detail))
        return reply(answer, text)

    def _verdicts(self, question: Mapping[str, str | None]) -> VerdictReport:
        report = self.judge.verdicts(
            since=_text(question["since"]),
            until=_text(question["until"]),
            failure_at=_text(question["failure_at"]),
            where=Where.of(question),
        )
        return _only(report, tuple(n for n in (question["nodes"] or "").split(",") if n))

    def explain_xid(
        self,
        code: Annotated[
            int | None, Field(description="Xid or SXid number, e.g. 79.", ge=0, le=99_999)
        ] = None,
        line: Annotated[
            str | None,
            Field(description="A raw driver log line instead of a code.", max_length=4000),
        ] = None,
        kind: Annotated[
            Literal["xid", "sxid"], Field(description="'sxid' for NVSwitch errors.")
        ] = "xid",
    ) -> Annotated[CallToolResult, ExplanationPage]:
        """Explain an Xid or SXid code, or decode a raw line (74, 144 to 150, 154 included).

        Returns meaning, verdict first time and on recurrence, what evidence would change it,
        where published sources disagree and which decided. Says nothing about a node.
        """
        from gpuvet.explain.line import explain_lines
        from gpuvet.explain.text import as_markdown

        if (code is None) == (line is None):
            raise UsageError("give either code (a number such as 79) or line (a raw log line)")
        explained = (
            explain_lines(line) if line is not None else (explain_code(code or 0, CodeKind(kind)),)
        )
        answer = ExplanationPage(explanations=tuple(explained)[:8])
        return reply(answer, "\n".join(as_markdown(e) for e in answer.explanations))


_URGENT_FIRST = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


def _urgency(node: NodeVerdict) -> tuple[int, str]:
    return (_URGENT_FIRST.index(node.verdict), node.node)


def _blindness(row: CoverageRow) -> tuple[float, str, str]:
    share = row.hours_measured / row.hours_asked if row.hours_asked else -1.0
    return (share, row.node, row.stream or "")


def _counts(report: VerdictReport) -> dict[Verdict, int]:
    counts: dict[Verdict, int] = {}
    for node in report.nodes:
        counts[node.verdict] = counts.get(node.verdict, 0) + 1
    return counts


def _only(report: VerdictReport, nodes: tuple[str, ...]) -> VerdictReport:
    if not nodes:
        return report
    known = {n.node for n in report.nodes}
    missing = [n for n in nodes if n not in known]
    if missing:
        raise UsageError(
            f"no node {missing[0]!r} in this evidence; it has {len(known)}: "
            f"{', '.join(sorted(known)[:8])}"
        )
    kept = set(nodes)
    return report.model_copy(
        update={
            "nodes": tuple(n for n in report.nodes if n.node in kept),
            "coverage": tuple(c for c in report.coverage if c.node in kept),
        }
    )


def _text(value: str | None) -> str | None:
    return value or None
