"""An audit laid out for the HTML page."""

from collections.abc import Iterator, Sequence

from gpuvet.model.audit import AuditReport, NodeSight, Witness
from gpuvet.model.coverage import CoverageStatus
from gpuvet.report.audit import because, group_holes, group_witnesses, next_steps, used_total
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
from gpuvet.report.words import counted, plain, some, span, utc, whole_plain

_AGENT = frozenset({CoverageStatus.DETECTIONS, CoverageStatus.NO_HMA_DETECTIONS})


def audit_model(report: AuditReport) -> Page:
    """Return the page of an audit."""
    nodes = _ordered(report)
    return Page(
        kind="Audit",
        title=f"Audit {report.cluster or ''} {span(report.window.since, report.window.until)}",
        headline=whole_plain(report.headline),
        lead=whole_plain(report.claim),
        facts=tuple(_facts(report)),
        tiles=tuple(_tiles(report)),
        tables=tuple(_tables(report, nodes)),
        steps=tuple(_steps(report)),
        quotes=tuple(plain(note) for note in report.context[:12]),
        data=map_data(
            report.hours,
            [
                NodeInput(n.node, _verdict(report, n), n.claim, cluster=n.cluster or "")
                for n in nodes
            ],
            ((h.node, h.group, h.stream, h.start, h.end, because(h)) for h in report.holes),
            report.timeline,
        ),
    )


def _verdict(report: AuditReport, node: NodeSight) -> str:
    found = report.verdicts.get(node.node)
    return found.value if found is not None else "no GPU"


def _ordered(report: AuditReport) -> list[NodeSight]:
    """Return the nodes, the most urgent and the least seen first."""

    def order(node: NodeSight) -> tuple[object, ...]:
        verdict = report.verdicts.get(node.node)
        rank = URGENT.index(verdict) if verdict is not None else len(URGENT)
        return (rank, node.hours_measured - node.hours_asked, node.node)

    return sorted(report.sight, key=order)


def _facts(report: AuditReport) -> Iterator[tuple[str, str]]:
    yield "Window", f"{span(report.window.since, report.window.until)} ({report.window.source})"
    yield "Label", f"{report.label.value}: {report.label_because}"
    yield "Confidence", f"{report.confidence}: {report.confidence_basis}"
    names = [c.cluster or c.source for c in report.clusters]
    yield "Clusters", plain(some(names, 6))
    yield "Orchestrator", report.orchestrator
    yield from told_facts(
        ("Account", report.account), ("Region", report.region), ("Asked", report.question)
    )


def _tiles(report: AuditReport) -> Iterator[Tile]:
    seen = sum(n.hours_measured for n in report.sight)
    asked = sum(n.hours_asked for n in report.sight)
    share = seen / asked if asked else 0.0
    tone = "good" if share == 1 else "warn" if share >= 0.5 else "bad"
    agent = sum(n.status in _AGENT for n in report.sight)
    sub = f"{seen:,} of {asked:,}" + (f"; agent only on {agent}" if agent else "")
    yield Tile("Kernel log seen", f"{share:.0%}", f"{sub} node-hours", tone, share)
    gpu = [n for n in report.sight if n.status is not CoverageStatus.NOT_APPLICABLE]
    clean = [
        n for n in gpu if n.hours_asked and n.hours_measured == n.hours_asked and not n.xid_events
    ]
    tone = "good" if len(clean) == len(gpu) and gpu else "plain"
    yield Tile("0 Xids may be claimed", str(len(clean)), f"of {counted(len(gpu), 'node')}", tone)
    yield acting_tile(report.verdicts)
    events = sum(n.xid_events for n in report.sight)
    again = sum(f.recurs for f in report.faults)
    yield Tile("Xid events", f"{events:,}", f"{again} recurring" if again else "in the hours asked")
    dark = [h for h in report.holes if h.hours > h.seen_elsewhere]
    named = sum(any(c.measured for c in h.causes) for h in dark)
    tone = "warn" if dark else "good"
    yield Tile("Holes", f"{len(dark):,}", f"{named:,} with a measured reason", tone)
    if report.lost.rows or report.lost.used:
        lost = sum(row.gpu_hours for row in report.lost.rows)
        money = sum(row.money or 0 for row in report.lost.rows)
        price = report.lost.price_per_gpu_hour
        sub = f"{money:,.0f} {report.lost.currency or ''}" if price is not None else "lost"
        yield Tile("GPU hours", f"{lost:,.1f}", sub, "warn" if lost else "good")


