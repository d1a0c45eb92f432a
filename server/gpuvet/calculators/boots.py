"""Boots, order inside a boot, and hardware epochs of one node (verdict-rules §3.4 to 3.6).

Order never depends on the order of lines where they carry a stamp: a boot is recognised by its
boundary lines, by its journald id, and by wall time minus uptime, which is constant inside it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from statistics import median

from gpuvet.model.events import Boundary, BoundaryKind, GpuIdentity, Record

_US = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_US = timedelta(microseconds=1)

# Ours: two signs of a boot this close together are one boot.
SAME_BOOT_US = 120 * _US
# Ours: lines this early may carry the clock of before NTP stepped it.
EARLY_UPTIME_US = 300 * _US
# Ours: a driver that loads this soon after a boot is part of it, not a reload.
LOAD_AFTER_BOOT_US = 600 * _US

_BOOTS = frozenset({BoundaryKind.REBOOT, BoundaryKind.STOP_START, BoundaryKind.REPLACED})
_NEW_HARDWARE = frozenset({BoundaryKind.STOP_START, BoundaryKind.REPLACED})


def microseconds(at: datetime) -> int:
    """Return microseconds since 1970 in UTC."""
    return (at - _EPOCH) // _ONE_US


def moment(position_us: int) -> datetime:
    """Return the UTC time of a position."""
    return _EPOCH + timedelta(microseconds=position_us)


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the node: when, and whether the hardware may have changed with it."""

    at_us: int
    new_hardware: bool = False
    places: frozenset[tuple[str, int]] = frozenset()  # (stream, line) of its boundary lines


@dataclass(frozen=True, slots=True)
class Reset:
    """A weaker rung than a boot: a driver reload or a GPU reset."""

    at_us: int
    kind: BoundaryKind
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class NodeClock:
    """Places every record of a node in a boot and on one clock.

    Attributes:
        starts: Known starts in order. Boot 0 is whatever lies before the first.
        offsets: Per boot, wall time minus uptime in microseconds; None where unknown.
        ids: Journald boot id to boot.
        segments: Boot of each line of streams without wall times.
        resets: Driver reloads and GPU resets in order.
        identities: Per PCI id, the positions at which another GPU sat there.
    """

    starts: tuple[Start, ...]
    offsets: tuple[int | None, ...]
    ids: Mapping[str, int]
    segments: Mapping[tuple[str, int], int]
    resets: tuple[Reset, ...]
    identities: Mapping[str, tuple[int, ...]]
    start_us: tuple[int, ...]
    hardware: tuple[int, ...]  # per boot, how often the hardware has changed before it

    def place(self, record: Record) -> tuple[int, int]:
        """Return a record's boot, and its position in it."""
        at = record.at
        if at is not None and record.uptime_us is None and record.boot is None and not self.starts:
            return 0, (at - _EPOCH) // _ONE_US  # most logs: wall times only, and one boot
        boot = self.boot_of(record)
        return boot, self.position(record, boot)

    def boot_of(self, record: Record) -> int:
        """Return the boot a record belongs to; 0 is before the first known start."""
        if record.boot is not None and record.boot in self.ids:
            return self.ids[record.boot]
        if record.at is None:
            return self.segments.get((record.stream, record.line), len(self.starts))
        if not self.starts:
            return 0
        at_us = microseconds(record.at)
        if record.uptime_us is not None and record.uptime_us >= EARLY_UPTIME_US:
            return bisect_right(self.start_us, at_us - record.uptime_us + SAME_BOOT_US)
        boot = bisect_right(self.start_us, at_us)
        if boot and self.start_us[boot - 1] == at_us:
            places = self.starts[boot - 1].places
            if any(s == record.stream and record.line < line for s, line in places):
                return boot - 1
        return boot

    def position(self, record: Record, boot: int) -> int:
        """Return microseconds on the boot's clock, comparable inside one boot.

        Kernel uptime rules; wall time serves where a record has none. With neither an offset nor
        a start the bare uptime is returned.
        """
        if record.uptime_us is not None:
            offset = self.offsets[boot]
            if offset is not None:
                return offset + record.uptime_us
            if record.at is None:
                return record.uptime_us
        return microseconds(record.at) if record.at is not None else 0

    def boot_at(self, at_us: int) -> int:
        """Return the boot a wall time lies in."""
        return bisect_right(self.start_us, at_us)

    def has_wall(self, record: Record, boot: int) -> bool:
        """Say whether a record's position is a wall time."""
        return record.at is not None or self.offsets[boot] is not None

    def epoch_of(self, pci: str | None, boot: int, position_us: int) -> int:
        """Return which hardware sat at a PCI id; evidence never crosses epochs."""
        hardware = self.hardware[boot]
        changes = self.identities.get(pci) if pci else None
        return hardware + bisect_right(changes, position_us) if changes else hardware


