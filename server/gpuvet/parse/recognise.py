"""One bare message to what it says: the list of things we can read, in order. Pure."""

import re
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import NamedTuple

from gpuvet.model.events import (
    AnyRecord,
    Boundary,
    BoundaryKind,
    FabricManagerLine,
    GpuIdentity,
    HardwareError,
    InforomCorrupted,
    Shutdown,
    Source,
    SxidEvent,
    XidEvent,
)
from gpuvet.parse import node_lines
from gpuvet.parse.hardware_lines import hardware_line
from gpuvet.parse.hma_log import is_agent_text, text_records
from gpuvet.parse.known_lines import known_line
from gpuvet.parse.place import Spot
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import Peeled
from gpuvet.parse.writer import is_other_program, writer_of
from gpuvet.parse.xid_line import find_sxid, find_xid, pci_id

LOST_FORM = "GPU has fallen off the bus."
_QUOTED_SXID = "an SXid in the text of a program, not the kernel: an injection or a copy"
BOOT_UPTIME_US = 300_000_000  # 5 min: later in a boot no line is its first (ours)

_LOST = re.compile(r"(?:NVRM: )?GPU (?P<pci>[0-9a-fA-F:.]+): GPU has fallen off the bus")
_PROBE_HEAD = re.compile(
    r"(?:NVRM: )?The NVIDIA GPU (?P<pci>[0-9a-fA-F:.]+)(?P<rest>.*)", re.DOTALL
)
_PROBE_MIDDLE = re.compile(r"(?:NVRM: )?\(PCI ID: .*?\) installed in this system")
_PROBE_TAIL = re.compile(r"(?:NVRM: )?fallen off the bus and is not responding")
_CONTINUES = ("MMU Fault", "Fault is of type")
_TRACED = re.compile(r"(?:^|\s)(?P<seconds>\d{1,9})\.(?P<micros>\d{6}): nvidia\w*:\s*$")
# nvidia-smi prints it, so any program may log it; a text that only quotes it does not count.
_INFOROM_START = re.compile(r"(?:WARNING: )?infoROM is corrupted", re.IGNORECASE)
_MENTIONS = re.compile(r"NVRM|SXid|\bXid\b|\bXID|fallen off the bus")


class Fate(IntEnum):
    """What became of a line; of several segments the highest stands."""

    UNRELATED = 0
    BENIGN = 1
    NOT_UNDERSTOOD = 2
    UNDERSTOOD = 3


class Piece(StrEnum):
    """A part of a print whose other parts stand on other lines."""

    CONTINUATION = "continuation"  # second half of an MMU fault, or a kmsg continuation
    PROBE_HEAD = "probe head"  # "The NVIDIA GPU …", with or without the rest
    PROBE_TAIL = "probe tail"  # "fallen off the bus and is not responding"
    COMMAND_LINE = "command line"  # of a boot whose version line may be missing


class Reading(NamedTuple):
    """What one message says."""

    fate: Fate
    records: tuple[AnyRecord, ...] = ()
    piece: Piece | None = None
    note: str | None = None


_PART = Reading(Fate.UNDERSTOOD)


def recognise(body: str, spot: Spot) -> Reading:
    """Return what a bare message says; the first reader that knows it decides."""
    for reader in READERS:
        if reading := reader(body, spot):
            return reading
    mentioned = _MENTIONS.search(body) is not None
    return Reading(Fate.NOT_UNDERSTOOD if mentioned else Fate.UNRELATED)


def mentions_driver(text: str) -> bool:
    """Say whether a text names the driver or an Xid in any form."""
    return _MENTIONS.search(text) is not None


def probe_pci(body: str) -> str | None:
    """Return the PCI id a probe head names."""
    match = _PROBE_HEAD.match(body)
    return pci_id(match["pci"]) if match else None


def is_whole_probe(body: str) -> bool:
    """Say whether a probe head carries its tail in the same message."""
    match = _PROBE_HEAD.match(body)
    return match is not None and "fallen off the bus" in match["rest"]


def _agent(body: str, spot: Spot) -> Reading | None:
    if not is_agent_text(spot.text) or is_other_program(spot.peeled):
        return None
    return _records(*text_records(body, spot.place(Source.HMA)))


def _xid(body: str, spot: Spot) -> Reading | None:
    core = find_xid(body)
    if core is None:
        return None
    lead = body[: core.start]
    traced = None if body.startswith("NVRM", core.start) else _TRACED.search(lead)
    if traced:
        lead = ""
        if spot.peeled.uptime_us is None:
            uptime = int(traced["seconds"]) * 1_000_000 + int(traced["micros"])
            spot = spot._replace(peeled=spot.peeled._replace(uptime_us=uptime))
    source = writer_of(spot.peeled, lead) if core.well_formed else Source.USER_SPACE
    place = spot.place(source, "Xid")
    # A part of a line that needed no cleaning needs none either.
    fit = place["raw"] == spot.text and body in spot.text
    event = XidEvent(
        **place,
        code=core.code,
        pci=core.pci,
        gpu_instance=core.gpu_instance,
        compute_instance=core.compute_instance,
        pid=core.pid,
        process=core.process if fit or core.process is None else clean(core.process),
        text=core.text if fit else clean(core.text),
        root=core.root,
        cut=core.cut or spot.peeled.cut,
    )
    return _records(event)


