"""The verdict report as text and as Markdown: equal nodes grouped, grounds quoted."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gpuvet.model.cluster import Orchestrator
from gpuvet.model.report import CoverageRow, VerdictReport
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.report.actions import action
from gpuvet.report.grouping import group_grounds, group_not_seen
from gpuvet.report.render import render

_STRONGEST_FIRST = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


class NodeGroup(NamedTuple):
    """Nodes that have the same to say; the first one's grounds are shown."""

    shown: NodeVerdict
    nodes: tuple[str, ...]
    action: str


class CoverageGroup(NamedTuple):
    """Sources that came to the same, with the first one's names."""

    shown: CoverageRow
    nodes: tuple[str, ...]


def verdict_text(report: VerdictReport) -> str:
    """Return the report for a terminal."""
    return render("verdict.txt.j2", _context(report))


def verdict_markdown(report: VerdictReport) -> str:
    """Return the report as Markdown."""
    return render("verdict.md.j2", _context(report))


def _context(report: VerdictReport) -> dict[str, object]:
    groups = group_nodes(report.nodes, Orchestrator(report.orchestrator))
    return {
        "report": report,
        "groups": groups,
        "headline": headline(report.nodes),
        "coverage": group_coverage(report.coverage),
        "not_seen": group_not_seen(report.not_seen),
        "grounds_of": group_grounds,
        "rules": sorted(
            {(n.decided_by.rule, n.decided_by.source) for n in report.nodes if n.decided_by}
        ),
        "unread": [f for f in report.files if f.status != "read"],
    }


def headline(nodes: Sequence[NodeVerdict]) -> str:
    """Return the counts by verdict, strongest first."""
    if not nodes:
        return "no node in the evidence"
    parts = [
        f"{count} {verdict}"
        for verdict in _STRONGEST_FIRST
        if (count := sum(1 for n in nodes if n.verdict is verdict))
    ]
    noun = "node" if len(nodes) == 1 else "nodes"
    return f"{len(nodes)} {noun}: {', '.join(parts)}"


def group_nodes(nodes: Sequence[NodeVerdict], orchestrator: Orchestrator) -> tuple[NodeGroup, ...]:
    """Return nodes in the order of their verdicts; those with nothing of their own together."""
    groups: dict[tuple[object, ...], list[NodeVerdict]] = {}
    for node in nodes:
        own = node.verdict in {Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED}
        key = (
            (node.node,)
            if own
            else (node.verdict, node.fault_class, node.decided_by, _alike(node.notes))
        )
        groups.setdefault(key, []).append(node)
    found = [
        NodeGroup(
            shown=members[0],
            nodes=tuple(m.node for m in members),
            action=action(members[0].verdict, orchestrator),
        )
        for members in groups.values()
    ]
    return tuple(sorted(found, key=lambda g: (_STRONGEST_FIRST.index(g.shown.verdict), g.nodes[0])))


# What differs from node to node in notes that say the same: PCI ids, pids, instance ids, counts.
_PARTICULARS = re.compile(
    r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.\d)?\b|\bi-[0-9a-f]{8,17}\b"
    r"|\b\d+ lines?\b|\bpid \d+"
)


def _alike(notes: Sequence[str]) -> frozenset[str]:
    return frozenset(_PARTICULARS.sub("…", note) for note in notes)


def group_coverage(rows: Sequence[CoverageRow]) -> tuple[CoverageGroup, ...]:
    """Return sources that came to the same together, worst first."""
    groups: dict[tuple[object, ...], list[CoverageRow]] = {}
    for row in rows:
        key = (row.source, row.group, row.status, row.reason, row.hours_measured, row.gaps)
        groups.setdefault(key, []).append(row)
    return tuple(
        CoverageGroup(shown=members[0], nodes=tuple(dict.fromkeys(m.node for m in members)))
        for members in groups.values()
    )


def coverage_markdown(report: VerdictReport) -> str:
    """Return only what could be seen, as Markdown."""
    return render("coverage.md.j2", _context(report))
