"""An incident laid out for the HTML page."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.model.cause import BranchAssessment, BranchStatus, Label
from gpuvet.model.report import IncidentReport
from gpuvet.model.verdict import NodeVerdict
from gpuvet.report.incident import BRANCH_NAMES, bar
from gpuvet.report.page import (
    MOST_NODE_ROWS,
    MOST_ROWS,
    NodeInput,
    Page,
    Step,
    Table,
    Tile,
    event_table,
    map_data,
)
from gpuvet.report.page_parts import URGENT, acting_tile, told_facts, unseen_table
from gpuvet.report.words import plain, span, utc, whole_plain


def incident_model(report: IncidentReport) -> Page:
    """Return the page of an incident."""
    nodes = sorted(report.nodes, key=lambda n: (URGENT.index(n.verdict), n.node))
    leading = next((b for b in report.branches if b.branch is report.branch), None)
    return Page(
        kind="Incident",
        title=f"Incident {report.cluster or ''} {span(report.window.since, report.window.until)}",
        headline=_headline(report),
        lead=whole_plain(leading.why if leading else report.confidence_basis),
        facts=tuple(_facts(report)),
        tiles=tuple(_tiles(report)),
        tables=tuple(_tables(report, nodes, leading)),
        steps=tuple(Step(whole_plain(step)) for step in (*report.actions, *report.recovery)[:20]),
        quotes=tuple(plain(note) for note in report.context[:12]),
        data=map_data(
            report.hours,
            [NodeInput(n.node, n.verdict.value, _ground(n)) for n in nodes],
            tuple(_reasons(report)),
            report.timeline,
        ),
    )


def _tables(
    report: IncidentReport, nodes: Sequence[NodeVerdict], leading: BranchAssessment | None
) -> Iterator[Table]:
    yield _nodes(nodes)
    if leading is not None:
        yield _why(leading)
    yield _branches(report)
    yield event_table(report.timeline)
    yield _coverage(report)
    yield unseen_table(report.not_seen)


def _headline(report: IncidentReport) -> str:
    """Return the report's headline without its reasons, which stand below it."""
    if report.branch is None:
        return whole_plain(report.headline)
    word = "Root cause" if report.label is Label.PROVEN else "Leading hypothesis"
    return f"{word}: {report.branch.value}, {BRANCH_NAMES[report.branch]}"


def _why(leading: BranchAssessment) -> Table:
    rows = [
        (
            whole_plain(signal.what),
            utc(signal.at) if signal.at else "",
            whole_plain(signal.mechanism or ""),
            ", ".join(signal.evidence[:3]),
        )
        for signal in leading.signals[:MOST_ROWS]
    ]
    rows += [(whole_plain(fact), "", "", "") for fact in leading.facts[:MOST_ROWS]]
    columns = ("What", "When (UTC)", "Leads to", "Evidence")
    return Table("why", "Why", columns, ("text", "code", "text", "code"), rows)


def _ground(node: NodeVerdict) -> str:
    found = node.grounds[0] if node.grounds else None
    where = f" on {found.pci}" if found is not None and found.pci else ""
    what = f"{found.what}{where}" if found is not None else "nothing was found"
    return f"{what}; {bar(node)}"


def _facts(report: IncidentReport) -> Iterator[tuple[str, str]]:
    failure = report.failure
    yield "Symptom", failure.symptom.value
    yield "Began", f"{utc(failure.at) if failure.at else 'not established'} ({failure.source})"
    yield "Window", f"{span(report.window.since, report.window.until)} ({report.window.source})"
    yield "Confidence", f"{report.confidence}: {report.confidence_basis}"
    yield "Orchestrator", report.orchestrator
    yield from told_facts(
        ("Cluster", report.cluster),
        ("Account", report.account),
        ("Region", report.region),
        ("Asked", report.question),
    )


def _tiles(report: IncidentReport) -> Iterator[Tile]:
    branch = report.branch
    tone = {"Proven": "bad", "Hypothesis": "warn"}.get(report.label.value, "plain")
    if branch is not None:
        yield Tile("Cause", BRANCH_NAMES[branch], report.label.value, tone)
    else:
        yield Tile("Cause", "none leads", report.label.value)
    yield acting_tile(report.verdicts)
    seen = sum(c.hours_measured for c in report.coverage)
    asked = sum(c.hours_asked for c in report.coverage)
    share = seen / asked if asked else 0.0
    yield Tile("Source-hours seen", f"{share:.0%}", f"{seen:,} of {asked:,}", "plain", share)
    out = sum(b.status is BranchStatus.RULED_OUT for b in report.branches)
    yield Tile("Causes ruled out", str(out), f"of {len(report.branches)}")
    yield Tile("Not seen", str(len(report.not_seen)), "sources or hours, by name")


def _nodes(nodes: Sequence[NodeVerdict]) -> Table:
    rows = [
        (plain(n.node), n.verdict.value, n.fault_class.value, whole_plain(_ground(n)), _line(n))
        for n in nodes[:MOST_NODE_ROWS]
    ]
    return Table(
        key="nodes",
        title="Node verdicts",
        columns=("Node", "Verdict", "Class", "Ground and bar", "Line"),
        kinds=("code", "verdict", "text", "text", "code"),
        rows=rows,
        more=max(0, len(nodes) - MOST_NODE_ROWS),
        empty="No node is in the evidence.",
    )


def _line(node: NodeVerdict) -> str:
    return plain(next((g.raw for g in node.grounds if g.raw), ""))


def _branches(report: IncidentReport) -> Table:
    rows = [
        (
            f"{b.branch.value} {BRANCH_NAMES[b.branch]}",
            b.status.value + (f", {b.label.value}" if b.label else ""),
            whole_plain(b.why),
            whole_plain(b.confirming or ""),
        )
        for b in report.branches
    ]
    columns = ("Branch", "Status", "Why", "Would settle it")
    return Table("branches", "Causes A to F", columns, ("text", "text", "text", "text"), rows)


def _coverage(report: IncidentReport) -> Table:
    rows = [
        (
            plain(c.node),
            c.status.value + (f" ({plain(c.reason)})" if c.reason else ""),
            f"{c.hours_measured} of {c.hours_asked}",
            plain(c.group or "file"),
            plain(c.stream or "none"),
            "; ".join(f"{span(g.start, g.end)} ({g.hours} h)" for g in c.gaps[:4]),
        )
        for c in report.coverage[:MOST_ROWS]
    ]
    return Table(
        key="holes",
        title="What could be seen",
        columns=("Node", "Status", "Hours seen", "Group", "Stream", "Holes (UTC)"),
        kinds=("code", "text", "num", "code", "code", "code"),
        rows=rows,
        more=max(0, len(report.coverage) - MOST_ROWS),
    )


def _reasons(
    report: IncidentReport,
) -> Iterator[tuple[str, str | None, str | None, datetime, datetime, str]]:
    for row in report.coverage:
        for gap in row.gaps:
            why = "; ".join(filter(None, (row.reason or gap.state, gap.note)))
            yield row.node, row.group, row.stream, gap.start, gap.end, why
