"""What the HTML page shows: tiles, tables, steps, and the data its map and lanes are drawn from.

Every text of evidence is bounded and made visible here; the template escapes, and the data goes
into the page as JSON that no HTML parser can leave.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from gpuvet.model.cause import EventKind, TimelineEvent
from gpuvet.model.hours import HOUR_WORDS, HourCode, HourGrid
from gpuvet.report.words import plain, some, utc, whole_plain

# Ours: together these keep a page of 1,000 nodes below 20,000 DOM nodes.
MOST_NODE_ROWS = 1_000
MOST_ROWS = 150
MOST_MARKS = 300
MOST_SPOTS = 3_000

LANES = (
    "Faults",
    "Health agent",
    "Boots",
    "Replacements",
    "Changes",
    "Capacity",
    "Storage",
    "Network",
    "Job",
    "Other",
    "Not read",
)
_LANE_OF_SOURCE = {
    "hma": "Health agent",
    "dcgm": "Health agent",
    "capacity": "Capacity",
    "eventbridge": "Capacity",
    "ec2": "Capacity",
    "node": "Capacity",
    "fsx": "Storage",
    "storage": "Storage",
    "efa": "Network",
    "nccl": "Network",
    "network": "Network",
    "job log": "Job",
    "job": "Job",
    "not read": "Not read",
    "cloudtrail": "Changes",
    "rollout": "Changes",
    "packages": "Changes",
    "cluster events": "Changes",
    "cluster services": "Changes",
}
_REPLACE = re.compile(r"Replace|replace")
_FAULT = re.compile(r"\b(?:S?Xid) \d")
_BOOT = re.compile(r"^(?:reboot|stop start|driver reload|gpu reset|replaced|node going down)")


@dataclass(frozen=True, slots=True)
class Tile:
    """One number at the head of the page."""

    label: str
    value: str
    sub: str = ""
    tone: str = "plain"  # plain, good, warn, bad
    share: float | None = None  # draws a bar


@dataclass(frozen=True, slots=True)
class Table:
    """One sortable table.

    Attributes:
        kinds: Per column: text, code, num or verdict.
    """

    key: str
    title: str
    columns: Sequence[str]
    kinds: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    more: int = 0
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing an operator can do, as text."""

    do: str
    why: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page, ready to be laid out."""

    kind: str
    title: str
    headline: str
    lead: str
    facts: Sequence[tuple[str, str]]
    tiles: Sequence[Tile]
    tables: Sequence[Table]
    steps: Sequence[Step] = ()
    quotes: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


class NodeInput:
    """One node as the map shows it."""

    def __init__(
        self, node: str, verdict: str, claim: str, *, cluster: str = "", kind: str = ""
    ) -> None:
        self.node, self.verdict, self.claim = node, verdict, claim
        self.cluster, self.kind = cluster, kind


def map_data(
    grid: HourGrid | None,
    nodes: Sequence[NodeInput],
    reasons: Iterable[tuple[str, str | None, str | None, datetime, datetime, str]],
    events: Sequence[TimelineEvent],
) -> dict[str, Any]:
    """Return what the script draws: hours by node and source, reasons, marks.

    Args:
        grid: The hours; None: the page has no map.
        nodes: In the order they are shown.
        reasons: Of holes: node, group, stream, start, end, words.
        events: The timeline.
    """
    place = {one.node: number for number, one in enumerate(nodes)}
    words: dict[str, int] = {}
    rows, sources = _rows(grid, place, words)
    start = int(grid.start.timestamp()) if grid is not None else 0
    hours = grid.hours if grid is not None else 0
    return {
        "start": start,
        "hours": hours,
        "codes": {c.value: [HOUR_WORDS[c], _look(c)] for c in HourCode},
        "nodes": [
            [
                plain(n.node),
                n.verdict,
                whole_plain(n.claim),
                plain(n.cluster),
                rows.get(i, ""),
                sources.get(i, []),
            ]
            for i, n in enumerate(nodes)
        ],
        "holes": _holes(reasons, place, sources, start, words),
        "lanes": list(LANES),
        "marks": marks(events, place),
        "spots": spots(events, place, words),
        "words": list(words),
    }


def _word(words: dict[str, int], text: str) -> int:
    return words.setdefault(text, len(words))


def _rows(
    grid: HourGrid | None, place: Mapping[str, int], words: dict[str, int]
) -> tuple[dict[int, str], dict[int, list[list[Any]]]]:
    """Return each node's own runs, and its sources as [class, group, stream, runs]."""
    rows: dict[int, str] = {}
    sources: dict[int, list[list[Any]]] = {}
    for row in grid.rows if grid is not None else ():
        number = place.get(row.node)
        if number is None:
            continue
        if row.source is None:
            rows[number] = row.runs
        else:
            group = _word(words, plain(row.group or ""))
            own = [row.source.value, group, plain(row.stream or "no stream"), row.runs]
            sources.setdefault(number, []).append(own)
    return rows, sources


