"""`gpuvet verdict`: one verdict per node."""

import argparse
import sys
from pathlib import Path

from gpuvet.commands.common import Subparsers, add_case, add_format, add_times, clock


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "verdict",
        help="one verdict per node, with its grounds",
        description="REPLACE, REBOOT, UNVERIFIED, MONITOR, LEAVE ALONE or NOT OBSERVABLE for "
        "every node, with the raw lines behind it and what could not be seen.",
    )
    add_case(parser)
    add_times(parser)
    add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge the nodes of a case and print the report."""
    from gpuvet.case.load import load_case
    from gpuvet.modes.verdict import exit_code, verdict_report
    from gpuvet.modes.window import Asked
    from gpuvet.report.verdict import verdict_text

    case = load_case(Path(args.case), question=args.question)
    asked = Asked(since=args.since, until=args.until, failure_at=args.failure_at)
    report = verdict_report(case, asked, clock=clock())
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    elif args.format == "markdown":
        sys.stdout.write(report.markdown)
    else:
        sys.stdout.write(verdict_text(report))
    return exit_code(report)
