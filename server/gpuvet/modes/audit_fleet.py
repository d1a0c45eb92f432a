"""One audit of several clusters; one that could not be read is named, the others are told."""

from collections.abc import Callable, Sequence

from gpuvet.calculators.audit_claims import fleet_claim
from gpuvet.calculators.audit_diff import compared
from gpuvet.calculators.audit_faults import outlier_rows
from gpuvet.calculators.audit_hours import joined
from gpuvet.errors import UsageError
from gpuvet.model.audit import AuditReport, ClusterRow, LostHours
from gpuvet.model.cause import Label
from gpuvet.model.report import CountsRow, NotSeenRow, ReportConfidence, ReportWindow
from gpuvet.modes.audit import outside_of, worded
from gpuvet.report.verdict import headline

Read = Callable[[], AuditReport]


def audit_fleet(clusters: Sequence[tuple[str, Read]]) -> AuditReport:
    """Return one report over several clusters.

    Args:
        clusters: For each its name for a reader, and what reads it.

    Raises:
        UsageError: None of them could be read.
    """
    reports: list[AuditReport] = []
    unread: list[ClusterRow] = []
    for name, read in clusters:
        try:
            report = read()
        except UsageError as error:
            unread.append(
                ClusterRow(cluster=None, source=name, status="not read", reason=str(error)[:300])
            )
        else:
            twin = _twin(report, reports)
            if twin is None:
                reports.append(report)
            else:
                unread.append(_counted_already(name, report, twin))
    if not reports:
        raise UsageError("; ".join(f"{row.source}: {row.reason}" for row in unread))
    merged = _merged(reports, unread) if len(reports) > 1 or unread else reports[0]
    return merged if merged is reports[0] else worded(merged)


def _twin(report: AuditReport, others: Sequence[AuditReport]) -> AuditReport | None:
    """Return an earlier report that has a node of this one: nothing is counted twice."""
    mine = set(report.verdicts)
    return next((other for other in others if mine & set(other.verdicts)), None)


def _counted_already(name: str, report: AuditReport, twin: AuditReport) -> ClusterRow:
    shared = sorted(set(report.verdicts) & set(twin.verdicts))
    source = twin.clusters[0].source
    return ClusterRow(
        cluster=report.cluster,
        source=name,
        status="not read",
        reason=f"{len(shared)} of its nodes, {shared[0]} first, stand under {source} already",
    )


def _merged(reports: Sequence[AuditReport], unread: Sequence[ClusterRow]) -> AuditReport:
    first = reports[0]
    sight = tuple(n for r in reports for n in r.sight)
    nodes = tuple(n for r in reports for n in r.nodes)
    verdicts = {n.node: n.verdict for n in nodes}
    faults = tuple(f for r in reports for f in r.faults)
    rows = (*(c for r in reports for c in r.clusters), *unread)
    seen, asked = sum(n.hours_measured for n in sight), sum(n.hours_asked for n in sight)
    confidence = _confidence(reports, unread)
    missed = f"; {len(unread)} of {len(rows)} clusters not read" if unread else ""
    return first.model_copy(
        update={
            "account": _same([r.account for r in reports]),
            "region": _same([r.region for r in reports]),
            "cluster": _same([r.cluster for r in reports]),
            "orchestrator": _same([r.orchestrator for r in reports]) or "unknown",
            "now": max(r.now for r in reports),
            "window": _window(reports),
            "headline": f"{headline(nodes)} · kernel log seen in {seen} of {asked} node-hours"
            f"{missed}",
            "claim": _claim(fleet_claim(sight, verdicts, outside_of(sight)), unread),
            "verdicts": verdicts,
            "label": _label(reports, unread),
            "confidence": confidence,
            "label_because": _label_because(reports, unread),
            "confidence_basis": _basis(reports, unread, confidence),
            "clusters": rows,
            "nodes": nodes,
            "sight": sight,
            "coverage": tuple(c for r in reports for c in r.coverage),
            "holes": tuple(h for r in reports for h in r.holes),
            "hours": joined([r.hours for r in reports]),
            "faults": faults,
            "outliers": outlier_rows([n for n in sight if n.hours_asked], faults),
            "replacements": tuple(x for r in reports for x in r.replacements),
            "lost": _lost(reports),
            "lights": tuple(sorted((x for r in reports for x in r.lights), key=_cost)),
            "timeline": tuple(
                sorted((e for r in reports for e in r.timeline), key=lambda e: (e.at, e.what))
            ),
            "not_seen": (*(n for r in reports for n in r.not_seen), *_not_read(unread)),
            "files": tuple(f for r in reports for f in r.files),
            "context": tuple(c for r in reports for c in r.context),
            "lines": _lines(reports),
            "notes": tuple(n for r in reports for n in r.notes),
        }
    )


