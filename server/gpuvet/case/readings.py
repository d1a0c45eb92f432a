"""Several readings of one node brought together; what one lacks another may have."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from gpuvet.model.case import NodeReading, OperatorFacts
from gpuvet.model.cluster import NodeFacts
from gpuvet.model.untyped import is_array

T = TypeVar("T")


def merged_facts(parts: Iterable[OperatorFacts]) -> OperatorFacts:
    """Return all operator facts of a case as one, with one reading a node."""
    kept = list(parts)
    by_node: dict[str, list[NodeReading]] = {}
    for part in kept:
        for reading in part.nodes:
            by_node.setdefault(reading.node, []).append(reading)
    return OperatorFacts(
        nodes=tuple(_merged(readings) for readings in by_node.values()),
        bus_history=tuple(one for part in kept for one in part.bus_history),
        clean_signals=tuple(one for part in kept for one in part.clean_signals),
        efa_counters=tuple(one for part in kept for one in part.efa_counters),
        summaries=tuple(one for part in kept for one in part.summaries),
    )


def _merged(readings: Sequence[NodeReading]) -> NodeReading:
    """Return one reading; of single values the first that was read, of lists all."""
    if len(readings) == 1:
        return readings[0]
    return NodeReading(
        node=readings[0].node,
        host=_first(one.host for one in readings),
        aliases=_all(one.aliases for one in readings),
        instance_type=_first(one.instance_type for one in readings),
        gpu_expected=_first(one.gpu_expected for one in readings),
        driver_version=_first(one.driver_version for one in readings),
        driver_open=_first(one.driver_open for one in readings),
        launched_at=_first(one.launched_at for one in readings),
        left_at=_first(one.left_at for one in readings),
        boots=_all(one.boots for one in readings),
        coverage=_first(one.coverage for one in readings),
        facts=_merged_facts([one.facts for one in readings]),
        labels=_all(one.labels for one in readings),
        allocatable=_all(one.allocatable for one in readings),
        hma_stream=_first(one.hma_stream for one in readings),
        hma_stream_asked=any(one.hma_stream_asked for one in readings),
        other_streams_live=_all(one.other_streams_live for one in readings),
        files=_all(one.files for one in readings),
    )


def _merged_facts(parts: Sequence[NodeFacts]) -> NodeFacts:
    values: dict[str, object] = {}
    for part in parts:
        for name, field in type(part).model_fields.items():
            value: object = getattr(part, name)
            if is_array(value):
                before = values.get(name, ())
                values[name] = _all([before if is_array(before) else (), value])
            elif value != field.default:
                values.setdefault(name, value)
    return NodeFacts.model_validate(values)


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)


def _all(parts: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for part in parts for one in part))
