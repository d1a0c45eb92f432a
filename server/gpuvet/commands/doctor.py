"""`gpuvet doctor`: what the credentials and the account let us see."""

import argparse
import sys

from gpuvet.commands.common import Subparsers, add_format, add_login


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "doctor",
        help="what the credentials and the account let us see",
        description="Identity, account and region; each source readable, empty or denied; the "
        "log groups found; the policy to ask for. Answers within 20 seconds.",
    )
    add_login(parser)
    add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Try every read once and print what came of it: 0 all readable, 3 too little."""
    from gpuvet.aws.live_account import LiveAccounts
    from gpuvet.commands.live import login_of
    from gpuvet.commands.progress import on_terminal
    from gpuvet.modes.access import account_access
    from gpuvet.report.access import access_text

    report = account_access(LiveAccounts(login_of(args)), progress=on_terminal())
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2, exclude={"markdown"}))
        sys.stdout.write("\n")
    else:
        is_page = args.format == "markdown"
        sys.stdout.write(report.markdown if is_page else access_text(report))
    return 0 if report.is_whole else 3
