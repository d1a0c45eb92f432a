"""A case behind the tools: read once, at the first call."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from gpuvet.errors import UsageError
from gpuvet.model.audit import AuditReport
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.tools.arguments import Where

if TYPE_CHECKING:
    from gpuvet.case import Case
    from gpuvet.modes.preflight_run import RunWords


def _present() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 (an edge: only cases without a clock ask)


class CaseJudge:
    """See `Source`. The path was given at start; no tool takes one."""

    def __init__(
        self, path: Path, *, question: str | None = None, clock: Callable[[], datetime] = _present
    ) -> None:
        self._path = path
        self._question = question
        self._clock = clock
        self._lock = Lock()
        self._case: Case | None = None

    def verdicts(
        self, *, since: str | None, until: str | None, failure_at: str | None, where: Where
    ) -> VerdictReport:
        """Return the verdict report of a window."""
        _refuse_elsewhere(where)
        from gpuvet.modes.verdict import verdict_report
        from gpuvet.modes.window import Asked

        asked = Asked(since=since, until=until, failure_at=failure_at)
        return verdict_report(self._read(), asked, clock=self._clock())

    def incident(
        self,
        *,
        question: str | None,
        since: str | None,
        until: str | None,
        failure_at: str | None,
        where: Where,
    ) -> IncidentReport:
        """Return the incident report of a window."""
        _refuse_elsewhere(where)
        from gpuvet.modes.incident import incident_report
        from gpuvet.modes.window import Asked

        asked = Asked(since=since, until=until, failure_at=failure_at)
        return incident_report(self._asked(question), asked, clock=self._clock())

    def audit(
        self, *, question: str | None, since: str | None, until: str | None, where: Where
    ) -> AuditReport:
        """Return the audit report of a window."""
        _refuse_elsewhere(where)
        from gpuvet.modes.audit import audit_report
        from gpuvet.modes.window import Asked

        asked = Asked(since=since, until=until)
        return audit_report(self._asked(question), asked, clock=self._clock())

    def _asked(self, question: str | None) -> "Case":
        case = self._read()
        if not question:
            return case
        return replace(case, meta=case.meta.model_copy(update={"question": question}))

    def preflight(
        self, *, question: str | None, words: "RunWords", where: Where
    ) -> PreflightReport:
        """Return the preflight report of a run."""
        _refuse_elsewhere(where)
        from gpuvet.modes.preflight import preflight_report

        return preflight_report(self._asked(question), words, clock=self._clock())

    def node_names(self) -> tuple[str, ...]:
        """Return the ids of the case's nodes, as its verdicts name them."""
        report = self.verdicts(since=None, until=None, failure_at=None, where=Where())
        return tuple(report.verdicts)

    def _read(self) -> "Case":
        from gpuvet.case import load_case

        # Tools run on threads; the case is read once whoever comes first.
        with self._lock:
            if self._case is None:
                self._case = load_case(self._path, question=self._question)
            return self._case


def _refuse_elsewhere(where: Where) -> None:
    if where != Where():
        raise UsageError(
            "this server answers from the case it was started with: leave out cluster, instances, "
            "tag, profile, region and role, or start it without --case"
        )
