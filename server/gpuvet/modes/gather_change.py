"""Gathers branch E: changes of the cluster, from their readings to evidence and timeline."""

from collections.abc import Iterator

from gpuvet.aws.instances import read_health_events, read_instance_health
from gpuvet.calculators.branch_change import judge_change
from gpuvet.calculators.capacity_evidence import CapacityEvidence, values
from gpuvet.calculators.change_evidence import ChangeEvidence, is_ours, own_changes
from gpuvet.calculators.change_words import who
from gpuvet.case import Case
from gpuvet.model.cause import BranchEvidence, EventKind, TimelineEvent
from gpuvet.model.cluster import ClusterEvidence
from gpuvet.model.evidence import Window
from gpuvet.modes.capacity_readings import look_back
from gpuvet.modes.control_plane import ControlPlane
from gpuvet.modes.scope import Scope
from gpuvet.modes.timeline_words import TIMELINE_PAD, not_read_rows
from gpuvet.parse.node_health import health_words
from gpuvet.report.words import some


def gather_change(
    case: Case, scope: Scope, plane: ControlPlane, evidence: ClusterEvidence
) -> tuple[BranchEvidence, tuple[TimelineEvent, ...]]:
    """Return what speaks for and against a change, and what belongs into the timeline."""
    gathered = change_evidence(case, scope, plane, evidence)
    judged = judge_change(gathered, scope.failure)
    return judged, timeline_change(case, gathered)


def change_evidence(
    case: Case, scope: Scope, plane: ControlPlane, evidence: ClusterEvidence
) -> ChangeEvidence:
    """Return every reading the change branch is judged on."""
    capacity = plane.capacity
    is_hyperpod = scope.orchestrator.is_hyperpod
    return ChangeEvidence(
        orchestrator=scope.orchestrator,
        window=scope.window,
        now=scope.now,
        nodes=capacity.nodes,
        trail=plane.trail,
        cluster_name=scope.cluster,
        cluster=capacity.cluster,
        events=capacity.events,
        hyperpod_nodes=capacity.hyperpod_nodes,
        replaced=plane.replaced,
        arrivals=plane.arrivals,
        packages=plane.log.packages,
        rollouts=plane.log.rollouts,
        scripts=plane.log.scripts,
        services=plane.log.records,
        services_read=plane.log.services,
        nodes_read=capacity.hyperpod_nodes if is_hyperpod else capacity.instances,
        records=plane.records,
        facts={node.node: node.facts for node in evidence.nodes},
        host_of={node.node: _names(node.host, node.aliases) for node in scope.nodes},
        resources=_resources(capacity),
        health_words=tuple(
            words for text in case.transcripts for words in health_words(text.text, text.file)
        ),
    )


def _resources(capacity: CapacityEvidence) -> frozenset[str]:
    """Return the security groups, route tables and reservations that the cluster uses."""
    found = capacity.cluster.value if capacity.cluster is not None else None
    nodes = {node.node for node in capacity.nodes}
    mine = [one for one in values(capacity.instances) if one.id in nodes]
    return frozenset(
        [
            *(found.security_groups if found is not None else ()),
            *(group for one in mine for group in one.security_groups),
            *(one.reservation for one in mine if one.reservation),
            *(table for one in values(capacity.subnets) for table in one.tables),
        ]
    )


def _names(host: str | None, aliases: tuple[str, ...]) -> tuple[str, ...]:
    every = [name for name in (host, *aliases) if name]
    return tuple(dict.fromkeys([*every, *(name.partition(".")[0] for name in every)]))


def timeline_change(case: Case, evidence: ChangeEvidence) -> tuple[TimelineEvent, ...]:
    """Return calls, attempts, cluster events, rollouts, packages, Health and scheduled events."""
    span = look_back(evidence.window, evidence.now)
    shown = evidence.window.padded(TIMELINE_PAD, TIMELINE_PAD)
    events = [
        *_calls(evidence),
        *_unread_calls(evidence),
        *_cluster_events(evidence, shown),
        *_logged(evidence),
        *_health(case, evidence, span),
    ]
    return tuple(sorted(events, key=lambda e: (e.at, e.precision_seconds, e.source, e.what)))


