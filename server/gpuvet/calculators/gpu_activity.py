"""What GPU activity says of a job: when its GPUs fell, when they came back, idle hours. Pure.

One series per instance and GPU, in percent (0 to 100): GPUPowerUtilization of CloudWatch, of the
power limit; where it does not exist, as on HyperPod, DCGM's engine activity or utilisation.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from types import MappingProxyType

from gpuvet.calculators.running import medians_before
from gpuvet.calculators.slowdown import SLOW_FACTOR
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import TimeSeries

GPU_POWER = "GPUPowerUtilization"
NAMESPACE = "AWS/EC2"
# What stands in for GPU power (incident-branches, idle reserved hours), and its words.
MEASURES = MappingProxyType(
    {
        GPU_POWER: "GPU power",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "GPU engine activity",
        "DCGM_FI_DEV_GPU_UTIL": "GPU utilisation",
    }
)
# DCGM's profiling fields are shares of 1.
_SHARES = frozenset({"DCGM_FI_PROF_GR_ENGINE_ACTIVE"})
# incident-branches and "Idle reserved GPU hours".
IDLE_PERCENT = 5.0
IDLE_SHARE_SEEN = 0.9
# Ours: a fall must hold this many points, and have this many before it to fall from.
HOLD_POINTS = 5
BEFORE_POINTS = 10
_HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Line = list[tuple[datetime, float]]


@dataclass(frozen=True, slots=True)
class PowerFall:
    """The median power of the job's GPUs fell to two thirds of what it was, or less, and stayed.

    Attributes:
        at: The earliest it can be: the end of the last high period that was seen.
        precision_seconds: From there to the end of the first low period that was seen.
        before_percent: Median over the points before.
        after_percent: Median from the fall to the recovery or the end.
        until: Start of the first period back above two thirds, or None.
        gpus: GPUs that were read.
        nodes: Their instances.
        measure: What was read of them.
    """

    at: datetime
    precision_seconds: int
    before_percent: float
    after_percent: float
    until: datetime | None
    gpus: int
    nodes: int
    measure: str = "GPU power"


def is_gpu_power(series: TimeSeries) -> bool:
    """Say whether a series is the power of one GPU, or what stands in for it."""
    return series.name.metric in MEASURES and series.name.of("InstanceId") is not None


def as_percent(series: TimeSeries) -> TimeSeries:
    """Return a series of GPU activity in percent; shares of 1 become percent."""
    factor = 100.0 if series.name.metric in _SHARES else 1.0
    values = tuple(None if value is None else value * factor for value in series.values)
    return series.model_copy(update={"values": values, "unit": "Percent"})


def measure_of(series: Iterable[TimeSeries]) -> str:
    """Return the words for what these series measure."""
    found = dict.fromkeys(MEASURES[one.name.metric] for one in series if is_gpu_power(one))
    return " and ".join(found) or MEASURES[GPU_POWER]


def power_fall(series: Iterable[TimeSeries], window: Window) -> PowerFall | None:
    """Return the first lasting fall of GPU power over the job's GPUs, or None.

    Two thirds is the power that steps 1.5 times as long would leave (ours). A minute counts when
    at least half of the GPUs have a point in it.

    Args:
        series: GPU power, one series a GPU, of one period.
        window: Where to look.
    """
    gpus = [one for one in series if is_gpu_power(one) and one.values]
    if not gpus:
        return None
    step = timedelta(seconds=max(one.period_seconds for one in gpus))
    line = _median_line(gpus, window)
    for place, before in enumerate(medians_before(value for _, value in line)):
        if before is None or place < BEFORE_POINTS or before < IDLE_PERCENT:
            continue
        bar = before / SLOW_FACTOR
        was_high = line[place - 1][1] > bar
        if was_high and _holds(line[place : place + HOLD_POINTS], bar, step):
            return _fall(gpus, line, place, before, step)
    return None


def _fall(
    gpus: Sequence[TimeSeries], line: Line, place: int, before: float, step: timedelta
) -> PowerFall:
    back = _recovery(line, place, before / SLOW_FACTOR, step)
    low = [value for at, value in line[place:] if back is None or at < back]
    earliest = line[place - 1][0] + step
    return PowerFall(
        at=earliest,
        precision_seconds=int((line[place][0] + step - earliest).total_seconds()),
        before_percent=before,
        after_percent=median(low),
        until=back,
        gpus=len(gpus),
        nodes=len({one.name.of("InstanceId") for one in gpus}),
        measure=measure_of(gpus),
    )


def stopped_at(series: Iterable[TimeSeries], window: Window) -> datetime | None:
    """Return when every GPU of the job fell below 5 % and stayed there five points, or None.

    It is the failure start by GPU activity (incident-branches): all GPUs of all nodes, after
    a time when at least one was at work.
    """
    gpus = [one for one in series if is_gpu_power(one) and one.values]
    if not gpus:
        return None
    step = timedelta(seconds=max(one.period_seconds for one in gpus))
    line = _highest_line(gpus, window)
    for place in range(1, len(line)):
        was_busy = line[place - 1][1] >= IDLE_PERCENT
        if was_busy and _holds(line[place : place + HOLD_POINTS], IDLE_PERCENT, step, strict=True):
            return line[place][0]
    return None


def _values_by_time(gpus: Sequence[TimeSeries], window: Window) -> Mapping[datetime, list[float]]:
    by_time: dict[datetime, list[float]] = defaultdict(list)
    for one in gpus:
        for at, value in one.points(window.start, window.end):
            if math.isfinite(value):
                by_time[at].append(value)
    return by_time


def _median_line(gpus: Sequence[TimeSeries], window: Window) -> Line:
    by_time = _values_by_time(gpus, window)
    return [
        (at, median(by_time[at])) for at in sorted(by_time) if 2 * len(by_time[at]) >= len(gpus)
    ]


def _highest_line(gpus: Sequence[TimeSeries], window: Window) -> Line:
    by_time = _values_by_time(gpus, window)
    return [(at, max(by_time[at])) for at in sorted(by_time) if len(by_time[at]) == len(gpus)]


def _holds(line: Line, bar: float, step: timedelta, *, strict: bool = False) -> bool:
    """Say whether five consecutive points stay at or below a bar."""
    if len(line) < HOLD_POINTS:
        return False
    low = all(value < bar if strict else value <= bar for _, value in line)
    return low and line[-1][0] - line[0][0] == (HOLD_POINTS - 1) * step


def _recovery(line: Line, first: int, bar: float, step: timedelta) -> datetime | None:
    """Return when the line is back above the bar for five points, or up to its end."""
    for place in range(first, len(line)):
        rest = line[place : place + HOLD_POINTS]
        if (
            all(value > bar for _, value in rest)
            and rest[-1][0] - rest[0][0] == (len(rest) - 1) * step
        ):
            return line[place][0]
    return None


@dataclass(frozen=True, slots=True)
class GpuHours:
    """GPU hours of reserved capacity by what they were used for."""

    idle: float
    busy: float
    unknown: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.idle + self.busy + self.unknown

    def __add__(self, other: "GpuHours") -> "GpuHours":
        return GpuHours(
            self.idle + other.idle, self.busy + other.busy, self.unknown + other.unknown
        )


NO_HOURS = GpuHours(0.0, 0.0, 0.0)


def idle_hours(series: Iterable[TimeSeries], expected_gpus: int, reserved: Window) -> GpuHours:
    """Return a node's GPU hours: idle, busy, unknown (incident-branches, idle reserved hours).

    An hour is idle when every expected GPU has at least 90 % of its points and all are below
    5 %; it is unknown when a GPU is missing or lacks more points, busy else. Partial hours count
    by their minutes.

    Args:
        series: GPU power of this node.
        expected_gpus: GPUs of its type.
        reserved: When the node ran inside its reservation.
    """
    gpus = {one.name.of("GpuId"): one for one in series if is_gpu_power(one)}
    total = NO_HOURS
    hour = _EPOCH + (reserved.start - _EPOCH) // _HOUR * _HOUR
    while hour < reserved.end:
        span = Window(start=max(hour, reserved.start), end=min(hour + _HOUR, reserved.end))
        total += _hour(tuple(gpus.values()), expected_gpus, span)
        hour += _HOUR
    return total


def _hour(gpus: Sequence[TimeSeries], expected: int, span: Window) -> GpuHours:
    amount = (span.end - span.start) / _HOUR * expected
    if not len(gpus) >= expected > 0 or not all(_is_seen(one, span) for one in gpus):
        return GpuHours(0.0, 0.0, amount)
    points = (value for one in gpus for _, value in one.points(span.start, span.end))
    if all(value < IDLE_PERCENT for value in points):
        return GpuHours(amount, 0.0, 0.0)
    return GpuHours(0.0, amount, 0.0)


def _is_seen(gpu: TimeSeries, span: Window) -> bool:
    asked = math.ceil((span.end - span.start) / gpu.period)
    return len(gpu.points(span.start, span.end)) >= IDLE_SHARE_SEEN * asked
