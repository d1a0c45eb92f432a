"""`gpuvet verdict`: gather, judge, and say what was not seen."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypedDict

from gpuvet.calculators.verdict import judge_cluster
from gpuvet.case.case import Case
from gpuvet.case.container import NEVER_OPENED
from gpuvet.model.case import FileReport, FileStatus
from gpuvet.model.cluster import NotSeen
from gpuvet.model.coverage import (
    CoverageStatus,
    HourState,
    NodeCoverage,
    Shipper,
    SourceCoverage,
)
from gpuvet.model.evidence import Reason
from gpuvet.model.report import (
    CountsRow,
    CoverageRow,
    FileRow,
    GapRow,
    Mode,
    NotSeenRow,
    ReportConfidence,
    ReportWindow,
    VerdictReport,
)
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.modes.evidence import Gathered, gather
from gpuvet.modes.excerpts import excerpt_rows
from gpuvet.modes.unread import cut_listings, unread_rows
from gpuvet.modes.window import Asked, Resolved, resolve
from gpuvet.report.verdict import verdict_markdown
from gpuvet.report.words import span

# Exit codes of the contract of the answers.
NOTHING, FINDINGS, TOO_LITTLE = 0, 1, 3
_FINDINGS = frozenset({Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR})


def verdict_report(case: Case, asked: Asked, *, clock: datetime) -> VerdictReport:
    """Return the verdict of every node of a case or an account.

    Args:
        case: Where the evidence comes from.
        asked: What the caller said about time.
        clock: The present, used only where the case has no clock of its own.
    """
    resolved = resolve(case.meta, asked, case.meta.now or clock)
    gathered = gather(case, resolved)
    verdicts = judge_cluster(gathered.evidence)
    report = _report(case, resolved, gathered, verdicts)
    return report.model_copy(update={"markdown": verdict_markdown(report)})


def _report(
    case: Case, resolved: Resolved, gathered: Gathered, verdicts: Sequence[NodeVerdict]
) -> VerdictReport:
    missing = tuple(not_seen_rows(case, gathered))
    return VerdictReport(
        **common_fields(case, resolved, gathered),
        mode=_mode(case),
        failure_at=gathered.evidence.failure_at,
        verdicts={v.node: v.verdict for v in verdicts},
        confidence=_confidence(verdicts, missing),
        nodes=tuple(verdicts),
        not_seen=missing,
        notes=gathered.notes,
    )


class CommonFields(TypedDict):
    """What every report says of the question, its coverage and its files."""

    account: str | None
    region: str | None
    cluster: str | None
    orchestrator: str
    now: datetime
    window: ReportWindow
    coverage: tuple[CoverageRow, ...]
    files: tuple[FileRow, ...]
    lines: CountsRow


def common_fields(case: Case, resolved: Resolved, gathered: Gathered) -> CommonFields:
    """Return the fields that every mode fills alike."""
    evidence = gathered.evidence
    return CommonFields(
        account=case.meta.account,
        region=case.meta.region,
        cluster=case.meta.cluster,
        orchestrator=evidence.orchestrator.value,
        now=resolved.now,
        window=ReportWindow(
            since=evidence.window.start, until=evidence.window.end, source=evidence.window_source
        ),
        coverage=tuple(
            row for node in (*evidence.nodes, *gathered.not_judged) for row in _rows(node.coverage)
        ),
        files=tuple(_file_rows(case)),
        lines=CountsRow(
            understood=gathered.counts.understood,
            benign=gathered.counts.benign,
            not_understood=gathered.counts.not_understood,
        ),
    )


def _mode(case: Case) -> Mode:
    return "Audit" if case.meta.mode == "Audit" else "Incident"


def _confidence(verdicts: Sequence[NodeVerdict], missing: Sequence[NotSeenRow]) -> ReportConfidence:
    """High: every verdict proven and nothing unseen; Low: a node could not be seen at all."""
    if any(v.verdict is Verdict.NOT_OBSERVABLE for v in verdicts) or not verdicts:
        return "Low"
    if any(row.any_node for row in missing):
        return "Low"
    proven = all(v.confidence == "proven" for v in verdicts)
    return "High" if proven and not missing else "Medium"


def _rows(coverage: NodeCoverage) -> tuple[CoverageRow, ...]:
    if not coverage.sources:
        return (
            CoverageRow(
                node=coverage.node,
                source=Shipper.UNKNOWN,
                group=None,
                stream=None,
                status=coverage.status,
                reason="no stream of this node was found",
                hours_measured=0,
                hours_asked=coverage.hours_asked,
            ),
        )
    return tuple(_row(source) for source in coverage.sources)


def _row(source: SourceCoverage) -> CoverageRow:
    return CoverageRow(
        node=source.node,
        source=source.source,
        group=source.group,
        stream=source.stream,
        status=source.status,
        reason=source.reason,
        hours_measured=source.hours_measured,
        hours_asked=source.hours_asked,
        gaps=tuple(
            GapRow(start=g.start, end=g.end, hours=g.hours, state=g.state.value, note=g.note)
            for g in source.gaps
        ),
        detections=source.detections,
        notes=source.notes,
        evidence=source.evidence,
    )


def not_seen_rows(case: Case, gathered: Gathered) -> Iterator[NotSeenRow]:
    """Yield every absence: readings that failed, holes of streams, nodes without any stream."""
    for missing in gathered.not_seen:
        yield _as_row(missing)
    for node in gathered.evidence.nodes:
        yield from _holes(node.coverage)
    for operation, code in case.refused:
        yield NotSeenRow(
            what=f"log lines of whatever node {operation} was asked about",
            reason=code,
            closes_with=f"the permission for {operation}, and the same call again",
            any_node=True,
        )
    for stream, tells_of_a_gpu in case.unowned:
        what, reason = f"whose log {stream} is", "it names no node: it speaks for none"
        if tells_of_a_gpu:
            what, reason = f"whose driver lines in {stream} are", "they name no node"
        yield NotSeenRow(
            what=what,
            reason=reason,
            closes_with="the same log with host names, or the node's name in the file's name",
            any_node=tells_of_a_gpu,
        )
    for file in case.files:
        if file.is_loss:
            yield NotSeenRow(
                what=_rest_of(file),
                reason=file.reason or Reason.CUT_SHORT,
                closes_with=_WHOLE_FILE,
                any_node=True,
            )
        elif file.status is FileStatus.NOT_UNDERSTOOD and file.reason != NEVER_OPENED:
            yield NotSeenRow(
                what=f"what {file.path} holds",
                reason=file.reason or "not understood",
                closes_with="the file in a form that references/case-format.md names",
            )
        elif file.status is FileStatus.PARTLY_READ:
            yield NotSeenRow(
                what=f"the rest of {file.path}",
                reason=file.reason or "cut_short",
                closes_with="the whole file",
            )
    yield from excerpt_rows(case, gathered)
    yield from cut_listings(case)
    yield from unread_rows(case)


_WHOLE_FILE = "the whole file, in a form we read"


def _rest_of(file: FileReport) -> str:
    return f"whatever else lies in {file.path.strip('()')}: any node's logs"


def lost_files(case: Case) -> tuple[NotSeen, ...]:
    """Return the files whose unread part may be any node's log."""
    return tuple(
        NotSeen(what=_rest_of(file), reason=Reason.CUT_SHORT, closes_with=_WHOLE_FILE)
        for file in case.files
        if file.is_loss
    ) + tuple(
        NotSeen(
            what=f"log lines that {operation} did not give: {code}",
            reason=Reason.REFUSED,
            closes_with=f"the permission for {operation}",
        )
        for operation, code in case.refused
    )


