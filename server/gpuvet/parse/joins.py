"""Puts prints that shippers tore apart together again. Pure.

Everything is joined after the last line: a changed order of lines changes no outcome as long as
their times tell what belongs together.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from gpuvet.model.events import (
    AnyRecord,
    Boundary,
    BoundaryKind,
    GpuIdentity,
    Source,
    XidEvent,
)
from gpuvet.parse.place import Place, written_by
from gpuvet.parse.recognise import Piece, is_whole_probe, probe_pci
from gpuvet.parse.untrusted import clean

PROBE_FORM = "probe: fallen off the bus and is not responding to commands."
NEAR_LINES = 3  # where there is no time: how far apart the parts of one print may stand
BOOT_SPAN = timedelta(seconds=60)  # version and command line of one boot
_BOOT_LINES = 20
_MOST_STEPS = 64  # looked at to find a partner, so that a flood stays cheap


class Kept(NamedTuple):
    """A record and where it stood: its order among all segments and its host."""

    order: int
    host: str | None
    record: AnyRecord


class Torn(NamedTuple):
    """One part of a print."""

    piece: Piece
    body: str
    place: Place
    host: str | None
    order: int
    lines: int  # input lines that say nothing else: not understood, if no whole is found


class Joined(NamedTuple):
    """All records, and the parts for which no whole was found."""

    records: list[Kept]
    left: list[Torn]


Mark = tuple[datetime | None, int | None, int]  # wall time, uptime, line
T = TypeVar("T")
K = TypeVar("K", datetime, int)


def join(records: Iterable[Kept], parts: Iterable[Torn]) -> Joined:
    """Return the records with every torn print made whole, in their order."""
    kept = list(records)
    by_piece: dict[Piece, list[Torn]] = {piece: [] for piece in Piece}
    for part in parts:
        by_piece[part.piece].append(part)
    left = _join_continuations(kept, by_piece[Piece.CONTINUATION])
    kept += _probe_events(by_piece[Piece.PROBE_HEAD], by_piece[Piece.PROBE_TAIL])
    kept += _command_line_boots(kept, by_piece[Piece.COMMAND_LINE])
    kept.sort(key=lambda item: item.order)
    _join_serials(kept)
    return Joined(kept, left)


class _Neighbours(Generic[T]):
    """Finds the item of the same host and moment that stands nearest: before, else after."""

    def __init__(self, items: Iterable[tuple[int, str | None, Mark, T]]) -> None:
        self._moments: dict[object, list[tuple[int, Mark, T]]] = defaultdict(list)
        self._hosts: dict[str | None, list[tuple[int, Mark, T]]] = defaultdict(list)
        self._all: list[tuple[int, Mark, T]] = []
        for order, host, mark, item in items:
            self._hosts[host].append((order, mark, item))
            self._all.append((order, mark, item))
            for key in _moments(mark)[1:2]:
                self._moments[(host, *key)].append((order, mark, item))

    def nearest(
        self, order: int, host: str | None, mark: Mark, fits: Callable[[T], bool]
    ) -> T | None:
        """Return the nearest item that fits, or None."""
        pools = [self._moments.get((host, *key), []) for key in _moments(mark)]
        best: tuple[bool, int, T] | None = None
        # A line without a header names no host: it goes with the lines it stands between.
        beside = self._all if host is None else self._hosts.get(host, [])
        for pool in (*pools, beside):
            for found, other, item in _outward(pool, order):
                if not _close(mark, other) or not fits(item):
                    continue
                rank = (found > order, abs(found - order), item)
                if best is None or rank[:2] < best[:2]:
                    best = rank
                break
        return None if best is None else best[2]


def _outward(pool: list[tuple[int, Mark, T]], order: int) -> Iterator[tuple[int, Mark, T]]:
    """Yield the items before a place, nearest first, then those after it."""
    middle = bisect_left(pool, order, key=lambda entry: entry[0])
    yield from reversed(pool[max(0, middle - _MOST_STEPS) : middle])
    yield from pool[middle : middle + _MOST_STEPS]


def _moments(mark: Mark) -> list[tuple[str, int]]:
    """Return the seconds a line may share with its other parts; its own stands in the middle."""
    at, uptime, _ = mark
    if at is not None:
        second, name = int(at.timestamp()), "wall"
    elif uptime is not None:
        second, name = uptime // 1_000_000, "uptime"
    else:
        return []
    return [(name, second - 1), (name, second), (name, second + 1)]


def _close(one: Mark, other: Mark) -> bool:
    """Say whether two lines share a moment, or stand side by side where a time is missing."""
    if one[0] is not None and other[0] is not None:
        return abs(one[0] - other[0]) <= timedelta(seconds=1)
    if one[1] is not None and other[1] is not None:
        return abs(one[1] - other[1]) <= 1_000_000
    return abs(one[2] - other[2]) <= NEAR_LINES


def _join_continuations(kept: list[Kept], parts: list[Torn]) -> list[Torn]:
    """Give each torn MMU fault its other half; return the halves that fit nowhere."""
    if not parts:
        return []
    events = [
        (item.order, item.host, _mark_of(item.record), index)
        for index, item in enumerate(kept)
        if isinstance(item.record, XidEvent) and item.record.source is not Source.GPU_LOST
    ]
    neighbours = _Neighbours(events)
    taken: set[tuple[int, str]] = set()
    left: list[Torn] = []
    for part in parts:
        head = part.body[:9]

        def fits(index: int, head: str = head) -> bool:
            record = kept[index].record
            whole = isinstance(record, XidEvent) and head in record.text
            return not whole and (index, head) not in taken

        index = neighbours.nearest(part.order, part.host, _mark(part.place), fits)
        if index is None:
            left.append(part)
            continue
        taken.add((index, head))
        kept[index] = _continued(kept[index], part.body)
    return left


def _continued(item: Kept, body: str) -> Kept:
    record = item.record
    if not isinstance(record, XidEvent):
        return item
    text = clean(f"{record.text} {body}".strip())
    return item._replace(record=record.model_copy(update={"text": text}))


def _probe_events(heads: list[Torn], tails: list[Torn]) -> Iterator[Kept]:
    """Yield a lost GPU for every probe print that ends in "fallen off the bus"."""
    neighbours = _Neighbours(
        (head.order, head.host, _mark(head.place), head)
        for head in heads
        if not is_whole_probe(head.body)
    )
    for head in heads:
        if is_whole_probe(head.body):
            yield _lost_at_probe(head)
    taken: set[int] = set()
    for tail in tails:
        owner = neighbours.nearest(
            tail.order, tail.host, _mark(tail.place), lambda torn: torn.order not in taken
        )
        if owner is not None:
            taken.add(owner.order)
        yield _lost_at_probe(owner or tail)


def _lost_at_probe(first: Torn) -> Kept:
    place = written_by(first.place, Source.GPU_LOST)
    record = XidEvent(**place, code=79, pci=probe_pci(first.body), text=PROBE_FORM)
    return Kept(first.order, first.host, record)


class _Boots:
    """The boots of a stream so far, by host: their ids, times and lines."""

    def __init__(self) -> None:
        self._ids: set[tuple[str | None, str]] = set()
        self._times: dict[str | None, list[datetime]] = defaultdict(list)
        self._lines: dict[str | None, list[int]] = defaultdict(list)
        self._named: set[str | None] = set()  # hosts whose boots carry ids

    def add(self, host: str | None, boot: str | None, at: datetime | None, line: int) -> None:
        if boot:
            self._ids.add((host, boot))
            self._named.add(host)
        if at is not None:
            insort(self._times[host], at)
        insort(self._lines[host], line)

    def has(self, host: str | None, boot: str | None, at: datetime | None, line: int) -> bool:
        """Say whether one of them is the boot a line belongs to."""
        if boot and host in self._named:
            return (host, boot) in self._ids
        if at is not None and self._times[host]:
            return any(abs(at - other) <= BOOT_SPAN for other in _beside(self._times[host], at))
        return any(abs(line - other) <= _BOOT_LINES for other in _beside(self._lines[host], line))


def _beside(values: list[K], value: K) -> list[K]:
    """Return the one or two neighbours of a value in a sorted list."""
    place = bisect_left(values, value)
    return values[max(0, place - 1) : place + 1]


def _command_line_boots(kept: list[Kept], parts: list[Torn]) -> list[Kept]:
    """Return a boot for each command line whose version line was not shipped."""
    boots = _Boots()
    for item in kept if parts else ():
        record = item.record
        if isinstance(record, Boundary) and record.kind is BoundaryKind.REBOOT:
            boots.add(item.host, record.boot, record.at, record.line)
    found: list[Kept] = []
    for part in parts:
        place = part.place
        where = (part.host, place["boot"], place["at"], place["line"])
        if not boots.has(*where):
            boots.add(*where)
            record = Boundary(**place, kind=BoundaryKind.REBOOT)
            found.append(Kept(part.order, part.host, record))
    return found


def _join_serials(kept: list[Kept]) -> None:
    """Give a board serial, which names no GPU, the GPU of the line it follows."""
    owners: dict[str | None, GpuIdentity] = {}
    for index, item in enumerate(kept):
        record = item.record
        if not isinstance(record, GpuIdentity):
            continue
        if record.pci is not None:
            if record.uuid is not None:
                owners[item.host] = record
        elif (owner := owners.pop(item.host, None)) and _close(_mark_of(owner), _mark_of(record)):
            update = {"pci": owner.pci, "uuid": owner.uuid}
            kept[index] = item._replace(record=record.model_copy(update=update))


def _mark(place: Place) -> Mark:
    return place["at"], place["uptime_us"], place["line"]


def _mark_of(record: AnyRecord) -> Mark:
    return record.at, record.uptime_us, record.line
