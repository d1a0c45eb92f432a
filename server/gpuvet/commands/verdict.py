"""`gpuvet verdict`: one verdict per node."""

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from gpuvet.commands.common import Subparsers, add_case, add_format, add_live, add_times, clock

if TYPE_CHECKING:
    from gpuvet.case import Case


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "verdict",
        help="one verdict per node, with its grounds",
        description="REPLACE, REBOOT, UNVERIFIED, MONITOR, LEAVE ALONE or NOT OBSERVABLE for "
        "every node, with the raw lines behind it and what could not be seen.",
    )
    add_case(parser, required=False)
    add_live(parser)
    add_times(parser)
    add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge the nodes of a case and print the report."""
    from gpuvet.commands.live import opened_case

    with opened_case(args) as case:
        return answer(case, args, clock())


def answer(case: "Case", args: argparse.Namespace, now: datetime) -> int:
    """Print the verdict report of a case; return its exit code."""
    from gpuvet.modes.verdict import exit_code, verdict_report
    from gpuvet.modes.window import Asked
    from gpuvet.report.verdict import verdict_text

    asked = Asked(since=args.since, until=args.until, failure_at=args.failure_at)
    report = verdict_report(case, asked, clock=now)
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    else:
        sys.stdout.write(report.markdown if args.format == "markdown" else verdict_text(report))
    return exit_code(report)
