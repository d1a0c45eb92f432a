"""P1: reserved capacity outlasts the run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gpuvet.calculators.run_capacity import (
    LENGTHS,
    Fit,
    Stretch,
    ends_at_the_usual_time,
    fit_run,
    holding,
    hours,
    last_checkpoint,
    length_key,
    next_after,
    plan_stretches,
    reservation_stretch,
    safe_starts,
)
from gpuvet.checks.preflight.holdings import Holding, Kind, holdings
from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck, stamp
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

# preflight P1: a margin below this, or below a checkpoint interval, is a risk.
LEAST_MARGIN = timedelta(hours=1)
ENDED = frozenset({"expired", "cancelled", "cancelling", "failed", "payment-failed", "unavailable"})
UNCONFIRMED = frozenset({"payment-pending", "pending", "assessing", "delayed"})
_PLAN_OVER = frozenset({"Expired", "Failed"})


def capacity_end(view: View) -> Iterator[Part]:
    """Hold the run's end against when each source of its nodes stops being usable."""
    for one in holdings(view):
        yield from _parts(view, one)


def _parts(view: View, one: Holding) -> Iterator[Part]:
    match one.kind:
        case Kind.UNKNOWN:
            if one.open_part is not None:
                yield one.open_part
        case Kind.ON_DEMAND:
            yield Part(
                CheckStatus.NOT_APPLICABLE,
                one.subject,
                f"{one.subject} is on-demand: no end time, and no promise of replacement (see P3)",
                evidence=one.evidence,
            )
        case Kind.SPOT:
            yield Part(
                CheckStatus.RISK,
                one.subject,
                f"{one.subject} is Spot: instances can be taken back on two minutes' notice",
                action="move the run to reserved or on-demand capacity, or checkpoint often",
                evidence=one.evidence,
            )
        case Kind.PLAN:
            yield from _plan(view, one)
        case Kind.RESERVATION:
            yield from _reservation(view, one)


def _plan(view: View, one: Holding) -> Iterator[Part]:
    plan = one.plan
    if plan is None:
        return
    if plan.status in _PLAN_OVER:
        yield Part(
            CheckStatus.FAIL,
            one.subject,
            f"training plan {plan.name} is {plan.status}",
            action="buy or name another training plan for the group before the run",
            evidence=one.evidence,
        )
        return
    if plan.status == "Pending":
        yield _unconfirmed(one, f"training plan {plan.name}", "Pending")
    if one.on_demand_since is not None:
        event = one.on_demand_since
        yield Part(
            CheckStatus.RISK,
            one.subject,
            f"plan not used: {event.group or 'a group'} got on-demand nodes at {stamp(event.at)} "
            f"although it names {plan.name}",
            action="check the plan's zone against the group's subnets, then replace those nodes",
            evidence=(event.evidence,) if event.evidence else (),
        )
    stretches = plan_stretches(plan, one.instance_type, view.run.nodes_needed)
    if not stretches:
        yield _no_stretch(view, one)
        return
    yield _timed(view, one, stretches)


def _no_stretch(view: View, one: Holding) -> Part:
    plan = one.plan
    need = view.run.nodes_needed or 1
    has_blocks = plan is not None and bool(plan.blocks)
    if not has_blocks:
        return Part(
            CheckStatus.UNVERIFIED,
            one.subject,
            f"{one.subject} was returned without its blocks and without an end",
            closes_with=f"sagemaker:DescribeTrainingPlan of {one.subject}: EndTime or durations",
            evidence=one.evidence,
        )
    return Part(
        CheckStatus.FAIL,
        one.subject,
        f"no block of {one.subject} holds {need} {one.instance_type or 'instances'} at once",
        numbers={"nodes_needed": need},
        action="ask for fewer nodes, or for a plan that holds them",
        evidence=one.evidence,
    )


