"""`gpuvet-evals grade`: a suite on disk to results files."""

import json
from pathlib import Path

from gpuvet_evals.assertions.job_spec import SpecChecker
from gpuvet_evals.assertions.patterns import Matcher
from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.locate import evals_beside, read_evals_file
from gpuvet_evals.suite import GradedSuite, Progress, grade_tree, version_folder
from gpuvet_evals.transfer import import_suite
from gpuvet_evals.untrusted import clean


def grade_path(
    path: Path,
    *,
    to: Path | None,
    version: str,
    evals_path: Path | None,
    matcher: Matcher,
    checker: SpecChecker,
    progress: Progress | None,
) -> GradedSuite:
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
    suite = grade_tree(folder, evals, matcher=matcher, checker=checker, progress=progress)
    return suite.with_missing(missing)


def graded_text(suite: GradedSuite, *, as_json: bool) -> str:
    """Return what was graded, for people or for programs."""
    if as_json:
        shown = {
            "runs": suite.runs,
            "statuses": dict(suite.statuses),
            "broken": [{"case": case, "error": error} for case, error in suite.broken],
        }
        return json.dumps(shown, indent=1)
    counts = ", ".join(f"{count} {status}" for status, count in suite.statuses)
    lines = [f"{suite.runs} runs graded: {counts}"]
    lines += [f"broken: {clean(case)}: {clean(error)}" for case, error in suite.broken]
    return "\n".join(lines)


def _evals_near(folder: Path, path: Path) -> EvalSet:
    for start in (folder, path if path.is_dir() else path.parent):
        if (found := evals_beside(start)) is not None:
            return found
    raise UnreadableEvals(f"no evals.json at or above {str(folder)!r}; name it with --evals")
