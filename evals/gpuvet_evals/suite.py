"""The tree of a suite on disk: lay out, grade every journal, read the results back.

`<evals>/functional/v<N>/iteration-<i>/<eval>/<side>/functional-tests-results.json` beside
`outputs/journal_records.json`. A journal that cannot be read costs only its own run.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.answer import AnswerStatus
from gpuvet_evals.assertions.job_spec import SpecChecker
from gpuvet_evals.assertions.patterns import InProcess, Matcher
from gpuvet_evals.errors import UnreadableJournal, UnreadableTree
from gpuvet_evals.evals_json import OFFLINE_EVALUATORS, EvalSet
from gpuvet_evals.grade import broken_results, run_results
from gpuvet_evals.inspect_command import load_journal
from gpuvet_evals.inspection import OpenRun, RunIdentity, audit_run, open_run, scored
from gpuvet_evals.journal import mapping, mappings
from gpuvet_evals.json_text import write_json
from gpuvet_evals.judge.judge import Judge
from gpuvet_evals.judge.runs import judge_runs
from gpuvet_evals.locate import JOURNAL_NAME, RunPlace, files_of, identify, places_under
from gpuvet_evals.runs import UNJUDGED, Run, read_run

RESULTS_NAME = "functional-tests-results.json"
_VERSION = re.compile(r"v(\d+)")
_FOLDER = re.compile(r"[A-Za-z0-9._-]{1,128}")
BATCH = 8  # journals whose patterns are applied in one go
Progress = Callable[[int, int, int], None]  # done, total, broken


class GradedSuite(Value):
    """What grading a tree gave."""

    version_folder: Path
    statuses: tuple[tuple[str, int], ...]  # answer status and how many runs
    broken: tuple[tuple[str, str], ...]  # case and why
    judged: tuple[tuple[str, int], ...] = ()  # outcome of what only a judge can decide
    unjudged: tuple[tuple[str, str], ...] = ()  # case and what of it nobody decided

    @property
    def runs(self) -> int:
        """How many runs there are, broken ones too."""
        return sum(count for _, count in self.statuses)

    def with_missing(self, cases: Sequence[str]) -> "GradedSuite":
        """Return the suite with cases added that had no journal."""
        if not cases:
            return self
        statuses = Counter(dict(self.statuses)) + Counter({AnswerStatus.ERRORED.value: len(cases)})
        broken = (*self.broken, *((case, "there is no journal") for case in cases))
        return self.model_copy(
            update={"statuses": tuple(sorted(statuses.items())), "broken": broken}
        )


class LaidOut(Value):
    """What was copied into a tree."""

    journals: int
    missing: tuple[str, ...]  # cases a suite lists whose journal is not there


def lay_out(source: Path, version_folder: Path, evals: EvalSet | None) -> LaidOut:
    """Copy journals of a suite, or of loose cases, into a version's tree.

    A case without a journal gets the results of a run that cannot be read.

    Raises:
        UnreadableTree: A case names no eval, or a name that is no folder name.
    """
    count, missing = 0, list[str]()
    for place in places_under(source):
        identity = _identity(place, evals)
        folder = run_folder(version_folder, identity)
        if place.journal.is_file():
            (folder / "outputs").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place.journal, folder / "outputs" / JOURNAL_NAME)
            count += 1
        else:
            missing.append(place.case)
            results = broken_results(identity, version_folder.name, "there is no journal")
            write_json(folder / RESULTS_NAME, results)
    return LaidOut(journals=count, missing=tuple(missing))


def run_folder(version_folder: Path, identity: RunIdentity) -> Path:
    """Return the folder of one run in a version's tree.

    Raises:
        UnreadableTree: The eval is not known, or its id is no folder name.
    """
    eval_id = identity.eval_id
    if eval_id is None or not _FOLDER.fullmatch(eval_id) or set(eval_id) == {"."}:
        raise UnreadableTree(
            f"case {identity.case!r} belongs to eval {eval_id!r}, which is no folder name"
        )
    return version_folder / f"iteration-{identity.iteration}" / eval_id / identity.run_type


def version_folder(path: Path) -> Path:
    """Return the version a path means: itself, or the last of an evals folder.

    Raises:
        UnreadableTree: There is none.
    """
    if _VERSION.fullmatch(path.name) and path.is_dir():
        return path
    for parent in (path, path / "functional", path / "evals" / "functional"):
        versions = versions_in(parent)
        if versions:
            return versions[-1]
    if any(path.glob("iteration-*")):
        return path
    raise UnreadableTree(
        f"no version at {str(path)!r}; give functional/v<N> or the folder above functional"
    )


def versions_in(parent: Path) -> list[Path]:
    """Return the `v<N>` folders of a folder, by number."""
    if not parent.is_dir():
        return []
    found = [(int(m[1]), p) for p in parent.iterdir() if (m := _VERSION.fullmatch(p.name))]
    return [path for _, path in sorted(found) if path.is_dir()]


def grade_tree(
    folder: Path,
    evals: EvalSet,
    *,
    matcher: Matcher | None = None,
    checker: SpecChecker | None = None,
    judge: Judge | None = None,
    progress: Progress | None = None,
) -> GradedSuite:
    """Grade every journal of a version and write its results file.

    Args:
        folder: The version's folder.
        evals: The definitions that were run.
        matcher: Applies the patterns; by default in this process.
        checker: Checks job specs; without one no spec is looked at.
        judge: Decides free text; without one it is unjudged.
        progress: Told now and then: done, total, broken.
    """
    places = places_under(folder)
    statuses: Counter[str] = Counter()
    broken: list[tuple[str, str]] = []
    opinions: list[tuple[str, str, str]] = []
    for place, results in graded(
        places,
        evals,
        folder.name,
        matcher=matcher,
        checker=checker,
        judge=judge,
        files=eval_files(folder, evals),
    ):
        if results["error"] is not None:
            broken.append((place.case, str(results["error"])))
        opinions += ((place.case, what, outcome) for what, outcome in _opinions(results))
        write_json(place.folder / RESULTS_NAME, results)
        statuses[results["gpuvet"]["answer"]["status"]] += 1
        if progress is not None:
            progress(statuses.total(), len(places), len(broken))
    return GradedSuite(
        version_folder=folder,
        statuses=tuple(sorted(statuses.items())),
        broken=tuple(broken),
        judged=tuple(sorted(Counter(outcome for _, _, outcome in opinions).items())),
        unjudged=tuple((case, what) for case, what, outcome in opinions if outcome == UNJUDGED),
    )


def _opinions(results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what only a judge can decide of a final run, with how that ended."""
    answer = mapping(mapping(results.get("gpuvet")).get("answer"))
    if answer.get("status") != AnswerStatus.FINAL.value:
        return
    tests = mapping(results.get("tests"))
    if expected := mapping(tests.get("expected_output")):
        yield "expected output", str(expected["result"])
    rows = mappings(mapping(tests.get("assertions")).get("assertion_results"))
    for index, row in enumerate(rows):
        if row.get("evaluator") not in OFFLINE_EVALUATORS:
            said = "passed" if row.get("passed") else "failed"
            yield f"assertion {index}", str(row.get("error") or said)


