"""One defensible verdict per node: findings, their order, and the coverage gate (verdict-rules).

`judge_cluster` is the whole calculator: evidence in, verdicts out. It reads no clock and calls
nothing; the same evidence in any order gives the same verdicts.
"""

from collections import defaultdict
from collections.abc import Sequence

from gpuvet.calculators.boots import microseconds
from gpuvet.calculators.cause import Cause, cause_of, in_order, is_after_failure
from gpuvet.calculators.cross_node import (
    MANY_NODES,
    Shared,
    echoes,
    look_across,
    spreading_faults,
)
from gpuvet.calculators.events import Occurrence, prepare_events
from gpuvet.calculators.facts import condition_notes, fact_findings
from gpuvet.calculators.finding import Finding, Incident, NodeView, expected_gpus, row_of
from gpuvet.calculators.gate import RULE as GATE_RULE
from gpuvet.calculators.gate import Gated, gate
from gpuvet.calculators.gauges import without_gauges
from gpuvet.calculators.gpu_count import count_contradictions
from gpuvet.calculators.platform import platform_contradictions, platform_findings
from gpuvet.calculators.rules import event_findings
from gpuvet.calculators.rules_hardware import hardware_findings
from gpuvet.calculators.rules_repair import foreign_codes
from gpuvet.calculators.rules_switch import switch_findings, switch_notes
from gpuvet.calculators.since import as_of_now
from gpuvet.calculators.sympathy import put_aside
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence
from gpuvet.model.events import Source
from gpuvet.model.verdict import Confidence, DecidedBy, FaultClass, Ground, NodeVerdict, Verdict

# Ours: a storm of events is no better a ground than its first ones; the rest is counted.
MOST_GROUNDS = 12

_AGENT = frozenset({Source.HMA, Source.DCGM})
_COPIES = (Source.USER_SPACE.value,)


# What a second witness alone may not soften: a node without a view outranks one left alone.
_BY_WEIGHT = (
    *(Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR),
    *(Verdict.NOT_OBSERVABLE, Verdict.LEAVE_ALONE),
)


def judge_cluster(evidence: ClusterEvidence) -> tuple[NodeVerdict, ...]:
    """Return the verdict of every node, in the order of the evidence.

    Gauges of exporters are second witnesses: they can add to a verdict and never soften one.
    """
    judged, plain = _judge(evidence), without_gauges(evidence)
    if plain == evidence:
        return judged
    return tuple(
        with_them if _BY_WEIGHT.index(with_them.verdict) <= _BY_WEIGHT.index(own.verdict) else own
        for with_them, own in zip(judged, _judge(plain), strict=True)
    )


def _judge(evidence: ClusterEvidence) -> tuple[NodeVerdict, ...]:
    views = view_nodes(evidence)
    shared = look_across(views)
    found = [_findings(view, shared) for view in views]
    faults = spreading_faults({v.node.node: f for v, f in zip(views, found, strict=True)})
    return tuple(
        _conclude(view, as_of_now(view, echoes(view, own, faults)), shared)
        for view, own in zip(views, found, strict=True)
    )


def view_nodes(evidence: ClusterEvidence) -> tuple[NodeView, ...]:
    """Return every node as the rules read it, in the order of the evidence."""
    incident = Incident(
        orchestrator=evidence.orchestrator,
        window=evidence.window,
        now=evidence.now,
        since_us=microseconds(evidence.window.start),
        failure_at=evidence.failure_at,
        failure_measured=evidence.failure_measured,
        driver_changed_at=evidence.driver_changed_at,
    )
    return tuple(view_node(node, incident) for node in evidence.nodes)


def view_node(node: NodeEvidence, incident: Incident) -> NodeView:
    """Return a node with its events prepared and its consequences put aside."""
    events = prepare_events(node)
    occurrences = events.occurrences
    by_code: dict[int, list[Occurrence]] = defaultdict(list)
    told = [o for o in occurrences if o.sources != _COPIES]
    for occurrence in told:  # what only a program wrote explains nothing else
        by_code[occurrence.code].append(occurrence)
    aside = put_aside(told, by_code, node, events.clock)
    aside_ids = frozenset(id(occurrence) for occurrence, _ in aside)
    return NodeView(
        node=node,
        incident=incident,
        events=events,
        aside=aside,
        aside_ids=aside_ids,
        by_code=by_code,
        kept=[o for o in occurrences if id(o) not in aside_ids] if aside else occurrences,
        known_gpus=_known_gpus(node),
        foreign_codes=foreign_codes(node.instance_type),
    )


def _known_gpus(node: NodeEvidence) -> frozenset[str]:
    """Return the PCI ids of a node's GPUs where nvidia-smi or the driver listed all of them."""
    expected = expected_gpus(node)
    if not expected:
        return frozenset()
    for listed in (node.facts.gpus, node.records.identities):
        found = frozenset(g.pci for g in listed if g.pci is not None)
        if len(found) >= expected:
            return found
    return frozenset()


def _findings(view: NodeView, shared: Shared) -> list[Finding]:
    """Return every finding of a node, whatever has been done about it since."""
    return [
        *event_findings(view, shared),
        *switch_findings(view),
        *fact_findings(view),
        *hardware_findings(view),
        *platform_findings(view),
    ]


