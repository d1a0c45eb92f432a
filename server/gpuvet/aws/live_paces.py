"""How often this process asks what a service rations by the second, all its questions together.

A call that comes too soon is throttled, and so is everybody else's of the account: waiting for a
turn costs less than being refused. Pure but for its own memory: the time is handed in.
"""

from threading import Lock
from types import MappingProxyType
from typing import NamedTuple


class Pace(NamedTuple):
    """Calls a second in the long run, and how many may come at once."""

    a_second: float
    at_once: float = 1.0


# AWS's API reference: CloudTrail's 2 a second and the Logs limits are the account's; we leave
# some of each to others.
PACES = MappingProxyType(
    {
        "cloudtrail:LookupEvents": Pace(1 / 0.6),
        "logs:StartQuery": Pace(4.0, 4.0),
        "logs:GetQueryResults": Pace(5.0, 4.0),
        "logs:DescribeLogGroups": Pace(9.0, 9.0),
        "logs:DescribeLogStreams": Pace(22.0, 20.0),
    }
)


class Paces:
    """The turns of one account and region."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}
        self._lock = Lock()

    def wait(self, operation: str, now: float) -> float:
        """Take the next turn; return the seconds until it, 0 where it is now.

        Args:
            operation: `service:Operation`.
            now: The stopwatch.
        """
        pace = PACES.get(operation)
        if pace is None:
            return 0.0
        with self._lock:
            # The time at which all turns taken so far would have come one by one.
            spent = max(self._free_at.get(operation, now), now)
            self._free_at[operation] = spent + 1 / pace.a_second
        return max(0.0, spent - now - (pace.at_once - 1) / pace.a_second)
