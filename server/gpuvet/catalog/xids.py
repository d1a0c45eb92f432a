"""Xids as NVIDIA and the open driver list them, with the verdict each gets by default."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpuvet.catalog.table import Row, by_key, read_table
from gpuvet.model.words import FaultClass, Verdict


class Architecture(StrEnum):
    """The columns of NVIDIA's catalog; verdict-rules §13 maps instance types onto them."""

    A100 = "A100"
    H100 = "H100"
    B100 = "B100"
    GB200 = "GB200"


class Applies(StrEnum):
    """What NVIDIA's catalog says of the parts a code may appear on."""

    LISTED = "listed"
    NONE = "none"  # on no part since A100
    UNLISTED = "unlisted"  # the catalog lacks the code


@dataclass(frozen=True, slots=True, kw_only=True)
class XidRow:
    """One Xid. Verdicts are of a line on its own; verdict-rules §6 to §10 name the exceptions."""

    code: int
    mnemonic: str
    description: str
    immediate_action: str  # NVIDIA's bucket
    investigatory_action: str  # NVIDIA's second bucket
    applies: Applies
    architectures: tuple[Architecture, ...]  # empty unless `applies` is LISTED
    xid154_linkage: str  # since which driver an Xid 154 goes with it
    fault_class: FaultClass
    default_verdict: Verdict
    minimum_action: str
    on_recurrence: Verdict
    source: str
    note: str | None = None

    def is_expected_on(self, architecture: Architecture) -> bool:
        """Say whether the code may appear there; true wherever no list claims otherwise."""
        return self.applies is not Applies.LISTED or architecture in self.architectures


def _architectures(row: Row) -> tuple[Applies, tuple[Architecture, ...]]:
    if row.text("architectures") in {Applies.NONE, Applies.UNLISTED}:
        return row.read("architectures", Applies), ()
    return Applies.LISTED, row.read_each("architectures", Architecture)


def _read(row: Row) -> XidRow:
    applies, architectures = _architectures(row)
    return XidRow(
        code=row.read("code", int),
        mnemonic=row.text("mnemonic"),
        description=row.text("description"),
        immediate_action=row.text("immediate_action"),
        investigatory_action=row.text("investigatory_action"),
        applies=applies,
        architectures=architectures,
        xid154_linkage=row.text("xid154_linkage"),
        fault_class=row.read("class", FaultClass),
        default_verdict=row.read("default_verdict", Verdict),
        minimum_action=row.text("minimum_action"),
        on_recurrence=row.read("on_recurrence", Verdict),
        source=row.text("source"),
        note=row.optional("note"),
    )


@cache
def xids() -> Mapping[int, XidRow]:
    """Return every listed Xid by its number; what is missing here is in no published list."""
    return by_key("xids.csv", map(_read, read_table("xids.csv")), lambda row: row.code)
