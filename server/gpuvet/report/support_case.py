"""Text for an AWS Support case: ids, UTC times, raw lines, what was excluded, what is asked."""

from collections.abc import Iterator

from gpuvet.model.cause import BranchStatus
from gpuvet.model.report import IncidentReport
from gpuvet.model.verdict import NodeVerdict, Verdict
from gpuvet.report.incident import BRANCH_NAMES
from gpuvet.report.words import plain, some, utc

# A support case's description holds about this much; what is left out is said.
MOST_CHARACTERS = 8_000
_RESERVED = 160

_ASKED = {
    Verdict.REPLACE: "replace the hardware behind {node}, and confirm what failed",
    Verdict.REBOOT: "tell whether the host or GPU behind {node} shows faults; we reboot it first",
    Verdict.UNVERIFIED: "check {node}: {check}",
}


def support_case(report: IncidentReport) -> str:
    """Return the text of a support case, redacted as the report is, under 8,000 characters."""
    lines: list[str] = []
    size = 0
    for line in _lines(report):
        if size + len(line) + 1 > MOST_CHARACTERS - _RESERVED:
            lines.append("[shortened here; the full report holds the rest]")
            break
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines) + "\n"


def _lines(report: IncidentReport) -> Iterator[str]:
    yield f"Summary: {plain(report.headline)} ({report.label})"
    yield ""
    where = [
        f"account {report.account}" if report.account else "",
        f"region {report.region}" if report.region else "",
        f"cluster {report.cluster}" if report.cluster else "",
        report.orchestrator,
    ]
    yield "Where: " + ", ".join(part for part in where if part)
    yield f"Window (UTC): {utc(report.window.since)} to {utc(report.window.until)}"
    began = f"began {utc(report.failure.at)} (from {plain(report.failure.source)})"
    yield f"Failure: {report.failure.symptom.value}, {began}"
    yield ""
    yield "What we ask:"
    yield from _asked(report)
    yield ""
    yield "Nodes and evidence (raw lines as logged):"
    for node in report.nodes:
        if node.verdict is not Verdict.LEAVE_ALONE:
            yield from _node(node)
    clean = [n.node for n in report.nodes if n.verdict is Verdict.LEAVE_ALONE]
    if clean:
        yield f"- {len(clean)} node(s) without a ground for action: {some(clean, 8)}"
    yield ""
    yield "Excluded, and on what:"
    for row in report.branches:
        if row.status is BranchStatus.RULED_OUT:
            yield f"- {BRANCH_NAMES[row.branch]}: {plain(row.why)}"
    yield ""
    yield "Not seen by us:"
    for missing in report.not_seen[:8]:
        yield f"- {plain(missing.what)}: {missing.reason}"
    yield ""
    yield "Timeline (UTC):"
    for event in report.timeline[:20]:
        on = f" {event.node}" if event.node else ""
        yield f"- {utc(event.at)} {event.source}{on}: {plain(event.what)}"


def _asked(report: IncidentReport) -> Iterator[str]:
    asked = [
        _ASKED[n.verdict].format(node=n.node, check=n.open_check or "see below")
        for n in report.nodes
        if n.verdict in _ASKED
    ]
    yield from (f"- {line}" for line in asked[:16])
    if len(asked) > 16:
        yield f"- and the same for {len(asked) - 16} more nodes"
    if not asked:
        yield "- tell us whether the service saw an event on these resources at this time"


def _node(node: NodeVerdict) -> Iterator[str]:
    yield f"- {node.node}: {node.verdict}, class {node.fault_class}, {node.confidence}"
    for ground in node.grounds[:3]:
        place = f"{ground.stream}:{ground.line}" if ground.stream else ground.source
        yield f"    {utc(ground.at)} {plain(ground.what)}"
        if ground.raw:
            yield f"    {plain(place)}: {plain(ground.raw)}"
    for contradiction in node.contradictions[:2]:
        yield f"    contradiction: {plain(contradiction)}"
