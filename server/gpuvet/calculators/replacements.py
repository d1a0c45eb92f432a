"""Which node took the place of which (root_cause_branches §1.1).

A reboot keeps the instance id; a replacement gives a new one, so that the id a question names
never stands in the request that replaced it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from gpuvet.model.changes import Change, ChangeKind, ClusterEvent, EventMeaning
from gpuvet.model.cluster_state import HyperPodNode
from gpuvet.model.evidence import Envelope

# root_cause_branches §1.1: a successor launches within this long after the call.
MOST_WAIT = timedelta(hours=2)
_STREAM = re.compile(
    r"(?:SagemakerHealthMonitoringAgent|LifecycleConfig)/(?P<group>[^/]+)/(?P<id>i-[0-9a-f]{8,17})$"
)


class Link(StrEnum):
    """What ties a successor to the node it replaces, strongest first."""

    LOGICAL_ID = "node logical id"
    STREAM = "log stream of the old id names the group"
    EVENT = "cluster event names the group"
    LAUNCH_TIME = "launch time only"


@dataclass(frozen=True, slots=True)
class Replacement:
    """Nodes that a call replaced, and those that took their places.

    Attributes:
        new: Their successors; empty: none has joined. With several of both only the sets match.
        link: What ties the two; LAUNCH_TIME is a hypothesis.
        still_there: Requested ids that are still listed: not carried out yet, refused, or rebooted.
    """

    call: Change
    old: tuple[str, ...]
    new: tuple[HyperPodNode, ...]
    group: str | None
    link: Link | None
    still_there: tuple[str, ...] = ()

    @property
    def is_paired(self) -> bool:
        """Say whether one node took the place of one."""
        return len(self.old) == len(self.new) == 1

    @property
    def is_certain(self) -> bool:
        """Say whether the link rests on more than launch times."""
        return self.link is not None and self.link is not Link.LAUNCH_TIME


def replacements(
    calls: Sequence[Change],
    nodes: Envelope[tuple[HyperPodNode, ...]] | None,
    *,
    streams: Sequence[str] = (),
    events: Sequence[ClusterEvent] = (),
) -> tuple[Replacement, ...]:
    """Return what each successful call to replace nodes came to, group by group.

    Args:
        calls: The cluster's changes; only successful replacements count.
        nodes: The nodes listed now; where they were not read, nothing can be matched.
        streams: Names of the cluster's log streams: an old id's stream names its group.
        events: Cluster events.
    """
    if nodes is None or nodes.value is None:
        return ()
    groups = _groups(streams, events)
    wanted = [c for c in calls if c.kind is ChangeKind.REPLACE and not c.is_attempt]
    return tuple(found for call in wanted for found in _of_call(call, nodes.value, groups))


def _groups(streams: Sequence[str], events: Sequence[ClusterEvent]) -> dict[str, tuple[str, Link]]:
    """Return the group of every id that a stream or an event names."""
    found: dict[str, tuple[str, Link]] = {}
    for event in events:
        if event.instance and event.group:
            found[event.instance] = (event.group, Link.EVENT)
    for stream in streams:
        match = _STREAM.search(stream)
        if match is not None:
            found[match["id"]] = (match["group"], Link.STREAM)
    return found


def _of_call(
    call: Change, nodes: Sequence[HyperPodNode], groups: dict[str, tuple[str, Link]]
) -> Iterator[Replacement]:
    listed = {node.id for node in nodes}
    later = [n for n in nodes if n.launched_at and call.at < n.launched_at <= call.at + MOST_WAIT]
    kept = [n for n in later if n.logical and n.logical in call.logical]
    if kept:
        yield Replacement(call, (), tuple(kept), kept[0].group, Link.LOGICAL_ID)
    gone = [one for one in call.targets if one not in listed]
    there = tuple(one for one in call.targets if one in listed)
    by_group: dict[str | None, list[str]] = {}
    for one in gone:
        by_group.setdefault(groups[one][0] if one in groups else None, []).append(one)
    for group, old in by_group.items():
        new = [n for n in later if group is None or n.group == group]
        link = groups[old[0]][1] if group is not None else Link.LAUNCH_TIME
        yield Replacement(call, tuple(old), tuple(new), group, link if new else None, there)
    if there and not gone:
        yield Replacement(call, (), (), None, None, there)


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
