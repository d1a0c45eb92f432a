"""The recovery action the driver asks for: Xid 154 (verdict-rules §11). It raises, never lowers."""

from collections.abc import Iterator
from functools import lru_cache

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of
from gpuvet.catalog.recovery_actions import recovery_actions
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_text import RecoveryAction, recovery_action

_RULE = "verdict-rules §11, Xid 154"
_UNKNOWN_ACTION = "what this action value means"
_UNREAD = "an action that the line was cut before"


@lru_cache(maxsize=1024)
def change_of(text: str) -> RecoveryAction | None:
    """Return the change a line of Xid 154 prints; None where it was cut before the number."""
    return recovery_action(text)


def action_verdict(value: int) -> Verdict | None:
    """Return what a recovery action calls for; None for 0, which asks for nothing."""
    row = recovery_actions().get(value)
    return row.verdict if row is not None else Verdict.UNVERIFIED


def advice(value: int | None) -> str | None:
    """Return what settles an action that is no plain reboot; None where there is no action."""
    row = recovery_actions().get(value) if value is not None else None
    return row.advice if row is not None else None


def least_of(value: int | None) -> str:
    """Return what is right whatever settles an action."""
    row = recovery_actions().get(value) if value is not None else None
    return row.minimum_action if row is not None else Verdict.MONITOR


def asks_for_reset(view: NodeView, occurrence: Occurrence) -> bool:
    """Say whether the driver asked for any action on a GPU once an event had happened."""
    return any(
        (change := change_of(line.text)) is not None and change.after != 0
        for other in view.of(154)
        if other.pci == occurrence.pci
        and other.boot == occurrence.boot
        and other.end_us >= occurrence.start_us
        for line in other.lines
    )


def recovery_findings(view: NodeView) -> Iterator[Finding]:
    """Yield one finding per GPU and boot: the last value the driver asked for."""
    last: dict[tuple[str | None, int], tuple[tuple[int, int, str], int | None, Occurrence]] = {}
    for occurrence in view.of(154):
        for line in occurrence.lines:
            change = change_of(line.text)
            key = (occurrence.pci, occurrence.boot)
            place = (view.clock.position(line, occurrence.boot), line.line, line.stream)
            known = last.get(key)
            if known is None or (change is not None and (known[1] is None or place >= known[0])):
                last[key] = (place, change.after if change is not None else None, occurrence)
    for (pci, boot), (_, value, occurrence) in last.items():
        finding = _current_action(view, occurrence, pci, value)
        if boot == view.last_boot or finding.verdict is not Verdict.UNVERIFIED:
            yield finding  # a boot ends what an action left undecided


def _current_action(
    view: NodeView, occurrence: Occurrence, pci: str | None, value: int | None
) -> Finding:
    row = recovery_actions().get(value) if value is not None else None
    if value is None:
        verdict = Verdict.MONITOR
    else:
        verdict = Verdict.UNVERIFIED if row is None else row.verdict or Verdict.LEAVE_ALONE
    name = row.name if row else _UNREAD if value is None else f"action {value}"
    unverified = verdict is Verdict.UNVERIFIED
    notes: tuple[str, ...] = ()
    if value is None:
        notes = ("read its value: the line is cut",)
    elif verdict is Verdict.LEAVE_ALONE:
        notes = ("recovered, or nothing asked: it takes no other ground away",)
    elif not _has_trigger(view, occurrence):
        notes = ("the Xid that triggered this 154 is missing: its cause is UNVERIFIED",)
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.QUALIFIER,
        what=f"Xid 154: the driver asks for {name}",
        rule=_RULE,
        occurrence=occurrence,
        pci=pci,
        minimum_action=least_of(value) if unverified else None,
        open_check=(row.advice if row else _UNKNOWN_ACTION) if unverified else None,
        is_qualifier=True,
        notes=notes if not row or verdict is not Verdict.REBOOT else (*notes, row.advice),
    )


def _has_trigger(view: NodeView, action: Occurrence) -> bool:
    return any(
        o.code != 154 and class_of(o.code) is not FaultClass.INFORMATIONAL
        for o in view.events.occurrences
        if o.boot == action.boot
    )
