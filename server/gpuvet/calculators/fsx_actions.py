"""What an operator would do about a file system, as text with its warnings. Pure."""

from collections.abc import Iterator, Sequence

from gpuvet.calculators.fsx_bound import runs_of
from gpuvet.calculators.fsx_load import Bound
from gpuvet.calculators.storage_inputs import Seen
from gpuvet.model.cause import Signal

_WARNING = (
    "UpdateFileSystem changes the file system for hours, may slow it meanwhile, and costs more"
)
_SMALL_FILES = (
    "pack small files into shards (tar, Parquet, record files) or stage them on local NVMe, so "
    "that a step opens few files; shuffle by shard, not by file"
)


def actions_for(seen: Seen, signals: Sequence[Signal]) -> Iterator[str]:
    """Yield what would be done if the signals of this file system are the cause."""
    kinds = {s.kind for s in signals if s.resource == seen.system.id}
    for bound in Bound:
        if runs_of(seen, bound):
            yield from _for_bound(seen, bound)
    if "fsx_metadata_spike" in kinds:
        yield (
            f"first time a client: `time stat` of a file the job opens on {seen.system.id}, in a "
            "slow and in a quiet hour; only a wait there makes metadata the cause"
        )
        yield _SMALL_FILES
    if "fsx_imbalance" in kinds:
        yield (
            f"on {seen.system.id}: `lfs df -h` names the full target; move its largest files with "
            "`lfs migrate` to a wider stripe, and stripe new large files over all targets "
            "(lfs setstripe -c -1 on their directory)"
        )
    if "fsx_no_space" in kinds:
        yield "`lfs df -h` and `lfs df -i` on the mount show what is full; free it before a restart"
    if "fsx_maintenance" in kinds:
        yield (
            f"move the weekly maintenance of {seen.system.id} out of the runs, or checkpoint "
            "before it; clients resume by themselves"
        )
    if "fsx_admin_action" in kinds:
        yield f"let the administrative action on {seen.system.id} finish, then measure again"


def _for_bound(seen: Seen, bound: Bound) -> Iterator[str]:
    system = seen.system
    if bound is Bound.METADATA:
        yield _SMALL_FILES
        mode = f"{system.metadata_mode} now" if system.metadata_mode else "its mode was not read"
        yield (
            f"more metadata IOPS for {system.id} (metadata configuration {mode}; USER_PROVISIONED "
            f"with a higher figure); more throughput would not help. {_WARNING}"
        )
        return
    if bound is Bound.IOPS:
        yield "read in larger blocks and cache hot data on local NVMe: fewer reads then reach disk"
        yield f"more IOPS for {system.id}: they grow with its storage capacity. {_WARNING}"
        return
    yield (
        "stagger or shard checkpoint writes, write them to local NVMe first and copy them out "
        "asynchronously, or write less often"
    )
    per_tib = (
        f"from {system.throughput_per_tib} MB/s per TiB"
        if system.throughput_per_tib is not None
        else "which grows with its storage capacity"
    )
    yield f"or raise the throughput of {system.id} ({per_tib}). {_WARNING}"
