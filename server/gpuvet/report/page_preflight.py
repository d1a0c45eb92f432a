"""A preflight laid out for the HTML page."""

from collections.abc import Iterator, Sequence

from gpuvet.model.check import CheckStatus
from gpuvet.model.preflight import CheckRow, PreflightReport
from gpuvet.model.readiness import Ready
from gpuvet.report.page import MOST_ROWS, NodeInput, Page, Step, Table, Tile, map_data
from gpuvet.report.page_parts import told_facts, unseen_table
from gpuvet.report.preflight import by_urgency
from gpuvet.report.words import plain, span, utc, whole_plain

_TONES = {Ready.NO: "bad", Ready.WITH_RISKS: "warn", Ready.YES: "good", Ready.NOT_DECIDED: "warn"}
_MOST_LED = 3
_ADVERSE = frozenset({CheckStatus.FAIL, CheckStatus.RISK})


def preflight_model(report: PreflightReport) -> Page:
    """Return the page of a preflight."""
    ordered = by_urgency(report.checks)
    return Page(
        kind="Preflight",
        title=f"Preflight {report.cluster or ''} {utc(report.now)}",
        headline=whole_plain(report.headline),
        lead=_lead([c for c in ordered if c.status in _ADVERSE]),
        facts=tuple(_facts(report)),
        tiles=tuple(_tiles(report)),
        tables=(
            _checks(ordered),
            _calendar(report),
            _starts(report),
            _arithmetic(ordered),
            _spec(report),
            _past(report),
            unseen_table(report.not_seen),
        ),
        steps=tuple(
            Step(whole_plain(c.action), why=f"{c.id} {c.status.value}")
            for c in ordered
            if c.status in _ADVERSE and c.action
        )[:30],
        data=map_data(
            None,
            [NodeInput(n.node, n.verdict.value, n.minimum_action) for n in report.nodes],
            (),
            (),
        ),
    )


def _lead(adverse: Sequence[CheckRow]) -> str:
    """Return the worst findings as sentences; the table has all of them."""
    told = [f"{one.id} {one.why.rstrip('.')}." for one in adverse[:_MOST_LED]]
    rest = len(adverse) - len(told)
    more = [f"{rest} more are in the table of checks."] if rest > 0 else []
    return whole_plain(" ".join([*told, *more]))


def _facts(report: PreflightReport) -> Iterator[tuple[str, str]]:
    run = report.run
    yield "Start", utc(run.start)
    yield "Lengths decided", ", ".join(f"{length:g} h" for length in run.hours)
    if run.nodes_needed is not None:
        yield "Nodes", f"{run.nodes_needed} ({plain(run.nodes_from)})"
    if run.checkpoint_every_minutes is not None:
        yield "Checkpoint", f"every {run.checkpoint_every_minutes:g} min"
    yield "Label", f"{report.label.value}, confidence {report.confidence}"
    yield "Coverage and verdicts", span(report.window.since, report.window.until)
    yield "Orchestrator", report.orchestrator
    yield from told_facts(
        ("Cluster", report.cluster),
        ("Account", report.account),
        ("Region", report.region),
        ("Asked", report.question),
        ("History", report.history.said if report.history else None),
        ("Assumed", "; ".join(run.assumed) or None),
    )


def _tiles(report: PreflightReport) -> Iterator[Tile]:
    for length, answer in report.ready.items():
        because = ", ".join(report.because[length][:5])
        yield Tile(f"Ready for {length} h", answer.value, because, _TONES[answer])
    for status, tone in ((CheckStatus.FAIL, "bad"), (CheckStatus.RISK, "warn")):
        count = sum(1 for check in report.checks if check.status is status)
        yield Tile(
            status.value, str(count), f"of {len(report.checks)} checks", tone if count else "plain"
        )
    late = next((one for one in report.latest_safe_start if not one.is_past), None)
    if late is not None:
        yield Tile(f"Latest safe start, {late.hours:g} h", utc(late.at), late.resource)


