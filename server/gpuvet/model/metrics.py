"""Metric values over time: equal periods, gaps where there was no datapoint, one status each."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from pydantic import AwareDatetime, Field

from gpuvet.model.base import Value
from gpuvet.model.evidence import Reason, Status

Dimensions = tuple[tuple[str, str], ...]


class MetricName(Value):
    """One metric as the service lists it."""

    namespace: str
    metric: str
    dimensions: Dimensions = ()  # sorted by name

    def of(self, name: str) -> str | None:
        """Return the value of one dimension, or None."""
        return dict(self.dimensions).get(name)


class TimeSeries(Value):
    """One metric and statistic over time.

    `values[i]` belongs to the period that starts at `start + i * period`. None is a period without
    a datapoint: neither zero nor low. `extreme` is a single value over an unnamed span, where
    that is all a case gives; it has no time and shows no run.
    """

    name: MetricName
    stat: str
    period_seconds: int = Field(gt=0)
    start: AwareDatetime
    values: tuple[float | None, ...] = ()
    extreme: float | None = None
    unit: str | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    evidence: str | None = None

    @property
    def period(self) -> timedelta:
        """The period as a span of time."""
        return timedelta(seconds=self.period_seconds)

    @property
    def end(self) -> datetime:
        """The end of the last period."""
        return self.start + len(self.values) * self.period

    def grid(self) -> Iterator[tuple[datetime, float | None]]:
        """Yield the start of every period with its value, oldest first."""
        at, step = self.start, self.period
        for value in self.values:
            yield at, value
            at += step

    def points(
        self, start: datetime | None = None, end: datetime | None = None
    ) -> tuple[tuple[datetime, float], ...]:
        """Return the datapoints whose period starts in [start, end), oldest first."""
        return tuple(
            (at, value)
            for at, value in self.grid()
            if value is not None and (start is None or start <= at) and (end is None or at < end)
        )
