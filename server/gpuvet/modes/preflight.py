"""`gpuvet preflight`: gather, run every check for every length, and say what is ready."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gpuvet.calculators.question import choose_mode
from gpuvet.calculators.run_capacity import LENGTHS, length_key
from gpuvet.calculators.verdict import judge_cluster
from gpuvet.case import Case
from gpuvet.checks.preflight import CHECKS
from gpuvet.checks.preflight.calendar import calendar, latest_safe_starts
from gpuvet.checks.preflight.outcome import WORST_FIRST, Outcome, Part, evaluate
from gpuvet.checks.preflight.p27_job_spec import severity_of
from gpuvet.checks.preflight.ready import CORE, Readiness, readiness
from gpuvet.checks.preflight.view import View
from gpuvet.errors import UsageError
from gpuvet.model.cause import Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.evidence import Window
from gpuvet.model.preflight import (
    CheckRow,
    PreflightReport,
    RunRow,
    SpecFindingRow,
    SubjectRow,
)
from gpuvet.model.readiness import Ready
from gpuvet.model.report import NotSeenRow, ReportConfidence
from gpuvet.model.verdict import NodeVerdict
from gpuvet.modes.evidence import Gathered, gather
from gpuvet.modes.incident import inputs_of
from gpuvet.modes.preflight_history import history_row, unread_history
from gpuvet.modes.preflight_run import RunWords, Understood, understand
from gpuvet.modes.preflight_view import read_view
from gpuvet.modes.spec_simulate import TEXT_LIMITS, simulate_spec
from gpuvet.modes.verdict import common_fields, not_seen_rows
from gpuvet.modes.window import Resolved
from gpuvet.report.preflight import headline, preflight_markdown, preflight_short
from gpuvet.report.simulation import simulation_lines

# preflight P6: coverage and verdicts are those of the last day.
_SIGHT = timedelta(hours=24)
_NOT_ASKED = "only the job spec was given: name the cluster, or give its recorded replies (--case)"
_OF_THE_FILE = "P27"
_MOST_ALSO = 24
# preflight_checks, rule 6: without these nothing is known of a run.
_TELLING = ("P1", "P3", "P4", "P6")


@dataclass(frozen=True, slots=True)
class Decided:
    """One run length with every check's outcome."""

    hours: float
    view: View
    outcomes: Mapping[str, Outcome]
    readiness: Readiness


def preflight_report(case: Case, words: RunWords, *, clock: datetime) -> PreflightReport:
    """Return the whole answer to "will this run survive until its end".

    Args:
        case: Where the evidence comes from.
        words: What the caller said of the run.
        clock: The present, used only where the case has no clock of its own.
    """
    now = case.meta.now or clock
    understood = understand(case, words, now)
    resolved = Resolved(
        Window(start=now - _SIGHT, end=now),
        "the last 24 h, for coverage and verdicts",
        now,
        None,
        failure_measured=False,
    )
    gathered = gather(case, resolved)
    verdicts = judge_cluster(gathered.evidence)
    view = read_view(case, understood.asked, gathered, verdicts, now)
    is_file_only = understood.asked.job is not None and not inputs_of(case).has_evidence
    if is_file_only:
        view = replace(view, history=None)
    decided = tuple(
        _decide(view, length, is_file_only=is_file_only) for length in understood.asked.hours
    )
    report = _report(case, resolved, gathered, verdicts, understood, decided)
    return report.model_copy(
        update={"short": preflight_short(report), "markdown": preflight_markdown(report)}
    )


def _decide(view: View, length: float, *, is_file_only: bool) -> Decided:
    at_length = replace(view, run=replace(view.run, hours=length))
    skipped = Outcome(
        (Part(CheckStatus.NOT_CHECKED, "the cluster", "not checked", closes_with=_NOT_ASKED),)
    )
    outcomes = {
        check.id: skipped
        if is_file_only and check.id != _OF_THE_FILE
        else evaluate(check, at_length)
        for check in CHECKS
    }
    return Decided(length, at_length, outcomes, readiness(at_length, outcomes))


def _report(
    case: Case,
    resolved: Resolved,
    gathered: Gathered,
    verdicts: Sequence[NodeVerdict],
    understood: Understood,
    decided: Sequence[Decided],
) -> PreflightReport:
    view = decided[-1].view
    checks = tuple(_rows(decided))
    ready = {length_key(one.hours): one.readiness.ready for one in decided}
    because = {length_key(one.hours): one.readiness.because for one in decided}
    confidence, basis = _confidence(decided)
    run = view.run
    interval = run.checkpoint_interval
    inputs = inputs_of(case)
    return PreflightReport(
        **common_fields(case, resolved, gathered),
        mode_because=choose_mode(case.meta.question, inputs, stated=case.meta.mode).why,
        question=case.meta.question,
        headline=headline(ready, because, checks),
        ready=ready,
        because=because,
        run=RunRow(
            start=run.start,
            hours=understood.asked.hours,
            checkpoint_every_minutes=interval / timedelta(minutes=1) if interval else None,
            nodes_needed=run.nodes_needed,
            nodes_from=run.nodes_from,
            assumed=understood.assumed,
        ),
        checks=checks,
        calendar=calendar(view),
        latest_safe_start=latest_safe_starts(view, (*LENGTHS, *understood.asked.hours)),
        spec_findings=tuple(_spec_findings(view)),
        simulation=tuple(_simulations(case, view)),
        history=history_row(view),
        verdicts={v.node: v.verdict for v in verdicts},
        label=_label(decided),
        confidence=confidence,
        confidence_basis=basis,
        nodes=tuple(verdicts),
        not_seen=tuple(_not_seen(case, gathered, checks, view)),
    )


