"""A live account behind the tools: each request has its own door, budget and clock reading."""

from typing import TYPE_CHECKING

from gpuvet.aws.budget import MCP_CALLS, MCP_SECONDS, SCAN_GB, Budget
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.errors import UsageError
from gpuvet.model.access import AccessReport
from gpuvet.model.audit import AuditReport
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.model.target import read_target
from gpuvet.tools.arguments import Where

if TYPE_CHECKING:
    from gpuvet.case import Case
    from gpuvet.modes.preflight_run import RunWords


class LiveSource:
    """See `Source` and `Accessible`. Identities and regions were given at start."""

    def __init__(
        self,
        accounts: LiveAccounts,
        *,
        seconds: float = MCP_SECONDS,
        calls: int = MCP_CALLS,
        max_scan_gb: float = SCAN_GB,
    ) -> None:
        self._accounts = accounts
        self._seconds = seconds
        self._calls = calls
        self._max_scan_gb = max_scan_gb

    def verdicts(
        self, *, since: str | None, until: str | None, failure_at: str | None, where: Where
    ) -> VerdictReport:
        """Return the verdict report of a window."""
        from gpuvet.modes.verdict import verdict_report
        from gpuvet.modes.window import Asked

        asked = Asked(since=since, until=until, failure_at=failure_at)
        return verdict_report(self._case(where, None), asked, clock=self._accounts.clock.now())

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
        from gpuvet.modes.incident import incident_report
        from gpuvet.modes.window import Asked

        asked = Asked(since=since, until=until, failure_at=failure_at)
        case = self._case(where, question)
        return incident_report(case, asked, clock=self._accounts.clock.now())

    def audit(
        self, *, question: str | None, since: str | None, until: str | None, where: Where
    ) -> AuditReport:
        """Return the audit report of a window."""
        from gpuvet.modes.audit import audit_report
        from gpuvet.modes.window import Asked

        asked = Asked(since=since, until=until)
        case = self._case(where, question)
        return audit_report(case, asked, clock=self._accounts.clock.now())

    def preflight(
        self, *, question: str | None, words: "RunWords", where: Where
    ) -> PreflightReport:
        """Return the preflight report of a run."""
        from gpuvet.modes.preflight import preflight_report

        case = self._case(where, question)
        return preflight_report(case, words, clock=self._accounts.clock.now())

    def access(self, *, profile: str | None, region: str | None, role: str | None) -> AccessReport:
        """Return what an identity can read in a region."""
        from gpuvet.modes.access import account_access

        return account_access(self._accounts, profile=profile, region=region, role=role)

    def _case(self, where: Where, question: str | None) -> "Case":
        from gpuvet.case.live_case import live_case

        target = read_target(where.cluster, where.instances, where.tag)
        if target.is_empty:
            raise UsageError(
                "name which nodes: cluster (name or ARN), instances or tag; check_access lists "
                "the HyperPod clusters of the account"
            )
        clock = self._accounts.clock
        opened = self._accounts.enter(
            profile=where.profile,
            region=where.region,
            role=where.role,
            budget=Budget(self._seconds, self._calls, monotonic=clock.monotonic),
        )
        return live_case(
            opened.door,
            target,
            now=clock.now(),
            region=opened.who.region,
            account=opened.who.account,
            question=question,
            max_scan_gb=self._max_scan_gb,
        )
