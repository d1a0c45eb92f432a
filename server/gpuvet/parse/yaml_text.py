"""Safe, bounded YAML with places; the only user of the YAML library.

Nothing is constructed from tags. At most 1 MiB of text, 50 levels and 10,000 nodes after aliases
. Plain scalars resolve as in kubectl's reader: YAML 1.1, without sexagesimals.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError

from gpuvet.errors import SpecSyntaxError
from gpuvet.model.yaml_tree import (
    Anchor,
    Document,
    Entry,
    MappingNode,
    Node,
    Place,
    Plain,
    Repeated,
    Scalar,
    SequenceNode,
    joined,
    plain,
)
from gpuvet.parse import templates

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 50
MAX_NODES = 10_000

_BREAK = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_INT = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
# go-yaml's table of YAML 1.1 words; single letters count too
_WORDS: dict[str, bool | float | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}


class _Mark(Protocol):
    """A position of the library, counted from 0."""

    line: int
    column: int
    index: int


class _Event(Protocol):
    """What is read of the library's events, which carry no types; each kind has a part of it."""

    start_mark: _Mark
    end_mark: _Mark
    anchor: str | None
    tag: object
    value: str
    style: str | None
    flow_style: bool | None


class Chunk(NamedTuple):
    """The text of one document and where it begins in its file."""

    text: str
    first_line: int  # from 1
    offset: int  # characters before it


def load_documents(text: str) -> tuple[Plain, ...]:
    """Return every document as scalars, tuples and read-only mappings.

    Raises:
        SpecSyntaxError: the text is not YAML, or is larger than the bounds allow.
    """
    return tuple(plain(document.root) for document in compose_documents(text))


def compose_documents(text: str) -> tuple[Document, ...]:
    """Return every document as nodes with places; empty documents are left out.

    Raises:
        SpecSyntaxError: the text is not YAML, or is larger than the bounds allow.
    """
    return tuple(
        document for chunk in split_documents(text) if (document := compose(chunk)) is not None
    )


def split_documents(text: str) -> tuple[Chunk, ...]:
    """Return the documents of a file, cut at `---` as kubectl does, without reading them.

    Raises:
        SpecSyntaxError: the text is larger than 1 MiB.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise SpecSyntaxError(f"the file is larger than {MAX_BYTES} bytes; split it")
    starts = [match.start() for match in _BREAK.finditer(text)]
    bounds = [0, *starts, len(text)] if not starts or starts[0] else [*starts, len(text)]
    return tuple(
        Chunk(text[start:end], text.count("\n", 0, start) + 1, start)
        for start, end in pairwise(bounds)
        if not _is_bare(text[start:end])
    )


def compose(chunk: Chunk) -> Document | None:
    """Return the one document of a chunk, or None for an empty one.

    Raises:
        SpecSyntaxError: not YAML, or beyond the bounds; line and column are the file's.
    """
    text = templates.hide(chunk.text.replace("\ufeff", " "))
    builder = _Builder(chunk)
    reader: Any = YAML(typ="safe", pure=True)  # its methods carry no types
    try:
        events: Iterator[_Event] = reader.parse(text)
        for event in events:
            builder.take(event)
    except MarkedYAMLError as error:
        raise _syntax_error(error, chunk) from None
    except (YAMLError, YAMLStreamError) as error:
        raise SpecSyntaxError(_first_line(str(error)), line=chunk.first_line) from None
    return builder.document()


def resolve(text: str) -> str | int | float | bool | None:
    """Return a plain scalar as kubectl's reader would type it."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return _integer(text)
    if _FLOAT.match(text):
        return float(text)
    return text


def _integer(text: str) -> int | str:
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if len(digits) > 40:
        return text
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if digits.startswith(prefix):
            return sign * int(digits[2:], base) if digits[2:] else text
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


