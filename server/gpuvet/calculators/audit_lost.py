"""GPU hours that were reserved and lost: idle, down, restarting. Pure; every sum is written out.

Hours are counted only where evidence has both ends: power of every GPU for idle, a call and the
successor's launch for down, a shutdown line and the next boot for restarting.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.calculators.gpu_activity import GpuHours, idle_hours, measure_of
from gpuvet.calculators.replacements import Replacement
from gpuvet.model.audit import LostCause, LostHours, LostRow, UsedRow
from gpuvet.model.cluster import NodeEvidence
from gpuvet.model.events import BoundaryKind, TimeQuality
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import TimeSeries

_HOUR = timedelta(hours=1)
# Ours: a boot longer after a shutdown is a node that was stopped, not one that restarts.
MOST_RESTART = timedelta(hours=6)
_NO_HOURS = GpuHours(0.0, 0.0, 0.0)
_EXACT = frozenset({TimeQuality.EXACT, TimeQuality.ASSUMED})
FORMULAS = (
    "idle: minutes of hours in which every GPU has 90 % of its points, all below 5 %, / 60 x GPUs",
    "down: (launch of the successor - call that replaced the node) in hours x GPUs",
    "restarting: (first boot line - shutdown line before it) in hours x GPUs",
)


@dataclass(frozen=True, slots=True)
class LostEvidence:
    """What lost hours are reckoned from.

    Attributes:
        window: The window asked about.
        gpus: GPUs by node; a node left out is not counted.
        power: GPU power series by node.
        reserved: Spans in which a node's reservation was active; a node left out: not known.
        replaced: What calls that replaced nodes came to.
    """

    window: Window
    gpus: Mapping[str, int]
    power: Mapping[str, Sequence[TimeSeries]]
    reserved: Mapping[str, Sequence[Window]]
    replaced: Sequence[Replacement] = ()


def lost_hours(
    nodes: Sequence[NodeEvidence],
    found: LostEvidence,
    *,
    price: float | None = None,
    currency: str | None = None,
) -> LostHours:
    """Return lost GPU hours by node and cause, and what could not be told.

    Args:
        nodes: The nodes.
        found: What the sums are made from.
        price: Of one GPU hour, as the user gives it; None: no money is named.
        currency: The user's word for it.
    """
    counted = [n for n in nodes if found.gpus.get(n.node)]
    used = [row for node in counted if (row := _used(node, found)) is not None]
    rows = [*_idle(used, found), *_down(found), *_restarts(counted, found)]
    priced = tuple(
        row.model_copy(update={"money": row.gpu_hours * price}) if price is not None else row
        for row in rows
    )
    money = (f"money: GPU hours x {price:g} {currency or ''}".rstrip(),) if price else ()
    return LostHours(
        rows=priced,
        used=tuple(used),
        unknown=tuple(_unknown(counted, used, found)),
        price_per_gpu_hour=price,
        currency=currency,
        formulas=(*FORMULAS, *money) if rows or used else (),
    )


def _running(node: NodeEvidence, window: Window) -> Window | None:
    start = max(window.start, node.launched_at or window.start)
    end = min(window.end, node.left_at or window.end)
    return Window(start=start, end=end) if start < end else None


def _used(node: NodeEvidence, found: LostEvidence) -> UsedRow | None:
    series, span = found.power.get(node.node, ()), _running(node, found.window)
    if not series or span is None:
        return None
    blocks = found.reserved.get(node.node)
    spans = [both for one in blocks if (both := _overlap(span, one))] if blocks else [span]
    hours = sum((idle_hours(series, found.gpus[node.node], one) for one in spans), start=_NO_HOURS)
    basis = "inside its reservation" if blocks else "while it ran; no reservation of it was read"
    return UsedRow(
        node=node.node,
        idle=hours.idle,
        busy=hours.busy,
        unknown=hours.unknown,
        reserved=bool(blocks),
        basis=basis,
    )


def _overlap(one: Window, other: Window) -> Window | None:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Window(start=start, end=end) if start < end else None


def _idle(used: Iterable[UsedRow], found: LostEvidence) -> Iterator[LostRow]:
    for row in used:
        if row.idle > 0:
            gpus = found.gpus[row.node]
            refs = tuple(dict.fromkeys(s.evidence for s in found.power[row.node] if s.evidence))
            yield LostRow(
                node=row.node,
                cause=LostCause.IDLE,
                gpu_hours=row.idle,
                formula=f"{row.idle / gpus:.2f} h x {gpus} GPUs = {row.idle:.2f}",
                basis=f"{measure_of(found.power[row.node])}, Maximum, {row.basis}",
                evidence=refs[:4],
            )


def _down(found: LostEvidence) -> Iterator[LostRow]:
    for one in found.replaced:
        if not one.is_paired or one.new[0].launched_at is None:
            continue
        old, new = one.old[0], one.new[0]
        gpus = found.gpus.get(new.id) or found.gpus.get(old)
        span = _overlap_of(one.call.at, one.new[0].launched_at, found.window)
        if gpus and span is not None:
            sure = "" if one.is_certain else "; the pair rests on launch times only"
            yield _row(
                old,
                LostCause.DOWN,
                span,
                gpus,
                f"{one.call.name} to the launch of {new.id}{sure}",
                tuple(e for e in (one.call.evidence, new.evidence) if e),
            )


def _overlap_of(start: datetime, end: datetime | None, window: Window) -> Window | None:
    if end is None or end <= start:
        return None
    return _overlap(Window(start=start, end=end), window)


def _restarts(nodes: Iterable[NodeEvidence], found: LostEvidence) -> Iterator[LostRow]:
    for node in nodes:
        downs = sorted(
            ((r.at, r) for r in node.records.shutdowns if r.at and r.time_quality in _EXACT),
            key=lambda pair: pair[0],
        )
        boots = sorted(
            b.at for b in node.records.boundaries if b.at and b.kind is BoundaryKind.REBOOT
        )
        last: datetime | None = None
        for at, record in downs:
            up = next((b for b in boots if b > at), None)
            if up is None or up - at > MOST_RESTART or up == last:
                continue
            last = up
            span = _overlap_of(at, up, found.window)
            if span is not None:
                words = f"shutdown line at {at:%H:%M:%SZ} to boot at {up:%H:%M:%SZ}"
                yield _row(
                    node.node,
                    LostCause.RESTARTING,
                    span,
                    found.gpus[node.node],
                    words,
                    (record.evidence,),
                )


def _row(
    node: str, cause: LostCause, span: Window, gpus: int, basis: str, refs: tuple[str, ...]
) -> LostRow:
    hours = (span.end - span.start) / _HOUR
    return LostRow(
        node=node,
        cause=cause,
        gpu_hours=hours * gpus,
        formula=f"{hours:.2f} h x {gpus} GPUs = {hours * gpus:.2f}",
        basis=basis,
        evidence=refs,
    )


def _unknown(
    nodes: Sequence[NodeEvidence], used: Sequence[UsedRow], found: LostEvidence
) -> Iterator[str]:
    have = {row.node for row in used}
    without = [n.node for n in nodes if n.node not in have]
    if without:
        yield (
            f"idle hours of {len(without)} of {len(nodes)} nodes: no GPU activity of them was read"
        )
    unreserved = [row.node for row in used if not row.reserved]
    if unreserved:
        yield f"whether {len(unreserved)} nodes ran in reserved capacity: no reservation was read"
    unknown = sum(row.unknown for row in used)
    if unknown:
        yield f"{unknown:.1f} GPU hours: a GPU lacked points, so neither idle nor busy"
    open_pairs = [r for r in found.replaced if r.old and not r.is_paired]
    if open_pairs:
        yield f"down time of {len(open_pairs)} replacements: old and new are not paired one to one"
