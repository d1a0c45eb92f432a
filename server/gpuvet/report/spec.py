"""Findings of a spec as text: like a compiler's, as Markdown, or as GitHub annotations."""

from collections.abc import Iterator, Mapping, Sequence

from gpuvet.model.check import Finding, Severity, SpecReport
from gpuvet.parse.untrusted import clean, mask, show

_WIDTH = 110  # characters of a source line that are shown
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}


def spec_text(report: SpecReport, source: str) -> str:
    """Return the findings with the line each one speaks of, then a summary."""
    lines = source.split("\n")
    blocks = [_block(finding, lines) for finding in report.findings]
    return "\n".join([*blocks, *_tail(report)]) + "\n"


def _block(finding: Finding, lines: Sequence[str]) -> str:
    head = f"{_where(finding)}: {finding.severity} {finding.code}: {finding.message}"
    parts = [head, *_excerpt(finding, lines)]
    if finding.path:
        parts.append(f"  at:  {finding.path}")
    parts += [f"  why: {finding.why}", f"  fix: {finding.fix}", f"  see: {finding.source}", ""]
    return "\n".join(parts)


def _where(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}:{finding.column}" if finding.line else finding.file


def _excerpt(finding: Finding, lines: Sequence[str]) -> Iterator[str]:
    """Yield the source line and a caret under the fault."""
    if not 0 < finding.line <= len(lines):
        return
    raw = lines[finding.line - 1].rstrip("\r")
    start = finding.column - 1
    ends_here = finding.end_line == finding.line and finding.end_column > finding.column
    length = finding.end_column - finding.column if ends_here else max(len(raw) - start, 1)
    masked = mask(raw)
    if masked != raw or finding.code == "HPJ070":
        # The caret would point at nothing once the secret is gone.
        yield f"  {finding.line:>4} | {clean(masked[:start], limit=_WIDTH)}[masked]"
        return
    first = max(0, start - _WIDTH // 2) if len(raw) > _WIDTH else 0
    shown = show(raw[first : first + _WIDTH].replace("\t", " "))
    yield f"  {finding.line:>4} | {shown}"
    caret = "^" * max(1, min(length, _WIDTH - (start - first)))
    yield f"       | {' ' * (start - first)}{caret}"


def _tail(report: SpecReport) -> Iterator[str]:
    for other in report.skipped:
        yield f"{report.file}:{other.line}: skipped: {other.name} ({other.why})"
    for each in report.suppressed:
        yield f"{report.file}:{each.line}: suppressed: {each.code} ({each.reason})"
    for note in report.notes:
        yield f"{report.file}: {note}"
    yield summary(report)


def summary(report: SpecReport) -> str:
    """Return one line: what was judged and what came of it."""
    counts = ", ".join(
        _counted(report.number_of(severity), word)
        for severity, word in (
            (Severity.ERROR, "error"),
            (Severity.WARNING, "warning"),
            (Severity.ADVICE, "advice"),
        )
    )
    judged = f"{_counted(report.jobs, 'job')}, {_counted(report.monitors, 'log monitor')}"
    return f"{report.file}: {judged} checked: {counts}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 and word != 'advice' else ''}"


def spec_markdown(reports: Sequence[SpecReport]) -> str:
    """Return the findings of all files as a Markdown list."""
    parts: list[str] = []
    for report in reports:
        parts.append(f"### {_code(report.file)}\n\n{summary(report)}\n")
        parts += [
            f"- **{each.severity} {each.code}** line {each.line}, {_code(each.path)}: "
            f"{_plain(each.message)}\n  - why: {_plain(each.why)}\n  - fix: {_plain(each.fix)}\n"
            for each in report.findings
        ]
        parts += [f"- skipped: {_code(each.name)} ({each.why})\n" for each in report.skipped]
    return "\n".join(parts)


def _code(text: str) -> str:
    """Return text in a code span longer than any run of backticks in it."""
    fence = "`" * (max((len(run) for run in _runs(text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text or '-'}{pad}{fence}"


def _runs(text: str) -> Iterator[str]:
    run = ""
    for char in text:
        if char == "`":
            run += char
        else:
            if run:
                yield run
            run = ""
    if run:
        yield run


_SPECIAL: Mapping[int, str] = {ord(char): f"\\{char}" for char in "\\`*_[]<>|#!~{}"}


def _plain(text: str) -> str:
    """Return text in which no character acts as Markdown or HTML."""
    return text.translate(_SPECIAL).replace("\n", " ")


def github_annotations(reports: Sequence[SpecReport]) -> str:
    """Return one workflow command per finding, escaped as GitHub does it."""
    lines = [_annotation(each) for report in reports for each in report.findings]
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: Finding) -> str:
    properties = {"file": finding.file, "title": finding.code}
    if finding.line:
        properties |= {"line": str(finding.line), "col": str(max(finding.column, 1))}
    if finding.end_line == finding.line and finding.end_column > finding.column:
        properties |= {"endLine": str(finding.end_line), "endColumn": str(finding.end_column)}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = f"{finding.message}\n{finding.why}\nfix: {finding.fix}"
    return f"::{_LEVELS[finding.severity]} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
