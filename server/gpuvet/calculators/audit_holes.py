"""Why hours could not be seen, where evidence names a reason. Pure.

A reason is measured when a line, a count or a call of the same node says it; somebody's words
and a mere possibility are kept apart. A hole without a reason says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuvet.calculators.audit_hours import runs_of
from gpuvet.calculators.hours import HOUR
from gpuvet.model.audit import AgentLine, AgentWord, Hole, HoleCause, HoleKind
from gpuvet.model.case import Note
from gpuvet.model.changes import Change, ChangeKind
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.coverage import Gap, HourState, Shipper, SourceCoverage
from gpuvet.model.events import BoundaryKind, Record
from gpuvet.model.hours import HourCode, HourGrid, HourRow

_KIND_OF = {
    AgentWord.PAUSED: HoleKind.BUFFER,
    AgentWord.DROPPED: HoleKind.BUFFER,
    AgentWord.ROTATED: HoleKind.ROTATION,
    AgentWord.RELOADED: HoleKind.AGENT,
    AgentWord.STARTED: HoleKind.AGENT,
    AgentWord.STOPPED: HoleKind.AGENT,
    AgentWord.REFUSED: HoleKind.PERMISSION,
    AgentWord.THROTTLED: HoleKind.THROTTLED,
    AgentWord.DISK_FULL: HoleKind.DISK_FULL,
    AgentWord.UNREACHABLE: HoleKind.UNREACHABLE,
}
# These end a hole rather than begin it.
_ENDS = frozenset({AgentWord.RESUMED, AgentWord.STARTED})
_TOLD = (
    (HoleKind.ROTATION, ("rotat",)),
    (HoleKind.BUFFER, ("buf over", "buffer", "backpressure")),
    (HoleKind.AGENT, ("agent restart", "sighup", "agent stopped", "agent was stopped")),
    (HoleKind.PERMISSION, ("accessdenied", "permission", "policy removed")),
    (HoleKind.RETENTION, ("retention",)),
    (HoleKind.DISK_FULL, ("disk full", "no space left")),
)
_MOST = 4


@dataclass(frozen=True, slots=True)
class HoleEvidence:
    """What may name a reason.

    Attributes:
        lines: What log agents and rotation wrote, of every node.
        notes: Words of people; one without a node speaks of all.
        changes: Control-plane calls.
        live: Hours in which each node's streams were live, to tell what others did.
    """

    lines: Sequence[AgentLine] = ()
    notes: Sequence[Note] = ()
    changes: Sequence[Change] = ()
    live: Mapping[str, frozenset[datetime]] | None = None


def holes_of(
    nodes: Iterable[NodeEvidence], grid: HourGrid, found: HoleEvidence
) -> tuple[Hole, ...]:
    """Return every hole of every source, each with the reasons that evidence names.

    Args:
        nodes: The nodes, in the order of the grid.
        grid: Their hours; holes are exactly its runs of open hours.
        found: What may name a reason.
    """
    lines: dict[str, list[AgentLine]] = {}
    for line in found.lines:
        lines.setdefault(line.node, []).append(line)
    rows = iter(grid.rows)
    holes: list[Hole] = []
    for node in nodes:
        own = next(rows)
        for gap, code in _runs(own, grid.start):
            if code in _OF_NODE:
                holes.append(_of_node(node, gap, code))
        for source in node.coverage.sources:
            holes += [
                _hole(node, source, gap, lines.get(node.node, ()), found)
                for gap, _ in _runs(next(rows), grid.start)
            ]
    return tuple(holes)


_OF_NODE = {
    HourCode.NO_STREAM: (HoleKind.NO_STREAM, "none of the groups searched has one of this node"),
    HourCode.NOT_SEARCHED: (
        HoleKind.NOT_SEARCHED,
        "lines arrived, but no complete search for Xids ran over their stream",
    ),
}
_STATE_OF = {
    HourCode.EMPTY: HourState.EMPTY,
    HourCode.EMPTY_PARTIAL: HourState.EMPTY_PARTIAL,
    HourCode.RETENTION_LOST: HourState.RETENTION_LOST,
    HourCode.NO_GROUP: HourState.NO_GROUP,
    HourCode.UNKNOWN_STATE: HourState.UNKNOWN_STATE,
}


def _runs(row: HourRow, start: datetime) -> Iterator[tuple[Gap, HourCode]]:
    """Yield every run of one open letter as a gap."""
    at = start
    for code, count in runs_of(row.runs):
        end = at + HOUR * count
        if code.is_hole:
            state = _STATE_OF.get(code, HourState.UNKNOWN)
            yield Gap(start=at, end=end, state=state), code
        at = end


def _of_node(node: NodeEvidence, gap: Gap, code: HourCode) -> Hole:
    kind, words = _OF_NODE[code]
    return Hole(
        node=node.node,
        source=Shipper.UNKNOWN,
        group=None,
        stream=None,
        start=gap.start,
        end=gap.end,
        hours=gap.hours,
        state=code.name,
        causes=(_plain(kind, words),),
    )


def _hole(
    node: NodeEvidence,
    source: SourceCoverage,
    gap: Gap,
    lines: Sequence[AgentLine],
    found: HoleEvidence,
) -> Hole:
    note = next((g.note for g in source.gaps if g.end == gap.end and g.note), None)
    noted = gap.model_copy(update={"note": note})
    causes = tuple(dict.fromkeys(_causes(node, source, noted, lines, found)))
    live = frozenset(node.coverage.live_hours)
    hours = [gap.start + HOUR * n for n in range(gap.hours)]
    return Hole(
        node=node.node,
        source=source.source,
        group=source.group,
        stream=source.stream,
        start=gap.start,
        end=gap.end,
        hours=gap.hours,
        state=gap.state.value,
        causes=causes[:_MOST],
        seen_elsewhere=sum(hour in live for hour in hours),
    )


def _causes(
    node: NodeEvidence,
    source: SourceCoverage,
    gap: Gap,
    lines: Sequence[AgentLine],
    found: HoleEvidence,
) -> Iterator[HoleCause]:
    match gap.state:
        case HourState.RETENTION_LOST:
            yield _plain(HoleKind.RETENTION, "older than the retention of its log group")
        case HourState.NO_GROUP:
            yield _plain(HoleKind.NO_GROUP, "before its log group was created")
        case HourState.UNKNOWN_STATE:
            yield _plain(HoleKind.STOPPED, "before the last start; nothing tells whether it ran")
        case HourState.UNKNOWN:
            yield _unknown(source)
        case _:
            yield from _silence(node, source, gap, lines, found)


def _unknown(source: SourceCoverage) -> HoleCause:
    reason = source.reason or "not read"
    if "incomplete" in reason:
        return _plain(HoleKind.COUNT, reason)
    if reason.startswith("NO_KERNEL_LINES"):
        reason = "it never carried a kernel line, whatever else arrives in it"
    return _plain(HoleKind.PROVES_NOTHING, reason)


def _plain(kind: HoleKind, words: str, *, measured: bool = True) -> HoleCause:
    return HoleCause(kind=kind, words=words, measured=measured)


def _silence(
    node: NodeEvidence,
    source: SourceCoverage,
    gap: Gap,
    lines: Sequence[AgentLine],
    found: HoleEvidence,
) -> Iterator[HoleCause]:
    yield from _agent(gap, lines)
    yield from _node_down(node, gap)
    yield from _deleted(source, gap, found.changes)
    yield from _told(node.node, gap, found)
    if source.source is Shipper.KERNEL_ONLY:
        quiet = "only kernel lines are shipped: a healthy kernel is quiet"
        yield _plain(HoleKind.PROVES_NOTHING, quiet, measured=False)
    if gap.note:
        yield _plain(HoleKind.LAG, gap.note, measured=False)


def _agent(gap: Gap, lines: Sequence[AgentLine]) -> Iterator[HoleCause]:
    """Yield what the node's own log agent said around the start, with what it said at the end."""
    dated = [(line.at, line) for line in lines if line.at is not None]
    resumed = [x for at, x in dated if x.word in _ENDS and gap.start < at < gap.end + HOUR]
    seen: set[AgentWord] = set()
    for at, line in dated:
        if line.word is AgentWord.RESUMED or not _near_start(at, gap) or line.word in seen:
            continue
        seen.add(line.word)
        back = next((x for x in resumed if x.at and x.at > at and x is not line), None)
        until = f", {back.word.value} at {_clock(back)}" if back is not None else ""
        yield HoleCause(
            kind=_KIND_OF[line.word],
            words=f"log agent: {line.word.value} at {_clock(line)}{until}",
            measured=True,
            at=at,
            raw=line.raw,
            stream=line.stream,
            evidence=line.evidence,
        )