def _rows(decided: Sequence[Decided]) -> Iterator[CheckRow]:
    for check in CHECKS:
        by_length = {length_key(one.hours): one.outcomes[check.id] for one in decided}
        # The worst length is shown; of equal ones the longest, whose arithmetic is the hardest.
        shown = min(
            reversed(by_length.values()), key=lambda outcome: WORST_FIRST.index(outcome.status)
        )
        first, *others = shown.parts
        yield CheckRow(
            id=check.id,
            name=check.name,
            core=check.is_core,
            status=shown.status,
            by_hours={length: outcome.status for length, outcome in by_length.items()},
            subject=first.subject,
            why=first.why,
            arithmetic=dict(first.numbers),
            action=first.action,
            closes_with=first.closes_with,
            evidence=first.evidence,
            also=tuple(_also(part) for part in others[:_MOST_ALSO]),
            notes=tuple(dict.fromkeys(note for part in shown.parts for note in part.notes)),
        )


def _also(part: Part) -> SubjectRow:
    return SubjectRow(
        subject=part.subject,
        status=part.status,
        why=part.why,
        action=part.action,
        closes_with=part.closes_with,
    )


def _confidence(decided: Sequence[Decided]) -> tuple[ReportConfidence, str]:
    """High: every check settled; Medium: those without which nothing is known; else Low."""
    outcomes = [one.outcomes for one in decided]
    open_core = sorted({n for each in outcomes for n in _TELLING if not each[n].is_complete})
    if open_core:
        return "Low", f"open: {', '.join(open_core)}"
    others = {n for each in outcomes for n, one in each.items() if not one.is_complete}
    if others:
        return "Medium", f"{', '.join(_TELLING)} settled; {len(others)} others open"
    return "High", "every check settled"


def _label(decided: Sequence[Decided]) -> Label:
    """Return Proven unless a core check is open because a source was not read (§0 of the rules)."""
    unread = any(one.outcomes[name].unread for one in decided for name in CORE)
    return Label.HYPOTHESIS if unread else Label.PROVEN


def _spec_findings(view: View) -> Iterator[SpecFindingRow]:
    findings = view.job.findings if view.job is not None else ()
    told = [(severity_of(one), one) for one in findings]
    for status, one in sorted(told, key=lambda pair: (str(pair[0]), pair[1].line)):
        if status is not None:
            yield SpecFindingRow(
                severity=status,
                code=one.code,
                path=one.path,
                about=f"{one.message}. {one.why}",
                fix=one.fix,
                file=one.file,
                line=one.line,
            )


def _simulations(case: Case, view: View) -> Iterator[str]:
    """Yield what the job's monitors come to over the logs of the case."""
    job = view.job
    if job is None or job.spec is None or not job.spec.rules:
        return
    for log in case.job_logs[:4]:
        try:
            result = simulate_spec(
                job.text, file=job.file, text=log.text, name=log.file, limits=TEXT_LIMITS
            )
        except UsageError as error:
            yield f"{log.file}: not simulated: {error}"
        else:
            yield from simulation_lines(result)


def _not_seen(
    case: Case, gathered: Gathered, checks: Sequence[CheckRow], view: View
) -> Iterator[NotSeenRow]:
    seen: set[str] = set()
    for row in not_seen_rows(case, gathered):
        if row.what not in seen:
            seen.add(row.what)
            yield row
    for check in checks:
        if check.status is CheckStatus.UNVERIFIED and check.why not in seen:
            seen.add(check.why)
            yield NotSeenRow(
                what=f"{check.id}: {check.why}",
                reason="not settled",
                closes_with=check.closes_with or "see the check",
            )
    yield from unread_history(view)


def exit_code(report: PreflightReport, *, fail_on_risk: bool = False) -> int:
    """Return 1 for Ready No (with `fail_on_risk` also for risks), 3 for Not decided, else 0."""
    answers = set(report.ready.values())
    if Ready.NO in answers or (fail_on_risk and Ready.WITH_RISKS in answers):
        return 1
    return 3 if Ready.NOT_DECIDED in answers else 0