def _reservation(view: View, one: Holding) -> Iterator[Part]:
    found = one.reservation
    if found is None:
        return
    if found.state in ENDED:
        yield Part(
            CheckStatus.FAIL,
            one.subject,
            f"{found.id} is {found.state}" + (f", end {stamp(found.end)}" if found.end else ""),
            action="target another reservation before the run",
            evidence=one.evidence,
        )
        return
    if found.state in UNCONFIRMED:
        yield _unconfirmed(one, found.id, found.state or "")
    if found.interruptible:
        yield Part(
            CheckStatus.RISK,
            one.subject,
            f"{found.id} is interruptible: its owner can take it back on two minutes' notice",
            action="use capacity that is not interruptible, or checkpoint often",
            evidence=one.evidence,
        )
    stretch = reservation_stretch(found, types_read=view.blocks.is_complete)
    if stretch.end is None and found.end_type != "unlimited":
        yield Part(
            CheckStatus.UNVERIFIED,
            one.subject,
            f"{found.id} was returned without EndDate and without EndDateType",
            closes_with=f"ec2:DescribeCapacityReservations of {found.id}",
            evidence=one.evidence,
        )
    else:
        yield _timed(view, one, (stretch,))


def _unconfirmed(one: Holding, name: str, state: str) -> Part:
    return Part(
        CheckStatus.RISK,
        one.subject,
        f"{name} is {state}: its capacity is not confirmed",
        action=f"wait until {name} is active before relying on it",
        evidence=one.evidence,
    )


def _timed(view: View, one: Holding, stretches: Sequence[Stretch]) -> Part:
    """Return the part that the times decide."""
    run = view.run
    stretch = holding(stretches, run.start)
    notes = tuple(_notes(view, one, stretches))
    if stretch is None:
        last = stretches[-1].usable_until
        return Part(
            CheckStatus.FAIL,
            one.subject,
            f"{one.subject} was usable until {stamp(last)}" if last else one.subject,
            numbers={"usable_until": stamp(last)} if last else {},
            action="extend it or use other capacity before the run (P2)",
            evidence=one.evidence,
            notes=notes,
        )
    start = max(run.start, stretch.start) if stretch.start else run.start
    if start > run.start and run.is_start_fixed:
        return Part(
            CheckStatus.FAIL,
            one.subject,
            f"the run is to start {stamp(run.start)}, but {one.subject} has capacity only from "
            f"{stamp(start)}",
            numbers={"run_start": stamp(run.start), "capacity_starts": stamp(start)},
            action=f"start the run at {stamp(start)} or later",
            evidence=one.evidence,
            notes=notes,
        )
    until = stretch.usable_until
    if until is None or stretch.end is None:
        why = f"{one.subject} has no end date"
        return Part(CheckStatus.PASS, one.subject, why, evidence=one.evidence, notes=notes)
    fit = fit_run(until, start, run.hours)
    base = Part(
        CheckStatus.PASS,
        one.subject,
        f"{one.subject} is usable until {stamp(until)} ({stretch.lead.words}); a "
        f"{length_key(run.hours)} h run ends {stamp(fit.end)}, margin {hours(fit.margin):g} h",
        numbers=_numbers(view, stretch, stretch.end, fit),
        evidence=one.evidence,
        notes=notes,
    )
    return _judged(view, one, stretches, stretch, fit, base)


def _judged(
    view: View,
    one: Holding,
    stretches: Sequence[Stretch],
    stretch: Stretch,
    fit: Fit,
    base: Part,
) -> Part:
    least = max(LEAST_MARGIN, view.run.checkpoint_interval or timedelta(0))
    if fit.margin < timedelta(0):
        return _too_short(view, one, stretches, stretch, fit, base)
    if fit.margin < least:
        return replace(
            base,
            status=CheckStatus.RISK,
            why=f"{base.why}, less than {hours(least):g} h",
            action=f"start by {stamp(fit.usable_until - timedelta(hours=view.run.hours) - least)} "
            "or extend the capacity",
        )
    return base


