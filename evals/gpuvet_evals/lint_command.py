"""`gpuvet-evals lint`: evals.json, an evals folder as the publisher checks it, and a skill."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gpuvet.model.base import Value
from gpuvet_evals.assertions.patterns import Matcher
from gpuvet_evals.audit.leaks import scan_identifiers
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.journal import mapping
from gpuvet_evals.lint import LintFinding, LintLevel, lint_evals
from gpuvet_evals.locate import ALLOWED_NAME, read_evals_file
from gpuvet_evals.publish import check_evals_folder
from gpuvet_evals.run.worlds import WORLDS_NAME, read_worlds
from gpuvet_evals.skill_tests import (
    SkillTest,
    as_published,
    best_practice_tests,
    read_skill,
    structure_tests,
)
from gpuvet_evals.untrusted import clean

_SCANNED_ENDINGS = frozenset({".json", ".md", ".html", ".txt", ".yaml", ".yml"})


class LintResult(Value):
    """Findings on the definitions, and what the publisher would refuse in a folder."""

    findings: tuple[LintFinding, ...]
    refused: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    skill: tuple[SkillTest, ...] = ()  # structure and best practices

    def fails(self, bar: str) -> bool:
        """Whether something is as bad as the bar, `error` or `warning`."""
        levels = {LintLevel.ERROR} if bar == "error" else {LintLevel.ERROR, LintLevel.WARNING}
        found = any(finding.level in levels for finding in self.findings)
        failed = any(test.result == "failed" for test in self.skill)
        return found or failed or bool(self.refused or self.identifiers)


def lint_path(path: Path, matcher: Matcher, *, skill: Path | None = None) -> LintResult:
    """Lint an evals.json, or an evals folder with all that lies in it.

    Args:
        path: The file or the folder.
        matcher: Applies the patterns.
        skill: Folder of a SKILL.md, for its structure and best practices.

    Raises:
        UnreadableEvals: The definitions, or the worlds beside them, cannot be understood.
        UnreadableTree: There is nothing of the kind.
    """
    tests = _skill_tests(skill) if skill is not None else ()
    if path.is_file():
        return LintResult(findings=lint_evals(read_evals_file(path), matcher), skill=tests)
    if not (path / "evals.json").is_file():
        raise UnreadableTree(f"no evals.json in {str(path)!r}; give the file or an evals folder")
    evals = read_evals_file(path / "evals.json")
    findings = lint_evals(evals, matcher)
    allowed, problems = _allowed(path / ALLOWED_NAME)
    has_results = any((path / kind).is_dir() for kind in ("structure", "functional"))
    return LintResult(
        findings=findings,
        refused=(
            *(check_evals_folder(path) if has_results else ()),
            *problems,
            *_homeless_worlds(path / WORLDS_NAME, evals),
        ),
        identifiers=tuple(_identifiers(path, allowed)),
        skill=tests,
    )


def lint_text(result: LintResult, *, as_json: bool) -> str:
    """Return the findings, for people or for programs."""
    if as_json:
        return json.dumps(result.model_dump(mode="json"), indent=1)
    lines = [_line(finding) for finding in result.findings]
    lines += [f"refused: {clean(problem)}" for problem in result.refused]
    lines += [f"identifier: {clean(found)}" for found in result.identifiers]
    lines += [f"{t.id} failed {t.name}: {clean(t.message)}" for t in _failed(result.skill)]
    if result.skill:
        counts = Counter(test.result for test in result.skill)
        shown = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        lines.append(f"skill: {shown}")
    return "\n".join(lines) or "nothing found"


def _failed(tests: Sequence[SkillTest]) -> list[SkillTest]:
    return [test for test in tests if test.result == "failed"]


def _skill_tests(folder: Path) -> tuple[SkillTest, ...]:
    skill = as_published(read_skill(folder), folder)
    return (*structure_tests(skill), *best_practice_tests(skill))


def _homeless_worlds(path: Path, evals: EvalSet) -> list[str]:
    """Return the worlds that belong to no eval; each world's case must be there."""
    if not path.is_file():
        return []
    known = {eval_.id for eval_ in evals.evals}
    homeless = [name for name in read_worlds(path) if name not in known]
    return [f"{path.name} has a world for {name!r}, which is no eval" for name in homeless]


def _allowed(path: Path) -> tuple[frozenset[str], list[str]]:
    """Return identifiers that may stand in the folder, each with a reason, and what is wrong."""
    if not path.is_file():
        return frozenset(), []
    try:
        value: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        return frozenset(), [f"{path.name} is no JSON: {error}"]
    entries = mapping(value)
    good = {n for n, why in entries.items() if isinstance(why, str) and why.strip()}
    return frozenset(good), [
        f"{path.name} allows {n!r} without a reason" for n in entries if n not in good
    ]


def _line(finding: LintFinding) -> str:
    place = clean(finding.eval_id, limit=80) or "evals"
    if finding.assertion is not None:
        place += f" assertion {finding.assertion}"
    probe = f"\n    {clean(finding.probe, limit=120)}" if finding.probe else ""
    return f"{finding.code} {finding.level.value} {place}: {clean(finding.message)}{probe}"


def _identifiers(folder: Path, allowed: frozenset[str]) -> list[str]:
    """Return what the publisher's scan would report of each file, but for what is allowed."""
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _SCANNED_ENDINGS:
            text = path.read_text(encoding="utf-8", errors="replace")
            name = path.relative_to(folder).as_posix()
            found += [
                f"{name}: {finding}"
                for finding in scan_identifiers(text)
                if finding.rpartition(" ")[2] not in allowed
            ]
    return found
