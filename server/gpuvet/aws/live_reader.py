"""Reads of one question as boto3 calls: sender, pages, queries, and the end of credentials."""

from collections.abc import Callable, Mapping
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError

from gpuvet.aws.budget import Budget, Clock
from gpuvet.aws.live_calls import Caller, Failure, Page, failure_of_exception
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.live_paces import Paces
from gpuvet.aws.live_pages import MOST_PAGES, Outcome, failed, read_pages
from gpuvet.aws.live_queries import Queries
from gpuvet.aws.login import Login
from gpuvet.aws.reads import Read, read_of
from gpuvet.aws.statuses import NO_CONNECTION

_STOP = read_of("logs:StopQuery")


class Reader:
    """Makes the calls behind `LiveAws.read`; every operation that gets here is on the list."""

    def __init__(
        self,
        clients: Clients,
        login: Login,
        *,
        budget: Budget,
        clock: Clock,
        queries: Queries,
        paces: Paces,
        max_pages: int,
    ) -> None:
        self._clients = clients
        self._login = login
        self._caller = Caller(budget, clock, paces)
        self._clock = clock
        self._queries = queries
        self._max_pages = max_pages
        self._ended: dict[str, Outcome] = {}  # by region: credentials that no longer work
        self._dead: dict[tuple[str, str], Outcome] = {}  # by service and region: no endpoint

    def read(self, row: Read, params: Mapping[str, Any], region: str) -> Outcome:
        """Return what one read came to.

        Credentials that ended, and a service no connection leads to, are not tried again: each
        try would take its time-out from what the question may use.
        """
        known = self._ended.get(region) or self._dead.get((row.service, region))
        if known is not None:
            return known
        outcome = self._made(row, params, region)
        if outcome.code in NO_CONNECTION:
            note = f"not asked: {row.service} in {region} did not answer before ({outcome.code})"
            self._dead[(row.service, region)] = outcome._replace(pages=(), notes=(note,))
        if outcome.ends_gathering:
            at = self._clock.now().strftime("%H:%M:%SZ")
            note = f"not asked: the credentials were refused at {at} ({outcome.code})"
            self._ended[region] = outcome._replace(pages=(), notes=(note,))
        return outcome

    def _made(self, row: Read, params: Mapping[str, Any], region: str) -> Outcome:
        caller = self._caller
        if caller.budget.shortage() is not None:
            return failed((), caller.shortage())
        try:
            send = self._sender(row, region)
        except BotoCoreError as error:  # e.g. no such region: there is no client to ask with
            return failed((), failure_of_exception(error))
        if row.operation == "logs:StartQuery":
            return self._queries.start(caller, send, params)
        if row.operation == "logs:GetQueryResults":
            return self._queries.results(caller, send, self._sender(_STOP, region), params)

        def ask(sent: Mapping[str, Any]) -> Page | Failure:
            return caller.ask(row.operation, lambda: send(sent))

        most = min(self._max_pages, MOST_PAGES.get(row.operation, self._max_pages))
        return read_pages(row.operation, params, ask, rows=row.rows, max_pages=most)

    def _sender(self, row: Read, region: str) -> Callable[[Mapping[str, Any]], Page]:
        client = self._clients.client(self._login, row.service, region)
        method = getattr(client, xform_name(row.name))
        return lambda params: method(**params)
