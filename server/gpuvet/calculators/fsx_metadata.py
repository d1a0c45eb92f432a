"""A rise of metadata operations without a saturated metadata server: a hypothesis. Pure.

Rule: incident-branches §C. Not saturated, so not the cause by itself; how long a client waits
for a stat or an open decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuvet.calculators.episodes import SATURATED_PERCENT, Load, Spike, spike
from gpuvet.calculators.fsx_bound import STATED
from gpuvet.calculators.fsx_load import Bound, FamilyReading, find
from gpuvet.calculators.storage_inputs import Seen
from gpuvet.calculators.storage_words import clock, number, percent
from gpuvet.model.cause import Branch, Signal
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason
from gpuvet.model.storage import StatTiming

# Ours: a client that waits five times as long as before is slow.
SLOW_CLIENT = 5.0
CONFIRMING = (
    "client-side stat or small-file open latency on the mount (time stat of a file the job "
    "opens, slow time against quiet time)"
)


@dataclass(frozen=True, slots=True)
class Rise:
    """A rise of metadata operations and what it is to be called.

    Attributes:
        spike: The rise.
        servers: CPU of the metadata servers.
        client: A client's own timing that shows the wait, or None.
    """

    spike: Spike
    servers: FamilyReading
    client: StatTiming | None


def rise(seen: Seen) -> Rise | None:
    """Return the rise of metadata operations in the window, or None."""
    series = find(seen.series, "MetadataOperations", "Sum")
    found = spike(series, seen.inputs.reach) if series is not None else None
    if found is None:
        return None
    servers = next(f for f in seen.families if f.family.bound is Bound.METADATA)
    return Rise(found, servers, slow_client(seen))


def slow_client(seen: Seen) -> StatTiming | None:
    """Return a client timing on the mount that grew to five times what it was, or None."""
    return next((t for t in timings_of(seen) if is_slow_client(t)), None)


def is_slow_client(timing: StatTiming) -> bool:
    """Say whether a client waits at least five times as long as before."""
    before = timing.before_seconds
    return before is not None and before > 0 and timing.seconds >= SLOW_CLIENT * before


def timings_of(seen: Seen) -> tuple[StatTiming, ...]:
    """Return client timings of files on the job's file system."""
    return seen.inputs.timings if seen.link.is_proven else ()


def metadata_spike(seen: Seen) -> Iterator[Signal]:
    """Yield the rise as a signal, unless the metadata server is saturated or near the bar.

    Values at the bar without a run of five leave the branch open, so that without a client's own
    timing nothing may lead on them.
    """
    found = rise(seen)
    if found is None or found.servers.load is Load.SATURATED:
        return
    confirmed = found.client is not None and found.client.measured
    if found.servers.load in {Load.BROKEN, Load.COARSE, Load.REJECTED} and not confirmed:
        return
    at = found.spike.at
    yield Signal(
        branch=Branch.STORAGE,
        kind="fsx_metadata_spike",
        what=_what(seen, found),
        resource=seen.system.id,
        at=at,
        precision_seconds=_period(seen),
        until=found.spike.until,
        affected=seen.link.is_proven,
        mechanism="opens and stats of the job wait for metadata" if confirmed else None,
        hypothesis_only=not (confirmed and seen.inputs.is_slow),
        effect=_is_after(seen, found.spike),
        confirming=None if confirmed else CONFIRMING,
        evidence=_evidence(seen),
    )


def _is_after(seen: Seen, found: Spike) -> bool:
    failure = seen.inputs.failure
    if failure.at is None:
        return False
    return found.at > (failure.at if failure.observed else failure.at + STATED)


def _period(seen: Seen) -> float:
    series = find(seen.series, "MetadataOperations", "Sum")
    return float(series.period_seconds) if series is not None else 60.0


def _what(seen: Seen, found: Rise) -> str:
    return (
        f"{seen.system.id} shows a metadata-heavy pattern, not saturated by the rule: "
        f"{spike_words(seen, found.spike)}; {_cpu_words(found.servers)}"
    )


def spike_words(seen: Seen, found: Spike) -> str:
    """Return the rise in one phrase: when, from what, to what, and what it is compared with."""
    when = clock(found.at, seen.inputs.reach)
    return (
        f"MetadataOperations rose at {when} from {number(found.baseline.value)} to "
        f"{number(found.level)} a period, {found.ratio:.1f} times "
        f"({found.baseline.words})"
    )


def _cpu_words(servers: FamilyReading) -> str:
    highest = servers.maximum
    if highest is None:
        return "CPUUtilization of the metadata server was not read"
    value, unit = highest
    side = "below" if value < SATURATED_PERCENT else "no 5 points in a row at"
    return f"{unit} CPUUtilization max {percent(value)}, {side} the bar of 90 %"


def _evidence(seen: Seen) -> tuple[str, ...]:
    series = find(seen.series, "MetadataOperations", "Sum")
    ids = [series.evidence] if series is not None and series.evidence else []
    return tuple(dict.fromkeys([*ids, *seen.link.evidence]))


def timing_words(timing: StatTiming) -> str:
    """Return a client timing in one sentence, and whether it is a note or a measurement."""
    was = ""
    if timing.before_seconds is not None:
        times = timing.seconds / timing.before_seconds if timing.before_seconds else 0.0
        was = f", {times:.0f} times the {timing.before_seconds:g} s of before" if times else ""
    when = f" at {timing.at_words}" if timing.at_words else ""
    kind = "measured on a client" if timing.measured else "as noted by an operator"
    return (
        f"stat of {timing.path} took {timing.seconds:g} s{when}{was} "
        f"({kind}, {timing.source} line {timing.line})"
    )


def client_unseen(seen: Seen) -> Iterator[NotSeen]:
    """Yield the deciding measurement where there is a rise and nobody timed a client."""
    found = rise(seen)
    if found is None or found.servers.load is Load.SATURATED or timings_of(seen):
        return
    yield NotSeen(
        what=f"client-side stat and open latency on the mount of {seen.system.id}",
        reason=Reason.NOT_RECORDED,
        closes_with="time stat of a file the job opens, on a node of the job",
    )
