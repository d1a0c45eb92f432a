"""Who is let in: host, origin and bearer token of one request. Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import NamedTuple

from gpuvet.web.settings import ANY, LOOPBACK_NAMES, HttpSettings

_LOOPBACK_ORIGINS = tuple(
    f"{scheme}://{name}" for scheme in ("http", "https") for name in LOOPBACK_NAMES
)


class Refusal(NamedTuple):
    """Why a request is not served, in words that quote nothing of it."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


def refused(headers: Mapping[str, str], settings: HttpSettings) -> Refusal | None:
    """Return why a request may not come in, or None.

    Args:
        headers: By name in lower case; of a name given twice the last, see `header_map`.
        settings: Of the server.
    """
    if not is_named(headers.get("host", ""), settings.hosts):
        return Refusal(421, "this Host is not served here; start with --allow-host NAME to add it")
    origin = headers.get("origin")
    if origin is not None and not is_origin(origin, settings.origins):
        return Refusal(403, "this Origin is not let in; start with --allow-origin URL to add it")
    if settings.token is not None and not is_bearer(
        headers.get("authorization", ""), settings.token
    ):
        challenge = ((b"www-authenticate", b'Bearer realm="gpuvet"'),)
        return Refusal(401, "a bearer token is needed in the Authorization header", challenge)
    return None


def is_named(host: str, hosts: tuple[str, ...]) -> bool:
    """Whether a Host header names the loopback or one of the given hosts, with any port."""
    name = _without_port(host.lower())
    if name is None:
        return False
    if name in LOOPBACK_NAMES:
        return True
    return any(_matches(name, host.lower(), allowed) for allowed in hosts)


def _matches(name: str, with_port: str, allowed: str) -> bool:
    if allowed == ANY or allowed in {name, with_port}:
        return True
    return allowed.startswith("*.") and name.endswith(allowed[1:]) and name != allowed[1:]


def is_origin(origin: str, origins: tuple[str, ...]) -> bool:
    """Whether an Origin header is the loopback's, with any port, or one of the given."""
    given = origin.lower()
    if given in origins or ANY in origins:
        return True
    scheme, separator, rest = given.partition("://")
    name = _without_port(rest)
    return name is not None and f"{scheme}{separator}{name}" in _LOOPBACK_ORIGINS


def _without_port(host: str) -> str | None:
    """Return the name of HOST or HOST:PORT, None where it is neither."""
    if host.startswith("["):
        name, bracket, rest = host.partition("]")
        name += bracket
    else:
        name, colon, port = host.partition(":")
        rest = colon + port
    is_port = rest == "" or (rest[0] == ":" and rest[1:].isascii() and rest[1:].isdigit())
    return name if name and is_port else None


def is_bearer(authorization: str, token: str) -> bool:
    """Whether an Authorization header carries the token; takes as long for any wrong one."""
    scheme, _, given = authorization.partition(" ")
    # Digests have one length, so that not even the token's length can be timed.
    same = hmac.compare_digest(_digest(given.strip()), _digest(token))
    return same and scheme.lower() == "bearer"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def header_map(raw: list[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """Return headers by name, or None where one that decides is ambiguous.

    A name given twice, or two ways of saying where the body ends, may be read otherwise by a
    proxy in front of us.
    """
    found: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in found and key in {"host", "origin", "authorization", "content-length"}:
            return None
        found[key] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:
        return None
    return found
