"""The start of a slowdown from step lines (incident-branches, failure start). Pure."""

from collections.abc import Sequence

from gpuvet.calculators.running import medians_before
from gpuvet.model.job_steps import Slowdown, StepPoint

# incident-branches: t0 is the first step line at 1.5 times the median before it.
SLOW_FACTOR = 1.5


def slowdown(points: Sequence[StepPoint]) -> Slowdown | None:
    """Return when steps became slow, or None where no step line is slow.

    A single slow line with normal ones after it (an evaluation, a checkpoint) gives way to the
    first slow stretch of several lines, or of lines up to the end of the log; without such a
    stretch it stands. The slow period ends at the first of two normal lines in a row, or at a
    normal line that is the last one.

    Args:
        points: Step lines in any order; copies count once.
    """
    ordered = sorted(
        {(p.at, p.step, p.seconds): p for p in sorted(points, key=_place, reverse=True)}.values(),
        key=_place,
    )
    first_seen: Slowdown | None = None
    for place, before in enumerate(medians_before(p.seconds for p in ordered)):
        found = None if before is None else _from(ordered, place, before)
        if found is not None and (found.slow_lines > 1 or found.slow_until is None):
            return found
        first_seen = first_seen or found
    return first_seen


def _place(point: StepPoint) -> tuple[object, ...]:
    return (point.at, -1 if point.step is None else point.step, point.source, point.line)


def _from(points: Sequence[StepPoint], first: int, before: float) -> Slowdown | None:
    """Return the slow stretch that begins at one point, or None where none does."""
    bar = SLOW_FACTOR * before
    if points[first].seconds < bar or points[first - 1].seconds >= bar:
        return None
    end = _end(points, first, bar)
    slow = sum(p.seconds >= bar for p in points[first:end])
    start = points[first]
    return Slowdown(
        at=start.at,
        seconds=start.seconds,
        median_before_seconds=before,
        points_before=first,
        last_normal_at=points[first - 1].at,
        slow_until=points[end].at if end < len(points) else None,
        slow_lines=slow,
        source=start.source,
        line=start.line,
        raw=start.raw,
        evidence=start.evidence,
    )


def _end(points: Sequence[StepPoint], first: int, bar: float) -> int:
    """Return the place of the first normal line that ends the stretch, or the number of lines."""
    for place in range(first + 1, len(points)):
        is_last = place + 1 == len(points)
        if points[place].seconds < bar and (is_last or points[place + 1].seconds < bar):
            return place
    return len(points)
