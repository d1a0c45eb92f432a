"""One log monitor as the elastic agent steps it (references/log-monitors.md).

Standard library only: the child process that runs patterns loads this. The clock is an argument.
"""

import operator
from collections.abc import Callable
from typing import NamedTuple

WAITING, HEALTHY, SLOW, HANGING, FAULTED, STOPPED = (
    "WAITING",
    "HEALTHY",
    "SLOW",
    "HANGING",
    "FAULTED",
    "STOPPED",
)
_TRIPS = frozenset({SLOW, HANGING, FAULTED})
_MAX_TRANSITIONS = 400  # kept for a time line; what follows is only counted
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "gt": operator.gt,
    "gteq": operator.ge,
    "lt": operator.lt,
    "lteq": operator.le,
    "eq": operator.eq,
}


def _never(_value: float, _threshold: float) -> bool:
    return False


class RuleSpec(NamedTuple):
    """A rule as the child process gets it."""

    name: str
    log_pattern: str
    stop_pattern: str | None = None
    cutoff: float | None = None
    recurrence: float | None = None
    threshold: float | None = None
    operator: str | None = None
    data_points: int = 1
    fault_on_match: bool = False


class Trip(NamedTuple):
    """The first time a rule trips."""

    state: str
    at: float
    line: int | None
    value: float | None


class RuleMachine:
    """The state of one rule; times are seconds from the start of the stage."""

    def __init__(
        self, spec: RuleSpec, *, matches_empty: bool, stops_empty: bool, groups: int
    ) -> None:
        """Take what the compiled patterns tell: whether they match "", and how many groups."""
        self.spec = spec
        self.state = WAITING
        self.matches = 0
        self.trip: Trip | None = None
        self.stopped_at: float | None = None
        self.transitions: list[tuple[float, str, int | None]] = [(0.0, WAITING, None)]
        self.reads_metric = groups > 0 and spec.threshold is not None and spec.operator in _COMPARE
        self._compare: Callable[[float, float], bool] = _COMPARE.get(spec.operator or "gt", _never)
        self._last: float | None = None
        self._slow = 0
        self._is_refreshed = matches_empty  # idle ticks match: its clocks never run out
        if matches_empty:
            self._enter(FAULTED if spec.fault_on_match else HEALTHY, 0.0)
        if stops_empty and not (matches_empty and spec.fault_on_match):
            self.stop(0.0, None)

    @property
    def is_active(self) -> bool:
        """False once the stopPattern has matched."""
        return self.stopped_at is None

    def advance(self, now: float) -> None:
        """Let time pass: a gap longer than its limit is HANGING at the deadline."""
        if self._is_refreshed or self.stopped_at is not None or self.state == HANGING:
            return
        spec = self.spec
        if self._last is None:
            if spec.cutoff is not None and now > spec.cutoff:
                self._enter(HANGING, spec.cutoff)
        elif spec.recurrence is not None and now - self._last > spec.recurrence:
            self._enter(HANGING, self._last + spec.recurrence)

    def match(self, now: float, line: int) -> None:
        """Take a line that matches logPattern, before stop and metric are looked at."""
        last, limit = self._last, self.spec.recurrence
        if last is None or (limit is not None and now - last > limit):
            self.advance(now)
        self._last = now
        self.matches += 1
        if self.spec.fault_on_match:
            self._enter(FAULTED, now, line)

    def stop(self, now: float, line: int | None) -> None:
        """Take a line that matches stopPattern."""
        self.advance(now)
        self.stopped_at = now
        self._enter(HEALTHY, now, line)

    def judge(self, now: float, line: int, captured: str | None) -> bool:
        """Judge a matching line's value; False when it is no number, which ends the line.

        An optional group that took no part counts as no number, as in the agent.
        """
        if not self.reads_metric:
            if self.state is not HEALTHY:
                self._enter(HEALTHY, now, line)
            return True
        try:
            value = float(captured if captured is not None else "none")
        except ValueError:
            return False
        threshold = self.spec.threshold
        if threshold is not None and self._compare(value, threshold):
            self._slow = min(self._slow + 1, self.spec.data_points)
        else:
            self._slow = 0
        state = SLOW if self._slow >= self.spec.data_points else HEALTHY
        if state is not self.state:
            self._enter(state, now, line, value)
        return True

    def outcome(self) -> str:
        """Return the first trip's state, else STOPPED, HEALTHY or WAITING."""
        if self.trip is not None:
            return self.trip.state
        if not self.is_active:
            return STOPPED
        return HEALTHY if self.matches or self._is_refreshed else WAITING

    def _enter(
        self, state: str, at: float, line: int | None = None, value: float | None = None
    ) -> None:
        if state in _TRIPS and self.trip is None:
            self.trip = Trip(state, at, line, value if state == SLOW else None)
        if state != self.state:
            self.state = state
            if len(self.transitions) < _MAX_TRANSITIONS:
                self.transitions.append((at, state, line))
