"""Which queries read some streams over a window: as few as fit, each within its row cap (§5).

Streams of a STANDARD group are named, because its index of names then saves scanning. A group
without that index would be scanned anew by every query that names a few of its streams, so it is
read whole; so is a group whose streams are too many to list.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from gpuvet.aws.door import LogStream, NodeName
from gpuvet.aws.log_queries import MOST_GROUPS, MOST_ROWS, Part, packed, system_logs
from gpuvet.aws.node_groups import LogGroups
from gpuvet.aws.query_runs import Ask
from gpuvet.model.coverage import LogClass
from gpuvet.model.evidence import Window

Query = Callable[[Part], str]

HOUR = timedelta(hours=1)
# Ours: room for names of nodes in a pattern, beside the rest of a query.
_MOST_PATTERN = 8_000
_BINS = "hour"


class Asked(NamedTuple):
    """One query's question, and the streams it names; (): whole groups."""

    ask: Ask
    streams: tuple[str, ...] = ()


class LogAsks:
    """Plans the queries of a question.

    Attributes:
        whole: Groups that are read whole, each with a pattern of the streams wanted.
        most_nodes: How many nodes were asked about at once, to reckon rows.
    """

    def __init__(self, groups: LogGroups) -> None:
        self._groups = groups
        self.whole: dict[str, str | None] = {}
        self.most_nodes = 0

    def of(
        self, streams: Sequence[LogStream], window: Window, query: Query, order: str
    ) -> list[Asked]:
        """Return what reads these streams; a stream in no group is a file's and is not asked.

        Args:
            streams: Exact streams.
            window: Start included, end not.
            query: Returns the query of a part.
            order: The column its rows are sorted by; hours are cut to fit the row cap.
        """
        named: dict[bool, list[tuple[str, str]]] = {}
        groups = {one.group for one in streams if one.group is not None}
        facts = self._groups.facts(groups)
        for one in streams:
            if one.group is None or one.group in self.whole:
                continue
            if facts[one.group].log_class is not LogClass.DELIVERY:
                is_indexed = facts[one.group].log_class is LogClass.STANDARD
                named.setdefault(is_indexed, []).append((one.group, one.stream))
        asks = self.of_whole(window, query, order) if groups & self.whole.keys() else []
        for is_indexed, names in named.items():
            asks += self._of_named(names, window, query, order, is_indexed=is_indexed)
        return asks

    def _of_named(
        self,
        names: Sequence[tuple[str, str]],
        window: Window,
        query: Query,
        order: str,
        *,
        is_indexed: bool,
    ) -> Iterator[Asked]:
        parts = list(packed(names, query))
        if len(parts) > 1 and not is_indexed:
            groups = sorted({group for group, _ in names})
            parts = list(system_logs(groups, None))
        for part in parts:
            for span in slices(window, len(part.streams) or len(names), order):
                yield Asked(Ask(part.groups, query(part), span, order), part.streams)

    def of_whole(self, window: Window, query: Query, order: str) -> list[Asked]:
        """Return what reads every whole group; the same for all who ask with one window."""
        classes = self._groups.facts(self.whole)
        alike: dict[tuple[LogClass, str | None], list[str]] = {}
        for name, pattern in sorted(self.whole.items()):
            alike.setdefault((classes[name].log_class, pattern), []).append(name)
        return [
            Asked(Ask(part.groups, query(part), span, order))
            for (kind, pattern), groups in alike.items()
            if kind is not LogClass.DELIVERY
            for part in system_logs(groups, pattern)
            for span in slices(window, self.most_nodes, order)
        ]


def whole_groups(groups: Sequence[str], like: str | None = None) -> Iterator[Part]:
    """Yield parts that read every stream of these groups, or those named like a pattern."""
    for start in range(0, len(groups), MOST_GROUPS):
        yield Part(tuple(groups[start : start + MOST_GROUPS]), like=like)


def slices(window: Window, streams: int, order: str) -> list[Window]:
    """Cut a window at epoch hours so that a row an hour of each stream fills no answer."""
    hours = max(1, math.ceil((window.end - window.start) / HOUR))
    count = streams * hours // MOST_ROWS + 1 if order == _BINS else 1
    if count <= 1:
        return [window]
    step = math.ceil(hours / count) * HOUR
    first = whole_hour(window.start)
    cuts = [first + step * place for place in range(1, count) if first + step * place < window.end]
    edges = [window.start, *cuts, window.end]
    return [Window(start=a, end=b) for a, b in pairwise(edges)]


def hours_around(window: Window) -> Window:
    """Return a window widened to whole epoch hours: bins align to them, not to its start."""
    start, end = whole_hour(window.start), whole_hour(window.end)
    return Window(start=start, end=end if end == window.end else end + HOUR)


def whole_hour(at: datetime) -> datetime:
    """Return the start of the epoch hour that holds a time."""
    return at.replace(minute=0, second=0, microsecond=0)


def pattern_of(nodes: Sequence[NodeName]) -> str | None:
    """Return a pattern of the streams of these nodes; None where it would be too long."""
    if sum(len(node.node) for node in nodes) > _MOST_PATTERN:
        return None
    names = dict.fromkeys(name for node in nodes for name in (node.node, *node.aliases))
    # A name that holds another one as a part is found by it already.
    least = [name for name in names if not any(o != name and o in name for o in names)]
    pattern = "|".join(re.sub(r"([^0-9A-Za-z_-])", r"[\1]", name) for name in least)
    return pattern if len(pattern) <= _MOST_PATTERN else None
