"""What evidence beside an Xid changes its verdict (verdict-rules §6 to §11), for people to read."""

from dataclasses import dataclass
from functools import cache

from gpuvet.catalog.table import Row, read_table
from gpuvet.model.words import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One exception: with this evidence, that verdict."""

    codes: tuple[int, ...]
    evidence: str
    verdict: Verdict | None  # None: `advice` says which event or value decides
    advice: str | None
    source: str


def _read(row: Row) -> Condition:
    return Condition(
        codes=row.read_each("codes", int),
        evidence=row.text("evidence"),
        verdict=row.read_optional("verdict", Verdict),
        advice=row.optional("advice"),
        source=row.text("source"),
    )


@cache
def conditions() -> tuple[Condition, ...]:
    """Return the whole table, in its order."""
    return tuple(map(_read, read_table("conditions.csv")))


def conditions_of(code: int) -> tuple[Condition, ...]:
    """Return the exceptions of one Xid."""
    return tuple(row for row in conditions() if code in row.codes)
