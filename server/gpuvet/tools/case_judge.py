"""A case behind the tools: read once, at the first call."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from gpuvet.errors import UsageError
from gpuvet.model.progress import Progress, silent

if TYPE_CHECKING:
    from gpuvet.case import Case
    from gpuvet.model.access import AccessReport
    from gpuvet.tools.arguments import Where
    from gpuvet.tools.request import AccountDoor, Opened


def _present() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 (an edge: only cases without a clock ask)


class CaseJudge:
    """See `Evidence`. The path was given at start; no tool takes one."""

    def __init__(
        self,
        path: Path,
        *,
        question: str | None = None,
        clock: Callable[[], datetime] = _present,
        allowed_groups: Sequence[str] = (),
    ) -> None:
        self._path = path
        self._question = question
        self._clock = clock
        self._allowed_groups = tuple(allowed_groups)
        self._lock = Lock()
        self._case: Case | None = None

    def case(
        self,
        where: "Where",
        *,
        question: str | None = None,
        now: datetime | None = None,
        progress: Progress = silent,
    ) -> "Opened":
        """Return the case; see `Evidence.case`."""
        del where, progress  # a case has its nodes, and nothing is waited for
        from gpuvet.tools.request import Opened

        case = self._read()
        if question:
            case = replace(case, meta=case.meta.model_copy(update={"question": question}))
        clock = case.meta.now or now or self._clock()
        return Opened(case, clock, self._allowed_groups, self._texts)

    def account(
        self, where: "Where", *, now: datetime | None = None, progress: Progress = silent
    ) -> "AccountDoor":
        """Return the account as the case recorded it; see `Evidence.account`."""
        from gpuvet.tools.request import AccountDoor

        opened = self.case(where, now=now, progress=progress)
        meta = opened.case.meta
        return AccountDoor(opened.case.aws, opened.now, meta.account, meta.region, opened.case)

    def access(self, where: "Where", *, progress: Progress = silent) -> "AccessReport":
        """Refuse: a case has no credentials."""
        del where, progress
        raise UsageError("this server answers from a case, which has no credentials to check")

    def node_names(self) -> tuple[str, ...]:
        """Return the ids of the case's nodes, as its verdicts name them."""
        from gpuvet.modes.verdict import verdict_report
        from gpuvet.modes.window import Asked

        case = self._read()
        clock = case.meta.now or self._clock()
        return tuple(verdict_report(case, Asked(), clock=clock).verdicts)

    def _texts(self) -> tuple[str, ...]:
        from gpuvet.case.raw_text import raw_texts

        return raw_texts(self._path)

    def _read(self) -> "Case":
        from gpuvet.case import load_case

        # Tools run on threads; the case is read once whoever comes first.
        with self._lock:
            if self._case is None:
                self._case = load_case(self._path, question=self._question)
            return self._case