def _is_bare(text: str) -> bool:
    """True for blanks, comments, directives and a lone `---`: nothing that can be a document."""
    lines = (line.strip() for line in text.splitlines())
    return all(not line or line[0] in "#%\ufeff" or line in {"---", "..."} for line in lines)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read."""

    event: _Event
    path: str
    items: list[Node] = field(default_factory=list[Node])
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    merges: list[Node] = field(default_factory=list[Node])
    key: Scalar | None = None
    is_mapping: bool = False


class _Builder:
    """Builds one document from the library's events, counting as it goes."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._stack: list[_Open] = []
        self._root: Node | None = None
        self._named: dict[str, tuple[Node, int]] = {}
        self._nodes = 0
        self._repeated: list[Repeated] = []
        self._anchors: list[Anchor] = []
        self._aliases: list[Anchor] = []
        self._has_merge = False
        self._counts: list[int] = []

    def take(self, event: _Event) -> None:
        """Add one event."""
        match type(event).__name__:
            case "ScalarEvent":
                self._count(1, event)
                self._add(self._scalar(event), event)
            case "AliasEvent":
                self._alias(event)
            case "MappingStartEvent" | "SequenceStartEvent" as kind:
                self._open(event, is_mapping=kind == "MappingStartEvent")
            case "MappingEndEvent" | "SequenceEndEvent":
                self._close(event)
            case "DocumentStartEvent" if self._root is not None:
                raise self._fault("a second document begins without '---'", event)
            case _:
                pass

    def document(self) -> Document | None:
        """Return what was built; None when nothing stood there."""
        if self._root is None or (isinstance(self._root, Scalar) and self._root.value is None):
            return None
        return Document(
            root=self._root,
            first_line=self._chunk.first_line,
            repeated=tuple(self._repeated),
            anchors=tuple(self._anchors),
            aliases=tuple(self._aliases),
            has_merge=self._has_merge,
        )

    def _scalar(self, event: _Event) -> Scalar:
        style = event.style or ""
        text = templates.show(event.value)
        tag = str(event.tag or "")
        value = text if style or tag.endswith(":str") or tag == "!" else resolve(text)
        return Scalar(self._place(event), text, value, style, anchor=event.anchor)

    def _open(self, event: _Event, *, is_mapping: bool) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise self._fault(f"nested deeper than {MAX_DEPTH} levels", event)
        self._count(1, event)
        path = ""
        if self._stack:
            parent = self._stack[-1]
            if parent.is_mapping and parent.key is None:
                raise self._fault("a key that is not plain text", event)
            path = self._child_path(parent)
        self._stack.append(_Open(event, path, is_mapping=is_mapping))
        self._counts.append(self._nodes)

    def _close(self, event: _Event) -> None:
        done = self._stack.pop()
        size = self._nodes - self._counts.pop() + 1
        place = self._place(done.event, end=event)
        is_flow = bool(done.event.flow_style)
        node: Node
        if done.is_mapping:
            entries = (*_merged(done.merges, done.entries), *done.entries.values())
            node = MappingNode(place, entries, is_flow, done.event.anchor)
        else:
            node = SequenceNode(place, tuple(done.items), is_flow, done.event.anchor)
        self._add(node, done.event, size=size)

    def _alias(self, event: _Event) -> None:
        name = str(event.anchor)
        if name not in self._named:
            raise self._fault(f"alias *{name} is used but no &{name} stands before it", event)
        node, size = self._named[name]
        self._count(size, event)
        place = self._place(event)
        self._aliases.append(Anchor(name, place))
        self._add(node._replace(place=place, alias=name, anchor=None), event, size=size)

    def _add(self, node: Node, event: _Event, *, size: int = 1) -> None:
        if node.anchor is not None:
            self._named[node.anchor] = (node, size)
            self._anchors.append(Anchor(node.anchor, node.place))
        if not self._stack:
            self._root = node
            return
        parent = self._stack[-1]
        if not parent.is_mapping:
            parent.items.append(node)
        elif parent.key is None:
            if not isinstance(node, Scalar):
                raise self._fault("a key that is not plain text", event)
            parent.key = node
        else:
            self._enter(parent, parent.key, node)
            parent.key = None

    def _enter(self, parent: _Open, key: Scalar, node: Node) -> None:
        if key.text == "<<" and key.is_plain and not isinstance(node, Scalar):
            self._has_merge = True
            parent.merges.append(node)
            return
        if (before := parent.entries.pop(key.text, None)) is not None:
            path = joined(parent.path, key.text)
            self._repeated.append(Repeated(key.text, path, before.key.place, key.place))
        parent.entries[key.text] = Entry(key, node)

    @staticmethod
    def _child_path(parent: _Open) -> str:
        if parent.key is not None:
            return joined(parent.path, parent.key.text)
        return f"{parent.path}[{len(parent.items)}]"

    def _count(self, nodes: int, event: _Event) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._fault(f"more than {MAX_NODES} nodes once aliases are followed", event)

    def _place(self, event: _Event, *, end: _Event | None = None) -> Place:
        start = event.start_mark
        stop = (end or event).end_mark
        return Place(
            line=start.line + self._chunk.first_line,
            column=start.column + 1,
            end_line=stop.line + self._chunk.first_line,
            end_column=stop.column + 1,
            start=start.index + self._chunk.offset,
            end=stop.index + self._chunk.offset,
        )

    def _fault(self, message: str, event: _Event) -> SpecSyntaxError:
        place = self._place(event)
        return SpecSyntaxError(message, line=place.line, column=place.column)


def _merged(sources: list[Node], own: dict[str, Entry]) -> Iterator[Entry]:
    """Yield what `<<` brings in: own keys win, earlier sources win over later ones."""
    seen = set(own)
    for source in sources:
        maps = source.items if isinstance(source, SequenceNode) else (source,)
        for each in maps:
            for entry in each.entries if isinstance(each, MappingNode) else ():
                if entry.key.text not in seen:
                    seen.add(entry.key.text)
                    yield entry._replace(merged=True)


def _syntax_error(error: MarkedYAMLError, chunk: Chunk) -> SpecSyntaxError:
    marked: Any = error
    mark: _Mark | None = marked.problem_mark or marked.context_mark
    line = mark.line + chunk.first_line if mark else chunk.first_line
    problem = _first_line(str(marked.problem or marked.context or marked))
    source = ["", *chunk.text.splitlines(), "", ""]
    index = min(line - chunk.first_line + 1, len(source) - 1)
    cause = _usual_cause(problem, source[index], source[index - 1])
    return SpecSyntaxError(f"{problem}{cause}", line=line, column=mark.column + 1 if mark else 1)


def _usual_cause(problem: str, written: str, before: str) -> str:
    """Return the common reason behind a scanner's complaint, or nothing."""
    indent = written[: len(written) - len(written.lstrip())]
    dots = {".."} & {line.strip()[:2] for line in (written, before)}
    causes = (
        (
            "mapping values are not allowed" in problem,
            "a second ': ' on one line: quote the value, or remove the blank after the colon",
        ),
        ("\t" in indent or "\\t" in problem, "the line is indented with a tab: use blanks"),
        (
            "escape" in problem,
            "in double quotes a backslash starts an escape: write '\\d' or \"\\\\d\"",
        ),
        (bool(dots), "a line of dots is left over from a sample: remove it"),
        (
            "expected ':'" in problem,
            "a line without 'key: value': look at this line and the one before",
        ),
        ("block end" in problem, "the indentation differs from the lines above"),
    )
    return next((f"; {cause}" for applies, cause in causes if applies), "")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:300]
