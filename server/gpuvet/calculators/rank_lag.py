"""Which ranks lie behind the others, by their last enqueued and completed work. Pure.

Work is compared within one process group only: the same number in two groups is another
collective.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpuvet.calculators.network_view import listed
from gpuvet.model.network import FlightDump, WatchdogKind, WatchdogLine

_DEFAULT_GROUPS = frozenset({"default_pg", "0", None})
WAITING = frozenset({WatchdogKind.TIMEOUT, WatchdogKind.STATE})


class Work(NamedTuple):
    """How far one rank came in one process group."""

    rank: int
    enqueued: int | None
    completed: int | None
    waits_for: int | None
    operation: str | None
    evidence: str | None


class Lag(NamedTuple):
    """Who differs, and the sentences that say how.

    Attributes:
        behind: The few with less work than the many.
        ahead: The few with more.
        facts: Numbers and ranks.
    """

    behind: tuple[int, ...] = ()
    ahead: tuple[int, ...] = ()
    facts: tuple[str, ...] = ()


# The order of what tells most: a rank that did not enqueue did not even begin.
_MEASURES: tuple[tuple[str, Callable[[Work], int | None]], ...] = (
    ("enqueued", lambda one: one.enqueued),
    ("timed out at", lambda one: one.waits_for),
    ("completed", lambda one: one.completed),
)


def work_of(lines: Sequence[WatchdogLine], dumps: Sequence[FlightDump]) -> dict[str, list[Work]]:
    """Return how far each rank came, by process group; a rank's last word per group counts."""
    found: dict[tuple[str, int], Work] = {}
    for line in lines:
        if line.rank is None or line.kind not in {*WAITING, WatchdogKind.DUMP_SIGNAL}:
            continue
        key = (_group(line.group_name), line.rank)
        old = found.get(key)
        found[key] = Work(
            line.rank,
            _kept(line.last_enqueued, old and old.enqueued),
            _kept(line.last_completed, old and old.completed),
            _kept(line.sequence, old and old.waits_for),
            line.operation or (old.operation if old else None),
            line.evidence,
        )
    for dump in dumps:
        for group in dump.groups:
            if dump.rank is not None and group.last_enqueued is not None:
                name = _group(group.name or group.group)
                found[name, dump.rank] = Work(
                    dump.rank,
                    group.last_enqueued,
                    group.last_completed,
                    group.open_sequence,
                    group.open_operation,
                    None,
                )
    by_group: dict[str, list[Work]] = defaultdict(list)
    for (name, _), work in sorted(found.items()):
        by_group[name].append(work)
    return by_group


def _group(name: str | None) -> str:
    return "default_pg" if name in _DEFAULT_GROUPS else name or "default_pg"


def _kept(new: int | None, old: int | None) -> int | None:
    """Keep the larger of two counters of a rank: lines may come in any order."""
    if new is None or old is None:
        return old if new is None else new
    return max(new, old)


def lag_of(groups: Mapping[str, Sequence[Work]]) -> Lag:
    """Return who is behind, or ahead, in the first group that shows a difference.

    The few differ from the many: a minority with less work is behind, a minority with more runs
    a collective that the others do not.
    """
    for name in sorted(groups, key=lambda one: (one != "default_pg", one)):
        work = groups[name]
        for label, of in _MEASURES:
            values = {one.rank: value for one in work if (value := of(one)) is not None}
            split = _split(values)
            if split is not None:
                low, high = split
                facts = tuple(_lag_facts(name, label, values, low, high, work))
                if len(low) > len(high):
                    return Lag(ahead=high, facts=facts)
                return Lag(behind=low, facts=facts)
    return Lag()


def _split(values: Mapping[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return ranks below the most common value and ranks above it, or None where all agree."""
    if len(set(values.values())) < 2:
        return None
    counts = Counter(values.values())
    most = max(counts.values())
    common = max(value for value, count in counts.items() if count == most)
    low = tuple(sorted(rank for rank, value in values.items() if value < common))
    high = tuple(sorted(rank for rank, value in values.items() if value > common))
    if low:
        return low, tuple(sorted(set(values) - set(low)))
    return tuple(sorted(set(values) - set(high))), high


def _lag_facts(
    name: str,
    label: str,
    values: Mapping[int, int],
    low: Sequence[int],
    high: Sequence[int],
    work: Sequence[Work],
) -> Iterator[str]:
    less, more = sorted({values[r] for r in low}), sorted({values[r] for r in high})
    operation = next((one.operation for one in work if one.operation), None)
    words = f" ({operation})" if operation else ""
    yield (
        f"process group {name}: last {label} work {_numbers(less)} on rank {ranks_of(low)}, "
        f"{_numbers(more)} on rank {ranks_of(high)}{words}"
    )
    if len(low) > len(high):
        yield (
            f"rank {ranks_of(high)} began work that {len(low)} others never began: an extra or "
            "mismatched collective in the code, or the others stopped before it"
        )


def _numbers(values: Sequence[int]) -> str:
    words = [str(one) for one in values]
    return words[0] if len(words) == 1 else f"{words[0]} to {words[-1]}"


def ranks_of(ranks: Iterable[int]) -> str:
    """Return ranks in a row, cut with a count."""
    return listed([str(one) for one in sorted(ranks)])
