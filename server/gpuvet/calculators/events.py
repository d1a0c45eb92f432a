"""Driver events of one node, made fit to judge: copies and bursts folded, ordered, placed.

Copies of one event from several sources always lie inside the burst window, so folding a burst
folds its copies too; what is left to do for copies is to let sources without a PCI id join the
GPU they speak of, and to let the copy with kernel uptime give the place.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from gpuvet.calculators.boots import SAME_BOOT_US, NodeClock, microseconds, moment, node_clock
from gpuvet.calculators.copies import (
    AGENTS,
    Key,
    Placed,
    is_copy,
    join_over_boots,
    join_without_pci,
    may_be_copies,
)
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.events import (
    Boundary,
    BoundaryKind,
    GpuIdentity,
    Record,
    Source,
    TimeQuality,
    XidEvent,
)
from gpuvet.parse.node_lines import condition_xid

_US = 1_000_000

# verdict-rules §3.2 and §3.3; ours unless a source is named there.
BURST_GAP_US = 180 * _US
SKEW_US = 5 * _US
GPU_LOST_US = 300 * _US
ECC_PARTNER_US = 60 * _US

LOST = 79
DOUBLE_BIT = 48
ACCELERATOR_CONDITION = "AcceleratedHardwareReady"  # EKS node monitoring agent
_ECC_DETAIL = frozenset({171, 172})
_NAMES_ANOTHER = _ECC_DETAIL | {45}


class Occurrence(NamedTuple):
    """One event: all lines of one code on one PCI id without a pause of 180 s.

    Attributes:
        code: Xid.
        pci: PCI id, or None where no source carried one.
        boot: Boot it happened in; 0 is before the first known start.
        epoch: Hardware epoch of the PCI id.
        start_us: Position of its first line on the boot's clock, microseconds.
        end_us: Position of its last line.
        first: The line that gives the place.
        folded: Every line of every source, in order; empty where there is only the first.
        inferred: No line of its own was seen; another event names it.
        placed: False where the position is bare uptime, not a wall time.
    """

    code: int
    pci: str | None
    boot: int
    epoch: int
    start_us: int
    end_us: int
    first: XidEvent
    folded: tuple[XidEvent, ...] = ()
    inferred: bool = False
    placed: bool = True

    @property
    def lines(self) -> tuple[XidEvent, ...]:
        """Every line of every source, in order."""
        return self.folded or (self.first,)

    @property
    def sources(self) -> tuple[str, ...]:
        """Who saw it, sorted."""
        if not self.folded:
            return (self.first.source.value,)
        return tuple(sorted({e.source.value for e in self.folded}))

    @property
    def messages(self) -> int:
        """How many different lines it has; copies of one line count once."""
        if not self.folded:
            return 1
        return len({(e.uptime_us or e.at, e.pid, e.text) for e in self.folded})

    @property
    def at(self) -> datetime | None:
        """When it began, where a wall time is known."""
        if self.first.at is not None and self.first.uptime_us is None:
            return self.first.at
        return moment(self.start_us) if self.placed else self.first.at

    @property
    def at_us(self) -> int | None:
        """The same in microseconds since 1970."""
        return self.start_us if self.placed else None

    @property
    def text(self) -> str:
        """The text of its first line."""
        return self.first.text

    @property
    def is_ingest_only(self) -> bool:
        """True where no line has more than its shipper's time, which decides no order."""
        return self.first.time_quality is TimeQuality.INGEST_ONLY

    @property
    def is_gpu_lost_only(self) -> bool:
        """True for a lost GPU that no Xid 79 line reported."""
        return self.code == LOST and all(e.source is Source.GPU_LOST for e in self.lines)


@dataclass(frozen=True, slots=True)
class NodeEvents:
    """The events of one node in one order, with the clock that placed them."""

    clock: NodeClock
    occurrences: tuple[Occurrence, ...]
    contradictions: tuple[str, ...] = ()


