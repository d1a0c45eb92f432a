"""P16: a node that starts now would come up."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from gpuvet.catalog.instance_types import instance_type
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, stamp, unknown_platform, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View, plain
from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.model.changes import EventMeaning
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.network import Route, RouteTable
from gpuvet.report.words import counted

LOOK_BACK = timedelta(days=7)
# preflight P16: on ParallelCluster a bootstrap failure of the last day counts.
_RETRIED = timedelta(hours=24)
_FAILED = frozenset(
    {
        ServiceEvent.SCRIPTS_FAILED,
        ServiceEvent.BOOTSTRAP_FAILED,
        ServiceEvent.RESUME_TIMEOUT,
        ServiceEvent.CONNECT_TIMEOUT,
        ServiceEvent.LAUNCH_FAILED,
    }
)
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})


def bootstrap(view: View) -> Iterator[Part]:
    """Look at routes of the compute subnets and at recent failures to come up."""
    if not view.is_known:
        yield unknown_platform()
        return
    yield from _failures(view)
    yield from _routes(view)
    if view.is_hyperpod:
        yield from _provisioned(view)
    elif view.orchestrator is Orchestrator.PARALLELCLUSTER:
        yield from _manager(view)


def _failures(view: View) -> Iterator[Part]:
    protected = [r for r in view.services if r.event is ServiceEvent.PROTECTED_MODE]
    if protected:
        yield _failed(CheckStatus.FAIL, protected, "protected mode")
    recent = [r for r in view.services if r.event in _FAILED and _is_recent(view, r)]
    if recent:
        yield _failed(CheckStatus.RISK, recent, recent[-1].event.value)
    events = [
        e
        for e in rows(view.events)
        if e.meaning in {EventMeaning.LIFECYCLE_FAILED, EventMeaning.PROVISION_FAILED}
        and e.at >= view.now - LOOK_BACK
    ]
    if events:
        last = events[-1]
        yield Part(
            CheckStatus.RISK,
            last.instance or last.group or "the cluster",
            f"{counted(len(events), 'failure')} to come up in the last 7 days, the last at "
            f"{stamp(last.at)}: {last.failure or last.description}",
            action=f"mend what failed on {last.instance or last.group or 'the last node'} first",
            evidence=(last.evidence,) if last.evidence else (),
        )


def _is_recent(view: View, record: ServiceRecord) -> bool:
    """Say whether a failure still counts: ParallelCluster tries again all the time."""
    reach = _RETRIED if view.orchestrator is Orchestrator.PARALLELCLUSTER else LOOK_BACK
    return record.at is None or record.at >= view.now - reach


def _failed(status: CheckStatus, records: Sequence[ServiceRecord], what: str) -> Part:
    last = records[-1]
    when = f" at {stamp(last.at)}" if last.at else ""
    return Part(
        status,
        last.node or ", ".join(last.instances) or last.stream,
        f"{what}{when} in {last.stream}: {last.raw}",
        action="mend the bootstrap failure before the run: a replacement would fail the same way",
        evidence=(last.evidence,),
    )


def _routes(view: View) -> Iterator[Part]:
    if not view.routes.is_complete:
        yield unread(view.routes, "the compute subnets")
    wanted = _subnets(view)
    if view.routes.is_complete and not wanted:
        yield Part(
            CheckStatus.UNVERIFIED,
            "the compute subnets",
            "the subnets of the nodes were not returned",
            closes_with="ec2:DescribeInstances or DescribeCluster: the nodes' subnets",
        )
    for name in wanted:
        table = table_of(view, name)
        if table is not None:
            yield _route(view, name, table)
        elif view.routes.is_complete:
            yield Part(
                CheckStatus.UNVERIFIED,
                name,
                f"no route table of {name} was returned",
                closes_with=f"ec2:DescribeRouteTables of {name} and of its VPC",
                evidence=view.routes.refs,
            )


def _subnets(view: View) -> tuple[str, ...]:
    own = (name for group in view.accelerated for name in view.subnets_of(group))
    return tuple(dict.fromkeys(own)) or view.subnets_of(None)


def table_of(view: View, subnet: str) -> RouteTable | None:
    """Return the effective route table: the subnet's own, else the main one of its VPC."""
    own = next((t for t in rows(view.routes) if subnet in t.subnets), None)
    vpc = next((s.vpc for s in rows(view.subnets) if s.id == subnet), None)
    main = (t for t in rows(view.routes) if t.is_main and vpc in {t.vpc, None})
    return own or next(main, None)