def _checks(ordered: tuple[CheckRow, ...]) -> Table:
    rows = [
        (
            check.status.value,
            f"{check.id} {whole_plain(check.name)}",
            whole_plain(check.why),
            whole_plain(check.action or check.closes_with or ""),
            ", ".join(check.evidence[:2]),
        )
        for check in ordered
    ]
    return Table(
        key="checks",
        title="Checks",
        columns=("Status", "Check", "Found", "Do, or what closes it", "Evidence"),
        kinds=("verdict", "text", "text", "text", "code"),
        rows=rows,
        note="P1 to P6 are the core; a later check can add RISK or FAIL and never lifts one.",
    )


def _arithmetic(ordered: tuple[CheckRow, ...]) -> Table:
    rows = [
        (check.id, plain(check.subject), plain(name), plain(str(value)))
        for check in ordered
        for name, value in check.arithmetic.items()
    ]
    return Table(
        key="arithmetic",
        title="Arithmetic",
        columns=("Check", "Of", "Quantity", "Value"),
        kinds=("verdict", "code", "text", "text"),
        rows=rows[:MOST_ROWS],
        empty="no check had anything to calculate",
    )


def _calendar(report: PreflightReport) -> Table:
    rows = [
        (
            plain(row.resource),
            row.kind,
            row.state or "not read",
            utc(row.start) if row.start else "",
            utc(row.end) if row.end else "no end date",
            utc(row.usable_until) if row.usable_until else "",
            "" if row.instances is None else str(row.instances),
            row.zone or "",
            whole_plain("; ".join((row.lead, *row.notes))),
        )
        for row in report.calendar[:MOST_ROWS]
    ]
    return Table(
        key="calendar",
        title="Capacity calendar",
        columns=(
            "Resource",
            "Kind",
            "State",
            "From",
            "Until",
            "Usable until",
            "Instances",
            "Zone",
            "Notes",
        ),
        kinds=("code", "text", "text", "text", "text", "text", "num", "text", "text"),
        rows=rows,
        empty="no plan and no reservation was read",
    )


def _starts(report: PreflightReport) -> Table:
    rows = [
        (f"{one.hours:g}", utc(one.at), "past" if one.is_past else "open", plain(one.resource))
        for one in report.latest_safe_start
    ]
    return Table(
        key="starts",
        title="Latest safe start",
        columns=("Run length, h", "Latest start", "State", "Of"),
        kinds=("num", "text", "text", "code"),
        rows=rows,
        empty="no capacity with an end was read",
    )


def _spec(report: PreflightReport) -> Table:
    rows = [
        (
            one.severity.value,
            one.code,
            f"{one.file}:{one.line}",
            plain(one.path),
            whole_plain(one.about),
            whole_plain(one.fix),
        )
        for one in report.spec_findings[:MOST_ROWS]
    ]
    return Table(
        key="spec",
        title="Job spec",
        columns=("For the run", "Code", "Line", "Path", "Found", "Fix"),
        kinds=("text", "code", "code", "code", "text", "text"),
        rows=rows,
        note="; ".join(plain(line) for line in report.simulation[:6]),
        empty="no job spec was given, or nothing was found in it",
    )


def _past(report: PreflightReport) -> Table:
    history = report.history
    rows = [
        (
            utc(one.at),
            plain(", ".join(one.nodes)),
            whole_plain(one.what),
            ", ".join(one.told_by),
            "counted" if one.counted else "outside of the hours seen",
        )
        for one in (history.past if history else ())[:MOST_ROWS]
    ]
    return Table(
        key="past",
        title="Faults and replacements before now",
        columns=("When", "Nodes", "What", "Told by", "Counts"),
        kinds=("text", "code", "text", "text", "text"),
        rows=rows,
        note=whole_plain("; ".join(history.not_counted)) if history else "",
        empty="no fault and no replacement was told",
    )
