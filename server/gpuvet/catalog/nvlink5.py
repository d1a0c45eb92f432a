"""What a line of Xid 144 to 150 comes to: its unit and two registers against the decode sheet.

Pure. The rules are verdict-rules §10. The driver version is not needed to choose between the V1 and
V2 masks: no two rows of one unit that disagree share a value, which a test holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gpuvet.catalog.kinds import NVLINK5_CODES
from gpuvet.catalog.nvlink5_table import (
    Investigatory,
    NvLinkRow,
    Resolution,
    StatusKind,
    nvlink_rows,
)
from gpuvet.model.words import Verdict

__all__ = [
    "LOST_LINE_CHECK",
    "NVLINK5_CODES",
    "POINTS_HERE",
    "NvLinkDecode",
    "decode",
    "matching_rows",
]

_NETIR = 149  # a 149 that kills a channel is a link-down; its nonfatal kinds kill none
_STRONGEST_FIRST = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)
_RESOLUTIONS = (Resolution.RESET_GPU, Resolution.XID_154_EVAL, Resolution.IGNORE)
_PRINTED = {
    "fatal": True,
    "link fatal": True,
    "link_fatal": True,
    "nonfatal": False,
    "non-fatal": False,
}
POINTS_HERE = frozenset(
    {  # buckets that name this GPU or its link; only they lead to REPLACE
        Investigatory.CONTACT_SUPPORT,
        Investigatory.INVESTIGATE_LINK_SI,
        Investigatory.INVESTIGATE_LINK_SI_AND_CABLES,
    }
)
_NO_REGISTERS = "the line was not seen, or is cut before its registers"
LOST_LINE_CHECK = "find the lost line: the Xid's own text in the kernel log of that boot"
_HOST_CHECK = "what the host's kernel and Fabric Manager logs say of that link at that time"


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinkDecode:
    """What one line of Xid 144 to 150 comes to.

    With `follow_154` the Xid 154 on the same PCI id within 60 s decides, and `verdict_first`
    stands where there is none. Without rows the line is undecoded and `note` says why.
    """

    rows: tuple[NvLinkRow, ...]
    resolution: Resolution | None = None
    investigatory: tuple[Investigatory, ...] = ()
    action2_applied: bool = False
    link_event_code: int | None = None
    verdict_first: Verdict
    verdict_recurrence: Verdict
    follow_154: bool = False
    injected: bool = False
    contradiction: str | None = None
    open_check: str | None = None
    note: str | None = None

    @property
    def is_decoded(self) -> bool:
        """True when the table knows the line."""
        return bool(self.rows)


def decode(
    xid: int,
    units: Sequence[str],
    intr_info: int | None,
    error_status: int | None,
    *,
    severity_printed: str | None = None,
    injected: int = 0,
) -> NvLinkDecode:
    """Return what one line of Xid 144 to 150 comes to.

    Args:
        xid: 144 to 150.
        units: Unit names as printed; `TLW_RX/TLW_RX_PIPE0` counts as two.
        intr_info: First hex word of the line, or None where the line has none.
        error_status: Second hex word; None where the line ends before it, and then the line
            is not decoded.
        severity_printed: `Fatal` or `Nonfatal`; None for an event whose line was not seen.
        injected: The number after `i`; 1 or more marks a test.
    """
    fatal = _is_fatal(severity_printed)
    if intr_info is None or error_status is None:
        found = _undecoded(xid, fatal, None, _NO_REGISTERS)
    else:
        rows = matching_rows(xid, units, intr_info, error_status)
        found = (
            _decoded(rows, intr_info, error_status, fatal)
            if rows
            else _undecoded(
                xid, fatal, _link_event(intr_info), "no row of the decode sheet has these registers"
            )
        )
    return _as_injected(found) if injected else found


def matching_rows(
    xid: int, units: Sequence[str], intr_info: int, error_status: int
) -> tuple[NvLinkRow, ...]:
    """Return the rows a line matches: those of its exact errorStatus, else those of its bits."""
    names = {name.casefold() for unit in units for name in unit.split("/")}
    rows = tuple(
        row
        for row in nvlink_rows()
        if row.xid == xid and _is_named(row, names) and _holds(row, intr_info)
    )
    exact = tuple(
        row for row in rows if row.status_kind is StatusKind.ANY or error_status in row.statuses
    )
    return exact or tuple(
        row
        for row in rows
        if row.status_kind is StatusKind.BIT and any(bit & error_status for bit in row.statuses)
    )


def _is_named(row: NvLinkRow, names: set[str]) -> bool:
    # Readers that end a unit's name at a blank keep only the last word of "MSE Degraded".
    known = {word for unit in row.units for word in (unit.casefold(), unit.casefold().split()[-1])}
    return not names.isdisjoint(known)


def _holds(row: NvLinkRow, intr_info: int) -> bool:
    return any(mask.holds(intr_info) for mask in (*row.masks, *row.action2_masks))


def _decoded(
    rows: tuple[NvLinkRow, ...], intr_info: int, error_status: int, fatal: bool | None
) -> NvLinkDecode:
    outcomes = tuple(_outcome(row, intr_info) for row in rows)
    first = _strongest(outcome.first for outcome in outcomes)
    found = NvLinkDecode(
        rows=rows,
        resolution=min((outcome.resolution for outcome in outcomes), key=_RESOLUTIONS.index),
        investigatory=tuple(dict.fromkeys(row.investigatory for row in rows)),
        action2_applied=any(outcome.promoted for outcome in outcomes),
        link_event_code=_link_event(intr_info),
        verdict_first=first,
        verdict_recurrence=_strongest(outcome.recurrence for outcome in outcomes),
        follow_154=any(row.follow_154 for row in rows),
        open_check=_HOST_CHECK if first is Verdict.UNVERIFIED else None,
        note=_unlisted_bits(rows, error_status),
    )
    table_fatal = any(row.severity.is_fatal for row in rows)
    if fatal is None or found.action2_applied or fatal == table_fatal:
        return found
    return _printed_severity_wins(found, fatal=fatal)


class _Outcome(NamedTuple):
    resolution: Resolution
    promoted: bool
    first: Verdict
    recurrence: Verdict


def _outcome(row: NvLinkRow, intr_info: int) -> _Outcome:
    """Return a row's outcome, with its second action where the extra bit is set."""
    if row.action2 is None or not any(mask.holds(intr_info) for mask in row.action2_masks):
        return _Outcome(row.resolution, False, row.verdict_first, row.verdict_recurrence)
    recurrence = Verdict.REPLACE if row.investigatory in POINTS_HERE else Verdict.UNVERIFIED
    return _Outcome(row.action2, True, Verdict.REBOOT, recurrence)