def _near_start(at: datetime, gap: Gap) -> bool:
    """Say whether something can have stopped a stream whose last line lies before a hole.

    It happened in the last hour with a line or in the first without one.
    """
    return gap.start - HOUR <= at < gap.start + HOUR


def _clock(record: Record) -> str:
    return f"{record.at:%Y-%m-%dT%H:%M:%SZ}" if record.at else "an unknown time"


def _node_down(node: NodeEvidence, gap: Gap) -> Iterator[HoleCause]:
    starts = [b for b in node.records.boundaries if b.kind in _STARTS]
    for record in (*node.records.shutdowns, *starts):
        if record.at is not None and _near_start(record.at, gap):
            what = "the node went down" if record not in starts else "the node started"
            yield HoleCause(
                kind=HoleKind.NODE_DOWN,
                words=f"{what} at {_clock(record)}",
                measured=True,
                at=record.at,
                raw=record.raw or None,
                stream=record.stream,
                evidence=record.evidence,
            )
            return


_STARTS = frozenset({BoundaryKind.REBOOT, BoundaryKind.STOP_START})


def _deleted(source: SourceCoverage, gap: Gap, changes: Sequence[Change]) -> Iterator[HoleCause]:
    """Yield calls that delete a group or stream, or shorten its retention, after the hole began."""
    for call in changes:
        if call.kind is not ChangeKind.LOGS or call.is_attempt or call.at < gap.start:
            continue
        if call.resource is None or call.resource in {source.group, source.stream}:
            sure = call.resource is not None
            on = f" of {call.resource}" if call.resource else ", which group is not told"
            yield HoleCause(
                kind=HoleKind.DELETED,
                words=f"{call.name}{on} at {call.at:%Y-%m-%dT%H:%M:%SZ}",
                measured=sure,
                at=call.at,
                evidence=call.evidence,
            )


def _told(node: str, gap: Gap, found: HoleEvidence) -> Iterator[HoleCause]:
    """Yield what somebody wrote about this time; it is context, never measured."""
    for note in found.notes:
        if note.at is None or not _near_start(note.at, gap):
            continue
        text = note.text.lower()
        if "i-" in text and node not in text and _names_a_node(text):
            continue
        kind = next((k for k, words in _TOLD if any(w in text for w in words)), None)
        if kind is None:
            continue
        others = _others_live(node, gap.start, found.live)
        yet = f"; {others} other nodes went on in that hour" if others else ""
        yield HoleCause(
            kind=kind,
            words=f"as {note.file} says: {note.text}{yet}",
            measured=False,
            at=note.at,
            raw=note.text,
            stream=note.file,
        )


def _names_a_node(text: str) -> bool:
    return any(word.startswith("i-") and len(word) > 9 for word in text.replace(",", " ").split())


def _others_live(node: str, hour: datetime, live: Mapping[str, frozenset[datetime]] | None) -> int:
    return sum(hour in hours for other, hours in (live or {}).items() if other != node)
