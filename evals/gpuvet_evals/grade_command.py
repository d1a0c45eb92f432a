"""`gpuvet-evals grade`: a suite on disk to results files, judged from the cache or by a model."""

import json
from pathlib import Path
from typing import NamedTuple

from gpuvet_evals.assertions.job_spec import SpecChecker
from gpuvet_evals.assertions.patterns import Matcher
from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.judge.agreement import Agreement, agreement, agreement_text, read_labels
from gpuvet_evals.judge.judging import FROM_CACHE, Judging, open_judge
from gpuvet_evals.judge.pairs import PairJudge
from gpuvet_evals.judge.tree import (
    Pair,
    judge_pairs,
    labelled_verdicts,
    pairs_json,
    pairs_text,
    write_pairs,
)
from gpuvet_evals.locate import evals_beside, read_evals_file
from gpuvet_evals.suite import (
    GradedSuite,
    Progress,
    grade_tree,
    read_results,
    version_folder,
)
from gpuvet_evals.transfer import import_suite
from gpuvet_evals.untrusted import clean

_NAMED = 20  # runs with something unjudged that the text names


class GradeOutcome(NamedTuple):
    """What grading gave, and what a judge did beside it."""

    suite: GradedSuite
    stopped: str | None = None  # why the judge asked nothing more
    pairs: tuple[Pair, ...] | None = None
    agreement: Agreement | None = None


def grade_path(
    path: Path,
    *,
    to: Path | None,
    version: str,
    evals_path: Path | None,
    matcher: Matcher,
    checker: SpecChecker,
    progress: Progress | None,
    judging: Judging = FROM_CACHE,
) -> GradeOutcome:
    """Grade a version's folder, or lay a suite out in an evals folder first.

    Raises:
        UnreadableEvals: No evals.json is near.
        UnreadableTree: There are no journals.
    """
    given = read_evals_file(evals_path) if evals_path else None
    folder = version_folder(path) if to is None else to / "functional" / version
    missing: tuple[str, ...] = ()
    if to is not None:
        text = evals_path.read_bytes() if evals_path else None
        missing = import_suite(path, folder, evals=given, evals_text=text).missing
    evals = given or _evals_near(folder, path)
    judge = open_judge(folder, judging)
    suite = grade_tree(
        folder, evals, matcher=matcher, checker=checker, judge=judge, progress=progress
    )
    pairs = agreed = None
    if judging.pairwise:
        pair_judge = PairJudge(judge.cache, model=judging.model, asks=judging.asks)
        pairs = judge_pairs(folder, evals, pair_judge)
        write_pairs(folder, pairs)
    if judging.labels is not None:
        verdicts = labelled_verdicts(read_results(folder))
        agreed = agreement(read_labels(judging.labels), verdicts)
    return GradeOutcome(suite.with_missing(missing), judge.stopped, pairs, agreed)


def graded_text(outcome: GradeOutcome, *, as_json: bool) -> str:
    """Return what was graded, for people or for programs."""
    suite = outcome.suite
    if as_json:
        shown: dict[str, object] = {
            "runs": suite.runs,
            "statuses": dict(suite.statuses),
            "broken": [{"case": case, "error": error} for case, error in suite.broken],
            "judged": dict(suite.judged),
            "unjudged": [{"case": case, "what": what} for case, what in suite.unjudged],
            "pairs": pairs_json(outcome.pairs) if outcome.pairs is not None else None,
            "agreement": outcome.agreement.model_dump() if outcome.agreement else None,
        }
        return json.dumps(shown, indent=1)
    counts = ", ".join(f"{count} {status}" for status, count in suite.statuses)
    lines = [f"{suite.runs} runs graded: {counts}"]
    lines += [f"broken: {clean(case)}: {clean(error)}" for case, error in suite.broken]
    if suite.judged:
        shown_counts = ", ".join(f"{count} {what}" for what, count in suite.judged)
        lines.append(f"free text: {shown_counts}")
    lines += _unjudged_lines(suite)
    if outcome.pairs is not None:
        lines.append(pairs_text(outcome.pairs))
    if outcome.agreement is not None:
        lines.append(agreement_text(outcome.agreement))
    return "\n".join(lines)


def _unjudged_lines(suite: GradedSuite) -> list[str]:
    """Name what nobody decided, a line a run."""
    by_case: dict[str, list[str]] = {}
    for case, what in suite.unjudged:
        by_case.setdefault(case, []).append(what)
    lines = [f"unjudged: {clean(case)}: {', '.join(what)}" for case, what in by_case.items()]
    if len(lines) > _NAMED:
        rest = f"unjudged: {len(lines) - _NAMED} more runs; --format json names all"
        return [*lines[:_NAMED], rest]
    return lines


def _evals_near(folder: Path, path: Path) -> EvalSet:
    for start in (folder, path if path.is_dir() else path.parent):
        if (found := evals_beside(start)) is not None:
            return found
    raise UnreadableEvals(f"no evals.json at or above {str(folder)!r}; name it with --evals")