def node_clock(
    records: Sequence[Record],
    boundaries: Iterable[Boundary],
    identities: Iterable[GpuIdentity],
) -> NodeClock:
    """Return the clock of one node.

    Args:
        records: Every record of the node, in any order.
        boundaries: Boundary lines, and boots known from outside the logs.
        identities: Lines that say which GPU sits at a PCI id.
    """
    known = tuple(boundaries)
    stamped = [r for r in records if r.uptime_us is not None]
    segments, extra = _uptime_segments(stamped)
    spans = _spans_by_boot_id(r for r in records if r.boot is not None)
    starts = _starts(known, stamped, spans, extra)
    start_us = tuple(s.at_us for s in starts)
    ids = {boot: bisect_right(start_us, last) for _, last, boot in spans}
    offsets = _offsets(stamped, start_us, ids)
    last = len(starts)
    changed = accumulate((s.new_hardware for s in starts), initial=0)
    clock = NodeClock(
        starts=starts,
        offsets=offsets,
        ids=ids,
        segments={place: max(0, last - back) for place, back in segments.items()},
        resets=_resets(known, start_us),
        identities={},
        start_us=start_us,
        hardware=tuple(changed),
    )
    return replace(clock, identities=_identity_changes(identities, clock))


def _uptime_segments(stamped: Sequence[Record]) -> tuple[dict[tuple[str, int], int], int]:
    """Number the boots of streams that carry uptime only, counted back from the last."""
    streams: dict[str, list[Record]] = defaultdict(list)
    for record in stamped:
        if record.at is None:
            streams[record.stream].append(record)
    back: dict[tuple[str, int], int] = {}
    most = 0
    for stream, lines in streams.items():
        segment, previous = 0, -1
        numbered: list[tuple[int, int]] = []
        for record in sorted(lines, key=lambda r: r.line):
            uptime = record.uptime_us or 0
            if uptime < previous:
                segment += 1
            previous = uptime
            numbered.append((record.line, segment))
        for line, number in numbered:
            back[(stream, line)] = segment - number
        most = max(most, segment)
    return back, most


_Span = tuple[int, int, str]  # first and last microsecond of a journald boot, and its id


def _starts(
    known: Sequence[Boundary], stamped: Sequence[Record], spans: Sequence[_Span], extra: int
) -> tuple[Start, ...]:
    signs: list[Start] = [
        Start(
            at_us=microseconds(b.at),
            new_hardware=b.kind in _NEW_HARDWARE,
            places=frozenset({(b.stream, b.line)}),
        )
        for b in known
        if b.kind in _BOOTS and b.at is not None
    ]
    signs += _starts_by_offset(stamped)
    merged = _merge_starts(signs)
    merged = _merge_starts([*merged, *_starts_by_boot_id(spans, merged)])
    # Streams with uptime only may show more boots than any stamp does.
    while len(merged) < extra:
        merged.insert(0, Start(at_us=merged[0].at_us - SAME_BOOT_US if merged else 0))
    return tuple(merged)


def _starts_by_offset(stamped: Sequence[Record]) -> list[Start]:
    """Recognise boots by wall minus uptime, which is the time of the boot itself.

    A boot cannot start while an earlier one still prints: what would is a skewed clock, not a boot.
    """
    offsets = sorted(
        (microseconds(r.at) - r.uptime_us, r.uptime_us)
        for r in stamped
        if r.at is not None and r.uptime_us is not None
    )
    groups: list[list[tuple[int, int]]] = []
    ends = 0
    for offset, uptime in offsets:
        near = groups and offset - groups[-1][-1][0] <= SAME_BOOT_US
        if groups and (near or offset < ends - SAME_BOOT_US):
            groups[-1].append((offset, uptime))
        else:
            groups.append([(offset, uptime)])
        ends = max(ends, offset + uptime)
    settled = [g for g in groups if any(uptime >= EARLY_UPTIME_US for _, uptime in g)]
    return [Start(at_us=int(median(o for o, _ in group))) for group in settled or groups[-1:]]


