"""Gathers branch B: capacity, from its readings to its evidence and its timeline."""

from collections.abc import Iterator

from gpuvet.calculators.block_end import endings, lead_of
from gpuvet.calculators.branch_capacity import judge_capacity
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.case import Case
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.cause import BranchEvidence, EventKind, TimelineEvent
from gpuvet.model.evidence import Window
from gpuvet.modes.control_plane import ControlPlane
from gpuvet.modes.scope import Scope
from gpuvet.modes.timeline_words import TIMELINE_PAD, not_read_rows
from gpuvet.report.words import counted, some


def gather_capacity(
    case: Case, scope: Scope, plane: ControlPlane
) -> tuple[BranchEvidence, tuple[TimelineEvent, ...]]:
    """Return what speaks for and against capacity, and what belongs into the timeline."""
    del case  # the control plane holds every reading of it
    judged = judge_capacity(plane.capacity, scope.failure)
    return judged, timeline_capacity(plane.capacity)


def timeline_capacity(evidence: CapacityEvidence) -> tuple[TimelineEvent, ...]:
    """Return ends of capacity, warnings, endings of nodes and failed starts, in time order."""
    shown = evidence.window.padded(TIMELINE_PAD, TIMELINE_PAD)
    events = [
        *_ends(evidence, shown),
        *_warnings(evidence, shown),
        *_endings(evidence, shown),
        *_services(evidence, shown),
        *not_read_rows(evidence.reservations, "capacity", "capacity reservations", evidence.now),
    ]
    return tuple(sorted(events, key=lambda e: (e.at, e.precision_seconds, e.source, e.what)))


def _ends(evidence: CapacityEvidence, shown: Window) -> Iterator[TimelineEvent]:
    """Yield what was planned: it shows when capacity ends, not that something happened."""
    for one in values(evidence.reservations):
        if one.end is None:
            continue
        refs = (one.evidence,) if one.evidence else ()
        points = [(one.end, f"{one.id} ends")]
        if one.is_block:
            minutes = int(lead_of(one).total_seconds() // 60)
            words = f"terminations of {one.id} begin, {minutes} minutes before its end"
            points.insert(0, (one.end - lead_of(one), words))
        for at, what in points:
            if shown.holds(at):
                yield TimelineEvent(
                    at=at,
                    source="capacity",
                    kind=EventKind.PLANNED,
                    what=what,
                    resource=one.id,
                    evidence=refs,
                )
    for plan in values(evidence.plans):
        for block in plan.blocks:
            if plan.name in evidence.plan_names and shown.holds(block.end):
                yield TimelineEvent(
                    at=block.end,
                    source="capacity",
                    kind=EventKind.PLANNED,
                    what=f"a stretch of training plan {plan.name} ends",
                    resource=plan.name,
                    evidence=(plan.evidence,) if plan.evidence else (),
                )


def _warnings(evidence: CapacityEvidence, shown: Window) -> Iterator[TimelineEvent]:
    for one in values(evidence.warnings):
        if shown.holds(one.at):
            yield TimelineEvent(
                at=one.at,
                source="eventbridge",
                what=f"{one.kind.value}: {one.instance or one.reservation or 'capacity'}"
                + (f", ends {one.ends_at:%Y-%m-%dT%H:%M:%SZ}" if one.ends_at else ""),
                node=one.instance,
                resource=one.reservation,
                stream=one.stream,
                evidence=(one.evidence,) if one.evidence else (),
            )


def _endings(evidence: CapacityEvidence, shown: Window) -> Iterator[TimelineEvent]:
    for one in endings(evidence):
        if shown.holds(one.at):
            yield TimelineEvent(
                at=one.at,
                source="ec2" if one.source == "EC2" else "node",
                what=f"{one.node} ended" + (f": {one.raw}" if one.source == "EC2" else ""),
                node=one.node,
                code="ended",
                stream=one.stream,
                evidence=(one.evidence,) if one.evidence else (),
            )


_SHOWN = frozenset(ServiceEvent) - {
    ServiceEvent.ASSIGNED,
    ServiceEvent.NOT_RESPONDING,
    ServiceEvent.BOOT_FINISHED,
}


def _services(evidence: CapacityEvidence, shown: Window) -> Iterator[TimelineEvent]:
    for one in evidence.services:
        if one.event not in _SHOWN or one.at is None or not shown.holds(one.at):
            continue
        named = [*one.instances, *one.names] or [*one.queues] or ([one.node] if one.node else [])
        about = some(named) or (counted(one.count, "node") if one.count else one.stream)
        code = f" ({one.code})" if one.code else ""
        status = f", exit status {one.exit_status}" if one.exit_status is not None else ""
        yield TimelineEvent(
            at=one.at,
            source="cluster services",
            what=f"{one.event.value}{code}{status}: {about}",
            node=one.instances[0] if len(one.instances) == 1 else one.node or None,
            stream=one.stream,
            evidence=(one.evidence,),
        )
