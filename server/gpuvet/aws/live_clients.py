"""Sessions and clients of the live door, kept by the whole identity they belong to."""

import threading
from typing import Any, NamedTuple

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError, ProfileNotFound

from gpuvet import __version__
from gpuvet.aws.live_http import Https, Transport, Wire
from gpuvet.aws.live_paces import Paces
from gpuvet.aws.live_roles import assume
from gpuvet.aws.live_wire import guard
from gpuvet.aws.login import Login
from gpuvet.errors import UsageError

CONNECT_SECONDS, READ_SECONDS = 5, 20
# The longest a single request can take.
REQUEST_SECONDS = CONNECT_SECONDS + READ_SECONDS
# The door tries again by itself, within the deadline of the question (live_calls.py), in the
# manner of botocore's standard mode; a second loop below it would wait past that deadline.
_ATTEMPTS = 1


class ClientKey(NamedTuple):
    """Everything that tells one client from another."""

    login: Login
    region: str
    service: str
    endpoint: str | None


class Clients:
    """Clients by whole identity; one of these serves every question of a process."""

    def __init__(self, *, endpoint: str | None = None, transport: Transport | None = None) -> None:
        """Make nothing yet.

        Args:
            endpoint: Where every request goes instead of AWS, e.g. a local fake.
            transport: What sends the requests of Prometheus and Kubernetes; None: HTTPS.
        """
        self._endpoint = endpoint
        self._transport = transport
        self._sessions: dict[tuple[Login, str | None], boto3.Session] = {}
        self._clients: dict[ClientKey, Any] = {}
        self._paces: dict[tuple[Login, str], Paces] = {}
        # Clients are safe to share between threads; making one from a session is not.
        self._lock = threading.RLock()

    def session(self, login: Login, region: str | None = None) -> boto3.Session:
        """Return the session of an identity; nothing is called for it.

        Args:
            login: Profile, role and external id.
            region: Where STS is asked for the role; None: the region in force.

        Raises:
            UsageError: The profile does not exist.
        """
        source = login._replace(role=None, external_id=None)
        with self._lock:
            key = (login, region if login.role else None)
            if key not in self._sessions:
                if login.role is None:
                    self._sessions[key] = self._source(source)
                else:
                    made = self._assumed(login, region)
                    self._sessions[key] = boto3.Session(botocore_session=made)
            return self._sessions[key]

    def _source(self, login: Login) -> boto3.Session:
        core = botocore.session.Session()
        guard(core)
        try:
            return boto3.Session(botocore_session=core, profile_name=login.profile)
        except ProfileNotFound as error:
            names = ", ".join(repr(name) for name in core.available_profiles[:20]) or "none"
            wanted = login.profile or core.get_config_variable("profile")  # AWS_PROFILE
            raise UsageError(
                f"profile {wanted!r} does not exist; the configuration has {names}"
            ) from error

    def _assumed(self, login: Login, region: str | None) -> botocore.session.Session:
        source = self.session(login._replace(role=None, external_id=None))
        config: dict[str, Any] = {
            "region_name": region or source.region_name,
            "config": self._config(),
            "endpoint_url": self._endpoint,
        }
        # boto3 keeps the botocore session to itself; the guard hangs on exactly this one.
        return assume(source._session, login, config)  # noqa: SLF001

    def region_in_force(self, login: Login) -> str | None:
        """Return the region that the environment or the profile names."""
        return self.session(login._replace(role=None, external_id=None)).region_name

    def client(self, login: Login, service: str, region: str) -> Any:  # noqa: ANN401 (a boto3 client)
        """Return the client of a service for an identity in a region."""
        key = ClientKey(login, region, service, self._endpoint)
        with self._lock:
            if key not in self._clients:
                session: Any = self.session(login, region)
                self._clients[key] = session.client(
                    service,
                    region_name=region,
                    endpoint_url=self._endpoint,
                    config=self._config(),
                )
            return self._clients[key]

    def paces(self, login: Login, region: str) -> Paces:
        """Return the turns of an identity in a region, shared by all its questions."""
        with self._lock:
            return self._paces.setdefault((login, region), Paces())

    def wire(self, login: Login) -> Wire:
        """Return what the Prometheus and Kubernetes doors send through.

        Raises:
            EndpointConnectionError: Everything goes to a local fake, which has no such doors.
        """
        if self._transport is not None:
            return Wire(self._transport)
        if self._endpoint is not None:
            raise EndpointConnectionError(endpoint_url=self._endpoint)
        # boto3 keeps the botocore session to itself; it knows the CA bundle in force.
        core = self.session(login)._session  # noqa: SLF001
        return Wire(Https(core.get_config_variable("ca_bundle") or True))

    @property
    def made(self) -> tuple[ClientKey, ...]:
        """The clients that exist."""
        return tuple(self._clients)

    @staticmethod
    def _config() -> Config:
        return Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            max_pool_connections=16,
            user_agent_extra=f"md/gpuvet#{__version__}",
        )
