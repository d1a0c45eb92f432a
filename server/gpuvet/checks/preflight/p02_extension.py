"""P2: capacity that ends too early can be extended. Asked only while P1 is not satisfied."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from gpuvet.calculators.run_capacity import (
    EARLIEST_BEFORE_END,
    LATEST_BEFORE_END,
    extension_hours,
    holding,
    hours,
    plan_stretches,
    reservation_stretch,
)
from gpuvet.checks.preflight.holdings import Holding, Kind, holdings
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, combine, stamp
from gpuvet.checks.preflight.p01_capacity_end import ENDED, capacity_end
from gpuvet.checks.preflight.reading import Reading, rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.capacity import Reservation
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Offering

_PENDING = "payment-pending"


def extension(view: View) -> Iterator[Part]:
    """Say whether what P1 lacks can be had by an extension."""
    end = combine(capacity_end(view))
    by_subject = {part.subject: part for part in reversed(end.parts)}
    is_short = end.status in {CheckStatus.FAIL, CheckStatus.RISK}
    if not end.is_complete:
        yield Part(
            CheckStatus.UNVERIFIED,
            "P1",
            "whether an extension is needed is open while P1 is open",
            closes_with=end.parts[-1].closes_with or _first_close(end.parts) or "what closes P1",
        )
    elif not is_short:
        why = f"P1 is {end.status.value}: no extension is needed"
        yield Part(CheckStatus.NOT_APPLICABLE, "P1", why)
    if is_short:
        for one in holdings(view):
            part = by_subject.get(one.subject)
            if part is not None and part.status in {CheckStatus.FAIL, CheckStatus.RISK}:
                yield _of(view, one, part)


def _first_close(parts: tuple[Part, ...]) -> str | None:
    return next((part.closes_with for part in parts if part.closes_with), None)


def _of(view: View, one: Holding, end: Part) -> Part:
    if one.kind is Kind.PLAN:
        return _of_plan(view, one, end)
    if one.kind is Kind.RESERVATION and one.reservation is not None:
        if one.reservation.is_block:
            return _of_block(view, one.reservation, end)
        return _of_reservation(one.reservation)
    return Part(
        end.status,
        one.subject,
        f"{one.subject} is {one.kind.value}: there is nothing to extend",
        action=end.action,
    )


def _of_plan(view: View, one: Holding, end: Part) -> Part:
    plan = one.plan
    stretches = plan_stretches(plan, one.instance_type, view.run.nodes_needed) if plan else ()
    last = stretches[-1].end if stretches else None
    if plan is None or plan.status in {"Expired", "Failed"} or last is None:
        return _no_help(end, one.subject, "the plan is over, or holds too few instances")
    here = holding(stretches, view.run.start)
    if here is not None and here.end != last:
        return _no_help(end, one.subject, "an extension moves the plan's end, not its gap")
    if last - view.now < LATEST_BEFORE_END:
        return _no_help(end, one.subject, f"it is too late: the plan ends {stamp(last)}")
    return Part(
        CheckStatus.UNVERIFIED,
        one.subject,
        "offers for training plans are outside the read calls; by rule an extension is possible: "
        f"asked for between 56 days and 1 h before {stamp(last)}, plan Active or Scheduled, no "
        "extension with payment pending",
        numbers={"ask_before": stamp(last - LATEST_BEFORE_END)},
        action=f"look for an extension offer of training plan {one.subject} before "
        f"{stamp(last - LATEST_BEFORE_END)}",
        closes_with=f"the plan's extension offers (SearchTrainingPlanOfferings for {one.subject})",
        evidence=one.evidence,
    )


def _no_help(end: Part, subject: str, why: str) -> Part:
    return Part(end.status, subject, f"no extension helps: {why}", action=end.action)


def _of_reservation(one: Reservation) -> Part:
    return Part(
        CheckStatus.PASS if one.state == "active" else CheckStatus.RISK,
        one.id,
        f"{one.id} is an on-demand reservation ({one.state}): its owner can move its end date",
        action=f"move the end date of {one.id} behind the run",
        evidence=(one.evidence,) if one.evidence else (),
    )


def _of_block(view: View, one: Reservation, end: Part) -> Part:
    if one.end is None or one.state in ENDED:
        return _no_help(end, one.id, f"{one.id} is {one.state}")
    if one.end - view.now < LATEST_BEFORE_END:
        why = f"it is too late: {one.id} ends {stamp(one.end)}, less than an hour from now"
        return _no_help(end, one.id, why)
    pending = [e for e in rows(view.extensions) if e.reservation == one.id and e.status == _PENDING]
    if pending:
        return Part(
            CheckStatus.RISK,
            one.id,
            f"an extension of {one.id} awaits payment: its end has not moved yet",
            action="see that the payment clears 35 min before the end or within 12 h, whichever "
            "comes first",
            evidence=view.extensions.refs,
        )
    if one.end - view.now > EARLIEST_BEFORE_END:
        opens = one.end - EARLIEST_BEFORE_END
        return Part(
            CheckStatus.UNVERIFIED,
            one.id,
            f"extensions are offered from 56 days before the end, {stamp(opens)}",
            closes_with=f"DescribeCapacityBlockExtensionOfferings of {one.id} after {stamp(opens)}",
        )
    wanted = extension_hours(lacking(view, one))
    offered = view.offerings.get((one.id, wanted))
    if offered is None or (not offered.is_complete and not offered.value):
        return _offers_unread(one.id, wanted, offered)
    if view.extensions.was_refused:
        return _offers_unread(one.id, wanted, view.extensions)
    return _offered(view, one, end, wanted, offered)


def lacking(view: View, one: Reservation) -> timedelta:
    """Return how much later a block would have to end for the run; negative where it fits."""
    until = reservation_stretch(one, types_read=view.blocks.is_complete).usable_until
    return timedelta(0) if until is None else view.run.end - until


def _offers_unread(name: str, wanted: int, reading: Reading[Any] | None) -> Part:
    reason = reading.reason if reading is not None else "not asked"
    call = f"DescribeCapacityBlockExtensionOfferings of {name} for {wanted} h"
    return Part(
        CheckStatus.UNVERIFIED,
        name,
        f"offers to extend {name} by {wanted} h not read ({reason})",
        numbers={"extension_h": wanted},
        closes_with=(reading.closes_with if reading is not None else "") or call,
        unread=reading is None or reading.was_refused,
    )


def _offered(
    view: View, one: Reservation, end: Part, wanted: int, offered: Reading[tuple[Offering, ...]]
) -> Part:
    lead = reservation_stretch(one, types_read=view.blocks.is_complete).lead.time
    need = view.run.nodes_needed or one.total or 1
    fit = [
        o
        for o in rows(offered)
        if o.end is not None
        and o.end - lead >= view.run.end
        and (o.instances is None or o.instances >= need)
    ]
    if not fit:
        told = f"{len(rows(offered))} offers, none long and large enough" if rows(offered) else ""
        return Part(
            end.status,
            one.id,
            f"no offer extends {one.id} by {wanted} h for {need} instances"
            + (f" ({told})" if told else ""),
            numbers={"extension_h": wanted, "lacking_h": hours(lacking(view, one))},
            action=f"shorten the run, or buy other capacity behind {stamp(one.end)}"
            if one.end
            else end.action,
            evidence=offered.refs,
        )
    best = min(fit, key=lambda o: (o.end is None, o.end))
    new_end = best.end or view.run.end
    return Part(
        CheckStatus.PASS,
        one.id,
        f"{one.id} can be extended by {best.hours} h to {stamp(new_end)}; nothing was bought",
        numbers={
            "extension_h": best.hours,
            "lacking_h": hours(lacking(view, one)),
            "extended_end": stamp(new_end),
            "extended_usable_until": stamp(new_end - lead),
        },
        action=f"buy the extension of {one.id} by {best.hours} h before the run begins",
        evidence=offered.refs,
    )


P2 = PreflightCheck(
    "P2",
    "capacity that ends too early can be extended",
    "DescribeCapacityBlockExtensionOfferings, DescribeCapacityBlockExtensionHistory",
    "Only while P1 is FAIL or RISK; UNVERIFIED while P1 is open, and for plans, whose offers no "
    "read call shows. PASS: an offer reaches past the run. Without one it is as bad as P1",
    "EC2 user guide, extending Capacity Blocks",
    extension,
)
