"""Text in UTF-16 or UTF-32 given as UTF-8 while it is read; everything else as it is."""

import codecs
import re
from typing import Protocol


class Source(Protocol):
    """Bytes to read; most sources can also read what they have at once (`read1`)."""

    def read(self, size: int = ..., /) -> bytes:
        """Return at most so many bytes; none at the end."""
        ...


# Longest marks first: that of UTF-32 begins like that of UTF-16 (Unicode 15, table 23-5).
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Ours: how much of a file without a mark is looked at, and how plain it must be.
_SAMPLE = 512
_FEWEST = 8
# Pairs of plain bytes read as UTF-16: what `>>` of another shell appends. Ours: so long a run
# without a space or a line end is no writing.
_OTHER_BYTES = re.compile("[\u2020-\u7e7e]{48}")
_PLAIN = re.compile(rb"[\t\r\n\x1b\x20-\x7e]")


class AsUtf8:
    """A source whose text is UTF-8, whatever two- or four-byte form it was written in."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._decoder: codecs.IncrementalDecoder | None = None
        self._is_begun = self._is_ended = False
        self._fault: Exception | None = None

    def read(self, size: int = _SAMPLE, /) -> bytes:
        """Return up to about so many bytes, never more; none at the end."""
        if not self._is_begun:
            return self._begin(size)
        if self._ready:
            return self._give(size)
        return self._next(size)

    _ready = b""

    def _next(self, size: int) -> bytes:
        while not self._is_ended:
            if self._fault is not None:
                raise self._fault
            chunk = read_some(self._source, size)
            self._is_ended = not chunk
            self._ready = self._decoded(chunk)
            if self._ready:
                return self._give(size)
        return b""

    def _begin(self, size: int) -> bytes:
        head = b""
        self._is_begun = True
        while len(head) < _SAMPLE:
            try:
                chunk = read_some(self._source, max(size, _SAMPLE))
            except Exception as error:  # noqa: BLE001 - raised once what was read is given
                self._fault = error
                break
            if not chunk:
                break
            head += chunk
        name, skip = encoding_of(head)
        self._decoder = codecs.getincrementaldecoder(name)("replace") if name else None
        self._ready = self._decoded(head[skip:])
        return self._give(size) if self._ready else self._next(size)

    def _decoded(self, chunk: bytes) -> bytes:
        if self._decoder is None:
            return chunk
        text = self._decoder.decode(chunk, final=not chunk)
        if _OTHER_BYTES.search(text):  # given as it is; nothing behind it can be trusted
            self._fault = ValueError("UTF-16 that goes on in another encoding")
        return text.encode("utf-8", errors="replace")

    def _give(self, size: int) -> bytes:
        given, self._ready = self._ready[:size], self._ready[size:]
        return given


def encoding_of(head: bytes) -> tuple[str | None, int]:
    """Return the two- or four-byte encoding of a text by its beginning, and its mark's length.

    Without a mark it is UTF-16 where every second byte is NUL and the others are plain text.
    None is any encoding of single bytes.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    sample = head[:_SAMPLE]
    even, odd = sample[::2], sample[1::2]
    for high, low, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if len(high) >= _FEWEST and _is_plain(low) and high.count(0) * 10 >= len(high) * 9:
            return name, 0
    return None, 0


def _is_plain(data: bytes) -> bool:
    return len(_PLAIN.findall(data)) * 10 >= len(data) * 9


def read_some(source: Source, size: int) -> bytes:
    """Read once, so that what was unpacked before a fault is not lost with it."""
    read1 = getattr(source, "read1", None)
    return bytes(read1(size) if read1 is not None else source.read(size))
