"""How far a question has got: what it reads, how much of it is done, how much there is.

Pure: whoever shows it brings the clock and the screen.
"""

from threading import Lock
from typing import NamedTuple, Protocol


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
        count = f"{self.done} of {self.total}" if self.total else f"{self.done}"
        return f"{self.stage}: {count} {self.unit}"


class Progress(Protocol):
    """Whoever wants to know how far a question has got; called from any thread."""

    def __call__(self, step: Step) -> None:
        """Take one step."""
        ...


def silent(step: Step) -> None:
    """Tell nobody."""
    del step


class Stages:
    """Counts what is done of each stage, and tells it on."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}
        self._lock = Lock()

    def expect(self, stage: str, more: int) -> None:
        """Add to what there is of a stage."""
        with self._lock:
            self._total[stage] = self._total.get(stage, 0) + more

    def advance(self, stage: str, unit: str = "calls") -> None:
        """Count one thing done and tell it; a total that turns out too small is left out."""
        with self._lock:
            done = self._done[stage] = self._done.get(stage, 0) + 1
            total = self._total.get(stage)
            known = total if total is not None and total >= done else None
            step = Step(stage, unit, done, known, sum(self._done.values()))
            # Told inside the lock: steps of several threads arrive in the order of their counts.
            self._tell(step)
