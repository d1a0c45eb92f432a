"""`gpuvet demo`: the main job on the case that comes with the package."""

import argparse
import sys
from pathlib import Path

from gpuvet.commands.common import Subparsers, add_format, clock

DEMO_CASE = Path(__file__).parents[1] / "demo_case"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "demo",
        help="judge the case that comes with the package",
        description="Four nodes, one lost GPU, one silent log: what gpuvet says of them. "
        "Everything in it is invented.",
    )
    add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge the demo case; a demonstration that works ends with 0, whatever it finds."""
    from gpuvet.case.load import load_case
    from gpuvet.modes.verdict import verdict_report
    from gpuvet.modes.window import Asked
    from gpuvet.report.verdict import verdict_text

    case = load_case(DEMO_CASE)
    report = verdict_report(case, Asked(), clock=clock())
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    else:
        sys.stdout.write(report.markdown if args.format == "markdown" else verdict_text(report))
    sys.stderr.write(f"the case behind it: gpuvet verdict --case {DEMO_CASE}\n")
    return 0
