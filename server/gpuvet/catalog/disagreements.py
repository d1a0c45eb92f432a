"""Where published sources contradict each other about a code, and who decided."""

from dataclasses import dataclass
from functools import cache

from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.table import Row, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One source that says otherwise than the verdict given here."""

    kind: CodeKind
    code: int
    who: str
    says: str
    decided_by: str  # the sources that were followed
    ruling: str  # the default verdict that came of it, or BY_TEXT
    why: str
    source: str


def _read(row: Row) -> Disagreement:
    return Disagreement(
        kind=row.read("kind", CodeKind),
        code=row.read("code", int),
        who=row.text("who"),
        says=row.text("says"),
        decided_by=row.text("decided_by"),
        ruling=row.text("ruling"),
        why=row.text("why"),
        source=row.text("source"),
    )


@cache
def disagreements() -> tuple[Disagreement, ...]:
    """Return the whole table, by kind, code and who."""
    return tuple(map(_read, read_table("disagreements.csv")))


def disagreements_about(kind: CodeKind, code: int) -> tuple[Disagreement, ...]:
    """Return who says otherwise about one code."""
    return tuple(row for row in disagreements() if row.kind is kind and row.code == code)
