"""P21: checkpoints fit on storage and are written in time."""

from collections.abc import Iterator
from datetime import timedelta

from gpuvet.calculators.fsx_space import spaces
from gpuvet.calculators.storage_inputs import Seen
from gpuvet.checks.preflight.outcome import Number, Part, PreflightCheck
from gpuvet.checks.preflight.p08_storage import no_system
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

# preflight P21.
_SAFETY = 1.2
_MIB_PER_GIB = 1024


def checkpoint_space(view: View) -> Iterator[Part]:
    """Hold free space and write time against the size of a checkpoint."""
    size = view.run.checkpoint_gib
    if size is None:
        yield Part(
            CheckStatus.NEEDS_INPUT,
            "checkpoints",
            "the size of a checkpoint was not told",
            closes_with="say how large one checkpoint is (--checkpoint-gib)",
        )
        return
    found = view.systems
    if not found:
        yield no_system(view)
    for seen in found:
        yield _space(view, seen, size)
        yield from _time(view, seen, size)


def _space(view: View, seen: Seen, size: float) -> Part:
    need = size * (view.run.checkpoints_kept + 1) * _SAFETY
    targets = spaces(seen)
    capacity = seen.system.capacity_gib
    name = seen.system.id
    if not targets or capacity is None:
        return Part(
            CheckStatus.UNVERIFIED,
            name,
            f"free space of {name} not shown; checkpoints need {need:.0f} GiB",
            numbers={"need_gib": round(need, 1)},
            closes_with=f"FreeDataStorageCapacity of {name} per StorageTargetId",
        )
    free = sum(one.lowest for one in targets) / len(targets) / 100 * capacity
    counts: dict[str, Number] = {"need_gib": round(need, 1), "free_gib": round(free, 1)}
    told = (
        f"{name}: {free:.0f} GiB free; {view.run.checkpoints_kept + 1} checkpoints of {size:g} GiB "
        f"with a fifth to spare need {need:.0f} GiB"
    )
    if free < need:
        act = f"free {need - free:.0f} GiB on {name}, or keep fewer checkpoints"
        return Part(CheckStatus.FAIL, name, told, counts, action=act)
    return Part(CheckStatus.PASS, name, told, counts)


def _time(view: View, seen: Seen, size: float) -> Iterator[Part]:
    per_tib, capacity = seen.system.throughput_per_tib, seen.system.capacity_gib
    interval = view.run.checkpoint_interval
    if not per_tib or not capacity or interval is None:
        return
    rate = per_tib * capacity / 1024  # MB/s of the whole file system
    writes = timedelta(seconds=size * _MIB_PER_GIB / rate)
    minutes = round(writes / timedelta(minutes=1), 1)
    told = f"{seen.system.id}: a checkpoint takes at least {minutes:g} min at {rate:.0f} MB/s"
    counts: dict[str, Number] = {"write_min": minutes}
    if writes >= interval:
        act = "checkpoint less often, or raise the throughput"
        yield Part(CheckStatus.FAIL, seen.system.id, told, counts, action=act)
    elif writes >= interval / 4:
        act = "checkpoint less often, shard the writes, or raise the throughput"
        yield Part(CheckStatus.RISK, seen.system.id, told, counts, action=act)
    else:
        yield Part(CheckStatus.PASS, seen.system.id, told, counts)


P21 = PreflightCheck(
    "P21",
    "checkpoints fit and are written in time",
    "FreeDataStorageCapacity, DescribeFileSystems; checkpoint size as told",
    "FAIL: less free than checkpoints kept plus one, times 1.2, or writing takes an interval. "
    "RISK: it takes a quarter of one. NEEDS_INPUT: no size told",
    "FSx for Lustre user guide; factors are ours",
    checkpoint_space,
)
