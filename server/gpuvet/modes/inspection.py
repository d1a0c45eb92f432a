"""What every look at single sources shares: its doors, what it read, and how far it got."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from gpuvet.aws.closing import closes_with, operation_of, reason_of, subject_of
from gpuvet.aws.ledger import Ledger
from gpuvet.aws.narrowed import NOT_ASKED
from gpuvet.aws.reads import READS
from gpuvet.aws.subjects import SUBJECTS
from gpuvet.case import Case
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.inspection import GroupedRow, SourceRow
from gpuvet.model.report import NotSeenRow, ReportWindow
from gpuvet.modes.window import Asked, Resolved, resolve

Row = TypeVar("Row")

_MOST_EVIDENCE = 3
_MOST_GROUPS = 12
_MOST_EXAMPLES = 3
# What a live case reads of every cluster; most looks need nothing of it.
KUBERNETES = frozenset({"kubernetes"})
_WORST_FIRST = (
    Status.UNVERIFIED,
    Status.NOT_CHECKED,
    Status.PARTIAL,
    Status.NOT_SUPPORTED,
    Status.NOT_FOUND,
    Status.OK,
    Status.OK_EMPTY,
)


class State(NamedTuple):
    """How far a look got as a whole."""

    status: Status
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """One look at some sources.

    Attributes:
        case: The case, with a door that remembers what it was asked.
        asked: Window and clock.
        aws: That door.
    """

    case: Case
    asked: Resolved
    aws: Ledger

    @classmethod
    def at(cls, case: Case, times: Asked, now: datetime) -> "Look":
        """Return a look at a case.

        Raises:
            BadWindow: The times cannot be read.
        """
        remembering = Ledger(case.aws)
        asked = resolve(case.meta, times, case.meta.now or now)
        return cls(replace(case, aws=remembering), asked, remembering)

    @property
    def window(self) -> ReportWindow:
        """The window, and where it came from."""
        return ReportWindow(
            since=self.asked.window.start, until=self.asked.window.end, source=self.asked.source
        )

    def answers(self, *more: Envelope[Any]) -> tuple[Envelope[Any], ...]:
        """Return everything that was read: through the AWS door, and what else is given.

        What a live account's logs asked of it is in its own list, where it failed.
        """
        seen: dict[tuple[str, str], Envelope[Any]] = {}
        behind = self.case.ledger.incomplete() if self.case.ledger else ()
        for answer in (*self.aws.answers(), *behind, *more):
            seen.setdefault((operation_of(answer), answer.evidence), answer)
        return tuple(seen.values())

    def common(
        self,
        rows: int,
        answers: Sequence[Envelope[Any]],
        state: State | None = None,
        *,
        has_window: bool = True,
    ) -> dict[str, Any]:
        """Return the members that every inspection has.

        Args:
            rows: How many were found.
            answers: Every reading.
            state: How far it got, where not every reading decides that.
            has_window: Whether it is of a window, and not as of now.
        """
        state = state or state_of(rows, whole_of(answers))
        meta = self.case.meta
        return {
            "state": state.status,
            "reason": state.reason,
            "account": meta.account,
            "region": meta.region,
            "cluster": meta.cluster,
            "window": self.window if has_window else None,
            "now": self.asked.now,
            "sources": source_rows(answers),
            "not_seen": tuple(unseen_rows(answers)),
            "total": rows,
        }


def state_of(rows: int, answers: Sequence[Envelope[Any]]) -> State:
    """Return how far a look got: nothing found is OK_EMPTY only where all was read whole.

    Args:
        rows: How many were found.
        answers: Every reading it rests on.
    """
    open_ones = [one for one in answers if not _is_settled(one)]
    if open_ones:
        first = min(open_ones, key=lambda one: _WORST_FIRST.index(one.status))
        return State(Status.PARTIAL if rows else first.status, first.reason)
    if rows:
        return State(Status.OK)
    complete = [one for one in answers if one.status.is_complete]
    if answers and not complete:
        return State(answers[0].status, answers[0].reason)
    return State(Status.OK_EMPTY if answers else Status.NOT_CHECKED)


def _is_settled(answer: Envelope[Any]) -> bool:
    """Say whether nothing is left to see: read whole, not there, or nothing that applies here."""
    was_not_asked = any(note.startswith(NOT_ASKED) for note in answer.notes)
    is_elsewhere = answer.status is Status.NOT_SUPPORTED and was_not_asked
    return answer.status.is_complete or answer.status is Status.NOT_FOUND or is_elsewhere


def whole_of(
    answers: Sequence[Envelope[Any]], beside: Collection[str] = KUBERNETES
) -> tuple[Envelope[Any], ...]:
    """Return the readings an answer needs to be whole.

    Those outside the minimal policy only add to what is known; most accounts deny them.

    Args:
        answers: Every reading.
        beside: Services whose readings add nothing that would be missed.
    """
    return tuple(
        one
        for one in answers
        if one.service not in beside
        and ((read := READS.get(operation_of(one))) is None or read.is_minimal)
    )


def of_operations(answers: Sequence[Envelope[Any]], *names: str) -> tuple[Envelope[Any], ...]:
    """Return the readings of some operations: those that decide whether a list is whole."""
    return tuple(one for one in answers if operation_of(one) in names)


def source_rows(answers: Iterable[Envelope[Any]]) -> tuple[SourceRow, ...]:
    """Return the sources, calls of one operation that ended alike together, worst first."""
    alike: dict[tuple[str, Status, Reason | None], list[Envelope[Any]]] = {}
    for one in answers:
        alike.setdefault((operation_of(one), one.status, one.reason), []).append(one)
    rows = [
        SourceRow(
            source=operation,
            what=SUBJECTS.get(operation, _WORDS.get(operation, "what the case holds")),
            status=status,
            reason=reason,
            calls=len(members),
            evidence=tuple(one.evidence for one in members[:_MOST_EVIDENCE]),
        )
        for (operation, status, reason), members in alike.items()
    ]
    return tuple(sorted(rows, key=lambda row: (_WORST_FIRST.index(row.status), row.source)))


_WORDS = {
    "logs:streams": "log streams of the nodes",
    "logs:lines_like": "lines of the streams",
    "logs:find": "lines of the log groups",
    "logs:group_streams": "streams of the cluster's log group",
    "logs:job_streams": "streams of the job's log groups",
    "file:job_streams": "output of the job, as files",
    "file:streams": "log streams the case holds",
    "file:lines_like": "lines the case holds",
}


def unseen_rows(answers: Iterable[Envelope[Any]]) -> Iterator[NotSeenRow]:
    """Yield what was not seen, each read and reason once, with what would close it."""
    told: set[tuple[str, str]] = set()
    for answer in answers:
        if _is_settled(answer):
            continue
        what, reason = _subject(answer), reason_of(answer)
        if (what, reason) in told:
            continue
        told.add((what, reason))
        known = Reason(reason) if reason in set(Reason) else reason
        yield NotSeenRow(what=what, reason=known, closes_with=closes_with(answer))


def _subject(answer: Envelope[Any]) -> str:
    operation = operation_of(answer)
    return f"{_WORDS[operation]} ({operation})" if operation in _WORDS else subject_of(answer)


def grouped(
    rows: Iterable[Row], what: Callable[[Row], str], name: Callable[[Row], str]
) -> tuple[GroupedRow, ...]:
    """Return rows that are alike, counted, the largest group first; the smallest ones as one.

    Args:
        rows: Any rows.
        what: In which words a row is like others.
        name: What a row is called as an example.
    """
    members: dict[str, list[str]] = {}
    for row in rows:
        members.setdefault(what(row), []).append(name(row))
    ordered = sorted(members.items(), key=lambda one: (-len(one[1]), one[0]))
    kept = ordered[: _MOST_GROUPS if len(ordered) <= _MOST_GROUPS else _MOST_GROUPS - 1]
    found = [
        GroupedRow(
            what=words,
            count=len(names),
            examples=tuple(dict.fromkeys(filter(None, names)))[:_MOST_EXAMPLES],
        )
        for words, names in kept
    ]
    rest = ordered[len(kept) :]
    if rest:
        total = sum(len(names) for _, names in rest)
        found.append(GroupedRow(what=f"{len(rest)} other groups", count=total))
    return tuple(found)


def cut(text: str, most: int) -> str:
    """Return a sentence of ours, its end left out where it is longer than anybody reads."""
    return text if len(text) <= most else f"{text[: most - 2].rstrip()} …"


def counts_of(words: Iterable[str]) -> Mapping[str, int]:
    """Return how often each word stands, the most frequent first."""
    return dict(sorted(Counter(words).items(), key=lambda one: (-one[1], one[0])))


def told(status: State, nothing: str, unread: str) -> str:
    """Return the sentence of a look that found no row: why there is none.

    Args:
        status: How far it got.
        nothing: What may be said where all was read.
        unread: What was asked, for a sentence that it is not known.
    """
    if status.status is Status.OK_EMPTY:
        return nothing
    why = f": {status.reason.value}" if status.reason else ""
    return f"{unread} not known ({status.status.value}{why})"
