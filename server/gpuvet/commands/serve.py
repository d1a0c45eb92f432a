"""`gpuvet serve`: the MCP server over stdio, or over HTTP."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gpuvet.aws.budget import MCP_SECONDS, SCAN_GB
from gpuvet.commands.common import Subparsers, add_case, add_login
from gpuvet.commands.serve_http import add_http, http_settings_of

if TYPE_CHECKING:
    from gpuvet.tools.request import Evidence

_NO_IDENTITY: Mapping[str, str] = dict.fromkeys(
    ("profile", "role"), "over HTTP no caller chooses an identity; it was given at start"
)
_NOTHING: Mapping[str, str] = {}


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "serve",
        help="run the MCP server",
        description="Serves the tools over stdio, or with --http over Streamable HTTP at /mcp. "
        "Neither network nor credentials are needed to start; a case is read at the first call. "
        "Without --case the tools answer from a live account: with the profiles, regions and "
        "roles given here (the first of each is the default), or with what is in force.",
    )
    add_case(parser, required=False)
    add_login(parser)
    parser.add_argument(
        "--deadline", metavar="TIME", help=f"of one request; default {MCP_SECONDS:g}s"
    )
    parser.add_argument(
        "--max-scan-gb",
        type=float,
        default=SCAN_GB,
        metavar="GB",
        help=f"most that log queries of one request may scan; default {SCAN_GB:g}",
    )
    parser.add_argument(
        "--tools",
        choices=("core", "all"),
        default="all",
        help="core: modes, calculators and job specs only; default: all, which also shows single "
        "sources (nodes, events, log lines, metrics, …)",
    )
    parser.add_argument(
        "--allow-log-group",
        action="append",
        metavar="GROUP",
        help="a log group that read_log_lines may read beside those of the cluster; repeat it",
    )
    add_http(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes, or over HTTP until told to stop."""
    settings = http_settings_of(args)
    _forget_blanks()
    from gpuvet.app import build_server

    server = build_server(
        _evidence(args),
        is_account=args.case is None,
        choice=args.tools,
        without=_NO_IDENTITY if args.http else _NOTHING,
    )
    if settings is None:
        server.run()
        return 0
    from gpuvet.web.run import serve_http

    serve_http(server, settings)
    return 0


def _forget_blanks() -> None:
    """Drop variables that a host set to nothing: boto3 would take that for a profile's name."""
    for name in ("AWS_PROFILE", "AWS_REGION"):
        if not os.environ.get(name, "unset").strip():
            del os.environ[name]


def _evidence(args: argparse.Namespace) -> "Evidence":
    allowed: tuple[str, ...] = tuple(args.allow_log_group or ())
    if args.case is not None:
        from gpuvet.tools.case_judge import CaseJudge

        return CaseJudge(Path(args.case), question=args.question, allowed_groups=allowed)
    from gpuvet.aws.live_account import LiveAccounts
    from gpuvet.commands.live import login_of, read_seconds
    from gpuvet.tools.live_source import LiveSource

    return LiveSource(
        LiveAccounts(login_of(args)),
        seconds=read_seconds(args.deadline, MCP_SECONDS),
        max_scan_gb=args.max_scan_gb,
        allowed_groups=allowed,
    )
