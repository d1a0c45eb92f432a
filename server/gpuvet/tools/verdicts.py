"""Tools over the nodes: their verdicts, and what of their logs could be seen."""

from pydantic import Field

from gpuvet.errors import UsageError
from gpuvet.model.base import Value
from gpuvet.model.report import CoverageRow, NotSeenRow, ReportWindow, VerdictReport
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked as Times
from gpuvet.report.verdict import coverage_markdown, verdict_markdown
from gpuvet.tools.arguments import OfNodes
from gpuvet.tools.request import Opened, Reply, Request, Rest

_MOST_NOT_SEEN = 20


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


class VerdictQuestion(OfNodes):
    """What `node_verdicts` takes."""

    failure_at: str | None = Field(
        None, description="When it failed, ISO 8601 with Z.", max_length=40
    )


def node_verdicts(request: Request, asked: VerdictQuestion) -> Reply[VerdictPage]:
    """Judge every node: REPLACE, REBOOT, UNVERIFIED, MONITOR, LEAVE ALONE or NOT OBSERVABLE.

    Each verdict carries its grounds with the raw line, stream and time, the check that is still
    open, and what could not be seen. The most urgent come first. Not for causes outside the nodes
    (capacity, storage, network).
    """
    opened = request.case()
    report = _report(opened, asked, asked.failure_at)
    ordered = sorted(report.nodes, key=_urgency)

    def page(kept: tuple[NodeVerdict, ...], rest: Rest) -> tuple[VerdictPage, str]:
        ids = {n.node for n in kept}
        own = tuple(c for c in report.coverage if c.node in ids)
        shown = report.model_copy(update={"nodes": kept, "coverage": own})
        return _verdict_page(report, kept, rest), verdict_markdown(shown)

    return request.page(ordered, page, opened)


def _verdict_page(report: VerdictReport, nodes: tuple[NodeVerdict, ...], rest: Rest) -> VerdictPage:
    return VerdictPage(
        mode=report.mode,
        account=report.account,
        region=report.region,
        cluster=report.cluster,
        orchestrator=report.orchestrator,
        window=report.window,
        counts=_counts(report),
        confidence=report.confidence,
        nodes=nodes,
        not_seen=report.not_seen[:_MOST_NOT_SEEN],
        **rest._asdict(),
    )


def log_coverage(request: Request, asked: OfNodes) -> Reply[CoveragePage]:
    """Show which hours of which log stream of each node could be seen at all.

    An hour without a line proves nothing, so this comes before "no errors". Each row names group,
    exact stream, hours measured of hours asked, and every hole; the least seen come first.
    """
    opened = request.case()
    report = _report(opened, asked, None)
    rows = sorted(report.coverage, key=_blindness)

    def page(kept: tuple[CoverageRow, ...], rest: Rest) -> tuple[CoveragePage, str]:
        shown = report.model_copy(update={"coverage": kept})
        return _coverage_page(report, kept, rest), coverage_markdown(shown)

    return request.page(rows, page, opened)


def _coverage_page(
    report: VerdictReport, rows: tuple[CoverageRow, ...], rest: Rest
) -> CoveragePage:
    counts: dict[str, int] = {}
    for row in report.coverage:
        counts[row.status.value] = counts.get(row.status.value, 0) + 1
    return CoveragePage(
        account=report.account,
        region=report.region,
        cluster=report.cluster,
        window=report.window,
        counts=counts,
        coverage=rows,
        not_seen=report.not_seen[:_MOST_NOT_SEEN],
        **rest._asdict(),
    )


def _report(opened: Opened, asked: OfNodes, failure_at: str | None) -> VerdictReport:
    times = Times(asked.since, asked.until, failure_at)
    return _only(verdict_report(opened.case, times, clock=opened.now), asked.nodes)


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
