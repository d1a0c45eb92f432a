"""What the short source words of every table stand for."""

from collections.abc import Mapping
from functools import cache

from gpuvet.catalog.table import by_key, read_table


@cache
def sources() -> Mapping[str, str]:
    """Return the title of every source by its short word."""
    rows = ((row.text("source"), row.text("title")) for row in read_table("sources.csv"))
    return {word: title for word, (_, title) in by_key("sources.csv", rows, _word).items()}


def _word(row: tuple[str, str]) -> str:
    return row[0]
