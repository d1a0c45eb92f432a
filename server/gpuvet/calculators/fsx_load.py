"""The four utilisation families of one FSx for Lustre file system (§C of the rules). Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from gpuvet.calculators.episodes import Episode, Load, LoadReading, read_load
from gpuvet.calculators.storage_words import listed, percent
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.storage import FileSystem

NAMESPACE = "AWS/FSx"
FILE_SYSTEM_ID = "FileSystemId"
_SERVER, _TARGET = "FileServer", "StorageTargetId"


class Bound(StrEnum):
    """What a file system is bound by."""

    THROUGHPUT = "throughput-bound"
    IOPS = "IOPS-bound"
    METADATA = "metadata-bound"


class Family(NamedTuple):
    """One utilisation metric, on what it is measured, and what it binds."""

    metric: str
    dimension: str
    units: re.Pattern[str]  # the servers or targets it must be there for
    bound: Bound
    thing: str  # what a unit is, for a reader


_OSS = re.compile(r"OSS([0-9a-fA-F]{4})")
_MDS = re.compile(r"MDS([0-9a-fA-F]{4})")
_OST = re.compile(r"OST([0-9a-fA-F]{4})")

FAMILIES = (
    Family("NetworkThroughputUtilization", _SERVER, _OSS, Bound.THROUGHPUT, "file server"),
    Family("FileServerDiskThroughputUtilization", _SERVER, _OSS, Bound.THROUGHPUT, "file server"),
    Family("DiskIopsUtilization", _TARGET, _OST, Bound.IOPS, "storage target"),
    Family("CPUUtilization", _SERVER, _MDS, Bound.METADATA, "metadata server"),
)


@dataclass(frozen=True, slots=True)
class UnitReading:
    """One family on one server or target."""

    unit: str
    reading: LoadReading
    series: TimeSeries


@dataclass(frozen=True, slots=True)
class FamilyReading:
    """One family over all its servers or targets.

    Attributes:
        family: Which one.
        units: Readings, by unit.
        missing: Units that others show exist, or whose numbers are left out between them.
        not_published: The deployment type has no such metric.
    """

    family: Family
    units: tuple[UnitReading, ...]
    missing: tuple[str, ...]
    not_published: bool = False

    @property
    def load(self) -> Load:
        """The strongest of its units; NO_DATA without any."""
        order = list(Load)
        loads = [unit.reading.load for unit in self.units]
        return min(loads, key=order.index, default=Load.NO_DATA)

    @property
    def maximum(self) -> tuple[float, str] | None:
        """The highest value and its unit."""
        found = [(u.reading.maximum, u.unit) for u in self.units if u.reading.maximum is not None]
        return max(found, key=lambda pair: pair[0], default=None)

    @property
    def is_below(self) -> bool:
        """Say whether every unit is there and stayed below the bar with nothing hidden."""
        loads = {unit.reading.load for unit in self.units}
        return loads == {Load.BELOW} and not self.missing

    def maximum_in(self, start: datetime, end: datetime) -> float | None:
        """Return the highest value of all units in [start, end), or None."""
        values = [v for unit in self.units for _, v in unit.series.points(start, end)]
        return max(values, default=None)

    @property
    def episodes(self) -> Iterator[tuple[str, Episode, TimeSeries]]:
        """Yield every saturated run with its unit."""
        for unit in self.units:
            for episode in unit.reading.episodes:
                yield unit.unit, episode, unit.series


def of_file_system(series: Iterable[TimeSeries], file_system: str) -> tuple[TimeSeries, ...]:
    """Return the series of one file system."""
    return tuple(
        one
        for one in series
        if one.name.namespace == NAMESPACE and one.name.of(FILE_SYSTEM_ID) == file_system
    )


def find(series: Iterable[TimeSeries], metric: str, stat: str) -> TimeSeries | None:
    """Return a metric of the file system as a whole, or None where it has no points."""
    wanted = (
        one
        for one in series
        if one.name.metric == metric and one.stat == stat and len(one.name.dimensions) == 1
    )
    return next((one for one in wanted if one.values), None)


def read_families(
    system: FileSystem, series: Sequence[TimeSeries], window: Window, cover: Window
) -> tuple[FamilyReading, ...]:
    """Return the four families of a file system.

    Args:
        system: The file system; its type says what is not published.
        series: Its own series.
        window: Where runs and highest values are looked for.
        cover: The part of it that must have no gap for "below the bar" to be said.
    """
    known = {f: _units(f, series) for f in FAMILIES}
    servers = {u for f in FAMILIES for u, _ in known[f] if f.units is _OSS}
    return tuple(
        FamilyReading(
            family=family,
            units=tuple(
                UnitReading(unit, read_load(one, window, cover), one) for unit, one in known[family]
            ),
            missing=_missing(family, {u for u, _ in known[family]}, servers),
            not_published=family.metric == "DiskIopsUtilization" and lacks_disk_iops(system),
        )
        for family in FAMILIES
    )


def _units(family: Family, series: Sequence[TimeSeries]) -> list[tuple[str, TimeSeries]]:
    """Return the series of a family by unit; those of other servers are context."""
    found = (
        (one.name.of(family.dimension) or "", one)
        for one in series
        if one.name.metric == family.metric and one.stat == "Maximum"
    )
    wanted = re.compile(r"MDS|MDT") if family.bound is Bound.METADATA else None
    kept = (
        (unit, one)
        for unit, one in found
        if unit and (wanted is None or wanted.match(unit) is not None)
    )
    return sorted(kept, key=lambda pair: pair[0])


def _missing(family: Family, units: set[str], servers: set[str]) -> tuple[str, ...]:
    """Return units known to exist without a series: left-out numbers, servers of other families."""
    prefix = family.units.pattern[:3]
    numbers = [int(m[1], 16) for unit in units if (m := family.units.fullmatch(unit))]
    expected = {f"{prefix}{n:04x}" for n in range(max(numbers, default=-1) + 1)}
    if family.units is _OSS:
        expected |= servers
    return tuple(sorted(expected - {unit[:3] + unit[3:].lower() for unit in units} - units))


def lacks_disk_iops(system: FileSystem) -> bool:
    """Say whether DiskIopsUtilization is not published: SCRATCH types and HDD storage."""
    is_scratch = (system.deployment or "").startswith("SCRATCH")
    return is_scratch or system.storage_type == "HDD"


def deployment_words(system: FileSystem) -> str:
    """Return the deployment type as it is written, HDD named."""
    words = [system.deployment or "deployment type not read"]
    return " ".join([*words, "HDD"] if system.storage_type == "HDD" else words)


def family_words(reading: FamilyReading, system: FileSystem) -> str:
    """Return one sentence on a family: highest value, of how many, against which bar."""
    metric = reading.family.metric
    highest = reading.maximum
    if highest is None:
        if reading.not_published:
            return f"{metric} is not published for {deployment_words(system)}"
        return f"{metric}: no datapoints read"
    value, unit = highest
    count, thing = len(reading.units), reading.family.thing
    of = f"{count} {thing}{'' if count == 1 else 's'}"
    return f"{metric} max {percent(value)} ({unit}; {of}{_judged(reading)})"


def _judged(reading: FamilyReading) -> str:
    bar = "bar 90 % for 5 min"
    words = {
        Load.SATURATED: f"saturated, {bar}",
        Load.COARSE: f"at the bar in periods longer than a minute: 5 min are not shown, {bar}",
        Load.BROKEN: f"at the bar, but no 5 points in a row: not saturated by the rule, {bar}",
        Load.REJECTED: f"values above 100 % left out: no percent, {bar}",
        Load.GAPS: f"below where seen, points missing, {bar}",
        Load.BELOW: f"not saturated, {bar}",
        Load.NO_DATA: "no datapoints",
    }[reading.load]
    missing = f"; not read: {listed(reading.missing)}" if reading.missing else ""
    return f"; {words}{missing}"
