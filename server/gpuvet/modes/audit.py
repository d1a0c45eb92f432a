"""`gpuvet audit`: gather, prove the hours, judge the nodes, and say what may be claimed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gpuvet.aws.changes import trail_reads
from gpuvet.calculators.audit_claims import count_xids, fleet_claim, node_claim
from gpuvet.calculators.audit_faults import fault_rows, outlier_rows
from gpuvet.calculators.audit_holes import HoleEvidence, holes_of
from gpuvet.calculators.audit_hours import hour_grid, is_out_of_scope, unpacked
from gpuvet.calculators.audit_label import audit_confidence, audit_label
from gpuvet.calculators.audit_lights import Place, light_rows
from gpuvet.calculators.audit_lost import LostEvidence, lost_hours
from gpuvet.calculators.audit_scope import with_gpus, without_gpus_aside
from gpuvet.calculators.audit_witnesses import witnesses_of
from gpuvet.calculators.change_words import who
from gpuvet.calculators.finding import NodeView
from gpuvet.calculators.question import choose_mode
from gpuvet.calculators.timeline import merge_timeline, node_timeline, unread_entries
from gpuvet.calculators.verdict import judge_cluster, view_nodes
from gpuvet.case import Case
from gpuvet.model.audit import (
    AuditReport,
    ClusterRow,
    FaultRow,
    Hole,
    LightRow,
    LostHours,
    NodeSight,
    ReplacementRow,
)
from gpuvet.model.case import CaseNode
from gpuvet.model.cause import Failure, Symptom, TimelineEvent
from gpuvet.model.cluster import NotSeen
from gpuvet.model.coverage import (
    CoverageStatus,
)
from gpuvet.model.evidence import Reason, Window
from gpuvet.model.hours import HourCode, HourGrid
from gpuvet.model.report import NotSeenRow
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.modes.audit_capacity import reserved_spans
from gpuvet.modes.audit_evidence import AuditEvidence, gpus_of, read_audit_evidence
from gpuvet.modes.capacity_readings import look_back
from gpuvet.modes.control_plane import ControlPlane, read_control_plane
from gpuvet.modes.evidence import Gathered, gather
from gpuvet.modes.gather_capacity import timeline_capacity
from gpuvet.modes.gather_change import change_evidence, timeline_change
from gpuvet.modes.incident import inputs_of
from gpuvet.modes.logs import rules_of
from gpuvet.modes.scope import Scope
from gpuvet.modes.verdict import FINDINGS, NOTHING, TOO_LITTLE, common_fields, not_seen_rows
from gpuvet.modes.window import Asked, Resolved, resolve
from gpuvet.report.audit import audit_markdown, audit_short
from gpuvet.report.verdict import headline


@dataclass(frozen=True, slots=True)
class Price:
    """What a GPU hour costs, in the user's own words; without it no money is named."""

    per_gpu_hour: float | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """Everything an audit reports, judged."""

    gathered: Gathered
    plane: ControlPlane
    extra: AuditEvidence
    verdicts: tuple[NodeVerdict, ...]
    grid: HourGrid
    holes: tuple[Hole, ...]
    sight: tuple[NodeSight, ...]
    faults: tuple[FaultRow, ...]
    lost: LostHours


def audit_report(
    case: Case, asked: Asked, *, clock: datetime, price: Price = Price()
) -> AuditReport:
    """Return what of one cluster may be claimed over a period, and what not.

    Args:
        case: Where the evidence comes from.
        asked: What the caller said about time.
        clock: The present, used only where the case has no clock of its own.
        price: Of a GPU hour, where the user gives one.
    """
    resolved = resolve(case.meta, asked, case.meta.now or clock)
    case.logs.begin(others=trail_reads(look_back(resolved.window, resolved.now)))
    gathered = _aside(gather(case, resolved))
    scope = _scope(case, resolved, gathered)
    plane = read_control_plane(case, scope, gathered.evidence, gathered.services)
    extra = read_audit_evidence(case, scope, gathered)
    found = _judged(case, resolved, gathered, plane, extra, price)
    return worded(_report(case, resolved, scope, found))


def _aside(gathered: Gathered) -> Gathered:
    """Return the evidence with nothing asked of nodes that are known to have no GPU."""
    evidence = gathered.evidence
    whole = evidence.model_copy(update={"nodes": (*evidence.nodes, *gathered.not_judged)})
    known = {n.node for n in gathered.aside}
    return replace(
        gathered,
        evidence=without_gpus_aside(whole, known),
        nodes=(*gathered.nodes, *gathered.aside),
    )


