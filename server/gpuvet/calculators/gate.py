"""Coverage decides last what may be said of things not seen (verdict-rules §12)."""

from datetime import datetime, timedelta
from typing import NamedTuple

from gpuvet.calculators.finding import NodeView
from gpuvet.calculators.hours import HOUR, epoch_hour
from gpuvet.model.coverage import CoverageStatus, Gate
from gpuvet.model.verdict import Verdict

# verdict-rules §12: a hole this close before the failure may hide its cause.
BEFORE_FAILURE = timedelta(hours=1)

_RESTS_ON_SILENCE = frozenset({Verdict.MONITOR, Verdict.LEAVE_ALONE})
RULE = "verdict-rules §12"
_AGENT_ONLY = "agent detections only, kernel log not shipped"


class Gated(NamedTuple):
    """A verdict after the gate, and what the gate added."""

    verdict: Verdict
    provisional: bool = False
    notes: tuple[str, ...] = ()
    closed: bool = False  # the gate itself decided


def gate(
    view: NodeView, verdict: Verdict | None, *, seen_elsewhere: bool, agent_named_process: bool
) -> Gated:
    """Return what may be said of a node.

    Args:
        view: The node with its coverage.
        verdict: The strongest finding's, or None where nothing was found.
        seen_elsewhere: The same application Xid stands on 3 or more nodes.
        agent_named_process: The health agent blamed a user process, by pid.
    """
    if verdict is None:
        return _without_findings(view)
    if verdict not in _RESTS_ON_SILENCE:
        return _standing(view, verdict)
    if view.node.coverage.gate is Gate.MEASURED:
        return Gated(verdict)
    if view.node.coverage.gate is Gate.HMA_ONLY:
        return Gated(verdict, notes=(_AGENT_ONLY,))
    unseen = view.node.coverage.gate is Gate.NONE
    closed = "no source of the node could be seen" if unseen else _hole_before_failure(view)
    if closed is None:
        return Gated(verdict, provisional=True, notes=(holes_note(view),))
    kept = _kept_although_unseen(
        view, verdict, seen_elsewhere=seen_elsewhere, agent_named_process=agent_named_process
    )
    return kept or _closed(view, closed)


def _standing(view: NodeView, verdict: Verdict) -> Gated:
    """What was seen stands under any coverage; the gap is only named."""
    match view.node.coverage.gate:
        case Gate.MEASURED:
            return Gated(verdict)
        case Gate.HMA_ONLY:
            return Gated(verdict, notes=(_AGENT_ONLY,))
        case Gate.PARTIAL:
            return Gated(verdict, notes=(holes_note(view),))
        case Gate.NONE:
            return Gated(verdict, provisional=True, notes=(holes_note(view),))


def _without_findings(view: NodeView) -> Gated:
    coverage = view.node.coverage
    if coverage.gate is Gate.MEASURED:
        return Gated(Verdict.LEAVE_ALONE, notes=("0 Xids measured",))
    if coverage.gate is Gate.HMA_ONLY:
        return _by_agent_alone(view)
    if _named_other_cause(view):
        return _outside_its_gpus(view, Verdict.LEAVE_ALONE)
    return _closed(view, holes_note(view))


def _by_agent_alone(view: NodeView) -> Gated:
    if view.node.left_at is not None and not view.node.records.hma:
        return _closed(view, "the node left: the agent's silence can no longer be checked")
    told = (
        "the agent's detections are all cleared or call for nothing"
        if view.node.records.hma
        else "no HMA detections"
    )
    return Gated(Verdict.LEAVE_ALONE, notes=(f"{told}; {_AGENT_ONLY}",))


def _named_other_cause(view: NodeView) -> bool:
    return view.node.facts.ran_no_job and view.node.facts.blocker is not None


def _outside_its_gpus(view: NodeView, verdict: Verdict) -> Gated:
    blocker = view.node.facts.blocker or ""
    return Gated(
        verdict,
        provisional=True,
        notes=(f"{blocker}; GPU health not observed: the node ran no job yet",),
    )


def _kept_although_unseen(
    view: NodeView, verdict: Verdict, *, seen_elsewhere: bool, agent_named_process: bool
) -> Gated | None:
    """The two exceptions of verdict-rules §12; both stay provisional."""
    if verdict is Verdict.LEAVE_ALONE and (seen_elsewhere or agent_named_process):
        why = (
            "the same application Xid on 3 or more nodes"
            if seen_elsewhere
            else "the health agent names the failing process"
        )
        return Gated(verdict, provisional=True, notes=(holes_note(view), f"kept: {why}"))
    if _named_other_cause(view):
        return _outside_its_gpus(view, verdict)
    return None


def _closed(view: NodeView, why: str) -> Gated:
    notes = [why]
    if _died_with_the_failure(view):
        notes.append("its last line lies just before the failure, which is itself suspicious")
    return Gated(Verdict.NOT_OBSERVABLE, notes=tuple(notes), closed=True)


def _hole_before_failure(view: NodeView) -> str | None:
    """Return what hides the hour before the failure, or None."""
    coverage, failure = view.node.coverage, view.incident.failure_at
    if coverage.whole_window_unknown:
        return "which hours were live could not be established"
    if failure is None:
        return None
    first = failure - BEFORE_FAILURE
    for hour in coverage.empty_hours:
        if hour <= failure and hour + HOUR > first:
            return f"no line in the hour {_hour(hour)}; failure at {failure:%H:%M}Z"
    if _died_with_the_failure(view):
        return f"no line since the hour of the failure at {failure:%H:%M}Z"
    return None


def holes_note(view: NodeView) -> str:
    """Return the node's holes in one phrase, with their denominator."""
    coverage = view.node.coverage
    if coverage.whole_window_unknown:
        return "coverage unverified: no hour of the window may be claimed"
    empty = coverage.empty_hours
    if not empty and any(source.live_hours for source in coverage.sources):
        return "its log arrived, but no log of it was searched to its end for Xids"
    if not empty:
        return "no log source of this node could be seen"
    asked = len(coverage.live_hours) + len(empty)
    shown = ", ".join(_hour(h) for h in empty[:3])
    more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
    denominator = f" of {asked}" if coverage.live_hours else ""
    return f"not observable in {len(empty)}{denominator} h: hour {shown}{more}"


def _hour(hour: datetime) -> str:
    return f"{hour:%Y-%m-%d %H:00}Z"


def _died_with_the_failure(view: NodeView) -> bool:
    coverage, failure = view.node.coverage, view.incident.failure_at
    if failure is None or not coverage.live_hours or coverage.status is CoverageStatus.UNVERIFIED:
        return False
    last = max(coverage.live_hours)
    return epoch_hour(failure) in {last, last + HOUR} and bool(
        [h for h in coverage.empty_hours if h > last]
    )
