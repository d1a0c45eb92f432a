"""The median of everything before each value, without sorting again at each one. Pure."""

from bisect import insort
from collections.abc import Iterable, Iterator


def medians_before(values: Iterable[float]) -> Iterator[float | None]:
    """Yield, for each value, the median of all values before it; None before the first."""
    seen: list[float] = []
    for value in values:
        middle = len(seen) // 2
        if not seen:
            yield None
        elif len(seen) % 2:
            yield seen[middle]
        else:
            yield (seen[middle - 1] + seen[middle]) / 2
        insort(seen, value)
