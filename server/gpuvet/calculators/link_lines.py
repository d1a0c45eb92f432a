"""NVLink lines decoded once an event: Xid 74 registers, Xid 144 to 150 (verdict-rules §9, §10)."""

from functools import lru_cache

from gpuvet.calculators.events import Occurrence
from gpuvet.catalog.nvlink5 import NVLINK5_CODES, NvLinkDecode, decode
from gpuvet.catalog.nvlink5_table import Investigatory, Resolution
from gpuvet.catalog.xid74 import RegisterBit, RegisterKind, decode_registers
from gpuvet.model.events import XidEvent
from gpuvet.parse.xid_text import (
    LinkFault,
    NvLink5,
    link_fault,
    link_numbers,
    nvlink5,
    printed_severity,
)

NVLINK4 = 74
# Codes whose own text speaks of NVLink; on any other the number and the text disagree.
SPEAKS_OF_NVLINK = frozenset({74, 108, 136, 137, 155, 166, 170, *NVLINK5_CODES})

_ELSEWHERE = frozenset(
    {Investigatory.SYMPATHETIC_REPORT_SOLO, Investigatory.INVESTIGATE_PEER_DEVICE}
)
_HERE = frozenset(
    {
        Investigatory.CONTACT_SUPPORT,
        Investigatory.INVESTIGATE_LINK_SI,
        Investigatory.INVESTIGATE_LINK_SI_AND_CABLES,
    }
)


def decoded(event: XidEvent) -> NvLinkDecode:
    """Return what one line of Xid 144 to 150 comes to."""
    return _decoded(event.code, event.text, event.cut)


@lru_cache(maxsize=4096)
def _decoded(code: int, text: str, cut: bool) -> NvLinkDecode:
    line = None if cut else nvlink5(text)
    if line is None:
        severity = printed_severity(text)
        return decode(code, (), None, None, severity_printed=severity and severity.value)
    return decode(
        code,
        line.units,
        line.intr_info,
        line.error_status,
        severity_printed=line.severity.value,
        injected=line.injected,
    )


def link_of(event: XidEvent) -> int | None:
    """Return the link a line of Xid 144 to 150 names; -1 where it is tied to none."""
    line = _line(event.text)
    return line.link if line is not None else None


@lru_cache(maxsize=4096)
def _line(text: str) -> NvLink5 | None:
    return nvlink5(text)


def points_elsewhere(occurrence: Occurrence) -> bool:
    """Say whether every line of the event points at the other end of the link."""
    if occurrence.code not in NVLINK5_CODES:
        return False
    return all(
        d.investigatory and set(d.investigatory) <= _ELSEWHERE
        for d in map(decoded, occurrence.lines)
    )


def leads_to_reset(occurrence: Occurrence) -> bool:
    """Say whether a line of the event calls for a reset of its own GPU or link."""
    return any(
        d.resolution is Resolution.RESET_GPU and _HERE.intersection(d.investigatory)
        for d in map(decoded, occurrence.lines)
    )


def fault_of(event: XidEvent) -> LinkFault | None:
    """Return the link and the registers of a line of Xid 74."""
    return _fault(event.text)


@lru_cache(maxsize=4096)
def _fault(text: str) -> LinkFault | None:
    return link_fault(text)


def bits_of(event: XidEvent) -> tuple[RegisterBit, ...]:
    """Return the register bits a line of Xid 74 sets; none where it has no registers."""
    return _bits(event.text)


@lru_cache(maxsize=4096)
def _bits(text: str) -> tuple[RegisterBit, ...]:
    fault = _fault(text)
    return decode_registers(fault.registers) if fault is not None and fault.registers else ()


@lru_cache(maxsize=4096)
def links_named(text: str) -> frozenset[int]:
    """Return every NVLink a text names."""
    return frozenset(link_numbers(text))


_NO_FAULT = frozenset({RegisterKind.IGNORABLE, RegisterKind.SECONDARY})


def is_secondary(occurrence: Occurrence) -> bool:
    """Say whether every line of an Xid 74 only follows another error (verdict-rules §9)."""
    if occurrence.code != NVLINK4:
        return False
    bits = [bits_of(line) for line in occurrence.lines]
    kinds = {bit.kind for found in bits for bit in found}
    return all(bits) and RegisterKind.SECONDARY in kinds and kinds <= _NO_FAULT


def names_a_fault(occurrence: Occurrence) -> bool:
    """Say whether an Xid 74 names an error of its own, or has no registers to tell."""
    bits = [bits_of(line) for line in occurrence.lines]
    return any(not found or any(b.kind not in _NO_FAULT for b in found) for found in bits)


# verdict-rules §4: the errorStatus bits of RLW_REMAP that a dropped link explains.
_REMAP_BITS = 0x3C


def is_remap_echo(occurrence: Occurrence) -> bool:
    """Say whether every line is the RLW_REMAP noise that a link drop leaves."""
    for event in occurrence.lines:
        line = None if event.cut else _line(event.text)
        if line is None or "RLW_REMAP" not in line.units:
            return False
        if not line.error_status & _REMAP_BITS or line.error_status & ~_REMAP_BITS:
            return False
    return True


def drops_a_link(occurrence: Occurrence) -> bool:
    """Say whether an event takes a link down: Xid 74, 155, or a 149 that is not nonfatal."""
    if occurrence.code == 149 and occurrence.inferred:
        return True  # a 149 that kills a channel is a link-down (verdict-rules §10.7)
    if occurrence.code == 149:
        severities = [printed_severity(e.text) for e in occurrence.lines]
        return any(s is not None and s.is_fatal for s in severities)
    return occurrence.code in {74, 155}
