"""The one adapter: small summary files that people write become our operator facts.

Each is a JSON table of what somebody read: earlier events on a bus, lists of nodes, signals that
were clean, EFA counters, the network around a cluster, pods. null is not read; an empty list was
read and held nothing. What has no field of its own is kept as name and value.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.node_facts import node_facts
from gpuvet.model.case import (
    BusHistory,
    CleanSignals,
    EfaCounter,
    Leaf,
    NodeReading,
    OperatorFacts,
    Summary,
)
from gpuvet.model.cluster import NodeFacts
from gpuvet.model.untyped import (
    is_array,
    is_number,
    is_object,
    object_at,
    text_at,
    whole_at,
)
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id
from gpuvet.parse.xid_line import pci_id

Json = Mapping[str, Any]
MOST_LEAVES = 5_000

_EARLIER = re.compile(r"earlier_same_(?:bus|gpu|pci)_events(?:_last_(\d+)d)?")
_CLEAN_KEYS = frozenset(
    {
        "fsx_max_utilization_percent",
        "efa_retrans_timeout_events",
        "efa_unresponsive_remote_events",
        "nccl_transport",
        "cloudtrail_cluster_events",
    }
)
_EFA_NAME = re.compile(
    r"(?:efa_|node_amazonefa_)?(?:\w*retrans\w*|rdma_\w+|(?:un|im)\w*_remote\w*|[rt]x_\w+"
    r"|(?:send|recv)_(?:bytes|wrs)|lifespan|\w*timeout_events)"
)
_EFA_DEVICE = re.compile(r"(?:rdmap|efa|rdma)_?\d\w*")
# Words in the keys of a table, and what such a table is called.
_NAMES = (
    ("efa counters", re.compile(r"retrans|rdma_|unresponsive_remote|efa_")),
    ("pods", re.compile(r"^pods?$|pod_name|restart_?count|phase")),
    ("vpc", re.compile(r"subnet|route|endpoint|nat_?gateway|vpc|cidr", re.IGNORECASE)),
    ("history", re.compile(r"history|earlier|previous|last_\d+d|replaced|reboots")),
)


def read_summary(document: object, file: str) -> OperatorFacts | None:
    """Return a table as operator facts, or None where it is no table at all.

    Args:
        document: Parsed JSON.
        file: Its name, kept with every value.
    """
    leaves = tuple(_leaves(document, ()))
    if not leaves:
        return None
    rows = list(_objects(document, None))
    return OperatorFacts(
        nodes=tuple(_node_rows(document, file)),
        bus_history=tuple(one for node, row in rows for one in _bus_history(node, row, file)),
        clean_signals=tuple(_clean_signals(row, file) for _, row in rows if _is_clean(row)),
        efa_counters=tuple(_efa_counters(document, leaves, file)),
        summaries=(Summary(name=_name(document, leaves), file=file, leaves=leaves),),
    )


def is_known(facts: OperatorFacts) -> bool:
    """Say whether any of a table's values found a field of its own."""
    typed = (facts.nodes, facts.bus_history, facts.clean_signals, facts.efa_counters)
    return any(typed) or any(one.name in {"vpc", "pods", "history"} for one in facts.summaries)


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[Leaf]:
    if is_object(value) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, clean(key)))
    elif is_array(value) and value:
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, str(place)))
    elif is_object(value) or is_array(value):
        yield Leaf(path=path, is_empty=True)
    elif isinstance(value, str):
        yield Leaf(path=path, value=clean(value))
    elif value is None or isinstance(value, bool) or is_number(value):
        yield Leaf(path=path, value=value)


def _objects(value: object, node: str | None) -> Iterator[tuple[str | None, Json]]:
    """Yield every object, with the node it stands under or names."""
    if is_object(value):
        own = _named_node(value) or node
        yield own, value
        for key, inner in value.items():
            yield from _objects(inner, instance_id(key) or own)
    elif is_array(value):
        for inner in value:
            yield from _objects(inner, node)


def _named_node(row: Json) -> str | None:
    for key in ("node", "node_id", "instance_id", "InstanceId", "id"):
        text = text_at(row, key)
        if text is not None and instance_id(text) is not None:
            return instance_id(text)
    return None


def _bus_history(node: str | None, row: Json, file: str) -> Iterator[BusHistory]:
    earlier = next(((k, m) for k in row if (m := _EARLIER.fullmatch(k))), None)
    keys = {"reboots_since_event", "visible_gpu_count"}
    if earlier is None and not keys & row.keys():
        return
    yield BusHistory(
        node=node,
        pci=pci_id(text_at(row, "pci") or text_at(row, "bus") or ""),
        earlier_events=whole_at(row, earlier[0]) if earlier else None,
        earlier_days=int(earlier[1][1]) if earlier and earlier[1][1] else None,
        reboots_since=whole_at(row, "reboots_since_event"),
        visible_gpus=whole_at(row, "visible_gpu_count"),
        file=file,
    )


