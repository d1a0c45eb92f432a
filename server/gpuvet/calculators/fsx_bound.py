"""Saturation of one file system as signals: what it is bound by, since when, for how long. Pure.

Rules: incident-branches §C, table, "Kinds" and "Proven C".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from gpuvet.calculators.episodes import (
    FINE_SECONDS,
    RUN_POINTS,
    SATURATED_PERCENT,
    SPIKE_FACTOR,
    Episode,
    Load,
    usual,
)
from gpuvet.calculators.fsx_load import Bound, FamilyReading, find
from gpuvet.calculators.storage_inputs import PAD, Seen
from gpuvet.calculators.storage_words import clock, number, percent, span
from gpuvet.model.cause import Branch, Signal, Symptom
from gpuvet.model.evidence import Window
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.storage import MentionKind

# incident-branches §C.
OVERLAP_SHARE = 0.5
THROUGHPUT_IDLE_PERCENT = 60.0
STATED = timedelta(minutes=15)
_FINE = timedelta(seconds=FINE_SECONDS)
# Ours: bytes are high when they are twice what they were before.
HIGH_BYTES = 2.0
_BYTES = (("DataWriteBytes", "writes"), ("DataReadBytes", "reads"))
_MOST_RUNS = 4

_MECHANISM = {
    Bound.THROUGHPUT: "reads and writes of the job wait for the file server",
    Bound.IOPS: "reads and writes of the job wait for the disks of a storage target",
    Bound.METADATA: "opens and stats of the job wait for the metadata server",
}


@dataclass(frozen=True, slots=True)
class Run:
    """One saturated run and where it was measured."""

    family: FamilyReading
    unit: str
    episode: Episode
    series: TimeSeries


_IDLE = "; every GPU was below 5 % power all through it: an idle job cannot be slowed"


def saturated(seen: Seen) -> Iterator[Signal]:
    """Yield one signal for each thing a file system is saturated in."""
    for bound in Bound:
        runs = runs_of(seen, bound)
        if runs:
            yield _signal(seen, bound, runs)


def runs_of(seen: Seen, bound: Bound) -> list[Run]:
    """Return the saturated runs of one kind, earliest first."""
    found = (
        Run(family, unit, episode, series)
        for family in seen.families
        if family.family.bound is bound
        for unit, episode, series in family.episodes
    )
    return sorted(found, key=lambda r: (r.episode.start, r.family.family.metric, r.unit))


def key_run(seen: Seen, runs: Sequence[Run]) -> Run:
    """Return the run that explains most: begun before the failure, longest in the slow period."""
    slow = seen.inputs.slow
    before = [r for r in runs if _precedes(seen, r.episode)]
    if not before or slow is None:
        return min(runs, key=lambda r: r.episode.start)
    return max(before, key=lambda r: (_overlap(r.episode, slow), -r.episode.start.timestamp()))


def _precedes(seen: Seen, episode: Episode) -> bool:
    at = seen.inputs.failure.at
    return at is not None and episode.start + _FINE <= at


def _overlap(episode: Episode, slow: Window) -> float:
    """Return the share of the slow period that an episode covers."""
    inside = min(episode.end, slow.end) - max(episode.start, slow.start)
    return max(inside / (slow.end - slow.start), 0.0)


def _signal(seen: Seen, bound: Bound, runs: Sequence[Run]) -> Signal:
    key = key_run(seen, runs)
    is_stated = _covers_the_stated_time(seen, key.episode)
    is_late = _began_after(seen, key.episode.start)
    is_idle = seen.inputs.was_idle(key.episode.start, key.episode.end)
    is_enough = _is_enough(seen, key.episode) and not is_idle
    return Signal(
        branch=Branch.STORAGE,
        kind="fsx_saturated",
        what=_what(seen, bound, runs, key, is_stated=is_stated) + (_IDLE if is_idle else ""),
        resource=seen.system.id,
        at=key.episode.start,
        precision_seconds=float(FINE_SECONDS),
        until=key.episode.end,
        affected=seen.link.is_proven,
        mechanism=_MECHANISM[bound] if seen.inputs.is_slow else None,
        proven_by_rule=is_stated,
        hypothesis_only=not (is_enough or is_stated),
        effect=is_late,
        confirming=_confirming(seen, is_enough=is_enough),
        evidence=_evidence(seen, runs),
    )


def _began_after(seen: Seen, start: datetime) -> bool:
    """Say whether something began after the failure: then it is an effect or a coincidence."""
    failure = seen.inputs.failure
    if failure.at is None:
        return False
    slack = timedelta(0) if failure.observed else STATED
    return start > failure.at + slack


def _is_enough(seen: Seen, episode: Episode) -> bool:
    """Say whether an episode begins before the slow period and covers half of it."""
    slow = seen.inputs.slow
    if slow is None:
        return False
    is_before = _precedes(seen, episode) or not seen.inputs.failure.observed
    return is_before and _overlap(episode, slow) >= OVERLAP_SHARE


def _covers_the_stated_time(seen: Seen, episode: Episode) -> bool:
    """Say whether storage is proven saturated over a time that only the user states.

    The saturated interval holds the stated period with a quarter of an hour on both sides, and
    there are no GPU metrics that could have shown the slowdown.
    """
    inputs, failure = seen.inputs, seen.inputs.failure
    if failure.observed or failure.at is None or not inputs.is_slow or not inputs.gpu_unavailable:
        return False
    end = failure.slow_until or failure.at
    return episode.start <= failure.at - STATED and end + STATED <= episode.end


def _what(seen: Seen, bound: Bound, runs: Sequence[Run], key: Run, *, is_stated: bool) -> str:
    shown = [_run_words(seen, run) for run in _shown(runs, key)]
    more = len(runs) - len(shown)
    listed = ", ".join(shown) + (f" and {more} more runs" if more > 0 else "")
    head = f"{seen.system.id} is {_bound_words(seen, bound, key)}: {listed}"
    tail = "; Proven (storage saturated); effect on training: Hypothesis" if is_stated else ""
    return f"{head}; bar {SATURATED_PERCENT:.0f} % for {RUN_POINTS} min{_order(seen, key)}{tail}"


def _shown(runs: Sequence[Run], key: Run) -> list[Run]:
    """Return the key run first, then the others that overlap it."""
    beside = [
        r
        for r in runs
        if r is not key and r.episode.start < key.episode.end and key.episode.start < r.episode.end
    ]
    return [key, *beside][:_MOST_RUNS]


def _run_words(seen: Seen, run: Run) -> str:
    low, high = run.episode.minimum, run.episode.maximum
    values = percent(high) if low == high else f"{low:.1f} to {percent(high)}"
    when = span(run.episode.start, run.episode.end, seen.inputs.reach)
    return f"{run.unit} {run.family.family.metric} {values} {when}"


def _order(seen: Seen, key: Run) -> str:
    failure, slow = seen.inputs.failure, seen.inputs.slow
    if failure.at is None:
        return "; when the slowdown began is not known"
    when = clock(failure.at, seen.inputs.reach)
    start = clock(key.episode.start, seen.inputs.reach)
    thing = "slowdown" if seen.inputs.is_slow else "failure"
    said = f"{thing} at {when} ({failure.source})"
    if _began_after(seen, key.episode.start):
        return f"; starts {start}, after the {said}: effect or coincidence"
    if not _precedes(seen, key.episode):
        return f"; starts {start}, about the {said}: order unknown"
    share = "" if slow is None else f" and covers {100 * _overlap(key.episode, slow):.0f} % of it"
    return f"; starts {start} before the {said}{share}"


def _bound_words(seen: Seen, bound: Bound, key: Run) -> str:
    if bound is Bound.THROUGHPUT:
        moved = [words for metric, words in _BYTES if _are_high(seen, metric, key.episode)]
        by = " and ".join(moved)
        if moved and moved[0] == "writes" and _writes_checkpoint(seen, key.episode):
            by = f"checkpoint {by}"
        return f"{bound} by {by}" if by else f"{bound} (which traffic was not read)"
    if bound is Bound.METADATA:
        doubt = _metadata_doubt(seen, key.episode)
        return bound.value if doubt is None else f"saturated in its metadata server ({doubt})"
    return bound.value


def _are_high(seen: Seen, metric: str, episode: Episode) -> bool:
    rates = bytes_rates(seen, metric, episode)
    return rates is not None and rates[0] >= HIGH_BYTES * rates[1]


def bytes_rates(seen: Seen, metric: str, episode: Episode) -> tuple[float, float] | None:
    """Return bytes per second in an episode and before it; a rate is Sum over period."""
    series = find(seen.series, metric, "Sum")
    if series is None:
        return None
    during = [v for _, v in series.points(episode.start, episode.end)]
    before = [v for _, v in series.points(seen.inputs.reach.start, episode.start)]
    if not during or not before:
        return None
    return median(during) / series.period_seconds, median(before) / series.period_seconds


def _writes_checkpoint(seen: Seen, episode: Episode) -> bool:
    return any(
        MentionKind.CHECKPOINT in m.kinds
        and m.at is not None
        and episode.start - PAD <= m.at < episode.end
        for m in seen.inputs.mentions
    )


def metadata_ratio(seen: Seen, episode: Episode) -> tuple[float, float, str] | None:
    """Return the median metadata operations of an episode, their baseline and where it is from."""
    series = find(seen.series, "MetadataOperations", "Sum")
    if series is None:
        return None
    during = [v for _, v in series.points(episode.start, episode.end)]
    known = usual(series, seen.inputs.window)
    if known is not None:
        base, words = known.value, known.words
    else:
        before = [v for _, v in series.points(seen.inputs.reach.start, episode.start)]
        if len(before) < 10:
            return None
        base = median(before)
        words = (
            f"median of the {len(before)} points of the window before it: "
            "no baseline of the previous 72 h is recorded"
        )
    return (median(during), base, words) if during and base > 0 else None


def throughput_maximum(seen: Seen, episode: Episode) -> float | None:
    """Return the highest throughput utilisation of any server during an episode."""
    values = [
        family.maximum_in(episode.start, episode.end)
        for family in seen.families
        if family.family.bound is Bound.THROUGHPUT
    ]
    return max((v for v in values if v is not None), default=None)


def _metadata_doubt(seen: Seen, episode: Episode) -> str | None:
    """Return what keeps a saturated metadata server from being called metadata-bound, or None."""
    ratio, throughput = metadata_ratio(seen, episode), throughput_maximum(seen, episode)
    if ratio is None:
        return "MetadataOperations and their baseline not read"
    if ratio[0] < SPIKE_FACTOR * ratio[1]:
        return f"MetadataOperations only {number(ratio[0] / ratio[1])} times their baseline"
    if throughput is None:
        return "throughput utilisation not read"
    if throughput >= THROUGHPUT_IDLE_PERCENT:
        return f"throughput utilisation up to {percent(throughput)} beside it"
    return None


def _confirming(seen: Seen, *, is_enough: bool) -> str | None:
    if not seen.link.is_proven:
        return f"whether the job's nodes mount {seen.system.id}: findmnt -t lustre on one of them"
    if not seen.inputs.failure.observed:
        return "when the job became slow: its step times, or GPU activity of its nodes"
    if not is_enough:
        return "client-side read, write and stat latency on the mount during slow steps"
    return None


def _evidence(seen: Seen, runs: Sequence[Run]) -> tuple[str, ...]:
    ids = [r.series.evidence for r in runs if r.series.evidence] + list(seen.link.evidence)
    return tuple(dict.fromkeys(ids))


def coarse(seen: Seen) -> Iterator[Signal]:
    """Yield a hypothesis for each family at the bar in periods too long to show five minutes."""
    for family in seen.families:
        for unit in family.units:
            if unit.reading.load is not Load.COARSE:
                continue
            reach = seen.inputs.reach
            high = [
                (at, v)
                for at, v in unit.series.points(reach.start, reach.end)
                if v >= SATURATED_PERCENT
            ]
            period = unit.series.period_seconds
            yield Signal(
                branch=Branch.STORAGE,
                kind="fsx_coarse",
                what=(
                    f"{seen.system.id} {unit.unit} {family.family.metric} reaches "
                    f"{percent(max(v for _, v in high))} at {clock(high[0][0], reach)}, but only "
                    f"{period} s points are kept: five minutes above 90 % cannot be shown"
                ),
                resource=seen.system.id,
                at=high[0][0],
                precision_seconds=float(period),
                affected=seen.link.is_proven,
                hypothesis_only=True,
                effect=_began_after(seen, high[0][0]),
                confirming="1-minute points of the same metric, kept for 15 days",
                evidence=(unit.series.evidence,) if unit.series.evidence else (),
            )


def unbearable(seen: Seen) -> Iterator[Signal]:
    """Yield a signal where a file system's own state keeps clients from mounting it."""
    state = seen.system.lifecycle
    if state in {None, "AVAILABLE", "UPDATING"}:
        return
    blocks = seen.inputs.failure.symptom in {Symptom.MOUNT, Symptom.START_UP}
    yield Signal(
        branch=Branch.STORAGE,
        kind="fsx_lifecycle",
        what=f"{seen.system.id} is {state}, as read now; clients need AVAILABLE",
        resource=seen.system.id,
        affected=seen.link.is_proven,
        standing=True,
        mechanism="a file system that is not available cannot be mounted" if blocks else None,
        hypothesis_only=not blocks,
        confirming=f"since when {seen.system.id} is {state}: its events in the FSx console",
    )
