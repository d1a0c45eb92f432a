"""A live account behind the tools: each request has its own door, budget and clock reading."""

from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from gpuvet.aws.budget import JUDGING_SECONDS, MCP_CALLS, MCP_SECONDS, SCAN_GB, Budget
from gpuvet.errors import UsageError
from gpuvet.model.progress import Progress, silent

if TYPE_CHECKING:
    from gpuvet.aws.door import AwsDoor
    from gpuvet.aws.live_account import Entered, LiveAccounts
    from gpuvet.aws.remembered import Memory
    from gpuvet.model.access import AccessReport
    from gpuvet.tools.arguments import Where
    from gpuvet.tools.request import AccountDoor, Opened


class LiveSource:
    """See `Evidence`. Identities and regions were given at start."""

    def __init__(
        self,
        accounts: "LiveAccounts",
        *,
        seconds: float = MCP_SECONDS,
        calls: int = MCP_CALLS,
        max_scan_gb: float = SCAN_GB,
        allowed_groups: Sequence[str] = (),
    ) -> None:
        self._accounts = accounts
        self._seconds = seconds
        self._calls = calls
        self._max_scan_gb = max_scan_gb
        self._allowed_groups = tuple(allowed_groups)
        self._lock = Lock()
        self._memory: Memory | None = None

    def case(
        self,
        where: "Where",
        *,
        question: str | None = None,
        now: datetime | None = None,
        progress: Progress = silent,
    ) -> "Opened":
        """Return nodes of an account as a case; see `Evidence.case`."""
        from gpuvet.case.live_case import live_case
        from gpuvet.model.target import read_target
        from gpuvet.tools.request import Opened

        target = read_target(where.cluster, where.instances, where.tag)
        if target.is_empty:
            raise UsageError(
                "name which nodes: cluster (name or ARN), instances or tag; list_clusters names "
                "the clusters of the account"
            )
        opened, budget = self._enter(where)
        clock = now or self._accounts.clock.now()
        case = live_case(
            self._remembered(opened, clock),
            target,
            now=clock,
            region=opened.who.region,
            account=opened.who.account,
            question=question,
            max_scan_gb=self._max_scan_gb,
            progress=progress,
        )
        return Opened(
            case, clock, self._allowed_groups, is_over=lambda: budget.shortage() is not None
        )

    def account(
        self, where: "Where", *, now: datetime | None = None, progress: Progress = silent
    ) -> "AccountDoor":
        """Return the way to an account; see `Evidence.account`."""
        from gpuvet.aws.watched import WatchedAws
        from gpuvet.tools.request import AccountDoor

        opened, budget = self._enter(where)
        clock = now or self._accounts.clock.now()
        return AccountDoor(
            WatchedAws(self._remembered(opened, clock), progress),
            clock,
            opened.who.account,
            opened.who.region,
            is_over=lambda: budget.shortage() is not None,
        )

    def access(self, where: "Where", *, progress: Progress = silent) -> "AccessReport":
        """Return what an identity can read in a region."""
        from gpuvet.modes.access import account_access

        return account_access(
            self._accounts,
            profile=where.profile,
            region=where.region,
            role=where.role,
            progress=progress,
        )

    def _enter(self, where: "Where") -> "tuple[Entered, Budget]":
        budget = Budget(
            self._seconds,
            self._calls,
            kept=JUDGING_SECONDS,
            monotonic=self._accounts.clock.monotonic,
        )
        opened = self._accounts.enter(
            profile=where.profile, region=where.region, role=where.role, budget=budget
        )
        return opened, budget

    def _remembered(self, opened: "Entered", clock: datetime) -> "AwsDoor":
        """Return the door of a question, with what its earlier pages have read."""
        from gpuvet.aws.remembered import Memory

        with self._lock:
            self._memory = self._memory or Memory()
        return self._memory.door((opened.login, opened.who, clock), opened.door)
