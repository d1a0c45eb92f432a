"""The recovery actions that an Xid 154 announces, by number (verdict-rules §11)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuvet.catalog.table import Row, by_key, read_table
from gpuvet.model.words import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryAction:
    """What the driver asks for. It raises a verdict and never lowers one."""

    value: int
    name: str
    texts: tuple[str, ...]  # as drivers print it; the number comes first, the text varies
    verdict: Verdict | None  # None for 0, which raises nothing
    minimum_action: str
    advice: str
    source: str


def _read(row: Row) -> RecoveryAction:
    return RecoveryAction(
        value=row.read("value", int),
        name=row.text("name"),
        texts=row.words("texts"),
        verdict=row.read_optional("verdict", Verdict),
        minimum_action=row.text("minimum_action"),
        advice=row.text("advice"),
        source=row.text("source"),
    )


@cache
def recovery_actions() -> Mapping[int, RecoveryAction]:
    """Return every recovery action by its number, 0 to 7."""
    rows = map(_read, read_table("recovery_actions.csv"))
    return by_key("recovery_actions.csv", rows, lambda row: row.value)
