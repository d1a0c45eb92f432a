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
        help="answer for the case that comes with the package",
        description="Four nodes, one lost GPU, one silent log: what failed, why, and what to do. "
        "Everything in it is invented.",
    )
    add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Answer for the demo case; a demonstration that works ends with 0, whatever it finds."""
    from gpuvet.case.load import load_case
    from gpuvet.modes.incident import incident_report
    from gpuvet.modes.window import Asked
    from gpuvet.report.incident import incident_short

    report = incident_report(load_case(DEMO_CASE), Asked(), clock=clock())
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    else:
        plain = args.format == "text"
        sys.stdout.write(incident_short(report, plain=plain))
    sys.stderr.write(f"the same, with its tables: gpuvet incident --full --case {DEMO_CASE}\n")
    return 0
