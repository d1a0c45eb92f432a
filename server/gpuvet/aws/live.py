"""The live side of the AWS door: boto3, loaded at the first read.

An operation that is not on the list of reads is refused before a client exists, and stopped once
more at the wire (live_wire.py). A read is paged to its end or to a stated cap, tried again where
that helps, and ended by the budget of the question; whatever goes wrong is a status on the answer.
"""

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from gpuvet.aws.budget import CLOCK, Budget, Clock
from gpuvet.aws.door import Page
from gpuvet.aws.login import Login
from gpuvet.aws.reads import read_of
from gpuvet.aws.recorded import MAX_PAGES, canonical
from gpuvet.model.evidence import Envelope

if TYPE_CHECKING:
    from gpuvet.aws.live_clients import Clients
    from gpuvet.aws.live_queries import Queries
    from gpuvet.aws.live_reader import Reader

# AWS Health is one service a partition: its API answers in this region.
_HEALTH_REGIONS = {"cn-": "cn-northwest-1", "us-gov-": "us-gov-west-1"}


class LiveAws:
    """One question's way to one account and region; see `AwsDoor`."""

    def __init__(
        self,
        login: Login,
        region: str,
        *,
        clients: "Clients | None" = None,
        queries: "Queries | None" = None,
        account: str | None = None,
        budget: Budget | None = None,
        clock: Clock = CLOCK,
        max_pages: int = MAX_PAGES,
    ) -> None:
        """Hold what a question needs; nothing is loaded and nothing is called.

        Args:
            login: Whose credentials.
            region: The door's own region.
            clients: Clients of the process, shared by its questions; None: its own.
            queries: Slots of Logs Insights, shared likewise.
            account: For evidence ids.
            budget: What the question may use; None: the command line's.
            clock: The clock.
            max_pages: After this many pages a reading is PARTIAL.
        """
        self._login = login
        self._region = region
        self._clients = clients
        self._queries = queries
        self._account = account
        self._budget = budget or Budget(monotonic=clock.monotonic)
        self._clock = clock
        self._max_pages = max_pages
        self._opened: Reader | None = None
        self._lock = Lock()

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return every page of one read; see `AwsDoor.read`."""
        row = read_of(operation)
        where = self._health_region(region) if row.service == "health" else region or self._region
        called_at = self._clock.now()
        outcome = self._reader().read(row, params, where)
        return Envelope[tuple[Page, ...]](
            service=row.service,
            operation=row.name,
            account=self._account,
            region=where,
            params=canonical(params),
            called_at=called_at,
            status=outcome.status,
            reason=outcome.reason,
            error_code=outcome.code,
            value=outcome.pages or None,
            pages=len(outcome.pages),
            notes=outcome.notes,
        )

    def _health_region(self, asked: str | None) -> str:
        found = (one for start, one in _HEALTH_REGIONS.items() if self._region.startswith(start))
        return next(found, asked or self._region)

    def _reader(self) -> "Reader":
        from gpuvet.aws.live_clients import Clients
        from gpuvet.aws.live_queries import Queries
        from gpuvet.aws.live_reader import Reader

        with self._lock:
            if self._opened is None:
                clients = self._clients or Clients()
                self._opened = Reader(
                    clients,
                    self._login,
                    budget=self._budget,
                    clock=self._clock,
                    queries=self._queries or Queries(),
                    paces=clients.paces(self._login, self._region),
                    max_pages=self._max_pages,
                )
            return self._opened
