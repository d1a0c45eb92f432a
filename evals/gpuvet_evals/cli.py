"""The command line `gpuvet-evals`: results on stdout, everything else on stderr.

Exit codes: 0 nothing to act on; 1 findings (an eval regression, a lint error); 2 usage or
unreadable input; 3 no finding but too little seen; 4 a bug of ours.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuvet.errors import UsageError

if TYPE_CHECKING:
    from gpuvet_evals.asking import Asks
    from gpuvet_evals.spending import Budget

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_TOO_LITTLE, EXIT_BUG = range(5)
AddParser = Callable[..., argparse.ArgumentParser]
_FORMATS = ("text", "markdown", "json")
_SIDES = ("with_skill", "without_skill", "with_skill_and_server")


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
    for add in (_add_inspect, _add_grade, _add_benchmark, _add_report, _add_import, _add_redact):
        add(commands.add_parser)
    _add_lint(commands.add_parser)
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
        "--side", "--run-type", choices=_SIDES, help="which side; else by place, else with_skill"
    )
    parser.add_argument("--brief", action="store_true", help="leave out traces and calls")
    parser.add_argument("--format", choices=_FORMATS, default="text")
    parser.set_defaults(run=_inspect)


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
    parser.set_defaults(run=_grade)


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


def _add_benchmark(add: AddParser) -> None:
    parser = add(
        "benchmark",
        help="compare the sides, or two versions, and write benchmark.json",
        description="Pool the graded runs: rates three ways, paired differences, flips.",
    )
    _add_version_arguments(parser)
    parser.add_argument("--format", choices=_FORMATS, default="text")
    parser.set_defaults(run=_benchmark)


def _add_report(add: AddParser) -> None:
    parser = add(
        "report",
        help="write benchmark.md and benchmark.html, and complete the published tree",
        description="Write the reports beside benchmark.json; with --skill also the skill's tests.",
    )
    _add_version_arguments(parser)
    parser.add_argument("--skill", type=Path, help="skill folder, for structure and best practices")
    parser.add_argument("--evals", type=Path, help="evals.json; else the nearest one is used")
    parser.set_defaults(run=_report)


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
    parser.set_defaults(run=_import)


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
    parser.set_defaults(run=_redact)


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
    parser.add_argument("--format", choices=_FORMATS, default="text")
    parser.set_defaults(run=_lint)


def _inspect(options: argparse.Namespace) -> int:
    from gpuvet_evals.inspect_command import inspect_paths, inspections_text
    from gpuvet_evals.pattern_guard import PatternGuard
    from gpuvet_evals.spec_checker import GpuvetChecker

    with PatternGuard() as guard:
        shown = inspect_paths(
            options.path,
            evals_path=options.evals,
            skill=options.skill,
            eval_id=options.eval_id,
            iteration=options.iteration,
            side=options.side,
            matcher=guard,
            checker=GpuvetChecker(),
        )
    text = inspections_text(shown, as_json=options.format == "json", full=not options.brief)
    _print(text, options.format)
    return EXIT_USAGE if shown.broken and not shown.inspections else EXIT_OK


def _grade(options: argparse.Namespace) -> int:
    from gpuvet_evals.grade_command import Judging, grade_path, graded_text
    from gpuvet_evals.pattern_guard import PatternGuard
    from gpuvet_evals.spec_checker import GpuvetChecker

    budget = _budget(options)
    judging = Judging(
        model=options.judge,
        votes=options.votes or (3 if options.judge else None),
        asks=_asks(options, budget) if options.judge else None,
        workers=options.jobs,
        pairwise=options.pairwise,
        labels=options.labels,
    )
    with PatternGuard() as guard:
        outcome = grade_path(
            options.path,
            to=options.to,
            version=options.version,
            evals_path=options.evals,
            matcher=guard,
            checker=GpuvetChecker(),
            progress=None if options.quiet else _progress,
            judging=judging,
        )
    _print(graded_text(outcome, as_json=options.format == "json"), options.format)
    _say_spent(budget)
    if outcome.stopped:
        _say(f"gpuvet-evals: {outcome.stopped}; what was judged is kept, run it again to go on")
    suite = outcome.suite
    return EXIT_USAGE if len(suite.broken) == suite.runs else EXIT_OK


def _budget(options: argparse.Namespace) -> "Budget":
    from gpuvet_evals.spending import Budget, read_prices

    prices = read_prices(options.prices) if options.prices else None
    return Budget(tokens=options.max_tokens, dollars=options.max_dollars, prices=prices)


def _asks(options: argparse.Namespace, budget: "Budget") -> "Asks":
    from gpuvet_evals.model import LiveModel
    from gpuvet_evals.spending import Metered

    return Metered(LiveModel(base_url=options.base_url), budget)


def _say_spent(budget: "Budget") -> None:
    """Say what was spent, where something was."""
    spent = budget.spent
    if not spent.total:
        return
    read = spent.input_tokens + spent.cache_read_tokens + spent.cache_write_tokens
    cost = f", ${budget.dollars:.2f}" if budget.dollars is not None else ""
    _say(f"spent {spent.total:,} tokens ({read:,} in, {spent.output_tokens:,} out){cost}")


def _benchmark(options: argparse.Namespace) -> int:
    from gpuvet_evals.benchmark_command import benchmark_path, benchmark_text, write_benchmark

    result = benchmark_path(options.path, against=options.against)
    write_benchmark(options.path, result)
    print(benchmark_text(result, form=options.format))
    return _benchmark_code(
        result.has_regression or (options.fail_on == "warning" and result.has_loss),
        too_little=result.says_too_little,
    )


def _report(options: argparse.Namespace) -> int:
    from gpuvet_evals.benchmark_command import benchmark_path, write_reports
    from gpuvet_evals.pattern_guard import PatternGuard
    from gpuvet_evals.spec_checker import GpuvetChecker

    result = benchmark_path(options.path, against=options.against)
    with PatternGuard() as guard:
        written = write_reports(
            options.path,
            result,
            skill_folder=options.skill,
            evals_path=options.evals,
            matcher=guard,
            checker=GpuvetChecker(),
        )
    print("\n".join(str(path) for path in written))
    return _benchmark_code(
        result.has_regression or (options.fail_on == "warning" and result.has_loss),
        too_little=result.says_too_little,
    )


def _import(options: argparse.Namespace) -> int:
    from gpuvet_evals.locate import read_evals_file
    from gpuvet_evals.transfer import import_suite

    imported = import_suite(
        options.path,
        options.to / "functional" / options.version,
        evals=read_evals_file(options.evals) if options.evals else None,
        evals_text=options.evals.read_bytes() if options.evals else None,
    )
    print(f"{imported.runs} runs from {imported.kind}, {imported.triggers} trigger queries")
    for case in imported.missing:
        _say(f"{case}: there is no journal")
    return EXIT_OK


def _redact(options: argparse.Namespace) -> int:
    from gpuvet_evals.transfer import redact_folder, restore_folder

    if options.undo:
        print(f"{restore_folder(options.path, options.to, options.map)} files put back")
        return EXIT_OK
    files = redact_folder(options.path, options.to, options.map)
    print(f"{len(files)} files, {sum(f.replaced for f in files)} identifiers replaced")
    return EXIT_OK


def _lint(options: argparse.Namespace) -> int:
    from gpuvet_evals.lint_command import lint_path, lint_text
    from gpuvet_evals.pattern_guard import PatternGuard

    with PatternGuard() as guard:
        result = lint_path(options.path, guard)
    _print(lint_text(result, as_json=options.format == "json"), options.format)
    return EXIT_FINDINGS if result.fails(options.fail_on) else EXIT_OK


def _positive(text: str) -> int:
    """Return a whole number of one or more; argparse words the error."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of one or more")
    return int(text)


def _benchmark_code(findings: bool, *, too_little: bool) -> int:
    if findings:
        return EXIT_FINDINGS
    return EXIT_TOO_LITTLE if too_little else EXIT_OK


def _print(text: str, form: str) -> None:
    """Print a result; as Markdown it is a block, longer than any run of backticks in it."""
    if form == "markdown":
        fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
        text = f"{fence}text\n{text}\n{fence}"
    print(text)


def _progress(done: int, total: int, broken: int) -> None:
    """Say how far grading is: over and over on a terminal, every tenth part elsewhere."""
    shown = f"graded {done} of {total}" + (f", {broken} broken" if broken else "")
    if sys.stderr.isatty():
        print(f"\r{shown}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif total > 20 and (done == total or done * 10 // total > (done - 1) * 10 // total):
        _say(shown)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