def _node_rows(document: object, file: str) -> Iterator[NodeReading]:
    rows = document.get("nodes") if is_object(document) else document
    if is_object(rows):
        rows = [{"node": key, **object_at(rows, key)} for key in rows]
    for row in rows if is_array(rows) else ():
        if isinstance(row, str) and (node := instance_id(row)) is not None:
            yield NodeReading(node=node, files=(file,))
        elif is_object(row) and (node := _named_node(row)) is not None:
            yield _node_row(node, row, file)


def _node_row(node: str, row: Json, file: str) -> NodeReading:
    labels, allocatable = object_at(row, "labels"), object_at(row, "allocatable")
    host = text_at(row, "host") or text_at(row, "name")
    facts = node_facts(row)
    update = {
        "status": facts.status or text_at(row, "status") or text_at(row, "state"),
        "gpus_seen": _first(facts.gpus_seen, whole_at(row, "visible_gpu_count")),
    }
    return NodeReading(
        node=node,
        host=host,
        aliases=(host,) if host else (),
        instance_type=text_at(row, "type") or text_at(row, "instance_type"),
        gpu_expected=whole_at(row, "gpu_expected"),
        launched_at=as_datetime(row.get("launched_at") or row.get("launch_time")),
        left_at=as_datetime(row.get("left_at")),
        facts=facts.model_copy(update=update) if any(update.values()) else NodeFacts(),
        labels=tuple(sorted((key, str(value)) for key, value in labels.items())),
        allocatable=tuple(sorted((key, str(value)) for key, value in allocatable.items())),
        files=(file,),
    )


def _first(one: int | None, other: int | None) -> int | None:
    return other if one is None else one


def _is_clean(row: Json) -> bool:
    return len(_CLEAN_KEYS & row.keys()) >= 2


def _clean_signals(row: Json, file: str) -> CleanSignals:
    fsx = object_at(row, "fsx_max_utilization_percent")
    events = row.get("cloudtrail_cluster_events")
    return CleanSignals(
        file=file,
        fsx_max_percent=tuple((k, float(v)) for k, v in fsx.items() if is_number(v)),
        efa_retrans_timeout_events=whole_at(row, "efa_retrans_timeout_events"),
        efa_unresponsive_remote_events=whole_at(row, "efa_unresponsive_remote_events"),
        nccl_transport=text_at(row, "nccl_transport"),
        cluster_events=tuple(clean(str(one)) for one in events) if is_array(events) else None,
        capacity=text_at(row, "capacity"),
    )


class _Owner(NamedTuple):
    path: tuple[str, ...]
    node: str


def _efa_counters(document: object, leaves: tuple[Leaf, ...], file: str) -> Iterator[EfaCounter]:
    owners = list(_owners(document, ()))
    for leaf in leaves:
        name = leaf.path[-1] if leaf.path else ""
        is_value = is_number(leaf.value)
        if not is_value or _EFA_NAME.fullmatch(name) is None or not is_number(leaf.value):
            continue
        under = [one for one in owners if leaf.path[: len(one.path)] == one.path]
        device = next((part for part in leaf.path if _EFA_DEVICE.fullmatch(part)), None)
        yield EfaCounter(
            name=name,
            value=float(leaf.value),
            node=max(under, key=lambda one: len(one.path)).node if under else None,
            device=device if device != name else None,
            file=file,
        )


def _owners(value: object, path: tuple[str, ...]) -> Iterator[_Owner]:
    """Yield where in a document a node begins: under its id, or beside it."""
    if is_object(value):
        named = _named_node(value)
        if named is not None:
            yield _Owner(path, named)
        for key, inner in value.items():
            node = instance_id(key)
            if node is not None:
                yield _Owner((*path, key), node)
            yield from _owners(inner, (*path, key))
    elif is_array(value):
        for place, inner in enumerate(value):
            yield from _owners(inner, (*path, str(place)))


def _name(document: object, leaves: tuple[Leaf, ...]) -> str:
    if any(_is_clean(row) for _, row in _objects(document, None)):
        return "clean signals"
    words = {part for leaf in leaves[:MOST_LEAVES] for part in leaf.path}
    for name, pattern in _NAMES:
        if any(pattern.search(word) for word in words):
            return name
    return "nodes" if is_object(document) and "nodes" in document else "table"
