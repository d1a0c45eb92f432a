"""The preflight report in two sizes: ready or not with what it rests on, and the whole."""

from collections.abc import Iterable, Mapping, Sequence

from gpuvet.model.check import CheckStatus
from gpuvet.model.preflight import CheckRow, PreflightReport
from gpuvet.model.readiness import Ready
from gpuvet.report.grouping import group_not_seen
from gpuvet.report.render import render
from gpuvet.report.verdict import group_coverage

SHORT_WORDS = 600
_ORDER = (
    CheckStatus.FAIL,
    CheckStatus.RISK,
    CheckStatus.UNVERIFIED,
    CheckStatus.NEEDS_INPUT,
    CheckStatus.NOT_CHECKED,
    CheckStatus.PASS,
    CheckStatus.NOT_APPLICABLE,
)
_OPEN = frozenset({CheckStatus.UNVERIFIED, CheckStatus.NEEDS_INPUT})
_ADVERSE = frozenset({CheckStatus.FAIL, CheckStatus.RISK})
_SETTLED = frozenset({CheckStatus.PASS, CheckStatus.NOT_APPLICABLE})


def headline(
    ready: Mapping[str, Ready], because: Mapping[str, Sequence[str]], checks: Sequence[CheckRow]
) -> str:
    """Return the answer in one sentence: ready or not per run length, and the first reason."""
    answers = "; ".join(
        f"{length} h: {answer.value}{_because(because[length])}" for length, answer in ready.items()
    )
    worst = next((c for c in by_urgency(checks) if c.status is CheckStatus.FAIL), None)
    return f"Ready? {answers}" + (f". {worst.why}" if worst else "")


def _because(names: Sequence[str]) -> str:
    return f" ({', '.join(names[:6])})" if names else ""


def by_urgency(checks: Iterable[CheckRow]) -> tuple[CheckRow, ...]:
    """Return checks with FAIL first, then RISK, in their order otherwise."""
    return tuple(sorted(checks, key=lambda check: _ORDER.index(check.status)))


def preflight_short(report: PreflightReport, *, plain: bool = False) -> str:
    """Return the answer someone can act on, at most 600 words; plain for a terminal."""
    context = _context(report)
    sizes = (_short(context, most, plain=plain) for most in (16, 12, 9, 7, 5, 3))
    smallest = _short(context, 2, plain=plain)
    return next((text for text in sizes if len(text.split()) <= SHORT_WORDS), smallest)


def _short(context: dict[str, object], most: int, *, plain: bool) -> str:
    sizes = {"most": most, "few": max(2, most // 2)}
    return render("preflight_short.md.j2", {**context, **sizes}, plain=plain)


def preflight_markdown(report: PreflightReport, *, plain: bool = False) -> str:
    """Return the whole report; plain for a terminal."""
    return render("preflight.md.j2", _context(report), plain=plain)


def _context(report: PreflightReport) -> dict[str, object]:
    ordered = by_urgency(report.checks)
    counts = {
        status.value: count
        for status in _ORDER
        if (count := sum(1 for c in report.checks if c.status is status))
    }
    return {
        "report": report,
        "checks": ordered,
        "told": [
            c
            for c in ordered
            if c.status in _ADVERSE and not (c.id == "P27" and report.spec_findings)
        ],
        "open": [c for c in ordered if c.status in _OPEN],
        "skipped": [c for c in ordered if c.status is CheckStatus.NOT_CHECKED],
        "settled": [c for c in ordered if c.status in _SETTLED],
        "counts": counts,
        "adverse_statuses": [s.value for s in _ADVERSE],
        "coverage": group_coverage(report.coverage),
        "not_seen": group_not_seen(report.not_seen),
        "unread": [f for f in report.files if f.status != "read"],
    }
