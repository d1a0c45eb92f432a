"""Whose a log stream is, by its name (coverage.md)."""

import re
from collections.abc import Sequence

from gpuvet.aws.door import LogStream, NodeName


def holds_name(text: str, name: str) -> bool:
    """Say whether a text carries a name as a whole word: i-0abc is not in i-0abcd."""
    if not name or name not in text:
        return False
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(name)}(?![0-9A-Za-z])", text) is not None


def owned_streams(group: str, stream: str, nodes: Sequence[NodeName]) -> list[LogStream]:
    """Return a stream once for each node whose name it carries; several of them share it."""
    owners = [
        node.node
        for node in nodes
        if any(holds_name(stream, name) for name in (node.node, *node.aliases))
    ]
    return [
        LogStream(
            node=owner,
            group=group,
            stream=stream,
            shared_with=tuple(other for other in owners if other != owner),
        )
        for owner in owners
    ]