def _calls(evidence: ChangeEvidence) -> Iterator[TimelineEvent]:
    for call in own_changes(evidence):
        about = some(list(call.nodes)) or call.resource or call.cluster or ""
        unsure = "" if is_ours(call, evidence) else " (which cluster is not told)"
        failed = f" failed: {call.error}" if call.is_attempt else ""
        yield TimelineEvent(
            at=call.at,
            source="cloudtrail",
            kind=EventKind.ATTEMPT if call.is_attempt else EventKind.SEEN,
            what=f"{call.name} {about} by {who(call)}{failed}{unsure}",
            node=call.nodes[0] if len(call.nodes) == 1 else None,
            resource=call.resource or call.cluster,
            evidence=(call.evidence,) if call.evidence else (),
        )


def _unread_calls(evidence: ChangeEvidence) -> Iterator[TimelineEvent]:
    missed = evidence.trail.missed
    if missed:
        yield TimelineEvent(
            at=evidence.trail.window.start,
            source="cloudtrail",
            kind=EventKind.UNREAD,
            what=f"source CloudTrail not read: {missed[0].reason or missed[0].status} for "
            f"{len(missed)} of {len(evidence.trail.asked)} event names",
        )


def _cluster_events(evidence: ChangeEvidence, shown: Window) -> Iterator[TimelineEvent]:
    for event in values(evidence.events):
        if not shown.holds(event.at):
            continue
        why = f" ({event.failure})" if event.failure else ""
        yield TimelineEvent(
            at=event.at,
            source="cluster events",
            what=f"{event.level or 'event'}: {event.description}{why}",
            node=event.instance,
            resource=event.group,
            code=event.meaning.value,
            evidence=(event.evidence,) if event.evidence else (),
        )
    yield from not_read_rows(
        evidence.events, "cluster events", "HyperPod cluster events", evidence.now
    )


def _logged(evidence: ChangeEvidence) -> Iterator[TimelineEvent]:
    for rollout in evidence.rollouts:
        if rollout.at is not None:
            image = f" (image {rollout.old} -> {rollout.new})" if rollout.new else ""
            where = f" on {rollout.on}" if rollout.on else ""
            yield TimelineEvent(
                at=rollout.at,
                source="rollout",
                what=f"{rollout.workload} {rollout.step}{image}{where}",
                resource=rollout.workload,
                stream=rollout.stream,
                evidence=(rollout.evidence,),
            )
    for package in evidence.packages:
        if package.at is not None:
            old = f"{package.old} -> " if package.old else ""
            yield TimelineEvent(
                at=package.at,
                source="packages",
                what=f"{package.tool}: {package.package} {old}{package.new or ''}".rstrip(),
                node=package.node or None,
                stream=package.stream,
                evidence=(package.evidence,),
            )


def _health(case: Case, evidence: ChangeEvidence, span: Window) -> Iterator[TimelineEvent]:
    """Yield AWS Health events about these nodes, and events EC2 has planned for them."""
    nodes = evidence.node_ids
    events = read_health_events(case.aws, span)
    for event in values(events):
        mine = [one for one in event.entities or () if one in nodes]
        if event.start is None or not mine:
            continue
        yield TimelineEvent(
            at=event.start,
            until=event.end,
            source="health",
            what=f"{event.code} {event.status or ''}: {some(mine)}",
            node=mine[0],
            evidence=(event.evidence,) if event.evidence else (),
        )
    yield from not_read_rows(events, "health", "AWS Health", evidence.now)
    statuses = read_instance_health(case.aws)
    for one in values(statuses):
        for at, words in zip(one.scheduled_at, one.scheduled, strict=False):
            if one.id in nodes:
                yield TimelineEvent(
                    at=at,
                    source="ec2",
                    kind=EventKind.PLANNED,
                    what=f"{one.id}: {words}",
                    node=one.id,
                    evidence=(one.evidence,) if one.evidence else (),
                )