def _cost(row: object) -> int:
    steps = getattr(row, "steps", ())
    return steps[0].cost if steps else 0


def _same(words: Sequence[str | None]) -> str | None:
    return words[0] if len(set(words)) == 1 else None


def _window(reports: Sequence[AuditReport]) -> ReportWindow:
    sources = dict.fromkeys(r.window.source for r in reports)
    return ReportWindow(
        since=min(r.window.since for r in reports),
        until=max(r.window.until for r in reports),
        source="; ".join(sources),
    )


def _claim(claim: str, unread: Sequence[ClusterRow]) -> str:
    if not unread:
        return claim
    names = ", ".join(row.source for row in unread[:4])
    return f"{claim} Nothing is claimed of clusters that were not read: {names}."


def _label(reports: Sequence[AuditReport], unread: Sequence[ClusterRow]) -> Label:
    proven = all(r.label is Label.PROVEN for r in reports) and not unread
    return Label.PROVEN if proven else Label.HYPOTHESIS


def _label_because(reports: Sequence[AuditReport], unread: Sequence[ClusterRow]) -> str:
    if unread:
        return f"{len(unread)} clusters were not read"
    return next((r for r in reports if r.label is not Label.PROVEN), reports[0]).label_because


def _basis(
    reports: Sequence[AuditReport], unread: Sequence[ClusterRow], lowest: ReportConfidence
) -> str:
    if unread:
        return f"{len(unread)} clusters were not read"
    return next(r for r in reports if r.confidence == lowest).confidence_basis


def _confidence(reports: Sequence[AuditReport], unread: Sequence[ClusterRow]) -> ReportConfidence:
    found = {r.confidence for r in reports}
    if unread or "Low" in found:
        return "Low"
    return "Medium" if "Medium" in found else "High"


def _lost(reports: Sequence[AuditReport]) -> LostHours:
    every = [r.lost for r in reports]
    return LostHours(
        rows=tuple(row for lost in every for row in lost.rows),
        used=tuple(row for lost in every for row in lost.used),
        unknown=tuple(word for lost in every for word in lost.unknown),
        price_per_gpu_hour=every[0].price_per_gpu_hour,
        currency=every[0].currency,
        formulas=tuple(dict.fromkeys(f for lost in every for f in lost.formulas)),
    )


def _lines(reports: Sequence[AuditReport]) -> CountsRow:
    return CountsRow(
        understood=sum(r.lines.understood for r in reports),
        benign=sum(r.lines.benign for r in reports),
        not_understood=sum(r.lines.not_understood for r in reports),
    )


def _not_read(unread: Sequence[ClusterRow]) -> tuple[NotSeenRow, ...]:
    return tuple(
        NotSeenRow(
            what=f"cluster {row.source}",
            reason=row.reason or "not read",
            closes_with="read it again, or name another source of it",
        )
        for row in unread
    )


def with_baseline(report: AuditReport, old: AuditReport) -> AuditReport:
    """Return a report that also says what changed since an earlier one."""
    return worded(report.model_copy(update={"baseline": compared(report, old)}))
