"""One HTTPS request of the Prometheus and Kubernetes doors: guarded, bounded, never led elsewhere.

Prometheus goes through botocore's own HTTP session, so that proxies and CA bundles hold as for
every AWS call. A cluster signs its API with its own authority: that one, and no other, is
trusted, through the standard library and without a file. So no extra package is needed.
"""

import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from botocore.awsrequest import AWSRequest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import URLLib3Session
from botocore.parsers import ResponseParserError
from botocore.response import StreamingBody
from botocore.utils import get_environ_proxies

from gpuvet.aws.door_guard import Outgoing, refuse_unlisted
from gpuvet.model.untyped import is_object

CONNECT_SECONDS, READ_SECONDS = 5, 20
# Ours: beyond this an answer is not read to its end; it comes to no rows, and says so.
MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class Incoming(NamedTuple):
    """What came back: the status, and the body up to its bound."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


Transport = Callable[[Outgoing, str | None], Incoming]
"""Sends one request; the second argument is the authority to trust (PEM), None: the usual ones."""


class Wire:
    """What the two doors send through; nothing that is not listed gets to the transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, operation: str, request: Outgoing, authority: str | None = None) -> Any:  # noqa: ANN401 (JSON)
        """Return the JSON a listed request is answered with.

        Args:
            operation: For the error, where one comes back.
            request: As it leaves.
            authority: The one certificate to trust, as PEM; None: those of the machine.

        Raises:
            NotReadOnly: The request is on neither list; nothing was sent.
            ClientError: The service answered with an error, a redirect, or too much.
            BotoCoreError: No answer came, or none that is JSON.
        """
        refuse_unlisted(request)
        answer = self._transport(request, authority)
        if 300 <= answer.status < 400:
            _error(operation, "Redirected", "it points elsewhere; nobody follows", answer.status)
        if len(answer.body) > MOST_BYTES:
            told = f"the answer is longer than {MOST_BYTES // 2**20} MiB"
            _error(operation, "AnswerTooLarge", told, 200)
        if answer.status != 200:
            code, message = _told(answer)
            _error(operation, code, message, answer.status)
        document = _json(answer.body)
        if not is_object(document):
            raise ResponseParserError("the answer is no JSON object")
        return document


def _told(answer: Incoming) -> tuple[str, str]:
    """Return code and message of an error: AWS's header, Prometheus' type, Kubernetes' reason."""
    said = _json(answer.body)
    body: Mapping[str, Any] = said if is_object(said) else {}
    kind = answer.headers.get("x-amzn-errortype", "").partition(":")[0]
    code = kind or next(
        (str(body[name]) for name in ("__type", "errorType", "reason", "code") if body.get(name)),
        f"HTTP {answer.status}",
    )
    message = next((body[name] for name in ("error", "message", "Message") if name in body), "")
    return code.rpartition("#")[2][:80], str(message)[:300]


def _json(body: bytes) -> object:
    try:
        read: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return read


def _error(operation: str, code: str, message: str, status: int) -> NoReturn:
    told: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    raise ClientError(told, operation)


@dataclass(frozen=True, slots=True)
class Https:
    """Sends for real; see `Transport`."""

    bundle: str | bool = True  # botocore's `verify`: a CA bundle of the configuration, or its own

    def __call__(self, request: Outgoing, authority: str | None) -> Incoming:
        """Send one request.

        Raises:
            ClientError: No connection came about.
            BotoCoreError: No answer came.
        """
        if authority is not None:
            return _to_cluster(request, authority)
        return _through_botocore(request, self.bundle)


def _through_botocore(request: Outgoing, bundle: str | bool) -> Incoming:
    # botocore's session neither follows redirects nor tries again.
    settings: dict[str, Any] = {
        "verify": bundle,
        "proxies": get_environ_proxies(request.url),
        "timeout": (CONNECT_SECONDS, READ_SECONDS),
    }
    session: Any = URLLib3Session(**settings)
    try:
        made = AWSRequest(
            method=request.method,
            url=request.url,
            headers=dict(request.headers),
            data=request.body,
            stream_output=True,
        ).prepare()
        answer: Any = session.send(made)
        headers = {str(name).lower(): str(value) for name, value in answer.headers.items()}
        stream: Any = StreamingBody
        body = stream(answer.raw, None)
        return Incoming(answer.status_code, bounded(body.read), headers)
    finally:
        session.close()


def _to_cluster(request: Outgoing, authority: str) -> Incoming:
    parts = urlsplit(request.url)
    where = f"https://{parts.netloc}"
    try:
        trust = ssl.create_default_context(cadata=authority)
        trust.minimum_version = ssl.TLSVersion.TLSv1_2
    except ssl.SSLError as error:
        raise SSLError(endpoint_url=where, error=error) from error
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port, timeout=CONNECT_SECONDS, context=trust
    )
    _connect(connection, where)
    try:
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(request.method, target, headers=dict(request.headers))
        answer = connection.getresponse()
        return Incoming(answer.status, bounded(answer.read))
    except TimeoutError as error:
        raise ReadTimeoutError(endpoint_url=where, error=error) from error
    except (http.client.HTTPException, OSError) as error:
        raise ConnectionClosedError(endpoint_url=where, error=error) from error
    finally:
        connection.close()


def _connect(connection: http.client.HTTPSConnection, where: str) -> None:
    try:
        connection.connect()
    except ssl.SSLError as error:
        connection.close()
        raise SSLError(endpoint_url=where, error=error) from error
    except TimeoutError:
        # A private endpoint, asked from outside its VPC, answers nothing at all.
        _error("connect", "ConnectTimeout", f"no connection to {where} came about", 0)
    except OSError as error:
        raise EndpointConnectionError(endpoint_url=where, error=error) from error
    connection.sock.settimeout(READ_SECONDS)


def bounded(read: Callable[[int], bytes]) -> bytes:
    """Return a body up to one byte beyond the bound."""
    parts: list[bytes] = []
    size = 0
    while size <= MOST_BYTES and (part := read(min(_CHUNK, MOST_BYTES + 1 - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
