"""NVSwitch errors (SXids) as the open driver and the Fabric Manager guide list them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Literal

from gpuvet.catalog.table import Row, by_key, read_table, yes_no
from gpuvet.model.words import Verdict

BY_TEXT: Literal["BY_TEXT"] = "BY_TEXT"


class DriverSeverity(StrEnum):
    """How the driver for one NVSwitch generation rates a code."""

    FATAL = "fatal"
    NON_FATAL = "non-fatal"
    CONDITIONAL = "conditional"
    NOT_STATED = "not stated"


class GuideGroup(StrEnum):
    """The group of a code in NVIDIA's Fabric Manager guide."""

    ALWAYS_FATAL = "always_fatal"
    FATAL = "fatal"
    NON_FATAL = "non_fatal"
    OTHER_NOTABLE = "other_notable"
    UNLISTED = "unlisted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SxidRow:
    """One SXid. Where the table says BY_TEXT, only the word in the line decides."""

    code: int
    mnemonic: str | None
    name: str | None  # as the driver prints it
    unit: str | None
    severity_a100: DriverSeverity  # of the driver for the NVSwitch beside A100
    severity_h100: DriverSeverity
    whole_device_fatal: bool  # takes every link of the switch down
    guide_group: GuideGroup
    default_verdict: Verdict | Literal["BY_TEXT"]
    on_recurrence: Verdict
    action: str
    source: str
    gpud_action: str | None = None
    note: str | None = None


def _severity(row: Row, column: str) -> DriverSeverity:
    return row.read_optional(column, DriverSeverity) or DriverSeverity.NOT_STATED


def _verdict(text: str) -> Verdict | Literal["BY_TEXT"]:
    return BY_TEXT if text == BY_TEXT else Verdict(text)


def _read(row: Row) -> SxidRow:
    return SxidRow(
        code=row.read("sxid", int),
        mnemonic=row.optional("mnemonic"),
        name=row.optional("name"),
        unit=row.optional("unit"),
        severity_a100=_severity(row, "driver_severity_nvswitch_a100"),
        severity_h100=_severity(row, "driver_severity_nvswitch_h100"),
        whole_device_fatal=row.read("whole_device_fatal", yes_no),
        guide_group=row.read("fm_guide_group", GuideGroup),
        default_verdict=row.read("default_verdict", _verdict),
        on_recurrence=row.read("on_recurrence", Verdict),
        action=row.text("action"),
        source=row.text("source"),
        gpud_action=row.optional("gpud_action"),
        note=row.optional("note"),
    )


@cache
def sxids() -> Mapping[int, SxidRow]:
    """Return every listed SXid by its number."""
    return by_key("sxids.csv", map(_read, read_table("sxids.csv")), lambda row: row.code)


def sxid_verdict(row: SxidRow | None, *, fatal: bool | None) -> Verdict:
    """Return the verdict of one SXid line (verdict-rules §11).

    The printed word wins over the table: Fatal lifts to REBOOT, Non-fatal lowers nothing but
    settles what the table leaves open.

    Args:
        row: The code's row, or None for a code in no published list.
        fatal: The word in the line; None where it prints neither.
    """
    if fatal:
        return Verdict.REBOOT
    if row is None:
        return Verdict.UNVERIFIED
    if isinstance(row.default_verdict, Verdict) and row.default_verdict is not Verdict.UNVERIFIED:
        return row.default_verdict
    return Verdict.UNVERIFIED if fatal is None else Verdict.MONITOR
