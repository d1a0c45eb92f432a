"""Nodes that came without a call of the customer (incident-branches, rule 5).

Also what both halves of node identity read: the evidence, and the groups that stream paths name.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.model.evidence import Status
from gpuvet.model.identity import (
    Arrival,
    CurrentNode,
    FormerNode,
    Initiator,
    NodeEvent,
    NodeRequest,
)

# A replacement typically joins after 20 to 30 min; later launches are no candidates.
JOINS_WITHIN = timedelta(hours=2)

_GROUP_STREAM = re.compile(
    r"(?:^|/)(?:SagemakerHealthMonitoringAgent|LifecycleConfig)/([^/]+)/(i-[0-9a-f]{8,17})$"
)
REPLACEMENT = re.compile(r"as part of instance replacement", re.IGNORECASE)
_TERMINATION = re.compile(r"Termination of EC2 Instance", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IdentityEvidence:
    """What the calculator may use.

    Attributes:
        requests: Calls that name nodes, in any order.
        current: Every node listed now.
        former: What earlier listings and requests remember of old ids.
        streams: Log streams whose path names a group and an instance id.
        events: Cluster events.
        cluster_names: Names and ARNs of the cluster; empty accepts every call.
        cloudtrail: How far CloudTrail was read; it bounds "no customer call".
        automatic_recovery: HyperPod's NodeRecovery is Automatic.
        terminate_conditions: When the health agent said NvidiaErrorTerminate, per node.
        since: Nodes launched before are no arrivals.
    """

    requests: Sequence[NodeRequest]
    current: Sequence[CurrentNode]
    former: Sequence[FormerNode] = ()
    streams: Sequence[str] = ()
    events: Sequence[NodeEvent] = ()
    cluster_names: frozenset[str] = frozenset()
    cloudtrail: Status = Status.OK
    automatic_recovery: bool = False
    terminate_conditions: Sequence[tuple[str, datetime]] = ()
    since: datetime | None = None


def group_of_stream(stream: str) -> tuple[str, str] | None:
    """Return the instance group and the instance id that a stream's path names, or None."""
    match = _GROUP_STREAM.search(stream)
    return (match[1], match[2]) if match else None


def groups_of_streams(streams: Iterable[str]) -> dict[str, str]:
    """Return the instance group of every instance id that a stream's path names."""
    places = (place for stream in streams if (place := group_of_stream(stream)) is not None)
    return {node: group for group, node in places}


def unasked_arrivals(evidence: IdentityEvidence, taken: set[str]) -> Iterator[Arrival]:
    """Yield nodes that are pending or new, and that no call explains."""
    about = _by_node(evidence.events)
    for node in sorted(evidence.current, key=lambda n: n.node):
        if node.node in taken or not (node.pending or _is_new(node, evidence.since)):
            continue
        yield _arrival(node, about.get(node.node, []), evidence)


def _by_node(events: Iterable[NodeEvent]) -> dict[str, list[NodeEvent]]:
    found: dict[str, list[NodeEvent]] = defaultdict(list)
    for event in sorted(events, key=lambda e: (e.at, e.description)):
        found[event.node].append(event)
    return found


def _is_new(node: CurrentNode, since: datetime | None) -> bool:
    return since is not None and node.launched_at is not None and node.launched_at >= since


def _arrival(node: CurrentNode, events: Sequence[NodeEvent], evidence: IdentityEvidence) -> Arrival:
    told = next((e for e in events if REPLACEMENT.search(e.description)), None)
    at = node.launched_at or (told.at if told is not None else None)
    condemned = _condemned(node, at, evidence)
    if condemned is not None and evidence.automatic_recovery:
        why = "NodeRecovery is Automatic and the health agent said NvidiaErrorTerminate before"
        return Arrival(
            node=node.node,
            at=at,
            initiator=Initiator.NODE_RECOVERY,
            why=f"{why}, of {condemned}",
            replaced=condemned,
        )
    if told is not None:
        return Arrival(
            node=node.node, at=at, initiator=Initiator.SERVICE, why=f"event: {told.description}"
        )
    terminated = _terminated_before(node, at, evidence.events)
    ended = f"; before it: {terminated.description}" if terminated is not None else ""
    return Arrival(
        node=node.node,
        at=at,
        initiator=Initiator.UNKNOWN,
        why=f"no customer call found (CloudTrail {evidence.cloudtrail}){ended}",
        replaced=terminated.node if terminated is not None else None,
    )


def _condemned(node: CurrentNode, at: datetime | None, evidence: IdentityEvidence) -> str | None:
    """Return the gone node of the same group that the health agent condemned before."""
    listed = {n.node for n in evidence.current}
    groups = groups_of_streams(evidence.streams)
    groups |= {f.node: f.group for f in evidence.former if f.group is not None}
    found = [
        (when, old)
        for old, when in evidence.terminate_conditions
        if old not in listed
        and (at is None or at - JOINS_WITHIN <= when <= at)
        and groups.get(old, node.group) in {None, node.group}
    ]
    return max(found)[1] if found else None


def _terminated_before(
    node: CurrentNode, at: datetime | None, events: Iterable[NodeEvent]
) -> NodeEvent | None:
    found = [
        e
        for e in events
        if _TERMINATION.search(e.description)
        and e.node != node.node
        and (at is None or at - JOINS_WITHIN <= e.at <= at)
        and (e.group is None or node.group is None or e.group == node.group)
    ]
    return max(found, key=lambda e: (e.at, e.node), default=None)
