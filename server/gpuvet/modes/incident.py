"""`gpuvet incident`: gather, judge the nodes, weigh the branches, and say what was not seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from gpuvet.aws.changes import trail_reads
from gpuvet.aws.network import read_instances
from gpuvet.calculators.audit_hours import hour_grid
from gpuvet.calculators.branch_application import assess_application
from gpuvet.calculators.branch_hardware import assess_hardware
from gpuvet.calculators.capability import capability_rows
from gpuvet.calculators.gauges import (
    gauge_facts,
    gauge_outliers,
    gauge_timeline,
    training_words,
)
from gpuvet.calculators.guilty import suspect_name
from gpuvet.calculators.kube_words import kube_state, kube_timeline, pod_ends
from gpuvet.calculators.question import Inputs, choose_mode, symptom_of
from gpuvet.calculators.ranking import Ranking, rank_branches
from gpuvet.calculators.timeline import merge_timeline, node_timeline, unread_entries
from gpuvet.calculators.verdict import judge_cluster
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.case.kube_state import kube_view
from gpuvet.model.case import GONE_STATES, CaseNode
from gpuvet.model.cause import (
    Branch,
    BranchAssessment,
    BranchEvidence,
    Failure,
    Label,
    TimelineEvent,
)
from gpuvet.model.cluster import NotSeen, Orchestrator
from gpuvet.model.cluster_state import ClusterState
from gpuvet.model.network import GuiltyFinding
from gpuvet.model.report import (
    CapabilityRow,
    FailureRow,
    GuiltyRow,
    IncidentReport,
    NotSeenRow,
    ReportConfidence,
)
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.modes.capacity_readings import look_back
from gpuvet.modes.control_plane import read_control_plane
from gpuvet.modes.evidence import Gathered, gather
from gpuvet.modes.failure import find_failure, job_lines
from gpuvet.modes.gather_capacity import gather_capacity
from gpuvet.modes.gather_change import gather_change
from gpuvet.modes.gather_gpu import activity_not_seen
from gpuvet.modes.gather_network import begin_transport, gather_network
from gpuvet.modes.gather_storage import gather_storage
from gpuvet.modes.job_lines import PAD, begin_job_lines
from gpuvet.modes.logs import rules_of
from gpuvet.modes.scope import Scope
from gpuvet.modes.starts import observed_starts, outlier_sentences, read_gpu
from gpuvet.modes.unread import not_of_the_ledger
from gpuvet.modes.verdict import common_fields, is_too_little, lost_files, not_seen_rows
from gpuvet.modes.window import Asked, Resolved, resolve
from gpuvet.parse.job_log import JobLine
from gpuvet.report.incident import headline, incident_markdown, incident_short
from gpuvet.report.words import counted, some


@dataclass(frozen=True, slots=True)
class Branches:
    """What the gatherers of all branches brought."""

    evidence: tuple[BranchEvidence, ...]
    timeline: tuple[TimelineEvent, ...] = ()
    guilty: tuple[GuiltyRow, ...] = ()
    outliers: tuple[str, ...] = ()
    capabilities: tuple[CapabilityRow, ...] = ()
    cluster_state: tuple[str, ...] = ()
    recovery: tuple[str, ...] = ()
    not_seen: tuple[NotSeen, ...] = field(default=())


def incident_report(case: Case, asked: Asked, *, clock: datetime) -> IncidentReport:
    """Return the whole answer to "what failed, and what do we do".

    Args:
        case: Where the evidence comes from.
        asked: What the caller said about time.
        clock: The present, used only where the case has no clock of its own.
    """
    resolved = resolve(case.meta, asked, case.meta.now or clock)
    case.logs.begin(others=trail_reads(look_back(resolved.window, resolved.now)))
    gathered = gather(case, resolved)
    begin_job_lines(case, resolved.window.padded(PAD, PAD))
    begin_transport(case, gathered.nodes, resolved.window, resolved.now)
    kube, kube_nodes = kube_view(case.kube), names_of(gathered.nodes)
    lines = (
        *job_lines(case, resolved.now),
        *pod_ends(kube, kube_nodes, resolved.window.padded(PAD, PAD)),
    )
    symptom = symptom_of(case.meta.question)
    starts = observed_starts(case, resolved, gathered.nodes, symptom)
    failure = find_failure(case, resolved, gathered.evidence, lines, others=starts)
    evidence = gathered.evidence
    if evidence.failure_at is None and failure.at is not None:
        evidence = evidence.model_copy(
            update={"failure_at": failure.at, "failure_measured": failure.observed}
        )
        gathered = replace(gathered, evidence=evidence)
    verdicts = judge_cluster(evidence)
    branches = _gather_branches(case, resolved, gathered, verdicts, failure, lines)
    ranking = rank_branches(branches.evidence, failure)
    return _report(case, resolved, gathered, verdicts, failure, branches, ranking)


def _gather_branches(
    case: Case,
    resolved: Resolved,
    gathered: Gathered,
    verdicts: Sequence[NodeVerdict],
    failure: Failure,
    lines: Sequence[JobLine],
) -> Branches:
    evidence = gathered.evidence
    scope = _scope(case, resolved, gathered, failure)
    storage, storage_times = gather_storage(case, scope)
    network, network_times, guilty = gather_network(case, scope, evidence)
    plane = read_control_plane(case, scope, evidence, gathered.services)
    capacity, capacity_times = gather_capacity(case, scope, plane)
    change, change_times = gather_change(case, scope, plane, evidence)
    kube = kube_view(case.kube)
    gpu = read_gpu(case, resolved.window, resolved.now, gathered.nodes)
    hardware = assess_hardware(evidence, verdicts, failure, lost=lost_files(case))
    told = gauge_facts(gathered.faults.numbers)
    return Branches(
        evidence=(
            hardware.model_copy(update={"facts": (*hardware.facts, *told)}),
            capacity,
            storage,
            network,
            change,
            assess_application(evidence, lines, failure),
        ),
        timeline=(
            *node_timeline(evidence),
            *storage_times,
            *network_times,
            *capacity_times,
            *change_times,
            *gauge_timeline(gathered.faults.xids, gathered.faults.not_ready),
            *kube_timeline(kube, names_of(gathered.nodes), resolved.window),
        ),
        cluster_state=(
            *_state_sentences(plane.state),
            *kube_state(kube),
            *training_words(gathered.faults.training),
        ),
        recovery=tuple(_recovery_sentences(plane.state)),
        guilty=tuple(_guilty(guilty)),
        outliers=(*outlier_sentences(evidence), *gauge_outliers(gathered.faults.numbers)),
        capabilities=_capabilities(case, scope, gathered),
        not_seen=not_of_the_ledger(
            case, activity_not_seen(gpu, gathered.nodes, evidence.orchestrator)
        ),
    )


def _scope(case: Case, resolved: Resolved, gathered: Gathered, failure: Failure) -> Scope:
    return Scope(
        window=resolved.window,
        now=resolved.now,
        failure=failure,
        nodes=gathered.nodes,
        orchestrator=gathered.evidence.orchestrator,
        cluster=case.meta.cluster,
        account=case.meta.account,
        region=case.meta.region,
    )


def names_of(nodes: Sequence[CaseNode]) -> dict[str, str]:
    """Return nodes by every name they have."""
    return {name: n.node for n in nodes for name in (n.node, n.host, *n.aliases) if name}


def _state_sentences(state: ClusterState) -> Iterator[str]:
    yield from state.counts
    yield from state.pending
    yield from state.deep_checks
    yield from state.images
    yield from state.notes


def _recovery_sentences(state: ClusterState) -> Iterator[str]:
    """Yield the three things a recovery answer says."""
    told = state.recovery is None or state.recovery in state.recovery_does
    yield f"node recovery: {'' if told else f'{state.recovery}; '}{state.recovery_does}"
    yield state.resume_needs


def _capabilities(case: Case, scope: Scope, gathered: Gathered) -> tuple[CapabilityRow, ...]:
    found = read_instances(case.aws, [n.node for n in scope.nodes])
    attached = {
        row.node: row.efa_attached for row in found.value or () if row.state not in GONE_STATES
    }
    return capability_rows(scope.nodes, gathered.evidence, attached)


def _guilty(found: GuiltyFinding | None) -> Iterator[GuiltyRow]:
    if found is None:
        return
    for suspect in found.suspects:
        yield GuiltyRow(
            what=f"{suspect_name(suspect)}: {'; '.join(suspect.why)}",
            ranks=() if suspect.rank is None else (suspect.rank,),
            node=suspect.node,
            pci=suspect.bus,
            evidence=found.evidence,
        )
    for fact in found.facts:
        yield GuiltyRow(what=fact, evidence=found.evidence)


def _report(
    case: Case,
    resolved: Resolved,
    gathered: Gathered,
    verdicts: Sequence[NodeVerdict],
    failure: Failure,
    branches: Branches,
    ranking: Ranking,
) -> IncidentReport:
    leading = next((b for b in ranking.branches if b.branch is ranking.leading), None)
    choice = choose_mode(case.meta.question, inputs_of(case), stated=case.meta.mode)
    missing = tuple(_missing(case, gathered, branches, ranking))
    confidence, basis = _confidence(ranking, gathered.evidence.orchestrator)
    report = IncidentReport(
        **common_fields(case, resolved, gathered),
        mode_because=choice.why,
        question=case.meta.question,
        failure=FailureRow(
            symptom=failure.symptom,
            at=failure.at,
            precision_seconds=failure.precision_seconds if failure.at else None,
            source=failure.source,
            observed=failure.observed,
            slow_until=failure.slow_until,
        ),
        headline=headline(ranking.leading, ranking.label, leading),
        verdicts={v.node: v.verdict for v in verdicts},
        branch=ranking.leading,
        label=ranking.label,
        confidence=confidence,
        confidence_basis=basis,
        nodes=tuple(verdicts),
        hours=hour_grid(gathered.evidence, rules_of(case)) if gathered.evidence.nodes else None,
        branches=ranking.branches,
        timeline=merge_timeline(
            [*branches.timeline, *unread_entries(gathered.not_seen, resolved.window)],
            resolved.window,
        ),
        guilty=branches.guilty,
        outliers=branches.outliers,
        capabilities=branches.capabilities,
        cluster_state=branches.cluster_state,
        recovery=branches.recovery,
        actions=tuple(dict.fromkeys(_actions(leading, ranking, verdicts, gathered))),
        not_seen=missing,
        context=tuple(f"{n.at_words or n.at or ''} {n.text}".strip() for n in case.notes),
    )
    return report.model_copy(
        update={"short": incident_short(report), "markdown": incident_markdown(report)}
    )


def inputs_of(case: Case) -> Inputs:
    """Return what kinds of evidence a case holds, for the choice of the mode."""
    nodes = nodes_of(case)
    evidence = bool(nodes or case.replies or case.metrics or case.kube or case.facts.nodes)
    return Inputs(
        has_spec=bool(case.manifests),
        has_evidence=evidence or not case.manifests,
        has_run_plan=case.meta.run is not None,
    )


def _confidence(ranking: Ranking, orchestrator: Orchestrator) -> tuple[ReportConfidence, str]:
    """Return confidence and basis; which sources are owed is not known without an orchestrator."""
    match ranking.confidence:
        case "High" if orchestrator is not Orchestrator.UNKNOWN:
            return "High", ranking.basis
        case "High":
            return "Medium", f"{ranking.basis}, but who runs the nodes was not read"
        case "Medium":
            return "Medium", ranking.basis
        case _:
            return "Low", ranking.basis


def _missing(
    case: Case, gathered: Gathered, branches: Branches, ranking: Ranking
) -> Iterator[NotSeenRow]:
    seen: set[str] = set()
    deciding = [m for e in branches.evidence for m in e.deciding_unseen]
    del ranking
    rows = [
        NotSeenRow(what=m.what, reason=m.reason, closes_with=m.closes_with, nodes=m.nodes)
        for m in (*deciding, *branches.not_seen)
    ]
    for row in (*rows, *not_seen_rows(case, gathered)):
        if row.what not in seen:
            seen.add(row.what)
            yield row


def _actions(
    leading: BranchAssessment | None,
    ranking: Ranking,
    verdicts: Sequence[NodeVerdict],
    gathered: Gathered,
) -> Iterator[str]:
    if leading is not None:
        yield from leading.actions
    if ranking.leading is not Branch.HARDWARE:
        for verdict in verdicts:
            if verdict.verdict is Verdict.REPLACE:
                yield f"replace {verdict.node}; a reboot keeps the faulty hardware"
            elif verdict.verdict is Verdict.REBOOT:
                yield f"reboot {verdict.node} once its job is off it"
    yield from _dark_hours(verdicts, gathered)


def _dark_hours(verdicts: Sequence[NodeVerdict], gathered: Gathered) -> Iterator[str]:
    """Yield what to read of the nodes whose log could not have shown a fault."""
    blind = {v.node for v in verdicts if v.verdict is Verdict.NOT_OBSERVABLE}
    dark = {
        one.node: one.coverage.hours_asked - len(one.coverage.live_hours)
        for one in gathered.evidence.nodes
        if one.node in blind
    }
    nodes = sorted(node for node, hours in dark.items() if hours > 0)
    if nodes:
        hours = counted(sum(dark[node] for node in nodes), "dark hour")
        yield (
            f"read the {hours} of {some(nodes)} in the nodes' own journals, or close them by "
            "shipping the log: the audit report gives hours and commands"
        )


def exit_code(report: IncidentReport) -> int:
    """Return 1 for findings or a leading branch, 3 for too little seen, else 0."""
    acting = {Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR}
    if report.branch is not None or acting & set(report.verdicts.values()):
        return 1
    unseen = is_too_little(report.nodes, report.not_seen)
    return 3 if unseen or report.label is Label.NOT_OBSERVABLE else 0
