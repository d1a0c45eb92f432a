"""Log lines of a node to records: Xid, SXid, boots, shutdowns, identities, agents.

Pure. Every line is counted exactly once; nothing is judged and copies are not merged.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from gpuvet.model.base import Value
from gpuvet.model.cluster import NodeRecords
from gpuvet.model.events import (
    AnyRecord,
    Boundary,
    DeepCheck,
    FabricManagerLine,
    GpuIdentity,
    GpuPresence,
    HardwareError,
    HmaRecord,
    InforomCorrupted,
    NodeCondition,
    PcieError,
    Record,
    Shutdown,
    SxidEvent,
    XidEvent,
)
from gpuvet.parse.line_reader import LineReader
from gpuvet.parse.recognise import Fate

T = TypeVar("T", bound=Record)


class RawLine(NamedTuple):
    """One line as shipped."""

    text: str
    line: int | None = None  # 1-based; None: its place among the lines passed in
    shipped_at: datetime | None = None  # CloudWatch's timestamp or another shipper's


class LineCounts(Value):
    """What became of every line; the four kinds add up to `lines`."""

    lines: int = 0
    understood: int = 0  # gave a record, or is a part of one
    benign: int = 0  # a driver or service line that is known to classify nothing
    unrelated: int = 0  # another program's line
    not_understood: int = 0  # names the driver or an Xid in a form we do not know


class ParsedLog(Value):
    """What the lines of one stream say, in the order of the lines."""

    records: tuple[AnyRecord, ...] = ()
    counts: LineCounts = LineCounts()
    notes: tuple[str, ...] = ()  # known lines that bear on how the rest is read
    garbled: int = 0  # reports of an Xid or SXid whose code cannot be read: cut or overwritten
    unread: tuple[str, ...] = ()  # the first lines that were not understood, cleaned

    def of_node(self, node: str) -> NodeRecords:
        """Return the records of one node, by kind."""
        return node_records(record for record in self.records if record.node == node)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes the records name, sorted."""
        return tuple(sorted({record.node for record in self.records}))


def parse_lines(
    lines: Iterable[RawLine | str],
    *,
    node: str,
    stream: str,
    reference_time: datetime,
    group: str | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> ParsedLog:
    """Return what the lines of one stream say.

    Args:
        lines: Kernel, syslog, journal, agent or copied lines in any wrapper; candidates of a
            filter or the whole stream. A record may hold several lines.
        node: The node of lines that do not carry an instance id or a known host of their own.
        stream: Exact stream or file name.
        reference_time: Latest plausible time of a line (window end or now); gives stamps without
            a year theirs.
        group: Log group, where the stream has one.
        names: Host name to node, for streams that several nodes write.

    Returns:
        Records in line order. Every driver load is a `driver_reload`, also the one after a
        `reboot`; copies of one event from several sources stay several records.
    """
    reader = LineReader(
        node=node, stream=stream, group=group, reference_time=reference_time, names=names
    )
    for place, item in enumerate(lines, start=1):
        if isinstance(item, str):
            reader.take(item, place, None)
        else:
            reader.take(item.text, place if item.line is None else item.line, item.shipped_at)
    records = reader.finish()
    return ParsedLog(
        records=records,
        counts=LineCounts(
            lines=reader.lines,
            understood=reader.fates[Fate.UNDERSTOOD],
            benign=reader.fates[Fate.BENIGN],
            unrelated=reader.fates[Fate.UNRELATED],
            not_understood=reader.fates[Fate.NOT_UNDERSTOOD],
        ),
        notes=tuple(reader.notes),
        garbled=reader.garbled,
        unread=tuple(reader.unread),
    )


def node_records(records: Iterable[AnyRecord]) -> NodeRecords:
    """Return records sorted into their kinds, each in the order given."""
    kept = tuple(records)
    return NodeRecords(
        xids=_only(kept, XidEvent),
        sxids=_only(kept, SxidEvent),
        identities=_only(kept, GpuIdentity),
        boundaries=_only(kept, Boundary),
        shutdowns=_only(kept, Shutdown),
        hma=_only(kept, HmaRecord),
        deep_checks=_only(kept, DeepCheck),
        fabric_manager=_only(kept, FabricManagerLine),
        conditions=_only(kept, NodeCondition),
        inforom=_only(kept, InforomCorrupted),
        presence=_only(kept, GpuPresence),
        pcie=_only(kept, PcieError),
        hardware=_only(kept, HardwareError),
    )


def _only(records: tuple[AnyRecord, ...], kind: type[T]) -> tuple[T, ...]:
    return tuple(record for record in records if isinstance(record, kind))