def default_route(table: RouteTable) -> Route | None:
    """Return the route to anywhere, one that works first."""
    found = [r for r in table.routes if r.destination in _DEFAULTS]
    alive = (r for r in found if r.state != "blackhole")
    return next(alive, found[0] if found else None)


def _route(view: View, subnet: str, table: RouteTable) -> Part:
    refs = view.routes.refs
    route = default_route(table)
    told = f"{subnet} ({table.table})"
    if route is not None and route.state == "blackhole":
        return Part(
            CheckStatus.FAIL,
            subnet,
            f"{told}: the default route to {route.target} is a blackhole",
            action=f"repair the default route of {table.table}",
            evidence=refs,
        )
    if route is None:
        return Part(
            CheckStatus.UNVERIFIED,
            subnet,
            f"{told} has no default route: nodes need VPC endpoints (S3, DynamoDB, EC2, "
            "CloudFormation, logs, STS)",
            closes_with="ec2:DescribeVpcEndpoints of the VPC, or a node that came up lately",
            evidence=refs,
        )
    if (route.target or "").startswith("igw-"):
        return _public(view, subnet, f"{told}: default route to {route.target}")
    why = f"{told}: default route to {route.target}, a private way out"
    return Part(CheckStatus.PASS, subnet, why, evidence=refs)


def _public(view: View, subnet: str, told: str) -> Part:
    has_several = any(_cards(kind) > 1 for kind in view.types)
    if view.orchestrator is Orchestrator.HYPERPOD_EKS or has_several:
        # Elsewhere an address may have been attached by hand.
        by_service = view.is_hyperpod or view.orchestrator is Orchestrator.PARALLELCLUSTER
        return Part(
            CheckStatus.FAIL if by_service else CheckStatus.RISK,
            subnet,
            f"{told}: nodes with several interfaces get no public address, so they reach nothing",
            action=f"use a private subnet with a NAT gateway instead of {subnet}",
            evidence=view.routes.refs,
        )
    return Part(CheckStatus.PASS, subnet, f"{told}, a public subnet", evidence=view.routes.refs)


def _cards(kind: str) -> int:
    row = instance_type(plain(kind))
    return row.network_cards or 1 if row else 1


def _manager(view: View) -> Iterator[Part]:
    if not view.services_read.is_complete:
        yield unread(view.services_read, "clustermgtd", "bootstrap failures")
    elif not view.manager_alive:
        yield Part(
            CheckStatus.UNVERIFIED,
            "clustermgtd",
            "clustermgtd's stream is not live: its silence does not mean that nodes come up",
            closes_with="the clustermgtd stream of the head node",
        )


def _provisioned(view: View) -> Iterator[Part]:
    """Say whether anything came up lately; silence says something only where it was read."""
    if view.events.was_refused or view.services_read.was_refused:
        reading = view.events if view.events.was_refused else view.services_read
        yield unread(reading, "the last 7 days", "failures to come up in them")
        return
    if not view.listed.is_complete or not view.nodes:
        yield (
            unread(view.listed, "the last 7 days")
            if not view.listed.is_complete
            else Part(
                CheckStatus.UNVERIFIED,
                "the last 7 days",
                "no node is listed: nothing shows that one would come up",
                closes_with="start a node",
            )
        )
        return
    young = [n for n in view.nodes if n.launched_at and n.launched_at >= view.now - LOOK_BACK]
    if young:
        why = f"{counted(len(young), 'node')} came up in the last 7 days ({young[-1].node})"
        yield Part(CheckStatus.PASS, young[-1].node, why, evidence=view.listed.refs)
    else:
        why = "no node was launched in the last 7 days: nothing was tried"
        yield Part(CheckStatus.NOT_APPLICABLE, "the last 7 days", why, evidence=view.listed.refs)


P16 = PreflightCheck(
    "P16",
    "a node that starts now would come up",
    "DescribeRouteTables, cluster events, LifecycleConfig and clustermgtd streams",
    "FAIL: protected mode, a blackhole as default route, or an internet gateway for nodes with "
    "several interfaces. RISK: failures to come up in the last 7 days (ParallelCluster: a day). "
    "Routes denied, or a service log not read: UNVERIFIED",
    "ParallelCluster and HyperPod user guides",
    bootstrap,
)