def graded(
    places: Sequence[RunPlace],
    evals: EvalSet,
    version: str,
    *,
    matcher: Matcher | None = None,
    checker: SpecChecker | None = None,
    judge: Judge | None = None,
    files: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Iterator[tuple[RunPlace, dict[str, Any]]]:
    """Yield the results of each place; nothing is written.

    The patterns of a batch are applied while its audits go on.

    Args:
        places: The journals.
        evals: The definitions that were run.
        version: Its name.
        matcher: Applies the patterns; by default in this process.
        checker: Checks job specs; without one no spec is looked at.
        judge: Decides free text; without one it is unjudged.
        files: The files of each eval, by its id and their name.
    """
    applies = matcher or InProcess()
    for start in range(0, len(places), BATCH):
        batch = places[start : start + BATCH]
        opened = [_opened(place, evals, files) for place in batch]
        runs = [run for run in opened if isinstance(run, OpenRun)]
        pending = applies.ask([run.request for run in runs])
        audited = [audit_run(run, checker=checker, full=False) for run in runs]
        inspected = [scored(i, f) for i, f in zip(audited, pending(), strict=True)]
        results = iter(zip(inspected, judge_runs(runs, inspected, judge), strict=True))
        for place, run in zip(batch, opened, strict=True):
            if isinstance(run, OpenRun):
                inspection, judged = next(results)
                yield place, run_results(inspection, version, judged)
            else:
                yield place, broken_results(identify_in(place, evals), version, run)


def _opened(
    place: RunPlace, evals: EvalSet, files: Mapping[str, Mapping[str, str]]
) -> OpenRun | str:
    """Return the run of a place, or why its journal cannot be read."""
    identity = identify_in(place, evals)
    eval_ = evals.find(identity.eval_id) if identity.eval_id else None
    try:
        return open_run(load_journal(place), identity, eval_, files.get(identity.eval_id or "", {}))
    except UnreadableJournal as error:
        return str(error)


def eval_files(folder: Path, evals: EvalSet) -> dict[str, dict[str, str]]:
    """Return the text of each eval's files, by its id and their name."""
    return {eval_.id: files_of(eval_, folder) for eval_ in evals.evals}


def read_results(folder: Path) -> tuple[Run, ...]:
    """Return the runs of a version whose results are on disk, ours or the publisher's.

    Raises:
        UnreadableTree: There is none.
    """
    runs = tuple(_read(path) for path in sorted(folder.glob(f"iteration-*/*/*/{RESULTS_NAME}")))
    if not runs:
        raise UnreadableTree(f"no {RESULTS_NAME} under {str(folder)!r}; grade it first")
    return sort_runs(runs)


def sort_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return runs in the order of reports: eval, iteration, side."""
    return tuple(sorted(runs, key=lambda run: (run.eval_id, run.iteration, run.side)))


def identify_in(place: RunPlace, evals: EvalSet) -> RunIdentity:
    """Return which run a place of a tree holds, without reading its journal."""
    return RunIdentity(
        case=place.case,
        skill_name=evals.skill_name,
        eval_id=place.eval_id,
        iteration=place.iteration or 1,
        run_type=place.run_type or "with_skill",
    )


def _identity(place: RunPlace, evals: EvalSet | None) -> RunIdentity:
    if place.eval_id is not None or evals is None:
        return identify_in(place, evals or EvalSet(skill_name=None, evals=()))
    return identify(place, load_journal(place), evals)


def _read(path: Path) -> Run:
    try:
        results: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        results = {}
    side, eval_folder, iteration = path.parent, path.parent.parent, path.parent.parent.parent
    placed = {
        "eval_id": eval_folder.name,
        "run_type": side.name,
        "iteration": int(iteration.name.rpartition("-")[2]),
    }
    fields = dict(mapping(results))
    if not fields:
        fields = {"success": False, "error": "the results file cannot be read"}
    return read_run({**fields, **placed})
