"""Branch D, sentence by sentence of incident-branches §D."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.calculators.branch_network import network_evidence, timeline_network
from gpuvet.calculators.network_view import JobNode, NetworkView
from gpuvet.calculators.ranking import rank_branches
from gpuvet.model.case import CleanSignals
from gpuvet.model.cause import (
    Branch,
    BranchEvidence,
    BranchStatus,
    Failure,
    Label,
    Signal,
    Symptom,
)
from gpuvet.model.cluster import NodeRecords
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.events import DeepCheck, FabricManagerLine, FabricState, XidEvent
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.network import (
    EfaPoint,
    EfaReading,
    EfaSeries,
    GroupPair,
    GuiltyFinding,
    InstanceNetwork,
    Interface,
    NcclLog,
    Permission,
    PodRequest,
    RuleChange,
    SecurityGroup,
    Suspect,
)
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_log import parse_nccl

A, B = "i-0aaaaaaaaaaaaaaaa", "i-0bbbbbbbbbbbbbbbb"
SG = "sg-0aaaabbbbccccdddd"
T0 = datetime(2026, 3, 7, 10, 0, tzinfo=UTC)
SINCE = T0 - timedelta(hours=1)
SOCKET = (
    "w-{n}:61:61 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{n}<0>",
    "w-{n}:61:61 [0] NCCL INFO Using network Socket",
    "w-{n}:61:61 [0] NCCL INFO Channel 00/0 : {a}[0] -> {b}[0] [send] via NET/Socket/0",
    "w-{n}:61:61 [0] NCCL INFO Channel 01/0 : {a}[0] -> {c}[1] via P2P/CUMEM",
)
EFA = (
    "w-{n}:61:61 [0] NCCL INFO NET/OFI Selected Provider is efa (found 32 nics)",
    "w-{n}:61:61 [0] NCCL INFO Using network AWS Libfabric",
    "w-{n}:61:61 [0] NCCL INFO Channel 00/0 : {a}[0] -> {b}[0] [send] via NET/AWS Libfabric/0",
)
SELECTED = EFA[:2]
AV = "w-{n}:61:61 [0] NCCL WARN NET/OFI Unable to insert remote address into address vector"
ALL = Permission(protocol="-1", pairs=(GroupPair(group_id=SG),))


def lines(*texts: str, at: datetime | None = T0 - timedelta(minutes=5)) -> NcclLog:
    """Return what both hosts of a two-node job printed."""
    logs: list[Any] = []
    for n, node in enumerate((A, B)):
        numbers = {"n": n, "a": 8 * n, "b": 8 * (1 - n), "c": 8 * n + 1}
        raw = [RawLine(text.format(**numbers), k, at) for k, text in enumerate(texts, 1)]
        logs.append(parse_nccl(raw, node=node, stream=f"w-{n}.log", reference_time=T0))
    return NcclLog(
        lines=tuple(line for log in logs for line in log.lines),
        watchdog=tuple(line for log in logs for line in log.watchdog),
        read=sum(log.read for log in logs),
    )


def envelope(value: Any, status: Status = Status.OK, reason: Reason | None = None) -> Envelope[Any]:  # noqa: ANN401 - any field of the value
    return Envelope(service="ec2", operation="Describe", status=status, reason=reason, value=value)


def node(name: str, **more: Any) -> JobNode:  # noqa: ANN401 - any field of the value
    base = JobNode(node=name, instance_type="p5.48xlarge", coverage=CoverageStatus.MEASURED)
    return replace(base, **more)


def attached(name: str, efa: int = 32, zone: str = "us-west-2a") -> InstanceNetwork:
    cards = tuple(Interface(kind="efa" if n == 0 else "efa-only") for n in range(efa))
    return InstanceNetwork(
        node=name,
        instance_type="p5.48xlarge",
        groups=(SG,),
        interfaces=cards or (Interface(),),
        zone=zone,
    )


def group(*, inbound: bool = True, outbound: bool = True) -> SecurityGroup:
    return SecurityGroup(
        group_id=SG,
        inbound=(ALL,) if inbound else (),
        outbound=(ALL,) if outbound else (),
    )


def failure(symptom: Symptom = Symptom.SLOW, *, observed: bool = False) -> Failure:
    return Failure(
        symptom=symptom, at=T0, observed=observed, precision_seconds=1.0 if observed else 900.0
    )


def view(log: NcclLog | None = None, symptom: Symptom = Symptom.SLOW, **more: Any) -> NetworkView:  # noqa: ANN401 - any field of the value
    base = NetworkView(
        failure=failure(symptom),
        nodes=(node(A), node(B)),
        since=SINCE,
        log=log or NcclLog(),
        instances=envelope((attached(A), attached(B))),
        groups=envelope((group(),)),
    )
    return replace(base, **more)


def one(evidence: BranchEvidence, kind: str) -> Signal:
    return next(signal for signal in evidence.signals if signal.kind == kind)


def kinds(evidence: BranchEvidence) -> set[str]:
    return {signal.kind for signal in evidence.signals}


def status_of(seen: NetworkView) -> tuple[BranchStatus, Label]:
    ranking = rank_branches([network_evidence(seen)], seen.failure)
    row = next(row for row in ranking.branches if row.branch is Branch.COMMUNICATION)
    return row.status, ranking.label


# Layer 1: transport


def test_sockets_between_efa_nodes_prove_slowness() -> None:
    found = network_evidence(view(lines(*SOCKET)))
    signal = one(found, "nccl_sockets")
    assert signal.proven_by_rule
    assert "via NET/Socket/0 on 2 of 2 hosts" in signal.what
    assert status_of(view(lines(*SOCKET))) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)


@pytest.mark.parametrize(
    "symptom", [Symptom.HANG, Symptom.CRASH, Symptom.START_UP, Symptom.UNKNOWN]
)
def test_sockets_alone_are_a_hypothesis_for_any_other_symptom(symptom: Symptom) -> None:
    signal = one(network_evidence(view(lines(*SOCKET), symptom)), "nccl_sockets")
    assert (signal.proven_by_rule, signal.hypothesis_only) == (False, True)


def test_socket_lines_win_over_lines_of_the_plugin() -> None:
    found = network_evidence(view(lines(*EFA[:2], *SOCKET)))
    assert one(found, "nccl_sockets").proven_by_rule


def test_a_bootstrap_line_is_not_a_transport_line() -> None:
    found = network_evidence(view(lines(SOCKET[0])))
    assert found.signals == ()
    assert found.deciding_unseen[0].what.startswith("NCCL lines of the job")


def test_an_announced_socket_is_no_choice() -> None:
    text = "w-{n}:61:61 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.{n}<0>"
    assert network_evidence(view(lines(text))).signals == ()


def test_a_network_path_between_ranks_of_one_host_says_nothing_of_efa() -> None:
    inside = "w-{n}:61:61 [0] NCCL INFO Channel 01/0 : {a}[0] -> {c}[1] [send] via NET/Socket/0"
    found = network_evidence(view(lines(SOCKET[3], inside)))
    assert "nccl_sockets" not in kinds(found)


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(
            (node(A, instance_type="g5.xlarge"), node(B, instance_type="g5.xlarge")),
            id="no EFA on the type",
        ),
    ],
)
def test_sockets_are_not_applicable_without_efa(nodes: tuple[JobNode, ...]) -> None:
    assert network_evidence(view(lines(*SOCKET), nodes=nodes)).signals == ()


def test_an_unknown_type_leaves_sockets_a_hypothesis() -> None:
    nodes = (node(A, instance_type=None), node(B, instance_type=None))
    found = network_evidence(view(lines(*SOCKET), nodes=nodes))
    assert one(found, "nccl_sockets").hypothesis_only


def test_without_nccl_lines_the_transport_is_not_observable() -> None:
    assert status_of(view())[0] is BranchStatus.NOT_OBSERVABLE
    assert "NCCL_DEBUG=INFO" in network_evidence(view()).deciding_unseen[0].closes_with


def test_libfabric_over_tcp_speaks_for_the_branch_and_is_not_proven_by_itself() -> None:
    text = "w-{n}:61:61 [0] NCCL INFO NET/OFI Selected Provider is tcp"
    signal = one(network_evidence(view(lines(text))), "nccl_not_efa")
    assert "without the EFA provider" in signal.what


def test_lines_of_an_earlier_run_do_not_speak_for_the_affected_one() -> None:
    before = lines(*SOCKET, at=T0 - timedelta(hours=3))
    now = lines(*EFA, at=T0 - timedelta(minutes=5))
    found = network_evidence(view(NcclLog(lines=(*before.lines, *now.lines))))
    assert "nccl_sockets" not in kinds(found)
    assert any("an earlier run" in fact and "SOCKET" in fact for fact in found.facts)


def test_a_run_after_the_failure_does_not_explain_it() -> None:
    later = lines(*SOCKET, at=T0 + timedelta(hours=2))
    assert network_evidence(view(later)).signals == ()


def test_a_run_that_was_fast_for_long_did_not_slow_through_its_sockets() -> None:
    long_ago = lines(*SOCKET, at=T0 - timedelta(hours=2))
    seen = view(long_ago, failure=failure(observed=True))
    assert one(network_evidence(seen), "nccl_sockets").hypothesis_only


def test_errors_are_listed_with_candidates_and_not_concluded() -> None:
    text = "w-{n}:61:61 [0] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"
    found = network_evidence(view(lines(*EFA, text)))
    assert any("candidates, not concluded: locked memory limit" in fact for fact in found.facts)
    assert found.signals == ()


def test_a_timeout_line_alone_is_a_symptom() -> None:
    text = (
        "[rank{n}]:[E307 09:59:59.0 ProcessGroupNCCL.cpp:616] [Rank {n}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) "
        "ran for 600012 milliseconds before timing out."
    )
    assert network_evidence(view(lines(*EFA, text), Symptom.HANG)).signals == ()


# Layer 2: links


def records(*found: Any, kind: str) -> NodeRecords:  # noqa: ANN401 - any field of the value
    return NodeRecords.model_validate({kind: tuple(found)})


def xid(code: int) -> XidEvent:
    return XidEvent(
        node=A, stream="k", line=1, raw="", code=code, pci="0000:53:00", at=T0 - timedelta(hours=1)
    )


@pytest.mark.parametrize("code", [74, 144, 145, 146, 147, 148, 149, 150, 155])
def test_a_link_xid_speaks_for_the_branch(code: int) -> None:
    nodes = (node(A, records=records(xid(code), kind="xids")), node(B))
    signal = one(network_evidence(view(nodes=nodes)), "nvlink_xid")
    assert (signal.node, signal.hypothesis_only) == (A, False)


@pytest.mark.parametrize("code", [71, 156, 79, 31])
def test_other_xids_are_no_link_errors(code: int) -> None:
    nodes = (node(A, records=records(xid(code), kind="xids")), node(B))
    assert "nvlink_xid" not in kinds(network_evidence(view(nodes=nodes)))


def test_a_link_xid_on_a_faulty_node_belongs_to_branch_a() -> None:
    nodes = (node(A, records=records(xid(149), kind="xids"), is_faulty=True), node(B))
    assert one(network_evidence(view(nodes=nodes)), "nvlink_xid").hypothesis_only


def fabric(
    state: FabricState, minute: int, manager: str | None = None, driver: str | None = None
) -> FabricManagerLine:
    return FabricManagerLine(
        node=A,
        stream="m",
        line=60 - minute,
        raw="",
        at=T0 - timedelta(minutes=minute),
        state=state,
        manager_version=manager,
        driver_version=driver,
    )


MISMATCH = fabric(FabricState.VERSION_MISMATCH, 20, "570.133.20", "570.172.08")


def test_a_fabric_manager_that_did_not_start_speaks_for_the_branch() -> None:
    lines_of = records(MISMATCH, fabric(FabricState.FAILED, 19), kind="fabric_manager")
    nodes = (node(A, records=lines_of), node(B))
    found = network_evidence(view(nodes=nodes, symptom=Symptom.START_UP))
    assert "570.133.20, the driver is 570.172.08" in one(found, "fabric_manager").what
    assert any("pin (hold)" in action for action in found.actions)


def test_a_later_start_clears_a_failure() -> None:
    lines_of = records(
        fabric(FabricState.FAILED, 20), fabric(FabricState.STARTED, 10), kind="fabric_manager"
    )
    found = network_evidence(view(nodes=(node(A, records=lines_of), node(B))))
    assert "fabric_manager" not in kinds(found)


def test_fabric_manager_matters_only_with_an_nvswitch() -> None:
    lines_of = records(fabric(FabricState.FAILED, 20), kind="fabric_manager")
    nodes = (node(A, records=lines_of, instance_type="g6.8xlarge"), node(B))
    assert "fabric_manager" not in kinds(network_evidence(view(nodes=nodes)))


def test_a_change_that_leaves_a_mismatch_behind_explains_the_branch() -> None:
    lines_of = records(MISMATCH, kind="fabric_manager")
    seen = view(nodes=(node(A, records=lines_of), node(B)), symptom=Symptom.START_UP)
    observed = failure(Symptom.START_UP, observed=True)
    change = BranchEvidence(
        branch=Branch.CHANGE,
        signals=(
            Signal(
                branch=Branch.CHANGE,
                kind="update",
                what="software update",
                at=T0 - timedelta(hours=1),
                mechanism="new packages",
                explains=(Branch.COMMUNICATION,),
            ),
        ),
    )
    ranking = rank_branches([network_evidence(seen), change], observed)
    assert (ranking.leading, ranking.label) == (Branch.CHANGE, Label.PROVEN)


def test_a_failed_deep_check_of_communication_speaks_for_the_branch() -> None:
    check = DeepCheck(
        node=A,
        stream="d",
        line=1,
        raw="",
        at=T0 - timedelta(hours=2),
        passed=False,
        message="ERROR: NCCL bandwidth under threshold",
    )
    nodes = (node(A, records=records(check, kind="deep_checks")), node(B))
    assert one(network_evidence(view(nodes=nodes)), "deep_health_check").node == A


def test_driver_link_lines_without_an_xid_are_listed_only() -> None:
    log = NcclLog(driver_links=("NVRM: knvlink: NVLink 3 not active",))
    found = network_evidence(view(log))
    assert found.signals == ()
    assert any("listed and not classified" in fact for fact in found.facts)


# Layer 3: EFA counters


def series(start: datetime, *values: float, name: str = A) -> EfaSeries:
    points = tuple(
        EfaPoint(at=start + timedelta(minutes=place), value=value)
        for place, value in enumerate(values)
    )
    return EfaSeries(counter="retrans_timeout_events", node=name, points=points)


def test_an_error_episode_before_the_failure_is_a_signal() -> None:
    rising = series(T0 - timedelta(minutes=20), 0, 50, 100, 100, 100)
    signal = one(network_evidence(view(lines(*EFA), series=envelope((rising,)))), "efa_errors")
    assert (signal.node, signal.effect) == (A, False)
    assert "bar 10 a minute" in signal.what


def test_an_error_episode_after_the_failure_is_an_effect() -> None:
    rising = series(T0 + timedelta(minutes=2), 0, 50, 100, 100)
    found = network_evidence(view(lines(*EFA), series=envelope((rising,))))
    assert one(found, "efa_errors").effect
    assert any("began after the failure" in fact for fact in found.facts)


def test_a_counter_read_once_is_a_hypothesis() -> None:
    reading = EfaReading(counter="unresponsive_remote_events", value=412, node=A)
    signal = one(network_evidence(view(lines(*EFA), readings=(reading,))), "efa_counter_read")
    assert signal.hypothesis_only
    assert "412 on i-0aaaaaaaaaaaaaaaa" in signal.what


def test_retransmitted_packets_alone_are_weak() -> None:
    reading = EfaReading(counter="retrans_pkts", value=9000, node=A)
    found = network_evidence(view(lines(*EFA), readings=(reading,)))
    assert found.signals == ()
    assert any("weak evidence" in fact for fact in found.facts)


def test_missing_counters_leave_the_branch_not_observable() -> None:
    found = network_evidence(view(lines(*EFA)))
    assert found.ruled_out is None
    assert [one.what for one in found.deciding_unseen] == [
        "EFA error counters of the job's nodes over time"
    ]


# Layer 4: set-up


def closed(**more: Any) -> NetworkView:  # noqa: ANN401 - any field of the value
    seen = view(lines(*SELECTED, AV), Symptom.START_UP, groups=envelope((group(outbound=False),)))
    return replace(seen, **more)


def test_a_set_up_that_failed_without_the_rule_is_proven() -> None:
    signal = one(network_evidence(closed()), "self_rule_missing")
    assert (signal.proven_by_rule, signal.standing, signal.resource) == (True, True, SG)
    assert "no outbound rule for all traffic (IpProtocol -1)" in signal.what
    assert status_of(closed()) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)


SILENT = "w-{n}:61:61 [0] NCCL WARN NET/OFI Request failed: Unresponsive receiver"
STATE = (
    "[PG 0 Rank {n}] Timeout at NCCL work: 1, last enqueued NCCL work: 1, last completed NCCL "
    "work: %s."
)


@pytest.mark.parametrize(
    ("texts", "proven"),
    [
        pytest.param((SILENT,), True, id="no channel, no ring"),
        pytest.param((EFA[2], SILENT, STATE % "-1"), True, id="no collective ever ended"),
        pytest.param((EFA[2], SILENT, STATE % "1"), False, id="a collective ended before"),
        pytest.param((EFA[2], SILENT), False, id="channels, and nothing of collectives"),
        pytest.param(
            ("w-{n}:61:61 [0] NCCL INFO Connected all rings", SILENT), False, id="rings stood"
        ),
    ],
)
def test_no_connection_before_the_first_collective_is_a_failed_set_up(
    texts: tuple[str, ...], *, proven: bool
) -> None:
    found = network_evidence(closed(log=lines(*SELECTED, *texts)))
    assert one(found, "self_rule_missing").proven_by_rule is proven


def test_with_both_rules_open_a_failed_set_up_stays_a_hypothesis() -> None:
    found = network_evidence(closed(groups=envelope((group(),))))
    assert kinds(found) == {"set_up_failed"}
    assert found.signals[0].hypothesis_only


def test_rules_that_were_denied_prove_nothing_and_are_named() -> None:
    denied = envelope(None, Status.UNVERIFIED, Reason.DENIED)
    found = network_evidence(closed(groups=denied))
    assert not any(signal.proven_by_rule for signal in found.signals)
    assert any(
        "security group rules" in one.what and one.reason is Reason.DENIED
        for one in found.deciding_unseen
    )


def test_a_missing_rule_alone_is_a_hypothesis() -> None:
    seen = view(lines(*EFA), groups=envelope((group(inbound=False),)))
    assert one(network_evidence(seen), "self_rule_missing").hypothesis_only


def test_a_missing_rule_is_no_signal_for_an_unrelated_symptom() -> None:
    seen = view(symptom=Symptom.NODES_LOST, groups=envelope((group(inbound=False),)))
    assert network_evidence(seen).signals == ()


def change(name: str, minutes: int, **more: Any) -> Envelope[Any]:  # noqa: ANN401 - any field of the value
    row = RuleChange(name=name, at=T0 + timedelta(minutes=minutes), group_id=SG, **more)
    return envelope((row,))


def test_a_rule_revoked_before_the_failure_dates_the_signal() -> None:
    seen = view(
        lines(*EFA),
        groups=envelope((group(outbound=False),)),
        changes=change("RevokeSecurityGroupEgress", -10),
    )
    signal = one(network_evidence(seen), "self_rule_missing")
    assert (signal.at, signal.hypothesis_only) == (T0 - timedelta(minutes=10), False)


def test_a_revoke_that_failed_changed_nothing() -> None:
    seen = view(
        lines(*EFA),
        groups=envelope((group(outbound=False),)),
        changes=change("RevokeSecurityGroupEgress", -10, failed=True),
    )
    assert one(network_evidence(seen), "self_rule_missing").hypothesis_only


def test_a_rule_changed_after_the_failure_no_longer_stands_for_then() -> None:
    seen = closed(changes=change("RevokeSecurityGroupEgress", 10))
    signal = one(network_evidence(seen), "self_rule_missing")
    assert (signal.proven_by_rule, signal.hypothesis_only) == (False, True)


def test_nodes_in_two_zones_cannot_connect_over_efa() -> None:
    rows = (attached(A), attached(B, zone="us-west-2b"))
    found = network_evidence(view(lines(*SELECTED, AV), Symptom.START_UP, instances=envelope(rows)))
    assert "1 zones" not in one(found, "efa_across_zones").what
    assert one(found, "efa_across_zones").standing


def test_attached_of_most_is_always_said() -> None:
    found = network_evidence(view())
    assert f"32 of 32 EFA interfaces attached on {A}, {B} (p5.48xlarge): full width, not the " in (
        " ".join(found.facts)
    )


def test_fewer_interfaces_than_possible_are_a_hint_where_the_run_speaks() -> None:
    rows = envelope((attached(A), attached(B, efa=8)))
    signal = one(network_evidence(view(lines(*EFA), instances=rows)), "efa_width")
    assert "8 of 32 on i-0bbbbbbbbbbbbbbbb" in signal.what
    assert "efa_width" not in kinds(network_evidence(view(instances=rows)))


def pod(efa: int | None, **more: str) -> PodRequest:
    return PodRequest(
        file="job.yaml",
        kind="PyTorchJob",
        name="ft",
        container="pytorch",
        replicas=2,
        gpus=8,
        efa=efa,
        environment=tuple(more.items()),
    )


def test_a_container_without_an_efa_request_explains_its_sockets() -> None:
    nodes = (node(A, efa_allocatable=32), node(B, efa_allocatable=32))
    seen = view(lines(*SOCKET), nodes=nodes, pods=(pod(None, FI_PROVIDER="efa"),))
    found = network_evidence(seen)
    assert "requests no vpc.amazonaws.com/efa; nodes offer 32 each" in (
        one(found, "efa_not_requested").what
    )
    assert any("FI_PROVIDER=efa alone does not" in fact for fact in found.facts)
    assert status_of(seen) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)


def test_without_nccl_lines_a_missing_request_is_a_hypothesis() -> None:
    seen = view(pods=(pod(None),))
    assert one(network_evidence(seen), "efa_not_requested").hypothesis_only


def test_where_efa_was_used_a_missing_request_was_no_obstacle() -> None:
    assert "efa_not_requested" not in kinds(network_evidence(view(lines(*EFA), pods=(pod(None),))))


# The branch


def clean_view() -> NetworkView:
    quiet = tuple(series(SINCE, 0, 0, 0, name=name) for name in (A, B))
    return view(lines(*EFA), series=envelope(quiet))


def test_the_branch_is_ruled_out_only_with_every_layer_seen_clean() -> None:
    found = network_evidence(clean_view())
    assert found.ruled_out is not None
    assert "NCCL selected EFA on 2 of 2 nodes" in found.ruled_out
    assert status_of(clean_view())[0] is BranchStatus.RULED_OUT


@pytest.mark.parametrize(
    "taken",
    [
        pytest.param({"log": NcclLog()}, id="NCCL's lines"),
        pytest.param({"series": None}, id="the counters"),
        pytest.param(
            {"nodes": (node(A), node(B, coverage=CoverageStatus.NOT_OBSERVABLE))},
            id="a node's kernel lines",
        ),
    ],
)
def test_taking_a_source_away_ends_the_ruling_out_and_names_it(taken: dict[str, Any]) -> None:
    found = network_evidence(replace(clean_view(), **taken))
    assert found.ruled_out is None
    assert found.deciding_unseen
    assert status_of(replace(clean_view(), **taken))[0] is BranchStatus.NOT_OBSERVABLE


@pytest.mark.parametrize(
    "taken",
    [
        {"log": NcclLog()},
        {"groups": None},
        {"groups": envelope(None, Status.UNVERIFIED, Reason.THROTTLED)},
        {"instances": None, "groups": None},
    ],
)
def test_taking_a_source_away_never_proves(taken: dict[str, Any]) -> None:
    assert status_of(replace(closed(), **taken))[1] is not Label.PROVEN


def test_signals_as_read_with_status_ok_rule_the_branch_out() -> None:
    clean = CleanSignals(
        file="clean.json",
        nccl_transport="Using network AWS Libfabric",
        efa_retrans_timeout_events=0,
        efa_unresponsive_remote_events=0,
    )
    assert network_evidence(view(clean=(clean,))).ruled_out is not None
    unread = clean.model_copy(update={"efa_unresponsive_remote_events": None})
    assert network_evidence(view(clean=(unread,))).ruled_out is None


def test_the_node_all_others_wait_for_is_a_hypothesis() -> None:
    guilty = GuiltyFinding(suspects=(Suspect(rank=3, node=B, why=("never reported",)),))
    found = network_evidence(view(lines(*EFA), Symptom.HANG), guilty)
    signal = one(found, "straggler")
    assert (signal.node, signal.hypothesis_only) == (B, True)


def test_a_flood_that_every_node_has_is_called_usual() -> None:
    def flood(name: str, count: int) -> JobNode:
        events = [
            XidEvent(node=name, stream="k", line=place, raw="", code=45) for place in range(count)
        ]
        return node(name, records=records(*events, kind="xids"))

    names = [f"i-0{digit * 16}" for digit in "abcdef"]
    nodes = tuple(flood(name, 100 + place) for place, name in enumerate(names))
    facts = network_evidence(view(nodes=nodes)).facts
    assert any(fact.startswith("Xid 45: 105 on i-0f") and "is usual" in fact for fact in facts)


def test_the_order_of_lines_and_nodes_changes_nothing() -> None:
    seen = view(lines(*SOCKET, AV), groups=envelope((group(outbound=False),)))
    log = seen.log.model_copy(update={"lines": seen.log.lines[::-1]})
    mixed = replace(seen, log=log, instances=envelope((attached(B), attached(A))))
    assert network_evidence(mixed) == network_evidence(seen)
    assert timeline_network(mixed) == timeline_network(seen)


def test_the_timeline_shows_transport_and_changes() -> None:
    seen = view(lines(*SOCKET), changes=change("AuthorizeSecurityGroupEgress", -30))
    assert [(one.source, one.code) for one in timeline_network(seen)] == [
        ("cloudtrail", "AuthorizeSecurityGroupEgress"),
        ("job log", "nccl transport"),
        ("job log", "nccl transport"),
    ]
