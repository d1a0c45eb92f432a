"""Storage and GPU activity as timeline entries. Pure."""

from collections.abc import Iterator

from gpuvet.calculators.fsx_bound import Run, runs_of
from gpuvet.calculators.fsx_load import Bound
from gpuvet.calculators.fsx_maintenance import active_actions, maintenance_windows
from gpuvet.calculators.fsx_metadata import rise, spike_words
from gpuvet.calculators.gpu_activity import power_fall
from gpuvet.calculators.storage_inputs import Seen, StorageInputs, seen_systems
from gpuvet.calculators.storage_words import percent
from gpuvet.model.cause import EventKind, TimelineEvent

FSX, GPU = "fsx", "gpu power"


def storage_timeline(inputs: StorageInputs) -> tuple[TimelineEvent, ...]:
    """Return what storage and GPUs did, in order of time; planned maintenance is marked so."""
    found = [event for seen in seen_systems(inputs) for event in _of_system(seen)]
    found.extend(_of_gpus(inputs))
    return tuple(sorted(found, key=lambda e: (e.at, e.source, e.what)))


def _of_system(seen: Seen) -> Iterator[TimelineEvent]:
    for bound in Bound:
        for run in runs_of(seen, bound):
            yield _saturation(seen, run)
    found = rise(seen)
    if found is not None:
        yield TimelineEvent(
            at=found.spike.at,
            precision_seconds=60.0,
            until=found.spike.until,
            source=FSX,
            what=f"{seen.system.id} {spike_words(seen, found.spike)}",
            resource=seen.system.id,
            code="fsx metadata rise",
        )
    for window in maintenance_windows(seen.system.maintenance, seen.inputs.reach):
        yield TimelineEvent(
            at=window.start,
            until=window.end,
            source=FSX,
            kind=EventKind.PLANNED,
            what=f"weekly maintenance window of {seen.system.id} (30 min assumed)",
            resource=seen.system.id,
            code="fsx maintenance",
        )
    for action in active_actions(seen):
        if action.requested_at is not None:
            yield TimelineEvent(
                at=action.requested_at,
                source=FSX,
                what=f"{action.kind} asked for on {seen.system.id}, {action.status} as read now",
                resource=seen.system.id,
                code="fsx administrative action",
            )


def _saturation(seen: Seen, run: Run) -> TimelineEvent:
    low, high = run.episode.minimum, run.episode.maximum
    values = percent(high) if low == high else f"{low:.1f} to {percent(high)}"
    return TimelineEvent(
        at=run.episode.start,
        precision_seconds=60.0,
        until=run.episode.end,
        source=FSX,
        what=(
            f"{seen.system.id} {run.unit} {run.family.family.metric} {values} for "
            f"{run.episode.points} min, bar 90 % for 5 min"
        ),
        resource=seen.system.id,
        code=f"fsx {run.family.family.metric} {run.unit}",
        evidence=(run.series.evidence,) if run.series.evidence else (),
    )


def _of_gpus(inputs: StorageInputs) -> Iterator[TimelineEvent]:
    fall = power_fall(inputs.gpu, inputs.reach)
    if fall is None:
        return
    who = f"{fall.gpus} GPUs on {fall.nodes} nodes"
    power = fall.measure.removeprefix("GPU ")
    yield TimelineEvent(
        at=fall.at,
        precision_seconds=float(fall.precision_seconds),
        until=fall.until,
        source=GPU,
        what=(
            f"median {power} of {who} fell from {percent(fall.before_percent)} to "
            f"{percent(fall.after_percent)}"
        ),
        code="gpu power fall",
    )
    if fall.until is not None:
        yield TimelineEvent(
            at=fall.until,
            precision_seconds=float(fall.precision_seconds),
            source=GPU,
            what=f"median {power} of {who} is back above two thirds of what it was",
            code="gpu power rise",
        )
