"""Which hours of which node and stream could be seen, packed: what a heatmap is drawn from."""

from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.coverage import Shipper


class HourCode(StrEnum):
    """One epoch hour of one row, as one letter.

    `L`, `A` and `D` were seen in some way, the next seven are holes, the rest is excused by name.
    """

    LIVE = "L"  # a line arrived, in a stream that was searched for Xids
    AGENT = "A"  # only the health agent speaks for it; the kernel log is not shipped
    DECLARED = "D"  # covered as the case states it, not measured
    EMPTY = "E"
    EMPTY_PARTIAL = "P"  # no line in the part of the hour that counts
    RETENTION_LOST = "R"
    NO_GROUP = "G"
    UNKNOWN = "U"  # the count is not complete, or proves nothing
    UNKNOWN_STATE = "S"  # before a restart: running or stopped is not known
    NOT_SEARCHED = "Q"  # lines arrived, and nobody searched them for Xids
    NO_STREAM = "O"  # no stream carries the node's name
    BEFORE_LAUNCH = "B"
    AFTER_END = "X"
    INSIDE_LAG = "I"  # may still arrive
    STOPPED = "T"
    TOO_SHORT = "N"  # less of the hour was asked for than counts
    NOT_ASKED = "Z"  # outside this cluster's window
    NOT_APPLICABLE = "V"  # no accelerator

    @property
    def is_seen(self) -> bool:
        """Say whether something may be claimed for the hour."""
        return self in _SEEN

    @property
    def is_hole(self) -> bool:
        """Say whether the hour was asked for and not seen."""
        return self in _HOLES


_SEEN = frozenset({HourCode.LIVE, HourCode.AGENT, HourCode.DECLARED})
_HOLES = frozenset(
    {
        HourCode.EMPTY,
        HourCode.EMPTY_PARTIAL,
        HourCode.RETENTION_LOST,
        HourCode.NO_GROUP,
        HourCode.UNKNOWN,
        HourCode.UNKNOWN_STATE,
        HourCode.NOT_SEARCHED,
        HourCode.NO_STREAM,
    }
)

HOUR_WORDS = {
    HourCode.LIVE: "seen",
    HourCode.AGENT: "health agent only, kernel log not shipped",
    HourCode.DECLARED: "covered as the case states it",
    HourCode.EMPTY: "no line arrived",
    HourCode.EMPTY_PARTIAL: "no line in the part of the hour that counts",
    HourCode.RETENTION_LOST: "older than the group's retention",
    HourCode.NO_GROUP: "before the log group existed",
    HourCode.UNKNOWN: "not known: the count is incomplete or proves nothing",
    HourCode.UNKNOWN_STATE: "before a restart: running or stopped is not known",
    HourCode.NOT_SEARCHED: "lines arrived, not searched for Xids",
    HourCode.NO_STREAM: "no stream carries this node",
    HourCode.BEFORE_LAUNCH: "before launch",
    HourCode.AFTER_END: "after the node ended",
    HourCode.INSIDE_LAG: "inside the delivery lag",
    HourCode.STOPPED: "stopped",
    HourCode.TOO_SHORT: "too little of the hour was asked for",
    HourCode.NOT_ASKED: "not asked for",
    HourCode.NOT_APPLICABLE: "no accelerator",
}


class HourRow(Value):
    """The hours of one node, or of one of its sources, as runs: `24L2E` is 24 seen, 2 empty."""

    node: str
    source: Shipper | None = None  # None: the node itself, the union of its sources
    group: str | None = None
    stream: str | None = None
    runs: str


class HourGrid(Value):
    """Rows of hours that all begin at one epoch hour."""

    start: AwareDatetime
    hours: int
    rows: tuple[HourRow, ...]
