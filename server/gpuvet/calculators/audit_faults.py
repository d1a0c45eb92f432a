"""Faults over a period: recurrence per node, GPU and hardware, and who stands out. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import NodeView, class_of
from gpuvet.calculators.outliers import outliers
from gpuvet.model.audit import FaultRow, NodeSight, OutlierRow
from gpuvet.model.evidence import Window
from gpuvet.model.verdict import Verdict
from gpuvet.model.words import FaultClass


def fault_rows(
    views: Iterable[NodeView], verdicts: Mapping[str, Verdict], asked: Window
) -> tuple[FaultRow, ...]:
    """Return one row for each code on each GPU with one hardware behind it, faults first.

    A code recurs when it lies in more than one boot of the same hardware: two events of one boot
    may be one fault, and a new hardware epoch starts anew (verdict-rules §3.6 and §5).

    Args:
        views: The nodes with their events prepared.
        verdicts: By node.
        asked: The hours asked for; earlier events count for recurrence only.
    """
    rows = [row for view in views for row in _of_node(view, verdicts, asked)]
    return tuple(sorted(rows, key=_order))


def _of_node(view: NodeView, verdicts: Mapping[str, Verdict], asked: Window) -> Iterator[FaultRow]:
    groups: dict[tuple[str | None, int, int], list[Occurrence]] = {}
    for one in view.events.occurrences:
        groups.setdefault((one.pci, one.epoch, one.code), []).append(one)
    for (pci, epoch, code), found in groups.items():
        times = [at for one in found if (at := one.at) is not None]
        boots = {one.boot for one in found}
        first = found[0].first
        yield FaultRow(
            node=view.node.node,
            pci=pci,
            epoch=epoch,
            code=code,
            fault_class=class_of(code),
            events=len(found),
            boots=len(boots),
            first=min(times, default=None),
            last=max(times, default=None),
            in_window=not times or any(asked.holds(at) for at in times),
            recurs=len(boots) > 1 and pci is not None,
            consequence=all(view.is_aside(one) for one in found),
            verdict=verdicts[view.node.node],
            raw=first.raw,
            stream=first.stream,
            sources=tuple(sorted({s for one in found for s in one.sources})),
            evidence=first.evidence,
        )


_STRONG = (Verdict.REPLACE, Verdict.REBOOT, Verdict.UNVERIFIED, Verdict.MONITOR)


def _order(row: FaultRow) -> tuple[object, ...]:
    strength = _STRONG.index(row.verdict) if row.verdict in _STRONG else len(_STRONG)
    hard = row.fault_class is not FaultClass.HARDWARE
    return (row.consequence, strength, hard, not row.recurs, row.node, row.pci or "", row.code)


def outlier_rows(nodes: Sequence[NodeSight], faults: Sequence[FaultRow]) -> tuple[OutlierRow, ...]:
    """Return the nodes that stand out in events of a code, or in hours not seen.

    Events of a node that was seen in no hour are not counted as zero: it is no peer.
    """
    seen = {n.node for n in nodes if n.hours_measured}
    by_code: dict[int, dict[str, float]] = {}
    for fault in faults:
        if fault.in_window:
            counts = by_code.setdefault(fault.code, {})
            counts[fault.node] = counts.get(fault.node, 0) + fault.events
    found: list[OutlierRow] = []
    for code, counts in sorted(by_code.items()):
        peers = {node: counts.get(node, 0.0) for node in sorted(seen | set(counts))}
        found += [
            OutlierRow(node=one.peer, what=f"Xid {code} events", sentence=one.sentence)
            for one in outliers(peers)
        ]
    holes = {n.node: float(n.hours_asked - n.hours_measured) for n in nodes if n.hours_asked}
    found += [
        OutlierRow(node=one.peer, what="hours not seen", sentence=one.sentence)
        for one in outliers(holes)
    ]
    return tuple(found)