def _merge_starts(signs: Iterable[Start]) -> list[Start]:
    merged: list[Start] = []
    for sign in sorted(signs, key=lambda s: s.at_us):
        if merged and sign.at_us - merged[-1].at_us <= SAME_BOOT_US:
            merged[-1] = Start(
                at_us=merged[-1].at_us,
                new_hardware=merged[-1].new_hardware or sign.new_hardware,
                places=merged[-1].places | sign.places,
            )
        else:
            merged.append(sign)
    return merged


def _spans_by_boot_id(booted: Iterable[Record]) -> list[_Span]:
    """Return when each journald boot was seen, in order."""
    spans: dict[str, tuple[int, int]] = {}
    for record in booted:
        if record.boot is None or record.at is None:
            continue
        at_us = microseconds(record.at)
        first, last = spans.get(record.boot, (at_us, at_us))
        spans[record.boot] = (min(first, at_us), max(last, at_us))
    return sorted((first, last, boot) for boot, (first, last) in spans.items())


def _starts_by_boot_id(spans: Sequence[_Span], found: Sequence[Start]) -> list[Start]:
    """Add a start for each journald boot that no other sign already gives."""
    new: list[Start] = []
    for (_, before, _), (first, _, _) in pairwise(spans):
        if not any(before < s.at_us <= first for s in found):
            new.append(Start(at_us=first))
    return new


def _offsets(
    stamped: Sequence[Record], start_us: Sequence[int], ids: Mapping[str, int]
) -> tuple[int | None, ...]:
    """Return wall minus uptime per boot: the median where lines have both, else the start."""
    seen: dict[int, list[int]] = defaultdict(list)
    for record in stamped:
        if record.at is None or record.uptime_us is None:
            continue
        at_us = microseconds(record.at)
        boot = ids.get(record.boot or "", bisect_right(start_us, at_us))
        seen[boot].append(at_us - record.uptime_us)
    return tuple(
        int(median(seen[boot])) if boot in seen else (start_us[boot - 1] if boot else None)
        for boot in range(len(start_us) + 1)
    )


def _resets(known: Sequence[Boundary], start_us: Sequence[int]) -> tuple[Reset, ...]:
    resets: list[Reset] = []
    for boundary in known:
        if boundary.kind in _BOOTS or boundary.at is None:
            continue
        at_us = microseconds(boundary.at)
        boot = bisect_right(start_us, at_us)
        loads_with_boot = boot > 0 and at_us - start_us[boot - 1] <= LOAD_AFTER_BOOT_US
        if boundary.kind is BoundaryKind.DRIVER_RELOAD and loads_with_boot:
            continue
        resets.append(Reset(at_us=at_us, kind=boundary.kind, uuid=boundary.uuid))
    return tuple(sorted(resets, key=lambda r: (r.at_us, r.kind)))


def _identity_changes(
    identities: Iterable[GpuIdentity], clock: NodeClock
) -> dict[str, tuple[int, ...]]:
    """Return, per PCI id, when the GPU behind it became another one.

    Cards change while a node is down: a GPU first named in a later boot was there from its start.
    """
    by_pci: dict[str, list[tuple[int, int, str | None, str | None]]] = defaultdict(list)
    for identity in identities:
        if identity.pci is None:
            continue
        boot = clock.boot_of(identity)
        position = clock.position(identity, boot)
        by_pci[identity.pci].append((boot, position, identity.uuid, identity.serial))
    changes: dict[str, tuple[int, ...]] = {}
    for pci, seen in by_pci.items():
        uuid: str | None = None
        serial: str | None = None
        named_in = 0
        found: list[int] = []
        for boot, position, new_uuid, new_serial in sorted(seen, key=lambda s: (s[0], s[1])):
            differs = (uuid and new_uuid and uuid != new_uuid) or (
                serial and new_serial and serial != new_serial
            )
            if differs:
                found.append(clock.start_us[boot - 1] if boot > named_in else position)
            uuid, serial, named_in = new_uuid or uuid, new_serial or serial, boot
        if found:
            changes[pci] = tuple(found)
    return changes
