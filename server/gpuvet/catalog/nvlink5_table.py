"""NVIDIA's decode sheet for Xid 144 to 150 of NVLink 5 (B200, B300, GB200).

V1 names and masks are those of drivers below R575.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpuvet.catalog.table import Row, hexadecimal, read_table
from gpuvet.model.words import Verdict

_FOLLOW_154 = "FOLLOW_154_ELSE_LEAVE_ALONE"


class Resolution(StrEnum):
    """NVIDIA's immediate action for a decoded line."""

    IGNORE = "IGNORE"
    RESET_GPU = "RESET_GPU"
    XID_154_EVAL = "XID_154_EVAL"  # the Xid 154 of that GPU decides


class Investigatory(StrEnum):
    """Where NVIDIA says to look next."""

    IGNORE = "IGNORE"
    CONTACT_SUPPORT = "CONTACT_SUPPORT"
    CHECK_NVLINK_FAILURE_FLOW = "CHECK_NVLINK_FAILURE_FLOW"
    SYMPATHETIC_REPORT_SOLO = "SYMPATHETIC_REPORT_SOLO"
    REPORT_ISSUE_IF_OVER_1_PER_DAY = "REPORT_ISSUE_IF_OVER_1_PER_DAY"
    INVESTIGATE_LINK_SI = "INVESTIGATE_LINK_SI"
    INVESTIGATE_LINK_SI_AND_CABLES = "INVESTIGATE_LINK_SI_AND_CABLES"
    INVESTIGATE_PEER_DEVICE = "INVESTIGATE_PEER_DEVICE"
    INVESTIGATE_SW_USER = "INVESTIGATE_SW_USER"
    INVESTIGATE_SW_USER_LINK_SI = "INVESTIGATE_SW_USER_LINK_SI"
    INVESTIGATE_HOST = "INVESTIGATE_HOST"


class Severity(StrEnum):
    """How the table rates a row; LINK_FATAL is printed as Fatal."""

    FATAL = "FATAL"
    LINK_FATAL = "LINK_FATAL"
    NONFATAL = "NONFATAL"

    @property
    def is_fatal(self) -> bool:
        """True for what the driver prints as Fatal."""
        return self is not Severity.NONFATAL


class StatusKind(StrEnum):
    """How errorStatus is compared."""

    ANY = "any"
    BIT = "bit"  # exact, else bit by bit
    ENUM = "enum"  # exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """A test of intrInfo: `value` under `mask`."""

    mask: int
    value: int

    def holds(self, intr_info: int) -> bool:
        """Say whether intrInfo passes."""
        return intr_info & self.mask == self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinkRow:
    """One row of the decode sheet."""

    number: int
    xid: int
    units: tuple[str, ...]  # the V1 and the V2 name
    link_event_code: int
    masks: tuple[Mask, ...]  # V1, V2
    action2_masks: tuple[Mask, ...]  # with them the resolution is `action2`
    status_kind: StatusKind
    statuses: tuple[int, ...]  # none for ANY
    resolution: Resolution
    action2: Resolution | None
    investigatory: Investigatory
    severity: Severity
    side: str  # HW, SW, FW, HW/SW or NA, as the sheet has it
    local_effect: str
    remote_effect: str
    verdict_first: Verdict  # where `follow_154`, only if no Xid 154 says more
    follow_154: bool
    verdict_recurrence: Verdict
    source: str
    note: str | None = None


def _masks(row: Row, prefix: str) -> tuple[Mask, ...]:
    if row.optional(f"{prefix}v1_mask") is None:
        return ()
    return tuple(
        Mask(
            mask=row.read(f"{prefix}{version}_mask", hexadecimal),
            value=row.read(f"{prefix}{version}_value", hexadecimal),
        )
        for version in ("v1", "v2")
    )


def _read(row: Row) -> NvLinkRow:
    kind = row.read("error_status_kind", StatusKind)
    follow_154 = row.text("verdict_first") == _FOLLOW_154
    return NvLinkRow(
        number=row.read("row", int),
        xid=row.read("xid", int),
        units=(row.text("unit_v1"), row.text("unit_v2")),
        link_event_code=row.read("link_event_code", int),
        masks=_masks(row, ""),
        action2_masks=_masks(row, "action2_"),
        status_kind=kind,
        statuses=() if kind is StatusKind.ANY else row.read_each("error_status", hexadecimal),
        resolution=row.read("resolution", Resolution),
        action2=row.read_optional("action2", Resolution),
        investigatory=row.read("investigatory", Investigatory),
        severity=row.read("severity", Severity),
        side=row.text("hw_sw"),
        local_effect=row.text("local_effect"),
        remote_effect=row.text("remote_effect"),
        verdict_first=Verdict.LEAVE_ALONE if follow_154 else row.read("verdict_first", Verdict),
        follow_154=follow_154,
        verdict_recurrence=row.read("verdict_recurrence", Verdict),
        source=row.text("source"),
        note=row.optional("note"),
    )


@cache
def nvlink_rows() -> tuple[NvLinkRow, ...]:
    """Return the decode sheet, in its order."""
    return tuple(map(_read, read_table("nvlink5.csv")))
