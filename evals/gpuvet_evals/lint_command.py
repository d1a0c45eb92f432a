"""`gpuvet-evals lint`: evals.json, and an evals folder as the publisher checks it."""

import json
from pathlib import Path

from gpuvet.model.base import Value
from gpuvet_evals.assertions.patterns import Matcher
from gpuvet_evals.audit.leaks import scan_identifiers
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.lint import LintFinding, LintLevel, lint_evals
from gpuvet_evals.locate import read_evals_file
from gpuvet_evals.publish import check_evals_folder
from gpuvet_evals.untrusted import clean

_SCANNED_ENDINGS = frozenset({".json", ".md", ".html", ".txt", ".yaml", ".yml"})


class LintResult(Value):
    """Findings on the definitions, and what the publisher would refuse in a folder."""

    findings: tuple[LintFinding, ...]
    refused: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    def fails(self, bar: str) -> bool:
        """Whether something is as bad as the bar, `error` or `warning`."""
        levels = {LintLevel.ERROR} if bar == "error" else {LintLevel.ERROR, LintLevel.WARNING}
        found = any(finding.level in levels for finding in self.findings)
        return found or bool(self.refused or self.identifiers)


def lint_path(path: Path, matcher: Matcher) -> LintResult:
    """Lint an evals.json, or an evals folder with all that lies in it.

    Raises:
        UnreadableEvals: The definitions cannot be understood.
        UnreadableTree: There is nothing of the kind.
    """
    if path.is_file():
        return LintResult(findings=lint_evals(read_evals_file(path), matcher))
    if not (path / "evals.json").is_file():
        raise UnreadableTree(f"no evals.json in {str(path)!r}; give the file or an evals folder")
    findings = lint_evals(read_evals_file(path / "evals.json"), matcher)
    has_results = any((path / kind).is_dir() for kind in ("structure", "functional"))
    return LintResult(
        findings=findings,
        refused=tuple(check_evals_folder(path)) if has_results else (),
        identifiers=tuple(_identifiers(path)),
    )


def lint_text(result: LintResult, *, as_json: bool) -> str:
    """Return the findings, for people or for programs."""
    if as_json:
        return json.dumps(result.model_dump(mode="json"), indent=1)
    lines = [_line(finding) for finding in result.findings]
    lines += [f"refused: {clean(problem)}" for problem in result.refused]
    lines += [f"identifier: {clean(found)}" for found in result.identifiers]
    return "\n".join(lines) or "nothing found"


def _line(finding: LintFinding) -> str:
    place = clean(finding.eval_id, limit=80) or "evals"
    if finding.assertion is not None:
        place += f" assertion {finding.assertion}"
    probe = f"\n    {clean(finding.probe, limit=120)}" if finding.probe else ""
    return f"{finding.code} {finding.level.value} {place}: {clean(finding.message)}{probe}"


def _identifiers(folder: Path) -> list[str]:
    """Return what the publisher's scan would report of each file."""
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _SCANNED_ENDINGS:
            text = path.read_text(encoding="utf-8", errors="replace")
            name = path.relative_to(folder).as_posix()
            found += [f"{name}: {finding}" for finding in scan_identifiers(text)]
    return found
