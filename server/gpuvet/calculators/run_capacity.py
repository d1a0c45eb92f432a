"""Until when reserved capacity can be used, and what that leaves for a run (preflight P1). Pure.

Everything starts from the end that AWS returned, never from a rule about when blocks end.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from gpuvet.calculators.block_end import LEAD, LEAD_ULTRASERVER
from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.capacity import PlanBlock, Reservation, TrainingPlan

# Run lengths that are decided where nobody gives one.
LENGTHS = (24.0, 48.0, 72.0)
# AWS's API reference: Capacity Blocks end at this time of day (UTC); another one is worth a note.
END_OF_DAY = (11, 30, 0)
# preflight P2, EC2 user guide: extensions go by days up to 14, then by weeks, to 182 days in all.
DAY_HOURS, WEEK_HOURS, MOST_BY_DAYS = 24, 168, 336
MOST_DAYS = 182
# P2: an extension is asked for at least an hour and at most 56 days before the end.
EARLIEST_BEFORE_END = timedelta(days=56)
LATEST_BEFORE_END = timedelta(hours=1)
_ULTRASERVER_FAMILIES = ("p6e-gb", "trn2u", "u-")
_LIVE = frozenset({"Active", "Scheduled", None})
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Lead:
    """How long before its end capacity stops being usable, and how that is known."""

    time: timedelta
    words: str

    @property
    def minutes(self) -> int:
        """The lead in whole minutes."""
        return int(self.time.total_seconds() // 60)


NO_LEAD = Lead(timedelta(0), "no lead before the end")


@dataclass(frozen=True, slots=True)
class Stretch:
    """One unbroken span of capacity.

    Attributes:
        resource: The reservation's id, or the plan's name.
        start: None: it has begun at a time that was not returned.
        end: None: no end date.
        lead: What is lost of it before the end.
        instances: The least it holds at any time; None: not returned.
        zone: Availability zone by name.
        zone_id: Availability zone by id.
    """

    resource: str
    start: datetime | None
    end: datetime | None
    lead: Lead = NO_LEAD
    instances: int | None = None
    zone: str | None = None
    zone_id: str | None = None

    @property
    def usable_until(self) -> datetime | None:
        """When instances begin to be ended; None where there is no end."""
        return None if self.end is None else self.end - self.lead.time


@dataclass(frozen=True, slots=True)
class SafeStart:
    """The last moment at which a run of a length still fits."""

    hours: float
    at: datetime
    slack: timedelta  # from now; negative where it has passed

    @property
    def is_past(self) -> bool:
        """Say whether a run of this length can no longer finish."""
        return self.slack < timedelta(0)


@dataclass(frozen=True, slots=True)
class Fit:
    """How a run lies in capacity with an end."""

    start: datetime  # when it can begin
    end: datetime
    usable_until: datetime

    @property
    def margin(self) -> timedelta:
        """What is left after the run; negative where it does not fit."""
        return self.usable_until - self.end

    @property
    def usable_hours(self) -> float:
        """Hours of capacity from the run's start, not below zero."""
        return max(0.0, hours(self.usable_until - self.start))

    @property
    def covered_hours(self) -> float:
        """Hours of the run that the capacity covers."""
        return min(self.usable_hours, hours(self.end - self.start))


@dataclass(frozen=True, slots=True)
class LastCheckpoint:
    """The last checkpoint before capacity ends, and what is lost after it."""

    at: datetime
    lost: timedelta


def hours(span: timedelta) -> float:
    """Return a span in hours, to the hundredth."""
    return round(span / _HOUR, 2)


def length_key(length: float) -> str:
    """Return a run length as reports name it: "72", "36.5"."""
    return f"{length:g}"


def lead_of(kind: str | None, *, is_ultraserver: bool, types_read: bool) -> Lead:
    """Return the lead of a Capacity Block.

    Args:
        kind: Instance type.
        is_ultraserver: DescribeCapacityBlocks, or the plan, says so.
        types_read: DescribeCapacityBlocks was read whole, so that its silence says no.
    """
    plain = (kind or "").removeprefix("ml.")
    if is_ultraserver or plain.startswith(_ULTRASERVER_FAMILIES):
        return Lead(LEAD_ULTRASERVER, "UltraServer block: 60 min before its end")
    if types_read or instance_type(plain) is not None:
        return Lead(LEAD, "terminations begin 30 min before a block's end")
    return Lead(LEAD_ULTRASERVER, "UltraServer or not is not known: 60 min assumed")


def reservation_stretch(one: Reservation, *, types_read: bool) -> Stretch:
    """Return a reservation as one stretch; an on-demand reservation has no lead."""
    ends = one.end if one.end_type != "unlimited" else None
    lead = NO_LEAD
    if one.is_block:
        lead = lead_of(one.instance_type, is_ultraserver=one.is_ultraserver, types_read=types_read)
    return Stretch(one.id, one.start, ends, lead, one.total, one.zone, one.zone_id)


