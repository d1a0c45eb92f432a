"""The recovery action the driver asks for: Xid 154 (xid_rules §11). It raises, never lowers."""

from collections.abc import Iterator

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of
from gpuvet.catalog.recovery_actions import recovery_actions
from gpuvet.model.events import XidEvent
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_text import recovery_action

_RULE = "xid_rules §11, Xid 154"
_UNKNOWN_ACTION = "what this action value means"


def action_verdict(value: int) -> Verdict | None:
    """Return what a recovery action calls for; None for 0, which asks for nothing."""
    row = recovery_actions().get(value)
    return row.verdict if row is not None else Verdict.UNVERIFIED


def recovery_findings(view: NodeView) -> Iterator[Finding]:
    """Yield one finding per GPU and boot: the last value the driver asked for."""
    last: dict[tuple[str | None, int], tuple[int, XidEvent, Occurrence, int]] = {}
    for occurrence in view.of(154):
        for line in occurrence.lines:
            change = recovery_action(line.text)
            if change is None:
                continue
            key = (occurrence.pci, occurrence.boot)
            position = view.clock.position(line, occurrence.boot)
            if key not in last or (position, line.line) >= (last[key][0], last[key][1].line):
                last[key] = (position, line, occurrence, change.after)
    for (pci, _), (_, _, occurrence, value) in last.items():
        row = recovery_actions().get(value)
        verdict = action_verdict(value)
        if verdict is None:
            continue
        unverified = verdict is Verdict.UNVERIFIED
        trigger = _has_trigger(view, occurrence)
        yield Finding(
            verdict=verdict,
            fault_class=FaultClass.QUALIFIER,
            what=f"Xid 154: the driver asks for {row.name if row else f'action {value}'}",
            rule=_RULE,
            occurrence=occurrence,
            pci=pci,
            minimum_action=Verdict.MONITOR if unverified else None,
            open_check=(row.advice if row else _UNKNOWN_ACTION) if unverified else None,
            is_qualifier=True,
            notes=()
            if trigger
            else ("the Xid that triggered this 154 is missing: its cause is UNVERIFIED",),
        )


def _has_trigger(view: NodeView, action: Occurrence) -> bool:
    return any(
        o.code != 154 and class_of(o.code) is not FaultClass.INFORMATIONAL
        for o in view.events.occurrences
        if o.boot == action.boot
    )
