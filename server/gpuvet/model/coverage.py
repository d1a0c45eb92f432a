"""Which hours of which stream could be seen."""

from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.model.evidence import Reason, Status, Window


class Shipper(StrEnum):
    """What a stream carries (coverage.md); it decides what an empty hour means."""

    HOST_SYSLOG = "HOST_SYSLOG"
    JOURNAL_ALL = "JOURNAL_ALL"
    KERNEL_ONLY = "KERNEL_ONLY"
    HMA = "HMA"
    SERVICE = "SERVICE"
    APP = "APP"
    UNKNOWN = "UNKNOWN"


class LogClass(StrEnum):
    """CloudWatch Logs group class."""

    STANDARD = "STANDARD"
    INFREQUENT_ACCESS = "INFREQUENT_ACCESS"
    DELIVERY = "DELIVERY"


class HourState(StrEnum):
    """What one epoch hour of one stream came to."""

    LIVE = "LIVE"
    EMPTY = "EMPTY"
    EMPTY_PARTIAL = "EMPTY_PARTIAL"
    NOT_REQUIRED = "NOT_REQUIRED"
    INCOMPLETE = "INCOMPLETE"
    RETENTION_LOST = "RETENTION_LOST"
    NO_GROUP = "NO_GROUP"
    UNKNOWN = "UNKNOWN"
    UNKNOWN_STATE = "UNKNOWN_STATE"  # before a restart: running or stopped is not known


class CoverageStatus(StrEnum):
    """A source or a node as a whole (coverage.md)."""

    MEASURED = "MEASURED"
    PARTIAL = "PARTIAL"
    NOT_OBSERVABLE = "NOT_OBSERVABLE"
    UNVERIFIED = "UNVERIFIED"
    INSUFFICIENT_EXPOSURE = "INSUFFICIENT_EXPOSURE"
    DETECTIONS = "DETECTIONS"
    NO_HMA_DETECTIONS = "NO_HMA_DETECTIONS"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    NOT_SUPPORTED = "NOT_SUPPORTED"


# A fault in the window would have shown: every hour seen, or an agent whose group is live.
VISIBLE = frozenset(
    {CoverageStatus.MEASURED, CoverageStatus.NO_HMA_DETECTIONS, CoverageStatus.DETECTIONS}
)


class HourCount(Value):
    """Lines in one epoch hour."""

    hour: AwareDatetime
    lines: int


class StreamCounts(Value):
    """One stream of one node as counted: the input of the coverage proof."""

    node: str
    group: str | None
    stream: str
    shipper: Shipper = Shipper.UNKNOWN
    log_class: LogClass = LogClass.STANDARD
    retention_days: int | None = None  # None: never expires, or not read
    group_created: AwareDatetime | None = None
    bins: tuple[HourCount, ...] = ()  # only the hours the query returned
    bins_status: Status = Status.OK
    bins_reason: Reason | None = None
    bins_unread: tuple[Window, ...] = ()  # of a PARTIAL count: what it lacks; (): not told
    kernel_lines_ever: int | None = None  # None: not asked
    kernel_status: Status = Status.OK
    kernel_reason: Reason | None = None
    shared_with: tuple[str, ...] = ()  # other nodes that write the same stream
    late_share: float = 0.0  # share of sampled lines delivered over an hour late
    skewed: bool = False  # most samples carry an impossible clock
    evidence: str | None = None  # of the reading behind the bins


class Gap(Value):
    """A run of consecutive hours that could not be seen; end excluded."""

    start: AwareDatetime
    end: AwareDatetime
    state: HourState
    note: str | None = None

    @property
    def hours(self) -> int:
        """Whole hours in the run."""
        return int((self.end - self.start).total_seconds() // 3600)


class SourceCoverage(Value):
    """What one stream of one node could show."""

    node: str
    source: Shipper
    group: str | None
    stream: str | None  # None: no such stream exists
    status: CoverageStatus
    reason: str | None = None
    live_hours: tuple[datetime, ...] = ()
    hours_asked: int = 0
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    detections: int | None = None  # HMA only: detections inside the window
    evidence: str | None = None

    @property
    def hours_measured(self) -> int:
        """Hours proven live."""
        return len(self.live_hours)


class Gate(StrEnum):
    """Coverage as the verdict asks for it (verdict-rules §12)."""

    MEASURED = "MEASURED"
    HMA_ONLY = "HMA_ONLY"
    PARTIAL = "PARTIAL"
    NONE = "NONE"


class NodeCoverage(Value):
    """All sources of one node, and what they allow together."""

    node: str
    status: CoverageStatus
    gate: Gate
    hours_asked: int = 0
    live_hours: tuple[datetime, ...] = ()
    empty_hours: tuple[datetime, ...] = ()  # required, not seen
    whole_window_unknown: bool = False  # denied or incomplete bins: no hour may be claimed
    sources: tuple[SourceCoverage, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def hours_measured(self) -> int:
        """Hours proven live by any source."""
        return len(self.live_hours)
