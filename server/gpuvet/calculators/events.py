"""Driver events of one node, made fit to judge: copies and bursts folded, ordered, placed.

Copies of one event from several sources always lie inside the burst window, so folding a burst
folds its copies too; what is left to do for copies is to let sources without a PCI id join the
GPU they speak of, and to let the copy with kernel uptime give the place.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gpuvet.calculators.boots import NodeClock, moment, node_clock
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.events import Boundary, Record, Source, TimeQuality, XidEvent

_US = 1_000_000

# xid_rules §3.2 and §3.3; ours unless a source is named there.
COPY_US = 2 * _US
AGENT_COPY_US = 120 * _US
BURST_GAP_US = 180 * _US
SKEW_US = 5 * _US
GPU_LOST_US = 300 * _US
ECC_PARTNER_US = 60 * _US

LOST = 79
DOUBLE_BIT = 48
_ECC_DETAIL = frozenset({171, 172})
_AGENTS = frozenset({Source.HMA, Source.DCGM, Source.EKS_CONDITION, Source.DEVICE_PLUGIN})


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event: all lines of one code on one PCI id without a pause of 180 s.

    Attributes:
        code: Xid.
        pci: PCI id, or None where no source carried one.
        boot: Boot it happened in; 0 is before the first known start.
        epoch: Hardware epoch of the PCI id.
        start_us: Position of its first line on the boot's clock, microseconds.
        end_us: Position of its last line.
        first: The line that gives the place.
        lines: Every line of every source, in order.
        inferred: No line of its own was seen; another event names it.
    """

    code: int
    pci: str | None
    boot: int
    epoch: int
    start_us: int
    end_us: int
    first: XidEvent
    lines: tuple[XidEvent, ...]
    inferred: bool = False
    placed: bool = True  # False: position is bare uptime, not a wall time

    @property
    def sources(self) -> tuple[str, ...]:
        """Who saw it, sorted."""
        return tuple(sorted({e.source.value for e in self.lines}))

    @property
    def at(self) -> datetime | None:
        """When it began, where a wall time is known."""
        if self.first.at is not None and self.first.uptime_us is None:
            return self.first.at
        return moment(self.start_us) if self.placed else self.first.at

    @property
    def text(self) -> str:
        """The text of its first line."""
        return self.first.text

    @property
    def is_gpu_lost_only(self) -> bool:
        """True for a lost GPU that no Xid 79 line reported."""
        return all(e.source is Source.GPU_LOST for e in self.lines)


@dataclass(frozen=True, slots=True)
class NodeEvents:
    """The events of one node in one order, with the clock that placed them."""

    clock: NodeClock
    occurrences: tuple[Occurrence, ...]
    contradictions: tuple[str, ...] = ()


def prepare_events(node: NodeEvidence) -> NodeEvents:
    """Return the events of a node, ordered by boot and position; order of input is nothing."""
    records = node.records
    everything: list[Record] = [
        *records.xids,
        *records.sxids,
        *records.boundaries,
        *records.identities,
        *records.hma,
        *records.shutdowns,
    ]
    clock = node_clock(everything, records.boundaries, records.identities)
    found, contradictions = _fold(records.xids, clock)
    found = [*found, *_inferred(found)]
    found.sort(key=lambda o: (o.boot, o.start_us, o.code, o.pci or ""))
    return NodeEvents(
        clock=clock,
        occurrences=tuple(found),
        contradictions=tuple(sorted(contradictions)),
    )


def boots_outside_logs(boundaries: Iterable[Boundary]) -> tuple[Boundary, ...]:
    """Return boundaries that no log line shows: their earlier lines were not read."""
    return tuple(b for b in boundaries if b.line == 0)


_Placed = tuple[int, int, XidEvent]  # boot, position, event


def _fold(events: Sequence[XidEvent], clock: NodeClock) -> tuple[list[Occurrence], set[str]]:
    buckets: dict[tuple[int, str | None, int], list[_Placed]] = defaultdict(list)
    boot_of, position = clock.boot_of, clock.position
    for event in events:
        boot = boot_of(event)
        code = LOST if event.source is Source.GPU_LOST else event.code
        buckets[(code, event.pci, boot)].append((boot, position(event, boot), event))
    contradictions: set[str] = set()
    _join_without_pci(buckets)
    found: list[Occurrence] = []
    for (code, pci, boot), placed in buckets.items():
        gap_us = GPU_LOST_US if code == LOST else BURST_GAP_US
        found += [
            _occurrence(code, pci, boot, burst, clock, contradictions)
            for burst in _bursts(placed, gap_us)
        ]
    return found, contradictions


