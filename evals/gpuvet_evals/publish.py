"""The whole evals folder of a skill as the publisher wants it, and the publisher's check of it.

Rules of the check: references/evals.md. Presence decides, not contents; the last complete version
of each kind counts.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.journal import mapping
from gpuvet_evals.json_text import write_json
from gpuvet_evals.judge.judging import FROM_CACHE, Judging, open_judge
from gpuvet_evals.judge.skill import judged_practices
from gpuvet_evals.skill_tests import (
    as_published,
    best_practice_tests,
    best_practices_benchmark,
    best_practices_json,
    read_skill,
    structure_json,
    structure_tests,
)
from gpuvet_evals.suite import RESULTS_NAME, versions_in

KINDS = ("structure", "best-practices", "functional")
_STRUCTURE_FILE = re.compile(r"structure-tests-results-v\d+\.json")
# Endings the publisher lets into a skill's folder.
ALLOWED_ENDINGS = frozenset(
    {
        ".md", ".txt", ".json", ".yaml", ".yml", ".xml", ".csv", ".tsv", ".html", ".htm", ".png",
        ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf",
    }
)  # fmt: skip


def write_skill_tests(
    evals_folder: Path,
    skill_folder: Path,
    version: str,
    timestamp: str | None,
    judging: Judging | None = None,
) -> str | None:
    """Write structure and best-practice results of a skill beside its functional ones.

    Judgements of best practices are kept beside them, like those of runs.

    Returns:
        Why a judge asked nothing more, where it stopped.
    """
    skill = as_published(read_skill(skill_folder), skill_folder)
    judge = open_judge(evals_folder / "best-practices" / version, judging or FROM_CACHE)
    structure = structure_tests(skill)
    practices = judged_practices(skill, best_practice_tests(skill), judge)
    number = version.removeprefix("v")
    write_json(
        evals_folder / "structure" / f"structure-tests-results-v{number}.json",
        structure_json(structure, timestamp),
    )
    folder = evals_folder / "best-practices" / version
    write_json(
        folder / "iteration-1" / "best-practices-tests-results.json",
        best_practices_json(practices, timestamp, version),
    )
    write_json(folder / "benchmark.json", best_practices_benchmark(practices, timestamp, version))
    return judge.stopped


def can_be_published(evals: EvalSet) -> bool:
    """Whether a suite has a positive: without one there is no pair of sides, which is required."""
    return any(e.should_trigger for e in evals.evals)


def check_evals_folder(folder: Path) -> list[str]:
    """Return what the publisher's check would object to; nothing where it passes."""
    if not folder.is_dir():
        return ["there is no evals folder"]
    exempt, problems = _exemptions(folder / "exemptions.json")
    if not (folder / "evals.json").is_file():
        problems.append("evals.json is missing")
    if "structure" not in exempt:
        names = [p.name for p in (folder / "structure").glob("*.json")]
        if not any(_STRUCTURE_FILE.fullmatch(name) for name in names):
            problems.append("structure/ has no structure-tests-results-v<N>.json")
    for kind, missing in (("best-practices", _missing_practices), ("functional", _missing_runs)):
        if kind not in exempt:
            problems += _incomplete(folder / kind, missing)
    problems += [f"{p} has an ending that is not allowed" for p in _foreign_files(folder)]
    return problems


def _exemptions(path: Path) -> tuple[frozenset[str], list[str]]:
    """Return the kinds that need no results; a broken entry exempts nothing and is a problem."""
    if not path.is_file():
        return frozenset(), []
    try:
        value: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        return frozenset(), [f"exemptions.json is no JSON: {error}"]
    entries = mapping(value)
    problems = [] if isinstance(value, dict) else ["exemptions.json is no object"]
    kept: list[str] = []
    for kind, entry in entries.items():
        reason = mapping(entry).get("reason")
        if kind not in KINDS:
            problems.append(f"exemptions.json names {kind!r}; known are {', '.join(KINDS)}")
        elif not isinstance(reason, str) or not reason.strip():
            problems.append(f"exemptions.json exempts {kind} without a reason")
        else:
            kept.append(kind)
    return frozenset(kept), problems


def _incomplete(parent: Path, missing: Callable[[Path], list[str]]) -> list[str]:
    versions = versions_in(parent)
    if not versions:
        return [f"{parent.name}/ has no v<N> folder"]
    gaps = {version.name: missing(version) for version in versions}
    if any(not gap for gap in gaps.values()):
        return []
    last = versions[-1].name
    return [f"{parent.name}/{last} lacks {', '.join(gaps[last])}"]


def _missing_practices(version: Path) -> list[str]:
    gaps = [] if (version / "benchmark.json").is_file() else ["benchmark.json"]
    if not any(version.glob("iteration-*/best-practices-tests-results.json")):
        gaps.append("iteration-<i>/best-practices-tests-results.json")
    return gaps


def _missing_runs(version: Path) -> list[str]:
    gaps = [n for n in ("benchmark.json", "evals.json") if not (version / n).is_file()]
    pairs = (
        (run / "with_skill" / RESULTS_NAME).is_file()
        and (run / "without_skill" / RESULTS_NAME).is_file()
        for run in version.glob("iteration-*/*")
    )
    if not any(pairs):
        gaps.append(f"an eval with both sides' {RESULTS_NAME}")
    return gaps


def _foreign_files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        foreign = path.suffix.lower() not in ALLOWED_ENDINGS
        if foreign and path.is_file() and "scripts" not in relative.parts:
            yield relative.as_posix()