def plan_stretches(plan: TrainingPlan, kind: str | None, need: int | None) -> tuple[Stretch, ...]:
    """Return the unbroken spans in which a plan holds enough instances, oldest first.

    Args:
        plan: Its reserved blocks may overlap, follow each other, or have gaps between them.
        kind: Instance type of the group; blocks of another type do not count.
        need: Nodes wanted at the same time; None: one.
    """
    wanted = (kind or "").removeprefix("ml.")
    blocks = [b for b in plan.blocks if b.status in _LIVE and _is_of(b, wanted)]
    if not plan.blocks and plan.start is not None and plan.end is not None:
        lead = _plan_lead(kind, is_ultraserver=False)
        return (Stretch(plan.name, plan.start, plan.end, lead, plan.total),)
    edges = sorted({at for b in blocks for at in (b.start, b.end)})
    spans = [(a, b, _held(blocks, a)) for a, b in pairwise(edges)]
    enough = [(a, b, held) for a, b, held in spans if held and _count(held) >= (need or 1)]
    return tuple(_joined(plan.name, enough, kind))


def _is_of(block: PlanBlock, wanted: str) -> bool:
    return not wanted or (block.instance_type or wanted).removeprefix("ml.") == wanted


def _held(blocks: Sequence[PlanBlock], at: datetime) -> list[PlanBlock]:
    return [b for b in blocks if b.start <= at < b.end]


def _count(held: Sequence[PlanBlock]) -> float:
    """Return how many instances blocks hold together; endless where a count was not returned."""
    return sum(math.inf if b.total is None else b.total for b in held)


def _joined(
    name: str, spans: Sequence[tuple[datetime, datetime, list[PlanBlock]]], kind: str | None
) -> Iterator[Stretch]:
    runs: list[list[tuple[datetime, datetime, list[PlanBlock]]]] = []
    for span in spans:
        if runs and runs[-1][-1][1] == span[0]:
            runs[-1].append(span)
        else:
            runs.append([span])
    for run in runs:
        least = min(_count(held) for _, _, held in run)
        last = run[-1][2]
        zones = {b.zone for _, _, held in run for b in held}
        zone_ids = {b.zone_id for _, _, held in run for b in held}
        yield Stretch(
            resource=name,
            start=run[0][0],
            end=run[-1][1],
            lead=_plan_lead(kind, is_ultraserver=any(b.is_ultraserver for b in last)),
            instances=None if math.isinf(least) else int(least),
            zone=zones.pop() if len(zones) == 1 else None,
            zone_id=zone_ids.pop() if len(zone_ids) == 1 else None,
        )


def _plan_lead(kind: str | None, *, is_ultraserver: bool) -> Lead:
    found = lead_of(kind, is_ultraserver=is_ultraserver, types_read=True)
    return Lead(found.time, f"{found.minutes} min, lead assumed from Capacity Blocks")


def holding(stretches: Sequence[Stretch], start: datetime) -> Stretch | None:
    """Return the first stretch that is still usable at a time, begun or not."""
    return next((s for s in stretches if (u := s.usable_until) is None or u > start), None)


def next_after(stretches: Sequence[Stretch], one: Stretch) -> Stretch | None:
    """Return the stretch behind another one: between them lies a gap."""
    rest = (s for s in stretches if s.start and one.end and s.start >= one.end and s is not one)
    return next(rest, None)


def fit_run(usable_until: datetime, start: datetime, length: float) -> Fit:
    """Return how a run of some hours lies before an end."""
    return Fit(start, start + timedelta(hours=length), usable_until)


def safe_starts(
    usable_until: datetime, lengths: Sequence[float], now: datetime
) -> tuple[SafeStart, ...]:
    """Return the latest safe start of each length, shortest first."""
    found: list[SafeStart] = []
    for length in sorted(set(lengths)):
        at = usable_until - timedelta(hours=length)
        found.append(SafeStart(length, at, at - now))
    return tuple(found)


def last_checkpoint(
    start: datetime, usable_until: datetime, interval: timedelta
) -> LastCheckpoint | None:
    """Return the last checkpoint that completes in time; None where capacity ends before start."""
    if usable_until <= start:
        return None
    done = (usable_until - start) // interval
    at = start + done * interval
    return LastCheckpoint(at, usable_until - at)


def extension_hours(lacking: timedelta) -> int:
    """Return the length to ask for so that an extension covers what lacks, at least a day."""
    lacking_hours = math.ceil(max(lacking, timedelta(0)) / _HOUR)
    by_days = DAY_HOURS * max(1, math.ceil(lacking_hours / DAY_HOURS))
    if by_days <= MOST_BY_DAYS:
        return by_days
    return WEEK_HOURS * math.ceil(lacking_hours / WEEK_HOURS)


def ends_at_the_usual_time(end: datetime) -> bool:
    """Say whether an end is at 11:30 UTC; an extension or another product ends at other times."""
    moment = end.astimezone(UTC)
    return (moment.hour, moment.minute, moment.second) == END_OF_DAY
