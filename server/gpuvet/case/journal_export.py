"""A journal as `journalctl -o export` writes it, given as one JSON object a line while it is read.

An entry is lines `FIELD=value` up to an empty line; a value with line ends or other bytes stands
behind its field's name as eight bytes of length, little endian, and the value itself (systemd,
JOURNAL_EXPORT_FORMATS). Everything else passes as it is.
"""

import json
import re
from collections.abc import Mapping

from gpuvet.case.encoding import Source, read_some

# The fields that anything here reads; an entry holds some thirty more.
_FIELDS = (
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "__MONOTONIC_TIMESTAMP",
    "_SOURCE_MONOTONIC_TIMESTAMP",
    "_BOOT_ID",
    "_HOSTNAME",
    "_TRANSPORT",
    "PRIORITY",
    "SYSLOG_IDENTIFIER",
    "_COMM",
    "_PID",
    "_SYSTEMD_UNIT",
    "MESSAGE",
)
_TEXT = re.compile(rb"(?m)^(" + b"|".join(f.encode() for f in _FIELDS) + rb")=([^\n]*)$")
_BINARY = re.compile(rb"(?m)^[A-Z0-9_]+$")
_BEGINS = re.compile(rb"\s{0,64}__(?:CURSOR|REALTIME_TIMESTAMP|SEQNUM)=[^\n]*\n")
_SAMPLE = 512
_CHUNK = 256 * 1024
_LENGTH = 8
# Ours: journald takes fields up to 768 MiB; no message that is read is near this.
_MOST_BYTES = 16 * 2**20
_MOST_MESSAGE = 64 * 2**10


class JournalLines:
    """A source that turns an exported journal into JSON lines, and passes all else on."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._held = b""  # read and not yet turned
        self._ready = b""
        self._is_export: bool | None = None  # None: nothing was read yet
        self._is_ended = False
        self._fault: Exception | None = None

    def read(self, size: int = _CHUNK, /) -> bytes:
        """Return up to so many bytes; none at the end."""
        if self._is_export is None:
            self._begin()
        if not self._is_export:
            return self._pass_on(size)
        while not self._ready:
            self._ready = self._turned()
            if not self._ready and self._is_ended:
                if self._fault is not None:
                    raise self._fault
                return b""
            if not self._ready:
                self._fill()
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def _begin(self) -> None:
        while len(self._held) < _SAMPLE and not self._is_ended:
            self._fill()
        self._is_export = _BEGINS.match(self._held) is not None

    def _pass_on(self, size: int) -> bytes:
        if self._held:
            given, self._held = self._held[:size], self._held[size:]
            return given
        if self._fault is not None:
            raise self._fault
        return b"" if self._is_ended else read_some(self._source, size)

    def _fill(self) -> None:
        try:
            chunk = read_some(self._source, _CHUNK)
        except Exception as error:  # noqa: BLE001 - raised once what was read is given
            self._fault, self._is_ended = error, True
            return
        self._is_ended = not chunk
        self._held += chunk

    def _turned(self) -> bytes:
        """Return the whole entries that are held as lines; what is left of one stays held."""
        lines: list[bytes] = []
        at = 0
        while at < len(self._held):
            found = self._entry(at)
            if found is None:
                break
            fields, at = found
            if fields:
                lines.append(_line(fields))
        self._held = self._held[at:]
        if len(self._held) > 2 * _MOST_BYTES:
            self._broken({}, len(self._held))
            self._held = b""
        return b"".join(lines)

    def _entry(self, start: int) -> tuple[dict[str, bytes], int] | None:
        """Return the fields of the entry that begins here and where the next one does."""
        end = self._held.find(b"\n\n", start)
        if end < 0 and not self._is_ended:
            return None
        text = self._held[start : end if end >= 0 else len(self._held)]
        binary = _BINARY.search(text)
        if binary is None:
            return _text_fields(text), end + 2 if end >= 0 else len(self._held)
        return self._binary_entry(start)

    def _binary_entry(self, start: int) -> tuple[dict[str, bytes], int] | None:
        """Read an entry line by line: its values may hold what looks like its end."""
        fields: dict[str, bytes] = {}
        at = start
        while True:
            end = self._held.find(b"\n", at)
            if end < 0:
                return (fields, len(self._held)) if self._is_ended else None
            line = self._held[at:end]
            at = end + 1
            if not line:
                return fields, at
            name, is_text, value = line.partition(b"=")
            if not is_text:
                length = int.from_bytes(self._held[at : at + _LENGTH], "little")
                if length > _MOST_BYTES:
                    return self._broken(fields, length)
                stop = at + _LENGTH + length
                if stop > len(self._held):
                    return (fields, len(self._held)) if self._is_ended else None
                value, at = self._held[at + _LENGTH : stop], stop + 1
            _keep(fields, name, value)

    def _broken(self, fields: dict[str, bytes], length: int) -> tuple[dict[str, bytes], int]:
        self._fault = ValueError(f"a journal field of {length} bytes")
        self._is_ended = True
        return fields, len(self._held)


def _text_fields(text: bytes) -> dict[str, bytes]:
    fields: dict[str, bytes] = {}
    for name, value in _TEXT.findall(text):
        _keep(fields, name, value)
    return fields


def _keep(fields: dict[str, bytes], name: bytes, value: bytes) -> None:
    """Keep a field; one that an entry carries more than once becomes several lines."""
    key = name.decode("ascii", errors="replace")
    if key in _FIELDS:
        before = fields.get(key)
        fields[key] = (value if before is None else before + b"\n" + value)[:_MOST_MESSAGE]


def _line(fields: Mapping[str, bytes]) -> bytes:
    ordered = {
        name: fields[name].decode("utf-8", errors="replace") for name in _FIELDS if name in fields
    }
    return json.dumps(ordered, separators=(",", ":")).encode() + b"\n"