def _conclude(view: NodeView, found: Sequence[Finding], shared: Shared) -> NodeVerdict:
    ranked = in_order(view, found)
    strongest = ranked[0] if ranked else None
    gated = gate(
        view,
        strongest.verdict if strongest else _consequences_only(view),
        seen_elsewhere=_seen_elsewhere(view, shared),
        agent_named_process=_agent_named_process(view),
    )
    cause = cause_of(view, strongest)
    return NodeVerdict(
        node=view.node.node,
        verdict=gated.verdict,
        fault_class=_class(view, strongest, cause),
        minimum_action=_minimum_action(gated, strongest),
        confidence=_confidence(gated, strongest),
        grounds=_grounds(view, ranked, gated),
        cause=cause.ground if cause is not None else None,
        open_check=strongest.open_check if strongest and not gated.closed else None,
        contradictions=_contradictions(view, ranked),
        notes=_notes(view, ranked, gated),
        decided_by=_decided_by(strongest, gated),
    )


def _consequences_only(view: NodeView) -> Verdict | None:
    return Verdict.LEAVE_ALONE if view.events.occurrences or view.node.records.sxids else None


def _class(view: NodeView, strongest: Finding | None, cause: Cause | None) -> FaultClass:
    """Return the class of the cause by its number; without one, that of the finding."""
    if strongest is None:
        return FaultClass.SYMPATHETIC if view.aside else FaultClass.NONE
    if strongest.is_cause or cause is None:
        return strongest.fault_class
    return cause.fault_class


def _minimum_action(gated: Gated, strongest: Finding | None) -> str:
    match gated.verdict:
        case Verdict.UNVERIFIED:
            least = strongest.minimum_action if strongest else None
            return str(least or Verdict.MONITOR)
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
    grounds: list[Ground] = [_silence(view, gated)] if gated.closed else []
    for finding in _kept(ranked)[:MOST_GROUNDS]:
        grounds.append(finding.ground)
        grounds += finding.companions
    return tuple(dict.fromkeys(grounds))


def _kept(ranked: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings that set the verdict, and whatever else calls for a reboot or more."""
    least = max(ranked[0].rank, 3) if ranked else 0
    return [f for f in ranked if f.rank <= least]


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


def _contradictions(view: NodeView, ranked: Sequence[Finding]) -> tuple[str, ...]:
    listed = [
        *view.events.contradictions,
        *(c for f in ranked for c in f.contradictions),
        *platform_contradictions(view),
        *count_contradictions(view),
    ]
    replace = any(f.verdict is Verdict.REPLACE for f in ranked)
    if replace and any(f.is_recovered for f in ranked):
        listed.append("Xid 154 back to None after a REPLACE ground: REPLACE stays")
    return tuple(dict.fromkeys(listed))


_MOST_ALSO = 6  # ours: lesser findings that one node's notes name


def _notes(view: NodeView, ranked: Sequence[Finding], gated: Gated) -> tuple[str, ...]:
    # With nothing found, the ground itself says the first of them.
    notes = list(gated.notes if ranked or view.aside else gated.notes[1:])
    top = ranked[0] if ranked else None
    if top is not None:
        notes += [note for f in _kept(ranked)[:MOST_GROUNDS] for note in f.notes]
        if is_after_failure(view, top):
            notes.append(f"it lies after the failure at {_clock(view)}: not its cause")
        cut = len(_kept(ranked)) - MOST_GROUNDS
        if cut > 0:
            notes.append(f"{cut} further findings of the same weight, not quoted")
        also = [f for f in ranked if f.rank > max(top.rank, 3)]
        # A record told twice says it once: it must not push another out.
        words = (f"also seen: {f.what} on {f.pci or 'the node'} ({f.verdict})" for f in also)
        notes += list(dict.fromkeys(words))[:_MOST_ALSO]
    notes += _aside_notes(view)
    notes += switch_notes(view) if view.node.records.sxids else ()
    notes += condition_notes(view)
    notes += view.node.coverage.notes
    return tuple(dict.fromkeys(n for n in notes if n))


def _clock(view: NodeView) -> str:
    failure = view.incident.failure_at
    return f"{failure:%H:%M:%SZ}" if failure else "an unknown time"


def _aside_notes(view: NodeView) -> list[str]:
    """Name consequences by code and reason, without their numbers standing for anything."""
    by_reason: dict[tuple[int, str], list[str]] = defaultdict(list)
    for occurrence, reason in view.aside:
        by_reason[occurrence.code, reason].append(occurrence.pci or "an unnamed GPU")
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
    return any(len(shared.code_nodes.get(code, ())) >= MANY_NODES for code in view.by_code)


def _agent_named_process(view: NodeView) -> bool:
    """True when the agent blames a user error and its own event names the process."""
    if not any(r.reason == "XidUserAppError" for r in view.node.records.hma):
        return False
    return any(
        any(e.source in _AGENT for e in o.lines) and any(e.pid is not None for e in o.lines)
        for o in view.kept
    )
