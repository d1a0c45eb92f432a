"""The spec checks as text: one explained, and the page of all."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from gpuvet.checks.registry import Check
from gpuvet.checks.spec import DOCUMENT_CHECKS, FIELD_CHECKS, JOB_CHECKS, MONITOR_CHECKS
from gpuvet.errors import UsageError
from gpuvet.model.check import Severity
from gpuvet.report.sarif import RuleText

Subject = TypeVar("Subject")

_FAMILIES = (
    ("HPJ00", "Document and YAML"),
    ("HPJ01", "Identity, types, unknown fields"),
    ("HPJ02", "Replicas and launch"),
    ("HPJ03", "Launch"),
    ("HPJ04", "Resources"),
    ("HPJ05", "Resources and placement"),
    ("HPJ06", "Container, storage, environment"),
    ("HPJ07", "Environment and probes"),
    ("HPJ08", "Restart budget and deadlines"),
    ("HPJ09", "Kueue and spares"),
    ("HPJ10", "Elastic training"),
    ("HPJ12", "Monitors: patterns and metrics"),
    ("HPJ13", "Monitors: patterns and timing"),
    ("HPJ14", "Monitors: shapes and blind spots"),
    ("HPJ15", "Monitors: what trips them"),
    ("HPJ16", "Monitors: how long they take"),
    ("HPJ17", "Observability objects in the same file"),
)


class CheckText(NamedTuple):
    """One check, as people read it."""

    code: str
    name: str
    severity: Severity
    looks_for: str
    why: str
    fix: str
    source: str


def check_texts() -> tuple[CheckText, ...]:
    """Return every check by code."""
    rows = [*_rows(DOCUMENT_CHECKS), *_rows((*FIELD_CHECKS, *JOB_CHECKS, *MONITOR_CHECKS))]
    return tuple(sorted(rows))


def _rows(checks: Iterable[Check[Subject]]) -> Iterator[CheckText]:
    for check in checks:
        looks_for = (check.run.__doc__ or "").strip().split("\n", 1)[0]
        yield CheckText(
            check.code, check.name, check.severity, looks_for, check.why, check.fix, check.source
        )


def rule_texts() -> tuple[RuleText, ...]:
    """Return every check as SARIF describes rules."""
    return tuple(
        RuleText(each.code, each.name, each.severity, each.why, each.fix) for each in check_texts()
    )


def explanation(code: str) -> str:
    """Return what a check means.

    Raises:
        UsageError: there is no such check.
    """
    wanted = code.strip().upper()
    texts = check_texts()
    found = next((each for each in texts if each.code == wanted), None)
    if found is None:
        near = ", ".join(each.code for each in texts if each.code[:5] == wanted[:5])
        known = near or f"{texts[0].code} to {texts[-1].code}"
        raise UsageError(f"no check {code[:40]!r}; there are {known}")
    return (
        f"{found.code} {found.name} ({found.severity})\n\n"
        f"looks for: {found.looks_for}\n"
        f"why:       {found.why}\n"
        f"fix:       {found.fix}\n"
        f"source:    {found.source}\n\n"
        f"to suppress one finding: # gpuvet: ignore {found.code} the reason\n"
    )


def spec_checks_page() -> str:
    """Return references/spec-checks.md."""
    texts = check_texts()
    counts = ", ".join(
        f"{sum(each.severity is severity for each in texts)} {word}"
        for severity, word in (
            (Severity.ERROR, "errors"),
            (Severity.WARNING, "warnings"),
            (Severity.ADVICE, "advice"),
        )
    )
    intro = (
        f"{len(texts)} checks: {counts}. An error is refused or cannot do its work, a warning is "
        "likely a mistake, advice never fails a run. What the text does not decide stays silent. "
        "`gpuvet spec explain CODE` prints one of them; how the monitors' state machine works is "
        "in [log-monitors.md](log-monitors.md)."
    )
    parts = ["# Checks of a HyperPodPyTorchJob", "", intro, ""]
    for prefix, title in _FAMILIES:
        rows = [each for each in texts if each.code.startswith(prefix)]
        parts += [f"## {title}", "", "| code | severity | looks for | why | fix | source |"]
        parts.append("|---|---|---|---|---|---|")
        parts += [_row(each) for each in rows]
        parts.append("")
    return "\n".join(parts)


def _row(each: CheckText) -> str:
    cells = (
        f"{each.code} {each.name}",
        str(each.severity),
        each.looks_for,
        each.why,
        each.fix,
        each.source,
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    for char in "\\`*_<>|[]":
        text = text.replace(char, f"\\{char}")
    return text
