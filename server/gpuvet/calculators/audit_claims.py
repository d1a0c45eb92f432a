"""The one sentence that may be claimed of a node, and of a fleet. Pure.

"No errors" never stands without its hours: every sentence names hours seen of hours asked, and
what was not seen with its reason.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from gpuvet.calculators.audit_hours import is_out_of_scope
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.hours import spans
from gpuvet.model.audit import Hole, HoleKind, NodeSight
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage, Shipper
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import Verdict
from gpuvet.report.audit import because
from gpuvet.report.words import counted, some, span

_MOST_SPANS = 4


class XidCount(NamedTuple):
    """Xid events of a node: in the hours asked for, by code, and those without a date."""

    by_code: Mapping[int, int]
    undated: int

    @property
    def total(self) -> int:
        """How many in the hours asked for."""
        return sum(self.by_code.values())


def count_xids(occurrences: Sequence[Occurrence], asked: Window) -> XidCount:
    """Return the events of a node that lie in the hours asked for; GPUs lost count as 79."""
    by_code: dict[int, int] = {}
    undated = 0
    for one in occurrences:
        if one.at is None:
            undated += 1
        elif asked.holds(one.at):
            by_code[one.code] = by_code.get(one.code, 0) + 1
    return XidCount(dict(sorted(by_code.items())), undated)


def node_claim(coverage: NodeCoverage, xids: XidCount, holes: Sequence[Hole]) -> str:
    """Return what may be said of one node, with its hours.

    Args:
        coverage: Of the node.
        xids: Its events.
        holes: Its holes, with reasons.
    """
    if is_out_of_scope(coverage):
        reason = next((s.reason for s in coverage.sources if s.reason), "not applicable")
        return f"Nothing is asked of it: {reason}."
    seen = _xid_words(xids)
    if coverage.gate is Gate.MEASURED and not coverage.live_hours:
        return f"{seen}, over hours that the case states as covered and that were not measured."
    live, asked = coverage.hours_measured, coverage.hours_asked
    if live and live == asked:
        return f"{seen} in {live} of {asked} h{_where(coverage)}."
    if live:
        open_hours = f"Not observable: {_hours(coverage.empty_hours)}{_because(holes)}."
        return f"{seen} in {live} of {asked} h. {open_hours}"
    if coverage.gate is Gate.HMA_ONLY:
        return _agent_claim(coverage, xids)
    why = _because(holes) or f": {_reasons(coverage)}"
    told = f" {seen} seen all the same." if xids.total or xids.undated else ""
    return f"Not observable in any of {_asked(holes)} h{why}.{told}"


def _xid_words(xids: XidCount) -> str:
    undated = f", {xids.undated} more without a date" if xids.undated else ""
    if not xids.total:
        return f"0 Xids{undated}"
    codes = ", ".join(f"{code} x{n}" if n > 1 else str(code) for code, n in xids.by_code.items())
    return f"{counted(xids.total, 'Xid event')} ({codes}){undated}"


def _where(coverage: NodeCoverage) -> str:
    whole = [s for s in coverage.sources if s.status is CoverageStatus.MEASURED and s.stream]
    if whole:
        return f", measured on {whole[0].group or 'file'} {whole[0].stream}"
    return ", several streams together" if coverage.sources else ""


def _hours(hours: Sequence[datetime]) -> str:
    runs = spans(hours)
    shown = ", ".join(span(start, end) for start, end in runs[:_MOST_SPANS])
    more = f" and {len(runs) - _MOST_SPANS} more" if len(runs) > _MOST_SPANS else ""
    return f"{shown}{more} ({len(hours)} h)"


def _because(holes: Sequence[Hole]) -> str:
    """Return why the node's kernel log was not seen; streams of services are beside the point."""
    named = [h for h in holes if h.source in _KERNEL and h.hours > h.seen_elsewhere]
    telling = [h for h in named if all(c.kind not in _BESIDE for c in h.causes)] or named
    words = list(dict.fromkeys(because(hole) for hole in telling))
    return f": {'; '.join(words[:3])}" if words else ""


_KERNEL = frozenset(
    {Shipper.HOST_SYSLOG, Shipper.JOURNAL_ALL, Shipper.KERNEL_ONLY, Shipper.UNKNOWN}
)
_BESIDE = frozenset({HoleKind.PROVES_NOTHING})


def _asked(holes: Sequence[Hole]) -> int:
    return max((hole.hours for hole in holes), default=0)


def _reasons(coverage: NodeCoverage) -> str:
    words = list(dict.fromkeys(s.reason for s in coverage.sources if s.reason))
    return "; ".join(words) or "no stream carries its name"


def _agent_claim(coverage: NodeCoverage, xids: XidCount) -> str:
    own = next(s for s in coverage.sources if s.source is Shipper.HMA)
    number = own.detections or 0
    if number:
        said = f"{counted(number, 'health agent detection')} in the window"
        said += f" ({_xid_words(xids)})" if xids.total else ""
    else:
        said = "No health agent detection in the window, while the cluster's log group was live"
    return f"{said}; the kernel log is not shipped, so Xids are not observable."


def fleet_claim(
    nodes: Sequence[NodeSight], verdicts: Mapping[str, Verdict], outside: Sequence[str] = ()
) -> str:
    """Return what may be said of all nodes together, with node-hours and the nodes left out.

    Args:
        nodes: Every node.
        verdicts: Theirs.
        outside: Nodes of which nothing is asked: no accelerator, not there in the window.
    """
    beside = set(outside)
    asked = [n for n in nodes if n.node not in beside]
    if not asked:
        return "Nothing may be claimed: no GPU node is in the evidence."
    whole = [n for n in asked if n.hours_asked and n.hours_measured == n.hours_asked]
    clean = [n for n in whole if not n.xid_events]
    events = sum(n.xid_events for n in asked)
    seen, all_hours = sum(n.hours_measured for n in asked), sum(n.hours_asked for n in asked)
    faulty = [n.node for n in asked if verdicts.get(n.node) in _ACTING]
    of = counted(len(asked), "node")
    parts = [
        f"0 Xids may be claimed for every hour of {len(clean)} of {of}"
        if clean
        else f"0 Xids may be claimed for every hour of none of {of}",
        f"the kernel log was seen in {seen} of {all_hours} node-hours"
        if all_hours
        else "no hour was counted",
        f"{counted(events, 'Xid event')} in all",
    ]
    agent = [n for n in asked if n.status in _AGENT]
    if agent:
        parts.append(f"on {len(agent)} only the health agent speaks, not the kernel log")
    told = {n.node for n in (*whole, *agent)}
    dark = [n for n in asked if n.node not in told]
    if dark:
        listed = [_short(n) for n in sorted(dark, key=lambda n: (n.hours_measured, n.node))]
        parts.append(f"not observable: {some(listed, 5)}")
    if faulty:
        parts.append(f"acting verdicts on {some(faulty, 5)}")
    return "; ".join(parts) + "."


_AGENT = frozenset({CoverageStatus.DETECTIONS, CoverageStatus.NO_HMA_DETECTIONS})
_ACTING = frozenset({Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED})


def _short(node: NodeSight) -> str:
    if node.status is CoverageStatus.MEASURED:
        return f"{node.node} (hours as stated, not measured)"
    if not node.hours_measured:
        return f"{node.node} (no hour at all)"
    return f"{node.node} ({node.hours_asked - node.hours_measured} of {node.hours_asked} h)"
