"""`gpuvet serve`: the MCP server over stdio."""

import argparse
from pathlib import Path

from gpuvet.aws.budget import MCP_SECONDS, SCAN_GB
from gpuvet.commands.common import Subparsers, add_case, add_login


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "serve",
        help="run the MCP server",
        description="Serves the tools over stdio. Neither network nor credentials are needed to "
        "start; a case is read at the first call. Without --case the tools answer from a live "
        "account: with the profiles, regions and roles given here (the first of each is the "
        "default), or with what is in force.",
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes."""
    from gpuvet.app import build_server

    if args.case is None:
        from gpuvet.aws.live_account import LiveAccounts
        from gpuvet.commands.live import login_of, read_seconds
        from gpuvet.tools.live_source import LiveSource

        source = LiveSource(
            LiveAccounts(login_of(args)),
            seconds=read_seconds(args.deadline, MCP_SECONDS),
            max_scan_gb=args.max_scan_gb,
        )
        build_server(source, source).run()
        return 0
    from gpuvet.tools.case_judge import CaseJudge

    build_server(CaseJudge(Path(args.case), question=args.question)).run()
    return 0