def prepare_events(node: NodeEvidence) -> NodeEvents:
    """Return the events of a node, ordered by boot and position; order of input is nothing."""
    records = node.records
    told = tuple(_condition_events(node))
    xids = (*records.xids, *told) if told else records.xids
    dated: list[Record] = [
        *records.xids,
        *records.sxids,
        *records.boundaries,
        *records.identities,
        *records.hma,
        *records.shutdowns,
        *records.hardware,
    ]
    boundaries = (*records.boundaries, *_restarts(node, dated))
    identities = (*records.identities, *_identities_read(node))
    clock = node_clock(dated, boundaries, identities)
    found, contradictions = _fold(xids, clock, _pci_by_uuid(identities))
    found += _inferred(found)
    found.sort(key=_order)
    contradictions |= _changed_gpus(clock)
    return NodeEvents(
        clock=clock,
        occurrences=tuple(found),
        contradictions=tuple(sorted(contradictions)),
    )


def _order(occurrence: Occurrence) -> tuple[int, int, str, int, int, str]:
    """Order by boot and position; equal times of one stream keep its order (verdict-rules §3.4)."""
    first = occurrence.first
    return (
        occurrence.boot,
        occurrence.start_us,
        first.stream,
        first.line,
        occurrence.code,
        occurrence.pci or "",
    )


def _condition_events(node: NodeEvidence) -> Iterator[XidEvent]:
    """Yield the Xids that Kubernetes node conditions name; they are further copies of a line."""
    for condition in dict.fromkeys((*node.facts.conditions, *node.records.conditions)):
        if condition.kind != ACCELERATOR_CONDITION or condition.status != "False":
            continue
        named = condition_xid(condition.reason or "") or condition_xid(condition.message)
        if named is None:
            continue
        at = condition.transition_at or condition.at
        yield XidEvent(
            node=node.node,
            stream=condition.stream,
            line=condition.line,
            raw=condition.raw,
            group=condition.group,
            at=at,
            time_quality=TimeQuality.EXACT if at else TimeQuality.NONE,
            source=Source.EKS_CONDITION,
            code=named.code,
            uuid=named.uuid,
        )


def _restarts(node: NodeEvidence, dated: Iterable[Record]) -> Iterator[Boundary]:
    """Yield the start that an instance's launch time tells of when it lies after its own lines.

    A reboot keeps the launch time; a stop and start moves it and brings other hardware under the
    same instance id (verdict-rules §3.6).
    """
    launched = node.launched_at
    if launched is None:
        return
    latest = microseconds(launched) - SAME_BOOT_US
    if any(r.at is not None and microseconds(r.at) < latest for r in dated):
        yield Boundary(
            node=node.node,
            stream="launch time",
            line=0,
            raw="",
            at=launched,
            time_quality=TimeQuality.EXACT,
            kind=BoundaryKind.STOP_START,
        )


def _identities_read(node: NodeEvidence) -> Iterator[GpuIdentity]:
    """Yield which GPU nvidia-smi named at a PCI id, at the time it was read."""
    for gpu in node.facts.gpus:
        if gpu.pci is not None and gpu.read_at is not None and (gpu.uuid or gpu.serial):
            yield GpuIdentity(
                node=node.node,
                stream=gpu.source,
                line=0,
                raw="",
                at=gpu.read_at,
                pci=gpu.pci,
                uuid=gpu.uuid,
                serial=gpu.serial,
            )


def _pci_by_uuid(identities: Iterable[GpuIdentity]) -> dict[str, str]:
    return {i.uuid: i.pci for i in identities if i.uuid is not None and i.pci is not None}


def _changed_gpus(clock: NodeClock) -> set[str]:
    return {
        f"{pci}: another GPU (UUID or board serial) since "
        f"{moment(changes[-1]):%Y-%m-%dT%H:%M:%SZ}: the hardware changed, so nothing before "
        "counts as a recurrence"
        for pci, changes in clock.identities.items()
    }


