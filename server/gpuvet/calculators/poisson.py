"""Rates of rare events with their exact interval (Garwood), and when there are enough of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

# Ours, stated with every figure: below either of these an interval says more than is known.
FEWEST_EVENTS = 3
FEWEST_NODE_HOURS = 1_000.0
CONFIDENCE = 0.95
_STEPS = 200


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a mean count."""

    low: float
    high: float

    def times(self, factor: float) -> "Interval":
        """Return the interval of another exposure."""
        return Interval(self.low * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class History:
    """What was seen in an account's own node-hours."""

    events: int
    node_hours: float

    @property
    def is_enough(self) -> bool:
        """Say whether a rate may be shown."""
        return self.events >= FEWEST_EVENTS and self.node_hours >= FEWEST_NODE_HOURS

    def interruptions(self, node_hours: float) -> Interval | None:
        """Return the range of events to expect in some node-hours; None for too little history."""
        if not self.is_enough:
            return None
        return exact_interval(self.events).times(node_hours / self.node_hours)


def exact_interval(events: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of a Poisson mean of which so many events were seen.

    Its ends are the means under which as many or more, and as few or fewer, events have half the
    remaining probability (Garwood 1936).

    Raises:
        ValueError: events is negative, or confidence is not between 0 and 1.
    """
    if events < 0 or not 0 < confidence < 1:
        msg = f"events {events} and confidence {confidence} make no interval"
        raise ValueError(msg)
    tail = (1 - confidence) / 2
    top = 10.0 + 2.0 * events + 10.0 * math.sqrt(events + 1.0)
    low = 0.0
    if events > 0:
        low = _root(lambda mean: 1 - at_most(events - 1, mean) - tail, 0.0, top)
    return Interval(low, _root(lambda mean: tail - at_most(events, mean), 0.0, top))


def at_most(count: int, mean: float) -> float:
    """Return the probability of at most so many events under a mean."""
    if mean <= 0:
        return 1.0
    terms = (k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(count + 1))
    return min(1.0, math.fsum(math.exp(term) for term in terms))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function crosses zero."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2
