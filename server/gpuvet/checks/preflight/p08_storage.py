"""P8: storage has headroom, and stays up during the run."""

from collections.abc import Iterator
from statistics import median
from typing import Any

from gpuvet.calculators.episodes import Load
from gpuvet.calculators.fsx_load import family_words
from gpuvet.calculators.fsx_maintenance import maintenance_windows
from gpuvet.calculators.fsx_space import FULL_PERCENT, spaces
from gpuvet.calculators.storage_inputs import Seen
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, stamp
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.evidence import Envelope, Window

_RUNNING = frozenset({"PENDING", "IN_PROGRESS", "UPDATED_OPTIMIZING"})


def storage(view: View) -> Iterator[Part]:
    """Judge each file system of the run: state, load, space, actions, maintenance."""
    found = view.systems
    if not found:
        yield no_system(view)
    for seen in found:
        yield from _lifecycle(seen)
        yield from _load(seen)
        yield from _space(seen)
        yield from _actions(seen)
        yield from maintenance(view, seen)
    if found and view.storage is not None and not view.storage.systems.status.is_complete:
        yield _unread(view.storage.systems)


def no_system(view: View) -> Part:
    """Return the open part where no file system is known."""
    if view.storage is not None and not view.storage.systems.status.is_complete:
        return _unread(view.storage.systems)
    return Part(
        CheckStatus.UNVERIFIED,
        "storage",
        "storage not assessed: no FSx for Lustre file system was found",
        closes_with="ask where checkpoints go",
    )


def _unread(envelope: Envelope[Any]) -> Part:
    reason = envelope.reason.value if envelope.reason else envelope.status.value
    operation = f"{envelope.service}:{envelope.operation}"
    return Part(
        CheckStatus.UNVERIFIED,
        "storage",
        f"FSx file systems not read ({reason})",
        closes_with=operation,
        evidence=(envelope.evidence,),
        unread=True,
    )


def _lifecycle(seen: Seen) -> Iterator[Part]:
    state = seen.system.lifecycle
    notes = [f"{seen.system.id}: {seen.link.words}"]
    if (seen.system.deployment or "").startswith("SCRATCH"):
        notes.append(
            f"{seen.system.id} is {seen.system.deployment}: no replication, a failed file server "
            "loses its data"
        )
    if state == "AVAILABLE":
        why = f"{seen.system.id} is AVAILABLE"
        yield Part(CheckStatus.PASS, seen.system.id, why, notes=tuple(notes))
    elif state is None:
        yield Part(
            CheckStatus.UNVERIFIED,
            seen.system.id,
            f"the state of {seen.system.id} was not returned",
            closes_with=f"fsx:DescribeFileSystems of {seen.system.id}: Lifecycle",
        )
    else:
        yield Part(
            CheckStatus.FAIL,
            seen.system.id,
            f"{seen.system.id} is {state}",
            action=f"bring {seen.system.id} back to AVAILABLE before the run",
        )


def _load(seen: Seen) -> Iterator[Part]:
    published = [one for one in seen.families if not one.not_published]
    unknown = [one for one in published if one.load in {Load.NO_DATA, Load.GAPS, Load.REJECTED}]
    for one in published:
        if one.load is Load.SATURATED:
            yield Part(
                CheckStatus.RISK,
                seen.system.id,
                f"{seen.system.id}: {family_words(one, seen.system)}",
                action=f"raise the throughput of {seen.system.id}, or spread the writes",
            )
        elif one.load in {Load.COARSE, Load.BROKEN}:
            words = family_words(one, seen.system)
            yield Part(
                CheckStatus.RISK,
                seen.system.id,
                f"{seen.system.id}: {words}",
                action=(f"watch {one.family.metric} of {seen.system.id} in the run's first hour"),
            )
    missing = [one for one in published if one.missing]
    if unknown or missing:
        words = "; ".join(family_words(one, seen.system) for one in (*unknown, *missing)[:2])
        yield Part(
            CheckStatus.UNVERIFIED,
            seen.system.id,
            f"{seen.system.id}: load of the last days not shown: {words}",
            closes_with=f"FSx metrics of {seen.system.id} (ListMetrics, GetMetricData), Maximum",
        )
    elif all(one.load is Load.BELOW for one in published):
        why = f"{seen.system.id}: every load below 90 % for the last days"
        yield Part(CheckStatus.PASS, seen.system.id, why)


def _space(seen: Seen) -> Iterator[Part]:
    targets = spaces(seen)
    if not targets:
        yield Part(
            CheckStatus.UNVERIFIED,
            seen.system.id,
            f"{seen.system.id}: free space per storage target not shown",
            closes_with=f"FreeDataStorageCapacity of {seen.system.id} per StorageTargetId, Minimum",
        )
        return
    low = min(targets, key=lambda one: one.lowest)
    counts = {"lowest_free_percent": round(low.lowest, 1)}
    middle = median(one.lowest for one in targets)
    told = f"{seen.system.id}: {low.target} {low.lowest:.1f} % free, median {middle:.1f} %"
    if low.lowest < FULL_PERCENT:
        yield Part(
            CheckStatus.RISK,
            seen.system.id,
            f"{told}; bar {FULL_PERCENT:g} %",
            numbers=counts,
            action=f"free space on {seen.system.id}, or restripe files off {low.target}",
        )
    else:
        yield Part(CheckStatus.PASS, seen.system.id, told, numbers=counts)


def _actions(seen: Seen) -> Iterator[Part]:
    for one in seen.system.actions or ():
        if one.status in _RUNNING:
            yield Part(
                CheckStatus.RISK,
                seen.system.id,
                f"{seen.system.id} has {one.kind} {one.status}",
                action=f"wait until {one.kind} of {seen.system.id} is over",
            )


def maintenance(view: View, seen: Seen) -> Iterator[Part]:
    """Yield the weekly windows of a file system that lie inside the run."""
    weekly = seen.system.maintenance
    if weekly is None:
        yield Part(
            CheckStatus.UNVERIFIED,
            seen.system.id,
            f"the maintenance window of {seen.system.id} was not returned",
            closes_with=f"fsx:DescribeFileSystems of {seen.system.id}: WeeklyMaintenanceStartTime",
        )
        return
    windows = maintenance_windows(weekly, Window(start=view.run.start, end=view.run.end))
    if not windows:
        why = f"no maintenance window of {seen.system.id} lies inside the run"
        yield Part(CheckStatus.PASS, seen.system.id, why)
        return
    times = ", ".join(f"{one.start:%A} {stamp(one.start)}" for one in windows)
    yield Part(
        CheckStatus.RISK,
        seen.system.id,
        f"weekly maintenance of {seen.system.id} falls inside the run: {times}; clients may wait "
        "up to half an hour",
        numbers={"maintenance": ", ".join(stamp(one.start) for one in windows)},
        action=f"checkpoint before {stamp(windows[0].start)}, or move the window of "
        f"{seen.system.id} behind the run",
    )


P8 = PreflightCheck(
    "P8",
    "storage has headroom and stays up",
    "DescribeFileSystems; FSx utilisation and free space of the last 72 h",
    "FAIL: not AVAILABLE. RISK: a load at 90 % or more for five minutes, a target below 10 % free, "
    "an action in progress, weekly maintenance inside the run. No file system, or no metrics: "
    "UNVERIFIED",
    "FSx for Lustre user guide",
    storage,
)