def _as_row(missing: NotSeen) -> NotSeenRow:
    return NotSeenRow(
        what=missing.what,
        reason=missing.reason,
        closes_with=missing.closes_with,
        nodes=missing.nodes,
    )


_FULL = frozenset(
    {
        CoverageStatus.MEASURED,
        CoverageStatus.NOT_APPLICABLE,
        CoverageStatus.DETECTIONS,
        CoverageStatus.NO_HMA_DETECTIONS,
    }
)


_OF_PROGRAMS = frozenset({Shipper.SERVICE, Shipper.APP})


def _holes(coverage: NodeCoverage) -> Iterator[NotSeenRow]:
    if not coverage.sources:
        yield NotSeenRow(
            what=f"any log of {coverage.node}",
            reason="no stream carries this node's name",
            closes_with="ship the node's kernel log, or name its log group",
            nodes=(coverage.node,),
        )
    # What services and applications write was never meant to carry the kernel's lines.
    meant = [s for s in coverage.sources if s.source not in _OF_PROGRAMS]
    if coverage.sources and not meant:
        yield NotSeenRow(
            what=f"the kernel log of {coverage.node}",
            reason="not shipped: its streams are those of services and applications",
            closes_with="ship the node's kernel log, or name its log group",
            nodes=(coverage.node,),
        )
    for source in meant:
        if source.status not in _FULL or source.gaps:
            yield _hole(source)


def _hole(source: SourceCoverage) -> NotSeenRow:
    hours = sum(gap.hours for gap in source.gaps)
    stream = f"{source.group or 'file'} {source.stream or '(no such stream)'}"
    spans = "; ".join(span(gap.start, gap.end) for gap in source.gaps[:3])
    more = f" and {len(source.gaps) - 3} more holes" if len(source.gaps) > 3 else ""
    share = f"{hours} of {source.hours_asked} h of " if hours and source.hours_asked else ""
    when = f" ({spans}{more})" if spans else ""
    return NotSeenRow(
        what=f"{share}{stream}, node {source.node}{when}",
        reason=source.reason or (_WHY[source.gaps[0].state] if source.gaps else "not readable"),
        closes_with="the stream's lines of that time, or another log source of this node",
        nodes=(source.node,),
    )


_WHY = {
    HourState.EMPTY: "no line arrived",
    HourState.EMPTY_PARTIAL: "no line arrived in the part of the hour that counts",
    HourState.RETENTION_LOST: "older than the group's retention",
    HourState.NO_GROUP: "before the log group existed",
    HourState.UNKNOWN: "the count is incomplete",
    HourState.UNKNOWN_STATE: "before a restart: running or stopped is not known",
}


def _file_rows(case: Case) -> Iterator[FileRow]:
    for file in case.files:
        yield FileRow.model_validate(
            {
                "path": file.path,
                "kind": file.kind.value,
                "status": file.status.value,
                "reason": file.reason,
                "lines": file.lines,
            }
        )


def exit_code(report: VerdictReport) -> int:
    """Return 1 for anything to act on, 3 for too little seen, else 0; findings outrank 3."""
    verdicts = set(report.verdicts.values())
    if verdicts & _FINDINGS:
        return FINDINGS
    return TOO_LITTLE if is_too_little(report.nodes, report.not_seen) else NOTHING


def is_too_little(nodes: Sequence[NodeVerdict], not_seen: Sequence[NotSeenRow]) -> bool:
    """Say whether mildness rests on what was not seen: closed, provisional, or any node's loss."""
    return (
        not nodes
        or any(row.any_node for row in not_seen)
        or any(n.verdict is Verdict.NOT_OBSERVABLE or n.confidence == "provisional" for n in nodes)
    )
