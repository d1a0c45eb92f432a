"""Which event follows from which, and within how many seconds (verdict-rules §4)."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.table import Row, read_table
from gpuvet.model.words import Verdict


class CauseKind(StrEnum):
    """What kind of thing it is put down to."""

    XID = "xid"
    SXID = "sxid"
    SHUTDOWN = "shutdown"
    LINK_DROP = "link_drop"
    NODE_FINDING = "node_finding"


class Scope(StrEnum):
    """Where the cause stands, seen from the effect."""

    SAME_GPU = "same_gpu"
    OTHER_GPU = "other_gpu"  # of the same node
    NODE = "node"  # anywhere on the node
    NVLINK_DOMAIN = "nvlink_domain"
    OTHER_NODE = "other_node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """One line of the table: the effect cannot be the cause and gives no verdict of its own."""

    rule: str
    effect_kind: CodeKind
    effects: tuple[int, ...]
    effect_condition: str | None  # None: any event of those codes
    cause_kind: CauseKind
    causes: tuple[int, ...]  # none: any but `not_causes`
    not_causes: tuple[int, ...]
    cause_condition: str | None
    scope: Scope
    cause_before_seconds: int | None  # the cause lies at most so long before; None: no limit
    cause_after_seconds: int  # and at most so long after
    verdict: Verdict | None  # kept all the same; None: no verdict
    source: str
    note: str | None = None


def _read(row: Row) -> Consequence:
    return Consequence(
        rule=row.text("rule"),
        effect_kind=row.read("effect_kind", CodeKind),
        effects=row.read_each("effects", int),
        effect_condition=row.optional("effect_condition"),
        cause_kind=row.read("cause_kind", CauseKind),
        causes=row.read_each("causes", int),
        not_causes=row.read_each("not_causes", int),
        cause_condition=row.optional("cause_condition"),
        scope=row.read("scope", Scope),
        cause_before_seconds=row.read_optional("cause_before_seconds", int),
        cause_after_seconds=row.read("cause_after_seconds", int),
        verdict=row.read_optional("verdict", Verdict),
        source=row.text("source"),
        note=row.optional("note"),
    )


@cache
def consequences() -> tuple[Consequence, ...]:
    """Return the whole table, in its order."""
    return tuple(map(_read, read_table("consequences.csv")))


def follows_from(kind: CodeKind, code: int) -> tuple[Consequence, ...]:
    """Return what events of a code may be a consequence of."""
    return tuple(row for row in consequences() if row.effect_kind is kind and code in row.effects)


def leads_to(code: int) -> tuple[Consequence, ...]:
    """Return what an Xid may bring with it."""
    return tuple(
        row
        for row in consequences()
        if row.cause_kind is CauseKind.XID
        and code not in row.not_causes
        and (code in row.causes or not row.causes)
    )