def _scope(case: Case, resolved: Resolved, gathered: Gathered) -> Scope:
    return Scope(
        window=resolved.window,
        now=resolved.now,
        failure=Failure(symptom=Symptom.UNKNOWN),
        nodes=gathered.nodes,
        orchestrator=gathered.evidence.orchestrator,
        cluster=case.meta.cluster,
        account=case.meta.account,
        region=case.meta.region,
    )


def _judged(
    case: Case,
    resolved: Resolved,
    gathered: Gathered,
    plane: ControlPlane,
    extra: AuditEvidence,
    price: Price,
) -> _Found:
    evidence, rules = gathered.evidence, rules_of(case)
    verdicts = judge_cluster(with_gpus(evidence))
    by_node = {v.node: v.verdict for v in verdicts}
    grid = hour_grid(evidence, rules)
    views = view_nodes(evidence)
    judged = [view for view in views if view.node.node in by_node]
    asked = resolved.window.padded(rules.pad, rules.pad)
    live = {n.node: frozenset(n.coverage.live_hours) for n in evidence.nodes}
    changes = plane.trail.changes
    holes = holes_of(
        evidence.nodes,
        grid,
        HoleEvidence(lines=extra.agents, notes=case.notes, changes=changes, live=live),
    )
    return _Found(
        gathered=gathered,
        plane=plane,
        extra=extra,
        verdicts=verdicts,
        grid=grid,
        holes=holes,
        sight=tuple(_sight(case, gathered, views, grid, holes, extra, asked)),
        faults=fault_rows(judged, by_node, asked),
        lost=_lost(resolved, gathered, plane, extra, price),
    )


def _lost(
    resolved: Resolved,
    gathered: Gathered,
    plane: ControlPlane,
    extra: AuditEvidence,
    price: Price,
) -> LostHours:
    found = LostEvidence(
        window=resolved.window,
        gpus=gpus_of(gathered),
        power=extra.power,
        reserved=reserved_spans(plane.capacity),
        replaced=plane.replaced,
    )
    return lost_hours(
        gathered.evidence.nodes, found, price=price.per_gpu_hour, currency=price.currency
    )


def _sight(
    case: Case,
    gathered: Gathered,
    views: Sequence[NodeView],
    grid: HourGrid,
    holes: Sequence[Hole],
    extra: AuditEvidence,
    asked: Window,
) -> Iterator[NodeSight]:
    own = {row.node: unpacked(row.runs) for row in grid.rows if row.source is None}
    known: Mapping[str, CaseNode] = {node.node: node for node in gathered.nodes}
    by_node: dict[str, list[Hole]] = {}
    for hole in holes:
        by_node.setdefault(hole.node, []).append(hole)
    is_hyperpod = gathered.evidence.orchestrator.is_hyperpod
    for view in views:
        node, codes = view.node, own[view.node.node]
        xids = count_xids(view.events.occurrences, asked)
        measured = sum(code is HourCode.LIVE for code in codes)
        yield NodeSight(
            node=node.node,
            cluster=case.meta.cluster,
            host=node.host,
            instance_type=node.instance_type,
            instance_group=known[node.node].instance_group if node.node in known else None,
            launched_at=node.launched_at,
            left_at=node.left_at,
            status=_status(node.coverage.status, out=is_out_of_scope(node.coverage)),
            hours_measured=measured,
            hours_asked=sum(code.is_seen or code.is_hole for code in codes),
            xid_events=xids.total,
            undated_xids=xids.undated,
            claim=node_claim(node.coverage, xids, by_node.get(node.node, ())),
            witnesses=witnesses_of(
                node, extra.witnesses, is_hyperpod=is_hyperpod, xid_events=xids.total
            ),
        )


def _status(status: CoverageStatus, *, out: bool) -> CoverageStatus:
    return CoverageStatus.NOT_APPLICABLE if out else status


def _report(case: Case, resolved: Resolved, scope: Scope, found: _Found) -> AuditReport:
    gathered, sight = found.gathered, found.sight
    common = common_fields(case, resolved, gathered)
    verdicts = {v.node: v.verdict for v in found.verdicts}
    evidence, unread = gathered.evidence, [m.what for m in gathered.not_seen]
    label, because = audit_label(evidence, unread)
    confidence, basis = audit_confidence(sight, unread)
    claim = fleet_claim(sight, verdicts, outside_of(sight))
    choice = choose_mode(case.meta.question, inputs_of(case), stated=case.meta.mode)
    one_cluster = ClusterRow(
        cluster=case.meta.cluster,
        account=case.meta.account,
        region=case.meta.region,
        source=case.meta.id,
        status="read",
        orchestrator=common["orchestrator"],
        window=common["window"],
        nodes=len(sight),
        claim=claim,
    )
    return AuditReport(
        **common,
        mode_because=choice.why if choice.mode == "Audit" else "asked for",
        question=case.meta.question,
        headline=_headline(found.verdicts, sight),
        claim=claim,
        verdicts=verdicts,
        label=label,
        label_because=because,
        confidence=confidence,
        confidence_basis=basis,
        clusters=(one_cluster,),
        nodes=found.verdicts,
        sight=sight,
        holes=found.holes,
        hours=found.grid,
        faults=found.faults,
        outliers=outlier_rows([n for n in sight if n.hours_asked], found.faults),
        replacements=tuple(_replacements(found.plane)),
        lost=found.lost,
        lights=_lights(scope, found, [row.group for row in common["coverage"]]),
        timeline=_timeline(case, resolved, scope, found),
        not_seen=tuple(_missing(case, found)),
        context=tuple(f"{n.at_words or n.at or ''} {n.text}".strip() for n in case.notes),
    )


