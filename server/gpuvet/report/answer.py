"""The lint of a drafted answer, as Markdown and for a terminal."""

from collections.abc import Iterator

from gpuvet.model.answer import AnswerCheck, AnswerFinding
from gpuvet.report.words import cell, code, counted, plain

_SHOWN = 120


def answer_markdown(check: AnswerCheck) -> str:
    """Return the findings as a list, the outcome first."""
    lines = [f"**{_outcome(check)}** ({_against(check)})", ""]
    for found in check.findings:
        shown = f" {code(found.shown[:_SHOWN])}" if found.shown else ""
        lines.append(
            f"- {found.line}:{found.column} **{found.code}** {found.name}"
            f"{'' if found.severity == 'error' else f' ({found.severity})'}{shown}: "
            f"{cell(found.message)}. Fix: {found.fix}"
        )
    if check.not_judged:
        lines += ["", "Not judged:", *(f"- {cell(each)}" for each in check.not_judged)]
    return "\n".join(lines).rstrip() + "\n"


def answer_text(check: AnswerCheck, draft: str) -> str:
    """Return the findings for a terminal, each as `file:line:column`.

    Args:
        check: What was found.
        draft: Name of the draft, e.g. its path.
    """
    lines = list(_findings(check.findings, draft))
    lines += [f"not judged: {plain(each)}" for each in check.not_judged]
    return "\n".join([*lines, f"{_outcome(check)}; {_against(check)}"]) + "\n"


def _findings(findings: tuple[AnswerFinding, ...], draft: str) -> Iterator[str]:
    for found in findings:
        place = f"{draft}:{found.line}:{found.column}"
        yield f"{place}: {found.severity} {found.code} {found.name}: {plain(found.message)}"
        yield f"    why: {found.why}"
        yield f"    fix: {found.fix}"


def _outcome(check: AnswerCheck) -> str:
    if not check.findings:
        return "clean as far as it was read" if _is_unread(check) else "clean"
    parts = [counted(check.errors, "error")] if check.errors else []
    parts += [counted(check.warnings, "warning")] if check.warnings else []
    return ", ".join(parts)


def _is_unread(check: AnswerCheck) -> bool:
    return any(each.startswith("wording:") for each in check.not_judged)


def _against(check: AnswerCheck) -> str:
    rows = ", ".join(f"{plain(row.what)} {plain(row.of)}" for row in check.evidence)
    return f"{check.rules} rules against {rows}"
