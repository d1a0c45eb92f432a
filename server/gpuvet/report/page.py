"""What the HTML page shows: tiles, tables, steps, and the data its map and lanes are drawn from.

Every text of evidence is bounded and made visible here; the template escapes, and the data goes
into the page as JSON that no HTML parser can leave.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpuvet.model.cause import EventKind, TimelineEvent
from gpuvet.model.hours import HOUR_WORDS, HourCode, HourGrid
from gpuvet.report.words import plain, utc, whole_plain

# Ours: together these keep a page of 1,000 nodes below 20,000 DOM nodes.
MOST_NODE_ROWS = 1_000
MOST_ROWS = 200
MOST_MARKS = 400

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
        first: Index of the column that heads a row for a screen reader.
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


def marks(events: Sequence[TimelineEvent], place: Mapping[str, int]) -> list[list[Any]]:
    """Return marks as [lane, second, until or 0, node or -1, kind, what, source, evidence, nodes].

    The same thing on several nodes within one hour is one mark with their number; what is left
    beyond the limit is dropped lane by lane from the longest one, so that no lane goes empty.
    """
    grouped: dict[tuple[object, ...], list[TimelineEvent]] = {}
    for event in events:
        text = event.what.replace(event.node or "\0", "…")
        key = (lane_of(event), event.kind, text, event.source, int(event.at.timestamp()) // 3600)
        grouped.setdefault(key, []).append(event)
    lanes: dict[str, list[list[Any]]] = {}
    for (lane, *_), same in grouped.items():
        lanes.setdefault(str(lane), []).append(_mark(str(lane), same, place))
    while sum(map(len, lanes.values())) > MOST_MARKS:
        longest = max(lanes.values(), key=len)
        del longest[max(1, len(longest) - (sum(map(len, lanes.values())) - MOST_MARKS)) :]
    return sorted((m for own in lanes.values() for m in own), key=lambda m: (m[0], m[1]))


def _mark(lane: str, same: Sequence[TimelineEvent], place: Mapping[str, int]) -> list[Any]:
    first = same[0]
    nodes = dict.fromkeys(e.node for e in same if e.node)
    return [
        LANES.index(lane),
        int(first.at.timestamp()),
        int(first.until.timestamp()) if first.until else 0,
        place.get(first.node or "", -1),
        first.kind.value,
        plain(first.what),
        plain(", ".join((first.source, *first.agreeing))),
        plain(first.evidence[0] if first.evidence else first.stream or ""),
        len(nodes),
    ]


def event_table(events: Sequence[TimelineEvent]) -> Table:
    """Return the timeline as a table: the same as the lanes, for keyboard, reader and print."""
    rows = [
        (
            utc(e.at),
            lane_of(e),
            plain(e.node or e.resource or ""),
            whole_plain(e.what) + ("" if e.kind is EventKind.SEEN else f" ({e.kind.value})"),
            plain(", ".join((e.source, *e.agreeing))),
            plain(e.evidence[0] if e.evidence else e.stream or ""),
        )
        for e in events[:MOST_ROWS]
    ]
    return Table(
        key="events",
        title="Timeline",
        columns=("Time (UTC)", "Lane", "Where", "What", "Source", "Evidence"),
        kinds=("code", "text", "code", "text", "text", "code"),
        rows=rows,
        more=max(0, len(events) - MOST_ROWS),
        empty="Nothing dated was read.",
    )
