"""NVLink lines decoded once per event: Xid 74 registers and Xid 144 to 150 (xid_rules §9, §10)."""

from functools import lru_cache

from gpuvet.calculators.events import Occurrence
from gpuvet.catalog.nvlink5 import NVLINK5_CODES, NvLinkDecode, decode
from gpuvet.catalog.nvlink5_table import Investigatory, Resolution
from gpuvet.model.events import XidEvent
from gpuvet.parse.xid_text import nvlink5_line

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
def _decoded(code: int, text: str, cut: bool) -> NvLinkDecode:  # noqa: FBT001 (cache key)
    line = None if cut else nvlink5_line(text)
    if line is None:
        return decode(code, (), None, None, _severity_word(text))
    return decode(
        code, line.units, line.intr_info, line.error_status, line.severity, line.injected or 0
    )


def _severity_word(text: str) -> str | None:
    """Return the printed severity of a line too short to decode."""
    words = text.casefold().split()
    if "nonfatal" in words or "non-fatal" in words:
        return "Nonfatal"
    return "Fatal" if "fatal" in words else None


def link_of(event: XidEvent) -> int | None:
    """Return the link a line of Xid 144 to 150 names; -1 where it is tied to none."""
    line = nvlink5_line(event.text)
    return line.link if line is not None else None


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
