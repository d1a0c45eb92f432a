"""What questions have read of an account, for a while: a later page need not ask it again.

A cursor carries its question whole, and any process can go on from it without this. Where the
process that read the account is asked for the next page soon, it goes on from what it read, and
asks anew only for what it could not read before. Few questions are kept, and not for long.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a server's start loads no reader
    from gpuvet.aws.ledger import Known, Ledger

# Ours: a fleet's readings take a hundred megabytes; people read a page in minutes.
MOST_QUESTIONS = 2
KEPT_SECONDS = 300.0


class _Kept(NamedTuple):
    until: float
    ledger: "Ledger"


class Memory:
    """Readings by question; shared by threads."""

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        most: int = MOST_QUESTIONS,
        seconds: float = KEPT_SECONDS,
    ) -> None:
        """Remember nothing yet.

        Args:
            monotonic: The stopwatch.
            most: How many questions are kept; the oldest goes first.
            seconds: How long after its last page.
        """
        self._monotonic = monotonic
        self._most = most
        self._seconds = seconds
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lock = Lock()

    def of(self, question: Hashable) -> "Known":
        """Return what was read in full for a question; empty where nothing is kept of it."""
        now = self._monotonic()
        with self._lock:
            for old in [key for key, one in self._kept.items() if one.until <= now]:
                del self._kept[old]
            found = self._kept.get(question)
        return {} if found is None else found.ledger.read_in_full()

    def keep(self, question: Hashable, ledger: "Ledger") -> None:
        """Keep what a question reads, also what it still will."""
        until = self._monotonic() + self._seconds
        with self._lock:
            self._kept.pop(question, None)
            self._kept[question] = _Kept(until, ledger)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
