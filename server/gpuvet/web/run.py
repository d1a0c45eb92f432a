"""Runs a server over HTTP until it is told to stop."""

import logging
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp
from uvicorn import Config, Server

from gpuvet import __version__
from gpuvet.errors import UsageError
from gpuvet.web.connection import connection_class
from gpuvet.web.front import Front
from gpuvet.web.logs import log_json, note
from gpuvet.web.noting import call_noter
from gpuvet.web.settings import PATH, HttpSettings

if TYPE_CHECKING:
    from socket import socket

_CLOSING_SECONDS = 5  # ours: what is being answered may end; a container is killed after 10 s


def asgi_app(server: MCPServer, settings: HttpSettings) -> Front:
    """Return the application that serves an MCP server: Streamable HTTP, no sessions."""
    inner: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=settings.limits.request_bytes,
        # `admission` checks host and origin on every address, with names the SDK cannot express.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Front(inner, settings)


class _Announced(Server):
    """Says where it listens once it does."""

    async def startup(self, sockets: "list[socket] | None" = None) -> None:
        """Start, and log the port: it may have been 0."""
        await super().startup(sockets)
        if self.started:
            name = self.servers[0].sockets[0].getsockname()
            where = {"host": name[0], "port": name[1], "path": PATH}
            note("listening", {**where, "version": __version__})


def listening(server: MCPServer, settings: HttpSettings) -> Server:
    """Return what will listen once it is run."""
    server.middleware.append(call_noter(server))
    return _Announced(
        Config(
            asgi_app(server, settings),
            host=settings.host,
            port=settings.port,
            http=connection_class(settings.limits),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
    )


def serve_http(server: MCPServer, settings: HttpSettings) -> None:
    """Serve until SIGINT or SIGTERM; what is being answered then may end.

    Raises:
        UsageError: The address cannot be listened on.
    """
    log_json(_level_asked_for())
    with _signals_end_quietly():
        try:
            listening(server, settings).run()
        except SystemExit as error:
            raise UsageError(
                f"cannot listen on {settings.host}:{settings.port}; the line above says why"
            ) from error
    note("stopped")


def _level_asked_for() -> int | None:
    word = os.environ.get("GPUVET_LOG_LEVEL", os.environ.get("FASTMCP_LOG_LEVEL", ""))
    return logging.getLevelNamesMapping().get(word.upper())


@contextmanager
def _signals_end_quietly() -> Generator[None]:
    """Being told to stop is no failure, yet uvicorn raises the signal that ended it once more."""
    names = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, _nothing) for number in names}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing(_number: int, _frame: object) -> None:
    """Do nothing."""
