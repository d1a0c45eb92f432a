"""Whose a log stream is, by its name (coverage.md)."""

import re
from collections.abc import Iterable, Iterator, Sequence

from gpuvet.aws.door import LogStream, NodeName

_WORD = re.compile(r"[0-9A-Za-z]+")


class Owners:
    """Nodes by the names that streams may carry; a look-up does not grow with the fleet.

    A name counts as a whole word: i-0abc is not in i-0abcd. Where a name begins and ends in a
    letter or digit, it can only stand between the start of one run of them and the end of
    another: each stretch of a stream's runs is looked up as it is.
    """

    def __init__(self, nodes: Sequence[NodeName]) -> None:
        self._order = {node.node: place for place, node in enumerate(nodes)}
        self._nodes: dict[str, list[str]] = {}
        self._odd: list[tuple[str, str]] = []  # names that begin or end in another sign
        self._longest = 0
        for node in nodes:
            for name in dict.fromkeys((node.node, *node.aliases)):
                self._add(name, node.node)

    def _add(self, name: str, node: str) -> None:
        runs = _WORD.findall(name)
        if not runs:
            return
        if name.startswith(runs[0]) and name.endswith(runs[-1]):
            self._nodes.setdefault(name, []).append(node)
            self._longest = max(self._longest, len(runs))
        else:
            self._odd.append((name, node))

    def of(self, stream: str) -> list[str]:
        """Return the nodes whose names a stream carries, in the order they were given."""
        found = dict.fromkeys(
            node for part in self._stretches(stream) for node in self._nodes.get(part, ())
        )
        found |= {node: None for name, node in self._odd if holds_name(stream, name)}
        return sorted(found, key=self._order.__getitem__)

    def _stretches(self, stream: str) -> Iterator[str]:
        runs = [one.span() for one in _WORD.finditer(stream)]
        for place, (start, _) in enumerate(runs):
            for _, end in runs[place : place + self._longest]:
                yield stream[start:end]

    def streams(self, group: str, names: Iterable[str]) -> Iterator[LogStream]:
        """Yield each stream of a group once for each node it belongs to; several share it."""
        for name in names:
            owners = self.of(name)
            for owner in owners:
                yield LogStream(
                    node=owner,
                    group=group,
                    stream=name,
                    shared_with=tuple(other for other in owners if other != owner),
                )


def holds_name(text: str, name: str) -> bool:
    """Say whether a text carries a name as a whole word: i-0abc is not in i-0abcd."""
    if not name or name not in text:
        return False
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(name)}(?![0-9A-Za-z])", text) is not None
