"""One defensible verdict per node: findings, their order, and the coverage gate (xid_rules).

`judge_cluster` is the whole calculator: evidence in, verdicts out. It reads no clock and calls
nothing; the same evidence in any order gives the same verdicts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gpuvet.calculators.boots import microseconds, moment
from gpuvet.calculators.coverage import epoch_hour
from gpuvet.calculators.cross_node import (
    Shared,
    echo,
    first_fault_elsewhere,
    look_across,
    only_follows,
)
from gpuvet.calculators.events import Occurrence, prepare_events
from gpuvet.calculators.facts import condition_findings, count_contradiction, fact_findings
from gpuvet.calculators.finding import (
    Finding,
    Incident,
    NodeView,
    class_of,
    described,
    ground_of,
    row_of,
)
from gpuvet.calculators.gate import RULE as GATE_RULE
from gpuvet.calculators.gate import Gated, gate
from gpuvet.calculators.platform import hma_contradictions, passed_check_after, platform_findings
from gpuvet.calculators.rules import event_findings
from gpuvet.calculators.rules_switch import switch_findings
from gpuvet.calculators.sympathy import put_aside
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.coverage import Gate
from gpuvet.model.events import Source
from gpuvet.model.verdict import Confidence, DecidedBy, FaultClass, Ground, NodeVerdict, Verdict

_NEVER_THE_CAUSE = frozenset({FaultClass.INFORMATIONAL, FaultClass.QUALIFIER})
_CURRENT_STATE_RULES = "xid_rules §11"


def judge_cluster(evidence: ClusterEvidence) -> tuple[NodeVerdict, ...]:
    """Return the verdict of every node, in the order of the evidence."""
    incident = Incident(
        orchestrator=evidence.orchestrator,
        window=evidence.window,
        now=evidence.now,
        failure_at=evidence.failure_at,
        failure_measured=evidence.failure_measured,
        driver_changed_at=evidence.driver_changed_at,
    )
    views = [view_node(node, incident) for node in evidence.nodes]
    shared = look_across(views)
    found = {view.node.node: _findings(view, shared) for view in views}
    fault = first_fault_elsewhere(found, incident)
    if fault is not None:
        origin, source, at = fault
        for view in views:
            node = view.node.node
            if node != origin and only_follows(view, at):
                found[node] = [echo(f, origin, source) for f in found[node] if f.occurrence] + [
                    f for f in found[node] if not f.occurrence
                ]
    return tuple(_conclude(view, found[view.node.node], shared) for view in views)


def view_node(node: NodeEvidence, incident: Incident) -> NodeView:
    """Return a node with its events prepared and its consequences put aside."""
    events = prepare_events(node)
    by_code: dict[int, list[Occurrence]] = defaultdict(list)
    for occurrence in events.occurrences:
        by_code[occurrence.code].append(occurrence)
    return NodeView(
        node=node,
        incident=incident,
        events=events,
        aside=put_aside(events.occurrences, node, events.clock),
        by_code={code: tuple(found) for code, found in by_code.items()},
    )


def _findings(view: NodeView, shared: Shared) -> list[Finding]:
    """Return every finding of a node, stale ones already turned down."""
    found = [
        *event_findings(view, shared),
        *switch_findings(view),
        *fact_findings(view),
        *condition_findings(view),
        *platform_findings(view),
    ]
    found = [_for_present_hardware(view, f) for f in found]
    return _already_done(view, found)


def _for_present_hardware(view: NodeView, finding: Finding) -> Finding:
    """Evidence of an older hardware epoch never counts against what is there now."""
    occurrence = finding.occurrence
    if occurrence is None or finding.verdict is Verdict.LEAVE_ALONE:
        return finding
    now = microseconds(view.incident.now)
    present = view.clock.epoch_of(occurrence.pci, len(view.clock.starts), now)
    if occurrence.epoch >= present:
        return finding
    return replace(
        finding,
        verdict=Verdict.LEAVE_ALONE,
        open_replace=False,
        open_check=None,
        minimum_action=None,
        notes=(*finding.notes, "the hardware has changed since: nothing against the present one"),
    )


def _already_done(view: NodeView, found: Sequence[Finding]) -> list[Finding]:
    """Do not ask again for a reboot that has happened and helped (xid_rules §5)."""
    starts = view.clock.start_us
    if not starts:
        return list(found)
    bad_fact = any(f.rank <= 3 and f.occurrence is None and f.record is None for f in found)
    passed = passed_check_after(view)
    clean_since = _measured_since(view, moment(starts[-1]))
    if bad_fact or not (clean_since or passed):
        return list(found)
    return [_turned_down(view, f, starts[-1]) for f in found]


def _turned_down(view: NodeView, finding: Finding, last_start: int) -> Finding:
    if finding.verdict is not Verdict.REBOOT:
        return finding
    record = finding.occurrence.first if finding.occurrence else finding.record
    if record is None or view.clock.boot_of(record) >= len(view.clock.starts):
        return finding
    return replace(
        finding,
        verdict=Verdict.MONITOR,
        notes=(f"rebooted at {moment(last_start):%Y-%m-%dT%H:%M:%SZ}, clean since",),
        open_check=None,
        provisional=False,
    )


def _measured_since(view: NodeView, start: datetime) -> bool:
    coverage = view.node.coverage
    if coverage.gate is Gate.MEASURED:
        return True
    first = epoch_hour(start)
    return (
        coverage.gate is Gate.PARTIAL
        and not coverage.whole_window_unknown
        and any(h >= first for h in coverage.live_hours)
        and not any(h >= first for h in coverage.empty_hours)
    )


def _conclude(view: NodeView, found: Sequence[Finding], shared: Shared) -> NodeVerdict:
    ranked = sorted(found, key=lambda f: _precedence(view, f))
    strongest = ranked[0] if ranked else None
    gated = gate(
        view,
        strongest.verdict if strongest else _consequences_only(view),
        seen_elsewhere=_seen_elsewhere(view, shared),
        agent_named_process=_agent_named_process(view),
    )
    cause = _cause(view, strongest)
    return NodeVerdict(
        node=view.node.node,
        verdict=gated.verdict,
        fault_class=_class(view, strongest, cause),
        minimum_action=_minimum_action(gated, strongest),
        confidence=_confidence(gated, strongest),
        grounds=_grounds(view, ranked, gated),
        cause=ground_of(cause.first, described(cause), pci=cause.pci, occurrence=cause)
        if cause
        else None,
        open_check=strongest.open_check if strongest and not gated.closed else None,
        contradictions=_contradictions(view, found),
        notes=_notes(view, ranked, gated),
        decided_by=_decided_by(strongest, gated),
    )


def _precedence(view: NodeView, finding: Finding) -> tuple[int, bool, int, int, str]:
    """Return rank, then events before facts, then time, then text: a total order."""
    record = finding.occurrence.first if finding.occurrence else finding.record
    if record is None:
        return (finding.rank, True, 0, 0, finding.what)
    boot = view.clock.boot_of(record)
    position = (
        finding.occurrence.start_us if finding.occurrence else view.clock.position(record, boot)
    )
    late = finding.occurrence is None or finding.is_qualifier
    return (finding.rank, late, boot, position, f"{finding.pci or ''}{finding.what}")


def _consequences_only(view: NodeView) -> Verdict | None:
    return Verdict.LEAVE_ALONE if view.aside else None


def _candidates_before_failure(view: NodeView) -> list[Occurrence]:
    latest = view.incident.latest_cause
    return [
        o
        for o in view.candidates()
        if class_of(o.code) not in _NEVER_THE_CAUSE
        and (latest is None or (at := o.at) is None or at <= latest)
    ]


def _cause(view: NodeView, strongest: Finding | None) -> Occurrence | None:
    """Return the event whose finding sets the verdict, else the earliest candidate."""
    if strongest is None:
        return None
    if strongest.occurrence is not None and not strongest.is_qualifier:
        return strongest.occurrence
    candidates = _candidates_before_failure(view)
    return candidates[0] if candidates else None


def _class(view: NodeView, strongest: Finding | None, cause: Occurrence | None) -> FaultClass:
    if strongest is None:
        return FaultClass.SYMPATHETIC if view.aside else FaultClass.NONE
    if cause is None or cause is strongest.occurrence:
        return strongest.fault_class
    return class_of(cause.code)


def _minimum_action(gated: Gated, strongest: Finding | None) -> str:
    match gated.verdict:
        case Verdict.UNVERIFIED:
            least = strongest.minimum_action if strongest else None
            return (least or Verdict.MONITOR).value
        case Verdict.REPLACE | Verdict.REBOOT | Verdict.MONITOR:
            return gated.verdict.value
        case Verdict.LEAVE_ALONE:
            row = row_of(strongest.occurrence.code) if strongest and strongest.occurrence else None
            return row.minimum_action if row and row.minimum_action == "restart job" else "none"
        case Verdict.NOT_OBSERVABLE:
            return "none"


def _confidence(gated: Gated, strongest: Finding | None) -> Confidence:
    if gated.provisional or (strongest is not None and strongest.provisional):
        return "provisional"
    return "proven"


def _grounds(view: NodeView, ranked: Sequence[Finding], gated: Gated) -> tuple[Ground, ...]:
    """Return what the verdict rests on; for an empty node, what was looked at."""
    if not ranked:
        return (_silence(view, gated),)
    top = ranked[0]
    kept = [f for f in ranked if f.rank == top.rank or f.rank <= 3]
    grounds: list[Ground] = [_silence(view, gated)] if gated.closed else []
    for finding in kept:
        grounds += [finding.ground, *finding.companions]
    return tuple(dict.fromkeys(grounds))


def _silence(view: NodeView, gated: Gated) -> Ground:
    coverage = view.node.coverage
    source = next((s for s in coverage.sources if s.live_hours), None) or next(
        iter(coverage.sources), None
    )
    what = "; ".join(gated.notes[:1]) or "nothing was found"
    if view.aside and not gated.closed:
        what = "consequences only, no cause on this node"
    return Ground(
        what=what,
        source="coverage",
        stream=source.stream if source else None,
        evidence=source.evidence if source else None,
    )


def _contradictions(view: NodeView, found: Sequence[Finding]) -> tuple[str, ...]:
    hardware = tuple(
        sorted(
            {
                o.code
                for o in view.candidates()
                if class_of(o.code) is FaultClass.HARDWARE
                and any(e.source in {Source.KERNEL, Source.GPU_LOST} for e in o.lines)
            }
        )
    )
    count = count_contradiction(view)
    listed = [
        *view.events.contradictions,
        *(c for f in found for c in f.contradictions),
        *hma_contradictions(view, hardware),
        *((count,) if count else ()),
    ]
    return tuple(dict.fromkeys(listed))


def _notes(view: NodeView, ranked: Sequence[Finding], gated: Gated) -> tuple[str, ...]:
    notes: list[str] = [] if not ranked and not view.aside else list(gated.notes)
    top = ranked[0] if ranked else None
    if top is not None:
        notes += top.notes
        latest = view.incident.latest_cause
        at = top.occurrence.at if top.occurrence else None
        if latest is not None and at is not None and at > latest:
            notes.append(f"it lies after the failure at {_clock(view)}: not its cause")
        also = [f for f in ranked if f.rank > max(top.rank, 3)]
        notes += [f"also seen: {f.what} on {f.pci or 'the node'} ({f.verdict})" for f in also[:6]]
    notes += _aside_notes(view)
    notes += view.node.coverage.notes
    return tuple(dict.fromkeys(n for n in notes if n))


def _clock(view: NodeView) -> str:
    failure = view.incident.failure_at
    return f"{failure:%H:%M:%SZ}" if failure else "an unknown time"


def _aside_notes(view: NodeView) -> list[str]:
    """Name consequences by code and reason, without their numbers standing for anything."""
    by_reason: dict[tuple[int, str], list[str]] = defaultdict(list)
    for index, reason in view.aside.items():
        occurrence = view.events.occurrences[index]
        by_reason[(occurrence.code, reason.split(" s before")[0].rsplit(" ", 1)[0])].append(
            occurrence.pci or "an unnamed GPU"
        )
    return [
        f"Xid {code} on {', '.join(sorted(set(gpus))[:4])}"
        f"{' and others' if len(set(gpus)) > 4 else ''} is a consequence (follows {reason})"
        for (code, reason), gpus in sorted(by_reason.items())
    ]


def _decided_by(strongest: Finding | None, gated: Gated) -> DecidedBy:
    if strongest is None or gated.closed:
        return DecidedBy(rule=GATE_RULE, source="coverage")
    row = row_of(strongest.occurrence.code) if strongest.occurrence else None
    return DecidedBy(rule=strongest.rule, source=row.source if row else strongest.ground.source)


def _seen_elsewhere(view: NodeView, shared: Shared) -> bool:
    return any(len(shared.code_nodes.get(o.code, ())) >= 3 for o in view.candidates())


def _agent_named_process(view: NodeView) -> bool:
    """True when the agent blames a user error and the line behind it names a pid."""
    blames = any(r.reason == "XidUserAppError" for r in view.node.records.hma)
    return blames and any(e.pid is not None for o in view.candidates() for e in o.lines)


def verdict_map(verdicts: Sequence[NodeVerdict]) -> Mapping[str, Verdict]:
    """Return node id to verdict."""
    return {v.node: v.verdict for v in verdicts}
