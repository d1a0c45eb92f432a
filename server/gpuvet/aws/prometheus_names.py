"""Which node a label's value means: by instance id, host name, address, with or without port. Pure.

A value that two nodes could mean means neither.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuvet.aws.door import NodeName
from gpuvet.aws.prometheus_answers import Samples
from gpuvet.aws.prometheus_queries import NODE_LABELS, is_node_value
from gpuvet.parse.wrappers import instance_id

_DASHED = re.compile(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})")
_PORT = re.compile(r":\d{1,5}$")


def name_table(nodes: Iterable[NodeName]) -> Mapping[str, str]:
    """Return every name a label may carry for a node; what several nodes share is left out."""
    owners: dict[str, set[str]] = {}
    for node in nodes:
        for name in _names(node):
            owners.setdefault(name, set()).add(node.node)
    return {name: next(iter(own)) for name, own in owners.items() if len(own) == 1}


def _names(node: NodeName) -> Iterator[str]:
    for name in (node.node, *node.aliases):
        lowered = name.lower()
        yield lowered
        dashed = _DASHED.match(lowered)
        if dashed:
            yield ".".join(dashed.groups())
        if not lowered.replace(".", "").isdigit():
            yield lowered.partition(".")[0]


def node_of(value: str, table: Mapping[str, str]) -> str | None:
    """Return the node a label's value means, or None."""
    plain = _PORT.sub("", value.lower())
    known = table.get(plain) or table.get(instance_id(plain) or "")
    if known is not None:
        return known
    if plain.replace(".", "").isdigit():
        return None
    dashed = _DASHED.match(plain)
    address = ".".join(dashed.groups()) if dashed else ""
    return table.get(plain.partition(".")[0]) or table.get(address)


def best_label(
    series: Sequence[Samples], table: Mapping[str, str]
) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """Return the label that names most of our nodes, with its values and whose they are.

    Of labels that name as many, the most telling one; None where none names a node of ours.
    """
    best: tuple[str, tuple[tuple[str, str], ...]] | None = None
    most = 0
    for label in NODE_LABELS:
        found = {
            value: node
            for one in series
            if is_node_value(value := one.labels.get(label, ""))
            and (node := node_of(value, table)) is not None
        }
        if len(set(found.values())) > most:
            best, most = (label, tuple(sorted(found.items()))), len(set(found.values()))
    return best
