"""Where a record stands and when it was written: the part all records share. Pure."""

from datetime import datetime
from typing import NamedTuple, TypedDict

from gpuvet.model.events import Source, TimeQuality
from gpuvet.parse.untrusted import clean_around
from gpuvet.parse.wrappers import Peeled, instance_id


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


def written_by(place: Place, source: Source) -> Place:
    """Return the same place with another writer."""
    changed = place.copy()
    changed["source"] = source
    return changed


def timed(place: Place, at: datetime | None) -> Place:
    """Return the same place with an exact time; unchanged where there is none."""
    if at is None:
        return place
    changed = place.copy()
    changed["at"], changed["time_quality"] = at, TimeQuality.EXACT
    return changed


class Spot(NamedTuple):
    """One line of one stream, peeled."""

    peeled: Peeled
    text: str  # as shipped
    line: int
    node: str
    stream: str
    group: str | None

    def place(self, source: Source, mark: str = "") -> Place:
        """Return the shared fields of a record.

        Args:
            source: Who wrote the line.
            mark: Where the record's own text begins in the line; kept in a long raw text.
        """
        node = self.node
        if source is Source.HMA:  # the agent's instance stands in the stream's name only
            node = instance_id(self.stream) or node
        peeled = self.peeled
        return Place(
            node=node,
            group=self.group,
            stream=self.stream,
            line=self.line,
            raw=clean_around(self.text, self.text.find(mark) if mark else 0),
            at=peeled.at,
            time_quality=peeled.quality if peeled.at is not None else TimeQuality.NONE,
            uptime_us=peeled.uptime_us,
            boot=peeled.boot,
            source=source,
        )
