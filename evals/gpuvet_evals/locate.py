"""Where journals lie and what that says of them: a published tree, or cases beside a suite.json."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from gpuvet.model.base import Value
from gpuvet_evals.errors import UnreadableEvals, UnreadableTree
from gpuvet_evals.evals_json import Eval, EvalSet, read_evals
from gpuvet_evals.inspection import ALL_SIDES, WITH_SKILL, RunIdentity
from gpuvet_evals.journal import Journal, mappings

JOURNAL_NAME = "journal_records.json"
ALLOWED_NAME = "allowed-identifiers.json"  # identifiers that may stand in an evals folder
MAX_RUNS = 100_000
MAX_FILE_BYTES = 8 * 1024 * 1024  # of one file of an eval
_ITERATION = re.compile(r"iteration-(\d+)")
_SIDES = frozenset(ALL_SIDES)
_LEVELS_UP = 7  # from a journal of the tree to the folder above `evals`


class RunPlace(Value):
    """One journal on disk; what its place does not tell is None."""

    journal: Path
    folder: Path  # of the run: <side> in a tree, the case otherwise
    case: str
    eval_id: str | None = None
    iteration: int | None = None
    run_type: str | None = None


def places_under(path: Path) -> list[RunPlace]:
    """Return every journal at or under a path, in order of iteration, eval and side.

    Raises:
        UnreadableTree: There is none.
    """
    if path.is_file():
        if path.name == "suite.json":
            return _suite_places(path)
        return [place_of(path)]
    if not path.is_dir():
        raise UnreadableTree(f"no journal at {str(path)!r}; give a journal, a case or a tree")
    if (path / JOURNAL_NAME).is_file():
        return [place_of(path / JOURNAL_NAME)]
    if (path / "suite.json").is_file():
        return _suite_places(path / "suite.json")
    found = [place_of(journal) for journal in _journals(path)]
    if not found:
        raise UnreadableTree(f"no {JOURNAL_NAME} under {str(path)!r}; give a journal or a tree")
    return sorted(
        found, key=lambda p: (p.iteration or 0, p.eval_id or "", p.run_type or "", p.case)
    )


def place_of(journal: Path) -> RunPlace:
    """Return what a journal's path tells: `iteration-<i>/<eval>/<side>/outputs/…`, or a suite."""
    folder = journal.parent.parent if journal.parent.name == "outputs" else journal.parent
    iteration, eval_id, side = ("", "", "", *folder.parts)[-3:]
    if side in _SIDES and (match := _ITERATION.fullmatch(iteration)):
        return RunPlace(
            journal=journal,
            folder=folder,
            case=f"{eval_id}/{iteration}/{side}",
            eval_id=eval_id,
            iteration=int(match[1]),
            run_type=side,
        )
    suite = folder.parent / "suite.json"
    if suite.is_file():
        for place in _suite_places(suite):
            if place.folder.name == folder.name:
                return place
    return RunPlace(journal=journal, folder=folder, case=folder.name)


def evals_beside(path: Path) -> EvalSet | None:
    """Return the nearest evals.json at or above a path, or None.

    Raises:
        UnreadableEvals: The nearest one cannot be understood.
    """
    for folder in (path, *list(path.resolve().parents)[:_LEVELS_UP]):
        for candidate in (folder / "evals.json", folder / "evals" / "evals.json"):
            if candidate.is_file():
                return read_evals_file(candidate)
    return None


def read_evals_file(path: Path) -> EvalSet:
    """Read an evals.json from disk.

    Raises:
        UnreadableEvals: It is missing or cannot be understood.
    """
    try:
        return read_evals(path.read_bytes())
    except OSError as error:
        raise UnreadableEvals(f"no evals at {str(path)!r}: {error.strerror}") from error


def files_of(eval_: Eval, folder: Path) -> dict[str, str]:
    """Return the text of an eval's files by name, looked for in a folder and above it.

    A file that is missing or too large is left out; assertions on it say so.
    """
    roots = (folder, *list(folder.resolve().parents)[:_LEVELS_UP])
    names = dict.fromkeys((*eval_.files, *_spec_files(eval_)))
    return {name: text for name in names if (text := _file_text(roots, name)) is not None}


def identify(place: RunPlace, journal: Journal, evals: EvalSet | None) -> RunIdentity:
    """Return which run a journal is; its prompt names the eval where its place does not."""
    eval_id = place.eval_id
    if eval_id is None and evals is not None:
        found = evals.find_by_prompt(journal.prompt)
        eval_id = found.id if found else None
    return RunIdentity(
        case=place.case,
        skill_name=evals.skill_name if evals else None,
        eval_id=eval_id,
        iteration=place.iteration or 1,
        run_type=place.run_type or WITH_SKILL,
    )


def _spec_files(eval_: Eval) -> Iterator[str]:
    for assertion in eval_.assertions or ():
        if assertion.job_spec is not None:
            yield from filter(None, (assertion.job_spec.spec, assertion.job_spec.log))


def _file_text(roots: Sequence[Path], name: str) -> str | None:
    for root in roots:
        path = root / name
        if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
            return path.read_text(encoding="utf-8", errors="replace")
    return None


def _journals(root: Path) -> Iterator[Path]:
    count = 0
    for folder, _, names in os.walk(root):
        if JOURNAL_NAME in names:
            count += 1
            if count > MAX_RUNS:
                raise UnreadableTree(f"more than {MAX_RUNS} journals under {str(root)!r}; split it")
            yield Path(folder, JOURNAL_NAME)


def _suite_places(suite: Path) -> list[RunPlace]:
    """Return the places a suite.json lists: case, eval_id, iteration, run_type."""
    try:
        rows = mappings(json.loads(suite.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableTree(f"{str(suite)!r} cannot be read: {error}") from error
    places = [_suite_place(suite.parent, row) for row in rows]
    if not places:
        raise UnreadableTree(f"{str(suite)!r} lists no case")
    return places


def _suite_place(root: Path, row: Mapping[str, Any]) -> RunPlace:
    case = str(row.get("case") or "")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", case) or case in {".", ".."}:
        raise UnreadableTree(f"suite.json names case {case!r}; it must be a plain folder name")
    iteration = row.get("iteration")
    side = row.get("run_type")
    return RunPlace(
        journal=root / case / JOURNAL_NAME,
        folder=root / case,
        case=case,
        eval_id=str(row["eval_id"]) if "eval_id" in row else None,
        iteration=iteration if isinstance(iteration, int) else None,
        run_type=cast("str", side) if side in _SIDES else None,
    )
