"""How long and how often a question may ask: a deadline and a number of calls, shared by threads.

The clock is handed in, so that a budget can be tested without waiting.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

# Ours: over MCP a request has 45 s and 300 calls; on the command line it has 10 minutes.
MCP_SECONDS, MCP_CALLS = 45.0, 300
CLI_SECONDS = 600.0
# Ours: of a request's time, kept for judging and wording what was read; 4,096 nodes take 5 s.
JUDGING_SECONDS = 6.0
# coverage.md: what log queries may scan, about a quarter of a dollar in us-east-1.
SCAN_GB = 50.0


def _present() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 (the edge that may read the clock)


class Clock(NamedTuple):
    """The clock of a live door: the present, a stopwatch in seconds, and how to wait."""

    now: Callable[[], datetime] = _present
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


CLOCK = Clock()


class Budget:
    """What a question may still use."""

    def __init__(
        self,
        seconds: float = CLI_SECONDS,
        calls: int | None = None,
        *,
        kept: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the stopwatch.

        Args:
            seconds: From now until the answer is due.
            calls: How many requests may leave; None: as many as the time allows.
            kept: The part of the seconds, at their end, in which nothing more is asked.
            monotonic: The stopwatch.
        """
        self._seconds = seconds
        self._calls = calls
        self._monotonic = monotonic
        self._end = monotonic() + seconds - min(kept, seconds / 2)
        self._made = 0
        self._lock = threading.Lock()

    @property
    def made(self) -> int:
        """How many calls were taken."""
        return self._made

    def remaining(self) -> float:
        """Return the seconds until the deadline, never below zero."""
        return max(0.0, self._end - self._monotonic())

    def spend(self) -> bool:
        """Take one call; False where none is left or the time is over."""
        with self._lock:
            if self.shortage() is not None:
                return False
            self._made += 1
            return True

    def shortage(self) -> str | None:
        """Return what is used up, in words; None while there is some of everything."""
        if self.remaining() <= 0:
            return f"the {self._seconds:g} s of this question are over"
        if self._calls is not None and self._made >= self._calls:
            return f"the {self._calls} calls of this question are made"
        return None
