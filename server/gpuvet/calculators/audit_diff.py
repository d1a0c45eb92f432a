"""What changed since an earlier audit: new holes, healed holes, new faults. Pure."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from gpuvet.calculators.audit_hours import unpacked
from gpuvet.calculators.hours import HOUR, spans
from gpuvet.model.audit import AuditReport, BaselineDiff, DiffSpan, FaultRow
from gpuvet.model.coverage import Shipper
from gpuvet.model.hours import HourCode, HourGrid

_Place = tuple[str, str | None, str | None, Shipper | None]
_Hours = Mapping[datetime, HourCode]


def compared(now: AuditReport, old: AuditReport) -> BaselineDiff:
    """Return what is new in an audit, and what has healed.

    An hour is a new hole when it is one now and was not one in the baseline: seen then, excused,
    or not asked for. A hole has healed when its hour is seen now. Hours that only the baseline
    asked for tell nothing.
    """
    before, after = _by_place(old.hours), _by_place(now.hours)
    known = {_fault(row) for row in old.faults}
    old_nodes, new_nodes = {n.node for n in old.nodes}, {n.node for n in now.nodes}
    return BaselineDiff(
        since=old.window.since,
        until=old.window.until,
        made_at=old.now,
        new_holes=tuple(_changed(after, before, _is_new)),
        healed_holes=tuple(_changed(after, before, _is_healed)),
        new_faults=tuple(row for row in now.faults if row.in_window and _fault(row) not in known),
        new_nodes=tuple(sorted(new_nodes - old_nodes)),
        gone_nodes=tuple(sorted(old_nodes - new_nodes)),
    )


def _fault(row: FaultRow) -> tuple[object, ...]:
    return (row.node, row.pci, row.epoch, row.code, row.last)


def _by_place(grid: HourGrid) -> Mapping[_Place, _Hours]:
    return {
        (row.node, row.group, row.stream, row.source): {
            grid.start + HOUR * place: code for place, code in enumerate(unpacked(row.runs))
        }
        for row in grid.rows
    }


def _is_new(code: HourCode, old: HourCode | None) -> bool:
    return code.is_hole and (old is None or not old.is_hole)


def _is_healed(code: HourCode, old: HourCode | None) -> bool:
    return code.is_seen and old is not None and old.is_hole


def _changed(
    after: Mapping[_Place, _Hours],
    before: Mapping[_Place, _Hours],
    test: Callable[[HourCode, HourCode | None], bool],
) -> Iterator[DiffSpan]:
    with_sources = {node for node, _, _, source in after if source is not None}
    for place, hours in after.items():
        node, group, stream, source = place
        if source is None and node in with_sources:
            continue  # the node's own row repeats its sources
        old = before.get(place) or before.get((node, None, None, None), {})
        changed = [hour for hour, code in hours.items() if test(code, old.get(hour))]
        for start, end in spans(changed):
            yield DiffSpan(
                node=node,
                group=group,
                stream=stream,
                start=start,
                end=end,
                hours=(end - start) // HOUR,
            )
