"""The command line `gpuvet-evals`: results on stdout, everything else on stderr.

Exit codes: 0 nothing to act on; 1 findings (an eval regression, a lint error); 2 usage or
unreadable input; 3 no finding but too little seen; 4 a bug of ours.
"""

import argparse
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from gpuvet.errors import UsageError
from gpuvet_evals.arguments import Handler, parser_of

if TYPE_CHECKING:
    from gpuvet_evals.asking import Asks
    from gpuvet_evals.judge.judging import Judging
    from gpuvet_evals.spending import Budget

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_TOO_LITTLE, EXIT_BUG = range(5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = parser_of(_HANDLERS)
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
    from gpuvet_evals.grade_command import grade_path, graded_text
    from gpuvet_evals.pattern_guard import PatternGuard
    from gpuvet_evals.spec_checker import GpuvetChecker

    budget = _budget(options)
    with ExitStack() as stack:
        guard = stack.enter_context(PatternGuard())
        judging = _judging(options, budget, stack)._replace(
            pairwise=options.pairwise, labels=options.labels
        )
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
    if len(suite.broken) == suite.runs:
        return EXIT_USAGE
    return EXIT_TOO_LITTLE if options.judge and suite.unjudged else EXIT_OK


def _budget(options: argparse.Namespace) -> "Budget":
    from gpuvet_evals.spending import Budget, read_prices

    prices = read_prices(options.prices) if options.prices else None
    return Budget(tokens=options.max_tokens, dollars=options.max_dollars, prices=prices)


def _judging(options: argparse.Namespace, budget: "Budget", stack: ExitStack) -> "Judging":
    """Return how free text is judged; a model is opened only where one is named."""
    from gpuvet_evals.judge.judging import Judging

    if not options.judge:
        return Judging(votes=options.votes)
    return Judging(
        model=options.judge,
        votes=options.votes or 3,
        asks=stack.enter_context(_asking(options, budget)),
        workers=options.jobs,
    )


@contextmanager
def _asking(options: argparse.Namespace, budget: "Budget") -> Generator["Asks"]:
    """Open the Messages API within a budget, for as long as the block runs."""
    from gpuvet_evals.model import LiveModel
    from gpuvet_evals.spending import Metered

    with LiveModel(base_url=options.base_url) as model:
        yield Metered(model, budget)


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
    budget = _budget(options)
    with ExitStack() as stack:
        guard = stack.enter_context(PatternGuard())
        written = write_reports(
            options.path,
            result,
            skill_folder=options.skill,
            evals_path=options.evals,
            matcher=guard,
            checker=GpuvetChecker(),
            judging=_judging(options, budget, stack),
        )
    _say_spent(budget)
    print("\n".join(str(path) for path in written))
    return _benchmark_code(
        result.has_regression or (options.fail_on == "warning" and result.has_loss),
        too_little=result.says_too_little,
    )


def _run(options: argparse.Namespace) -> int:
    from gpuvet_evals.run.agent import Limits
    from gpuvet_evals.run.command import RunOptions, played_text, run_suite
    from gpuvet_evals.run.suite import spent_before

    budget = _budget(options)
    asked = RunOptions(
        evals=options.evals,
        to=options.to,
        version=options.version,
        worlds=options.worlds,
        skill=options.skill,
        sides=tuple(options.side or ("with_skill", "without_skill")),
        only=tuple(options.eval),
        iterations=options.iterations,
        limits=Limits(options.max_turns, options.max_run_tokens),
        context_window=options.context_window,
    )
    budget.charge(options.model, spent_before(options.to / "functional" / options.version))
    with _asking(options, budget) as asks:
        result = run_suite(
            asked,
            model=options.model,
            asks=asks,
            workers=options.jobs,
            progress=None if options.quiet else lambda run, stop: _say(f"{run}: {stop}"),
        )
    _print(played_text(result, as_json=options.format == "json"), options.format)
    _say_spent(budget)
    if result.stopped:
        _say(f"gpuvet-evals: {result.stopped}; run it again to go on")
    return EXIT_OK if result.is_whole else EXIT_TOO_LITTLE


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
        result = lint_path(options.path, guard, skill=options.skill)
    _print(lint_text(result, as_json=options.format == "json"), options.format)
    return EXIT_FINDINGS if result.fails(options.fail_on) else EXIT_OK


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


_HANDLERS: Mapping[str, Handler] = {
    "inspect": _inspect,
    "grade": _grade,
    "benchmark": _benchmark,
    "report": _report,
    "run": _run,
    "import": _import,
    "redact": _redact,
    "lint": _lint,
}

if __name__ == "__main__":
    sys.exit(main())
