"""A case behind the tools: read once, at the first call."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from gpuvet.case.case import Case
from gpuvet.case.load import load_case
from gpuvet.model.report import VerdictReport
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked


def _present() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 (an edge: only cases without a clock ask)


class CaseJudge:
    """See `Judge`. The path was given at start; no tool takes one."""

    def __init__(
        self, path: Path, *, question: str | None = None, clock: Callable[[], datetime] = _present
    ) -> None:
        self._path = path
        self._question = question
        self._clock = clock
        self._lock = Lock()
        self._case: Case | None = None

    def verdicts(
        self, *, since: str | None, until: str | None, failure_at: str | None
    ) -> VerdictReport:
        """Return the verdict report of a window."""
        asked = Asked(since=since, until=until, failure_at=failure_at)
        return verdict_report(self._read(), asked, clock=self._clock())

    def _read(self) -> Case:
        # Tools run on threads; the case is read once whoever comes first.
        with self._lock:
            if self._case is None:
                self._case = load_case(self._path, question=self._question)
            return self._case
