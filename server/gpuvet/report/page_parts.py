"""Rows, tiles and facts that the pages of all modes share."""

from collections.abc import Iterator, Mapping, Sequence

from gpuvet.model.report import NotSeenRow
from gpuvet.model.verdict import Verdict
from gpuvet.report.page import MOST_ROWS, Table, Tile
from gpuvet.report.words import counted, plain, whole_plain

# Most urgent first.
URGENT = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.NOT_OBSERVABLE,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)
_ACTING = frozenset(URGENT[:3])


def told_facts(*pairs: tuple[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield the facts that have a value, made visible."""
    for name, value in pairs:
        if value:
            yield name, whole_plain(value)


def acting_tile(verdicts: Mapping[str, Verdict]) -> Tile:
    """Return how many nodes have a verdict that somebody acts on."""
    acting = sum(verdict in _ACTING for verdict in verdicts.values())
    of = f"of {counted(len(verdicts), 'node')}"
    return Tile("Verdicts to act on", str(acting), of, "bad" if acting else "plain")


def unseen_table(not_seen: Sequence[NotSeenRow], most: int = MOST_ROWS) -> Table:
    """Return what was not seen, why, and what would close it."""
    rows = [
        (whole_plain(row.what), plain(str(row.reason)), whole_plain(row.closes_with))
        for row in not_seen[:most]
    ]
    return Table(
        key="unseen",
        title="Not seen",
        columns=("What", "Why", "Closes with"),
        kinds=("text", "text", "text"),
        rows=rows,
        more=max(0, len(not_seen) - most),
        empty="Nothing that was asked for is missing.",
    )
