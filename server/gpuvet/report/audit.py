"""The audit report in two sizes: what may be claimed first, then holes, faults and next steps."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gpuvet.model.audit import (
    AuditReport,
    DiffSpan,
    FaultRow,
    Hole,
    HoleCause,
    HoleKind,
    LightStep,
    NodeSight,
    ReplacementRow,
    Sight,
    Witness,
)
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.coverage import Shipper
from gpuvet.model.verdict import Verdict
from gpuvet.report.render import render
from gpuvet.report.verdict import group_coverage, group_nodes
from gpuvet.report.words import counted, some, span, utc

SHORT_WORDS = 600
_MOST_NODES = 60
_MOST_HOLES = 60
_MOST_ROWS = 40
_URGENT = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


class HoleGroup(NamedTuple):
    """Holes of the same hours and reasons, with the nodes and streams that have them."""

    shown: Hole
    nodes: tuple[str, ...]
    streams: tuple[str, ...]
    because: str


class ClaimGroup(NamedTuple):
    """Nodes of which the same may be said; the first one's sentence is shown."""

    shown: NodeSight
    verdict: Verdict | None  # None: nothing is asked of them
    nodes: tuple[str, ...]


class WitnessGroup(NamedTuple):
    """Nodes whose sources are in the same state, in the order of `Witness`."""

    nodes: tuple[str, ...]
    states: tuple[tuple[Sight, str], ...]


class NextStep(NamedTuple):
    """The cheapest step for a dark source, and for how many nodes."""

    step: LightStep
    why: str
    nodes: tuple[str, ...]
    what: str


def audit_markdown(report: AuditReport, *, plain: bool = False) -> str:
    """Return the whole report, equal nodes grouped; plain for a terminal."""
    return render("audit.md.j2", _context(report), plain=plain)


def audit_short(report: AuditReport, *, plain: bool = False) -> str:
    """Return what may be claimed and what to do next, at most 600 words."""
    context = _context(report)
    texts = (
        render("audit_short.md.j2", {**context, "most": most}, plain=plain) for most in (8, 5, 3, 2)
    )
    smallest = render("audit_short.md.j2", {**context, "most": 1}, plain=plain)
    return next((text for text in texts if len(text.split()) <= SHORT_WORDS), smallest)


def _context(report: AuditReport) -> dict[str, object]:
    claims, holes = group_claims(report), group_holes(report.holes)
    coverage = group_coverage(report.coverage)
    return {
        "report": report,
        "claims": claims[:_MOST_NODES],
        "more_claims": len(claims) - _MOST_NODES,
        "holes": holes[:_MOST_HOLES],
        "more_holes": len(holes) - _MOST_HOLES,
        "kernel_holes": [g for g in holes if g.shown.source not in _SERVICES and _is_dark(g.shown)],
        "witnesses": group_witnesses(report.sight)[:_MOST_ROWS],
        "names": [w.value for w in Witness],
        "groups": [
            g
            for g in group_nodes(report.nodes, Orchestrator(report.orchestrator))
            if g.shown.verdict in _URGENT[:3] or g.shown.verdict is Verdict.MONITOR
        ],
        "faults": report.faults[:_MOST_ROWS],
        "more_faults": len(report.faults) - _MOST_ROWS,
        "coverage": coverage[:_MOST_ROWS],
        "more_coverage": len(coverage) - _MOST_ROWS,
        "not_seen": report.not_seen[:_MOST_ROWS],
        "more_not_seen": len(report.not_seen) - _MOST_ROWS,
        "steps": next_steps(report),
        "fault_line": fault_line,
        "replaced_line": replaced_line,
        "unread": [f for f in report.files if f.status != "read"],
        "lost": report.lost.rows[:_MOST_ROWS],
        "lost_total": sum(row.gpu_hours for row in report.lost.rows),
        "used": used_total(report),
        "new_holes": group_spans(report.baseline.new_holes if report.baseline else ()),
        "healed": group_spans(report.baseline.healed_holes if report.baseline else ()),
    }


def group_claims(report: AuditReport) -> tuple[ClaimGroup, ...]:
    """Return nodes of which the same may be said together, the most urgent first."""
    holes: dict[str, list[tuple[object, ...]]] = {}
    for hole in report.holes:
        holes.setdefault(hole.node, []).append((hole.start, hole.end, because(hole)))
    groups: dict[tuple[object, ...], list[NodeSight]] = {}
    for node in report.sight:
        key = (
            report.verdicts.get(node.node),
            node.cluster,
            node.status,
            node.hours_measured,
            node.hours_asked,
            node.xid_events,
            node.undated_xids,
            tuple(holes.get(node.node, ())),
            node.node if node.xid_events else "",
        )
        groups.setdefault(key, []).append(node)
    found = [
        ClaimGroup(
            shown=members[0],
            verdict=report.verdicts.get(members[0].node),
            nodes=tuple(m.node for m in members),
        )
        for members in groups.values()
    ]
    return tuple(sorted(found, key=_claim_order))


def _claim_order(group: ClaimGroup) -> tuple[object, ...]:
    rank = _URGENT.index(group.verdict) if group.verdict is not None else len(_URGENT)
    dark = group.shown.hours_measured - group.shown.hours_asked
    return (rank, dark, group.shown.node)


