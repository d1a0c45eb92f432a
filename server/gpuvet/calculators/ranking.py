"""Weighs the branches against each other: which leads, and Proven or Hypothesis.

The rules are incident-branches. A coincidence is no cause: a signal counts only when it was
measured on something of the job, lies before the failure and has a known mechanism, and nothing
is Proven while another branch has as much to show.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpuvet.model.cause import (
    Branch,
    BranchAssessment,
    BranchEvidence,
    BranchStatus,
    Failure,
    Label,
    Signal,
)

_NEVER = datetime(9999, 1, 1, tzinfo=UTC)
_ALWAYS = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ranking:
    """What may be said of the cause.

    Attributes:
        branches: One row a branch, A to F.
        leading: The branch that leads, or None.
        label: Its label; without a branch, whether the cause was observable at all.
        confidence: High, Medium or Low (incident-branches).
        basis: Why that confidence, in one phrase.
    """

    branches: tuple[BranchAssessment, ...]
    leading: Branch | None
    label: Label
    confidence: str
    basis: str


def rank_branches(evidence: Sequence[BranchEvidence], failure: Failure) -> Ranking:
    """Return every branch with its status, the leading one and its label.

    Args:
        evidence: What was gathered for each branch; a missing branch counts as not assessed.
        failure: When and how the failure began.
    """
    by_branch = {e.branch: e for e in evidence}
    passing = {
        branch: kept for branch in Branch if (kept := _passing(by_branch.get(branch), failure))
    }
    explained = _explained(passing)
    rivals = {b: s for b, s in passing.items() if b not in explained}
    leading = _leading(rivals, by_branch, failure)
    label = _label(leading, rivals, by_branch, failure)
    rows = tuple(
        _row(branch, by_branch.get(branch), leading, label, passing, failure) for branch in Branch
    )
    confidence, basis = _confidence(leading, label, rivals, by_branch, failure)
    return Ranking(branches=rows, leading=leading, label=label, confidence=confidence, basis=basis)


def precedes(signal: Signal, failure: Failure) -> bool:
    """Say whether a signal lies before the failure; overlapping precision is no "before"."""
    if signal.standing:
        return True
    if signal.at is None or failure.at is None:
        return False
    latest = failure.at
    if not failure.observed:
        latest += timedelta(seconds=failure.precision_seconds)
    return signal.at + timedelta(seconds=signal.precision_seconds) <= latest


def _passing(evidence: BranchEvidence | None, failure: Failure) -> tuple[Signal, ...]:
    """Return the signals that fulfil conditions 1 to 3 of §2."""
    if evidence is None:
        return ()
    return tuple(
        s
        for s in evidence.signals
        if s.measured
        and s.affected
        and not s.effect
        and not s.hypothesis_only
        and (s.proven_by_rule or precedes(s, failure))
    )


def _explained(passing: Mapping[Branch, Sequence[Signal]]) -> frozenset[Branch]:
    """Return branches whose every signal follows from an earlier one of another branch."""
    first = {branch: _earliest(signals) for branch, signals in passing.items()}
    found: set[Branch] = set()
    for branch, signals in passing.items():
        for signal in signals:
            found |= {
                other
                for other in signal.explains
                if other in first
                and other is not branch
                and (_time(signal) <= first[other] or _is_timeless(passing[other]))
            }
    return frozenset(found)


def _is_timeless(signals: Sequence[Signal]) -> bool:
    """Say whether signals are states read now: when they began, another branch can tell."""
    return all(s.standing and s.at is None for s in signals)


def _time(signal: Signal) -> datetime:
    # A standing state has no time of its own: it was there before.
    if signal.at is None:
        return _ALWAYS if signal.standing else _NEVER
    return signal.at


def _earliest(signals: Sequence[Signal]) -> datetime:
    return min(_time(s) for s in signals)


def _leading(
    rivals: Mapping[Branch, Sequence[Signal]],
    by_branch: Mapping[Branch, BranchEvidence],
    failure: Failure,
) -> Branch | None:
    if rivals:
        return _first_of(rivals)
    hinted = {
        b: [s for s in e.signals if not s.effect]
        for b, e in by_branch.items()
        if any(not s.effect for s in e.signals) and e.ruled_out is None
    }
    del failure
    return _first_of(hinted) if hinted else None


def _first_of(signals: Mapping[Branch, Sequence[Signal]]) -> Branch:
    """Return the branch that began first; a bare change yields to a fault on a node.

    The application leads only where nothing else has anything to show.
    """
    others: Mapping[Branch, Sequence[Signal]] = {
        b: s for b, s in signals.items() if b is not Branch.APPLICATION
    } or signals
    ordered = sorted(others, key=lambda b: (not _is_strong(others[b]), _earliest(others[b]), b))
    first = ordered[0]
    if first is Branch.CHANGE and len(ordered) > 1:
        direct = [b for b in ordered[1:] if any(s.node and s.mechanism for s in others[b])]
        own = any(s.node and s.mechanism for s in others[first])
        if direct and not own:
            return direct[0]
    return first


def _is_strong(signals: Sequence[Signal]) -> bool:
    return any(s.proven_by_rule or s.mechanism for s in signals)


def _label(
    leading: Branch | None,
    rivals: Mapping[Branch, Sequence[Signal]],
    by_branch: Mapping[Branch, BranchEvidence],
    failure: Failure,
) -> Label:
    if leading is None:
        blind = any(e.deciding_unseen for e in by_branch.values())
        return Label.NOT_OBSERVABLE if blind else Label.HYPOTHESIS
    return (
        Label.PROVEN
        if set(rivals) == {leading} and _is_proven(leading, rivals[leading], by_branch, failure)
        else Label.HYPOTHESIS
    )


def _is_proven(
    leading: Branch,
    signals: Sequence[Signal],
    by_branch: Mapping[Branch, BranchEvidence],
    failure: Failure,
) -> bool:
    if leading is Branch.APPLICATION:
        before = [b for b in Branch if b is not Branch.APPLICATION]
        ruled_out = all(b in by_branch and by_branch[b].ruled_out is not None for b in before)
        if not ruled_out:
            return False
    by_rule = any(s.proven_by_rule for s in signals)
    by_mechanism = failure.observed and any(
        s.mechanism is not None and precedes(s, failure) for s in signals
    )
    return by_rule or by_mechanism


def _row(
    branch: Branch,
    evidence: BranchEvidence | None,
    leading: Branch | None,
    label: Label,
    passing: Mapping[Branch, Sequence[Signal]],
    failure: Failure,
) -> BranchAssessment:
    if evidence is None or not evidence.assessed:
        return BranchAssessment(
            branch=branch,
            status=BranchStatus.NOT_ASSESSED,
            why=(evidence and evidence.read_empty) or "nothing of it was looked at",
        )
    status, why = _status(branch, evidence, leading, label, passing, failure)
    signals = evidence.signals
    settles = next((s.confirming for s in signals if s.confirming), None) or evidence.confirming
    return BranchAssessment(
        branch=branch,
        status=status,
        label=label if branch is leading else None,
        why=why,
        confirming=None if status is BranchStatus.RULED_OUT else settles,
        signals=signals,
        facts=evidence.facts,
        actions=evidence.actions if branch is leading else (),
    )


def _status(
    branch: Branch,
    evidence: BranchEvidence,
    leading: Branch | None,
    label: Label,
    passing: Mapping[Branch, Sequence[Signal]],
    failure: Failure,
) -> tuple[BranchStatus, str]:
    words = "; ".join(s.what for s in evidence.signals[:2])
    if branch is leading:
        status = (
            BranchStatus.ROOT_CAUSE if label is Label.PROVEN else BranchStatus.LEADING_HYPOTHESIS
        )
        return status, words
    if branch in passing:
        return BranchStatus.CONTRIBUTING, words
    if evidence.ruled_out is not None:
        return BranchStatus.RULED_OUT, evidence.ruled_out
    causes = [s for s in evidence.signals if not s.effect]
    after = causes and all(s.at is not None and not precedes(s, failure) for s in causes)
    if causes and after and failure.at is not None:
        return BranchStatus.CONTRIBUTING, f"{words}; after the failure began: effect or coincidence"
    if causes:
        return BranchStatus.UNVERIFIED, words
    if evidence.unverified is not None:
        return BranchStatus.UNVERIFIED, evidence.unverified
    if evidence.deciding_unseen:
        first = evidence.deciding_unseen[0]
        # §E: without CloudTrail a change is unverified; cluster events can still show one.
        is_change = branch is Branch.CHANGE
        status = BranchStatus.UNVERIFIED if is_change else BranchStatus.NOT_OBSERVABLE
        return status, f"{first.what}: {first.reason}"
    if evidence.signals and branch is Branch.CHANGE:
        return BranchStatus.CONTRIBUTING, words  # §2: the response to a fault
    if evidence.signals:
        return BranchStatus.UNVERIFIED, f"{words}: consequences only"
    return BranchStatus.UNVERIFIED, "nothing speaks for it, and nothing rules it out"


def _confidence(
    leading: Branch | None,
    label: Label,
    rivals: Mapping[Branch, Sequence[Signal]],
    by_branch: Mapping[Branch, BranchEvidence],
    failure: Failure,
) -> tuple[str, str]:
    if leading is None:
        return "Low", "no branch has a signal"
    own = by_branch[leading]
    if label is Label.PROVEN:
        if own.deciding_unseen:
            return "Medium", f"proven, but not seen: {own.deciding_unseen[0].what}"
        when = " before the failure" if failure.at is not None else ""
        return "High", f"measured on the job{when}, no competitor, its sources read"
    sources = {ref for s in rivals.get(leading, ()) for ref in s.evidence}
    missing = "".join(f"; {words}" for words in _missing(by_branch, failure))
    if len(sources) >= 2:
        return "Medium", f"a hypothesis with two agreeing sources{missing}"
    return "Low", f"a hypothesis{missing}"


def _missing(by_branch: Mapping[Branch, BranchEvidence], failure: Failure) -> Iterator[str]:
    """Yield what a hypothesis lacks whatever it is: branches not looked at, and a start."""
    unseen = [b.value for b in Branch if b not in by_branch or not by_branch[b].assessed]
    if unseen:
        yield f"{', '.join(unseen)} not assessed"
    if failure.at is None:
        yield "no start of the failure is known"
    elif not failure.observed:
        yield "the start of the failure was told, not observed"
