"""One run for every outcome of every preflight check, each way of not knowing among them."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from preflight_world import (
    CR,
    HOUR,
    KIND,
    NODES,
    RUN,
    SG,
    alarm,
    at,
    attached,
    block,
    boot,
    cluster,
    coverage,
    denied,
    ec2,
    eks,
    event,
    gpu_power,
    group,
    hyperpod,
    instance,
    instances,
    nccl,
    network,
    node,
    place,
    plan,
    read,
    reservation,
    routes,
    rule,
    schedule,
    security,
    storage,
    subnet,
    used,
    verdict,
)
from spec_examples import BASE, job
from storage_world import SYSTEM

from gpuvet.checks.preflight.view import JobFile, QuotaSight, View
from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.model.capacity import (
    AlertRule,
    BlockStatus,
    Endpoints,
    Extension,
    HealthEvent,
    InstanceHealth,
    Subnet,
    WarningKind,
)
from gpuvet.model.changes import EventMeaning
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import NodeRecords, NotSeen, Orchestrator
from gpuvet.model.coverage import CoverageStatus, Shipper, SourceCoverage
from gpuvet.model.events import FabricManagerLine, FabricState, HmaRecord
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.network import (
    NcclKind,
    NcclLine,
    NcclLog,
    PrefixList,
    Route,
    SecurityGroup,
    Transport,
)
from gpuvet.model.readiness import (
    Addon,
    GroupRetention,
    KeyState,
    NodeGroup,
    Offering,
    Quota,
)
from gpuvet.model.software import Component, SoftwareVersion
from gpuvet.model.storage import AdministrativeAction, WeeklyTime
from gpuvet.model.verdict import Verdict
from gpuvet.modes.spec import check_text, job_of

PASS, RISK, FAIL = CheckStatus.PASS, CheckStatus.RISK, CheckStatus.FAIL
UNVERIFIED, NEEDS = CheckStatus.UNVERIFIED, CheckStatus.NEEDS_INPUT
NA = CheckStatus.NOT_APPLICABLE


class Example(NamedTuple):
    """One run, the check asked, and what it must say."""

    check: str
    status: CheckStatus
    what: str
    view: View

    @property
    def id(self) -> str:
        return f"{self.check} {self.status.value}: {self.what}"


def spec(text: str = BASE) -> JobFile:
    return JobFile("job.yaml", job_of(text, "job.yaml"), check_text(text).findings, text)


def record(what: ServiceEvent, **changes: Any) -> ServiceRecord:  # noqa: ANN401 (fields of the value)
    base = ServiceRecord(
        node="i-0ffffffffffffff01",
        stream="x.clustermgtd",
        line=1,
        raw="words",
        event=what,
        at=at(-2),
    )
    return base.model_copy(update=changes)


def hma(condition: str | None, reason: str, *, active: bool = True) -> NodeRecords:
    own = HmaRecord(
        node=NODES[0],
        stream="s",
        line=1,
        raw="x",
        at=at(-1),
        reason=reason,
        condition=condition,
        condition_true=active,
    )
    return NodeRecords(hma=(own,))


def with_group(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    return hyperpod(cluster=cluster(group(**changes)))


def without_plan(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    return hyperpod(cluster=cluster(group(plan=None)), plans=read((), "training plans"), **changes)


def in_block(end: float | None = 400, **changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    return ec2(reservations=read((reservation(end, **changes),), "capacity reservations"))


def offered(end: float, hours: int = 24, count: int = 3) -> dict[str, Any]:
    offer = Offering(reservation=CR, hours=hours, end=at(end), instances=count)
    return {"offerings": {(CR, hours): read((offer,), "offers")}}


def on_demand(kind: str = KIND) -> View:
    return ec2(
        instances=instances(reservation=None, lifecycle=None, instance_type=kind),
        reservations=read((), "capacity reservations"),
        nodes=tuple(replace(n, instance_type=kind) for n in ec2().nodes),
    )


def fs(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    quiet = WeeklyTime(weekday=2, hour=3, minute=0)
    system = SYSTEM.model_copy(update={"maintenance": quiet, **changes})
    return hyperpod(storage=storage(system=system))


def stored(**changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    quiet = SYSTEM.model_copy(update={"maintenance": WeeklyTime(weekday=2, hour=3, minute=0)})
    return hyperpod(storage=storage(system=quiet, **changes))


MEMBERS = tuple(instance(name) for name in NODES)
GROUP_READ = SecurityGroup(group_id=SG, inbound=(rule(),))
REFUSED = Envelope[Any](
    service="fsx", operation="DescribeFileSystems", status=Status.UNVERIFIED, reason=Reason.DENIED
)
NONE_LISTED = Envelope[Any](
    service="fsx", operation="DescribeFileSystems", status=Status.OK_EMPTY, value=()
)
LIST = "pl-0aaaabbbbccccdddd"


def listed(*cidrs: str | None) -> View:
    """Return a group that lets all traffic out to a prefix list with these entries."""
    own = security(outbound=(rule(), rule(pairs=(), prefix_lists=(LIST,))))
    if None in cidrs:
        return hyperpod(groups=own, prefix_lists=denied("entries of prefix lists"))
    entries = PrefixList(list_id=LIST, cidrs=tuple(one for one in cidrs if one))
    return hyperpod(groups=own, prefix_lists=read((entries,)))


B200 = "p6-b200.48xlarge"
TYPE_QUOTA = Quota(name=f"ml.{KIND} for cluster usage", value=8.0)
OVER_CLUSTERS = "Total number of instances allowed across SageMaker HyperPod clusters"
VOLUME_SIZE = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"


def counting(sight: QuotaSight | None, **changes: Any) -> View:  # noqa: ANN401 (fields of the value)
    """Return instances that count against the vCPU quota of P instances."""
    own: dict[str, Any] = {"reservation": None, "lifecycle": None, **changes}
    quotas = {} if sight is None else {"L-417A185B": sight}
    return ec2(
        instances=instances(**own),
        reservations=read((), "capacity reservations"),
        vcpu_quotas=quotas,
    )


B200_SOFTWARE = {Component.CUDA: "12.8", Component.EFA_INSTALLER: "1.41.0"}


def b200(
    driver: str | None,
    kernel: str | None = "6.8.0-1021-aws",
    told: Mapping[Component, str] = MappingProxyType({}),
) -> View:
    """Return P6-B200 nodes whose logs show a driver, a kernel and other versions."""
    own = tuple(
        node(
            name,
            instance_type=B200,
            records=boot(name, driver, kernel),
            coverage=coverage(name, CoverageStatus.MEASURED, source=Shipper.HOST_SYSLOG),
        )
        for name in NODES
    )
    versions = tuple(
        SoftwareVersion(
            node="" if component is Component.CUDA else name,
            stream="s",
            line=1,
            raw="x",
            component=component,
            version=version,
        )
        for name in NODES
        for component, version in told.items()
    )
    plugin = tuple(
        NcclLine(
            node=name,
            stream="s",
            line=9,
            raw="NET/OFI Initializing aws-ofi-nccl 1.15.0",
            kind=NcclKind.PLUGIN,
        )
        for name in NODES
    )
    lines = (*nccl().lines, *plugin)
    return ec2(nodes=own, versions=versions, nccl=NcclLog(lines=lines))


def capacity() -> tuple[Example, ...]:
    """P1 to P3."""
    long_gap = plan(block(-100, 40), block(60, 400))
    older = [(block(-100, 30), block(30, 400))]
    return (
        Example("P1", PASS, "a plan reaches past the run", hyperpod()),
        Example("P1", PASS, "a block reaches past the run", ec2()),
        Example(
            "P1", PASS, "two blocks that touch are one stretch", hyperpod(plans=plan(*older[0]))
        ),
        Example("P1", PASS, "a reservation without an end", in_block(None, kind="default")),
        Example("P1", FAIL, "a plan ends before the run", hyperpod(plans=plan(block(-400, 68.5)))),
        Example("P1", FAIL, "a block ends before the run", in_block(70)),
        Example("P1", FAIL, "the lead of a block cuts the run", in_block(72.25)),
        Example("P1", FAIL, "the run crosses a gap of the plan", hyperpod(plans=long_gap)),
        Example(
            "P1", FAIL, "a plan holds fewer nodes", hyperpod(plans=plan(block(-9, 400, total=1)))
        ),
        Example("P1", FAIL, "a plan is over", hyperpod(plans=plan(status="Expired"))),
        Example("P1", FAIL, "a reservation is over", in_block(-1, state="expired")),
        Example("P1", FAIL, "capacity begins after a fixed start", in_block(400, start=at(3))),
        Example("P1", RISK, "less than an hour is left", in_block(73)),
        Example(
            "P1",
            RISK,
            "less than a checkpoint interval is left",
            replace(in_block(75), run=replace(RUN, checkpoint_interval=3 * HOUR)),
        ),
        Example("P1", RISK, "payment is pending", in_block(state="payment-pending")),
        Example("P1", RISK, "the plan is pending", hyperpod(plans=plan(status="Pending"))),
        Example("P1", RISK, "interruptible", in_block(interruptible=True)),
        Example("P1", RISK, "Spot", with_group(plan=None, is_spot=True)),
        Example(
            "P1",
            RISK,
            "Spot instances",
            ec2(instances=instances(reservation=None, lifecycle="spot")),
        ),
        Example(
            "P1",
            RISK,
            "the plan is not used",
            hyperpod(events=read((event(EventMeaning.ON_DEMAND),), "cluster events")),
        ),
        Example("P1", NA, "on-demand instances", on_demand()),
        Example(
            "P1",
            NA,
            "HyperPod says on-demand",
            without_plan(events=read((event(EventMeaning.ON_DEMAND),), "cluster events")),
        ),
        Example("P1", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P1", UNVERIFIED, "the plan was not read", hyperpod(plans=denied())),
        Example("P1", UNVERIFIED, "the plan was not returned", hyperpod(plans=read(()))),
        Example(
            "P1",
            UNVERIFIED,
            "the plan has no end",
            hyperpod(plans=plan(blocks=(), start=None, end=None)),
        ),
        Example("P1", UNVERIFIED, "events were not read", hyperpod(events=denied())),
        Example("P1", UNVERIFIED, "HyperPod without a plan or an event", without_plan()),
        Example(
            "P1",
            UNVERIFIED,
            "HyperPod names a reservation of another account",
            without_plan(events=read((event(EventMeaning.RESERVATION_USED, reservation="cr-9"),))),
        ),
        Example("P1", UNVERIFIED, "instances were not read", ec2(instances=denied())),
        Example("P1", UNVERIFIED, "reservations were not read", ec2(reservations=denied())),
        Example(
            "P1", UNVERIFIED, "the instances' reservation is not listed", ec2(reservations=read(()))
        ),
        Example(
            "P1",
            UNVERIFIED,
            "an empty list is not on-demand",
            ec2(instances=read(()), reservations=read(())),
        ),
        Example(
            "P1", UNVERIFIED, "a reservation without a date", in_block(None, end_type="limited")
        ),
        Example("P2", NA, "P1 holds", hyperpod()),
        Example("P2", PASS, "an offer reaches past the run", replace(in_block(60), **offered(84))),
        Example("P2", PASS, "an on-demand reservation can be moved", in_block(60, kind="default")),
        Example(
            "P2", FAIL, "no offer", replace(in_block(60), offerings={(CR, 24): read((), "offers")})
        ),
        Example("P2", FAIL, "offers are too small", replace(in_block(60), **offered(84, count=1))),
        Example("P2", FAIL, "too late", replace(in_block(0.9), **offered(84))),
        Example("P2", FAIL, "no extension closes a gap", hyperpod(plans=long_gap)),
        Example(
            "P2",
            RISK,
            "P1 is a risk and no offer is there",
            replace(in_block(73), offerings={(CR, 24): read((), "offers")}),
        ),
        Example(
            "P2",
            RISK,
            "an extension awaits payment",
            replace(
                in_block(60),
                extensions=read((Extension(reservation=CR, status="payment-pending"),)),
            ),
        ),
        Example("P2", UNVERIFIED, "P1 is open", hyperpod(plans=denied())),
        Example(
            "P2",
            UNVERIFIED,
            "offers for plans cannot be read",
            hyperpod(plans=plan(block(-400, 60))),
        ),
        Example(
            "P2",
            UNVERIFIED,
            "offers were not read",
            replace(in_block(60), offerings={(CR, 24): denied("offers")}),
        ),
        Example("P2", UNVERIFIED, "offers were not asked for", in_block(60)),
        Example("P3", PASS, "a spare in the plan", hyperpod()),
        Example("P3", PASS, "an available instance in the block", ec2()),
        Example("P3", RISK, "no spare", hyperpod(plans=plan(spare=0, available=0))),
        Example("P3", RISK, "an unhealthy instance", hyperpod(plans=plan(unhealthy=1))),
        Example("P3", RISK, "nothing available", in_block(available=0)),
        Example(
            "P3",
            RISK,
            "what is available still has to launch",
            hyperpod(cluster=cluster(group(target=3)), plans=plan(spare=0, available=1)),
        ),
        Example("P3", RISK, "the spare is in another zone", in_block(zone="us-west-2b")),
        Example(
            "P3",
            RISK,
            "impaired interconnect",
            ec2(
                block_status=read(
                    (BlockStatus(block="cb-1", interconnect="impaired", total=3, unavailable=0),)
                )
            ),
        ),
        Example("P3", RISK, "a scarce family on demand", on_demand()),
        Example("P3", UNVERIFIED, "another family on demand", on_demand("g5.48xlarge")),
        Example(
            "P3",
            RISK,
            "another family on demand whose quota is used up",
            replace(
                on_demand("g5.48xlarge"), vcpu_quotas={"L-DB2E81BA": used(None, of=400, name="G")}
            ),
        ),
        Example(
            "P3",
            UNVERIFIED,
            "counts were not returned",
            hyperpod(plans=plan(spare=None, available=None)),
        ),
        Example("P3", UNVERIFIED, "the plan was not read", hyperpod(plans=denied())),
        Example("P3", UNVERIFIED, "available was not returned", in_block(available=None)),
        Example("P3", UNVERIFIED, "the block's health was not read", ec2(block_status=denied())),
        Example(
            "P3",
            UNVERIFIED,
            "the block has too little data",
            ec2(
                block_status=read(
                    (BlockStatus(block="cb-1", interconnect="insufficient-data", total=3),)
                )
            ),
        ),
        Example("P3", UNVERIFIED, "subnets were not read", ec2(subnets=denied())),
    )


def recovery() -> tuple[Example, ...]:
    """P4 to P6."""
    on = read((NodeGroup(name="ng", repair=True),), "node groups")
    off = read((NodeGroup(name="ng", repair=False),), "node groups")
    plain_eks: dict[str, Any] = {"orchestrator": Orchestrator.EKS}
    recent = coverage(NODES[0], CoverageStatus.PARTIAL, empty=(at(-3),))
    old = coverage(NODES[0], CoverageStatus.PARTIAL, empty=(at(-20),))
    holed = coverage(NODES[0])
    kernel = SourceCoverage(
        node=NODES[0],
        source=Shipper.KERNEL_ONLY,
        group="/ops/kernel",
        stream="kernel",
        status=CoverageStatus.PARTIAL,
    )
    holed = holed.model_copy(update={"sources": (*holed.sources, kernel)})
    protected = (record(ServiceEvent.PROTECTED_MODE),)

    def seen(one: CoverageStatus) -> View:
        return hyperpod(nodes=(node(NODES[0], coverage=coverage(NODES[0], one)), node(NODES[1])))

    return (
        Example("P4", PASS, "Automatic", hyperpod()),
        Example("P4", PASS, "clustermgtd runs", ec2()),
        Example("P4", PASS, "node repair is on", ec2(nodegroups=on, **plain_eks)),
        Example("P4", FAIL, "None", hyperpod(cluster=cluster(recovery="None"))),
        Example("P4", RISK, "node repair is off", ec2(nodegroups=off, **plain_eks)),
        Example("P4", RISK, "plain EC2", ec2(orchestrator=Orchestrator.EC2)),
        Example("P4", RISK, "protected mode", ec2(services=protected)),
        Example(
            "P4", RISK, "the job does not resume", hyperpod(run=replace(RUN, auto_resume=False))
        ),
        Example(
            "P4", UNVERIFIED, "NodeRecovery is absent", hyperpod(cluster=cluster(recovery=None))
        ),
        Example("P4", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P4", UNVERIFIED, "clustermgtd is silent", ec2(manager_alive=False)),
        Example(
            "P4",
            UNVERIFIED,
            "clustermgtd was not read",
            ec2(manager_alive=None, services_read=denied()),
        ),
        Example(
            "P4", UNVERIFIED, "node groups were not read", ec2(nodegroups=denied(), **plain_eks)
        ),
        Example("P4", UNVERIFIED, "no node group", ec2(nodegroups=read(()), **plain_eks)),
        Example("P4", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
        Example("P5", PASS, "deep checks on start", hyperpod()),
        Example("P5", RISK, "none on start", with_group(deep_checks=())),
        Example("P5", NA, "not HyperPod", ec2()),
        Example("P5", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P5", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
        Example("P6", PASS, "the agent's group is live", hyperpod()),
        Example("P6", PASS, "kernel logs measured", ec2()),
        Example(
            "P6",
            PASS,
            "a program's fault is no hardware",
            hyperpod(
                nodes=(
                    node(NODES[0], records=hma("NvidiaUserAppError", "XidUserAppError")),
                    node(NODES[1]),
                )
            ),
        ),
        Example(
            "P6",
            PASS,
            "a detection that was cleared",
            hyperpod(
                nodes=(
                    node(
                        NODES[0],
                        records=hma("NvidiaErrorReboot", "XidHardwareFailure", active=False),
                    ),
                    node(NODES[1]),
                )
            ),
        ),
        Example(
            "P6",
            UNVERIFIED,
            "a kernel log with holes that nobody searched beside a live agent",
            hyperpod(nodes=(node(NODES[0], coverage=holed), node(NODES[1]))),
        ),
        Example("P6", FAIL, "nothing would show a fault", seen(CoverageStatus.NOT_OBSERVABLE)),
        Example(
            "P6",
            FAIL,
            "an empty hour just now",
            hyperpod(nodes=(node(NODES[0], coverage=recent), node(NODES[1]))),
        ),
        Example(
            "P6",
            RISK,
            "an empty hour long ago",
            hyperpod(nodes=(node(NODES[0], coverage=old), node(NODES[1]))),
        ),
        Example(
            "P6",
            RISK,
            "an active detection",
            hyperpod(
                nodes=(
                    node(NODES[0], records=hma("NvidiaErrorReboot", "XidHardwareFailure")),
                    node(NODES[1]),
                )
            ),
        ),
        Example("P6", UNVERIFIED, "counts were not read", seen(CoverageStatus.UNVERIFIED)),
        Example("P6", UNVERIFIED, "nodes were not listed", hyperpod(listed=denied())),
        Example("P6", UNVERIFIED, "no node", hyperpod(nodes=())),
        Example(
            "P6",
            UNVERIFIED,
            "streams were not listed",
            replace(
                seen(CoverageStatus.NOT_OBSERVABLE),
                logs_unread=(
                    NotSeen(what="log streams", reason=Reason.DENIED, closes_with="allow it"),
                ),
            ),
        ),
        Example(
            "P6",
            UNVERIFIED,
            "unknown platform",
            replace(seen(CoverageStatus.NOT_OBSERVABLE), orchestrator=Orchestrator.UNKNOWN),
        ),
        Example(
            "P1",
            UNVERIFIED,
            "a cluster that could not be described",
            ec2(orchestrator=Orchestrator.UNKNOWN, cluster=denied()),
        ),
    )


def attachment() -> tuple[Example, ...]:
    """P7, P12, P14 to P16."""
    tcp = rule(protocol="tcp", from_port=0, to_port=65535)
    wide = rule(pairs=(), cidrs=("0.0.0.0/0",))
    halves = rule(pairs=(), cidrs=("0.0.0.0/1", "128.0.0.0/1"))
    one_node = replace(RUN, nodes_needed=1)
    sockets = ec2(nccl=nccl(Transport.SOCKET))
    fabric = FabricManagerLine(
        node=NODES[0], stream="s", line=1, raw="x", state=FabricState.VERSION_MISMATCH
    )
    igw = routes(Route(destination="0.0.0.0/0", target="igw-1", state="active"))
    hole = routes(Route(destination="0.0.0.0/0", target="nat-1", state="blackhole"))
    g5 = tuple(node(n, instance_type="g5.xlarge") for n in NODES)
    return (
        Example("P7", PASS, "self-reference both ways, width not seen", hyperpod()),
        Example("P7", PASS, "full width", ec2()),
        Example(
            "P7",
            PASS,
            "several subnets of one zone",
            ec2(attached=read((network(NODES[0]), network(NODES[1], subnet="subnet-2")))),
        ),
        Example("P7", FAIL, "nothing inbound", hyperpod(groups=security(inbound=()))),
        Example("P7", FAIL, "TCP ports are not enough", hyperpod(groups=security(inbound=(tcp,)))),
        Example(
            "P7",
            FAIL,
            "a range is not enough outbound",
            hyperpod(groups=security(outbound=(wide,))),
        ),
        Example(
            "P7",
            FAIL,
            "another account's group",
            hyperpod(
                groups=security(
                    inbound=(
                        rule(
                            pairs=(rule().pairs[0].model_copy(update={"user_id": "123456789012"}),)
                        ),
                    )
                )
            ),
        ),
        Example("P7", FAIL, "no EFA interface", ec2(attached=attached(0))),
        Example(
            "P7",
            FAIL,
            "two zones",
            ec2(attached=read((network(NODES[0]), network(NODES[1], zone="us-west-2b")))),
        ),
        Example("P7", RISK, "fewer interfaces than the type has", ec2(attached=attached(16))),
        Example("P7", NA, "one node", hyperpod(run=one_node)),
        Example("P7", NA, "a type without EFA", ec2(nodes=g5, limits=read(()))),
        Example("P7", UNVERIFIED, "groups were not read", hyperpod(groups=denied())),
        Example("P7", UNVERIFIED, "the group was not returned", hyperpod(groups=read(()))),
        Example("P7", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P7", UNVERIFIED, "instances were not read", ec2(attached=denied())),
        Example(
            "P7",
            UNVERIFIED,
            "interfaces were not returned",
            ec2(attached=attached(interfaces=None)),
        ),
        Example("P12", PASS, "EFA and NVLink", hyperpod()),
        Example("P12", FAIL, "sockets", sockets),
        Example(
            "P12",
            FAIL,
            "Fabric Manager down",
            ec2(
                nodes=(
                    replace(ec2().nodes[0], records=NodeRecords(fabric_manager=(fabric,))),
                    ec2().nodes[1],
                )
            ),
        ),
        Example(
            "P12",
            RISK,
            "shared memory beside NVSwitch",
            hyperpod(nccl=nccl(inside="via SHM/direct")),
        ),
        Example("P12", UNVERIFIED, "no lines", hyperpod(nccl=type(nccl())())),
        Example("P12", UNVERIFIED, "lines of one node only", hyperpod(nccl=nccl(names=NODES[:1]))),
        Example(
            "P12",
            UNVERIFIED,
            "a node is newer than the lines",
            hyperpod(nodes=(node(NODES[0], launched_at=at(-1)), node(NODES[1]))),
        ),
        Example(
            "P12",
            UNVERIFIED,
            "a log that cannot show Fabric Manager",
            hyperpod(
                nodes=(
                    node(NODES[0], coverage=coverage(NODES[0], CoverageStatus.NOT_OBSERVABLE)),
                    node(NODES[1]),
                )
            ),
        ),
        Example("P14", PASS, "room", hyperpod()),
        Example("P14", PASS, "room on EC2", ec2()),
        Example("P14", RISK, "no room for a replacement", hyperpod(subnets=read((subnet(20),)))),
        Example("P14", RISK, "margin below a tenth", hyperpod(subnets=read((subnet(33),)))),
        Example(
            "P14",
            RISK,
            "interface quota used up",
            hyperpod(interface_quota=read(Quota(name="q", value=70.0))),
        ),
        Example(
            "P14",
            FAIL,
            "a node that must launch finds none",
            hyperpod(subnets=read((subnet(20),)), cluster=cluster(group(current=1))),
        ),
        Example(
            "P14",
            PASS,
            "IPv6 only: the quota decides",
            ec2(subnets=read((subnet(None, is_ipv6_only=True),))),
        ),
        Example("P14", UNVERIFIED, "subnets were not read", hyperpod(subnets=denied())),
        Example(
            "P14",
            UNVERIFIED,
            "the subnet was not returned",
            hyperpod(subnets=read((Subnet(id="subnet-9", free=9),))),
        ),
        Example(
            "P14", UNVERIFIED, "free was not returned", hyperpod(subnets=read((subnet(None),)))
        ),
        Example(
            "P14",
            UNVERIFIED,
            "an unlisted type",
            hyperpod(cluster=cluster(group(instance_type="ml.p9.48xlarge"))),
        ),
        Example("P14", UNVERIFIED, "the quota was not read", hyperpod(interface_quota=denied())),
        Example("P14", UNVERIFIED, "interfaces were not read", hyperpod(interfaces=denied())),
        Example("P14", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P15", PASS, "only the self-reference", hyperpod()),
        Example(
            "P15", RISK, "anywhere beside it", hyperpod(groups=security(outbound=(rule(), wide)))
        ),
        Example("P15", RISK, "anywhere without it", hyperpod(groups=security(outbound=(wide,)))),
        Example(
            "P15",
            RISK,
            "anywhere in two halves",
            hyperpod(groups=security(outbound=(rule(), halves))),
        ),
        Example("P15", RISK, "anywhere by a prefix list", listed("0.0.0.0/0")),
        Example("P15", PASS, "a prefix list of the network's own ranges", listed("10.0.0.0/8")),
        Example("P15", UNVERIFIED, "a prefix list was not read", listed(None)),
        Example(
            "P15",
            RISK,
            "IPv6 to anywhere",
            hyperpod(groups=security(outbound=(rule(), rule(pairs=(), cidrs=("::/0",))))),
        ),
        Example("P15", NA, "not HyperPod", ec2()),
        Example("P15", NA, "one node", hyperpod(run=one_node)),
        Example("P15", UNVERIFIED, "groups were not read", hyperpod(groups=denied())),
        Example(
            "P15",
            UNVERIFIED,
            "outbound was not returned",
            hyperpod(groups=read((GROUP_READ,))),
        ),
        Example("P15", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P15", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
        Example("P16", PASS, "a private way out", hyperpod()),
        Example("P16", PASS, "ParallelCluster with NAT", ec2()),
        Example(
            "P16",
            PASS,
            "ParallelCluster tried again since a failure three days ago",
            ec2(services=(record(ServiceEvent.BOOTSTRAP_FAILED, at=at(-72)),)),
        ),
        Example(
            "P16",
            RISK,
            "ParallelCluster failed to bootstrap a node today",
            ec2(services=(record(ServiceEvent.BOOTSTRAP_FAILED),)),
        ),
        Example("P16", FAIL, "a blackhole", ec2(routes=hole)),
        Example("P16", FAIL, "an internet gateway with many interfaces", ec2(routes=igw)),
        Example(
            "P16", FAIL, "protected mode", ec2(services=(record(ServiceEvent.PROTECTED_MODE),))
        ),
        Example(
            "P16",
            RISK,
            "a bootstrap failure",
            ec2(services=(record(ServiceEvent.BOOTSTRAP_FAILED),)),
        ),
        Example(
            "P16",
            RISK,
            "a lifecycle failure",
            hyperpod(events=read((event(EventMeaning.LIFECYCLE_FAILED, -20),))),
        ),
        Example("P16", UNVERIFIED, "routes were not read", hyperpod(routes=denied())),
        Example("P16", UNVERIFIED, "no table of the subnet", hyperpod(routes=read(()))),
        Example(
            "P16",
            UNVERIFIED,
            "no default route",
            ec2(routes=routes(Route(destination="10.0.0.0/8", target="local"))),
        ),
        Example("P16", UNVERIFIED, "events were not read", hyperpod(events=denied())),
        Example("P16", UNVERIFIED, "clustermgtd is silent", ec2(manager_alive=False)),
        Example("P16", UNVERIFIED, "service logs were not read", ec2(services_read=denied())),
        Example("P16", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
    )


def surroundings() -> tuple[Example, ...]:
    """P8 to P11 and P13."""
    deaf = AlertRule(name="ends", hears=(WarningKind.EXPIRATION,), is_enabled=False, targets=1)
    blind = AlertRule(name="ends", hears=(WarningKind.EXPIRATION,), is_enabled=True, targets=None)
    firing = alarm(state="ALARM")
    both = alarm(name=f"{CR}-all", state="ALARM", is_composite=True, rule=firing.name)
    quiet = WeeklyTime(weekday=2, hour=3, minute=0)
    acting = AdministrativeAction(kind="STORAGE_OPTIMIZATION", status="IN_PROGRESS")
    mixed = (
        replace(ec2().nodes[0], records=boot(NODES[0], "570.86.15")),
        replace(ec2().nodes[1], records=boot(NODES[1], "575.57.08")),
    )
    one_silent = (ec2().nodes[0], replace(ec2().nodes[1], records=NodeRecords()))
    return (
        Example("P8", PASS, "quiet, roomy, no maintenance", hyperpod()),
        Example("P8", FAIL, "misconfigured", fs(lifecycle="MISCONFIGURED")),
        Example("P8", RISK, "saturated", stored(busy=95.0)),
        Example("P8", RISK, "a full target", stored(free_percent=5.0)),
        Example("P8", RISK, "an action in progress", fs(actions=(acting,))),
        Example(
            "P8",
            RISK,
            "maintenance inside the run",
            fs(maintenance=WeeklyTime(weekday=5, hour=2, minute=0)),
        ),
        Example("P8", UNVERIFIED, "no metrics", stored(metrics=False)),
        Example("P8", UNVERIFIED, "no file system", stored(systems=NONE_LISTED, metrics=False)),
        Example(
            "P8", UNVERIFIED, "file systems were not read", stored(systems=REFUSED, metrics=False)
        ),
        Example("P8", UNVERIFIED, "the window was not returned", fs(maintenance=None)),
        Example("P8", UNVERIFIED, "the state was not returned", fs(lifecycle=None)),
        Example("P9", PASS, "busy", ec2()),
        Example("P9", RISK, "idle", ec2(storage=replace(storage(), gpu=gpu_power(1.0)))),
        Example("P9", NA, "nothing reserved", on_demand()),
        Example("P9", UNVERIFIED, "HyperPod", hyperpod()),
        Example("P9", UNVERIFIED, "no power metric", ec2(storage=storage())),
        Example("P10", PASS, "a rule hears of the block's end", ec2()),
        Example("P10", PASS, "a schedule is about the plan's end", hyperpod()),
        Example("P10", RISK, "no rule", ec2(rules=read(()))),
        Example("P10", RISK, "a disabled rule", ec2(rules=read((deaf,)))),
        Example(
            "P10",
            RISK,
            "a rule without a target",
            ec2(rules=read((blind.model_copy(update={"targets": 0}),))),
        ),
        Example(
            "P10",
            RISK,
            "a nightly report is about something else",
            hyperpod(schedules=read((schedule(name="nightly-report"),))),
        ),
        Example("P10", NA, "nothing with an end", in_block(None, kind="default")),
        Example("P10", UNVERIFIED, "rules were not read", ec2(rules=denied())),
        Example("P10", UNVERIFIED, "targets were not read", ec2(rules=read((blind,)))),
        Example("P10", UNVERIFIED, "schedules were not read", hyperpod(schedules=denied())),
        Example("P10", UNVERIFIED, "capacity is not known", hyperpod(plans=denied())),
        Example("P11", FAIL, "driver too old", b200("565.57.01")),
        Example("P11", FAIL, "kernel too old", b200("570.86.15", "5.15.0-1072-aws")),
        Example("P11", RISK, "mixed drivers", ec2(nodes=mixed)),
        Example("P11", RISK, "an image at its end of life", with_group(image_status="EndOfLife")),
        Example("P11", NA, "no minimum for the family", ec2()),
        Example("P11", NA, "HyperPod ships no kernel log", hyperpod()),
        Example("P11", UNVERIFIED, "CUDA cannot be read", b200("570.86.15")),
        Example("P11", PASS, "every component told", b200("570.86.15", told=B200_SOFTWARE)),
        Example(
            "P11",
            FAIL,
            "the job was built with an older CUDA",
            b200("570.86.15", told={**B200_SOFTWARE, Component.CUDA: "12.6"}),
        ),
        Example(
            "P11",
            FAIL,
            "the driver runs no CUDA that is new enough",
            b200("570.86.15", told={Component.CUDA_DRIVER: "12.4"}),
        ),
        Example(
            "P11",
            UNVERIFIED,
            "what the driver could run is not what the job was built with",
            b200(
                "570.86.15",
                told={
                    Component.CUDA_DRIVER: "13.0",
                    Component.EFA_INSTALLER: B200_SOFTWARE[Component.EFA_INSTALLER],
                },
            ),
        ),
        Example(
            "P11",
            FAIL,
            "an EFA installer too old",
            b200("570.86.15", told={**B200_SOFTWARE, Component.EFA_INSTALLER: "1.38.0"}),
        ),
        Example(
            "P11",
            UNVERIFIED,
            "the EFA installer cannot be read",
            b200("570.86.15", told={Component.CUDA: "12.8"}),
        ),
        Example("P11", UNVERIFIED, "the driver cannot be read", b200(None)),
        Example("P11", UNVERIFIED, "one node does not show its driver", ec2(nodes=one_silent)),
        Example("P11", UNVERIFIED, "no node", hyperpod(nodes=())),
        Example("P11", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P13", PASS, "in service without alarms", hyperpod()),
        Example("P13", PASS, "alarms quiet", ec2()),
        Example(
            "P13",
            PASS,
            "an alarm of somebody else",
            hyperpod(alarms=read((alarm(name="billing", state="ALARM"),))),
        ),
        Example(
            "P13", FAIL, "protected mode", ec2(services=(record(ServiceEvent.PROTECTED_MODE),))
        ),
        Example("P13", RISK, "an alarm fires", ec2(alarms=read((firing,)))),
        Example("P13", RISK, "composite and child are one", ec2(alarms=read((firing, both)))),
        Example("P13", RISK, "ParallelCluster without alarms", ec2(alarms=read(()))),
        Example(
            "P13", RISK, "the cluster is updating", hyperpod(cluster=cluster(status="Updating"))
        ),
        Example(
            "P13",
            RISK,
            "Slurm reported unhealthy",
            hyperpod(
                events=read(
                    (event(EventMeaning.HEALTH, description="Slurm controller is Unhealthy"),)
                )
            ),
        ),
        Example("P13", RISK, "a group is degraded", with_group(status="Degraded")),
        Example("P13", RISK, "nodes are missing", with_group(target=3)),
        Example(
            "P13",
            RISK,
            "Slurm drift",
            hyperpod(
                events=read(
                    (
                        event(
                            EventMeaning.SLURM, description="Slurm configuration drift detected: x"
                        ),
                    )
                )
            ),
        ),
        Example("P13", UNVERIFIED, "alarms were not read", hyperpod(alarms=denied())),
        Example("P13", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P13", UNVERIFIED, "clustermgtd is silent", ec2(manager_alive=False)),
        Example("P13", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
        Example("P19", PASS, "nothing scheduled", hyperpod()),
        Example("P19", PASS, "nothing scheduled on EC2", ec2()),
        Example(
            "P19",
            FAIL,
            "a retirement",
            ec2(
                instance_health=read(
                    (
                        InstanceHealth(
                            id=NODES[0],
                            scheduled=("instance-retirement from then",),
                            scheduled_at=(at(5),),
                        ),
                    )
                )
            ),
        ),
        Example(
            "P19",
            FAIL,
            "a patch that drains",
            with_group(patch_at=at(5), patch_strategy="DrainFirst"),
        ),
        Example(
            "P19", RISK, "a patch when idle", with_group(patch_at=at(5), patch_strategy="WhenIdle")
        ),
        Example("P19", RISK, "an update schedule", with_group(update_schedule="cron(0 0 * * ? *)")),
        Example(
            "P19",
            RISK,
            "a reboot",
            ec2(
                instance_health=read(
                    (
                        InstanceHealth(
                            id=NODES[0], scheduled=("system-reboot",), scheduled_at=(at(5),)
                        ),
                    )
                )
            ),
        ),
        Example(
            "P19",
            RISK,
            "AWS Health announces",
            ec2(
                health_events=read(
                    (
                        HealthEvent(
                            arn="a", code="AWS_EC2_X", status="upcoming", entities=(NODES[0],)
                        ),
                    )
                )
            ),
        ),
        Example(
            "P19",
            PASS,
            "a completed event",
            ec2(
                instance_health=read(
                    tuple(
                        InstanceHealth(
                            id=n, scheduled=("instance-stop: [Completed] x",), scheduled_at=(at(5),)
                        )
                        for n in NODES
                    )
                )
            ),
        ),
        Example("P19", UNVERIFIED, "status checks were not read", ec2(instance_health=denied())),
        Example("P19", UNVERIFIED, "no status of the nodes", ec2(instance_health=read(()))),
        Example("P19", UNVERIFIED, "AWS Health was not read", ec2(health_events=denied())),
        Example("P19", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example(
            "P19",
            UNVERIFIED,
            "no file system",
            hyperpod(
                storage=storage(
                    system=SYSTEM.model_copy(update={"maintenance": quiet}),
                    systems=NONE_LISTED,
                    metrics=False,
                )
            ),
        ),
    )


def beyond() -> tuple[Example, ...]:
    """P17, P18 and P20 to P30."""
    operator = Addon(name="amazon-sagemaker-hyperpod-training-operator", status="DEGRADED")
    ok = operator.model_copy(update={"status": "ACTIVE"})
    old = Addon(name="amazon-sagemaker-hyperpod-taskgovernance", version="v1.0.0-eksbuild.4")
    watched = Addon(name="amazon-sagemaker-hyperpod-observability", status="ACTIVE")
    gone = Route(destination="10.0.0.0/8", target="local")
    static = job(
        (
            "- name: FI_PROVIDER\n                  value: efa",
            "- name: AWS_SESSION_TOKEN\n                  value: abc",
        )
    )
    half = BASE.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 4")
    half = half.replace("per-node=8", "per-node=4").replace('"8"', '"4"')
    limit = job(
        (
            "spec:\n  nprocPerNode",
            "spec:\n  runPolicy: {activeDeadlineSeconds: 3600}\n  nprocPerNode",
        )
    )
    four = tuple(node(f"i-0aaaaaaaaaaaaaa0{i}") for i in range(1, 5))
    fits: dict[str, Any] = {"nodes": four, "run": replace(RUN, nodes_needed=4)}
    script = (
        "#!/bin/bash\n#SBATCH --time=4-00 --open-mode=append\nsrun --auto-resume=1 python t.py\n"
    )
    return (
        Example("P17", PASS, "the operator is active", eks()),
        Example("P17", RISK, "the operator is degraded", eks(addons=read((operator,)))),
        Example("P17", RISK, "task governance is too old", eks(addons=read((ok, old)))),
        Example("P17", FAIL, "a job without its operator", eks(addons=read(()), job=spec())),
        Example("P17", NEEDS, "no operator and no job", eks(addons=read(()))),
        Example("P17", NA, "Slurm", hyperpod()),
        Example("P17", UNVERIFIED, "add-ons were not read", eks(addons=denied())),
        Example("P17", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
        Example("P18", PASS, "the observability add-on", eks(addons=read((watched,)))),
        Example("P18", PASS, "power in CloudWatch", ec2(storage=storage(gpu=gpu_power(50.0)))),
        Example("P18", RISK, "none", hyperpod(workspaces=read(()))),
        Example("P18", UNVERIFIED, "a workspace alone", hyperpod()),
        Example("P18", UNVERIFIED, "workspaces were not read", hyperpod(workspaces=denied())),
        Example("P20", PASS, "a spare is at hand", hyperpod()),
        Example("P20", RISK, "just enough", hyperpod(plans=plan(spare=0, available=0))),
        Example("P20", FAIL, "too few", hyperpod(run=replace(RUN, nodes_needed=3))),
        Example("P20", NEEDS, "not told", hyperpod(run=replace(RUN, nodes_needed=None))),
        Example("P20", UNVERIFIED, "nodes were not listed", hyperpod(listed=denied())),
        Example("P21", PASS, "room and time", hyperpod()),
        Example("P21", FAIL, "too little room", hyperpod(run=replace(RUN, checkpoint_gib=9000.0))),
        Example(
            "P21",
            FAIL,
            "writing takes an interval",
            replace(fs(throughput_per_tib=1), run=replace(RUN, checkpoint_gib=200.0)),
        ),
        Example(
            "P21",
            RISK,
            "writing takes a quarter of one",
            replace(fs(throughput_per_tib=25), run=replace(RUN, checkpoint_gib=150.0)),
        ),
        Example("P21", NEEDS, "size not told", hyperpod(run=replace(RUN, checkpoint_gib=None))),
        Example("P21", UNVERIFIED, "free space not shown", stored(metrics=False)),
        Example("P21", UNVERIFIED, "no file system", stored(systems=REFUSED, metrics=False)),
        Example("P22", PASS, "roles", hyperpod(job=spec())),
        Example("P22", RISK, "static keys in the job", hyperpod(job=spec(static))),
        Example("P22", NEEDS, "no job", hyperpod()),
        Example("P22", UNVERIFIED, "roles were not returned", with_group(role=None)),
        Example("P22", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P23", PASS, "a default route", hyperpod()),
        Example(
            "P23",
            PASS,
            "an S3 endpoint",
            hyperpod(
                routes=routes(gone), endpoints=read((Endpoints(vpc="vpc-1", services=("s3",)),))
            ),
        ),
        Example(
            "P23",
            PASS,
            "a gateway endpoint in the table",
            hyperpod(routes=routes(Route(destination="pl-1", target="vpce-1"))),
        ),
        Example("P23", RISK, "neither", hyperpod(routes=routes(gone), endpoints=read(()))),
        Example("P23", UNVERIFIED, "endpoints were not read", hyperpod(routes=routes(gone))),
        Example("P23", UNVERIFIED, "routes were not read", hyperpod(routes=denied())),
        Example("P23", UNVERIFIED, "no table of the subnet", hyperpod(routes=read(()))),
        Example("P24", PASS, "one image", hyperpod()),
        Example("P24", PASS, "one image on EC2", ec2()),
        Example("P24", FAIL, "an update in progress", with_group(wanted_image="ami-2")),
        Example(
            "P24",
            RISK,
            "two images",
            hyperpod(
                places=(place(NODES[0]), place(NODES[1], image="ami-2", wanted_image="ami-2"))
            ),
        ),
        Example(
            "P24",
            FAIL,
            "a node in the middle of an update",
            hyperpod(places=(place(NODES[0]), place(NODES[1], wanted_image="ami-2"))),
        ),
        Example(
            "P24",
            RISK,
            "two images on EC2",
            ec2(
                instances=read(
                    (
                        MEMBERS[0],
                        MEMBERS[1].model_copy(update={"image": "ami-2"}),
                    )
                )
            ),
        ),
        Example(
            "P24",
            UNVERIFIED,
            "the image was not returned",
            with_group(image=None, wanted_image=None),
        ),
        Example(
            "P24", UNVERIFIED, "a node was not read", hyperpod(places=(place(NODES[0]), denied()))
        ),
        Example("P24", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P24", UNVERIFIED, "instances were not read", ec2(instances=denied())),
        Example("P25", PASS, "every node is sound", hyperpod()),
        Example(
            "P25",
            RISK,
            "instances of the block fail their system check",
            ec2(block_status=read((BlockStatus(block="cb-1", interconnect="ok", unavailable=1),))),
        ),
        Example("P25", UNVERIFIED, "the block's health was not read", ec2(block_status=denied())),
        Example(
            "P25",
            FAIL,
            "too few without a fault",
            hyperpod(
                nodes=(node(NODES[0], verdict=verdict(NODES[0], Verdict.REPLACE)), node(NODES[1]))
            ),
        ),
        Example(
            "P25",
            RISK,
            "a faulty node beside enough others",
            hyperpod(
                run=replace(RUN, nodes_needed=1),
                nodes=(node(NODES[0], verdict=verdict(NODES[0], Verdict.REBOOT)), node(NODES[1])),
            ),
        ),
        Example(
            "P25",
            FAIL,
            "a node waits for its replacement",
            hyperpod(
                nodes=(
                    node(NODES[0], health_label="UnschedulablePendingReplacement"),
                    node(NODES[1]),
                )
            ),
        ),
        Example(
            "P25",
            RISK,
            "a node is pending",
            hyperpod(nodes=(node(NODES[0], state="Pending"), node(NODES[1]))),
        ),
        Example(
            "P25",
            UNVERIFIED,
            "a node cannot be judged",
            hyperpod(
                nodes=(
                    node(NODES[0], verdict=verdict(NODES[0], Verdict.NOT_OBSERVABLE)),
                    node(NODES[1]),
                )
            ),
        ),
        Example("P25", UNVERIFIED, "nodes were not listed", hyperpod(listed=denied())),
        Example("P25", UNVERIFIED, "labels were not read", eks(places=(denied(), denied()))),
        Example("P25", UNVERIFIED, "no node", hyperpod(nodes=())),
        Example("P26", PASS, "one zone", hyperpod()),
        Example("P26", PASS, "one zone on EC2", ec2()),
        Example(
            "P26",
            FAIL,
            "two zones",
            hyperpod(places=(place(NODES[0]), place(NODES[1], zone="us-west-2b"))),
        ),
        Example(
            "P26",
            FAIL,
            "capacity in another zone",
            hyperpod(subnets=read((subnet(zone="us-west-2b", zone_id="usw2-az2"),))),
        ),
        Example(
            "P26",
            RISK,
            "storage in another zone",
            hyperpod(
                subnets=read(
                    (subnet(), subnet(id="subnet-2", zone="us-west-2c", zone_id="usw2-az3"))
                ),
                storage=replace(fs(subnets=("subnet-2",)).storage or storage()),
            ),
        ),
        Example("P26", UNVERIFIED, "places were not read", hyperpod(places=(denied(), denied()))),
        Example("P26", UNVERIFIED, "subnets were not read", hyperpod(subnets=denied())),
        Example("P26", UNVERIFIED, "capacity is not known", hyperpod(plans=denied())),
        Example("P27", PASS, "the job fits", hyperpod(job=spec(), **fits)),
        Example("P27", PASS, "the script fits", hyperpod(scripts=(("run.sh", script),))),
        Example("P27", FAIL, "more pods than nodes", hyperpod(job=spec())),
        Example(
            "P27",
            FAIL,
            "an error in the file",
            hyperpod(job=spec(job(("nvidia.com/gpu: 8", "nvidia.com/gpu: 16"))), **fits),
        ),
        Example("P27", FAIL, "a deadline before the run's end", hyperpod(job=spec(limit), **fits)),
        Example(
            "P27",
            FAIL,
            "a time limit before the run's end",
            hyperpod(scripts=(("run.sh", script.replace("4-00", "24:00:00")),)),
        ),
        Example(
            "P27",
            FAIL,
            "another instance type",
            hyperpod(
                job=spec(),
                nodes=tuple(replace(n, instance_type="ml.p5en.48xlarge") for n in four),
                run=replace(RUN, nodes_needed=4),
            ),
        ),
        Example(
            "P27",
            RISK,
            "srun without auto-resume",
            hyperpod(scripts=(("run.sh", script.replace(" --auto-resume=1", "")),)),
        ),
        Example(
            "P27",
            RISK,
            "output is overwritten",
            hyperpod(scripts=(("run.sh", script.replace("--open-mode=append", "")),)),
        ),
        Example("P27", NEEDS, "no job", hyperpod()),
        Example("P27", RISK, "a queue without Kueue's add-on", eks(job=spec(), **fits)),
        Example(
            "P27", UNVERIFIED, "add-ons were not read", eks(job=spec(), addons=denied(), **fits)
        ),
        Example(
            "P27",
            UNVERIFIED,
            "nodes were not listed",
            hyperpod(job=spec(), listed=denied(), **fits),
        ),
        Example(
            "P27",
            FAIL,
            "a script that asks for more nodes than there are",
            hyperpod(scripts=(("run.sh", script.replace("--open", "--nodes=4 --open")),)),
        ),
        Example(
            "P27",
            FAIL,
            "a script that asks for more GPUs than a node has",
            hyperpod(scripts=(("run.sh", script.replace("--open", "--gres=gpu:16 --open")),)),
        ),
        Example(
            "P27",
            RISK,
            "checkpoints of a script on the node itself",
            hyperpod(scripts=(("run.sh", f"{script} --save-dir /opt/dlami/nvme/ckpt\n"),)),
        ),
        Example(
            "P27",
            UNVERIFIED,
            "nodes were not listed for a script",
            hyperpod(
                scripts=(("run.sh", script.replace("--open", "-N 2 --open")),), listed=denied()
            ),
        ),
        Example(
            "P27",
            RISK,
            "fewer GPUs than a node has",
            hyperpod(job=spec(half), **fits),
        ),
        Example("P28", NA, "no key is named", hyperpod()),
        Example(
            "P28",
            PASS,
            "an enabled key",
            hyperpod(keys=(read(KeyState(key="k", state="Enabled")),)),
        ),
        Example(
            "P28",
            FAIL,
            "a key about to be deleted",
            hyperpod(keys=(read(KeyState(key="k", state="PendingDeletion")),)),
        ),
        Example("P28", UNVERIFIED, "the key was not read", hyperpod(keys=(denied("a key"),))),
        Example(
            "P28",
            FAIL,
            "one of several keys is disabled",
            hyperpod(
                keys=(
                    read(KeyState(key="k", state="Enabled")),
                    read(KeyState(key="v", used_by="volumes of gpu", state="Disabled")),
                )
            ),
        ),
        Example(
            "P28", UNVERIFIED, "a state was not returned", hyperpod(keys=(read(KeyState(key="k")),))
        ),
        Example("P28", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P28", UNVERIFIED, "log groups were not read", hyperpod(retention=denied())),
        Example("P28", UNVERIFIED, "log groups were not returned", hyperpod(retention=read(()))),
        Example("P28", UNVERIFIED, "the EKS cluster was not read", eks(secrets_read=denied())),
        Example("P28", UNVERIFIED, "no file system", stored(systems=REFUSED, metrics=False)),
        Example("P29", PASS, "room in the quota", hyperpod()),
        Example(
            "P29",
            RISK,
            "the quota is used up",
            hyperpod(usage_quotas=read((Quota(name=f"ml.{KIND} for cluster usage", value=2.0),))),
        ),
        Example(
            "P29",
            RISK,
            "the clusters of the account are full",
            hyperpod(usage_quotas=read((TYPE_QUOTA, Quota(name=OVER_CLUSTERS, value=2.0)))),
        ),
        Example(
            "P29",
            RISK,
            "a volume is larger than allowed",
            hyperpod(
                cluster=cluster(group(volume_gb=(500, 4000))),
                usage_quotas=read((TYPE_QUOTA, Quota(name=VOLUME_SIZE, value=2000.0))),
            ),
        ),
        Example("P29", PASS, "a Capacity Block counts against no vCPU quota", ec2()),
        Example("P29", PASS, "room for the vCPUs of one more node", counting(used(384, of=576))),
        Example("P29", RISK, "no room for the vCPUs of one more node", counting(used(384, of=500))),
        Example(
            "P29",
            RISK,
            "the nodes alone fill the quota though its use was not read",
            counting(used(None, of=400)),
        ),
        Example("P29", UNVERIFIED, "the use was not read", counting(used(None, of=5000))),
        Example("P29", UNVERIFIED, "the vCPU quota was not read", counting(None)),
        Example(
            "P29",
            UNVERIFIED,
            "the vCPU quota was denied",
            counting(QuotaSight(denied("the quota"))),
        ),
        Example(
            "P29",
            UNVERIFIED,
            "Spot limits are not judged",
            counting(used(384, of=5000), lifecycle="spot"),
        ),
        Example(
            "P29",
            UNVERIFIED,
            "a family without a listed quota",
            counting(used(384, of=5000), instance_type="dl1.24xlarge"),
        ),
        Example("P29", UNVERIFIED, "instances were not read", ec2(instances=denied())),
        Example("P29", UNVERIFIED, "no instance was returned", ec2(instances=read(()))),
        Example(
            "P29", UNVERIFIED, "one instance was not returned", ec2(instances=read(MEMBERS[:1]))
        ),
        Example("P29", RISK, "EBS storage is used up", ec2(ebs_quota=used(50.0, of=50.0))),
        Example("P29", UNVERIFIED, "EBS storage is tight", ec2(ebs_quota=used(49.0, of=50.0))),
        Example("P29", UNVERIFIED, "EBS use was not read", ec2(ebs_quota=used(None, of=50.0))),
        Example(
            "P29", UNVERIFIED, "EBS quota was not read", ec2(ebs_quota=QuotaSight(denied("EBS")))
        ),
        Example("P29", UNVERIFIED, "quotas were not read", hyperpod(usage_quotas=denied())),
        Example("P29", UNVERIFIED, "the quota was not returned", hyperpod(usage_quotas=read(()))),
        Example("P29", UNVERIFIED, "the cluster was not read", hyperpod(cluster=denied())),
        Example("P29", UNVERIFIED, "unknown platform", ec2(orchestrator=Orchestrator.UNKNOWN)),
        Example("P30", PASS, "kept for ever", hyperpod()),
        Example(
            "P30",
            RISK,
            "kept too short",
            hyperpod(retention=read((GroupRetention(name="g", days=7),))),
        ),
        Example("P30", UNVERIFIED, "not read", hyperpod(retention=denied())),
        Example("P30", UNVERIFIED, "no group", hyperpod(retention=read(()))),
    )


EXAMPLES: tuple[Example, ...] = (
    *capacity(),
    *recovery(),
    *attachment(),
    *surroundings(),
    *beyond(),
)