def group_holes(holes: Sequence[Hole]) -> tuple[HoleGroup, ...]:
    """Return holes of the same hours, class, group and reasons together.

    Those of kernel logs come first, the longest first; streams of services, which never carry
    the kernel, come last.
    """
    groups: dict[tuple[object, ...], list[Hole]] = {}
    for hole in holes:
        where = (hole.group, hole.source, hole.start, hole.end)
        key = (*where, hole.state, _is_dark(hole), because(hole))
        groups.setdefault(key, []).append(hole)
    found = [
        HoleGroup(
            members[0],
            tuple(dict.fromkeys(m.node for m in members)),
            tuple(dict.fromkeys(m.stream for m in members if m.stream)),
            because(members[0]),
        )
        for members in groups.values()
    ]
    return tuple(sorted(found, key=_hole_order))


_SERVICES = frozenset({Shipper.SERVICE, Shipper.APP})


def _is_dark(hole: Hole) -> bool:
    """Say whether hours of a hole were seen by no other source of the node either."""
    return hole.hours > hole.seen_elsewhere


def _hole_order(group: HoleGroup) -> tuple[object, ...]:
    hole = group.shown
    size = -hole.hours * len(group.nodes)
    return (hole.source in _SERVICES, not _is_dark(hole), size, group.nodes[0])


def because(hole: Hole) -> str:
    """Return the reasons of a hole, measured ones first; one that nothing names says so."""
    ordered = sorted(hole.causes, key=lambda cause: not cause.measured)
    words = [_cause(cause) for cause in ordered]
    if all(cause.kind is HoleKind.LAG for cause in hole.causes):
        words.insert(0, "no evidence names a reason")
    return "; ".join(words)


def _cause(cause: HoleCause) -> str:
    if cause.kind is HoleKind.LAG:
        return cause.words
    sure = "" if cause.measured else ", not measured"
    return f"{cause.kind.value}{sure}: {cause.words}"


def group_witnesses(nodes: Sequence[NodeSight]) -> tuple[WitnessGroup, ...]:
    """Return nodes whose sources are in the same states together."""
    groups: dict[tuple[tuple[Sight, str], ...], list[str]] = {}
    for node in nodes:
        states = tuple((row.state, _number(row.count, row.because)) for row in node.witnesses)
        groups.setdefault(states, []).append(node.node)
    return tuple(WitnessGroup(tuple(ids), states) for states, ids in groups.items())


def _number(count: int | None, because_: str) -> str:
    return because_ if count is None or len(because_) <= 90 else str(count)


def next_steps(report: AuditReport) -> tuple[NextStep, ...]:
    """Return every step for the dark sources, the cheapest first; equal steps are one."""
    found: dict[str, NextStep] = {}
    for row in report.lights:
        for step in row.steps:
            known = found.get(step.do)
            if known is None:
                found[step.do] = NextStep(step, row.why, row.nodes, row.what.value)
                continue
            blocks = dict.fromkeys((*_blocks(known.step.text), *_blocks(step.text)))
            joined = "\n".join(blocks) if step.kind == "shell" else known.step.text
            found[step.do] = known._replace(
                step=known.step.model_copy(update={"text": joined}),
                nodes=tuple(dict.fromkeys((*known.nodes, *row.nodes))),
            )
    return tuple(sorted(found.values(), key=lambda n: n.step.cost))


def _blocks(text: str) -> list[str]:
    """Return commands by the comment above them: equal ones of two nodes are not one."""
    return re.split(r"\n(?=# )", text)


def fault_line(row: FaultRow) -> str:
    """Return a fault as one phrase with its evidence id."""
    again = f", recurs over {row.boots} boots of this hardware" if row.recurs else ""
    beside = ", follows another event" if row.consequence else ""
    last = utc(row.last) + ("" if row.in_window else ", before the window")
    return (
        f"{row.node} {row.pci or 'GPU not told'}: Xid {row.code}, "
        f"{counted(row.events, 'event')}{again}{beside}, last {last} ({row.evidence})"
    )


def replaced_line(row: ReplacementRow) -> str:
    """Return a replacement as one phrase: when, who, which for which."""
    new = some(row.new) or "no successor has joined"
    tie = f" ({row.link}{'' if row.certain else ', a hypothesis'})" if row.link else ""
    return f"{utc(row.at)} {row.call} by {row.by}: {some(row.old) or '?'} -> {new}{tie}"


def used_total(report: AuditReport) -> str | None:
    """Return GPU hours by use as one phrase, or None where no power was read."""
    used = report.lost.used
    if not used:
        return None
    idle, busy = sum(u.idle for u in used), sum(u.busy for u in used)
    unknown = sum(u.unknown for u in used)
    total = idle + busy + unknown
    return (
        f"{idle:.1f} idle, {busy:.1f} busy, {unknown:.1f} unknown of {total:.1f} GPU hours on "
        f"{counted(len(used), 'node')}"
    )


def group_spans(spans: Sequence[DiffSpan]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return changed hours of a baseline as phrases, each with the nodes it is true of."""
    groups: dict[str, list[str]] = {}
    for one in spans:
        where = one.stream or one.node
        text = f"{span(one.start, one.end)} ({one.hours} h) of {one.group or 'file'} {where}"
        groups.setdefault(text, []).append(one.node)
    return tuple((text, tuple(nodes)) for text, nodes in groups.items())
