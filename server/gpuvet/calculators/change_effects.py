"""What a call did to nodes, as far as anything shows it (incident-branches §E). Pure.

A call without an observed effect on a node of the job is no more than a hypothesis.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.calculators.capacity_evidence import values
from gpuvet.calculators.change_evidence import ChangeEvidence, group_map, groups_of
from gpuvet.model.changes import Change, ChangeKind
from gpuvet.model.events import BoundaryKind
from gpuvet.model.identity import LinkBasis
from gpuvet.report.words import some, utc

# AWS's API reference gives 1 to 3 min for a reboot; ours leaves room for a slow one.
_REBOOT_SPAN = timedelta(minutes=30)
_ENDING_SPAN = timedelta(minutes=30)
_IN_CHANGE = frozenset(
    {"Pending", "ShuttingDown", "SystemUpdating", "DeepHealthCheckInProgress", "DetachInProgress"}
)
_UNSETTLED = frozenset({"Pending", "InProgress", "RollbackInProgress", "Failed"})


_LINKS = {
    LinkBasis.LOGICAL_ID: "the same node logical id",
    LinkBasis.STREAM_GROUP: "log stream of the old id names the group",
    LinkBasis.CLUSTER_EVENT: "cluster event names the group",
    LinkBasis.HOST: "the same host name or address",
    LinkBasis.LAUNCH_TIME: "launch time only",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One observed change of state on one node after a call."""

    node: str
    what: str
    at: datetime | None = None
    evidence: str | None = None


def affected_nodes(change: Change, evidence: ChangeEvidence) -> tuple[str, ...]:
    """Return the job's nodes a call was about: named, of its groups, or all of the cluster."""
    if change.targets or change.nodes:
        wanted = set(change.targets) | set(change.nodes)
        return tuple(sorted(wanted & evidence.node_ids))
    nodes = tuple(n.node for n in evidence.nodes)
    if change.groups:
        groups = group_map(evidence)
        return tuple(n for n in nodes if groups.get(n) in change.groups)
    return nodes


def effects_of(
    change: Change, evidence: ChangeEvidence, until: datetime | None
) -> tuple[Effect, ...]:
    """Return what was seen on nodes after a call and not after `until`, the failure's start.

    Args:
        change: A successful call.
        evidence: Readings.
        until: None: up to now.
    """
    nodes = affected_nodes(change, evidence)
    match change.kind:
        case ChangeKind.REPLACE:
            found = _replaced(change, evidence)
        case ChangeKind.REBOOT:
            found = _booted(change, nodes, evidence, _REBOOT_SPAN)
        case ChangeKind.DELETE | ChangeKind.TERMINATE:
            found = _ended(change, nodes, evidence)
        case ChangeKind.SOFTWARE | ChangeKind.CLUSTER:
            found = _updated(change, nodes, evidence)
        case ChangeKind.HEALTH_CHECK:
            found = _in_state(nodes, evidence, frozenset({"DeepHealthCheckInProgress"}))
        case _:
            found = iter(())
    limit = until or evidence.now
    return tuple(e for e in found if e.at is None or e.at <= limit)


def _replaced(change: Change, evidence: ChangeEvidence) -> Iterator[Effect]:
    for found in evidence.replaced:
        if found.call.event_id != change.event_id or found.call.at != change.at:
            continue
        for new in found.new:
            if new.launched_at is None:
                continue
            seconds = int((new.launched_at - change.at).total_seconds())
            old = some(list(found.old)) or "the node of the same logical id"
            yield Effect(
                new.id,
                f"{old} is gone and {new.id} launched {utc(new.launched_at)}, {seconds} s after "
                f"the call ({seconds // 60} min {seconds % 60} s), status {new.status}; link: "
                f"{_LINKS[found.link] if found.link else 'none'}",
                new.launched_at,
                new.evidence,
            )
        if found.old and not found.new:
            yield Effect(found.old[0], f"{some(list(found.old))} is gone, no successor joined yet")


def _booted(
    change: Change, nodes: Sequence[str], evidence: ChangeEvidence, span: timedelta
) -> Iterator[Effect]:
    for node in nodes:
        records = evidence.records.get(node)
        for line in records.boundaries if records is not None else ():
            is_boot = line.kind in {BoundaryKind.REBOOT, BoundaryKind.DRIVER_RELOAD}
            if is_boot and line.at is not None and change.at <= line.at <= change.at + span:
                version = f" with driver {line.driver_version}" if line.driver_version else ""
                yield Effect(node, f"{node} booted {utc(line.at)}{version}", line.at, line.evidence)
                break


def _ended(change: Change, nodes: Sequence[str], evidence: ChangeEvidence) -> Iterator[Effect]:
    left = {n.node: n.left_at for n in evidence.nodes}
    for node in nodes:
        records = evidence.records.get(node)
        shutdowns = [s.at for s in records.shutdowns if s.at] if records is not None else []
        times = [at for at in (left.get(node), *shutdowns) if at is not None]
        near = [at for at in times if change.at <= at <= change.at + _ENDING_SPAN]
        if near:
            yield Effect(node, f"{node} ended {utc(min(near))}", min(near))


def _updated(change: Change, nodes: Sequence[str], evidence: ChangeEvidence) -> Iterator[Effect]:
    """Link an update by what nodes show: it acts per node, later than the call."""
    yield from _in_state(nodes, evidence, frozenset({"SystemUpdating"}))
    for node in values(evidence.hyperpod_nodes):
        if node.id in nodes and node.updated_at is not None and node.updated_at >= change.at:
            yield Effect(
                node.id,
                f"{node.id} LastSoftwareUpdateTime {utc(node.updated_at)}",
                node.updated_at,
                node.evidence,
            )
    yield from _booted(change, nodes, evidence, timedelta(hours=6))
    found = evidence.described
    wanted = groups_of(nodes, evidence)
    for group in found.groups if found is not None else ():
        if (group.name in wanted or not wanted) and group.software in _UNSETTLED and nodes:
            yield Effect(nodes[0], f"{group.name} SoftwareUpdateStatus {group.software}")


def _in_state(
    nodes: Sequence[str], evidence: ChangeEvidence, states: frozenset[str]
) -> Iterator[Effect]:
    listed = {n.id: n.status for n in values(evidence.hyperpod_nodes)}
    for one in evidence.nodes:
        state = listed.get(one.node) or one.state
        if one.node in nodes and state in states:
            yield Effect(one.node, f"{one.node} is {state}")


def is_in_change(status: str | None) -> bool:
    """Say whether a node's status is one that a change puts it into."""
    return status in _IN_CHANGE
