"""Small worlds for preflight tests: a sound HyperPod cluster and a sound block on EC2.

Each test changes one thing. Readings are whole unless a test says otherwise.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from storage_world import SYSTEM, flat, series

from gpuvet.calculators.fsx_link import Placement
from gpuvet.calculators.storage_inputs import Seen, StorageInputs, of_the_job, seen_systems
from gpuvet.checks.preflight.reading import Reading
from gpuvet.checks.preflight.view import QuotaSight, Run, RunNode, View
from gpuvet.model.capacity import (
    AlertRule,
    BlockStatus,
    Instance,
    InstanceHealth,
    PlanBlock,
    Reservation,
    Subnet,
    TrainingPlan,
    WarningKind,
)
from gpuvet.model.cause import Failure, Symptom
from gpuvet.model.changes import ClusterEvent, EventMeaning
from gpuvet.model.cluster import NodeRecords, Orchestrator
from gpuvet.model.cluster_state import GroupState, HyperPodCluster, HyperPodNode
from gpuvet.model.coverage import CoverageStatus, Gate, NodeCoverage, Shipper, SourceCoverage
from gpuvet.model.events import Boundary, BoundaryKind, TimeQuality
from gpuvet.model.evidence import Envelope, Status, Window
from gpuvet.model.metrics import MetricName, TimeSeries
from gpuvet.model.network import (
    EfaLimit,
    GroupPair,
    InstanceNetwork,
    Interface,
    NcclKind,
    NcclLine,
    NcclLog,
    Permission,
    Route,
    RouteTable,
    SecurityGroup,
    Transport,
)
from gpuvet.model.readiness import (
    Addon,
    Alarm,
    CapacityBlock,
    GroupRetention,
    NodePlace,
    Quota,
    Schedule,
    Workspace,
)
from gpuvet.model.storage import FileSystem, WeeklyTime
from gpuvet.model.verdict import FaultClass, NodeVerdict, Verdict

NOW = datetime(2026, 8, 19, 15, 0, tzinfo=UTC)  # a Wednesday
HOUR = timedelta(hours=1)
NODES = ("i-0aaaaaaaaaaaaaa01", "i-0aaaaaaaaaaaaaa02")
CLUSTER, PLAN, GROUP = "train-a", "plan-a", "gpu"
CR, SG, SUBNET, ZONE, VPC = "cr-0aaaaaaaaaaaaaaa1", "sg-1", "subnet-1", "us-west-2a", "vpc-1"
KIND = "p5.48xlarge"
LOGS = "/aws/sagemaker/Clusters/train-a/abc123def456"
EARLY = NOW - timedelta(days=20)
SATURDAY = WeeklyTime(weekday=6, hour=3, minute=0)


def read(value: Any, what: str = "a source") -> Reading[Any]:  # noqa: ANN401 (any source's value)
    """Return a whole reading."""
    status = Status.OK_EMPTY if value == () else Status.OK
    return Reading(what, status, value, "", f"read {what}", "ev-0123456789")


def denied(what: str = "a source") -> Reading[Any]:
    return Reading(what, Status.UNVERIFIED, None, "denied", f"allow {what}", "ev-0123456789")


def absent(what: str = "a source") -> Reading[Any]:
    return Reading(what, Status.NOT_SUPPORTED, None, "not supported")


def at(hours: float) -> datetime:
    """Return a time some hours from now."""
    return NOW + timedelta(hours=hours)


def verdict(node: str, word: Verdict = Verdict.LEAVE_ALONE) -> NodeVerdict:
    return NodeVerdict(
        node=node,
        verdict=word,
        fault_class=FaultClass.NONE,
        minimum_action="nothing",
        confidence="proven",
    )


def coverage(
    node: str,
    status: CoverageStatus = CoverageStatus.NO_HMA_DETECTIONS,
    *,
    empty: tuple[datetime, ...] = (),
    source: Shipper = Shipper.HMA,
) -> NodeCoverage:
    own = SourceCoverage(node=node, source=source, group=LOGS, stream="s", status=status)
    return NodeCoverage(
        node=node,
        status=status,
        gate=Gate.HMA_ONLY,
        hours_asked=24,
        empty_hours=empty,
        sources=(own,),
    )


def node(name: str, **changes: Any) -> RunNode:  # noqa: ANN401 (fields of the value)
    base = RunNode(
        node=name,
        coverage=coverage(name),
        verdict=verdict(name),
        group=GROUP,
        instance_type=f"ml.{KIND}",
        state="Running",
        launched_at=EARLY,
    )
    return replace(base, **changes)


def nodes(**changes: Any) -> tuple[RunNode, ...]:  # noqa: ANN401 (fields of the value)
    return tuple(node(name, **changes) for name in NODES)


def group(**changes: Any) -> GroupState:  # noqa: ANN401 (fields of the value)
    base = GroupState(
        name=GROUP,
        instance_type=f"ml.{KIND}",
        current=2,
        target=2,
        status="InService",
        deep_checks=("InstanceStress", "InstanceConnectivity"),
        plan=f"arn:aws:sagemaker:us-west-2:111122223333:training-plan/{PLAN}",
        image="ami-1",
        wanted_image="ami-1",
        image_status="UpToDate",
        role="role",
    )
    return base.model_copy(update=changes)


def cluster(*groups: GroupState, **changes: Any) -> Reading[Any]:  # noqa: ANN401 (fields)
    base = HyperPodCluster(
        name=CLUSTER,
        status="InService",
        recovery="Automatic",
        provisioning="Continuous",
        groups=groups or (group(),),
        subnets=(SUBNET,),
        security_groups=(SG,),
        evidence="ev-0123456789",
    )
    return read(base.model_copy(update=changes), "the cluster")


def block(start: float, end: float, **changes: Any) -> PlanBlock:  # noqa: ANN401 (fields)
    base = PlanBlock(
        start=at(start),
        end=at(end),
        status="Active",
        instance_type=f"ml.{KIND}",
        total=3,
        zone=ZONE,
        zone_id="usw2-az1",
    )
    return base.model_copy(update=changes)


def plan(*blocks: PlanBlock, **changes: Any) -> Reading[Any]:  # noqa: ANN401 (fields)
    own = blocks or (block(-400, 400),)
    base = TrainingPlan(
        name=PLAN,
        status="Active",
        start=own[0].start,
        end=own[-1].end,
        total=3,
        available=1,
        in_use=2,
        unhealthy=0,
        spare=1,
        blocks=own,
        evidence="ev-0123456789",
    )
    return read((base.model_copy(update=changes),), "training plans")


def reservation(end: float | None = 400, **changes: Any) -> Reservation:  # noqa: ANN401 (fields)
    base = Reservation(
        id=CR,
        kind="capacity-block",
        state="active",
        instance_type=KIND,
        zone=ZONE,
        start=EARLY,
        end=None if end is None else at(end),
        end_type="unlimited" if end is None else "limited",
        total=3,
        available=1,
        block="cb-1",
        evidence="ev-0123456789",
    )
    return base.model_copy(update=changes)


def instance(name: str, **changes: Any) -> Instance:  # noqa: ANN401 (fields)
    base = Instance(
        id=name,
        state="running",
        instance_type=KIND,
        launched_at=EARLY,
        reservation=CR,
        lifecycle="capacity-block",
        subnet=SUBNET,
        zone=ZONE,
        image="ami-1",
        addresses=32,
        evidence="ev-0123456789",
    )
    return base.model_copy(update=changes)


def instances(**changes: Any) -> Reading[Any]:  # noqa: ANN401 (fields)
    return read(tuple(instance(name, **changes) for name in NODES), "instances")


def rule(**changes: Any) -> Permission:  # noqa: ANN401 (fields)
    base = Permission(protocol="-1", pairs=(GroupPair(group_id=SG, user_id="111122223333"),))
    return base.model_copy(update=changes)


def security(
    inbound: tuple[Permission, ...] = (rule(),), outbound: tuple[Permission, ...] = (rule(),)
) -> Reading[Any]:
    own = SecurityGroup(group_id=SG, owner="111122223333", inbound=inbound, outbound=outbound)
    return read((own,), "security groups")


def network(name: str, efa: int = 32, **changes: Any) -> InstanceNetwork:  # noqa: ANN401 (fields)
    own = tuple(Interface(kind="efa", groups=(SG,), subnet=SUBNET) for _ in range(efa))
    base = InstanceNetwork(
        node=name,
        instance_type=KIND,
        groups=(SG,),
        interfaces=own,
        subnet=SUBNET,
        zone=ZONE,
        state="running",
    )
    return base.model_copy(update=changes)


def attached(efa: int = 32, **changes: Any) -> Reading[Any]:  # noqa: ANN401 (fields)
    return read(tuple(network(name, efa, **changes) for name in NODES), "interfaces")


def subnet(free: int | None = 500, **changes: Any) -> Subnet:  # noqa: ANN401 (fields)
    base = Subnet(id=SUBNET, free=free, zone=ZONE, zone_id="usw2-az1", vpc=VPC)
    return base.model_copy(update=changes)


def routes(*own: Route) -> Reading[Any]:
    way = own or (Route(destination="0.0.0.0/0", target="nat-1", state="active"),)
    table = RouteTable(table="rtb-1", vpc=VPC, subnets=(SUBNET,), routes=way)
    return read((table,), "route tables")


def storage(
    *,
    system: FileSystem = SYSTEM,
    busy: float = 40.0,
    free_percent: float = 60.0,
    systems: Envelope[Any] | None = None,
    metrics: bool = True,
    gpu: tuple[TimeSeries, ...] = (),
) -> StorageInputs:
    """Return a file system with two servers and two targets over two hours."""
    start = NOW - 2 * HOUR
    free = free_percent / 100 * (system.capacity_gib or 0) / 2 * 1024**3
    own: tuple[TimeSeries, ...] = ()
    if metrics:
        own = (
            *(
                series(metric, flat(busy, 180), unit=("FileServer", unit), start=start - HOUR / 2)
                for metric in (
                    "NetworkThroughputUtilization",
                    "FileServerDiskThroughputUtilization",
                )
                for unit in ("OSS0000", "OSS0001")
            ),
            *(
                series(
                    "DiskIopsUtilization",
                    flat(busy, 180),
                    unit=("StorageTargetId", unit),
                    start=start - HOUR / 2,
                )
                for unit in ("OST0000", "OST0001")
            ),
            series(
                "CPUUtilization",
                flat(busy, 180),
                unit=("FileServer", "MDS0000"),
                start=start - HOUR / 2,
            ),
            *(
                series(
                    "FreeDataStorageCapacity",
                    flat(free, 180),
                    unit=("StorageTargetId", unit),
                    stat="Minimum",
                    start=start - HOUR / 2,
                )
                for unit in ("OST0000", "OST0001")
            ),
        )
    listed = systems or Envelope[Any](
        service="fsx", operation="DescribeFileSystems", status=Status.OK, value=(system,)
    )
    names = tuple(one.name for one in gpu)
    return StorageInputs(
        failure=Failure(symptom=Symptom.UNKNOWN),
        window=Window(start=start, end=NOW),
        now=NOW,
        systems=listed,
        series=own,
        gpu_listed=Envelope[Any](
            service="cloudwatch",
            operation="ListMetrics",
            status=Status.OK if names else Status.OK_EMPTY,
            value=names,
        ),
        gpu=gpu,
        gpus=tuple((name, 8) for name in NODES),
        placement=Placement(subnets=("subnet-1",)),
    )


def gpu_power(percent: float) -> tuple[TimeSeries, ...]:
    """Return the power of every GPU of both nodes over the last day."""
    return tuple(
        TimeSeries(
            name=MetricName(
                namespace="AWS/EC2",
                metric="GPUPowerUtilization",
                dimensions=(("GpuId", str(gpu)), ("InstanceId", name)),
            ),
            stat="Maximum",
            period_seconds=300,
            start=NOW - 24 * HOUR,
            values=tuple([percent] * 288),
        )
        for name in NODES
        for gpu in range(8)
    )


def boot(name: str, driver: str | None = None, kernel: str | None = None) -> NodeRecords:
    own = Boundary(
        node=name,
        stream="s",
        line=1,
        raw="boot",
        at=EARLY,
        time_quality=TimeQuality.EXACT,
        kind=BoundaryKind.REBOOT,
        driver_version=driver,
        kernel_version=kernel,
    )
    return NodeRecords(boundaries=(own,))


def nccl(
    transport: Transport = Transport.OFI_EFA,
    inside: str = "via P2P/CUMEM",
    when: datetime = NOW - 5 * HOUR,
    names: tuple[str, ...] = NODES,
) -> NcclLog:
    """Return the lines of one start of a job on the nodes."""
    lines: list[NcclLine] = []
    for place, name in enumerate(names):
        shared: dict[str, Any] = {
            "node": name,
            "stream": "job.log",
            "host": name,
            "pid": 1,
            "at": when,
        }
        lines.append(
            NcclLine(
                **shared,
                line=10 * place + 1,
                raw="NET/OFI Selected provider is efa",
                kind=NcclKind.CHOICE,
                transport=transport,
                said="NET/OFI Selected provider is efa",
            )
        )
        lines.append(
            NcclLine(
                **shared,
                line=10 * place + 2,
                raw=inside,
                kind=NcclKind.CHANNEL,
                transport=Transport.SHM if "SHM" in inside else Transport.P2P,
                said=inside,
                from_rank=8 * place,
                to_rank=8 * place + 1,
            )
        )
    return NcclLog(lines=tuple(lines))


def event(meaning: EventMeaning, hours: float = -1, **changes: Any) -> ClusterEvent:  # noqa: ANN401
    base = ClusterEvent(
        id="e-1", at=at(hours), meaning=meaning, description=meaning.value, group=GROUP
    )
    return base.model_copy(update=changes)


def place(name: str, **changes: Any) -> Reading[Any]:  # noqa: ANN401 (fields)
    base = NodePlace(node=name, zone=ZONE, zone_id="usw2-az1", image="ami-1", wanted_image="ami-1")
    return read(base.model_copy(update=changes), f"details of {name}")


def alarm(**changes: Any) -> Alarm:  # noqa: ANN401 (fields)
    base = Alarm(name=f"{CLUSTER}-HeadNode-Cpu", state="OK", since=at(-5))
    return base.model_copy(update=changes)


def schedule(**changes: Any) -> Schedule:  # noqa: ANN401 (fields)
    base = Schedule(name=f"{PLAN}-ends", expression="cron(0 6 * * ? *)", is_enabled=True, targets=1)
    return base.model_copy(update=changes)


def used(amount: float | None, *, of: float, name: str = "a quota") -> QuotaSight:
    """Return a quota with its use; None: the use was not read."""
    use = denied("the use") if amount is None else read(amount, "the use")
    return QuotaSight(read(Quota(name=name, value=of), "the quota"), use)


LIMITS = read((EfaLimit(instance_type=KIND, supported=True, most=32, gpus=8),), "types")
RUN = Run(
    start=NOW,
    hours=72,
    is_start_fixed=True,
    checkpoint_interval=HOUR,
    checkpoint_gib=100.0,
    nodes_needed=2,
    auto_resume=True,
)


_SEEN: dict[int, tuple[StorageInputs, tuple[Seen, ...]]] = {}


def seen(inputs: StorageInputs) -> tuple[Seen, ...]:
    """Return the file systems of the run, worked out once for each storage."""
    if id(inputs) not in _SEEN:
        _SEEN[id(inputs)] = (inputs, of_the_job(seen_systems(inputs)))
    return _SEEN[id(inputs)][1]


QUIET = storage(
    system=SYSTEM.model_copy(update={"maintenance": WeeklyTime(weekday=2, hour=3, minute=0)})
)


BUSY = replace(QUIET, gpu=gpu_power(60.0))


def changed(view: View, **changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    """Return a view with other fields; its file systems are those of its storage."""
    new = replace(view, **changes)
    if "storage" not in changes:
        return new
    inputs = new.storage
    return replace(new, systems=seen(inputs) if inputs else ())


def hyperpod(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    """Return a HyperPod cluster on Slurm with a training plan, nothing wrong with it."""
    base = View(
        now=NOW,
        run=RUN,
        orchestrator=Orchestrator.HYPERPOD_SLURM,
        cluster_name=CLUSTER,
        nodes=nodes(),
        listed=read(NODES, "the nodes HyperPod lists"),
        cluster=cluster(),
        hyperpod_nodes=read(tuple(HyperPodNode(id=n, group=GROUP, release="1.0") for n in NODES)),
        places=tuple(place(n) for n in NODES),
        events=read((), "cluster events"),
        instances=read((), "instances"),
        reservations=read((), "capacity reservations"),
        blocks=read((), "Capacity Blocks"),
        block_status=read((), "the health of Capacity Blocks"),
        extensions=read((), "extensions"),
        plans=plan(),
        subnets=read((subnet(),), "subnets"),
        routes=routes(),
        endpoints=denied("VPC endpoints"),
        interfaces=read((), "network interfaces"),
        attached=absent("how instances are attached"),
        groups=security(),
        limits=LIMITS,
        interface_quota=read(Quota(name="Network interfaces per Region", value=5000.0)),
        usage_quotas=read((Quota(name=f"ml.{KIND} for cluster usage", value=8.0),)),
        storage=QUIET,
        systems=seen(QUIET),
        alarms=read((), "alarms"),
        rules=read((), "EventBridge rules"),
        schedules=read((schedule(),), "schedules"),
        nccl=nccl(),
        services_read=read((), "service logs"),
        instance_health=read((), "status checks"),
        health_events=read((), "AWS Health events"),
        addons=absent("add-ons"),
        workspaces=read((Workspace(id="ws-1"),), "workspaces"),
        retention=read((GroupRetention(name=LOGS, days=None),), "retention"),
    )
    return changed(base, **changes)


def ec2(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    """Return a ParallelCluster in a Capacity Block, nothing wrong with it."""
    measured = tuple(
        node(
            name,
            instance_type=KIND,
            state="running",
            coverage=coverage(name, CoverageStatus.MEASURED, source=Shipper.HOST_SYSLOG),
            records=boot(name, driver="570.86.15"),
        )
        for name in NODES
    )
    base = replace(
        hyperpod(),
        orchestrator=Orchestrator.PARALLELCLUSTER,
        nodes=measured,
        listed=read(NODES, "instances"),
        cluster=absent("the HyperPod cluster"),
        hyperpod_nodes=absent("HyperPod nodes"),
        places=(),
        events=absent("cluster events"),
        instances=instances(),
        reservations=read((reservation(),), "capacity reservations"),
        blocks=read((CapacityBlock(id="cb-1", reservations=(CR,)),), "Capacity Blocks"),
        block_status=read((BlockStatus(block="cb-1", interconnect="ok", total=3, unavailable=0),)),
        plans=read((), "training plans"),
        attached=attached(),
        usage_quotas=absent("quotas"),
        ebs_quota=used(10.0, of=50.0, name="Storage for General Purpose SSD (gp3) volumes, in TiB"),
        storage=BUSY,
        systems=seen(BUSY),
        alarms=read((alarm(),), "alarms"),
        rules=read(
            (AlertRule(name="ends", hears=(WarningKind.EXPIRATION,), is_enabled=True, targets=1),)
        ),
        manager_alive=True,
        instance_health=read(tuple(InstanceHealth(id=n) for n in NODES), "status checks"),
    )
    return changed(base, **changes)


def eks(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    """Return a HyperPod cluster on EKS with the training operator."""
    own = (
        Addon(name="amazon-sagemaker-hyperpod-training-operator", status="ACTIVE", version="v1.2"),
    )
    base = hyperpod(orchestrator=Orchestrator.HYPERPOD_EKS, addons=read(own, "add-ons"))
    return changed(base, **changes)
