"""The accounts a process may ask: identities given at start, one door for each question.

Nothing is loaded or called before the first question.
"""

from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuvet.aws.budget import CLOCK, Budget, Clock
from gpuvet.aws.live import LiveAws
from gpuvet.aws.login import Admitted, Login
from gpuvet.aws.recorded import MAX_PAGES
from gpuvet.errors import UsageError
from gpuvet.model.evidence import Envelope, Reason
from gpuvet.model.untyped import text_at

if TYPE_CHECKING:
    from gpuvet.aws.live_clients import Clients
    from gpuvet.aws.live_queries import Queries


class Who(NamedTuple):
    """Whose credentials answer, and where."""

    region: str
    account: str | None = None
    arn: str | None = None


class Entered(NamedTuple):
    """One question's door, and whom it opens to."""

    door: LiveAws
    who: Who
    login: Login


class LiveAccounts:
    """Every identity and region that questions of this process may use."""

    def __init__(
        self,
        admitted: Admitted,
        *,
        clock: Clock = CLOCK,
        endpoint: str | None = None,
        clients: "Clients | None" = None,
    ) -> None:
        """Hold who may be asked.

        Args:
            admitted: Identities and regions given at start.
            clock: The clock of every question.
            endpoint: Where every request goes instead of AWS, e.g. a local fake.
            clients: Made already; None: at the first question.
        """
        self._admitted = admitted
        self._clock = clock
        self._endpoint = endpoint
        self._clients = clients
        self._queries: dict[tuple[Login, str], Queries] = {}
        self._known: dict[tuple[Login, str], Who] = {}
        self._lock = Lock()

    @property
    def clock(self) -> Clock:
        """The clock of every question."""
        return self._clock

    def enter(
        self,
        *,
        profile: str | None = None,
        region: str | None = None,
        role: str | None = None,
        budget: Budget | None = None,
        max_pages: int = MAX_PAGES,
    ) -> Entered:
        """Return the door of one question, after asking whose credentials these are.

        Raises:
            UsageError: Not given at start; or there are no credentials, no region, no such role.
        """
        login = self._admitted.login(profile, role)
        wanted = self._admitted.region(region)
        clients, where = self._ready(login, wanted)
        queries = self._queries_of(login, where)
        spending = budget or Budget(monotonic=self._clock.monotonic)

        def door(account: str | None) -> LiveAws:
            return LiveAws(
                login,
                where,
                clients=clients,
                queries=queries,
                account=account,
                budget=spending,
                clock=self._clock,
                max_pages=max_pages,
            )

        who = self._known.get((login, where)) or self._identify(door(None), login, where)
        return Entered(door(who.account), who, login)

    def _ready(self, login: Login, region: str | None) -> "tuple[Clients, str]":
        from gpuvet.aws.live_clients import Clients

        with self._lock:
            self._clients = self._clients or Clients(endpoint=self._endpoint)
        where = region or self._clients.region_in_force(login)
        if where is None:
            raise UsageError("no region is set: give --region, or set AWS_REGION")
        return self._clients, where

    def _queries_of(self, login: Login, region: str) -> "Queries":
        from gpuvet.aws.live_queries import Queries

        with self._lock:
            return self._queries.setdefault((login, region), Queries())

    def _identify(self, door: LiveAws, login: Login, region: str) -> Who:
        answer = door.read("sts:GetCallerIdentity", {})
        page = next(iter(answer.value or ()), None)
        if page is None:
            _refuse_without_credentials(answer, login)
            return Who(region)
        who = Who(region, text_at(page, "Account"), text_at(page, "Arn"))
        self._known[(login, region)] = who
        return who


_SIGNED_OUT = frozenset(
    {
        "SSOTokenLoadError",
        "UnauthorizedSSOTokenError",
        "TokenRetrievalError",
        "LoginRefreshRequired",
        "LoginTokenLoadError",
    }
)


def _refuse_without_credentials(answer: Envelope[Any], login: Login) -> None:
    """Raise one sentence where nothing that follows could be answered.

    GetCallerIdentity needs no permission, so a denial of it is one of AssumeRole.
    """
    said = f" ({answer.notes[0].rstrip('.')})" if answer.notes else ""
    if answer.reason is Reason.DENIED and login.role is not None:
        raise UsageError(f"role {login.role} may not be assumed by these credentials{said}")
    if answer.reason is not Reason.EXPIRED:
        return
    profile = f" --profile {login.profile}" if login.profile else ""
    if answer.error_code == "NoCredentialsError":
        raise UsageError(
            "no AWS credentials were found; sign in (`aws sso login`, `aws configure`) or name "
            "a --profile that has some"
        )
    if answer.error_code in _SIGNED_OUT:
        raise UsageError(f"the AWS sign-in has expired; run `aws sso login{profile}`")
    raise UsageError(f"AWS refused the credentials as invalid or expired; sign in again{said}")
