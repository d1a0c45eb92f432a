"""The bytes of one untrusted file: unpacked, counted and limited while they are read.

Reading never raises for a broken source: it ends, and `problem` says why.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, NamedTuple

from gpuvet.case.encoding import AsUtf8, Source, read_some
from gpuvet.case.journal_export import JournalLines

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Limits(NamedTuple):
    """How much of a case is read. All are ours, well above any real case."""

    files: int = 20_000
    total_bytes: int = 32 * 2**30  # unpacked, of the whole case
    document_bytes: int = 64 * 2**20  # of one JSON document
    text_bytes: int = 2**20  # of one manifest, script or note
    ratio: int = 250  # unpacked to packed; text logs reach about 60
    ratio_floor: int = 32 * 2**20  # below this size a ratio proves nothing


LIMITS = Limits()
_CHUNK = 256 * 1024
_BROKEN = (
    *(EOFError, OSError, ValueError, RuntimeError, zlib.error, lzma.LZMAError),
    *(zipfile.BadZipFile, tarfile.TarError),
)
# Packed files are told by their first bytes, never by their names.
_GZIP, _XZ, _BZ2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"


class Budget:
    """What is left of the whole case's allowance."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = 0

    def took(self, size: int) -> str | None:
        """Count bytes; the problem, once the allowance is spent."""
        self._bytes += size
        if self._bytes <= self.limits.total_bytes:
            return None
        return f"the case unpacks to more than {self.limits.total_bytes} bytes"


class Counted(io.RawIOBase):
    """A stream that counts what is read from it; small enough to sit below a decompressor.

    A broken source ends here and `problem` says why: a buffer above would lose what it had read.
    """

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__()
        self._source = source
        self.size = 0
        self.problem: str | None = None

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer from the source; 0 at the end, which `problem` may explain."""
        view = memoryview(buffer).cast("B")
        if self.problem is not None:
            return 0
        try:
            chunk = read_some(self._source, len(view))
        except _BROKEN as error:
            self.problem = _words(error)
            return 0
        view[: len(chunk)] = chunk
        self.size += len(chunk)
        return len(chunk)


class Content(io.RawIOBase):
    """The unpacked bytes of one file.

    Attributes:
        size: Bytes given out so far.
        problem: Why there are no more, where that is not simply the end.
    """

    def __init__(
        self, source: Source, budget: Budget, packed: Counted | int | None, below: Counted
    ) -> None:
        """Read a source within a budget.

        Args:
            source: Unpacked bytes.
            budget: Of the whole case.
            packed: Bytes they take packed, or where these are counted; None: never packed.
            below: The file as it lies in the case; it may end early.
        """
        super().__init__()
        self._source = source
        self._below = below
        self._budget = budget
        self._packed = packed
        self.size = 0
        self.problem: str | None = None

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer; 0 at the end, which `problem` may explain."""
        view = memoryview(buffer).cast("B")
        if self.problem is not None:
            return 0
        try:
            chunk = read_some(self._source, min(len(view), _CHUNK))
        except _BROKEN as error:
            self.problem = f"cut short: {self._below.problem or _words(error)}"
            return 0
        if not chunk and self._below.problem is not None:
            self.problem = f"cut short: {self._below.problem}"
        self.size += len(chunk)
        limit = self._budget.took(len(chunk)) or self._beyond_ratio()
        self.problem = f"cut short: {limit}" if limit else self.problem
        view[: len(chunk)] = chunk
        return len(chunk)

    def as_lines(self) -> None:
        """Give text in UTF-16 or UTF-32 as UTF-8 and an exported journal as JSON lines.

        Everything else stays as it is.
        """
        self._source = JournalLines(AsUtf8(self._source))

    def _beyond_ratio(self) -> str | None:
        limits = self._budget.limits
        if self._packed is None or self.size <= limits.ratio_floor:
            return None
        packed = self._packed if isinstance(self._packed, int) else self._packed.size
        if self.size <= max(packed, 1) * limits.ratio:
            return None
        return f"it unpacks to more than {limits.ratio} times its size"


def unpacked(source: IO[bytes], budget: Budget, packed: int | None = None) -> Content:
    """Return a file's content, unpacked where its first bytes say that it is packed.

    Args:
        source: The file as it lies in the case.
        budget: Of the whole case.
        packed: Bytes it takes inside an archive, where it lies in one.
    """
    counted = Counted(source)
    stream = io.BufferedReader(counted, _CHUNK)
    kind = _packing(stream)
    if kind is None:
        return Content(stream, budget, packed, counted)
    return Content(_opened(kind, stream), budget, counted, counted)


def readable(source: IO[bytes], budget: Budget, packed: int | None = None) -> Content:
    """Return a file's content unpacked, and as UTF-8 where it is text in UTF-16 or UTF-32.

    Args:
        source: The file as it lies in the case.
        budget: Of the whole case.
        packed: Bytes it takes inside an archive, where it lies in one.
    """
    content = unpacked(source, budget, packed)
    content.as_lines()
    return content


def _packing(stream: io.BufferedReader[Counted]) -> bytes | None:
    try:
        head = stream.peek(8)
    except _BROKEN:
        return None
    return next((magic for magic in (_GZIP, _XZ, _BZ2) if head.startswith(magic)), None)


def _opened(magic: bytes, stream: IO[bytes]) -> Source:
    if magic == _GZIP:
        return gzip.GzipFile(fileobj=stream)
    return lzma.LZMAFile(stream) if magic == _XZ else bz2.BZ2File(stream)


def _words(error: BaseException) -> str:
    """Return in plain words why reading ended; the libraries' own are for programmers."""
    if isinstance(error, EOFError):
        return "the file ends before what is packed in it does; copy it again"
    if isinstance(error, (zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)):
        return "its packed bytes are damaged; copy it again"
    if isinstance(error, OSError) and error.strerror:
        return f"it cannot be read further: {error.strerror}"
    return "its bytes are damaged from here on; copy it again"
