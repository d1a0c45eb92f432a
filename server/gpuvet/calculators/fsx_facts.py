"""What a reader wants to know of a file system: sentences with ids, values and bars. Pure."""

from collections.abc import Iterator
from datetime import timedelta
from statistics import median

from gpuvet.calculators.fsx_bound import (
    bytes_rates,
    key_run,
    metadata_ratio,
    runs_of,
    throughput_maximum,
)
from gpuvet.calculators.fsx_load import Bound, deployment_words, family_words, find
from gpuvet.calculators.fsx_maintenance import maintenance_words
from gpuvet.calculators.fsx_metadata import rise, spike_words, timing_words
from gpuvet.calculators.fsx_space import space_words
from gpuvet.calculators.gpu_activity import NO_HOURS, idle_hours, measure_of, power_fall
from gpuvet.calculators.storage_inputs import Seen, StorageInputs
from gpuvet.calculators.storage_words import clock, number, percent, rate
from gpuvet.model.evidence import Window
from gpuvet.model.storage import MentionKind

# Ours: lines of the job this close to the failure or an episode say what it was doing.
_NEAR = timedelta(minutes=10)
_MOST_LINES = 3


def facts_of(seen: Seen) -> Iterator[str]:
    """Yield the facts of one file system, what it is first."""
    yield _configuration(seen)
    yield f"{seen.system.id} and the job: {seen.link.words}"
    for family in seen.families:
        yield f"{seen.system.id} {family_words(family, seen.system)}"
    yield from _episode_facts(seen)
    yield from _rise_facts(seen)
    for words in (_clients(seen), space_words(seen), maintenance_words(seen)):
        if words is not None:
            yield words


def _configuration(seen: Seen) -> str:
    system = seen.system
    parts = [deployment_words(system)]
    if system.capacity_gib is not None:
        parts.append(f"{system.capacity_gib} GiB")
    if system.throughput_per_tib is not None:
        parts.append(f"{system.throughput_per_tib} MB/s per TiB")
    if system.metadata_mode is not None:
        iops = f" with {system.metadata_iops} metadata IOPS" if system.metadata_iops else ""
        parts.append(f"metadata configuration {system.metadata_mode}{iops}")
    if system.lifecycle is not None:
        parts.append(f"{system.lifecycle} as read now")
    return f"{system.id}: {', '.join(parts)}"


def _episode_facts(seen: Seen) -> Iterator[str]:
    for bound in Bound:
        runs = runs_of(seen, bound)
        if not runs:
            continue
        episode = key_run(seen, runs).episode
        for metric in ("DataWriteBytes", "DataReadBytes"):
            rates = bytes_rates(seen, metric, episode)
            if rates is not None:
                yield (
                    f"{metric}: {rate(rates[0])} in the saturated time, {rate(rates[1])} before "
                    "it (medians)"
                )
        ratio = metadata_ratio(seen, episode)
        if ratio is not None:
            during, base, words = ratio
            yield (
                f"MetadataOperations: {number(during)} a period in the saturated time, "
                f"{during / base:.1f} times {number(base)} ({words})"
            )
        highest = throughput_maximum(seen, episode) if bound is Bound.METADATA else None
        if highest is not None:
            yield (
                f"throughput is not the limit: utilisation at most {percent(highest)} while the "
                "metadata server is saturated"
            )


def _rise_facts(seen: Seen) -> Iterator[str]:
    found = rise(seen)
    if found is not None and not runs_of(seen, Bound.METADATA):
        yield spike_words(seen, found.spike)


def _clients(seen: Seen) -> str | None:
    series = find(seen.series, "ClientConnections", "Sum")
    reach = seen.inputs.reach
    values = [v for _, v in series.points(reach.start, reach.end)] if series else []
    return f"ClientConnections: {number(median(values))} (median)" if values else None


def question_facts(inputs: StorageInputs) -> Iterator[str]:
    """Yield what job, clients and GPUs say around the failure."""
    yield from (timing_words(timing) for timing in inputs.timings)
    yield from _job_lines(inputs)
    yield from _idle(inputs)
    fall = power_fall(inputs.gpu, inputs.reach)
    if fall is not None:
        back = f", back at {clock(fall.until, inputs.reach)}" if fall.until else ""
        yield (
            f"{fall.measure} of {fall.gpus} GPUs on {fall.nodes} nodes fell at "
            f"{clock(fall.at, inputs.reach)} from {percent(fall.before_percent)} to "
            f"{percent(fall.after_percent)} (medians){back}"
        )


def _idle(inputs: StorageInputs) -> Iterator[str]:
    """Yield how much of the window the job's GPUs idled: an idle job cannot be slowed."""
    span = Window(start=inputs.window.start, end=min(inputs.window.end, inputs.now))
    total = NO_HOURS
    for node, expected in inputs.gpus:
        own = [one for one in inputs.gpu if one.name.of("InstanceId") == node]
        total += idle_hours(own, expected, span)
    if total.idle + total.busy == 0:
        return
    power = measure_of(inputs.gpu).removeprefix("GPU ")
    none = (
        f"none below 5 % {power}" if total.idle == 0 else f"every GPU of a node below 5 % {power}"
    )
    unknown = f", {number(total.unknown)} unknown" if total.unknown else ""
    yield f"idle GPU hours: {number(total.idle)} of {number(total.total)} ({none}){unknown}"


def _job_lines(inputs: StorageInputs) -> Iterator[str]:
    at = inputs.failure.at
    if at is None:
        return
    near = [
        m
        for m in inputs.mentions
        if m.at is not None and abs(m.at - at) <= _NEAR and MentionKind.PATH in m.kinds
    ]
    for mention in sorted(near, key=lambda m: (m.at, m.source, m.line))[:_MOST_LINES]:
        yield f"job log, {mention.source} line {mention.line}: {mention.raw}"