def _printed_severity_wins(found: NvLinkDecode, *, fatal: bool) -> NvLinkDecode:
    """Let the printed word lift MONITOR or lower REBOOT; what follows a 154 stays."""
    word, table = ("Fatal", "nonfatal") if fatal else ("Nonfatal", "fatal")
    first, recurrence = found.verdict_first, found.verdict_recurrence
    if not found.follow_154 and fatal and first is Verdict.MONITOR:
        first, recurrence = Verdict.REBOOT, Verdict.UNVERIFIED
    if not found.follow_154 and not fatal and first is Verdict.REBOOT:
        first, recurrence = Verdict.MONITOR, Verdict.UNVERIFIED
    return replace(
        found,
        verdict_first=first,
        verdict_recurrence=recurrence,
        contradiction=f"the line says {word}, the decode sheet rates it {table}; "
        "the printed word wins",
    )


def _undecoded(xid: int, fatal: bool | None, event: int | None, why: str) -> NvLinkDecode:
    """Return what is left to say: the printed word, or for a line never seen the code alone."""
    if fatal is None:
        first = Verdict.REBOOT if xid == _NETIR else Verdict.UNVERIFIED
    else:
        first = Verdict.REBOOT if fatal else Verdict.MONITOR
    return NvLinkDecode(
        rows=(),
        link_event_code=event,
        verdict_first=first,
        verdict_recurrence=Verdict.MONITOR if fatal is False else Verdict.UNVERIFIED,
        open_check=LOST_LINE_CHECK if first is Verdict.UNVERIFIED else None,
        note=f"undecoded: {why}",
    )


def _as_injected(found: NvLinkDecode) -> NvLinkDecode:
    return replace(
        found,
        injected=True,
        follow_154=False,
        verdict_first=Verdict.LEAVE_ALONE,
        verdict_recurrence=Verdict.LEAVE_ALONE,
        open_check=None,
        note="an injected test, not a fault",
    )


def _unlisted_bits(rows: tuple[NvLinkRow, ...], error_status: int) -> str | None:
    if any(row.status_kind is StatusKind.ANY or error_status in row.statuses for row in rows):
        return None
    left = error_status & ~sum({bit for row in rows for bit in row.statuses})
    return f"errorStatus bits {left:#x} are in no row" if left else None


def _link_event(intr_info: int) -> int:
    return intr_info >> 20 & 0x3F  # bits 25:20


def _is_fatal(severity: str | None) -> bool | None:
    return _PRINTED.get((severity or "").casefold())


def _strongest(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=_STRONGEST_FIRST.index)
