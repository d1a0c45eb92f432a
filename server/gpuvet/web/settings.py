"""Who may reach an HTTP server, and how much they may ask of it."""

import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from gpuvet.errors import UsageError
from gpuvet.model.base import Value

TOKEN_VARIABLE = "GPUVET_HTTP_TOKEN"  # noqa: S105 (the name of a variable, not a token)
PATH = "/mcp"
HEALTH = "/health"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"

# All ours. Answers have at most 40,000 characters a half; a request may carry a stdout log.
_LEAST_TOKEN, _MOST_TOKEN = 16, 4_096  # characters
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 (named to be recognised, not bound)


class Limits(Value):
    """What one process bears. Beyond them it refuses and stays up."""

    request_bytes: int = 4 * 1024 * 1024
    bodies_bytes: int = 64 * 1024 * 1024  # of all requests that are being worked on
    requests: int = 256  # at once
    connections: int = 512  # at once
    head_seconds: float = 10.0  # until the head of a request has come
    body_seconds: float = 20.0  # until its body has come
    work_seconds: float = 75.0  # until it is answered; a live read ends at 45 s by itself
    stall_seconds: float = 20.0  # until a client that does not read is let go


class HttpSettings(Value):
    """How `gpuvet serve --http` listens."""

    host: str
    port: int = Field(ge=0, le=65_535)
    token: str | None = Field(default=None, repr=False)
    hosts: tuple[str, ...] = ()  # names in Host besides the loopback's; "*.NAME" or "*"
    origins: tuple[str, ...] = ()  # besides the loopback's
    limits: Limits = Limits()


def http_settings(
    *,
    host: str,
    port: int,
    token: str | None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    limits: Limits | None = None,
) -> HttpSettings:
    """Return checked settings.

    Raises:
        UsageError: Another address than the loopback's without a token, or a port out of range.
    """
    if token is None and not is_loopback(host):
        raise UsageError(
            f"--host {host!r} can be reached from other machines: give a bearer token with "
            f"--token-file or {TOKEN_VARIABLE}, or listen on 127.0.0.1"
        )
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port {port} is no port; 0 to 65535, 0 for any free one")
    own = () if is_loopback(host) or host in _WILDCARDS else (_in_header(host),)
    return HttpSettings(
        host=host,
        port=port,
        token=token,
        hosts=(*own, *(name.lower() for name in hosts)),
        origins=tuple(origin.lower().rstrip("/") for origin in origins),
        limits=limits or Limits(),
    )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _in_header(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


def read_token(path: Path | None) -> str | None:
    """Return the bearer token of a file, else of the environment, else None.

    Raises:
        UsageError: The file cannot be read, or what was given is no usable token. Its text is
            never quoted.
    """
    if path is not None:
        try:
            with path.open(encoding="utf-8") as file:
                return _checked(file.read(_MOST_TOKEN + 2).strip(), f"--token-file {path}")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise UsageError(f"--token-file {path} cannot be read: {reason}") from error
    given = os.environ.get(TOKEN_VARIABLE)
    return None if given is None else _checked(given.strip(), TOKEN_VARIABLE)


def _checked(token: str, where: str) -> str:
    visible = token.isascii() and token.isprintable() and " " not in token
    if not visible or not _LEAST_TOKEN <= len(token) <= _MOST_TOKEN:
        raise UsageError(
            f"{where} holds no usable token: one line of {_LEAST_TOKEN} to {_MOST_TOKEN} visible "
            "ASCII characters, e.g. from `python -c 'import secrets; "
            "print(secrets.token_urlsafe(32))'`"
        )
    return token
