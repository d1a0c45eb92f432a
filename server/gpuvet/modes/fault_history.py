"""Reads what befell the nodes before now, for the interruptions a run has to expect."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from gpuvet.aws.changes import read_trail
from gpuvet.calculators.fault_history import FaultHistory, fault_history
from gpuvet.calculators.finding import NodeView
from gpuvet.calculators.history_words import (
    Known,
    call_words,
    ended_words,
    event_words,
    health_words,
    launch_words,
    lives,
    log_words,
    service_words,
    status_words,
)
from gpuvet.case import Case
from gpuvet.checks.preflight.reading import Reading, rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.changes import Change, ChangeKind, Trail
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Window
from gpuvet.model.history import Sight, Teller

LOOK_BACK = timedelta(days=30)
# Cluster events reach back about a week (aws-evidence 1.4); an older one shows that more is kept.
_EVENTS_KEPT = timedelta(days=7)
# How far the view's own readings of services and of AWS Health reach.
_WEEK = timedelta(days=7)
_HYPERPOD_CALLS = ("BatchReplaceClusterNodes", "BatchRebootClusterNodes")
# Rare ones first: an account that scales all day has thousands of the last two.
_EC2_CALLS = ("RebootInstances", "StopInstances", "TerminateInstances", "RunInstances")


def read_history(case: Case, view: View, nodes: Sequence[NodeView]) -> FaultHistory:
    """Return the faults and replacements of the last weeks; CloudTrail is asked here, last.

    Args:
        case: Where CloudTrail stands.
        view: Everything else, as read for the checks.
        nodes: The nodes with their driver events prepared.
    """
    now = view.now
    window = Window(start=now - LOOK_BACK, end=now)
    trail = _trail(case, view, window)
    calls = [call for call in trail.changes if _is_ours(call, view)] if trail is not None else []
    known = _known(view, calls)
    words = (
        *event_words(rows(view.events), known),
        *call_words(calls, known, now),
        *launch_words(known, window.start),
        *ended_words((one for one in rows(view.instances) if known.holds(one.id)), known),
        *log_words(nodes, known),
        *service_words(view.services, known),
        *status_words(rows(view.instance_health), known, now),
        *health_words(rows(view.health_events), known, now),
    )
    sights = tuple(_sights(view, trail, window))
    cluster = view.cluster.value
    return fault_history(
        words,
        lives(known, words, now),
        sights,
        view.orchestrator,
        replaces_itself=cluster is None or cluster.recovery != "None",
    )


def _trail(case: Case, view: View, window: Window) -> Trail | None:
    if not view.is_known:
        return None
    parts: list[Trail] = []
    for name in _HYPERPOD_CALLS if view.is_hyperpod else _EC2_CALLS:
        parts.append(read_trail(case.aws, window, (name,)))
        if parts[-1].missed:
            break  # without one of them no hour counts: the others would only cost time
    return Trail(
        window=window,
        changes=tuple(change for part in parts for change in part.changes),
        missed=parts[-1].missed,
        asked=tuple(name for part in parts for name in part.asked),
    )


def _known(view: View, calls: Sequence[Change]) -> Known:
    launched = {node.node: node.launched_at for node in view.nodes}
    groups = {node.node: node.group for node in view.nodes if node.group}
    former: set[str] = set()
    for one in rows(view.instances):
        if view.cluster_name is not None and one.is_gone and not view.is_hyperpod:
            former.add(one.id)
        if one.queue:
            groups.setdefault(one.id, one.queue)
    for call in calls:
        if call.kind is ChangeKind.LAUNCH:
            former |= set(call.targets) - set(launched)
    logical = {one.logical: one.id for one in rows(view.hyperpod_nodes) if one.logical}
    return Known(launched, groups, frozenset(former), logical)


def _is_ours(call: Change, view: View) -> bool:
    """Say whether a call was about this cluster, by its name or ARN, else by a node it names."""
    cluster = view.cluster.value
    names = {view.cluster_name, cluster.name if cluster else None, cluster.arn if cluster else None}
    names |= {(name or "").rpartition("/")[2] for name in names}
    if call.cluster is not None and names - {None, ""}:
        return call.cluster in names or call.cluster.rpartition("/")[2] in names
    nodes = {node.node for node in view.nodes}
    is_ec2_end = call.kind in {ChangeKind.TERMINATE, ChangeKind.REBOOT} and not view.is_hyperpod
    return is_ec2_end or bool(nodes & set(call.nodes))


def _sights(view: View, trail: Trail | None, window: Window) -> Iterator[Sight]:
    if view.is_hyperpod:
        yield _events(view, window)
    if trail is not None:
        yield _calls(trail, window)
    yield _logs(view)
    week = (Window(start=view.now - _WEEK, end=view.now),)
    if view.orchestrator is Orchestrator.PARALLELCLUSTER:
        yield _of_reading(Teller.SERVICES, view.services_read, week)
    if not view.is_hyperpod:
        yield _of_reading(Teller.STATUS, view.instance_health, ())
    entities = [one.entities for one in rows(view.health_events)]
    if None in entities:
        closes = "health:DescribeAffectedEntities"
        yield Sight(teller=Teller.HEALTH, reason="its resources were not read", closes_with=closes)
    else:
        yield _of_reading(Teller.HEALTH, view.health_events, week)
    yield _launches(view)


def _of_reading(teller: Teller, reading: Reading[Any], spans: tuple[Window, ...]) -> Sight:
    if reading.is_complete:
        return Sight(teller=teller, spans=spans)
    return Sight(teller=teller, reason=reading.reason, closes_with=reading.closes_with or None)


def _events(view: View, window: Window) -> Sight:
    oldest = min((event.at for event in rows(view.events)), default=view.now)
    start = max(window.start, min(view.now - _EVENTS_KEPT, oldest))
    return _of_reading(Teller.EVENTS, view.events, (Window(start=start, end=view.now),))


def _calls(trail: Trail, window: Window) -> Sight:
    if not trail.missed:
        return Sight(teller=Teller.TRAIL, spans=(window,))
    names = ", ".join(one.name for one in trail.missed)
    first = trail.missed[0]
    return Sight(
        teller=Teller.TRAIL,
        reason=f"{first.reason or first.status}: {names}",
        closes_with=f"cloudtrail:LookupEvents of {names}",
    )


def _logs(view: View) -> Sight:
    hours = tuple((n.node, n.coverage.live_hours) for n in view.nodes if n.coverage.live_hours)
    if hours:
        return Sight(teller=Teller.LOGS, hours=hours)
    closes = "logs that are searched hour by hour"
    return Sight(teller=Teller.LOGS, reason="no hour was seen", closes_with=closes)


def _launches(view: View) -> Sight:
    blind = [node.node for node in view.nodes if node.launched_at is None]
    if not blind and view.listed.is_complete:
        return Sight(teller=Teller.LAUNCHES)
    told = f"not told for {len(blind)} of {len(view.nodes)} nodes" if blind else view.listed.reason
    closes = "sagemaker:ListClusterNodes" if view.is_hyperpod else "ec2:DescribeInstances"
    return Sight(teller=Teller.LAUNCHES, reason=told, closes_with=closes)
