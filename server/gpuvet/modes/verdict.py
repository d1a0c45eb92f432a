"""`gpuvet verdict`: gather, judge, and say what was not seen."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.calculators.verdict import judge_cluster
from gpuvet.case.case import Case
from gpuvet.model.cluster import NotSeen
from gpuvet.model.coverage import CoverageStatus, NodeCoverage, Shipper, SourceCoverage
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
from gpuvet.modes.window import Asked, Resolved, resolve
from gpuvet.report.verdict import verdict_markdown

# Exit codes of contracts §2.
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
    evidence = gathered.evidence
    coverage = tuple(_rows(node.coverage) for node in evidence.nodes)
    missing = tuple(not_seen_rows(case, gathered))
    return VerdictReport(
        mode=_mode(case),
        account=case.meta.account,
        region=case.meta.region,
        cluster=case.meta.cluster,
        orchestrator=evidence.orchestrator.value,
        now=resolved.now,
        failure_at=evidence.failure_at,
        window=ReportWindow(
            since=evidence.window.start, until=evidence.window.end, source=evidence.window_source
        ),
        verdicts={v.node: v.verdict for v in verdicts},
        confidence=_confidence(verdicts, missing),
        nodes=tuple(verdicts),
        coverage=tuple(row for rows in coverage for row in rows),
        not_seen=missing,
        files=tuple(_file_rows(case)),
        lines=CountsRow(
            understood=gathered.counts.understood,
            benign=gathered.counts.benign,
            not_understood=gathered.counts.not_understood,
        ),
        notes=gathered.notes,
    )


def _mode(case: Case) -> Mode:
    return "Audit" if case.meta.mode == "Audit" else "Incident"


def _confidence(verdicts: Sequence[NodeVerdict], missing: Sequence[NotSeenRow]) -> ReportConfidence:
    """High: every verdict proven and nothing unseen; Low: a node could not be seen at all."""
    if any(v.verdict is Verdict.NOT_OBSERVABLE for v in verdicts) or not verdicts:
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
    for file in case.files:
        if file.status.value == "partly read":
            yield NotSeenRow(
                what=f"the rest of {file.path}",
                reason=file.reason or "cut_short",
                closes_with="the whole file",
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


def _holes(coverage: NodeCoverage) -> Iterator[NotSeenRow]:
    if not coverage.sources:
        yield NotSeenRow(
            what=f"any log of {coverage.node}",
            reason="no stream carries this node's name",
            closes_with="ship the node's kernel log, or name its log group",
            nodes=(coverage.node,),
        )
    for source in coverage.sources:
        if source.status in _FULL and not source.gaps:
            continue
        where = f"{source.group or 'file'} {source.stream or '(no stream)'}"
        hours = sum(gap.hours for gap in source.gaps)
        first = source.gaps[0] if source.gaps else None
        span = (
            f", {hours} h, first hole {first.start:%Y-%m-%dT%H:00Z} to {first.end:%Y-%m-%dT%H:00Z}"
            if first
            else ""
        )
        yield NotSeenRow(
            what=f"{where} of {source.node}{span}",
            reason=source.reason or source.status.value,
            closes_with="the stream's lines of those hours, or another source of this node",
            nodes=(source.node,),
        )


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
    if not verdicts or Verdict.NOT_OBSERVABLE in verdicts:
        return TOO_LITTLE
    return NOTHING
