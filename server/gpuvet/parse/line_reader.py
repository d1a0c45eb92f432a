"""Reads the lines of one stream in order and joins what shippers tore apart.

Joins wait until the last line, so that an order the shipper changed does not change the outcome.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple

from gpuvet.model.events import (
    AnyRecord,
    Boundary,
    BoundaryKind,
    FabricManagerLine,
    GpuIdentity,
    InforomCorrupted,
    Shutdown,
    Source,
    SxidEvent,
    TimeQuality,
    XidEvent,
)
from gpuvet.parse import node_lines
from gpuvet.parse.hma_log import is_agent_text, structured_records, text_records
from gpuvet.parse.known_lines import known_line
from gpuvet.parse.place import Place
from gpuvet.parse.untrusted import clean, clean_around
from gpuvet.parse.wrappers import Peeled, instance_id, peel
from gpuvet.parse.xid_line import XidCore, find_sxid, find_xid, pci_id

PROBE_FORM = "probe: fallen off the bus and is not responding to commands."
MOST_NOTES = 50
MOST_UNREAD = 20
_MOMENT = timedelta(seconds=1)  # parts of one driver print share the second
_BOOT_MOMENT = timedelta(seconds=60)  # version and command line of one boot
_BOOT_UPTIME_US = 300_000_000  # later than this no line is a boot's first
_NEAR_LINES = 3  # where there is no time: how far apart parts of one print may stand

# A line with none of these says nothing we read; testing for them is far cheaper than peeling.
_NEEDLES = (
    *("NVRM", "Xid", "XID", "xid", "MMU Fault", "Fault is of type", "fallen off", "PCI ID:"),
    *("abric", "NVSwitch", "infoROM", "GPU reset", "successfully reset"),
    *("Linux version", "ommand line:", "Power", "SIGTERM", "ystem ", "target", "hutting"),
    *("eboot", "nstance", "HealthMonitoring", "NPD", "DCGM", "ealth", '"MESSAGE":', ",c"),
)
_BREAK = re.compile(r"\r?\n|(?:#012|\\x0a|\\n)(?=\s*(?:NVRM:|MMU Fault|Fault is of type))")
_KEY_VALUE = re.compile(r" [A-Z_]+=")
_LOST = re.compile(r"(?:NVRM: )?GPU (?P<pci>[0-9a-fA-F:.]+): GPU has fallen off the bus")
_PROBE_HEAD = re.compile(
    r"(?:NVRM: )?The NVIDIA GPU (?P<pci>[0-9a-fA-F:.]+)(?P<rest>.*)", re.DOTALL
)
_PROBE_MIDDLE = re.compile(r"(?:NVRM: )?\(PCI ID: .*?\) installed in this system")
_PROBE_TAIL = re.compile(r"(?:NVRM: )?fallen off the bus and is not responding")
_CONTINUES = ("MMU Fault", "Fault is of type")
_TRACED = re.compile(r"(?:^|\s)(?P<uptime>\d+\.\d{6}): nvidia\w*:\s*$")
_MENTIONS = re.compile(r"NVRM|SXid|\bXid\b|\bXID|fallen off the bus")


class _Fate(IntEnum):
    """What became of a line; of several segments the highest stands."""

    UNRELATED = 0
    BENIGN = 1
    NOT_UNDERSTOOD = 2
    UNDERSTOOD = 3


class _Part(NamedTuple):
    """A piece of a print whose other pieces are on other lines."""

    kind: str
    body: str
    place: Place
    host: str | None
    order: int
    entry: int  # whose fate it decides


class _Entry:
    """The fate of one line, or of the lines one partial record came in."""

    __slots__ = ("fate", "lines")

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.fate = _Fate.UNRELATED

    def was(self, fate: _Fate) -> None:
        self.fate = max(self.fate, fate)


class LineReader:
    """Takes lines one by one; `finish` gives the records."""

    def __init__(
        self,
        *,
        node: str,
        stream: str,
        group: str | None,
        reference_time: datetime,
        names: Mapping[str, str],
    ) -> None:
        self.lines = self.understood = self.benign = self.unrelated = self.not_understood = 0
        self.notes: list[str] = []
        self.unread: list[str] = []
        self._node, self._stream, self._group = node, stream, group
        self._reference, self._names = reference_time, names
        self._records: list[tuple[int, str | None, AnyRecord]] = []  # order, host, record
        self._parts: list[_Part] = []
        self._partial: dict[tuple[str, str | None], tuple[Peeled, str, int, int]] = {}
        self._entries: list[_Entry] = []
        self._order = 0

    def take(self, text: str, line: int, shipped_at: datetime | None) -> None:
        """Read one line."""
        self.lines += 1
        wanted = any(needle in text for needle in _NEEDLES) or " P " in text or self._partial
        if not wanted or _KEY_VALUE.match(text):
            self.unrelated += 1
            return
        peeled = peel(text, reference=self._reference, shipped_at=shipped_at)
        key = (peeled.channel, peeled.host)
        if peeled.partial:
            self._hold(key, peeled, text, line)
        elif key in self._partial:
            first, whole, start, count = self._partial.pop(key)
            joined = first._replace(body=first.body + peeled.body, partial=False)
            self._read(joined, whole + peeled.body, start, count + 1)
        else:
            self._read(peeled, text, line, 1)

    def finish(self) -> tuple[AnyRecord, ...]:
        """Join what belongs together and return the records in line order."""
        for peeled, text, line, count in self._partial.values():
            self._read(peeled._replace(cut=True), text, line, count)
        self._partial.clear()
        self._join_continuations()
        self._join_probe_forms()
        self._join_command_lines()
        self._join_serials()
        self._count()
        return tuple(record for _, _, record in sorted(self._records, key=lambda item: item[0]))

    def _hold(self, key: tuple[str, str | None], peeled: Peeled, text: str, line: int) -> None:
        if key in self._partial:
            first, whole, start, count = self._partial[key]
            joined = first._replace(body=first.body + peeled.body)
            self._partial[key] = (joined, whole + peeled.body, start, count + 1)
        else:
            self._partial[key] = (peeled, text, line, 1)

    def _read(self, peeled: Peeled, text: str, line: int, count: int) -> None:
        entry = _Entry(count)
        self._entries.append(entry)
        if peeled.fields is not None:
            self._structured(peeled, text, line, entry)
            return
        for body in _BREAK.split(peeled.body):
            for segment in _cores(body.strip()):
                self._order += 1
                self._segment(segment, peeled, text, line, entry)
        if entry.fate is _Fate.NOT_UNDERSTOOD and len(self.unread) < MOST_UNREAD:
            self.unread.append(clean(text))

    def _structured(self, peeled: Peeled, text: str, line: int, entry: _Entry) -> None:
        self._order += 1
        place = self._place(peeled, text, line, Source.HMA, 0)
        found = structured_records(peeled.fields or {}, place, whole=text)
        for record in found:
            self._add(record, peeled.host, entry)
        if not found and peeled.body and _MENTIONS.search(peeled.body):
            relayed = peeled._replace(relayed=True)
            self._segment(peeled.body, relayed, text, line, entry)

    def _segment(self, body: str, peeled: Peeled, text: str, line: int, entry: _Entry) -> None:
        if not body:
            return
        if is_agent_text(text):
            place = self._place(peeled, text, line, Source.HMA, 0)
            for record in text_records(body, place):
                self._add(record, peeled.host, entry)
        elif not (
            self._driver_error(body, peeled, text, line, entry)
            or self._torn(body, peeled, text, line, entry)
            or self._about_node(body, peeled, text, line, entry)
        ):
            self._leftover(body, entry)

    def _driver_error(self, body: str, peeled: Peeled, text: str, line: int, entry: _Entry) -> bool:
        if core := find_xid(body):
            self._add(self._xid(core, body, peeled, text, line), peeled.host, entry)
        elif switch := find_sxid(body):
            entry.was(_Fate.UNDERSTOOD)
            if not switch.detail:
                source = _source(peeled, body[: switch.start].replace("nvidia-", ""))
                record = SxidEvent(
                    **self._place(peeled, text, line, source, text.find("SXid")),
                    code=switch.code,
                    switch=switch.switch,
                    switch_pci=switch.switch_pci,
                    fatal=switch.fatal,
                    link=switch.link,
                    text=clean(switch.text),
                )
                self._add(record, peeled.host, entry)
        elif match := _LOST.match(body):
            place = self._place(peeled, text, line, Source.GPU_LOST, text.find(body[:16]))
            record = XidEvent(
                **place, code=79, pci=pci_id(match["pci"]), text="GPU has fallen off the bus."
            )
            self._add(record, peeled.host, entry)
        else:
            return False
        return True

    def _xid(self, core: XidCore, body: str, peeled: Peeled, text: str, line: int) -> XidEvent:
        lead = body[: core.start]
        traced = _TRACED.search(lead) if not body.startswith("NVRM", core.start) else None
        if traced and peeled.uptime_us is None:
            seconds, micros = traced["uptime"].split(".")
            peeled = peeled._replace(uptime_us=int(seconds) * 1_000_000 + int(micros))
        source = _source(peeled, "" if traced else lead) if core.well_formed else Source.USER_SPACE
        return XidEvent(
            **self._place(peeled, text, line, source, text.find("Xid (")),
            code=core.code,
            pci=core.pci,
            gpu_instance=core.gpu_instance,
            compute_instance=core.compute_instance,
            pid=core.pid,
            process=None if core.process is None else clean(core.process),
            text=clean(core.text),
            root=core.root,
            cut=core.cut or peeled.cut,
        )

    def _torn(self, body: str, peeled: Peeled, text: str, line: int, entry: _Entry) -> bool:
        """Keep a piece of a print for later; True where the body is one."""
        if body.startswith(_CONTINUES) or (peeled.continued and not body.startswith("NVRM:")):
            kind = "continuation"
        elif _PROBE_TAIL.match(body):
            kind = "probe tail"
        elif match := _PROBE_HEAD.match(body):
            kind = "probe whole" if "fallen off the bus" in match["rest"] else "probe head"
        elif node_lines.is_command_line(body) and peeled.kernel is not False:
            kind = "command line"
        elif _PROBE_MIDDLE.match(body):
            entry.was(_Fate.UNDERSTOOD)
            return True
        else:
            return False
        place = self._place(peeled, text, line, Source.KERNEL, 0)
        self._parts.append(
            _Part(kind, body, place, peeled.host, self._order, len(self._entries) - 1)
        )
        return True

    def _about_node(self, body: str, peeled: Peeled, text: str, line: int, entry: _Entry) -> bool:
        record = self._node_record(body, peeled, text, line)
        if record is not None:
            self._add(record, peeled.host, entry)
        return record is not None

    def _node_record(self, body: str, peeled: Peeled, text: str, line: int) -> AnyRecord | None:
        program = Source.KERNEL if peeled.kernel is not False else Source.SERVICE
        if known := node_lines.identity(body):
            place = self._place(peeled, text, line, program, 0)
            pci = pci_id(known.pci) if known.pci else None
            return GpuIdentity(**place, pci=pci, uuid=known.uuid, serial=known.serial)
        if (mark := node_lines.boundary(body)) and self._is_boundary(mark, peeled):
            return Boundary(**self._place(peeled, text, line, program, 0), **mark._asdict())
        if (pci := node_lines.corrupted_inforom(body)) is not None:
            place = self._place(peeled, text, line, Source.AGENT, 0)
            return InforomCorrupted(**place, pci=pci_id(pci))
        if told := node_lines.plugin_xid(body):
            place = self._place(peeled, text, line, Source.DEVICE_PLUGIN, 0)
            return XidEvent(**place, code=told.code, uuid=told.uuid, text=clean(body))
        if told := node_lines.condition_xid(body):
            place = self._place(peeled, text, line, Source.EKS_CONDITION, 0)
            return XidEvent(**place, code=told.code, text=clean(body))
        if node_lines.is_shutdown(body, peeled.identifier, peeled.pid):
            return Shutdown(**self._place(peeled, text, line, program, 0))
        fabric = node_lines.fabric_manager(body, peeled.identifier)
        if fabric is not None and fabric.state is not None:
            return FabricManagerLine(
                **self._place(peeled, text, line, Source.SERVICE, 0),
                state=fabric.state,
                manager_version=fabric.manager_version,
                driver_version=fabric.driver_version,
            )
        return None

    def _is_boundary(self, mark: node_lines.BoundaryLine, peeled: Peeled) -> bool:
        """A boot line counts only from the kernel and only early in its uptime."""
        if mark.kind is BoundaryKind.GPU_RESET:
            return True
        late = (peeled.uptime_us or 0) > _BOOT_UPTIME_US and mark.kind is BoundaryKind.REBOOT
        return peeled.kernel is not False and not late

    def _leftover(self, body: str, entry: _Entry) -> None:
        known = known_line(body)
        if known is not None:
            entry.was(_Fate.BENIGN)
            if known.note and known.note not in self.notes and len(self.notes) < MOST_NOTES:
                self.notes.append(known.note)
        elif _MENTIONS.search(body):
            entry.was(_Fate.NOT_UNDERSTOOD)

    def _add(self, record: AnyRecord, host: str | None, entry: _Entry) -> None:
        entry.was(_Fate.UNDERSTOOD)
        self._records.append((self._order, host, record))

    def _place(self, peeled: Peeled, text: str, line: int, source: Source, start: int) -> Place:
        from_line = peeled.instance or (self._names.get(peeled.host) if peeled.host else None)
        if source is Source.HMA:  # the agent names its instance in the stream's name only
            from_line = instance_id(self._stream) or from_line
        return Place(
            node=from_line or self._node,
            group=self._group,
            stream=self._stream,
            line=line,
            raw=clean_around(text, start),
            at=peeled.at,
            time_quality=peeled.quality if peeled.at is not None else TimeQuality.NONE,
            uptime_us=peeled.uptime_us,
            boot=peeled.boot,
            source=source,
        )

    def _join_continuations(self) -> None:
        """Give each torn MMU fault its second half: the nearest event before, else after."""
        taken: set[int] = set()
        for part in self._of("continuation"):
            whole = any(char in part.body for char in "M") and part.body.startswith("MMU")
            target = self._nearest(part, taken, whole=whole)
            if target is None:
                self._entries[part.entry].was(_Fate.NOT_UNDERSTOOD)
                continue
            taken.add(target)
            order, host, record = self._records[target]
            if isinstance(record, XidEvent) and part.body not in record.text:
                text = clean(f"{record.text} {part.body}".strip())
                self._records[target] = (order, host, record.model_copy(update={"text": text}))
            self._entries[part.entry].was(_Fate.UNDERSTOOD)

    def _nearest(self, part: _Part, taken: set[int], *, whole: bool) -> int | None:
        best: tuple[bool, int, int] | None = None
        for index, (order, host, record) in enumerate(self._records):
            if not isinstance(record, XidEvent) or host != part.host or index in taken:
                continue
            if (whole and "MMU Fault" in record.text) or not _together(part.place, record):
                continue
            rank = (order > part.order, abs(order - part.order), index)
            best = rank if best is None or rank < best else best
        return None if best is None else best[2]

    def _join_probe_forms(self) -> None:
        heads = list(self._of("probe head"))
        for head in heads:
            self._entries[head.entry].was(_Fate.UNDERSTOOD)
        for whole in self._of("probe whole"):
            self._lost_at_probe(whole, whole)
        for tail in self._of("probe tail"):
            near = [
                (head.order > tail.order, abs(head.order - tail.order), head)
                for head in heads
                if head.host == tail.host and _near(head.place, tail.place)
            ]
            head = min(near, key=lambda item: item[:2])[2] if near else None
            if head is not None:
                heads.remove(head)
            self._lost_at_probe(head, tail)

    def _lost_at_probe(self, head: _Part | None, tail: _Part) -> None:
        first = head or tail
        match = _PROBE_HEAD.match(first.body)
        place = Place(**{**first.place, "source": Source.GPU_LOST})
        pci = pci_id(match["pci"]) if match else None
        record = XidEvent(**place, code=79, pci=pci, text=PROBE_FORM)
        self._records.append((first.order, first.host, record))
        self._entries[tail.entry].was(_Fate.UNDERSTOOD)

    def _join_command_lines(self) -> None:
        """A command line is a boot of its own only where the version line was not shipped."""
        boots = [
            (host, record)
            for _, host, record in self._records
            if isinstance(record, Boundary) and record.kind is BoundaryKind.REBOOT
        ]
        for part in self._of("command line"):
            self._entries[part.entry].was(_Fate.UNDERSTOOD)
            if (part.place["uptime_us"] or 0) > _BOOT_UPTIME_US:
                continue
            if any(host == part.host and _one_boot(part.place, boot) for host, boot in boots):
                continue
            record = Boundary(**part.place, kind=BoundaryKind.REBOOT)
            boots.append((part.host, record))
            self._records.append((part.order, part.host, record))

    def _join_serials(self) -> None:
        """A board serial line names no GPU: it follows the line that does."""
        last: tuple[str | None, GpuIdentity] | None = None
        for index, (order, host, record) in enumerate(self._records):
            if not isinstance(record, GpuIdentity):
                continue
            if record.pci is not None and record.uuid is not None:
                last = (host, record)
            elif record.pci is None and last is not None and last[0] == host:
                owner = last[1]
                if _near_records(owner, record):
                    update = {"pci": owner.pci, "uuid": owner.uuid}
                    self._records[index] = (order, host, record.model_copy(update=update))
                last = None

    def _of(self, kind: str) -> list[_Part]:
        return [part for part in self._parts if part.kind == kind]

    def _count(self) -> None:
        for entry in self._entries:
            if entry.fate is _Fate.UNDERSTOOD:
                self.understood += entry.lines
            elif entry.fate is _Fate.BENIGN:
                self.benign += entry.lines
            elif entry.fate is _Fate.NOT_UNDERSTOOD:
                self.not_understood += entry.lines
            else:
                self.unrelated += entry.lines


def _cores(body: str) -> list[str]:
    """Split a body in which consoles ran several driver prints together."""
    if body.count("NVRM: Xid (") < 2:
        return [body]
    first, *others = body.split("NVRM: Xid (")
    cores = [f"NVRM: Xid ({other}" for other in others]
    return [first + cores[0], *cores[1:]]


def _source(peeled: Peeled, lead: str) -> Source:
    """Return who wrote a driver-shaped line, from its transport and what stands before it."""
    if peeled.kernel is True:
        return Source.KERNEL
    if lead.strip() or peeled.relayed:
        return Source.AGENT
    return Source.USER_SPACE if peeled.kernel is False else Source.KERNEL


def _together(place: Place, record: XidEvent) -> bool:
    return _close(
        (place["at"], place["uptime_us"], place["line"]),
        (record.at, record.uptime_us, record.line),
        _MOMENT,
    )


def _near(one: Place, other: Place) -> bool:
    return _close(
        (one["at"], one["uptime_us"], one["line"]),
        (other["at"], other["uptime_us"], other["line"]),
        _MOMENT,
    )


def _near_records(one: GpuIdentity, other: GpuIdentity) -> bool:
    return _close(
        (one.at, one.uptime_us, one.line), (other.at, other.uptime_us, other.line), _MOMENT
    )


def _one_boot(place: Place, boot: Boundary) -> bool:
    if place["boot"] and boot.boot:
        return place["boot"] == boot.boot
    return _close(
        (place["at"], None, place["line"]), (boot.at, None, boot.line), _BOOT_MOMENT, lines=20
    )


def _close(
    one: tuple[datetime | None, int | None, int],
    other: tuple[datetime | None, int | None, int],
    span: timedelta,
    lines: int = _NEAR_LINES,
) -> bool:
    """Say whether two lines stand within a span of time, or of lines where time is missing."""
    if one[0] is not None and other[0] is not None:
        return abs(one[0] - other[0]) <= span
    if one[1] is not None and other[1] is not None:
        return abs(one[1] - other[1]) <= span / timedelta(microseconds=1)
    return abs(one[2] - other[2]) <= lines
