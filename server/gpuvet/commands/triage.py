"""`gpuvet triage`: picks the mode from the question and the evidence, says why, and runs it."""

import argparse
import sys

from gpuvet.commands.common import Subparsers, add_case, add_live, add_times, clock


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "triage",
        help="pick the mode from the question, and run it",
        description="Incident, Preflight or Audit: chosen by rule from the question and from what "
        "the case holds. The choice and its reason go to stderr.",
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Choose, say so, and answer."""
    from gpuvet.calculators.question import choose_mode
    from gpuvet.commands import audit, incident, preflight
    from gpuvet.commands.live import opened_case
    from gpuvet.modes.incident import inputs_of

    with opened_case(args) as case:
        choice = choose_mode(case.meta.question, inputs_of(case), stated=case.meta.mode)
        sys.stderr.write(f"mode: {choice.mode} ({choice.why})\n")
        if choice.mode == "Incident":
            return incident.answer(case, args, clock())
        if choice.mode == "Preflight":
            return preflight.answer(case, args, clock())
        return audit.answer(case, args, clock())
