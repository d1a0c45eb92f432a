"""Which log groups may hold the logs of some nodes, and what is known of each (§2).

Groups are found by substring: the names of the cluster first, then words that log groups of
hosts carry. How many groups of foreign names are looked into is bounded, and what is left out is
said.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor, NodeName
from gpuvet.aws.log_queries import MOST_GROUPS
from gpuvet.aws.log_store import from_milliseconds, group_name
from gpuvet.model.coverage import LogClass
from gpuvet.model.evidence import Envelope
from gpuvet.model.untyped import objects_at, text_at, whole_at

# coverage.md: the cluster's own names first, then these.
SUBSTRINGS = ("kernel", "messages", "syslog", "system", "dmesg", "journal", "gpu")
# Ours: groups that only such a word names; each takes a listing of its streams.
MOST_FOREIGN = 20
# Ours: how far back kernel lines are looked for, where the group is not younger.
LIFETIME = timedelta(days=30)
# Groups that an AWS service names by itself hold no node's log but under these (coverage.md).
_OF_A_SERVICE = re.compile(r"/aws/(?!ec2/|fsx/)")
_OF_A_CLUSTER = re.compile(r"/aws/(?:parallelcluster|sagemaker/Clusters|containerinsights|eks)/")
_WITHOUT_LOGS = re.compile(r"/aws/containerinsights/[^/]+/performance$")


class GroupFacts(NamedTuple):
    """One log group; what was not told has its default."""

    name: str
    created: datetime | None = None
    retention_days: int | None = None
    log_class: LogClass = LogClass.STANDARD
    is_known: bool = False

    def life(self, until: datetime) -> datetime:
        """Return since when its lines may stand in it, at most a month back."""
        since = until - LIFETIME
        if self.retention_days is not None:
            since = max(since, until - timedelta(days=self.retention_days))
        return since if self.created is None else max(since, self.created)


class Candidates(NamedTuple):
    """Groups to look into: of the cluster's own, and those that only a word names."""

    own: tuple[str, ...]
    foreign: tuple[str, ...]
    left_out: int
    troubles: tuple[Envelope[Any], ...]
    notes: tuple[str, ...]


class LogGroups:
    """The log groups of a question."""

    def __init__(self, door: AwsDoor, clusters: Sequence[str]) -> None:
        self._door = door
        self._clusters = tuple(clusters)
        self._facts: dict[str, GroupFacts] = {}

    def candidates(self, nodes: Sequence[NodeName]) -> Candidates:
        """Return where streams of these nodes may be."""
        own = dict.fromkeys(group for node in nodes for group in node.groups)
        foreign: dict[str, None] = {}
        troubles: list[Envelope[Any]] = []
        notes: list[str] = []
        for pattern in (*self._clusters, *SUBSTRINGS):
            answer = self._door.read("logs:DescribeLogGroups", {"logGroupNamePattern": pattern})
            if not answer.status.is_complete:
                troubles.append(answer)
                notes.append(f"groups named like {pattern!r}: {why(answer)}")
            for name in _names(answer):
                if self.is_of_the_cluster(name, strictly=True):
                    own[name] = None
                elif self._may_hold_nodes(name):
                    foreign[name] = None
        others = sorted(name for name in foreign if name not in own)
        left = others[MOST_FOREIGN:]
        if left:
            notes.append(f"{len(left)} more groups named like {SUBSTRINGS} were not looked into")
        return Candidates(
            own=tuple(sorted(name for name in own if _WITHOUT_LOGS.match(name) is None)),
            foreign=tuple(others[:MOST_FOREIGN]),
            left_out=len(left),
            troubles=tuple(troubles),
            notes=tuple(notes),
        )

    def under(self, prefix: str) -> tuple[tuple[str, ...], Envelope[Any]]:
        """Return the groups whose names begin so, and the listing they come from."""
        answer = self._door.read("logs:DescribeLogGroups", {"logGroupNamePrefix": prefix})
        names = sorted(name for name in _names(answer) if name.startswith(prefix))
        self._learn(answer)
        return tuple(names), answer

    def is_of_the_cluster(self, group: str, *, strictly: bool = False) -> bool:
        """Say whether a group is this cluster's: not of one whose name begins like it.

        Args:
            group: Its name.
            strictly: A question that names no cluster has no groups of its own.
        """
        if not self._clusters:
            return not strictly
        if _OF_A_CLUSTER.match(group) is None:
            return any(name in group for name in self._clusters)
        return any(
            re.match(
                rf"/aws/(?:parallelcluster/{re.escape(name)}-\d{{12}}$"
                rf"|(?:sagemaker/Clusters|containerinsights|eks)/{re.escape(name)}(?:/|$))",
                group,
            )
            for name in self._clusters
        )

    def _may_hold_nodes(self, group: str) -> bool:
        if _OF_A_CLUSTER.match(group) is not None:
            return not self._clusters and _WITHOUT_LOGS.match(group) is None
        return _OF_A_SERVICE.match(group) is None

    def facts(self, names: Iterable[str]) -> dict[str, GroupFacts]:
        """Return class, retention and age of groups; an answer by pattern has none of them."""
        wanted = sorted(set(names))
        missing = [name for name in wanted if name not in self._facts]
        for start in range(0, len(missing), MOST_GROUPS):
            part = missing[start : start + MOST_GROUPS]
            self._learn(self._door.read("logs:DescribeLogGroups", {"logGroupIdentifiers": part}))
            for name in part:
                self._facts.setdefault(name, GroupFacts(name))
        return {name: self._facts[name] for name in wanted}

    def _learn(self, answer: Envelope[Any]) -> None:
        for page in answer.value or ():
            for row in objects_at(page, "logGroups"):
                name = group_name(text_at(row, "logGroupName") or "")
                created, kind = whole_at(row, "creationTime"), row.get("logGroupClass")
                self._facts[name] = GroupFacts(
                    name=name,
                    created=None if created is None else from_milliseconds(created),
                    retention_days=whole_at(row, "retentionInDays"),
                    log_class=LogClass(kind) if kind in set(LogClass) else LogClass.STANDARD,
                    is_known=True,
                )


def _names(answer: Envelope[Any]) -> list[str]:
    rows = (row for page in answer.value or () for row in objects_at(page, "logGroups"))
    names = (group_name(text_at(row, "logGroupName") or "") for row in rows)
    return [name for name in names if name]


def why(answer: Envelope[Any]) -> str:
    """Return why a reading is not complete, with the service's own code."""
    word = answer.reason or answer.status
    return f"{word} ({answer.error_code})" if answer.error_code else str(word)