def _too_short(
    view: View,
    one: Holding,
    stretches: Sequence[Stretch],
    stretch: Stretch,
    fit: Fit,
    base: Part,
) -> Part:
    follows = next_after(stretches, stretch)
    gap = ""
    if follows is not None and follows.start is not None and stretch.end is not None:
        gap = f"; the plan has a gap from {stamp(stretch.end)} to {stamp(follows.start)}"
    why = f"{base.why}: {fit.covered_hours:g} of {length_key(view.run.hours)} h are covered{gap}"
    longest = max(0.0, hours(fit.usable_until - max(view.now, fit.start)))
    act = f"run at most {longest:g} h, or extend {one.subject} first (P2)"
    if one.instance_type.startswith("p6e-gb"):
        act += "; on this UltraServer you must end the instances yourself by then"
    return replace(base, status=CheckStatus.FAIL, why=why, action=act)


def _numbers(view: View, stretch: Stretch, end: datetime, fit: Fit) -> dict[str, Number]:
    found: dict[str, Number] = {
        "capacity_end": stamp(end),
        "lead_min": stretch.lead.minutes,
        "usable_until": stamp(fit.usable_until),
        "run_start": stamp(fit.start),
        "run_end": stamp(fit.end),
        "margin_h": hours(fit.margin),
        "hours_covered": fit.covered_hours,
        "hours_usable": fit.usable_hours,
        "longest_run_now_h": max(0.0, hours(fit.usable_until - max(view.now, fit.start))),
    }
    for one in safe_starts(fit.usable_until, (*LENGTHS, view.run.hours), view.now):
        found[f"latest_safe_start_{length_key(one.hours)}"] = stamp(one.at)
        if one.is_past:
            found[f"latest_safe_start_{length_key(one.hours)}_past_h"] = hours(-one.slack)
    interval = view.run.checkpoint_interval
    last = last_checkpoint(fit.start, fit.usable_until, interval) if interval else None
    if interval is not None:
        found["checkpoint_interval_min"] = round(interval / timedelta(minutes=1), 2)
    if last is not None:
        found["last_checkpoint"] = stamp(last.at)
        found["lost_at_cutoff_h"] = hours(last.lost)
    return found


def _notes(view: View, one: Holding, stretches: Sequence[Stretch]) -> Iterator[str]:
    if one.note is not None:
        yield f"{one.subject}: {one.note}"
    for stretch in stretches:
        until = stretch.usable_until
        is_block = one.reservation is not None and one.reservation.is_block
        if is_block and stretch.end is not None and not ends_at_the_usual_time(stretch.end):
            yield (
                f"END_NOT_1130: {one.subject} ends {stamp(stretch.end)}, not at 11:30 UTC as "
                "blocks do; the returned time is used"
            )
        if until is None or until <= view.now:
            continue
        for late in safe_starts(until, (*LENGTHS, view.run.hours), view.now):
            state = "past" if late.is_past else "open"
            yield (
                f"latest safe start for {length_key(late.hours)} h: {stamp(late.at)}, {state} "
                f"({'by' if late.is_past else 'for another'} {hours(abs(late.slack)):g} h)"
            )
        break
    if view.run.checkpoint_interval is not None:
        yield (
            "a run cut off by the end loses at most one checkpoint interval, "
            f"{hours(view.run.checkpoint_interval):g} h"
        )


P1 = PreflightCheck(
    "P1",
    "reserved capacity outlasts the run",
    "DescribeCluster, DescribeTrainingPlan, ListClusterEvents; EC2 reservations, blocks, instances",
    "FAIL: the run ends after capacity is usable, crosses a gap, or capacity is over. RISK: margin "
    "below an hour or a checkpoint interval, unconfirmed, interruptible, Spot. NOT_APPLICABLE: "
    "on-demand, shown by an instance or by HyperPod",
    "EC2 and SageMaker user guides; lead of plans assumed from Capacity Blocks",
    capacity_end,
)
