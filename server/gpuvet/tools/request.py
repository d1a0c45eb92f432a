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


def _never() -> bool:
    return False


class Opened(NamedTuple):
    """The evidence of one question, and its clock."""

    case: "Case"
    now: datetime
    allowed_groups: tuple[str, ...] = ()  # log groups allowed at start beside the cluster's own
    texts: Callable[[], tuple[str, ...]] | None = None  # of a case: its files as they lie there
    is_over: Callable[[], bool] = _never  # whether time or calls ended before everything was read


class AccountDoor(NamedTuple):
    """The way to an account of which no nodes are named."""

    door: "AwsDoor"
    now: datetime
    account: str | None = None
    region: str | None = None
    case: "Case | None" = None  # where it is a recorded one
    is_over: Callable[[], bool] = _never


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
        opened: Opened | AccountDoor,
    ) -> Reply[Answer]:
        """Return as many rows as fit both halves, and how to go on with the others.

        Where time or calls were over before everything was read, the cursor begins anew: what
        was read is known, and the question gets further.

        Args:
            rows: All there are, the most telling first.
            make: Builds the answer and its text from some of them.
            opened: What the question was asked of; later pages keep its clock.
        """
        total, is_over = len(rows), opened.is_over()
        state = {
            "tool": self.tool,
            "now": (self.now or opened.now).isoformat(),
            "asked": self.asked.carried(),
        }

        def one(count: int) -> tuple[Answer, str]:
            kept = tuple(rows[self.offset : self.offset + count])
            end = self.offset + len(kept)
            cursor = None
            if end < total or is_over:
                cursor = seal({**state, "offset": end if end < total else 0})
            answer, text = make(kept, Rest(len(kept), total, cursor))
            return answer, f"{text}{_how_to_go_on(len(kept), total, cursor, is_over=is_over)}"

        answer, text, _ = fit(one, total - self.offset, limit_of(detail_of(self.asked)))
        return Reply(answer, text)


def detail_of(asked: Arguments) -> str:
    """Return how much is to be shown."""
    detail: Any = getattr(asked, "detail", "summary")
    return str(detail)


def _how_to_go_on(shown: int, total: int, cursor: str | None, *, is_over: bool) -> str:
    if cursor is None:
        return ""
    why = "time or calls were over before everything was read; " if is_over else ""
    return f'\n{shown} of {total} shown; {why}go on with cursor "{cursor}".\n'
