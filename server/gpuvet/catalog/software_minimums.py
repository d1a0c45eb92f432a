"""The least versions that the newest instance families run with."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from gpuvet.catalog.table import Row, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareMinimum:
    """One component of one family."""

    family: str  # beginning of the instance type
    component: str
    minimum: str
    source: str


def _read(row: Row) -> SoftwareMinimum:
    return SoftwareMinimum(
        family=row.text("family"),
        component=row.text("component"),
        minimum=row.text("minimum"),
        source=row.text("source"),
    )


@cache
def software_minimums() -> Mapping[str, tuple[SoftwareMinimum, ...]]:
    """Return the components of every family that has minimums."""
    found: dict[str, tuple[SoftwareMinimum, ...]] = {}
    for row in map(_read, read_table("software_minimums.csv")):
        found[row.family] = (*found.get(row.family, ()), row)
    return MappingProxyType(found)


def minimums_of(kind: str) -> tuple[SoftwareMinimum, ...]:
    """Return the minimums of an instance type; none where its family has none."""
    plain = kind.removeprefix("ml.")
    return next((rows for name, rows in software_minimums().items() if plain.startswith(name)), ())


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the leading dotted numbers of a version: `6.12.0-1012-aws` gives 6, 12, 0."""
    head = "".join(c if c.isdigit() or c == "." else " " for c in text.strip()).split(" ")[0]
    return tuple(int(part) for part in head.split(".") if part)


def is_at_least(version: str, minimum: str) -> bool:
    """Say whether a version reaches a minimum, number by number."""
    have, need = version_numbers(version), version_numbers(minimum)
    return have + (0,) * (len(need) - len(have)) >= need
