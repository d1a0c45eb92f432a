"""How far a live question has got, on a terminal's stderr; nothing is written elsewhere."""

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from gpuvet.model.progress import Progress, Step, silent

_LEAST_SECONDS = 0.1  # between two updates: faster ones nobody can read
# One line up and emptied: the cursor rests below it, where the report will begin.
_REWRITE = "\x1b[1A\r\x1b[K"


def on_terminal(
    stream: TextIO | None = None, *, monotonic: Callable[[], float] = time.monotonic
) -> Progress:
    """Return what shows steps on a terminal; what tells nobody where there is none.

    Args:
        stream: Where to write; None: stderr.
        monotonic: A stopwatch in seconds.
    """
    out = stream or sys.stderr
    return _Line(out, monotonic) if out.isatty() else silent


class _Line:
    """One line that is rewritten; on a terminal without cursor control, one line a stage."""

    def __init__(self, out: TextIO, monotonic: Callable[[], float]) -> None:
        self._out = out
        self._monotonic = monotonic
        self._can_rewrite = os.name != "nt" and os.environ.get("TERM", "dumb") != "dumb"
        self._stage = ""
        self._at = float("-inf")

    def __call__(self, step: Step, /) -> None:
        """Show a step, unless the last one was shown just now."""
        is_new = step.stage != self._stage
        now = self._monotonic()
        is_due = now - self._at >= _LEAST_SECONDS or step.done == step.total
        if not (is_new if not self._can_rewrite else is_new or is_due):
            return
        first = "" if not self._stage or not self._can_rewrite else _REWRITE
        self._stage, self._at = step.stage, now
        self._out.write(f"{first}gpuvet: {step.words}\n")
        self._out.flush()
