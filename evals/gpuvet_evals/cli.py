"""The command line `gpuvet-evals`: results on stdout, everything else on stderr.

Exit codes: 0 nothing to act on; 1 findings (an eval regression, a lint error); 2 usage or
unreadable input; 3 no finding but too little seen; 4 a bug of ours.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuvet.errors import UsageError

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_TOO_LITTLE, EXIT_BUG = range(5)
AddParser = Callable[..., argparse.ArgumentParser]
_SIDES = ("with_skill", "without_skill")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] | None = getattr(options, "run", None)
    if command is None:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    try:
        return command(options)
    except UsageError as error:
        _say(f"gpuvet-evals: {error}")
        return EXIT_USAGE
    except BrokenPipeError:
        return EXIT_OK
    except KeyboardInterrupt:
        _say("gpuvet-evals: interrupted; what was written is whole, run it again to go on")
        return EXIT_USAGE
    except Exception as error:  # noqa: BLE001 - the outermost edge
        _say(f"gpuvet-evals: a bug of ours: {type(error).__name__}: {error}")
        return EXIT_BUG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuvet-evals",
        description="Replay journals of assistants and score them, with the skill against without.",
        epilog="Exit codes: 0 nothing to act on, 1 findings or a regression, 2 usage, "
        "3 too little seen, 4 a bug.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_inspect(commands.add_parser)
    return parser


def _add_inspect(add: AddParser) -> None:
    parser = add(
        "inspect",
        help="show what journals tell: answer status, trigger, audits, metrics",
        description="Show what each journal tells, before and without any judge.",
    )
    parser.add_argument("path", nargs="+", type=Path, help="journal, case, suite.json or tree")
    parser.add_argument("--evals", type=Path, help="evals.json; else the nearest one is used")
    parser.add_argument("--skill", help="name of the skill under test; else from evals.json")
    parser.add_argument("--eval-id", help="which eval; else by place or prompt")
    parser.add_argument("--iteration", type=int, help="which iteration; else by place, else 1")
    parser.add_argument("--side", choices=_SIDES, help="which side; else by place, else with_skill")
    parser.add_argument("--brief", action="store_true", help="leave out traces and calls")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=_inspect)


def _inspect(options: argparse.Namespace) -> int:
    from gpuvet_evals.inspect_command import inspect_paths, inspections_text

    shown = inspect_paths(
        options.path,
        evals_path=options.evals,
        skill=options.skill,
        eval_id=options.eval_id,
        iteration=options.iteration,
        side=options.side,
    )
    print(inspections_text(shown, as_json=options.format == "json", full=not options.brief))
    return EXIT_USAGE if shown.broken and not shown.inspections else EXIT_OK


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
