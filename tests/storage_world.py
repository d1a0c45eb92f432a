"""Builders of storage evidence for tests: a small cluster whose file system can be made busy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gpuvet.calculators.fsx_link import Placement
from gpuvet.calculators.storage_inputs import StorageInputs
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.storage import FileSystem, MentionKind, StorageMention, WeeklyTime

FS = "fs-0123456789abcdef0"
START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)  # a Wednesday
WINDOW = Window(start=START, end=START + timedelta(hours=2))
NOW = START + timedelta(hours=6)
SLOW_AT = START + timedelta(minutes=40, seconds=20)
SLOW_UNTIL = START + timedelta(minutes=80)
SUNDAY = WeeklyTime(weekday=7, hour=5, minute=0)
SYSTEM = FileSystem(
    id=FS,
    lifecycle="AVAILABLE",
    capacity_gib=4800,
    storage_type="SSD",
    vpc="vpc-1",
    subnets=("subnet-1",),
    dns_name=f"{FS}.fsx.us-west-2.amazonaws.com",
    mount_name="abcdefgh",
    deployment="PERSISTENT_2",
    maintenance=SUNDAY,
    metadata_mode="AUTOMATIC",
    metadata_iops=6000,
    actions=(),
)
SLOW = Failure(
    symptom=Symptom.SLOW,
    at=SLOW_AT,
    observed=True,
    source="job log",
    slow_until=SLOW_UNTIL,
)
PATH = StorageMention(
    kinds=(MentionKind.PATH,), path="/fsx/data", source="job.log", line=3, raw="reading /fsx/data"
)


def minute(number: float) -> datetime:
    return START + timedelta(minutes=number)


def flat(value: float | None, length: int = 120) -> list[float | None]:
    return [value] * length


def with_run(low: float, high: float, first: int, last: int) -> list[float | None]:
    """Minutes of the window: high from `first` to before `last`, low elsewhere."""
    return [high if first <= i < last else low for i in range(120)]


def series(
    metric: str,
    values: Sequence[float | None],
    *,
    unit: tuple[str, str] | None = None,
    stat: str = "Maximum",
    period: int = 60,
    start: datetime = START,
    status: Status = Status.OK,
    reason: Reason | None = None,
    system: str = FS,
) -> TimeSeries:
    dimensions = {"FileSystemId": system} | dict([unit] if unit else [])
    return TimeSeries(
        name=MetricName(
            namespace="AWS/FSx", metric=metric, dimensions=tuple(sorted(dimensions.items()))
        ),
        stat=stat,
        period_seconds=period,
        start=start,
        values=tuple(values),
        status=status,
        reason=reason,
        evidence=f"ev-{metric}",
    )


def server(name: str) -> tuple[str, str]:
    return ("FileServer", name)


def target(name: str) -> tuple[str, str]:
    return ("StorageTargetId", name)


Shape = Mapping[tuple[str, str], Sequence[float | None]]
QUIET: Shape = {
    ("NetworkThroughputUtilization", "OSS0000"): flat(20.0),
    ("FileServerDiskThroughputUtilization", "OSS0000"): flat(15.0),
    ("DiskIopsUtilization", "OST0000"): flat(12.0),
    ("CPUUtilization", "MDS0000"): flat(9.0),
}


def busy(changes: Shape | None = None, counts: Shape | None = None) -> tuple[TimeSeries, ...]:
    """The quiet file system with some series replaced, and counts of the whole (empty unit)."""
    shape = {**QUIET, **(changes or {})}
    utilisation = (
        series(metric, values, unit=target(u) if u.startswith("OST") else server(u))
        for (metric, u), values in shape.items()
    )
    whole = {
        ("MetadataOperations", ""): flat(100.0),
        ("DataReadBytes", ""): flat(6e9),
        ("DataWriteBytes", ""): flat(6e8),
        **(counts or {}),
    }
    return (
        *utilisation,
        *(series(metric, values, stat="Sum") for (metric, _), values in whole.items()),
    )


def listed(*systems: FileSystem, status: Status | None = None) -> Envelope[tuple[FileSystem, ...]]:
    known = status or (Status.OK if systems else Status.OK_EMPTY)
    return Envelope(
        service="fsx",
        operation="DescribeFileSystems",
        status=known,
        reason=None if known.is_complete else Reason.DENIED,
        value=systems,
    )


def gpu_listing(
    *names: MetricName, status: Status | None = None
) -> Envelope[tuple[MetricName, ...]]:
    known = status or (Status.OK if names else Status.OK_EMPTY)
    return Envelope(
        service="cloudwatch",
        operation="ListMetrics",
        status=known,
        reason=None if known.is_complete else Reason.DENIED,
        value=names,
    )


def gpu(node: str, number: int, values: Sequence[float | None], period: int = 60) -> TimeSeries:
    dimensions = (("GpuId", str(number)), ("InstanceId", node))
    return TimeSeries(
        name=MetricName(namespace="AWS/EC2", metric="GPUPowerUtilization", dimensions=dimensions),
        stat="Maximum",
        period_seconds=period,
        start=START,
        values=tuple(values),
    )


def world(
    metrics: Sequence[TimeSeries] | None = None,
    *,
    failure: Failure = SLOW,
    systems: Envelope[tuple[FileSystem, ...]] | None = None,
    mentions: Sequence[StorageMention] = (PATH,),
    **rest: object,
) -> StorageInputs:
    inputs = StorageInputs(
        failure=failure,
        window=WINDOW,
        now=NOW,
        systems=systems or listed(SYSTEM),
        series=tuple(busy() if metrics is None else metrics),
        mentions=tuple(mentions),
        placement=Placement(vpcs=("vpc-1",), subnets=("subnet-1",)),
    )
    return replaced(inputs, **rest) if rest else inputs


def replaced(inputs: StorageInputs, **changes: object) -> StorageInputs:
    return replace(inputs, **changes)  # type: ignore[arg-type]  # fields of it, by their names