def _sxid(body: str, spot: Spot) -> Reading | None:
    core = find_sxid(body)
    if core is None:
        return None
    if core.detail:
        return _PART
    source = writer_of(spot.peeled, body[: core.start].replace("nvidia-", ""))
    if source is Source.USER_SPACE:
        return Reading(Fate.BENIGN, note=_QUOTED_SXID)
    event = SxidEvent(
        **spot.place(source, "SXid"),
        code=core.code,
        switch=core.switch,
        switch_pci=core.switch_pci,
        fatal=core.fatal,
        link=core.link,
        text=clean(core.text),
    )
    return _records(event)


def _lost(body: str, spot: Spot) -> Reading | None:
    match = _LOST.match(body)
    if match is None:
        return None
    by_program = is_other_program(spot.peeled)
    place = spot.place(Source.USER_SPACE if by_program else Source.GPU_LOST, "GPU ")
    return _records(XidEvent(**place, code=79, pci=pci_id(match["pci"]), text=LOST_FORM))


def _torn(body: str, spot: Spot) -> Reading | None:
    peeled = spot.peeled
    if is_other_program(peeled):
        return None
    if body.startswith(_CONTINUES) or (peeled.continued and not body.startswith("NVRM:")):
        return Reading(Fate.UNDERSTOOD, piece=Piece.CONTINUATION)
    if _PROBE_HEAD.match(body):
        return Reading(Fate.UNDERSTOOD, piece=Piece.PROBE_HEAD)
    if _PROBE_TAIL.match(body):
        return Reading(Fate.UNDERSTOOD, piece=Piece.PROBE_TAIL)
    if node_lines.is_command_line(body) and _may_be_boot(peeled):
        return Reading(Fate.UNDERSTOOD, piece=Piece.COMMAND_LINE)
    return _PART if _PROBE_MIDDLE.match(body) else None


def _identity(body: str, spot: Spot) -> Reading | None:
    known = node_lines.identity(body)
    if known is None or is_other_program(spot.peeled):
        return None
    pci = pci_id(known.pci) if known.pci else None
    place = spot.place(_program(spot.peeled))
    return _records(GpuIdentity(**place, pci=pci, uuid=known.uuid, serial=known.serial))


def _boundary(body: str, spot: Spot) -> Reading | None:
    mark = node_lines.boundary(body)
    if mark is None:
        return None
    if mark.kind is BoundaryKind.REBOOT and not _may_be_boot(spot.peeled):
        return None
    if mark.kind is BoundaryKind.DRIVER_RELOAD and spot.peeled.kernel is False:
        return None
    return _records(Boundary(**spot.place(_program(spot.peeled)), **mark._asdict()))


def _inforom(body: str, spot: Spot) -> Reading | None:
    pci = node_lines.corrupted_inforom(body)
    if pci is None or (is_other_program(spot.peeled) and not _INFOROM_START.match(body)):
        return None
    return _records(InforomCorrupted(**spot.place(Source.AGENT), pci=pci_id(pci)))


def _kubernetes(body: str, spot: Spot) -> Reading | None:
    told, source = node_lines.plugin_xid(body), Source.DEVICE_PLUGIN
    if told is None:
        told, source = node_lines.condition_xid(body), Source.EKS_CONDITION
    if told is None:
        return None
    if is_other_program(spot.peeled):
        source = Source.USER_SPACE
    return _records(XidEvent(**spot.place(source), code=told.code, uuid=told.uuid))


def _shutdown(body: str, spot: Spot) -> Reading | None:
    peeled = spot.peeled
    if not node_lines.is_shutdown(body, peeled.identifier, peeled.pid):
        return None
    return _records(Shutdown(**spot.place(_program(peeled))))


def _fabric(body: str, spot: Spot) -> Reading | None:
    fabric = node_lines.fabric_manager(body, spot.peeled.identifier)
    if fabric is None or fabric.state is None:
        return None
    return _records(FabricManagerLine(**spot.place(Source.SERVICE), **fabric._asdict()))


def _hardware(body: str, spot: Spot) -> Reading | None:
    peeled = spot.peeled
    said = None if peeled.kernel is False or peeled.relayed else hardware_line(body)
    if said is None:
        return None
    return _records(HardwareError(**spot.place(Source.KERNEL), **said._asdict()))


def _known(body: str, spot: Spot) -> Reading | None:  # noqa: ARG001 - one shape for all readers
    known = known_line(body)
    return None if known is None else Reading(Fate.BENIGN, note=known.note)


READERS: tuple[Callable[[str, Spot], Reading | None], ...] = (
    _agent,
    _xid,
    _sxid,
    _lost,
    _torn,
    _identity,
    _boundary,
    _inforom,
    _kubernetes,
    _shutdown,
    _fabric,
    _hardware,
    _known,
)


def _records(*records: AnyRecord) -> Reading:
    return Reading(Fate.UNDERSTOOD, records)


def _program(peeled: Peeled) -> Source:
    return Source.SERVICE if peeled.kernel is False else Source.KERNEL


def _may_be_boot(peeled: Peeled) -> bool:
    return peeled.kernel is not False and (peeled.uptime_us or 0) <= BOOT_UPTIME_US
