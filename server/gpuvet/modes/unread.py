"""Readings of an account that failed, as rows of what was not seen."""

from collections.abc import Iterable, Iterator

from gpuvet.aws.closing import closes_with, reason_of, subject_of
from gpuvet.case import Case, listings
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.report import NotSeenRow

_REASONS = frozenset(Reason)


def not_of_the_ledger(case: Case, rows: Iterable[NotSeen]) -> tuple[NotSeen, ...]:
    """Return the absences that the list of failed readings does not tell by itself."""
    answers = case.ledger.incomplete() if case.ledger else ()
    told = {subject_of(answer) for answer in answers}
    return tuple(row for row in rows if row.what not in told)


def cut_listings(case: Case) -> Iterator[NotSeenRow]:
    """Yield the recorded lists of nodes that go on behind what was kept: who is there is open.

    An account keeps a list of every reading that failed; see `unread_rows`.
    """
    if case.ledger is not None:
        return
    for answer in listings(case):
        if answer.status is Status.PARTIAL:
            yield NotSeenRow(
                what=f"nodes behind the recorded part of {subject_of(answer)}",
                reason=answer.reason or Reason.PAGE_CAP,
                closes_with=f"every page of {answer.service}:{answer.operation} in the case",
                any_node=True,
            )


def unread_rows(case: Case) -> Iterator[NotSeenRow]:
    """Yield one row for each read and reason that failed, in the order first asked.

    Only an account keeps such a list; the absences of a case are told by its files.
    """
    seen: dict[tuple[str, str], NotSeenRow] = {}
    for answer in case.ledger.incomplete() if case.ledger else ():
        what, reason = subject_of(answer), reason_of(answer)
        row = NotSeenRow(
            what=what,
            reason=Reason(reason) if reason in _REASONS else reason,
            closes_with=closes_with(answer),
        )
        seen.setdefault((what, reason), row)
    # Rows are told apart by what was not seen: two reasons for one read stand in one row each.
    told: set[str] = set()
    for (what, reason), row in seen.items():
        yield row if what not in told else row.model_copy(update={"what": f"{what}: {reason}"})
        told.add(what)