def _fold(
    events: Sequence[XidEvent], clock: NodeClock, pci_by_uuid: Mapping[str, str]
) -> tuple[list[Occurrence], set[str]]:
    buckets: dict[Key, list[Placed]] = defaultdict(list)
    for event in events:
        boot, position = clock.place(event)
        code = LOST if event.source is Source.GPU_LOST else event.code
        pci = event.pci or (pci_by_uuid.get(event.uuid) if event.uuid else None)
        buckets[code, pci, boot].append((boot, position, event))
    contradictions: set[str] = set()
    join_without_pci(buckets)
    if clock.starts:
        join_over_boots(buckets)
    found: list[Occurrence] = []
    for (code, pci, boot), placed in buckets.items():
        if len(placed) == 1:
            found.append(_single(code, pci, placed[0], clock))
            continue
        placed.sort(key=_in_order)
        for burst in _bursts(placed, GPU_LOST_US if code == LOST else BURST_GAP_US):
            if len(burst) == 1:
                found.append(_single(code, pci, burst[0], clock))
            else:
                found.append(_folded(code, pci, boot, burst, clock, contradictions))
    return found, contradictions


def _bursts(placed: Sequence[Placed], gap_us: int) -> Iterator[Sequence[Placed]]:
    """Yield runs of ordered lines without a longer pause between them."""
    start = 0
    for index in range(1, len(placed)):
        if placed[index][1] - placed[index - 1][1] > gap_us:
            yield placed[start:index]
            start = index
    yield placed[start:]


def _in_order(item: Placed) -> tuple[int, int, str, str, str]:
    event = item[2]
    return (item[1], event.line, event.stream, event.group or "", event.text)


def _single(code: int, pci: str | None, placed: Placed, clock: NodeClock) -> Occurrence:
    boot, at_us, event = placed
    epoch, has_wall = clock.epoch_of(pci, boot, at_us), clock.has_wall(event, boot)
    return Occurrence(code, pci, boot, epoch, at_us, at_us, event, (), False, has_wall)


def _folded(
    code: int,
    pci: str | None,
    boot: int,
    burst: Sequence[Placed],
    clock: NodeClock,
    contradictions: set[str],
) -> Occurrence:
    _, start_us, first = _place(code, burst, contradictions)
    return Occurrence(
        code=code,
        pci=pci,
        boot=boot,
        epoch=clock.epoch_of(pci, boot, start_us),
        start_us=start_us,
        end_us=burst[-1][1],
        first=first,
        folded=tuple(e for _, _, e in burst),
        placed=clock.has_wall(first, boot),
    )


def _place(code: int, burst: Sequence[Placed], contradictions: set[str]) -> Placed:
    """Return the line that gives the burst its place, and note copies that disagree on it."""
    trusted = [p for p in burst if p[2].time_quality is not TimeQuality.INGEST_ONLY]
    first = (trusted or burst)[0]
    copies = [p for p in burst if is_copy(first[2], p[2]) and may_be_copies(first, p)]
    if not copies:
        return first
    # Of the copies, the kernel's own line is quoted; one with uptime gives the place.
    best = min([first, *copies], key=_trust)
    told = [p for p in (first, *copies) if p[2].source not in AGENTS]
    skew = max((abs(p[1] - best[1]) for p in told), default=0)
    if skew > SKEW_US:
        contradictions.add(
            f"Xid {code} on {best[2].pci or 'an unnamed GPU'}: two sources give times "
            f"{skew / _US:.0f} s apart; the kernel's own order is kept (clock skew)"
        )
    return best


def _trust(item: Placed) -> tuple[bool, bool, int, int]:
    event = item[2]
    return (event.uptime_us is None, event.source is not Source.KERNEL, item[1], event.line)


def _inferred(found: Sequence[Occurrence]) -> list[Occurrence]:
    """Add events that a seen line names but that have no line of their own (verdict-rules §3.7)."""
    telling = [o for o in found if o.code in _NAMES_ANOTHER]
    if not telling:
        return []
    seen = {(o.code, o.pci, o.boot) for o in found}
    new: dict[tuple[int, str | None, int], Occurrence] = {}
    for occurrence in sorted(telling, key=_order):
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
    return occurrence._replace(
        code=code, first=line, folded=(), end_us=occurrence.start_us, inferred=True
    )
