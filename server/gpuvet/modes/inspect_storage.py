"""File systems of a cluster as read now, with what their metrics show of a window."""

from collections.abc import Sequence
from datetime import datetime

from gpuvet.calculators.branch_storage import storage_evidence
from gpuvet.calculators.fsx_facts import facts_of
from gpuvet.calculators.storage_inputs import Seen, seen_systems
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.case import CaseNode
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.cluster import NotSeen
from gpuvet.model.inspection import FileSystemRow, StorageStatus
from gpuvet.model.report import NotSeenRow
from gpuvet.modes.evidence import orchestrator_of
from gpuvet.modes.gather_storage import storage_inputs
from gpuvet.modes.inspection import Look, cut, state_of, told, whole_of
from gpuvet.modes.scope import Scope
from gpuvet.modes.window import Asked
from gpuvet.report.words import counted

_MOST_FACTS, _LONGEST = 6, 300


def scope_of(look: Look, nodes: Sequence[CaseNode]) -> Scope:
    """Return the question of a look: no failure is told, so nothing is a consequence of one."""
    meta = look.case.meta
    return Scope(
        window=look.asked.window,
        now=look.asked.now,
        failure=Failure(symptom=Symptom.UNKNOWN),
        nodes=tuple(nodes),
        orchestrator=orchestrator_of(look.case, nodes),
        cluster=meta.cluster,
        account=meta.account,
        region=meta.region,
    )


def missing_rows(unseen: Sequence[NotSeen]) -> tuple[NotSeenRow, ...]:
    """Return what a calculator missed, as rows."""
    return tuple(
        NotSeenRow(what=one.what, reason=one.reason, closes_with=one.closes_with, nodes=one.nodes)
        for one in unseen
    )


def storage_status(case: Case, times: Asked, *, now: datetime) -> StorageStatus:
    """Return the file systems, those tied to the cluster first.

    Args:
        case: Where they are.
        times: The window of their metrics.
        now: The clock.
    """
    look = Look.at(case, times, now)
    nodes = nodes_of(look.case)
    inputs = storage_inputs(look.case, scope_of(look, nodes))
    judged = storage_evidence(inputs)
    rows = tuple(_row(one) for one in seen_systems(inputs))
    answers = look.answers()
    state = state_of(len(rows), whole_of(answers, beside=()))
    ours = sum(1 for row in rows if row.is_linked)
    none = told(state, "no FSx for Lustre file system in this account and region", "they are")
    common = look.common(len(rows), answers, state)
    common["not_seen"] = (*common["not_seen"], *missing_rows(judged.deciding_unseen))
    return StorageStatus(
        **common,
        headline=f"{counted(len(rows), 'file system')}, {ours} tied to this cluster; "
        f"{counted(len(judged.signals), 'signal')} in this window"
        if rows
        else none,
        orchestrator=orchestrator_of(look.case, nodes).value,
        notes=tuple(cut(one.what, _LONGEST) for one in judged.signals[:_MOST_FACTS]),
        rows=rows,
    )


def _row(seen: Seen) -> FileSystemRow:
    system = seen.system
    series = tuple(dict.fromkeys(one.evidence for one in seen.series if one.evidence))
    evidence = seen.inputs.systems.evidence
    return FileSystemRow(
        file_system=system.id,
        linked=seen.link.words,
        is_linked=seen.link.is_proven,
        lifecycle=system.lifecycle,
        deployment=system.deployment,
        storage_type=system.storage_type,
        capacity_gib=system.capacity_gib,
        throughput_per_tib=system.throughput_per_tib,
        actions=tuple(
            f"{one.kind} {one.status}"
            + (f" {one.progress_percent} %" if one.progress_percent is not None else "")
            for one in system.actions or ()
        ),
        findings=tuple(cut(one, _LONGEST) for one in facts_of(seen))[:_MOST_FACTS],
        evidence=(evidence, *series[:2]),
    )