def _lights(scope: Scope, found: _Found, groups: Sequence[str | None]) -> tuple[LightRow, ...]:
    place = Place(
        scope.orchestrator, cluster=scope.cluster, region=scope.region, group=_own_group(groups)
    )
    seen = [n for n in found.sight if n.status is not CoverageStatus.NOT_APPLICABLE]
    return light_rows(seen, found.holes, place)


def _own_group(groups: Sequence[str | None]) -> str | None:
    """Return a log group of the user's own to ship to; services keep theirs to themselves."""
    return next(
        (g for g in groups if g and not g.startswith(("/aws/sagemaker/", "/aws/eks/"))), None
    )


def outside_of(sight: Sequence[NodeSight]) -> tuple[str, ...]:
    """Return the nodes of which nothing is asked."""
    return tuple(n.node for n in sight if n.status is CoverageStatus.NOT_APPLICABLE)


def _headline(verdicts: Sequence[NodeVerdict], sight: Sequence[NodeSight]) -> str:
    seen, asked = (
        sum(n.hours_measured for n in sight),
        sum(n.hours_asked for n in sight),
    )
    return f"{headline(verdicts)} · kernel log seen in {seen} of {asked} node-hours"


def _replacements(plane: ControlPlane) -> Iterator[ReplacementRow]:
    for one in plane.replaced:
        if one.old or one.new:
            yield ReplacementRow(
                at=one.call.at,
                by=who(one.call),
                call=one.call.name,
                old=one.old,
                new=tuple(node.id for node in one.new),
                group=one.group,
                link=one.link.value if one.link is not None else None,
                certain=one.is_certain,
                evidence=one.call.evidence,
            )


def _timeline(
    case: Case, resolved: Resolved, scope: Scope, found: _Found
) -> tuple[TimelineEvent, ...]:
    evidence = found.gathered.evidence
    changes = change_evidence(case, scope, found.plane, evidence)
    events = [
        *node_timeline(evidence),
        *timeline_capacity(found.plane.capacity),
        *timeline_change(case, changes),
        *unread_entries(found.gathered.not_seen, resolved.window),
    ]
    return merge_timeline(events, resolved.window)


def _missing(case: Case, found: _Found) -> Iterator[NotSeenRow]:
    trail = found.plane.trail
    rows = [*not_seen_rows(case, found.gathered)]
    rows += [_row(missing) for missing in found.extra.not_seen]
    if not trail.is_complete:
        reason = next((one.reason for one in trail.missed if one.reason), Reason.NOT_RECORDED)
        rows.append(
            NotSeenRow(
                what=f"control-plane calls: {len(trail.missed)} of {len(trail.asked)} event names",
                reason=reason,
                closes_with="who replaced or changed nodes (cloudtrail:LookupEvents)",
            )
        )
    seen: set[str] = set()
    for row in rows:
        if row.what not in seen:
            seen.add(row.what)
            yield row


def _row(missing: NotSeen) -> NotSeenRow:
    return NotSeenRow(
        what=missing.what,
        reason=missing.reason,
        closes_with=missing.closes_with,
        nodes=missing.nodes,
    )


def worded(report: AuditReport) -> AuditReport:
    """Return a report with its texts written from its values."""
    bare = report.model_copy(update={"short": "", "markdown": ""})
    return bare.model_copy(update={"short": audit_short(bare), "markdown": audit_markdown(bare)})


def exit_code(report: AuditReport) -> int:
    """Return 1 for anything to act on, 3 for too little seen, else 0; findings outrank 3."""
    acting = {Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR}
    verdicts = set(report.verdicts.values())
    if acting & verdicts:
        return FINDINGS
    unread = any(cluster.status != "read" for cluster in report.clusters)
    unread = unread or any(row.any_node for row in report.not_seen)
    if unread or not verdicts or Verdict.NOT_OBSERVABLE in verdicts:
        return TOO_LITTLE
    return NOTHING
