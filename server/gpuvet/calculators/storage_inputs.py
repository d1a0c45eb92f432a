"""What the storage branch judges: everything as read, with the status of each source. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gpuvet.calculators.fsx_link import Link, Placement, link
from gpuvet.calculators.fsx_load import (
    FILE_SYSTEM_ID,
    NAMESPACE,
    FamilyReading,
    of_file_system,
    read_families,
)
from gpuvet.calculators.gpu_activity import IDLE_PERCENT
from gpuvet.model.case import CleanSignals
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.storage import FileSystem, StatTiming, StorageMention, StripeLayout

# incident-branches: the timeline reaches half an hour beyond the window on both sides.
PAD = timedelta(minutes=30)
# Ours: the last minutes before now may not be delivered yet.
DELIVERY = timedelta(minutes=5)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class StorageInputs:
    """The evidence of the storage branch.

    Attributes:
        failure: When and how it began.
        window: The window asked about, without pad.
        now: The clock.
        systems: Lustre file systems, as listed.
        listed: FSx metrics, as listed; None where a case holds a table of them instead.
        series: FSx series; counts may begin 72 h before the window, for their baseline.
        gpu_listed: GPU power metrics, as listed.
        gpu: GPU activity series.
        gpu_unread: What of GPU activity was not read, or not collected.
        gpus: How many GPUs each node of the job should have, where that is known.
        mentions: What job, nodes and manifests say of storage.
        stripes: Layouts of files.
        timings: Client-side timings.
        placement: Where the cluster says its storage and nodes are.
        maxima: Highest values that somebody read and wrote down.
    """

    failure: Failure
    window: Window
    now: datetime
    systems: Envelope[tuple[FileSystem, ...]]
    listed: Envelope[tuple[MetricName, ...]] | None = None
    series: tuple[TimeSeries, ...] = ()
    gpu_listed: Envelope[tuple[MetricName, ...]] | None = None
    gpu: tuple[TimeSeries, ...] = ()
    gpu_unread: tuple[NotSeen, ...] = ()
    gpus: tuple[tuple[str, int], ...] = ()
    mentions: tuple[StorageMention, ...] = ()
    stripes: tuple[StripeLayout, ...] = ()
    timings: tuple[StatTiming, ...] = ()
    placement: Placement = field(default_factory=Placement)
    maxima: tuple[CleanSignals, ...] = ()

    @property
    def reach(self) -> Window:
        """The window with half an hour on both sides: where runs and rises are looked for."""
        return self.window.padded(PAD, PAD)

    @property
    def cover(self) -> Window:
        """What must be seen without gaps before storage may be ruled out.

        From half an hour before the failure to its end; the whole window where no start is known.
        """
        end = max(min(self.window.end, self.now - DELIVERY), self.window.start + _MINUTE)
        at = self.failure.at
        if at is None or not self.window.start <= at < end:
            return Window(start=self.window.start, end=end)
        return Window(start=max(self.window.start, at - PAD), end=end)

    @property
    def slow(self) -> Window | None:
        """The slow period: from the failure to its known end, else to the end of the window."""
        if self.failure.at is None or not self.is_slow:
            return None
        end = self.failure.slow_until or min(self.window.end, self.now)
        return Window(start=self.failure.at, end=max(end, self.failure.at + _MINUTE))

    @property
    def is_slow(self) -> bool:
        """Say whether the complaint can be of slowness; only then saturation explains it."""
        return self.failure.symptom in {Symptom.SLOW, Symptom.UNKNOWN}

    @property
    def has_gpu(self) -> bool:
        """Say whether GPU power was read."""
        return any(one.values for one in self.gpu)

    def was_idle(self, start: datetime, end: datetime) -> bool:
        """Say whether GPU power shows every GPU of the job idle from half an hour before a time.

        An idle job cannot have been slowed by storage.
        """
        values = [v for one in self.gpu for _, v in one.points(start - PAD, end)]
        return bool(values) and max(values) < IDLE_PERCENT

    @property
    def gpu_unavailable(self) -> bool:
        """Say whether GPU metrics do not exist: listed completely, and none among them.

        A denied or throttled listing is not that, and neither is a workspace that was not read.
        """
        listed = self.gpu_listed
        is_empty = listed is not None and listed.status.is_complete and not listed.value
        unread = any(one.reason is not Reason.NOT_SHIPPED for one in self.gpu_unread)
        return is_empty and not unread and not self.has_gpu


@dataclass(frozen=True, slots=True)
class Seen:
    """One file system with everything read of it."""

    inputs: StorageInputs
    system: FileSystem
    link: Link
    series: tuple[TimeSeries, ...]
    families: tuple[FamilyReading, ...]


def seen_systems(inputs: StorageInputs) -> tuple[Seen, ...]:
    """Return every file system that a listing or a metric names; the job's own come first."""
    systems = _systems(inputs)
    listing_complete = inputs.systems.status is Status.OK
    found: list[Seen] = []
    for system in systems:
        tie = link(
            system,
            [one.id for one in systems],
            inputs.mentions,
            inputs.placement,
            listing_complete=listing_complete,
        )
        own = of_file_system(inputs.series, system.id)
        families = read_families(system, own, inputs.reach, inputs.cover)
        found.append(Seen(inputs, system, tie, own, families))
    return tuple(sorted(found, key=lambda one: (not one.link.is_proven, one.system.id)))


def of_the_job(seen: Sequence[Seen]) -> tuple[Seen, ...]:
    """Return the file systems tied to the job, else those near its nodes, else all of them."""
    tied = tuple(one for one in seen if one.link.is_proven)
    near = tuple(one for one in seen if one.link.is_near)
    return tied or near or tuple(seen)


def _systems(inputs: StorageInputs) -> list[FileSystem]:
    listed = {system.id: system for system in inputs.systems.value or ()}
    return [*listed.values(), *(FileSystem(id=i) for i in _by_metrics(inputs) if i not in listed)]


def _by_metrics(inputs: StorageInputs) -> Iterator[str]:
    ids = (one.name.of(FILE_SYSTEM_ID) for one in inputs.series if one.name.namespace == NAMESPACE)
    yield from dict.fromkeys(sorted(i for i in ids if i is not None))
