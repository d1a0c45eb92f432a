"""A clock that moves only when somebody waits or a call takes its time."""

from datetime import datetime, timedelta

from gpuvet.aws.budget import Clock


class SimulatedClock:
    """Time of a simulated account: nobody waits for it, and two runs see the same times."""

    def __init__(self, now: datetime) -> None:
        self._start = now
        self.seconds = 0.0

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self.seconds += max(0.0, seconds)

    def now(self) -> datetime:
        """Return the present of the simulation."""
        return self._start + timedelta(seconds=self.seconds)

    @property
    def clock(self) -> Clock:
        """The clock a door takes."""
        return Clock(now=self.now, monotonic=lambda: self.seconds, sleep=self.pass_time)
