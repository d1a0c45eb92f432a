"""Step times of a training job, and the slowdown they show."""

from pydantic import AwareDatetime

from gpuvet.model.base import Value


class StepPoint(Value):
    """One step line: when it was printed, and how long a step took."""

    at: AwareDatetime
    step: int | None = None
    seconds: float
    source: str  # file or stream
    line: int
    raw: str
    evidence: str | None = None


class Slowdown(Value):
    """When the steps became slow, and until when."""

    at: AwareDatetime  # the first step line at 1.5 times the median before it, or more
    seconds: float  # of that line
    median_before_seconds: float
    points_before: int
    last_normal_at: AwareDatetime  # the step line before it: the slow steps began after it
    slow_until: AwareDatetime | None = None  # None: still slow in the last line
    slow_lines: int
    source: str
    line: int
    raw: str
    evidence: str | None = None

    @property
    def ratio(self) -> float:
        """How many times slower than before."""
        return self.seconds / self.median_before_seconds
