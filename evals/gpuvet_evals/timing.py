"""Runtime, cost and context use of a run, by the published tool's formulas. Pure."""

import math
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.journal import Journal, Record, mapping

# Runtime and price were read off ten published runs, exact in all: references/evals.md.
COST_USD_PER_SECOND = 0.0083
_NOT_WORK = frozenset({"chat_title", "utilization"})


class RunMetrics(Value):
    """What a run took."""

    runtime_seconds: float
    runtime: str  # floored, e.g. 1m56s
    cost: str  # dollars and cents, from the time
    context_utilization: str | None  # percent of the context window at the end
    records: int

    @property
    def cost_usd(self) -> float:
        """The cost before rounding to cents."""
        return self.runtime_seconds * COST_USD_PER_SECOND

    @property
    def context_percent(self) -> float | None:
        """The context use as a number."""
        text = self.context_utilization
        return float(text.rstrip("%")) if text is not None else None


def run_metrics(journal: Journal) -> RunMetrics:
    """Return time from the first to the last working record of the main execution, and use."""
    seconds = _length(tuple(r for r in journal.main if _works(r)))
    return RunMetrics(
        runtime_seconds=round(seconds, 3),
        runtime=shown_duration(seconds),
        cost=f"${seconds * COST_USD_PER_SECOND:.2f}",
        context_utilization=_context(journal),
        records=len(journal.records),
    )


def ended_at(journal: Journal) -> str | None:
    """Return when the last main record was written, in UTC with a Z; None where nothing tells."""
    for record in reversed(journal.main):
        if (time := record.time) is not None:
            return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return None


def compaction_count(journal: Journal) -> int:
    """Return how often the context was compacted, by the last accounting of the main execution."""
    count = _window(journal).get("compaction_count")
    return count if isinstance(count, int) and not isinstance(count, bool) else 0


def shown_duration(seconds: float) -> str:
    """Return whole minutes and seconds, floored as the published tool does: `26m39s`."""
    minutes, rest = divmod(math.floor(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _length(records: tuple[Record, ...]) -> float:
    """Return the seconds between the first and the last of the records that have a time."""
    stamps = [r.created_at for r in records]
    if len({(len(stamp), stamp[-6:]) for stamp in stamps}) == 1:  # one form: text order is theirs
        by_text = {record.created_at: record for record in records}
        records = (by_text[min(stamps)], by_text[max(stamps)])
    times = [time for record in records if (time := record.time) is not None]
    return (max(times) - min(times)).total_seconds() if times else 0.0


def _works(record: Record) -> bool:
    if record.kind != "message":
        return record.kind not in _NOT_WORK
    return record.role == "assistant" and bool(record.text)


def _window(journal: Journal) -> Mapping[str, Any]:
    for record in reversed(journal.main):
        if record.kind == "utilization":
            window = mapping(mapping(record.body.get("data")).get("context_window"))
            if window:
                return window
    return {}


def _context(journal: Journal) -> str | None:
    use: object = _window(journal).get("utilization")
    if isinstance(use, bool) or not isinstance(use, int | float):
        return None
    return f"{float(use):.1f}%"
