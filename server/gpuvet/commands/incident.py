"""`gpuvet incident`: what failed, why, and what to do."""

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from gpuvet.commands.common import Subparsers, add_case, add_live, add_times, clock

if TYPE_CHECKING:
    from gpuvet.case import Case


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "incident",
        help="what failed, why, and what to do",
        description="Node verdicts, causes A to F with their labels, what was not seen, and what "
        "an operator would do. The short answer by default, --full for the tables.",
    )
    add_case(parser, required=False)
    add_live(parser)
    add_times(parser)
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "json", "html"),
        default="text",
        help="default: text; html is one self-contained page",
    )
    parser.add_argument("--full", action="store_true", help="the whole report with its tables")
    parser.add_argument(
        "--support-case", action="store_true", help="text ready to paste into an AWS Support case"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Answer for a case and print the report."""
    from gpuvet.commands.live import opened_case

    with opened_case(args) as case:
        return answer(case, args, clock())


def answer(case: "Case", args: argparse.Namespace, now: datetime) -> int:
    """Print the incident report of a case; return its exit code."""
    from gpuvet.modes.incident import exit_code, incident_report
    from gpuvet.modes.window import Asked
    from gpuvet.report.incident import incident_markdown, incident_short
    from gpuvet.report.support_case import support_case

    asked = Asked(since=args.since, until=args.until, failure_at=args.failure_at)
    report = incident_report(case, asked, clock=now)
    if getattr(args, "support_case", False):
        sys.stdout.write(support_case(report))
    elif args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    elif args.format == "html":
        from gpuvet.report.html import incident_page

        sys.stdout.write(incident_page(report))
    elif args.format == "markdown":
        sys.stdout.write(report.markdown if args.full else report.short)
    else:
        whole = incident_markdown if args.full else incident_short
        sys.stdout.write(whole(report, plain=True))
    return exit_code(report)
