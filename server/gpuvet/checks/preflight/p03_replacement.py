"""P3: a failed node can be replaced. Quota alone never proves spare capacity."""

from collections.abc import Iterator

from gpuvet.checks.preflight.holdings import Holding, Kind, holdings
from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck, unread
from gpuvet.checks.preflight.p29_quotas import used_up
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.capacity import BlockStatus, Reservation, TrainingPlan
from gpuvet.model.check import CheckStatus

# preflight P1, first row: families that on-demand pools rarely have free.
_SCARCE = ("p4", "p5", "p6")


def replacement(view: View) -> Iterator[Part]:
    """Count what is free of each source, less what still has to launch."""
    for one in holdings(view):
        match one.kind:
            case Kind.UNKNOWN:
                if one.open_part is not None:
                    yield one.open_part
            case Kind.PLAN:
                if one.plan is not None:
                    yield _plan(one, one.plan)
            case Kind.RESERVATION:
                if one.reservation is not None:
                    yield from _reserved(view, one, one.reservation)
            case Kind.ON_DEMAND | Kind.SPOT:
                yield _pool(view, one)


def _plan(one: Holding, plan: TrainingPlan) -> Part:
    counts: dict[str, Number] = {
        name: count
        for name, count in (
            ("spare", plan.spare),
            ("available", plan.available),
            ("in_use", plan.in_use),
            ("unhealthy", plan.unhealthy),
            ("total", plan.total),
        )
        if count is not None
    }
    if plan.spare is None and plan.available is None:
        return Part(
            CheckStatus.UNVERIFIED,
            plan.name,
            f"{plan.name} was returned without its spare and available counts",
            closes_with=f"sagemaker:DescribeTrainingPlan of {plan.name}",
            evidence=one.evidence,
        )
    short = one.group.short if one.group is not None else 0
    room = max(plan.spare or 0, (plan.available or 0) - short)
    told = (
        f"{plan.name}: {plan.spare} spare, {plan.available} available, {plan.unhealthy} unhealthy "
        f"of {plan.total}"
    )
    if room < 1 or plan.unhealthy:
        why = "no room for a replacement" if room < 1 else "an unhealthy instance awaits one"
        return Part(
            CheckStatus.RISK,
            plan.name,
            f"{told}: {why}",
            numbers=counts,
            action="keep a spare node in the plan, or plan for a stop until a node is repaired",
            evidence=one.evidence,
        )
    return Part(CheckStatus.PASS, plan.name, told, numbers=counts, evidence=one.evidence)


def _reserved(view: View, one: Holding, found: Reservation) -> Iterator[Part]:
    if found.available is None:
        yield Part(
            CheckStatus.UNVERIFIED,
            found.id,
            f"{found.id} was returned without its available count",
            closes_with=f"ec2:DescribeCapacityReservations of {found.id}",
            evidence=one.evidence,
        )
    else:
        yield _free(view, one, found, found.available)
        if found.zone is not None and not _zones(view, one):
            yield Part(
                CheckStatus.UNVERIFIED,
                found.id,
                f"whether the nodes lie in {found.zone}, as {found.id} does, was not read",
                closes_with=view.subnets.closes_with or "ec2:DescribeSubnets of the nodes",
                unread=view.subnets.was_refused,
            )
    if found.is_block:
        yield from block_health(view, found)


def _free(view: View, one: Holding, found: Reservation, available: int) -> Part:
    short = one.group.short if one.group is not None else 0
    spare = available - short
    counts: dict[str, Number] = {"available": available, "to_launch": short, "spare": spare}
    told = f"{found.id}: {available} of {found.total} instances available"
    if short:
        told += f", {short} of them still to launch"
    zones = _zones(view, one)
    if spare >= 1 and found.zone is not None and zones and found.zone not in zones:
        return Part(
            CheckStatus.RISK,
            found.id,
            f"{told}, in {found.zone}; the nodes' subnets lie in {', '.join(sorted(zones))}",
            numbers=counts,
            action=f"give the nodes a subnet in {found.zone}",
            evidence=one.evidence,
        )
    if spare >= 1:
        return Part(CheckStatus.PASS, found.id, told, numbers=counts, evidence=one.evidence)
    return Part(
        CheckStatus.RISK,
        found.id,
        f"{told}: a failed node finds no free instance",
        numbers=counts,
        action="run on one node less than reserved, or accept a stop until a node is repaired",
        evidence=one.evidence,
    )


def _zones(view: View, one: Holding) -> set[str]:
    wanted = view.subnets_of(one.group)
    return {s.zone for s in rows(view.subnets) if s.id in wanted and s.zone}


def block_health(view: View, found: Reservation) -> Iterator[Part]:
    """Yield what the status of a Capacity Block says against it."""
    if view.block_status.was_refused:
        yield unread(view.block_status, found.id)
        return
    for status in rows(view.block_status):
        if status.block in {found.block, found.id} or len(rows(view.block_status)) == 1:
            yield from _health(status, found)


def _health(status: BlockStatus, found: Reservation) -> Iterator[Part]:
    if status.unavailable or status.interconnect == "impaired":
        yield Part(
            CheckStatus.RISK,
            found.id,
            f"Capacity Block {status.block}: {status.unavailable or 0} instances unavailable, "
            f"interconnect {status.interconnect or 'not returned'}",
            numbers={"unavailable": status.unavailable or 0},
            action="ask AWS Support for a replacement inside the block before the run",
        )
    elif status.interconnect == "insufficient-data":
        yield Part(
            CheckStatus.UNVERIFIED,
            found.id,
            f"Capacity Block {status.block}: interconnect insufficient-data",
            closes_with=f"ec2:DescribeCapacityBlockStatus of {status.block} again in some minutes",
        )


def _pool(view: View, one: Holding) -> Part:
    if one.instance_type.startswith(_SCARCE) or one.kind is Kind.SPOT:
        return Part(
            CheckStatus.RISK,
            one.subject,
            f"{one.subject} is {one.kind.value}: nothing holds a spare {one.instance_type} for it",
            action="keep an idle spare node in the cluster, or reserve capacity",
            evidence=one.evidence,
        )
    full = used_up(view, one.instance_type)
    if full is not None:
        return Part(
            CheckStatus.RISK,
            one.subject,
            f"{one.subject} is on-demand, and its quota has no room for one more: {full.why}",
            numbers=full.numbers,
            action=full.action,
            evidence=(*one.evidence, *full.evidence),
        )
    return Part(
        CheckStatus.UNVERIFIED,
        one.subject,
        f"{one.subject} is on-demand: a quota is no capacity, and nothing else shows a spare",
        closes_with="ask whether a spare node is kept, or reserve capacity",
        evidence=one.evidence,
    )


P3 = PreflightCheck(
    "P3",
    "a failed node can be replaced",
    "DescribeTrainingPlan, DescribeCapacityReservations, DescribeCapacityBlockStatus",
    "PASS: a free instance in the nodes' zone, beyond what still has to launch. RISK: none, an "
    "unhealthy one, an impaired block, on-demand of a scarce family or with its quota used up. "
    "Never PASS by quota",
    "EC2 and SageMaker API references",
    replacement,
)
