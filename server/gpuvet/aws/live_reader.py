"""Reads of one question as boto3 calls: sender, pages, queries, and the end of credentials."""

from collections.abc import Callable, Mapping
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from gpuvet.aws.budget import Budget, Clock
from gpuvet.aws.live_calls import Caller, Failure, Page, failure_of, failure_of_exception
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.live_kubernetes import ClusterApi, ask_kubernetes, cluster_api
from gpuvet.aws.live_paces import Paces
from gpuvet.aws.live_pages import MOST_PAGES, Outcome, failed, read_pages
from gpuvet.aws.live_prometheus import ask_prometheus
from gpuvet.aws.live_queries import Queries
from gpuvet.aws.login import Login
from gpuvet.aws.reads import KUBERNETES, PROMETHEUS, Read, read_of
from gpuvet.aws.statuses import NO_CONNECTION
from gpuvet.errors import NotReadOnly
from gpuvet.model.untyped import object_at

_STOP = read_of("logs:StopQuery")
_DESCRIBE = read_of("eks:DescribeCluster")
Sender = Callable[[Mapping[str, Any]], Page]


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
        self._dead: dict[tuple[str, str], Outcome] = {}  # by endpoint and region: nobody there
        self._described: dict[tuple[str, str], Outcome] = {}  # clusters, by name and region

    def read(self, row: Read, params: Mapping[str, Any], region: str) -> Outcome:
        """Return what one read came to.

        Credentials that ended, and a service no connection leads to, are not tried again: each
        try would take its time-out from what the question may use.
        """
        place = (_endpoint_of(row, params), region)
        known = self._ended.get(region) or self._dead.get(place)
        if known is not None:
            return known
        outcome = self._made(row, params, region)
        if outcome.code in NO_CONNECTION:
            note = f"not asked: {row.service} in {region} did not answer before ({outcome.code})"
            self._dead[place] = outcome._replace(pages=(), notes=(note,))
        if outcome.ends_gathering:
            at = self._clock.now().strftime("%H:%M:%SZ")
            note = f"not asked: the credentials were refused at {at} ({outcome.code})"
            self._ended[region] = outcome._replace(pages=(), notes=(note,))
        return outcome

    def _made(self, row: Read, params: Mapping[str, Any], region: str) -> Outcome:
        caller = self._caller
        if caller.budget.shortage() is not None:
            return failed((), caller.shortage())
        unlike = self._cluster_not_described(row, params, region)
        if unlike is not None:
            return unlike
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

    def _sender(self, row: Read, region: str) -> Sender:
        if row.service in {PROMETHEUS, KUBERNETES}:
            return self._other_door(row, region)
        client = self._clients.client(self._login, row.service, region)
        method = getattr(client, xform_name(row.name))
        return lambda params: method(**params)

    def _other_door(self, row: Read, region: str) -> Sender:
        """Return what asks Prometheus or Kubernetes: signed by the same session as all else."""
        wire = self._clients.wire(self._login)
        session = self._clients.session(self._login, region)
        if row.service == PROMETHEUS:
            return lambda params: ask_prometheus(wire, session, region, row.name, params)

        def ask(params: Mapping[str, Any]) -> Page:
            if not params.keys() <= {"cluster", "nextToken"}:
                raise NotReadOnly(f"{row.operation} takes a cluster's name and nothing else")
            api = self._api(params["cluster"], region)
            return ask_kubernetes(wire, session, region, row.name, api, params.get("nextToken"))

        return ask

    def _cluster_not_described(
        self, row: Read, params: Mapping[str, Any], region: str
    ) -> Outcome | None:
        """Return why a cluster's API is not known where to be, or None where it is."""
        if row.service != KUBERNETES:
            return None
        name = str(params.get("cluster"))
        key = (name, region)
        if key not in self._described:
            self._described[key] = self.read(_DESCRIBE, {"name": name}, region)
        found = self._described[key]
        if not found.pages:
            note = (
                f"where its API is was not read: {_DESCRIBE.operation} {found.code or ''}".strip()
            )
            return found._replace(notes=(note, *found.notes))
        try:
            self._api(name, region)
        except ClientError as error:
            return failed((), failure_of(error.response))
        return None

    def _api(self, name: str, region: str) -> ClusterApi:
        page = self._described[name, region].pages[0]
        return cluster_api(object_at(page, "cluster"), name, region)


def _endpoint_of(row: Read, params: Mapping[str, Any]) -> str:
    """Return what tells endpoints apart: every cluster's API is one of its own."""
    return f"{KUBERNETES} {params.get('cluster')}" if row.service == KUBERNETES else row.service
