"""NVLink lines decoded once per event: Xid 74 registers and Xid 144 to 150 (xid_rules §9, §10)."""

from functools import lru_cache

from gpuvet.calculators.events import Occurrence
from gpuvet.catalog.nvlink5 import NVLINK5_CODES, NvLinkDecode, decode
from gpuvet.catalog.nvlink5_table import Investigatory, Resolution
from gpuvet.model.events import XidEvent
from gpuvet.parse.xid_text import NvLink5, nvlink5, printed_severity

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


# xid_rules §4: the errorStatus bits of RLW_REMAP that a dropped link explains.
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
    """Say whether an event takes a link down: Xid 74, 155, or a fatal 149."""
    if occurrence.code == 149:
        severities = [printed_severity(e.text) for e in occurrence.lines]
        return any(s is not None and s.is_fatal for s in severities)
    return occurrence.code in {74, 155}