def _join_without_pci(buckets: dict[tuple[int, str | None, int], list[_Placed]]) -> None:
    """Let records without a PCI id join the same code on the GPU nearest in time."""
    for key in [k for k in buckets if k[1] is None]:
        code, _, boot = key
        hosts = [
            (p, pci)
            for (c, pci, b), placed in buckets.items()
            if c == code and b == boot and pci is not None
            for _, p, _ in placed
        ]
        left: list[_Placed] = []
        for placed in buckets[key]:
            reach = AGENT_COPY_US if placed[2].source in _AGENTS else COPY_US
            near = [(abs(p - placed[1]), pci) for p, pci in hosts if abs(p - placed[1]) <= reach]
            if near:
                buckets[(code, min(near)[1], boot)].append(placed)
            else:
                left.append(placed)
        if left:
            buckets[key] = left
        else:
            del buckets[key]


def _bursts(placed: list[_Placed], gap_us: int) -> list[list[_Placed]]:
    if len(placed) == 1:
        return [placed]
    placed.sort(key=_in_order)
    bursts = [[placed[0]]]
    for item in placed[1:]:
        if item[1] - bursts[-1][-1][1] > gap_us:
            bursts.append([item])
        else:
            bursts[-1].append(item)
    return bursts


def _in_order(item: _Placed) -> tuple[int, int, str, str]:
    event = item[2]
    return (item[1], event.line, event.stream, event.text)


def _occurrence(
    code: int,
    pci: str | None,
    boot: int,
    burst: list[_Placed],
    clock: NodeClock,
    contradictions: set[str],
) -> Occurrence:
    place = burst[0] if len(burst) == 1 else _place(code, burst, contradictions)
    start_us, first = place[1], place[2]
    return Occurrence(
        code=code,
        pci=pci,
        boot=boot,
        epoch=clock.epoch_of(pci, boot, start_us),
        start_us=start_us,
        end_us=burst[-1][1],
        first=first,
        lines=(first,) if len(burst) == 1 else tuple(e for _, _, e in burst),
        placed=clock.has_wall(first, boot),
    )


def _place(code: int, burst: list[_Placed], contradictions: set[str]) -> _Placed:
    """Return the line that gives the burst its place, and note copies that disagree on it."""
    trusted = [p for p in burst if p[2].time_quality is not TimeQuality.INGEST_ONLY]
    first = (trusted or burst)[0]
    copies = [p for p in burst if _is_copy(first[2], p[2])]
    if not copies:
        return first
    # Of the copies, the kernel's own line is quoted; one with uptime gives the place.
    best = min([first, *copies], key=_trust)
    skew = max(abs(p[1] - best[1]) for p in [first, *copies] if p[2].source not in _AGENTS)
    if skew > SKEW_US:
        contradictions.add(
            f"Xid {code} on {best[2].pci or 'an unnamed GPU'}: two sources give times "
            f"{skew / _US:.0f} s apart; the kernel's own order is kept (clock skew)"
        )
    return best


def _trust(item: _Placed) -> tuple[bool, bool, int, int]:
    event = item[2]
    return (event.uptime_us is None, event.source is not Source.KERNEL, item[1], event.line)


def _is_copy(one: XidEvent, other: XidEvent) -> bool:
    """Say whether two lines of a burst are the same event told by two streams."""
    if one.stream == other.stream and one.group == other.group:
        return False
    same_pid = one.pid is None or other.pid is None or one.pid == other.pid
    same_text = not one.text or not other.text or one.text.strip() == other.text.strip()
    return same_pid and same_text


def _inferred(found: Sequence[Occurrence]) -> list[Occurrence]:
    """Add events that a seen line names but that have no line of their own (xid_rules §3.7)."""
    seen = {(o.code, o.pci, o.boot) for o in found}
    new: dict[tuple[int, str | None, int], Occurrence] = {}
    for occurrence in sorted(found, key=lambda o: (o.boot, o.start_us)):
        if occurrence.code == 45:
            for event in occurrence.lines:
                key = (event.root or 0, occurrence.pci, occurrence.boot)
                if event.root is not None and key not in seen and key not in new:
                    new[key] = _named_by(occurrence, event, event.root)
        elif occurrence.code in _ECC_DETAIL and not _has_double_bit(found, occurrence):
            key = (DOUBLE_BIT, occurrence.pci, occurrence.boot)
            new.setdefault(key, _named_by(occurrence, occurrence.first, DOUBLE_BIT))
    return list(new.values())


def _has_double_bit(found: Sequence[Occurrence], detail: Occurrence) -> bool:
    return any(
        o.code == DOUBLE_BIT
        and o.pci == detail.pci
        and o.boot == detail.boot
        and o.start_us - ECC_PARTNER_US <= detail.end_us
        and detail.start_us <= o.end_us + ECC_PARTNER_US
        for o in found
    )


def _named_by(occurrence: Occurrence, event: XidEvent, code: int) -> Occurrence:
    line = event.model_copy(update={"code": code, "source": Source.INFERRED, "text": ""})
    return replace(
        occurrence, code=code, first=line, lines=(line,), end_us=occurrence.start_us, inferred=True
    )
