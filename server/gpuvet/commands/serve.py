"""`gpuvet serve`: the MCP server over stdio."""

import argparse
from pathlib import Path

from gpuvet.commands.common import Subparsers, add_case


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "serve",
        help="run the MCP server",
        description="Serves the tools over stdio. Neither network nor credentials are needed to "
        "start; a case is read at the first call.",
    )
    add_case(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes."""
    from gpuvet.app import build_server
    from gpuvet.tools.case_judge import CaseJudge

    build_server(CaseJudge(Path(args.case), question=args.question)).run()
    return 0
