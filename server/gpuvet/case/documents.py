"""Text and JSON of untrusted files: decoded, bounded, and told apart from what is neither."""

import io
import json
import re
from typing import NamedTuple, NoReturn

from gpuvet.case.container import Container
from gpuvet.case.content import Content
from gpuvet.model.untyped import is_array, is_object

HEAD_BYTES = 64 * 1024
# Ours: AWS and Kubernetes objects stay below 20 levels.
MOST_LEVELS = 64
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # what PowerShell's `>` writes

_NULS = re.compile(rb"\0+")
# Controls but tab, line ends and escape (colours), and what decoding could not read.
_STRANGE = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
# Ours. French in Latin-1 is one strange character in ten; random bytes are five.
_FEW_RUNS = 8
_STRANGE_SHARE = 4
# journald's own file, zip, zstd, lz4, 7z, ELF, PNG, SQLite, pcap: their formats name these bytes.
JOURNALD = b"LPKSHHRH"
_MAGICS = (
    *(JOURNALD, b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"7z\xbc\xaf\x27\x1c"),
    *(b"\x7fELF", b"\x89PNG", b"SQLite format 3\0", b"\xd4\xc3\xb2\xa1"),
)


class NotJson(ValueError):
    """Text that is not one JSON document we can hold."""


class Head(NamedTuple):
    """The beginning of a file, and the reader that goes on after it."""

    data: bytes
    rest: "io.BufferedReader[Content]"
    content: Content

    @property
    def text(self) -> str:
        """The beginning as text."""
        return decode(self.data)

    @property
    def is_binary(self) -> bool:
        """Say whether this is no text: control bytes, broken UTF-8, or NULs all over it.

        A log that a crash filled with NULs still has lines around a few runs of them; numbers in
        binary and a program's own records have NULs everywhere.
        """
        if self.data.startswith(_UTF16):
            return False
        text = decode(self.data.replace(b"\0", b""))
        if not text.strip():
            return b"\0" in self.data
        lines = self.data.count(b"\n")
        if len(_NULS.findall(self.data)) > lines + _FEW_RUNS:
            return True
        strange = len(_STRANGE.findall(text)) * _STRANGE_SHARE > len(text)
        return strange or self.data.startswith(_MAGICS)

    def whole(self, limit: int) -> tuple[str, bool]:
        """Return the file as text up to a limit, and whether more stood behind it."""
        data = self.data + self.rest.read(max(0, limit - len(self.data)))
        is_more = len(data) >= limit and bool(self.rest.read(1))
        return decode(data[:limit]), is_more


def open_head(content: Content) -> Head:
    """Read the beginning of a file."""
    reader = io.BufferedReader(content, 256 * 1024)
    return Head(reader.read(HEAD_BYTES), reader, content)


def decode(data: bytes) -> str:
    """Return bytes as text: UTF-8, or UTF-16 where its mark says so; what is broken is shown."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def parse_json(text: str) -> object:
    """Return one JSON document.

    Raises:
        NotJson: It is none, is nested too deep, or holds NaN or Infinity.
    """
    try:
        document: object = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise NotJson("nested too deep") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    if _levels_beyond(document, MOST_LEVELS):
        msg = f"nested more than {MOST_LEVELS} levels deep"
        raise NotJson(msg)
    return document


def _refuse(word: str) -> NoReturn:
    msg = f"{word} is no JSON"
    raise ValueError(msg)


def _levels_beyond(document: object, most: int) -> bool:
    level = [document]
    for _ in range(most):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: object) -> list[object]:
    if is_object(value):
        return [inner for inner in value.values() if is_object(inner) or is_array(inner)]
    if is_array(value):
        return [inner for inner in value if is_object(inner) or is_array(inner)]
    return []


def one_document(container: Container) -> tuple[object, str, int]:
    """Return the JSON document that a one-file case is, its name and its bytes.

    The document is None where the file is not one JSON document.
    """
    for file in container.files():
        if file.content is None:
            return None, file.path, 0
        head = open_head(file.content)
        if head.text.lstrip()[:1] not in {"{", "["}:
            return None, file.path, file.content.size
        text, is_more = head.whole(container.limits.document_bytes)
        try:
            document = None if is_more else parse_json(text)
        except NotJson:
            document = None
        return document, file.path, file.content.size
    return None, container.path.name, 0