def _holes(
    reasons: Iterable[tuple[str, str | None, str | None, datetime, datetime, str]],
    place: Mapping[str, int],
    sources: Mapping[int, Sequence[Sequence[Any]]],
    start: int,
    words: dict[str, int],
) -> list[list[int]]:
    """Return holes as [node, source or -1, first hour, hours, reason]."""
    found: list[list[int]] = []
    for node, _, stream, since, until, text in reasons:
        number = place.get(node)
        if number is None:
            continue
        name = plain(stream or "no stream")
        at = next(
            (i for i, own in enumerate(sources.get(number, ())) if own[2] == name and stream), -1
        )
        first = (int(since.timestamp()) - start) // 3600
        count = int((until - since).total_seconds()) // 3600
        found.append([number, at, first, count, _word(words, whole_plain(text))])
    return found


def _look(code: HourCode) -> str:
    """Return how an hour is drawn; the style sheet names the same words."""
    if code in {HourCode.LIVE, HourCode.AGENT, HourCode.DECLARED}:
        return code.name.lower()
    return code.name.lower() if code.is_hole else "excused"


def lane_of(event: TimelineEvent) -> str:
    """Return the swim lane an event belongs to."""
    if event.kind is EventKind.UNREAD:
        return "Not read"
    if _FAULT.search(event.what):
        return "Faults"
    if _BOOT.match(event.what):
        return "Boots"
    lane = _LANE_OF_SOURCE.get(event.source, "Other")
    return "Replacements" if lane == "Changes" and _REPLACE.search(event.what) else lane


class Group(NamedTuple):
    """The same thing on one or several nodes within one hour: one mark and one row."""

    lane: str
    first: TimelineEvent
    nodes: tuple[str, ...]


def grouped(events: Sequence[TimelineEvent]) -> tuple[Group, ...]:
    """Return events folded by hour, at most as many as are drawn, in the order of time.

    What is beyond the limit is dropped from the end of the longest lane, so that no lane goes
    empty.
    """
    found: dict[tuple[object, ...], list[TimelineEvent]] = {}
    for event in events:
        text = event.what.replace(event.node or "\0", "…")
        key = (lane_of(event), event.kind, text, event.source, int(event.at.timestamp()) // 3600)
        found.setdefault(key, []).append(event)
    lanes: dict[str, list[Group]] = {}
    for same in found.values():
        lane = lane_of(same[0])
        nodes = tuple(dict.fromkeys(e.node for e in same if e.node))
        lanes.setdefault(lane, []).append(Group(lane, same[0], nodes))
    while (over := sum(map(len, lanes.values())) - MOST_MARKS) > 0:
        longest = max(lanes.values(), key=len)
        del longest[max(1, len(longest) - over) :]
    kept = (group for own in lanes.values() for group in own)
    return tuple(sorted(kept, key=lambda g: (g.first.at, g.lane, g.first.what)))


def marks(events: Sequence[TimelineEvent], place: Mapping[str, int]) -> list[list[Any]]:
    """Return marks: lane, second, until or 0, node or -1, kind, what, source, evidence, nodes."""
    found = [_mark(group, place) for group in grouped(events)]
    return sorted(found, key=lambda mark: (mark[0], mark[1]))


def _mark(group: Group, place: Mapping[str, int]) -> list[Any]:
    first = group.first
    return [
        LANES.index(group.lane),
        int(first.at.timestamp()),
        int(first.until.timestamp()) if first.until else 0,
        place.get(first.node or "", -1),
        first.kind.value,
        plain(first.what),
        plain(", ".join((first.source, *first.agreeing))),
        plain(first.evidence[0] if first.evidence else first.stream or ""),
        len(group.nodes),
    ]


def spots(
    events: Sequence[TimelineEvent], place: Mapping[str, int], words: dict[str, int]
) -> list[list[int]]:
    """Return what the map marks on its rows, as [node, second, what, source with evidence]."""
    found: list[list[int]] = []
    for event in events:
        number = place.get(event.node or "")
        if number is None or lane_of(event) not in _ON_THE_MAP:
            continue
        behind = event.evidence[0] if event.evidence else event.stream or ""
        source = _word(words, plain(f"{event.source}, {behind}"))
        found.append([number, int(event.at.timestamp()), _word(words, plain(event.what)), source])
    return found[:MOST_SPOTS]


_ON_THE_MAP = frozenset(LANES[:4])


def event_table(events: Sequence[TimelineEvent]) -> Table:
    """Return the lanes as a table, mark by mark, for keyboard, reader and print."""
    groups = grouped(events)
    shown = sum(max(1, len(group.nodes)) for group in groups)
    return Table(
        key="events",
        title="Timeline",
        columns=("Time (UTC)", "Lane", "Where", "What", "Source", "Evidence"),
        kinds=("code", "text", "code", "text", "text", "code"),
        rows=[_event_row(group) for group in groups],
        more=max(0, len(events) - shown),
        empty="Nothing dated was read.",
    )


def _event_row(group: Group) -> tuple[str, ...]:
    first = group.first
    where = some(group.nodes, 2) or first.resource or ""
    return (
        utc(first.at),
        group.lane,
        plain(where),
        plain(first.what) + ("" if first.kind is EventKind.SEEN else f" ({first.kind.value})"),
        plain(", ".join((first.source, *first.agreeing))),
        plain(first.evidence[0] if first.evidence else first.stream or ""),
    )
