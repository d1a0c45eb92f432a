"""P10: somebody is told before capacity ends."""

import re
from collections.abc import Iterator

from gpuvet.checks.preflight.holdings import Holding, Kind, holdings
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.capacity import AlertRule
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Schedule

_ABOUT_THE_END = re.compile(
    r"(?=.*\b(?:training[ -]?plan|capacity|reservation|block)\b)"
    r"(?=.*(?:\bend(?:s|ing)?\b|expir|run(?:s|ning)? out|terminat))",
    re.IGNORECASE | re.DOTALL,
)


def end_alarm(view: View) -> Iterator[Part]:
    """Look for a rule that hears of the end of each source with an end."""
    found = holdings(view)
    for one in found:
        if one.kind is Kind.UNKNOWN and one.open_part is not None:
            yield one.open_part
        elif one.kind is Kind.PLAN:
            yield _plan(view, one)
        elif one.reservation is not None and _ends(one):
            yield _block(view, one)
    if all(not _ends(one) and one.kind is not Kind.UNKNOWN for one in found):
        yield Part(
            CheckStatus.NOT_APPLICABLE,
            view.cluster_name or "the cluster",
            "no source of capacity has an end to be told of",
        )


def _ends(one: Holding) -> bool:
    if one.kind is Kind.PLAN:
        return True
    found = one.reservation
    return found is not None and (found.is_block or found.end is not None)


def _block(view: View, one: Holding) -> Part:
    if not view.rules.is_complete:
        return unread(view.rules, one.subject)
    able = [rule for rule in rows(view.rules) if rule.is_enabled and rule.targets]
    if able:
        heard = ", ".join(sorted({kind.value for rule in able for kind in rule.hears}))
        why = f"rule {able[0].name} hears of {heard}"
        return Part(CheckStatus.PASS, one.subject, why, evidence=view.rules.refs)
    unknown = [rule for rule in rows(view.rules) if rule.is_enabled and rule.targets is None]
    if unknown:
        return Part(
            CheckStatus.UNVERIFIED,
            one.subject,
            f"the targets of rule {unknown[0].name} were not read",
            closes_with=f"events:ListTargetsByRule of {unknown[0].name}",
            unread=True,
        )
    return _none(view, one, rows(view.rules))


def _none(view: View, one: Holding, deaf: tuple[AlertRule, ...]) -> Part:
    idle = f"; rule {deaf[0].name} is disabled or has no target" if deaf else ""
    return Part(
        CheckStatus.RISK,
        one.subject,
        f"no enabled rule with a target hears of the end of {one.subject}{idle}{_others(view)}",
        action="add an EventBridge rule for the Capacity Block expiration warning (40 minutes "
        "before the end) with a target that somebody reads",
        evidence=view.rules.refs,
    )


def _others(view: View) -> str:
    named = [one.name for one in rows(view.schedules)]
    return f"; {', '.join(named[:3])} is about something else" if named else ""


def _plan(view: View, one: Holding) -> Part:
    if not view.schedules.is_complete:
        return unread(view.schedules, one.subject)
    about = [s for s in rows(view.schedules) if _is_about(s, one.subject)]
    able = [s for s in about if s.is_enabled and s.targets]
    if able:
        why = f"schedule {able[0].name} ({able[0].expression}) is about the end of {one.subject}"
        return Part(CheckStatus.PASS, one.subject, why, evidence=view.schedules.refs)
    blind = [s for s in rows(view.schedules) if s.is_enabled and s.targets is None]
    if blind:
        return Part(
            CheckStatus.UNVERIFIED,
            one.subject,
            f"the targets of schedule {blind[0].name} were not read",
            closes_with=f"events:ListTargetsByRule of {blind[0].name}",
            unread=True,
        )
    return Part(
        CheckStatus.RISK,
        one.subject,
        f"no event tells of the end of a training plan, and no schedule is about {one.subject}"
        f"{_others(view)}",
        action=f"set a calendar entry or a schedule for the end of {one.subject}",
        evidence=view.schedules.refs,
    )


def _is_about(one: Schedule, plan: str) -> bool:
    words = f"{one.name.replace('-', ' ').replace('_', ' ')} {one.words}"
    return plan.lower() in f"{one.name} {one.words}".lower() or bool(_ABOUT_THE_END.search(words))


P10 = PreflightCheck(
    "P10",
    "somebody is told before capacity ends",
    "EventBridge ListRules, ListTargetsByRule (default bus, this region)",
    "PASS: an enabled rule with a target hears of the end; for a plan, a schedule that is "
    "recognisably about it. RISK: none, disabled, or without a target",
    "EC2 user guide, Capacity Block events",
    end_alarm,
)
