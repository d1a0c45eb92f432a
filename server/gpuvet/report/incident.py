"""The incident report in two sizes: the short answer, and the whole with its tables."""

from collections.abc import Iterator, Sequence

from gpuvet.model.cause import Branch, BranchAssessment, BranchStatus, Label
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Reason
from gpuvet.model.report import IncidentReport
from gpuvet.model.verdict import FaultClass, NodeVerdict, Verdict
from gpuvet.report.grouping import group_grounds, group_not_seen, timeline_rows
from gpuvet.report.render import render
from gpuvet.report.verdict import group_coverage, group_nodes
from gpuvet.report.words import SHORT_SENTENCE_LIMIT, utc

BRANCH_NAMES = {
    Branch.HARDWARE: "GPU or node hardware",
    Branch.CAPACITY: "capacity lifecycle",
    Branch.STORAGE: "storage",
    Branch.COMMUNICATION: "GPU communication",
    Branch.CHANGE: "cluster change",
    Branch.APPLICATION: "application",
}

SHORT_WORDS = 600
# How many lines a part of the short report may have; the most that stay within the words.
_REFUSED = frozenset(
    {
        *(Reason.DENIED, Reason.EXPIRED, Reason.THROTTLED, Reason.TIMED_OUT, Reason.UNREACHABLE),
        *(Reason.ROW_CAP, Reason.PAGE_CAP, Reason.BUDGET),
    }
)
_SIZES = (16, 14, 12, 10, 8, 6, 5, 4, 3, 2)


def incident_short(report: IncidentReport, *, plain: bool = False) -> str:
    """Return the answer someone can act on, at most 600 words; plain for a terminal."""
    context = _context(report)
    context["why"] = tuple(_short_why(report))
    sizes = (_short(context, n, plain=plain) for n in _SIZES)
    smallest = _short(context, 1, plain=plain)
    return next((text for text in sizes if len(text.split()) <= SHORT_WORDS), smallest)


def _short(context: dict[str, object], most: int, *, plain: bool) -> str:
    return render("incident_short.md.j2", {**context, "most": most}, plain=plain)


def incident_markdown(report: IncidentReport, *, plain: bool = False) -> str:
    """Return the whole report, equal nodes grouped; plain for a terminal."""
    return render("incident.md.j2", _context(report), plain=plain)


def _context(report: IncidentReport) -> dict[str, object]:
    leading = next((b for b in report.branches if b.branch is report.branch), None)
    others = [b for b in report.branches if b is not leading]
    return {
        "report": report,
        "names": BRANCH_NAMES,
        "why": tuple(_why(report, leading)),
        "leading": leading,
        "assessed": [b for b in others if b.status is not BranchStatus.NOT_ASSESSED],
        "unassessed": [b.branch.value for b in others if b.status is BranchStatus.NOT_ASSESSED],
        "groups": group_nodes(report.nodes, Orchestrator(report.orchestrator)),
        "coverage": group_coverage(report.coverage),
        "bars": {n.node: bar(n) for n in report.nodes},
        "decides": deciding_measurement(report, leading),
        "unread": [f for f in report.files if f.status != "read"],
        "not_seen": group_not_seen(report.not_seen),
        "timeline": timeline_rows(report.timeline),
        "grounds_of": group_grounds,
    }


def headline(branch: Branch | None, label: Label, leading: BranchAssessment | None) -> str:
    """Return the first sentence: only a Proven cause is called root cause."""
    if branch is None or leading is None:
        if label is Label.NOT_OBSERVABLE:
            return "Root cause: Not observable"
        return "No cause stands out in what was read"
    word = "Root cause" if label is Label.PROVEN else "Leading hypothesis"
    start = f"{word}: {branch.value}, {BRANCH_NAMES[branch]}: "
    whole = f"{start}{leading.why}"
    # One that would be cut says its first signal in full; the others stand below it.
    is_long = len(whole) > SHORT_SENTENCE_LIMIT and leading.signals
    return f"{start}{leading.signals[0].what}" if is_long else whole


def _why(report: IncidentReport, leading: BranchAssessment | None) -> Iterator[str]:
    """Yield what speaks for the leading branch and does not stand in the headline already."""
    if leading is None:
        return
    for signal in leading.signals:
        at = f", {utc(signal.at)}" if signal.at else ""
        shown = f" ({signal.evidence[0]})" if signal.evidence else ""
        yield f"{signal.what}{at}{shown}"
    yield from (fact for fact in leading.facts if fact not in report.headline)


def _short_why(report: IncidentReport) -> Iterator[str]:
    """Yield the same; what the headline says in full is told by its times and evidence only."""
    leading = next((b for b in report.branches if b.branch is report.branch), None)
    if leading is None:
        return
    said = report.headline[:SHORT_SENTENCE_LIMIT]
    told = [signal for signal in leading.signals if signal.what in said]
    shown = [f"{utc(one.at)} {' '.join(one.evidence[:1])}".strip() for one in told if one.at]
    shown += [one.evidence[0] for one in told if not one.at and one.evidence]
    if shown:
        yield f"the first sentence rests on {'; '.join(dict.fromkeys(shown))}"
    rest = leading.model_copy(
        update={"signals": tuple(s for s in leading.signals if s not in told)}
    )
    yield from _why(report, rest)


def bar(node: NodeVerdict) -> str:
    """Return the bar a verdict was judged against, in one phrase."""
    match node.verdict:
        case Verdict.REPLACE:
            return "bar for REPLACE met: " + (node.grounds[0].what if node.grounds else "")
        case Verdict.REBOOT:
            return "first occurrence known; REPLACE if it recurs on the same GPU after a reboot"
        case Verdict.UNVERIFIED:
            return f"decided by: {node.open_check}"
        case Verdict.MONITOR:
            return "no bar for a reboot met; watch for a repetition"
        case Verdict.LEAVE_ALONE if node.fault_class is FaultClass.APPLICATION:
            return "no hardware bar met; a replacement would take a hardware fault of its own"
        case Verdict.LEAVE_ALONE:
            return "no hardware bar met"
        case Verdict.NOT_OBSERVABLE:
            return "its log could not have shown a fault"


def deciding_measurement(report: IncidentReport, leading: BranchAssessment | None) -> str | None:
    """Return the one measurement that would settle the answer; None where it is proven."""
    if leading is not None and report.label is Label.PROVEN:
        return None
    if leading is not None and leading.confirming:
        return leading.confirming
    open_check = next((n.open_check for n in report.nodes if n.open_check), None)
    if open_check:
        return open_check
    # What was asked for and refused decides before what nobody ever shipped.
    refused = next((row.closes_with for row in report.not_seen if row.reason in _REFUSED), None)
    return refused or next((b.confirming for b in report.branches if b.confirming), None)


def why_not(others: Sequence[BranchAssessment]) -> Iterator[str]:
    """Yield one phrase for each branch that does not lead."""
    for row in others:
        if row.status is not BranchStatus.NOT_ASSESSED:
            yield f"{row.branch.value} {BRANCH_NAMES[row.branch]}: {row.status.value}, {row.why}"
