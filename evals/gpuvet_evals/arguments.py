"""What the command line takes: every command, its options, and their help."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuvet_evals.inspection import ALL_SIDES

AddParser = Callable[..., argparse.ArgumentParser]
Handler = Callable[[argparse.Namespace], int]
_FORMATS = ("text", "markdown", "json")


def parser_of(handlers: Mapping[str, Handler]) -> argparse.ArgumentParser:
    """Return the parser; a parsed command carries its handler as `run`.

    Args:
        handlers: What each command does, by its name.
    """
    parser = argparse.ArgumentParser(
        prog="gpuvet-evals",
        description="Replay journals of assistants and score them, with the skill against without.",
        epilog="Exit codes: 0 nothing to act on, 1 findings or a regression, 2 usage, "
        "3 too little seen, 4 a bug.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for add in _COMMANDS:
        add(commands.add_parser)
    for name, command in commands.choices.items():
        command.set_defaults(run=handlers[name])
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
    parser.add_argument("--eval-id", "--eval", help="which eval; else by place or prompt")
    parser.add_argument("--iteration", type=int, help="which iteration; else by place, else 1")
    parser.add_argument(
        "--side", "--run-type", choices=ALL_SIDES, help="which side; else by place, else with_skill"
    )
    parser.add_argument("--brief", action="store_true", help="leave out traces and calls")
    parser.add_argument("--format", choices=_FORMATS, default="text")


def _add_grade(add: AddParser) -> None:
    parser = add(
        "grade",
        help="score every journal of a suite and write its results files",
        description="Score every journal; the same journals and judgements give the same bytes. "
        "Free text is judged from judgements.json in the version's folder, and by a model only "
        "with --judge; what nobody judged is named.",
        parents=[_spending_arguments()],
    )
    parser.add_argument("path", type=Path, help="version folder, evals folder or suite.json")
    parser.add_argument("--to", type=Path, help="evals folder to lay a suite out in; else in place")
    parser.add_argument("--version", default="v1", help="version to lay out as (default v1)")
    parser.add_argument("--evals", type=Path, help="evals.json; else the nearest one is used")
    judging = parser.add_argument_group("judging")
    judging.add_argument("--judge", metavar="MODEL", help="ask this model what is not kept yet")
    judging.add_argument("--votes", type=_positive, help="votes a question (default 3)")
    judging.add_argument("--pairwise", action="store_true", help="compare the sides, both orders")
    judging.add_argument("--labels", type=Path, help="people's labels, or cases: prints kappa")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--format", choices=_FORMATS, default="text")


def _spending_arguments() -> argparse.ArgumentParser:
    """Return what every command that asks a model takes."""
    parser = argparse.ArgumentParser(add_help=False)
    spending = parser.add_argument_group("asking a model")
    spending.add_argument(
        "--max-tokens", type=_positive, default=2_000_000, help="stop there (default 2,000,000)"
    )
    spending.add_argument("--max-dollars", type=float, help="stop there; needs --prices")
    spending.add_argument(
        "--prices", type=Path, help="JSON: model to input and output, dollars per million tokens"
    )
    spending.add_argument("--jobs", type=_positive, default=4, help="at a time (default 4)")
    spending.add_argument("--base-url", help="another endpoint of the Messages API")
    return parser


def _add_run(add: AddParser) -> None:
    parser = add(
        "run",
        help="play evals with a model over recorded worlds, and write their journals",
        description="Play each eval by the Messages API: a model with tools that read a recorded "
        "account. A run is done when its journal is there; run it again to go on after a kill. "
        "Needs ANTHROPIC_API_KEY, and gpuvet[evals] installed.",
        parents=[_spending_arguments()],
    )
    parser.add_argument("evals", type=Path, help="evals.json; worlds.json is looked for beside it")
    parser.add_argument("--model", required=True, help="which model plays")
    parser.add_argument("--to", type=Path, required=True, help="evals folder to write to")
    parser.add_argument("--version", default="v1", help="version to write (default v1)")
    parser.add_argument("--worlds", type=Path, help="another worlds.json")
    parser.add_argument("--skill", type=Path, help="folder of the SKILL.md under test")
    parser.add_argument(
        "--side",
        action="append",
        choices=ALL_SIDES,
        help="which side; may be repeated (default with_skill and without_skill)",
    )
    parser.add_argument("--eval", action="append", default=[], help="only this eval; repeatable")
    parser.add_argument("--iterations", type=_positive, default=1, help="of each (default 1)")
    parser.add_argument("--max-turns", type=_positive, default=40, help="of one run (default 40)")
    parser.add_argument(
        "--max-run-tokens",
        type=_positive,
        default=1_000_000,
        help="of one run (default 1,000,000)",
    )
    parser.add_argument(
        "--context-window", type=_positive, help="tokens the model holds: records how full it is"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--format", choices=_FORMATS, default="text")


def _add_benchmark(add: AddParser) -> None:
    parser = add(
        "benchmark",
        help="compare the sides, or two versions, and write benchmark.json",
        description="Pool the graded runs: rates three ways, paired differences, flips.",
    )
    _add_version_arguments(parser)
    parser.add_argument("--format", choices=_FORMATS, default="text")


def _add_report(add: AddParser) -> None:
    parser = add(
        "report",
        help="write benchmark.md and benchmark.html, and complete the published tree",
        description="Write the reports beside benchmark.json; with --skill also the skill's tests.",
        parents=[_spending_arguments()],
    )
    _add_version_arguments(parser)
    parser.add_argument("--skill", type=Path, help="skill folder, for structure and best practices")
    parser.add_argument("--judge", metavar="MODEL", help="also best practices no rule decides")
    parser.add_argument("--votes", type=_positive, help="votes a question (default 3)")
    parser.add_argument("--evals", type=Path, help="evals.json; else the nearest one is used")


def _add_version_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, help="version folder, or evals folder for its last")
    parser.add_argument("--against", type=Path, help="an older version's folder to compare with")
    parser.add_argument(
        "--fail-on",
        choices=("regression", "warning"),
        default="regression",
        help="warning: also where an assertion holds less often (default regression)",
    )


def _add_import(add: AddParser) -> None:
    parser = add(
        "import",
        help="bring a suite of cases or an older flat layout into the tree",
        description="Lay journals out, or read an older report's runs as results.",
    )
    parser.add_argument("path", type=Path, help="suite.json, cases, or a folder of the old layout")
    parser.add_argument("--to", type=Path, required=True, help="evals folder to write to")
    parser.add_argument("--version", default="v1", help="version to write (default v1)")
    parser.add_argument("--evals", type=Path, help="evals.json to go with it")


def _add_redact(add: AddParser) -> None:
    parser = add(
        "redact",
        help="replace identifiers by stable stand-ins; --undo puts them back",
        description="The map holds the originals: keep it at home. Secrets are masked for good.",
    )
    parser.add_argument("path", type=Path, help="file or folder")
    parser.add_argument("--to", type=Path, required=True, help="where to write the copy")
    parser.add_argument("--map", type=Path, required=True, help="the map; made where missing")
    parser.add_argument("--undo", action="store_true", help="put the originals back")


def _add_lint(add: AddParser) -> None:
    parser = add(
        "lint",
        help="find patterns that match their opposite, and what the publisher would refuse",
        description="Lint evals.json; an evals folder is also checked as the publisher does.",
    )
    parser.add_argument("path", type=Path, help="evals.json or an evals folder")
    parser.add_argument(
        "--fail-on", choices=("error", "warning"), default="error", help="(default error)"
    )
    parser.add_argument("--skill", type=Path, help="a skill's folder: structure, best practices")
    parser.add_argument("--format", choices=_FORMATS, default="text")


def _positive(text: str) -> int:
    """Return a whole number of one or more; argparse words the error."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of one or more")
    return int(text)


_COMMANDS = (
    _add_inspect,
    _add_grade,
    _add_benchmark,
    _add_report,
    _add_run,
    _add_import,
    _add_redact,
    _add_lint,
)
