"""How far a question has got: what it reads, how much of it is done, how much there is.

Pure: whoever shows it brings the clock and the screen.
"""

from threading import Lock
from typing import NamedTuple, Protocol

_ONE = {"calls": "call", "queries": "query"}


class Step(NamedTuple):
    """One thing done."""

    stage: str  # what is being read: logs, metrics, changes, …
    unit: str  # what is counted of it: queries, calls
    done: int
    total: int | None = None  # None: not known before it ends
    all_done: int = 0  # of every stage together; it only grows

    @property
    def words(self) -> str:
        """Return the step as a reader sees it: `logs: 12 of 40 queries`."""
        if self.total:
            return f"{self.stage}: {self.done} of {self.total} {self.unit}"
        unit = _ONE.get(self.unit, self.unit) if self.done == 1 else self.unit
        return f"{self.stage}: {self.done} {unit}"


class Progress(Protocol):
    """Whoever wants to know how far a question has got; called from any thread."""

    def __call__(self, step: Step, /) -> None:
        """Take one step."""
        ...


def silent(_step: Step) -> None:
    """Tell nobody."""


class Stages:
    """Counts what is done of each stage, and tells it on."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._done: dict[str, int] = {}
        self._planned: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        self._lock = Lock()

    def plan(self, stage: str, more: int) -> None:
        """Add to what there will be of a stage."""
        with self._lock:
            self._planned[stage] = self._planned.get(stage, 0) + more

    def begin(self, stage: str) -> None:
        """Count one thing begun: there are at least so many."""
        with self._lock:
            self._begun[stage] = self._begun.get(stage, 0) + 1

    def advance(self, stage: str, unit: str = "calls") -> None:
        """Count one thing done and tell it."""
        with self._lock:
            done = self._done[stage] = self._done.get(stage, 0) + 1
            total = max(self._planned.get(stage, 0), self._begun.get(stage, 0))
            known = max(total, done) if total else None
            step = Step(stage, unit, done, known, sum(self._done.values()))
            # Told inside the lock: steps of several threads arrive in the order of their counts.
            self._tell(step)
