"""One request of a tool: its way to the evidence, and how its rows become pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from gpuvet.model.base import Value
from gpuvet.model.progress import Progress, silent
from gpuvet.tools.arguments import Arguments, Where
from gpuvet.tools.cursor import seal
from gpuvet.tools.reply import fit, limit_of

if TYPE_CHECKING:
    from gpuvet.aws.door import AwsDoor
    from gpuvet.case import Case
    from gpuvet.model.access import AccessReport

Row = TypeVar("Row")
Answer = TypeVar("Answer", bound=Value)


class Opened(NamedTuple):
    """The evidence of one question, and its clock."""

    case: "Case"
    now: datetime
    allowed_groups: tuple[str, ...] = ()  # log groups allowed at start beside the cluster's own
    texts: Callable[[], tuple[str, ...]] | None = None  # of a case: its files as they lie there


class AccountDoor(NamedTuple):
    """The way to an account of which no nodes are named."""

    door: "AwsDoor"
    now: datetime
    account: str | None = None
    region: str | None = None
    case: "Case | None" = None  # where it is a recorded one


class Evidence(Protocol):
    """What a server answers from: a case, or live accounts."""

    def case(
        self,
        where: Where,
        *,
        question: str | None = None,
        now: datetime | None = None,
        progress: Progress = silent,
    ) -> Opened:
        """Return the evidence about some nodes.

        Args:
            where: Which nodes of which account.
            question: The user's words.
            now: The clock of an earlier page of the same question.
            progress: Who wants to know how far it has got.

        Raises:
            UsageError: These nodes cannot be asked about here.
        """
        ...

    def account(
        self, where: Where, *, now: datetime | None = None, progress: Progress = silent
    ) -> AccountDoor:
        """Return the way to an account as a whole."""
        ...

    def access(self, where: Where, *, progress: Progress = silent) -> "AccessReport":
        """Return what an identity can read in a region."""
        ...


class Rest(NamedTuple):
    """What a page says of the others."""

    shown: int
    total: int
    cursor: str | None


class Reply(NamedTuple, Generic[Answer]):
    """Both halves of an answer: the value, and the same as text."""

    answer: Answer
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """See the module.

    Attributes:
        tool: Its name: a cursor of another tool is refused.
        asked: The arguments, those of the cursor put in.
        evidence: What the server answers from.
        offset: How many rows earlier pages have shown.
        now: The clock of the first page, where this is a later one.
        progress: Who wants to know how far it has got.
    """

    tool: str
    asked: Arguments
    evidence: Evidence
    offset: int = 0
    now: datetime | None = None
    progress: Progress = silent

    def case(self, question: str | None = None) -> Opened:
        """Return the evidence about the nodes that were asked about."""
        return self.evidence.case(
            self.asked.where, question=question, now=self.now, progress=self.progress
        )

    def page(
        self,
        rows: Sequence[Row],
        make: Callable[[tuple[Row, ...], Rest], tuple[Answer, str]],
        *,
        now: datetime | None = None,
    ) -> Reply[Answer]:
        """Return as many rows as fit both halves, and how to go on with the others.

        Args:
            rows: All there are, the most telling first.
            make: Builds the answer and its text from some of them.
            now: The clock of the question; later pages keep it.
        """
        total = len(rows)
        carried = self.asked.carried()

        def one(count: int) -> tuple[Answer, str]:
            kept = tuple(rows[self.offset : self.offset + count])
            end = self.offset + len(kept)
            cursor = None
            if end < total:
                clock = self.now or now
                at = clock.isoformat() if clock is not None else None
                cursor = seal({"tool": self.tool, "offset": end, "now": at, "asked": carried})
            answer, text = make(kept, Rest(len(kept), total, cursor))
            return answer, _with_rest(text, len(kept), total, cursor)

        answer, text, _ = fit(one, total - self.offset, limit_of(detail_of(self.asked)))
        return Reply(answer, text)


def detail_of(asked: Arguments) -> str:
    """Return how much is to be shown."""
    detail: Any = getattr(asked, "detail", "summary")
    return str(detail)


def _with_rest(text: str, shown: int, total: int, cursor: str | None) -> str:
    if cursor is None:
        return text
    return f'{text}\n{shown} of {total} shown; go on with cursor "{cursor}".\n'
