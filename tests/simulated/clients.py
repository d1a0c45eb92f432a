"""The simulated account behind the live door: clients like boto3's, each call checked by its model.

They stand where `Clients` would make boto3 clients, so everything above runs as it does against
AWS: pages, retries, budgets, queries that have to be waited for.
"""

from functools import cache
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from simulated.account import Account
from simulated.fleet import ACCOUNT, REGION

from gpuvet.aws.budget import Budget
from gpuvet.aws.live import LiveAws
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.live_queries import Queries
from gpuvet.aws.login import Login

_CORE = botocore.session.get_session()


@cache
def _model(service: str) -> ServiceModel:
    return _CORE.get_service_model(service)


@cache
def _operations(service: str) -> dict[str, str]:
    return {xform_name(name): name for name in _model(service).operation_names}


class BadCall(AssertionError):
    """A request the service's model would not let out."""


class _Client:
    """One service of the account."""

    def __init__(self, account: Account, service: str) -> None:
        self._account = account
        self._service = service

    def __getattr__(self, method: str) -> Any:  # noqa: ANN401 (a client's method)
        name = _operations(self._service)[method]
        shape: Any = _model(self._service).operation_model(name).input_shape

        def call(**params: object) -> dict[str, Any]:
            report = ParamValidator().validate(params, shape)
            if report.has_errors():
                raise BadCall(f"{self._service}:{name}: {report.generate_report()}")
            return self._account.call(f"{self._service}:{name}", params)

        return call


class SimulatedClients(Clients):
    """See `Clients`; every identity and region leads to the one account."""

    def __init__(self, account: Account) -> None:
        super().__init__()
        self._account = account

    def client(self, login: Login, service: str, region: str) -> Any:  # noqa: ANN401, ARG002 (a client)
        """Return a client of the simulated account."""
        return _Client(self._account, service)

    def region_in_force(self, login: Login) -> str | None:  # noqa: ARG002 (one account for all)
        """Return the account's region."""
        return REGION


def live_door(
    account: Account,
    *,
    seconds: float = 600.0,
    calls: int | None = None,
    queries: Queries | None = None,
) -> LiveAws:
    """Return the live door to a simulated account, with a budget that begins now."""
    clock = account.clock.clock
    return LiveAws(
        Login(),
        REGION,
        clients=SimulatedClients(account),
        queries=queries,
        account=ACCOUNT,
        budget=Budget(seconds, calls, monotonic=clock.monotonic),
        clock=clock,
    )
