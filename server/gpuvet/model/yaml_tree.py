"""A YAML document as nodes with places, the way kubectl would read it.

Tuples with names, not `Value`s: a manifest has up to 10,000 nodes and validating each would cost
more than reading the text. They are frozen all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain] | None"


class Place(NamedTuple):
    """Where something stands in its file; lines and columns count from 1, offsets from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
    start: int  # offset of the first character in the file
    end: int  # offset behind the last character


class Scalar(NamedTuple):
    """One value, as written and as kubectl's reader resolves it (YAML 1.1 for plain text)."""

    place: Place
    text: str
    value: str | int | float | bool | None
    style: str = ""  # "" plain, "'" or '"' quoted, "|" or ">" block
    anchor: str | None = None
    alias: str | None = None  # set where the value stands as *name

    @property
    def is_plain(self) -> bool:
        """True for unquoted text on one line."""
        return self.style == ""


class Entry(NamedTuple):
    """One key of a mapping with its value."""

    key: Scalar
    value: Node
    merged: bool = False  # came in through <<


class Repeated(NamedTuple):
    """A key that stands twice in one mapping; readers that allow it keep the last."""

    key: str
    path: str
    first: Place
    again: Place


class MappingNode(NamedTuple):
    """Keys and values in the order of the text; of a repeated key only the last."""

    place: Place
    entries: tuple[Entry, ...]
    is_flow: bool = False
    anchor: str | None = None
    alias: str | None = None

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        return next((entry for entry in self.entries if entry.key.text == key), None)


class SequenceNode(NamedTuple):
    """Items in order."""

    place: Place
    items: tuple[Node, ...]
    is_flow: bool = False
    anchor: str | None = None
    alias: str | None = None


Node: TypeAlias = Scalar | MappingNode | SequenceNode


class Anchor(NamedTuple):
    """A name given to a node with &name."""

    name: str
    place: Place


class Document(NamedTuple):
    """One document of a file."""

    root: Node
    first_line: int
    repeated: tuple[Repeated, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    aliases: tuple[Anchor, ...] = ()
    has_merge: bool = False


def plain(node: Node) -> Plain:
    """Return a node as scalars, tuples and read-only mappings."""
    match node:
        case Scalar(value=value):
            return value
        case SequenceNode(items=items):
            return tuple(plain(item) for item in items)
        case MappingNode(entries=entries):
            return MappingProxyType({entry.key.text: plain(entry.value) for entry in entries})


def walk(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """Yield every node with its path (`spec.replicaSpecs[0].name`), parents first."""
    yield path, node
    match node:
        case Scalar():
            return
        case SequenceNode(items=items):
            for index, item in enumerate(items):
                yield from walk(item, f"{path}[{index}]")
        case MappingNode(entries=entries):
            for entry in entries:
                yield from walk(entry.value, joined(path, entry.key.text))


def joined(path: str, key: str) -> str:
    """Return the path of a key below a path; keys with dots or blanks stand in brackets."""
    if not key or any(char in key for char in ". []\"'"):
        return f"{path}[{key!r}]"
    return f"{path}.{key}" if path else key
