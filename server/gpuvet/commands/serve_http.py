"""The arguments of `gpuvet serve --http`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gpuvet.errors import UsageError

if TYPE_CHECKING:
    from gpuvet.web.settings import HttpSettings, Limits

_DEFAULT_HOST, _DEFAULT_PORT = "127.0.0.1", 8000


def add_http(parser: argparse.ArgumentParser) -> None:
    """Add `--http` and what belongs to it."""
    http = parser.add_argument_group(
        "over HTTP",
        "The server answers at /mcp and says at /health that it lives. Logs are JSON lines on "
        "stderr. Tools have no profile and no role there.",
    )
    http.add_argument("--http", action="store_true", help="Streamable HTTP instead of stdio")
    http.add_argument("--host", metavar="ADDRESS", help=f"default {_DEFAULT_HOST}")
    http.add_argument(
        "--port", type=int, metavar="N", help=f"default {_DEFAULT_PORT}; 0 for any free one"
    )
    http.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="holds the bearer token callers must send; else GPUVET_HTTP_TOKEN; needed on any "
        "address but the loopback's",
    )
    http.add_argument(
        "--allow-host",
        action="append",
        metavar="NAME",
        help="a name by which clients reach the server, beside localhost; *.NAME for all below it",
    )
    http.add_argument(
        "--allow-origin", action="append", metavar="URL", help="a web page that may call, if any"
    )


def http_settings_of(args: argparse.Namespace) -> "HttpSettings | None":
    """Return how to listen, None for stdio.

    Raises:
        UsageError: An option of HTTP without --http, several identities over HTTP, or what
            `http_settings` refuses.
    """
    given = (args.host, args.port, args.token_file, args.allow_host, args.allow_origin)
    if not args.http:
        if any(value is not None for value in given):
            raise UsageError(
                "--host, --port, --token-file, --allow-host and --allow-origin belong to --http"
            )
        return None
    for name in ("profile", "role"):
        if len(getattr(args, name) or ()) > 1:
            raise UsageError(
                f"over HTTP no caller chooses a {name}: give one --{name}, or start a server for "
                "each"
            )
    from gpuvet.web.settings import http_settings, read_token

    return http_settings(
        host=args.host or _DEFAULT_HOST,
        port=_DEFAULT_PORT if args.port is None else args.port,
        token=read_token(args.token_file),
        hosts=tuple(args.allow_host or ()),
        origins=tuple(args.allow_origin or ()),
        limits=_limits(args.deadline),
    )


def _limits(deadline: str | None) -> "Limits":
    from gpuvet.web.settings import Limits

    limits = Limits()
    if deadline is None:
        return limits
    from gpuvet.aws.budget import MCP_SECONDS
    from gpuvet.commands.live import read_seconds

    # An answer that the deadline allowed is given, not cut off.
    slack = limits.work_seconds - MCP_SECONDS
    work = max(limits.work_seconds, read_seconds(deadline, MCP_SECONDS) + slack)
    return limits.model_copy(update={"work_seconds": work})
