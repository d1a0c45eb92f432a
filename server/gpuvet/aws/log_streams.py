"""Which streams carry lines of some nodes: listed where few, else found by what they wrote.

A listing shows 50 streams a call. Of a fleet it would use up what a question may ask, so its
groups are counted whole and the rows of that count say which streams there are.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor, LogStream, NodeName
from gpuvet.aws.log_asks import Asked, LogAsks, hours_around, pattern_of, whole_groups
from gpuvet.aws.log_queries import bins_query, lines_query, writers_query
from gpuvet.aws.node_groups import Candidates, LogGroups, why
from gpuvet.aws.query_runs import Ask, QueryRuns, Unread, group_of
from gpuvet.aws.stream_names import Owners
from gpuvet.model.evidence import Envelope, Reason, Window
from gpuvet.model.untyped import objects_at, text_at

# Ours: with up to eight streams a node, listing those of more takes over thirty calls.
LISTED_NODES = 200
# Ours: nodes of a fleet that wrote nothing and are looked for by name, four calls each at most.
MOST_SILENT = 10
_DAY = timedelta(days=1)


class StreamsFound(NamedTuple):
    """Streams, each once for every node it belongs to, and what was in the way."""

    streams: tuple[LogStream, ...]
    groups: Candidates
    troubles: tuple[Envelope[Any], ...]
    missed: tuple[Unread, ...]
    notes: tuple[str, ...]


class LogStreams:
    """The streams of a question."""

    def __init__(
        self,
        door: AwsDoor,
        groups: LogGroups,
        asks: LogAsks,
        runs: QueryRuns,
        *,
        now: datetime | None,
    ) -> None:
        self._door = door
        self._groups = groups
        self._asks = asks
        self._runs = runs
        self._now = now
        self._span: Window | None = None
        self.owners = Owners(())

    def of(
        self, nodes: Sequence[NodeName], window: Window | None, lines: Sequence[Window] = ()
    ) -> StreamsFound:
        """Return the streams whose names carry a name of these nodes.

        Args:
            nodes: Whose.
            window: When a fleet's streams wrote; None: the window asked about before.
            lines: Windows whose lines will be asked for next.
        """
        self.owners = Owners(nodes)
        self._asks.most_nodes = max(self._asks.most_nodes, len(nodes))
        self._span = self._span if window is None else hours_around(window)
        groups = self._groups.candidates(nodes)
        troubles, notes = list(groups.troubles), list(groups.notes)
        found: dict[tuple[str, str, str], LogStream] = {}
        for name in (*groups.own, *groups.foreign):
            if len(nodes) > LISTED_NODES and name in groups.own:
                self._asks.whole.setdefault(name, None)
            if name not in self._asks.whole:
                self._list(name, nodes, found, troubles, is_own=name in groups.own)
        self._begin(tuple(found.values()), window, lines)
        missed = self._wrote(found)
        if not missed:
            self._silent(nodes, groups.own, found, troubles)
        notes += [f"streams of {one.params}: {why(one)}" for one in troubles if one.service]
        return StreamsFound(
            tuple(found.values()), groups, tuple(troubles), missed, tuple(dict.fromkeys(notes))
        )

    def _list(
        self,
        group: str,
        nodes: Sequence[NodeName],
        found: dict[tuple[str, str, str], LogStream],
        troubles: list[Envelope[Any]],
        *,
        is_own: bool,
    ) -> None:
        """List a group; where the listing is cut short a query goes on from it."""
        answer = self._door.read("logs:DescribeLogStreams", {"logGroupName": group})
        mine = list(self.owners.streams(group, stream_names(answer)))
        found.update({(one.node, group, one.stream): one for one in mine})
        if not answer.status.is_complete:
            troubles.append(answer)
        pattern = pattern_of(nodes)
        if answer.reason is Reason.PAGE_CAP and (mine or is_own or pattern is not None):
            self._asks.whole[group] = pattern

    def _begin(
        self, streams: Sequence[LogStream], window: Window | None, lines: Sequence[Window]
    ) -> None:
        """Start counts and lines of what is known already: the window's, then the others'."""
        any_whole = [LogStream(node="", group=name, stream="") for name in self._asks.whole][:1]
        asked: list[Asked] = []
        for place, span in enumerate(lines):
            asked += self._asks.of([*any_whole, *streams], span, lines_query, "@timestamp")
            if place == 0 and window is not None:
                whole = hours_around(window)
                counts = self._asks.of([*any_whole, *streams], whole, bins_query, "hour")
                asked = [*counts, *asked]
        self._runs.begin(one.ask for one in asked)

    def _wrote(self, found: dict[tuple[str, str, str], LogStream]) -> tuple[Unread, ...]:
        """Find the streams of whole groups by what they wrote; return what was not read."""
        if not self._asks.whole:
            return ()
        asked = self._asks.of_whole(self.looked_at(), bins_query, "hour")
        answers = self._runs.found([one.ask for one in asked])
        names = dict.fromkeys(
            (group_of(row, one.ask.groups), row.get("@logStream", ""))
            for one, answer in zip(asked, answers, strict=True)
            for row in answer.rows
        )
        for group, name in names:
            for stream in self.owners.streams(group, [name]):
                found.setdefault((stream.node, group, name), stream)
        return tuple(missed for answer in answers for missed in answer.unread)

    def _silent(
        self,
        nodes: Sequence[NodeName],
        groups: Sequence[str],
        found: dict[tuple[str, str, str], LogStream],
        troubles: list[Envelope[Any]],
    ) -> None:
        """Look by name for streams of the few nodes of a fleet that wrote nothing."""
        owners = {node for node, _, _ in found}
        silent = [one for one in nodes if one.node not in owners]
        whole = [name for name in groups if name in self._asks.whole]
        if len(silent) > MOST_SILENT:
            return
        for node, group in ((node, group) for node in silent for group in whole):
            for prefix in _prefixes(node):
                params = {"logGroupName": group, "logStreamNamePrefix": prefix}
                answer = self._door.read("logs:DescribeLogStreams", params)
                if not answer.status.is_complete:
                    troubles.append(answer)
                for one in self.owners.streams(group, stream_names(answer)):
                    found.setdefault((one.node, group, one.stream), one)

    def under(self, prefix: str) -> tuple[list[LogStream], list[Envelope[Any]], list[Unread]]:
        """Return every stream of the cluster's groups under a prefix, and what was in the way."""
        groups, listing = self._groups.under(prefix)
        own = [name for name in groups if self._groups.is_of_the_cluster(name)]
        troubles: list[Envelope[Any]] = [] if listing.status.is_complete else [listing]
        missed: list[Unread] = []
        names: list[tuple[str, str]] = []
        if own and self._asks.most_nodes > LISTED_NODES:
            names = self._writers(own, missed)
        else:
            for group in own:
                answer = self._door.read("logs:DescribeLogStreams", {"logGroupName": group})
                troubles += [] if answer.status.is_complete else [answer]
                names += [(group, name) for name in stream_names(answer)]
        streams = [LogStream(node="", group=group, stream=name) for group, name in names]
        return streams, troubles, missed

    def _writers(self, groups: Sequence[str], missed: list[Unread]) -> list[tuple[str, str]]:
        """Return the streams that wrote since a day before the window: of a fleet, unlisted."""
        span = self.looked_at()
        window = Window(start=span.start - _DAY, end=max(span.end, self._now or span.end))
        asks = [Ask(part.groups, writers_query(part), window) for part in whole_groups(groups)]
        names: dict[tuple[str, str], None] = {}
        for ask, answer in zip(asks, self._runs.found(asks), strict=True):
            missed += answer.unread
            names |= {
                (group_of(row, ask.groups), row.get("@logStream", "")): None for row in answer.rows
            }
        return list(names)

    def looked_at(self) -> Window:
        """Return the whole hours in which a fleet's streams are looked for.

        Raises:
            ValueError: No window was given, and there is no clock.
        """
        if self._span is None:
            if self._now is None:
                raise ValueError("streams are found by what they wrote in a window; none is given")
            self._span = hours_around(Window(start=self._now - _DAY, end=self._now))
        return self._span


def _prefixes(node: NodeName) -> list[str]:
    """Return what the names of a node's streams begin with, where agents put it first."""
    hosts = [name for name in node.aliases if "." not in name and not name.startswith("hyperpod-")]
    return [node.node, *hosts[:1]]


def stream_names(answer: Envelope[Any]) -> list[str]:
    """Return the names of a listing of streams."""
    rows = (row for page in answer.value or () for row in objects_at(page, "logStreams"))
    return [text_at(row, "logStreamName") or "" for row in rows]
