"""One total order over many sources; sources that agree stand side by side (§1 Timeline merge)."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from gpuvet.calculators.boots import node_clock
from gpuvet.model.cause import EventKind, TimelineEvent
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence, NotSeen
from gpuvet.model.events import HardwareError, Record, TimeQuality
from gpuvet.model.evidence import Window

# incident-branches.
PAD = timedelta(minutes=30)
SAME_EVENT = timedelta(seconds=5)
# Ours: a count of lines under one entry instead of an entry each.
_MOST_PER_CODE = 1


def merge_timeline(events: Iterable[TimelineEvent], window: Window) -> tuple[TimelineEvent, ...]:
    """Return entries inside the window and half an hour around it, in one order.

    Entries of the same node and code within 5 s become one with the other sources named; nodes
    are never merged. The order is total: time, then the finer precision, then source and text.
    """
    padded = window.padded(PAD, PAD)
    kept = sorted((e for e in events if padded.holds(e.at)), key=_order)
    merged: list[TimelineEvent] = []
    latest: dict[tuple[str | None, str], int] = {}
    for event in kept:
        key = (event.node, event.code or "")
        place = latest.get(key)
        if event.code and place is not None and event.at - merged[place].at <= SAME_EVENT:
            merged[place] = _agreeing(merged[place], event)
            continue
        latest[key] = len(merged)
        merged.append(event)
    return tuple(merged)


def _order(event: TimelineEvent) -> tuple[object, ...]:
    return (event.at, event.precision_seconds, event.source, event.node or "", event.what)


def _agreeing(one: TimelineEvent, other: TimelineEvent) -> TimelineEvent:
    sources = {*one.agreeing, *other.agreeing, other.source} - {one.source}
    return one.model_copy(
        update={
            "agreeing": tuple(sorted(sources)),
            "evidence": tuple(dict.fromkeys((*one.evidence, *other.evidence))),
        }
    )


def node_timeline(evidence: ClusterEvidence) -> Iterator[TimelineEvent]:
    """Yield the driver, agent, boot and service entries of every node."""
    for node in evidence.nodes:
        yield from _driver(node)
        yield from _others(node)


def _driver(node: NodeEvidence) -> Iterator[TimelineEvent]:
    """Yield the first line of each code, GPU and source, with how many follow."""
    records = node.records
    clock = node_clock([*records.xids, *records.boundaries], records.boundaries, records.identities)
    groups: dict[tuple[int, str | None, str], list[Record]] = {}
    for event in records.xids:
        if event.at is not None or clock.has_wall(event, clock.boot_of(event)):
            key = (event.code, event.pci, event.source.value)
            groups.setdefault(key, []).append(event)
    for (code, pci, source), found in groups.items():
        first = min(found, key=lambda r: (r.at is None, r.at or 0, r.line))
        if first.at is None:
            continue
        more = f", {len(found) - 1} more lines" if len(found) > 1 else ""
        yield TimelineEvent(
            at=first.at,
            precision_seconds=_precision(first),
            source=source,
            what=f"Xid {code}" + (f" on {pci}" if pci else "") + more,
            node=node.node,
            resource=node.node,
            code=f"xid {code} {pci or ''}",
            stream=first.stream,
            evidence=(first.evidence,),
        )


def _firsts(errors: Sequence[HardwareError]) -> Iterator[HardwareError]:
    """Yield the first dated line of each kind and device."""
    seen: set[tuple[str, str | None]] = set()
    for error in errors:
        if error.at is not None and (error.kind, error.device) not in seen:
            seen.add((error.kind, error.device))
            yield error


def _precision(record: Record) -> float:
    return 1.0 if record.time_quality is not TimeQuality.INGEST_ONLY else 60.0


def _others(node: NodeEvidence) -> Iterator[TimelineEvent]:
    records = node.records
    rows: list[tuple[Record, str, str]] = []
    rows += [
        (r, f"SXid {r.code}" + (f" link {r.link}" if r.link is not None else ""), "")
        for r in records.sxids
    ]
    rows += [
        (r, f"{r.kind.value.replace('_', ' ')}", f"boundary {r.kind}")
        for r in records.boundaries
        if r.line
    ]
    rows += [(r, r.meaning, f"hardware {r.kind} {r.device}") for r in _firsts(records.hardware)]
    rows += [(r, "node going down", "shutdown") for r in records.shutdowns]
    rows += [
        (r, f"health agent: {r.condition or r.reason or 'detection'}", f"hma {r.condition}")
        for r in records.hma
    ]
    rows += [
        (r, f"deep health check {'passed' if r.passed else 'failed'}", "")
        for r in records.deep_checks
    ]
    rows += [
        (r, f"Fabric Manager {r.state.value.replace('_', ' ')}", "fabric manager")
        for r in records.fabric_manager
    ]
    for record, what, code in rows:
        if record.at is not None:
            yield TimelineEvent(
                at=record.at,
                precision_seconds=_precision(record),
                source=record.source.value,
                what=what,
                node=node.node,
                resource=node.node,
                code=code or None,
                stream=record.stream,
                evidence=(record.evidence,),
            )


def unread_entries(missing: Sequence[NotSeen], window: Window) -> Iterator[TimelineEvent]:
    """Yield one entry per source that was not read, so that a gap shows in the timeline."""
    for one in missing:
        yield TimelineEvent(
            at=window.start,
            precision_seconds=(window.end - window.start).total_seconds(),
            source="not read",
            kind=EventKind.UNREAD,
            what=f"{one.what}: {one.reason}",
        )
