"""Replacements by request, call by call, as the change branch weighs them.

Who followed whom is decided in `identity`; here its fates are gathered under the call that caused
them, so that a call with many nodes stays one change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from gpuvet.calculators.arrivals import IdentityEvidence
from gpuvet.calculators.identity import identify
from gpuvet.model.changes import Change, ChangeKind, ClusterEvent, EventMeaning
from gpuvet.model.cluster_state import HyperPodNode
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.identity import (
    Arrival,
    CurrentNode,
    Fate,
    LinkBasis,
    NodeEvent,
    NodeFate,
    NodeRequest,
    RequestKind,
)

_KINDS = {
    ChangeKind.REPLACE: RequestKind.REPLACE,
    ChangeKind.REBOOT: RequestKind.REBOOT,
    ChangeKind.DELETE: RequestKind.DELETE,
    ChangeKind.TERMINATE: RequestKind.TERMINATE,
}


@dataclass(frozen=True, slots=True)
class Replacement:
    """Nodes that a call replaced, and those that took their places.

    Attributes:
        new: Their successors; empty: none has joined. With several of both only the sets match.
        link: What ties the two; a launch time or a host name alone is a hypothesis.
        still_there: Requested ids that are still listed: not carried out yet, refused, or rebooted.
    """

    call: Change
    old: tuple[str, ...]
    new: tuple[HyperPodNode, ...]
    group: str | None
    link: LinkBasis | None
    still_there: tuple[str, ...] = ()

    @property
    def is_paired(self) -> bool:
        """Say whether one node took the place of one."""
        return len(self.old) == len(self.new) == 1

    @property
    def is_certain(self) -> bool:
        """Say whether the link is one that only the same slot can share."""
        return self.link is not None and self.link.is_proof


class Succession(NamedTuple):
    """What calls brought about, and what came without one."""

    replaced: tuple[Replacement, ...] = ()
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """What bears on nodes that came without a call.

    Attributes:
        cloudtrail: How far CloudTrail was read.
        automatic_recovery: HyperPod's NodeRecovery is Automatic.
        terminated: When the health agent said NvidiaErrorTerminate, by node.
        since: Nodes launched before are no arrivals.
    """

    cloudtrail: Status = Status.OK
    automatic_recovery: bool = False
    terminated: tuple[tuple[str, datetime], ...] = ()
    since: datetime | None = None


_NOTHING_ELSE = Around()


def succession(
    calls: Sequence[Change],
    nodes: Envelope[tuple[HyperPodNode, ...]] | None,
    *,
    streams: Sequence[str] = (),
    events: Sequence[ClusterEvent] = (),
    around: Around = _NOTHING_ELSE,
) -> Succession:
    """Return what each successful call to replace nodes came to, and what came without a call.

    Args:
        calls: The cluster's own changes.
        nodes: The nodes listed now; where they were not read, nothing can be matched.
        streams: Names of the cluster's log streams: an old id's stream names its group.
        events: Cluster events.
        around: What bears on nodes that came without a call.
    """
    if nodes is None or nodes.value is None:
        return Succession()
    done = {_key(c): c for c in calls if c.kind in _KINDS and not c.is_attempt}
    found = identify(
        IdentityEvidence(
            requests=[_request(key, call) for key, call in done.items()],
            current=[_current(node) for node in nodes.value],
            streams=streams,
            events=[
                NodeEvent(at=e.at, node=e.instance, group=e.group, description=e.description)
                for e in events
                if e.instance is not None
            ],
            cloudtrail=around.cloudtrail,
            automatic_recovery=around.automatic_recovery,
            terminate_conditions=around.terminated,
            since=around.since,
        )
    )
    listed = {node.id: node for node in nodes.value}
    by_call: dict[str, list[NodeFate]] = {}
    for fate in found.fates:
        by_call.setdefault(fate.evidence or "", []).append(fate)
    replaced = tuple(
        one
        for key, call in done.items()
        if call.kind is ChangeKind.REPLACE
        for one in _of_call(call, by_call.get(key, ()), listed)
    )
    return Succession(replaced, found.arrivals)


def replacements(
    calls: Sequence[Change],
    nodes: Envelope[tuple[HyperPodNode, ...]] | None,
    *,
    streams: Sequence[str] = (),
    events: Sequence[ClusterEvent] = (),
) -> tuple[Replacement, ...]:
    """Return only what calls brought about; see `succession`."""
    return succession(calls, nodes, streams=streams, events=events).replaced


def _key(call: Change) -> str:
    return call.event_id or f"{call.name}@{call.at.isoformat()}"


def _request(key: str, call: Change) -> NodeRequest:
    is_told = call.accepted is not None or bool(call.refused)
    return NodeRequest(
        at=call.at,
        kind=_KINDS[call.kind],
        nodes=call.nodes,
        logical_ids=call.logical,
        successful=call.targets if is_told else None,
        caller=call.by_arn,
        invoked_by=call.invoked_by,
        evidence=key,
    )


def _current(node: HyperPodNode) -> CurrentNode:
    return CurrentNode(
        node=node.id,
        launched_at=node.launched_at,
        instance_type=node.instance_type,
        group=node.group,
        logical_id=node.logical,
        host=node.host,
        pending=node.status == "Pending",
    )


def _of_call(
    call: Change, fates: Sequence[NodeFate], listed: dict[str, HyperPodNode]
) -> list[Replacement]:
    """Gather the fates of one call: those that share their successors are one set."""
    there = tuple(f.node for f in fates if f.fate in {Fate.STILL_PRESENT, Fate.REBOOTED})
    sets: dict[tuple[str | None, tuple[str, ...], LinkBasis | None], list[str]] = {}
    for fate in fates:
        if fate.fate in {Fate.REPLACED, Fate.NOT_JOINED}:
            sets.setdefault((fate.group, fate.successors, fate.basis), []).append(fate.node)
    found = [
        Replacement(
            call,
            tuple(old),
            tuple(listed[name] for name in successors if name in listed),
            group,
            basis,
            there,
        )
        for (group, successors, basis), old in sets.items()
    ]
    if there and not found:
        found.append(Replacement(call, (), (), None, None, there))
    return found


def automatic_replacements(
    events: Sequence[ClusterEvent], calls: Sequence[Change]
) -> tuple[ClusterEvent, ...]:
    """Return replacements that cluster events tell of and no call in CloudTrail asked for."""
    asked = {one for call in calls for one in call.targets}
    return tuple(
        event
        for event in events
        if event.meaning is EventMeaning.REPLACEMENT and event.instance not in asked
    )
