"""The history of a cluster's nodes as a report tells it."""

from collections.abc import Iterator

from gpuvet.calculators.fault_history import FaultHistory
from gpuvet.calculators.run_capacity import length_key
from gpuvet.checks.preflight.p27_job_spec import expected_interruptions
from gpuvet.checks.preflight.view import View
from gpuvet.model.history import PastEvent
from gpuvet.model.preflight import HistoryRow, HistorySourceRow, PastEventRow
from gpuvet.model.report import NotSeenRow
from gpuvet.report.words import counted, some, utc

_MOST_PAST = 50
_NO_RANGE = "a range is shown from 3 events and 1,000 node-hours"


def history_row(view: View) -> HistoryRow | None:
    """Return what the past says of the longest run asked about; it changes no status."""
    found = view.history
    if found is None:
        return None
    expected = expected_interruptions(view)
    return HistoryRow(
        events=len(found.events),
        node_hours=found.node_hours,
        said=_said(found, view),
        low=round(expected.low, 2) if expected else None,
        high=round(expected.high, 2) if expected else None,
        hours_from=found.seen_by.value if found.seen_by else None,
        sources=tuple(_sources(found)),
        past=tuple(_past(found)),
        not_counted=tuple(_aside(found)),
    )


def _said(found: FaultHistory, view: View) -> str:
    expected = expected_interruptions(view)
    told = counted(len(found.events), "event")
    if found.seen_by is None:
        outside = f", {counted(len(found.outside), 'event')} told outside" if found.outside else ""
        return f"too little history: {told} (no node-hours were seen{outside}); {_NO_RANGE}"
    seen = f"{told} in {found.node_hours:,.0f} node-hours seen by {found.seen_by}"
    if expected is None:
        return f"too little history: {seen}; {_NO_RANGE}"
    missing = [sight.teller.value for sight in found.sights if sight.reason]
    least = f"; at least, for {', '.join(missing)} could not be read in full" if missing else ""
    return (
        f"{seen}: {expected.low:.1f} to {expected.high:.1f} interruptions to expect in "
        f"{length_key(view.run.hours)} h (exact Poisson interval, 95 %){least}"
    )


def _sources(found: FaultHistory) -> Iterator[HistorySourceRow]:
    for sight in found.sights:
        yield HistorySourceRow(
            source=sight.teller.value,
            events=found.told_by(sight.teller),
            seen_since=min((span.start for span in sight.spans), default=None),
            reason=sight.reason,
            closes_with=sight.closes_with,
        )


def _past(found: FaultHistory) -> Iterator[PastEventRow]:
    told = [(event, True) for event in found.events] + [(event, False) for event in found.outside]
    ordered = sorted(told, key=lambda pair: (pair[0].at, pair[0].nodes), reverse=True)
    for event, counts in ordered[:_MOST_PAST]:
        yield _row(event, counts=counts)


def _row(event: PastEvent, *, counts: bool) -> PastEventRow:
    return PastEventRow(
        at=event.at,
        nodes=event.nodes,
        what=event.what,
        told_by=tuple(teller.value for teller in event.tellers),
        counted=counts,
        evidence=event.evidence,
    )


def _aside(found: FaultHistory) -> Iterator[str]:
    """Yield what may be scaling or maintenance: one sentence for each thing that was said."""
    by_what: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for word in found.aside:
        by_what.setdefault(word.what, []).append(word.node)
        first.setdefault(word.what, utc(word.at))
    for what, nodes in by_what.items():
        names = some(list(dict.fromkeys(nodes)))
        yield f"{what} ({names}, from {first[what]}): it may be scaling or maintenance"


def unread_history(view: View) -> Iterator[NotSeenRow]:
    """Yield the sources of the history that were not read."""
    for sight in view.history.sights if view.history is not None else ():
        if sight.reason:
            yield NotSeenRow(
                what=f"history: {sight.teller}",
                reason=sight.reason,
                closes_with=sight.closes_with or sight.teller.value,
            )
