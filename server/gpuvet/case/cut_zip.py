"""A zip that lost its end: its members one after the other, by the header before each.

Layout: PKWARE APPNOTE 6.3.10, section 4.3.7 (local file header) and 4.3.9 (data descriptor).
"""

import io
import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

LOCAL_HEADER = b"PK\x03\x04"
_DESCRIPTOR = b"PK\x07\x08"
_FIELDS = struct.Struct("<4s5H3I2H")
_ENCRYPTED, _SIZES_FOLLOW, _UTF8 = 1, 8, 0x800
_STORED, _DEFLATED = 0, 8
_ZIP64 = 0xFFFFFFFF
_BLOCK = 64 * 1024


class LocalMember(NamedTuple):
    """One member as its own header tells."""

    name: str
    packed: int  # bytes; 0 where the header leaves the size to the end
    data: "_MemberData | None"  # unpacked; None where it is not read
    refused: str | None = None


class _MemberData(io.RawIOBase):
    """A member's unpacked bytes; the file behind it is left where the member ends."""

    def __init__(self, file: IO[bytes], size: int | None, *, is_deflated: bool) -> None:
        super().__init__()
        self._file = file
        self._left = size  # packed bytes to come; None: until the deflate stream ends
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS) if is_deflated else None
        self._ahead = b""  # packed bytes in hand

    def read(self, size: int = -1, /) -> bytes:
        wanted = _BLOCK if size < 0 else max(1, size)
        if self._inflate is None:
            return self._packed(wanted)
        while not self._inflate.eof:
            packed = self._ahead or self._packed(_BLOCK)
            self._ahead = b""
            if not packed:
                raise EOFError
            chunk = self._inflate.decompress(packed, wanted)
            self._ahead = self._inflate.unconsumed_tail
            if self._inflate.eof and self._left is None:
                self._file.seek(-len(self._inflate.unused_data), io.SEEK_CUR)
            if chunk:
                return chunk
        return b""

    def _packed(self, size: int) -> bytes:
        if self._left == 0:
            return b""
        chunk = self._file.read(size if self._left is None else min(size, self._left))
        if not chunk:
            raise EOFError
        if self._left is not None:
            self._left -= len(chunk)
        return chunk

    def skip(self) -> None:
        """Go to the member's end.

        Raises:
            EOFError: The file ends before.
        """
        while self.read(_BLOCK):
            pass
        while self._left:
            self._packed(_BLOCK)


def local_members(file: IO[bytes]) -> Iterator[LocalMember]:
    """Yield members until the file ends or no header follows.

    Args:
        file: At its start; a member's data is read before the next member is asked for.
    """
    while True:
        head = file.read(_FIELDS.size)
        if len(head) < _FIELDS.size or not head.startswith(LOCAL_HEADER):
            return
        _, _, flags, method, _, _, _, packed, _, name_size, extra_size = _FIELDS.unpack(head)
        name = file.read(name_size).decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        extra = file.read(extra_size)
        size = _size(packed, extra)
        is_open = bool(flags & _SIZES_FOLLOW) and size == 0
        if flags & _ENCRYPTED or method not in {_STORED, _DEFLATED} or (is_open and not method):
            yield LocalMember(name, size, None, "encrypted, or packed in a way we do not read")
            if is_open:
                return
            file.seek(size, io.SEEK_CUR)
            continue
        data = _MemberData(file, None if is_open else size, is_deflated=method == _DEFLATED)
        yield LocalMember(name, 0 if is_open else size, data)
        try:
            data.skip()
        except (EOFError, zlib.error):
            return
        if flags & _SIZES_FOLLOW:
            _skip_descriptor(file)


def _size(packed: int, extra: bytes) -> int:
    """Return the packed size; one beyond 4 GiB stands in the extra field 0x0001, second."""
    while packed == _ZIP64 and len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == 1 and length >= 16:
            return int(struct.unpack_from("<Q", extra, 12)[0])
        extra = extra[4 + length :]
    return packed


def _skip_descriptor(file: IO[bytes]) -> None:
    """Go on to the next header: a descriptor has 12 to 24 bytes."""
    place = file.tell()
    after = file.read(24 + 4)
    found = after.find(LOCAL_HEADER, 4 if after.startswith(_DESCRIPTOR) else 0)
    file.seek(place + max(found, 0))
