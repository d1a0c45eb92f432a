"""Rows that say the same told once: grounds over GPUs, timeline entries over nodes, absences."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from gpuvet.model.cause import EventKind, TimelineEvent
from gpuvet.model.report import NotSeenRow
from gpuvet.model.verdict import Ground
from gpuvet.report.words import some, utc

# Ours: entries this close together and alike on 3 or more nodes are one row of a report.
TOGETHER = timedelta(seconds=120)
FEWEST_TO_FOLD = 3


class GroundGroup(NamedTuple):
    """A ground, and on how many more GPUs the same was seen."""

    shown: Ground
    more: int


class TimelineRow(NamedTuple):
    """One row of the timeline."""

    when: str
    source: str
    mark: str
    where: str
    what: str


class NotSeenGroup(NamedTuple):
    """An absence, and how many more of its kind there are."""

    shown: NotSeenRow
    more: int
    nodes: tuple[str, ...]


def group_grounds(grounds: Sequence[Ground]) -> tuple[GroundGroup, ...]:
    """Return each thing that was seen once, with on how many more GPUs."""
    groups: dict[tuple[str, str], list[Ground]] = {}
    for ground in grounds:
        groups.setdefault((ground.what, ground.source), []).append(ground)
    return tuple(GroundGroup(found[0], len(found) - 1) for found in groups.values())


def group_not_seen(rows: Iterable[NotSeenRow]) -> tuple[NotSeenGroup, ...]:
    """Return absences of one kind (same reason, same remedy, one node each) together."""
    groups: dict[tuple[object, ...], list[NotSeenRow]] = {}
    for row in rows:
        own = len(row.nodes) != 1
        key = (row.what,) if own else (row.reason, row.closes_with)
        groups.setdefault(key, []).append(row)
    found: list[NotSeenGroup] = []
    for members in groups.values():
        if len(members) < FEWEST_TO_FOLD:
            found += [NotSeenGroup(row, 0, row.nodes) for row in members]
        else:
            nodes = tuple(dict.fromkeys(n for row in members for n in row.nodes))
            found.append(NotSeenGroup(members[0], len(members) - 1, nodes))
    return tuple(found)


def timeline_rows(events: Sequence[TimelineEvent]) -> tuple[TimelineRow, ...]:
    """Return the timeline with what happened alike on many nodes folded into one row."""
    runs: list[list[TimelineEvent]] = []
    open_runs: dict[tuple[str, str, str], list[TimelineEvent]] = {}
    for event in events:
        key = (event.source, event.kind.value, _kind(event))
        run = open_runs.get(key)
        if event.node is not None and run is not None and event.at - run[-1].at <= TOGETHER:
            run.append(event)
            continue
        open_runs[key] = [event]
        runs.append(open_runs[key])
    single = [[event] for run in runs if len(run) < FEWEST_TO_FOLD for event in run]
    folded = [run for run in runs if len(run) >= FEWEST_TO_FOLD]
    return tuple(_run_row(run) for run in sorted((*single, *folded), key=lambda run: run[0].at))


def _kind(event: TimelineEvent) -> str:
    """Return what makes entries alike: the code without its GPU, else the whole text."""
    words = (event.code or "").split()
    return " ".join(words[:2]) if words[:1] == ["xid"] else event.what


def _run_row(run: Sequence[TimelineEvent]) -> TimelineRow:
    first, last = run[0], run[-1]
    if first is last:
        return _row(first)
    nodes = tuple(dict.fromkeys(e.node for e in run if e.node))
    kind = _kind(first).replace("xid", "Xid")
    where = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes ({some(nodes, 3)})"
    when = utc(first.at) if first.at == last.at else f"{utc(first.at)} to {utc(last.at)}"
    return TimelineRow(when, first.source, _mark(first), where, f"{kind}, {len(run)} entries")


def _row(event: TimelineEvent) -> TimelineRow:
    precise = event.precision_seconds <= 1
    when = utc(event.at) if precise else f"{utc(event.at)} ±{event.precision_seconds:.0f} s"
    also = f" (also {', '.join(event.agreeing)})" if event.agreeing else ""
    where = event.node or event.resource or ""
    return TimelineRow(when, f"{event.source}{also}", _mark(event), where, event.what)


def _mark(event: TimelineEvent) -> str:
    return "" if event.kind is EventKind.SEEN else event.kind.value
