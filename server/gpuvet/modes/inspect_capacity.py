"""Where a cluster's nodes come from and until when, as read now."""

from collections.abc import Iterator
from datetime import datetime

from gpuvet.aws.capacity import read_block_status
from gpuvet.calculators.block_end import lead_of
from gpuvet.calculators.branch_capacity import judge_capacity
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.capacity import BlockStatus, Reservation, TrainingPlan
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.cluster_state import GroupState
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.inspection import CapacityRow, CapacityStatus
from gpuvet.modes.capacity_readings import job_nodes, read_capacity
from gpuvet.modes.evidence import orchestrator_of
from gpuvet.modes.inspect_storage import missing_rows
from gpuvet.modes.inspection import Look, cut, state_of, told, whole_of
from gpuvet.modes.service_log import read_service_log
from gpuvet.modes.window import Asked
from gpuvet.report.words import counted, utc

_MOST_FINDINGS, _LONGEST = 8, 240
_HYPERPOD_NOTE = (
    "EC2 reservations never show what HyperPod runs on: a training plan, or what its cluster "
    "events say"
)
_QUOTA_NOTE = "a quota or a free count is no promise of capacity"


def capacity_status(case: Case, times: Asked, *, now: datetime) -> CapacityStatus:
    """Return plans, blocks, reservations and instance groups: the cluster's own first.

    Args:
        case: Where they are read.
        times: The window of events and logs that tell of capacity.
        now: The clock.
    """
    look = Look.at(case, times, now)
    nodes = nodes_of(look.case)
    orchestrator = orchestrator_of(look.case, nodes)
    window, clock = look.asked.window, look.asked.now
    log = read_service_log(look.case, window, clock, orchestrator)
    evidence = read_capacity(
        look.case, log, job_nodes(nodes), window=window, now=clock, orchestrator=orchestrator
    )
    blocks = _blocks(look, evidence)
    found = [*_groups(evidence), *_plans(evidence), *_reservations(evidence, blocks)]
    rows = tuple(sorted(found, key=lambda row: _order(row, clock)))
    judged = judge_capacity(evidence, Failure(symptom=Symptom.UNKNOWN))
    answers = look.answers(log.services)
    state = state_of(len(rows), whole_of(answers))
    none = told(state, "no plan, block or reservation in this account and region", "capacity is")
    common = look.common(len(rows), answers, state)
    common["not_seen"] = (*common["not_seen"], *missing_rows(judged.deciding_unseen))
    own = (_HYPERPOD_NOTE,) if orchestrator.is_hyperpod else ()
    return CapacityStatus(
        **common,
        headline=_headline(rows, evidence) if rows else none,
        orchestrator=orchestrator.value,
        notes=(*own, _QUOTA_NOTE),
        findings=tuple(
            dict.fromkeys(
                cut(w, _LONGEST) for w in (*(s.what for s in judged.signals), *judged.facts)
            )
        )[:_MOST_FINDINGS],
        rows=rows,
    )


def _headline(rows: tuple[CapacityRow, ...], evidence: CapacityEvidence) -> str:
    ends = [row.usable_until for row in rows if row.is_ours and row.usable_until]
    ahead = sorted(one for one in ends if one > evidence.now)
    until = f"; the cluster's next end is {utc(ahead[0])}" if ahead else ""
    short = sum(count for _, count in evidence.groups_short)
    lack = f"; {counted(short, 'node')} missing" if short else ""
    return f"{counted(len(rows), 'source')} of capacity{until}{lack}"


def _blocks(look: Look, evidence: CapacityEvidence) -> dict[str, BlockStatus]:
    """Return system status of Capacity Blocks, where there are any."""
    if not any(one.is_block for one in values(evidence.reservations)):
        return {}
    found: Envelope[tuple[BlockStatus, ...]] = read_block_status(look.aws)
    return {one.block: one for one in values(found)}


def _groups(evidence: CapacityEvidence) -> Iterator[CapacityRow]:
    found = evidence.cluster.value if evidence.cluster is not None else None
    for group in found.groups if found is not None else ():
        yield CapacityRow(
            id=group.name,
            kind="instance group",
            state=group.status,
            instance_type=group.instance_type,
            total=group.current,
            target=group.target,
            is_ours=True,
            evidence=found.evidence if found is not None else None,
            usable_until=_plan_end(group, evidence),
        )


def _plan_end(group: GroupState, evidence: CapacityEvidence) -> datetime | None:
    """Return until when the group's plan runs without a gap from now; None without a plan."""
    name = (group.plan or "").rpartition("/")[2]
    plan = next((one for one in values(evidence.plans) if one.name == name), None)
    return _unbroken(plan, evidence.now) if plan is not None else None


def _unbroken(plan: TrainingPlan, now: datetime) -> datetime | None:
    """Return the end of the stretches that follow each other without a gap from now on."""
    until: datetime | None = None
    for block in plan.blocks:
        if block.end <= now:
            continue
        if until is None or block.start <= until:
            until = max(block.end, until or block.end)
    return until or plan.end


def _plans(evidence: CapacityEvidence) -> Iterator[CapacityRow]:
    for plan in values(evidence.plans):
        ours = plan.name in evidence.plan_names
        yield CapacityRow(
            id=plan.name,
            kind="training plan",
            state=plan.status,
            start=plan.start,
            end=plan.end,
            usable_until=_unbroken(plan, evidence.now),
            total=plan.total,
            available=plan.available,
            in_use=plan.in_use,
            unhealthy=plan.unhealthy,
            spare=plan.spare,
            is_ours=ours,
            evidence=plan.evidence,
        )
        for place, block in enumerate(plan.blocks, start=1):
            yield CapacityRow(
                id=f"{plan.name} {place}/{len(plan.blocks)}",
                kind="plan stretch",
                state=block.status,
                instance_type=block.instance_type,
                zone=block.zone_id or block.zone,
                start=block.start,
                end=block.end,
                usable_until=block.end,
                total=block.total,
                is_ours=ours,
                evidence=plan.evidence,
            )


def _reservations(
    evidence: CapacityEvidence, blocks: dict[str, BlockStatus]
) -> Iterator[CapacityRow]:
    used = {one.reservation for one in values(evidence.instances) if one.reservation}
    for one in values(evidence.reservations):
        health = blocks.get(one.block or "")
        yield CapacityRow(
            id=one.id,
            kind="Capacity Block" if one.is_block else "reservation",
            state=one.state,
            instance_type=one.instance_type,
            zone=one.zone_id or one.zone,
            start=one.start,
            end=one.end,
            usable_until=_usable(one),
            total=one.total,
            available=one.available,
            unhealthy=health.unavailable if health else None,
            is_ours=_is_ours(one, used, evidence),
            evidence=one.evidence,
        )


def _usable(one: Reservation) -> datetime | None:
    """Return when terminations begin: before a block's end, by AWS's own lead."""
    if one.end is None:
        return None
    return one.end - lead_of(one) if one.is_block else one.end


def _is_ours(one: Reservation, used: set[str], evidence: CapacityEvidence) -> bool | None:
    if one.id in used:
        return True
    read = evidence.instances.status
    # HyperPod's instances are not shown: whether they use it is not known.
    return None if evidence.orchestrator.is_hyperpod or read is not Status.OK else False


def _order(row: CapacityRow, now: datetime) -> tuple[object, ...]:
    end = row.usable_until or row.end
    is_over = end is not None and end <= now
    rank = {True: 0, None: 1, False: 2}[row.is_ours]
    return (rank, is_over, end is None, end.timestamp() if end else 0.0, row.id)