def _tables(report: AuditReport, nodes: Sequence[NodeSight]) -> Iterator[Table]:
    yield _nodes(report, nodes)
    yield _holes(report)
    yield _faults(report)
    yield event_table(report.timeline)
    yield _sources(report)
    if len(report.clusters) > 1:
        yield _clusters(report)
    if report.replacements:
        yield _replaced(report)
    if report.lost.rows or report.lost.unknown:
        yield _lost(report)
    if report.baseline is not None:
        yield _since(report)
    yield unseen_table(report.not_seen, MOST_ROWS // 2)


def _nodes(report: AuditReport, nodes: Sequence[NodeSight]) -> Table:
    rows = [
        (
            plain(n.node),
            _verdict(report, n),
            f"{n.hours_measured} of {n.hours_asked}",
            whole_plain(n.claim),
        )
        for n in nodes[:MOST_NODE_ROWS]
    ]
    return Table(
        key="nodes",
        title="What may be claimed, node by node",
        columns=("Node", "Verdict", "Hours seen", "May be claimed"),
        kinds=("code", "verdict", "num", "text"),
        rows=rows,
        more=max(0, len(nodes) - MOST_NODE_ROWS),
        empty="No node is in the evidence.",
    )


def _holes(report: AuditReport) -> Table:
    groups = group_holes(report.holes)
    rows = [
        (
            span(g.shown.start, g.shown.end),
            str(g.shown.hours),
            plain(some(g.nodes, 3)),
            plain(g.shown.group or "none"),
            plain(some(g.streams, 2) or "none"),
            whole_plain(g.because),
        )
        for g in groups[:MOST_ROWS]
    ]
    return Table(
        key="holes",
        title="Holes, and why",
        columns=("Hours (UTC)", "h", "Nodes", "Group", "Stream", "Why"),
        kinds=("code", "num", "code", "code", "code", "text"),
        rows=rows,
        more=max(0, len(groups) - MOST_ROWS),
        empty="Every hour that was asked for was seen.",
    )


def _faults(report: AuditReport) -> Table:
    most = MOST_ROWS // 2
    rows = [
        (
            plain(f.node),
            plain(f.pci or "not told"),
            str(f.code),
            f.fault_class.value + (", follows another" if f.consequence else ""),
            f"{f.events}" + (f", recurs over {f.boots} boots" if f.recurs else ""),
            utc(f.last) + ("" if f.in_window else " (before the window)"),
            plain(f.raw),
            f.evidence,
        )
        for f in report.faults[:most]
    ]
    return Table(
        key="faults",
        title="Faults and recurrence",
        columns=("Node", "GPU", "Xid", "Class", "Events", "Last (UTC)", "Line", "Evidence"),
        kinds=("code", "code", "num", "text", "text", "code", "code", "code"),
        rows=rows,
        note="; ".join(plain(o.sentence) for o in report.outliers[:3]),
        more=max(0, len(report.faults) - most),
        empty="No Xid line was read. The hours for which that is a statement stand above.",
    )


def _sources(report: AuditReport) -> Table:
    groups = group_witnesses(report.sight)
    most = MOST_ROWS // 4
    rows = [
        (
            plain(some(g.nodes, 2)),
            *(plain(f"{state.value}: {words}") for state, words in g.states),
        )
        for g in groups[:most]
    ]
    return Table(
        key="sources",
        title="What each node's sources could show",
        columns=("Nodes", *(w.value for w in Witness)),
        kinds=("code", *("text" for _ in Witness)),
        rows=rows,
        more=max(0, len(groups) - most),
    )


def _clusters(report: AuditReport) -> Table:
    rows = [
        (
            plain(c.cluster or "not known"),
            plain(c.source),
            c.status + (f": {plain(c.reason)}" if c.reason else ""),
            str(c.nodes),
            whole_plain(c.claim),
        )
        for c in report.clusters[:MOST_ROWS]
    ]
    columns = ("Cluster", "Source", "Read", "Nodes", "May be claimed")
    return Table("clusters", "Clusters", columns, ("code", "code", "text", "num", "text"), rows)


def _replaced(report: AuditReport) -> Table:
    rows = [
        (
            utc(r.at),
            plain(r.by),
            plain(some(r.old, 4)),
            plain(some(r.new, 4) or "no successor has joined"),
            (r.link or "") + ("" if r.certain or not r.link else ", a hypothesis"),
            r.evidence or "",
        )
        for r in report.replacements[:MOST_ROWS]
    ]
    columns = ("Time (UTC)", "By", "Old", "New", "Tied by", "Evidence")
    kinds = ("code", "text", "code", "code", "text", "code")
    return Table("replaced", "Replaced nodes", columns, kinds, rows)


def _lost(report: AuditReport) -> Table:
    rows = [
        (plain(r.node), r.cause.value, f"{r.gpu_hours:.2f}", r.formula, plain(r.basis))
        for r in report.lost.rows[:MOST_ROWS]
    ]
    told = [used_total(report) or "", *report.lost.unknown, *report.lost.formulas]
    return Table(
        key="lost",
        title="Lost GPU hours",
        columns=("Node", "Lost to", "GPU hours", "Sum", "Basis"),
        kinds=("code", "text", "num", "text", "text"),
        rows=rows,
        note=whole_plain("; ".join(word for word in told if word)),
        more=max(0, len(report.lost.rows) - MOST_ROWS),
        empty="None that both ends of were read.",
    )


def _since(report: AuditReport) -> Table:
    found = report.baseline
    rows: list[tuple[str, ...]] = []
    if found is not None:
        for word, spans in (("new hole", found.new_holes), ("healed", found.healed_holes)):
            rows += [
                (
                    word,
                    plain(s.node),
                    f"{span(s.start, s.end)} ({s.hours} h)",
                    plain(s.stream or ""),
                )
                for s in spans
            ]
        rows += [
            ("new fault", plain(f.node), utc(f.last), f"Xid {f.code} {f.pci or ''}")
            for f in found.new_faults
        ]
        rows += [("new node", plain(n), "", "") for n in found.new_nodes]
        rows += [("gone", plain(n), "", "") for n in found.gone_nodes]
    return Table(
        key="since",
        title=f"Since the audit of {span(found.since, found.until)}" if found else "Since",
        columns=("What", "Node", "When (UTC)", "Where"),
        kinds=("text", "code", "code", "code"),
        rows=rows[:MOST_ROWS],
        more=max(0, len(rows) - MOST_ROWS),
        empty="Nothing changed.",
    )


def _steps(report: AuditReport) -> Iterator[Step]:
    for row in next_steps(report)[:20]:
        why = f"{row.what}: {row.why} ({counted(len(row.nodes), 'node')})"
        yield Step(do=row.step.do, why=whole_plain(why), text=row.step.text)
