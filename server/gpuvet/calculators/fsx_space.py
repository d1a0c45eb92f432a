"""Free space per storage target: one full target beside empty ones stops writes to it. Pure.

Rule: incident-branches §C: a target below 10 % free while the median is at 20 % or more.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from gpuvet.calculators.storage_inputs import Seen
from gpuvet.calculators.storage_words import clock, listed, percent
from gpuvet.model.cause import Branch, Signal
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.storage import MentionKind, StorageMention

FREE_SPACE = "FreeDataStorageCapacity"
FULL_PERCENT = 10.0
ROOMY_PERCENT = 20.0
_GIB = 1024**3
_OST = re.compile(r"OST([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class TargetSpace:
    """Free space of one storage target over the window.

    Attributes:
        target: As the metric names it.
        index: Its number.
        free_percent: Free share in percent by the start of each point.
        evidence: Of its series.
    """

    target: str
    index: int
    free_percent: dict[datetime, float]
    evidence: str | None

    @property
    def lowest(self) -> float:
        """The lowest share in percent."""
        return min(self.free_percent.values())


def spaces(seen: Seen) -> tuple[TargetSpace, ...]:
    """Return the free share of every target, or nothing where its size cannot be worked out.

    The size of a target is the capacity divided by the number of targets, so every target must
    be known: their numbers run from 0 without a hole.
    """
    capacity = seen.system.capacity_gib
    own = {index: one for one in seen.series if (index := _index(one)) is not None}
    if capacity is None or not own or sorted(own) != list(range(len(own))):
        return ()
    size = capacity * _GIB / len(own)
    reach = seen.inputs.reach
    found = (
        TargetSpace(
            one.name.of("StorageTargetId") or "",
            index,
            {at: 100 * v / size for at, v in one.points(reach.start, reach.end)},
            one.evidence,
        )
        for index, one in sorted(own.items())
    )
    kept = tuple(one for one in found if one.free_percent)
    return kept if len(kept) == len(own) else ()


def _index(series: TimeSeries) -> int | None:
    if series.name.metric != FREE_SPACE or series.stat != "Minimum":
        return None
    found = _OST.fullmatch(series.name.of("StorageTargetId") or "")
    return int(found[1], 16) if found else None


@dataclass(frozen=True, slots=True)
class Imbalance:
    """Full targets beside roomy ones, at the first time they were so."""

    at: datetime
    full: tuple[tuple[TargetSpace, float], ...]
    median_percent: float


def imbalance(targets: Sequence[TargetSpace]) -> Imbalance | None:
    """Return the first time a target is below 10 % free while the median is 20 % or more."""
    for at in sorted(targets[0].free_percent) if targets else ():
        if any(at not in one.free_percent for one in targets):
            continue
        middle = median(one.free_percent[at] for one in targets)
        full = [(one, one.free_percent[at]) for one in targets]
        full = [(one, share) for one, share in full if share < FULL_PERCENT]
        if full and middle >= ROOMY_PERCENT:
            return Imbalance(at, tuple(full), middle)
    return None


def space_signals(seen: Seen) -> Iterator[Signal]:
    """Yield an imbalance, or a full device that the job complains of without one."""
    found = imbalance(spaces(seen))
    complaints = [m for m in seen.inputs.mentions if MentionKind.NO_SPACE in m.kinds]
    if found is not None:
        hit = next((m for m in complaints if _lies_on(seen, m, found)), None)
        yield _imbalance_signal(seen, found, complaints, hit)
    elif complaints and seen.link.is_proven:
        first = complaints[0]
        yield Signal(
            branch=Branch.STORAGE,
            kind="fsx_no_space",
            what=f"the job was refused space ({first.source} line {first.line}: {first.raw})",
            resource=seen.system.id,
            at=first.at,
            affected=_is_on_mount(seen, first),
            hypothesis_only=True,
            confirming="lfs df -h and lfs df -i on the mount: which target or inode table is full",
            raw=first.raw,
            stream=first.source,
            evidence=(first.evidence,) if first.evidence else (),
        )


def _is_on_mount(seen: Seen, mention: StorageMention) -> bool:
    return seen.link.is_proven and MentionKind.PATH in mention.kinds


def _lies_on(seen: Seen, mention: StorageMention, found: Imbalance) -> bool:
    """Say whether a refused file has a stripe on a full target."""
    full = {one.index for one, _ in found.full}
    if mention.target is not None and mention.target in full:
        return True
    return mention.path is not None and any(
        layout.path == mention.path and full & set(layout.targets) for layout in seen.inputs.stripes
    )


def _imbalance_signal(
    seen: Seen, found: Imbalance, complaints: Sequence[StorageMention], hit: StorageMention | None
) -> Signal:
    names = listed([f"{one.target} {percent(share)} free" for one, share in found.full])
    when = clock(found.at, seen.inputs.reach)
    what = (
        f"{seen.system.id} is unbalanced: {names} at {when} while the median target has "
        f"{percent(found.median_percent)}; bars 10 % and 20 %"
    )
    if hit is not None:
        what += f"; ENOSPC on {hit.path or 'a file'} whose stripe lies there ({hit.raw})"
    elif complaints:
        what += f"; ENOSPC in the job log, stripe of the file not read ({complaints[0].raw})"
    ids = [one.evidence for one, _ in found.full if one.evidence]
    return Signal(
        branch=Branch.STORAGE,
        kind="fsx_imbalance",
        what=what,
        resource=seen.system.id,
        at=found.at,
        precision_seconds=60.0,
        affected=seen.link.is_proven,
        mechanism="writes to a file with a stripe on a full target fail" if hit else None,
        proven_by_rule=hit is not None and _is_before(found, hit),
        hypothesis_only=hit is None,
        effect=_is_after(seen, found),
        confirming=None if hit else "lfs getstripe of the file that could not be written",
        raw=hit.raw if hit else None,
        stream=hit.source if hit else None,
        evidence=tuple(dict.fromkeys([*ids, *([hit.evidence] if hit and hit.evidence else [])])),
    )


def _is_before(found: Imbalance, hit: StorageMention) -> bool:
    """Say whether the target was full when the write failed; without a time as read."""
    return hit.at is None or found.at <= hit.at


def _is_after(seen: Seen, found: Imbalance) -> bool:
    at = seen.inputs.failure.at
    return at is not None and seen.inputs.failure.observed and found.at > at


def space_words(seen: Seen) -> str | None:
    """Return the free space of the targets in one sentence, or None where it is not known."""
    targets = spaces(seen)
    if not targets:
        return None
    low = min(targets, key=lambda one: one.lowest)
    middle = median(one.lowest for one in targets)
    return (
        f"{FREE_SPACE}: lowest {percent(low.lowest)} free ({low.target}), median "
        f"{percent(middle)} of {len(targets)} storage targets; bars 10 % and 20 %"
    )
