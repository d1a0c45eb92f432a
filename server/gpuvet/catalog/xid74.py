"""Xid 74 of A100 and H100: what each bit of its seven registers means (verdict-rules §9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpuvet.catalog.table import Row, by_key, read_table
from gpuvet.model.words import Verdict

MEANINGFUL_REGISTERS = (1, 3, 4, 5)  # the others carry no meaning, whatever they hold
ECC_PARITY_LIMIT = 2  # NVIDIA's text says more than 2 on one link; NVSentinel escalates at 2

_WORD_BITS = 32


class RegisterKind(StrEnum):
    """What a bit speaks of."""

    IGNORABLE = "ignorable"
    SECONDARY = "secondary"  # sympathetic to another error; alone UNVERIFIED
    SECONDARY_RESET = "secondary_reset"  # follows another error, and needs the fabric reset
    ECC_PARITY = "ecc_parity"
    ECC_LIMIT = "ecc_limit"
    CONNECTION = "connection"
    MARGINAL_SIGNAL = "marginal_signal"
    ONLY_IF_REPEATED = "only_if_repeated"
    DIAGNOSE_IF_REPEATED = "diagnose_if_repeated"
    NOT_EXPECTED = "not_expected"
    UNLISTED = "unlisted"


class OnRepeat(StrEnum):
    """What a repetition on the same link makes of a bit's verdict."""

    NONE = "none"
    RECURS = "recurs"  # REPLACE after a reboot
    OVER_2_OR_RECURS = "over_2_or_recurs"  # REPLACE also over ECC_PARITY_LIMIT in one boot
    REPEATED_UNVERIFIED = "repeated_unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBit:
    """One bit of one register."""

    register_number: int  # 1 to 7
    bit: int  # 0 to 31
    kind: RegisterKind
    meaning: str
    first_verdict: Verdict
    on_repeat: OnRepeat
    source: str
    note: str | None = None

    @property
    def is_secondary(self) -> bool:
        """True for what follows another error and stands alone only as UNVERIFIED."""
        return self.kind is RegisterKind.SECONDARY


def _read(row: Row) -> RegisterBit:
    return RegisterBit(
        register_number=row.read("register", int),
        bit=row.read("bit", int),
        kind=row.read("kind", RegisterKind),
        meaning=row.text("meaning"),
        first_verdict=row.read("first_verdict", Verdict),
        on_repeat=row.read("on_repeat", OnRepeat),
        source=row.text("source"),
        note=row.optional("note"),
    )


@cache
def register_bits() -> Mapping[tuple[int, int], RegisterBit]:
    """Return every listed bit by (register, bit)."""
    rows = map(_read, read_table("xid74.csv"))
    return by_key("xid74.csv", rows, lambda row: (row.register_number, row.bit))


def decode_registers(registers: Sequence[int]) -> tuple[RegisterBit, ...]:
    """Return the bits set in the meaningful registers, in order; an unlisted one is UNVERIFIED.

    Args:
        registers: The values in the line's brackets, seven when it was not cut short.
    """
    return tuple(
        register_bits().get((number, bit)) or _unlisted(number, bit)
        for number, value in enumerate(registers, start=1)
        if number in MEANINGFUL_REGISTERS
        for bit in range(_WORD_BITS)
        if value >> bit & 1
    )


def _unlisted(number: int, bit: int) -> RegisterBit:
    return RegisterBit(
        register_number=number,
        bit=bit,
        kind=RegisterKind.UNLISTED,
        meaning="in no published list",
        first_verdict=Verdict.UNVERIFIED,
        on_repeat=OnRepeat.NONE,
        source="ours",
    )
