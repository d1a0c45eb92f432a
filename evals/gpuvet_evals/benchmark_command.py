"""`gpuvet-evals benchmark` and `report`: graded runs on disk to benchmark.json and pages."""

import json
import shutil
from pathlib import Path

from gpuvet_evals.assertions.job_spec import SpecChecker
from gpuvet_evals.assertions.patterns import Matcher
from gpuvet_evals.benchmark import Benchmark, benchmark, benchmark_json, statement
from gpuvet_evals.errors import UnreadableJournal, UnreadableTree
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.inspect_command import load_journal
from gpuvet_evals.inspection import Inspection, inspect_journal
from gpuvet_evals.journal import Journal
from gpuvet_evals.json_text import write_json
from gpuvet_evals.judge.cache import CACHE_NAME, JudgementCache
from gpuvet_evals.judge.judging import FROM_CACHE, Judging
from gpuvet_evals.judge.tree import read_pairs
from gpuvet_evals.locate import evals_beside, files_of, places_under, read_evals_file
from gpuvet_evals.publish import write_skill_tests
from gpuvet_evals.report.page import bounds_text, rate_text, report_page
from gpuvet_evals.report.render import html, markdown
from gpuvet_evals.suite import identify_in, read_results, version_folder

Inspected = dict[tuple[str, int, str], tuple[Journal, Inspection]]


def benchmark_path(path: Path, *, against: Path | None) -> Benchmark:
    """Return the benchmark of a version's folder, compared with an older one where asked.

    Raises:
        UnreadableTree: There are no results.
    """
    folder = version_folder(path)
    older = version_folder(against) if against else None
    return benchmark(
        read_results(folder),
        folder.name,
        older=read_results(older) if older else (),
        older_name=older.name if older else "older",
        pairs=read_pairs(folder),
        judge=_judge_of(folder),
    )


def _judge_of(folder: Path) -> str | None:
    """Return the model whose judgements travel with a version."""
    model = JudgementCache(folder / CACHE_NAME).settings.get("model")
    return model if isinstance(model, str) else None


def write_benchmark(path: Path, result: Benchmark) -> Path:
    """Write benchmark.json into the version's folder."""
    target = version_folder(path) / "benchmark.json"
    write_json(target, benchmark_json(result))
    return target


def benchmark_text(result: Benchmark, *, form: str) -> str:
    """Return the figures as text, as the Markdown report without its runs' answers, or as JSON."""
    if form == "json":
        return json.dumps(benchmark_json(result), indent=1)
    if form == "markdown":
        return markdown(report_page(result, result.version, {})).rstrip()
    lines = [statement(result), ""]
    for rates in result.rates:
        statuses = ", ".join(f"{count} {status}" for status, count in rates.statuses) or "no run"
        lines.append(f"{rates.side}: {statuses}")
        lines.append(f"  assertions hold   {rate_text(rates.assertion_score.scored)}")
        lines.append(f"  bounds            {bounds_text(rates.assertion_score)}")
        if rates.expected_judged:
            reached = f"{rates.expected_reached} of {rates.expected_judged} judged"
            lines.append(f"  expected output   {reached}")
    for comparison in result.comparisons:
        lines += [
            f"{flip.kind}: {flip.eval_id}: {flip.assertion} ({flip.baseline} to {flip.candidate})"
            for flip in comparison.flips
        ]
    return "\n".join(lines)


def write_reports(
    path: Path,
    result: Benchmark,
    *,
    skill_folder: Path | None,
    evals_path: Path | None,
    matcher: Matcher,
    checker: SpecChecker,
    judging: Judging = FROM_CACHE,
) -> list[Path]:
    """Write benchmark.json, .md and .html, and with a skill its structure and best practices.

    Raises:
        UnreadableEvals: The evals cannot be understood.
    """
    folder = version_folder(path)
    evals = read_evals_file(evals_path) if evals_path else evals_beside(folder)
    known = evals or EvalSet(skill_name=None, evals=())
    page = report_page(
        result, known.skill_name or folder.name, _inspected(folder, known, matcher, checker)
    )
    pages = {"benchmark.md": markdown(page), "benchmark.html": html(page)}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    written = [write_benchmark(folder, result), *(folder / name for name in pages)]
    if skill_folder is not None:
        written += _complete(folder, skill_folder, result, judging)
    return written


def _inspected(folder: Path, evals: EvalSet, matcher: Matcher, checker: SpecChecker) -> Inspected:
    """Return journal and inspection of each run whose journal can be read."""
    found: Inspected = {}
    try:
        places = places_under(folder)
    except UnreadableTree:
        return found  # results without journals, such as imported ones
    for place in places:
        identity = identify_in(place, evals)
        eval_ = evals.find(identity.eval_id) if identity.eval_id else None
        files = files_of(eval_, folder) if eval_ else {}
        try:
            journal = load_journal(place)
        except UnreadableJournal:
            continue
        inspection = inspect_journal(
            journal, identity, eval_, files=files, matcher=matcher, checker=checker
        )
        key = (identity.eval_id or "", identity.iteration, identity.run_type)
        found[key] = (journal, inspection)
    return found


def _complete(folder: Path, skill_folder: Path, result: Benchmark, judging: Judging) -> list[Path]:
    """Add what the publisher wants beside a version: evals.json and the skill's tests."""
    if folder.parent.name != "functional":
        raise UnreadableTree(f"{str(folder)!r} is no functional/v<N>; the published tree needs one")
    root = folder.parent.parent
    if not (root / "evals.json").is_file() and (folder / "evals.json").is_file():
        shutil.copyfile(folder / "evals.json", root / "evals.json")
    write_skill_tests(root, skill_folder, folder.name, result.timestamp, judging)
    return [root / "structure", root / "best-practices"]
