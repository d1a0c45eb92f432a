"""Where a record stands and when it was written: the part all records share."""

from datetime import datetime
from typing import TypedDict

from gpuvet.model.events import Source, TimeQuality


class Place(TypedDict):
    """The fields of `Record`, checked by name."""

    node: str
    group: str | None
    stream: str
    line: int
    raw: str
    at: datetime | None
    time_quality: TimeQuality
    uptime_us: int | None
    boot: str | None
    source: Source
