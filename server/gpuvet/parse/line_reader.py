"""Reads the lines of one stream in order, counts each exactly once, and keeps what they say."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from gpuvet.model.events import AnyRecord, Source
from gpuvet.parse.hma_log import structured_records
from gpuvet.parse.joins import Kept, Torn, join
from gpuvet.parse.place import Spot
from gpuvet.parse.recognise import Fate, Reading, mentions_driver, recognise
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import Peeled, peel

MOST_NOTES = 50
MOST_UNREAD = 20
LONGEST_MESSAGE = 8 << 10  # of one message; the kernel itself prints at most 1 KiB
LONGEST_LINE = 64 << 10  # characters of one line that are read; CloudWatch takes up to 1 MiB

# A line with none of these says nothing we read; testing for them is far cheaper than peeling.
NEEDLES = (
    *("NVRM", "Xid", "XID", "xid", "MMU Fault", "Fault is of type", "fallen off", "PCI ID:"),
    *("abric", "NVSwitch", "infoROM", "GPU reset", "successfully reset", "NVLink"),
    *("Linux version", "ommand line:", "Power", "SIGTERM", "ystem ", "target", "hutting"),
    *("eboot", "nstance", "HealthMonitoring", "NPD", "DCGM", "ealth", "FaultyInstance"),
    *("Kernel panic", "Hardware Error", "Uncorrect", "EDAC", "controller is down", "soft lock"),
    *('"MESSAGE":', ",c", " P "),  # bytes, kmsg and CRI parts may hide any of them
)
_BREAK = re.compile(r"\r?\n|(?:#012|\\x0a|\\n)(?=\s*(?:NVRM:|MMU Fault|Fault is of type))")
_AGENT_STREAMS = ("HealthMonitoringAgent", "DeepHealthCheck")
_CORE = "NVRM: Xid ("
# A report that was begun: whatever follows cannot be read, and some Xid it was.
_REPORT = re.compile(r"\bS?Xid \(PCI|NVRM: S?X(?:i(?:d(?: (?:\(P?C?)?)?)?)?$")
_KEY_VALUE = re.compile(r" [A-Z_]+=")  # what /dev/kmsg adds under a record


def has_needle(text: str) -> bool:
    """Say whether a line may say something; False is certain."""
    for needle in NEEDLES:  # noqa: SIM110 - a loop is twice as fast as any() with a generator
        if needle in text:
            return True
    return False


class _Held(NamedTuple):
    """A line that came in parts, as far as it is known."""

    peeled: Peeled
    text: str
    line: int
    parts: int


class LineReader:
    """Takes lines one by one; `finish` gives the records and completes the counts."""

    def __init__(
        self,
        *,
        node: str,
        stream: str,
        group: str | None,
        reference_time: datetime,
        names: Mapping[str, str],
    ) -> None:
        self.lines = 0
        self.fates = dict.fromkeys(Fate, 0)
        self.notes: list[str] = []
        self.unread: list[str] = []
        self.garbled = 0
        self._node, self._stream, self._group = node, stream, group
        self._reference, self._names = reference_time, names
        self._is_agent = any(name in stream for name in _AGENT_STREAMS)
        self._held: dict[tuple[str, str | None], _Held] = {}
        self._kept: list[Kept] = []
        self._torn: list[Torn] = []
        self._order = 0

    def take(self, text: str, line: int, shipped_at: datetime | None = None) -> None:
        """Read one line."""
        self.lines += 1
        text = text[:LONGEST_LINE]
        wanted = self._is_agent or self._held or has_needle(text)
        if not wanted or _KEY_VALUE.match(text):
            self.fates[Fate.UNRELATED] += 1
            return
        peeled = peel(text, reference=self._reference, shipped_at=shipped_at)
        key = (peeled.channel, peeled.host)
        held = self._held.pop(key, None)
        held = _Held(peeled, text, line, 1) if held is None else _longer(held, peeled, text)
        if peeled.partial:
            self._held[key] = held
        else:
            self._read(held)

    def finish(self) -> tuple[AnyRecord, ...]:
        """Join what belongs together and return the records in line order."""
        for held in self._held.values():
            self._read(held._replace(peeled=held.peeled._replace(cut=True)))
        self._held.clear()
        joined = join(self._kept, self._torn)
        for part in joined.left:
            self.fates[Fate.UNDERSTOOD] -= part.lines
            self.fates[Fate.NOT_UNDERSTOOD] += part.lines
        return tuple(kept.record for kept in joined.records)

    def _read(self, held: _Held) -> None:
        spot = self._spot(held)
        readings = self._structured(spot) if held.peeled.fields is not None else ()
        if not readings:
            readings = tuple(self._segments(spot, held.parts))
        fate = max((reading.fate for reading in readings), default=Fate.UNRELATED)
        self.fates[fate] += held.parts
        self.garbled += fate is Fate.NOT_UNDERSTOOD and _REPORT.search(held.text) is not None
        if fate is Fate.NOT_UNDERSTOOD and len(self.unread) < MOST_UNREAD:
            self.unread.append(clean(held.text))

    def _structured(self, spot: Spot) -> tuple[Reading, ...]:
        """Read an agent's record; nothing where its message may still be a driver's line."""
        fields = spot.peeled.fields or {}
        found = structured_records(
            fields, spot.place(Source.HMA), whole=spot.text, shipped_at=spot.peeled.shipped_at
        )
        if not found:
            return () if mentions_driver(spot.peeled.body) else (Reading(Fate.UNRELATED),)
        self._order += 1
        self._kept += (Kept(self._order, spot.peeled.host, record) for record in found)
        return (Reading(Fate.UNDERSTOOD, found),)

    def _segments(self, spot: Spot, parts: int) -> list[Reading]:
        """Read each line that the body of a record holds."""
        bodies = _messages(spot.peeled.body)
        readings = [recognise(body, spot) for body in bodies]
        host, alone = spot.peeled.host, parts if len(bodies) == 1 else 0
        for body, reading in zip(bodies, readings, strict=True):
            self._order += 1
            self._kept += (Kept(self._order, host, record) for record in reading.records)
            if reading.piece is not None:
                place = spot.place(Source.KERNEL)
                self._torn.append(Torn(reading.piece, body, place, host, self._order, alone))
            if reading.note and reading.note not in self.notes and len(self.notes) < MOST_NOTES:
                self.notes.append(reading.note)
        return readings

    def _spot(self, held: _Held) -> Spot:
        peeled = held.peeled
        node = peeled.instance or (self._names.get(peeled.host) if peeled.host else None)
        return Spot(peeled, held.text, held.line, node or self._node, self._stream, self._group)


def _longer(held: _Held, peeled: Peeled, text: str) -> _Held:
    """Return a line in parts with one part more; what stands first tells where and when."""
    body = (held.peeled.body + peeled.body)[:LONGEST_LINE]
    joined = held.peeled._replace(body=body, partial=peeled.partial)
    return _Held(joined, (held.text + text)[:LONGEST_LINE], held.line, held.parts + 1)


def _messages(body: str) -> list[str]:
    """Return the lines a record holds, and the driver prints a console ran together in one."""
    if "\n" in body or "\\" in body or "#012" in body:
        lines = [line.strip() for line in _BREAK.split(body)]
    else:
        lines = [body.strip()]
    if body.count(_CORE) > 1:
        lines = [part for line in lines for part in _apart(line)]
    return [_bounded(line) for line in lines if line]


def _bounded(line: str) -> str:
    if len(line) <= LONGEST_MESSAGE:
        return line
    start = max(0, line.find(_CORE) - LONGEST_MESSAGE // 8)
    return line[start : start + LONGEST_MESSAGE]


def _apart(line: str) -> list[str]:
    """Split before every driver core but the first, which keeps what stands before it."""
    lead, *cores = line.split(_CORE)
    whole = [_CORE + core for core in cores]
    return [lead + whole[0], *whole[1:]] if whole else [lead]
