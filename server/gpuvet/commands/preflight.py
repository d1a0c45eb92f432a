"""`gpuvet preflight`: will this run survive until its end."""

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpuvet.commands.common import Subparsers, add_case, add_live, clock
from gpuvet.errors import UsageError

if TYPE_CHECKING:
    from gpuvet.case import Case
    from gpuvet.modes.preflight_run import RunWords

_MOST_SPEC = 1 << 20  # the contract of the answers: a manifest has at most 1 MiB


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "preflight",
        help="will this run survive until its end",
        description="Capacity, recovery, sight, network, storage and the job spec against a run "
        "that has not begun. Without a length 24, 48 and 72 h are each decided. Ends with 1 for "
        "Ready No, so that a pipeline can stop, and with 3 for Not decided.",
    )
    add_case(parser, required=False)
    add_live(parser)
    parser.add_argument("--start", metavar="TIME", help="ISO 8601 with Z; default now")
    parser.add_argument("--hours", type=float, metavar="H", help="length of the run")
    parser.add_argument("--checkpoint-every", metavar="SPAN", help="e.g. 30m, 2h")
    parser.add_argument("--checkpoint-gib", type=float, metavar="N", help="size of one checkpoint")
    parser.add_argument("--nodes", type=int, metavar="N", help="nodes the run takes")
    parser.add_argument(
        "--auto-resume",
        choices=("yes", "no"),
        help="whether the job restarts by itself (srun --auto-resume=1, an operator)",
    )
    parser.add_argument("--spec", metavar="FILE", help="the job: a HyperPodPyTorchJob or monitors")
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "json", "html"),
        default="text",
        help="default: text; html is one self-contained page",
    )
    parser.add_argument("--full", action="store_true", help="the whole report with its tables")
    parser.add_argument("--fail-on", choices=("risk",), help="end with 1 for risks too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Answer for a case, an account, or a job spec alone, and print the report."""
    from gpuvet.case import load_case
    from gpuvet.commands.live import opened_case
    from gpuvet.commands.recording import refuse_recording

    names_nodes = any((args.case, args.cluster, args.instances, args.tag))
    if args.spec is not None and not names_nodes:
        refuse_recording(args, "a job spec alone asks nobody")
        return answer(load_case(Path(args.spec), question=args.question), args, clock())
    with opened_case(args) as case:
        return answer(case, args, clock())


def answer(case: "Case", args: argparse.Namespace, now: datetime) -> int:
    """Print the preflight report of a case; return its exit code."""
    from gpuvet.modes.preflight import exit_code, preflight_report
    from gpuvet.report.preflight import preflight_markdown, preflight_short

    report = preflight_report(case, _words(args), clock=now)
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    elif args.format == "html":
        from gpuvet.report.html import preflight_page

        sys.stdout.write(preflight_page(report))
    elif args.format == "markdown":
        sys.stdout.write(report.markdown if args.full else report.short)
    else:
        whole = preflight_markdown if args.full else preflight_short
        sys.stdout.write(whole(report, plain=True))
    return exit_code(report, fail_on_risk=getattr(args, "fail_on", None) == "risk")


def _words(args: argparse.Namespace) -> "RunWords":
    """Return what the command line says of the run; `triage` has none of these options."""
    from gpuvet.modes.preflight_run import RunWords

    resume = getattr(args, "auto_resume", None)
    spec = getattr(args, "spec", None)
    kept = getattr(args, "spec_text", None)  # as it went into a recording
    text = kept if kept is not None or spec is None else read_spec(Path(spec))
    file = getattr(args, "spec_file", None) or (Path(spec).name if spec is not None else "job spec")
    return RunWords(
        start=getattr(args, "start", None),
        hours=getattr(args, "hours", None),
        checkpoint_every=getattr(args, "checkpoint_every", None),
        checkpoint_gib=getattr(args, "checkpoint_gib", None),
        nodes=getattr(args, "nodes", None),
        auto_resume=None if resume is None else resume == "yes",
        spec=text,
        spec_file=file,
    )


def read_spec(path: Path) -> str:
    """Return the text of a job spec, one character more than we judge where it is longer.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_SPEC + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
