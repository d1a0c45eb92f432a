"""Branch B: block ends, bootstraps, launches, addresses, plans (incident-branches §B)."""

from datetime import timedelta
from typing import Any

import pytest
from control_plane_world import (
    END,
    NODES,
    NOW,
    T0,
    at,
    block,
    call,
    capacity,
    cluster,
    denied,
    ended,
    failure,
    group,
    instance,
    line,
    node,
    one,
    read,
    trail,
)

from gpuvet.calculators.branch_capacity import judge_capacity
from gpuvet.calculators.ranking import rank_branches
from gpuvet.model.bootstrap import LaunchFault, ServiceEvent, ServiceRecord
from gpuvet.model.capacity import (
    AlertRule,
    CapacityWarning,
    Endpoints,
    Extension,
    PlanBlock,
    Subnet,
    TrainingPlan,
    WarningKind,
)
from gpuvet.model.cause import Branch, BranchEvidence, BranchStatus, Failure, Label, Symptom
from gpuvet.model.changes import ChangeKind, ClusterEvent, EventMeaning, Missed
from gpuvet.model.cluster import NodeRecords, Orchestrator
from gpuvet.model.cluster_state import HyperPodNode
from gpuvet.model.events import Shutdown
from gpuvet.model.evidence import Envelope, Reason, Status

BLOCK = "cr-0a1b2c3d4e5f60718"
SUBNET = "subnet-0aaaabbbbccccdddd"


def judged(symptom: Symptom = Symptom.NODES_LOST, **values: object) -> tuple[BranchStatus, Label]:
    """Return the branch's status and the label, with no other branch beside it."""
    asked = failure(symptom)
    ranking = rank_branches([judge_capacity(capacity(**values), asked)], asked)
    row = next(b for b in ranking.branches if b.branch is Branch.CAPACITY)
    return row.status, ranking.label


def evidence(symptom: Symptom = Symptom.NODES_LOST, **values: object) -> BranchEvidence:
    return judge_capacity(capacity(**values), failure(symptom))


def kinds(found: BranchEvidence) -> list[tuple[str, bool]]:
    return [(s.kind, s.proven_by_rule) for s in found.signals]


def all_ended(*, by_service: bool = True, start: str = "11:00:10", step: int = 20) -> Envelope[Any]:
    first = at(start)
    return read(
        *(
            ended(name, first + timedelta(seconds=step * i), by_service=by_service)
            for i, name in enumerate(NODES)
        )
    )


def shutdowns(start: str = "11:00:10", step: int = 20) -> dict[str, NodeRecords]:
    first = at(start)
    return {
        name: NodeRecords(
            shutdowns=(
                Shutdown(
                    node=name,
                    stream=f"{name}.syslog",
                    line=1,
                    raw="Power key pressed",
                    at=first + timedelta(seconds=step * i),
                ),
            )
        )
        for i, name in enumerate(NODES)
    }


def warning(name: str) -> CapacityWarning:
    return CapacityWarning(
        kind=WarningKind.INTERRUPTION, at=at("10:50"), instance=name, ends_at=at("11:00")
    )


PROVEN = (BranchStatus.ROOT_CAUSE, Label.PROVEN)
SUPPOSED = (BranchStatus.LEADING_HYPOTHESIS, Label.HYPOTHESIS)


# The signature of a block's end.


def test_instances_that_the_service_ended_at_the_blocks_end_are_proven() -> None:
    found = evidence(instances=all_ended(), reservations=read(block()))
    assert kinds(found) == [("block_end", True)]
    signal = found.signals[0]
    assert (signal.resource, signal.at, signal.until) == (BLOCK, T0, END)
    assert "expected lifecycle and not a fault" in signal.what
    assert "30 minutes" in signal.what
    assert signal.explains == tuple(b for b in Branch if b is not Branch.CAPACITY)


def test_an_interruption_warning_proves_the_instance_it_names() -> None:
    gone: dict[str, Any] = {"instances": all_ended(by_service=False), "records": shutdowns()}
    found = evidence(
        reservations=read(block()), warnings=read(*(warning(n) for n in NODES[:2])), **gone
    )
    assert kinds(found) == [("block_end", True), ("block_end", False)]
    assert found.signals[1].hypothesis_only
    assert NODES[2] in found.signals[1].what


def test_schedule_and_membership_alone_are_a_hypothesis_under_the_strict_switch() -> None:
    values: dict[str, Any] = {
        "instances": all_ended(by_service=False),
        "records": shutdowns(),
        "reservations": read(block()),
    }
    assert judged(**values) == SUPPOSED
    lenient = judge_capacity(capacity(**values), failure(), cb_requires_instance_event=False)
    assert kinds(lenient) == [("block_end", True)]


def test_without_cloudtrail_the_schedule_stays_a_hypothesis_even_where_not_strict() -> None:
    missed = [Missed(name="TerminateInstances", status=Status.UNVERIFIED, reason=Reason.DENIED)]
    found = judge_capacity(
        capacity(
            instances=all_ended(by_service=False),
            records=shutdowns(),
            reservations=read(block()),
            trail=trail(missed=missed),
        ),
        failure(),
        cb_requires_instance_event=False,
    )
    assert kinds(found) == [("block_end", False)]


@pytest.mark.parametrize(
    ("start", "step", "is_end"),
    [
        pytest.param("10:58:00", 20, True, id="two minutes early still belongs"),
        pytest.param("10:57:59", 0, False, id="earlier does not"),
        pytest.param("11:35:00", 0, True, id="up to five minutes after the end"),
        pytest.param("11:35:01", 0, False, id="later does not"),
        pytest.param("11:00:00", 300, True, id="spread over ten minutes"),
        pytest.param("11:00:00", 301, False, id="spread over more"),
    ],
)
def test_terminations_belong_to_the_block_by_their_times(
    start: str, step: int, is_end: bool
) -> None:
    found = evidence(instances=all_ended(start=start, step=step), reservations=read(block()))
    assert [kind for kind, _ in kinds(found) if kind == "block_end"] == (
        ["block_end"] if is_end else []
    )


def test_an_ultraserver_block_is_left_an_hour_before_its_end() -> None:
    reservation = block(is_ultraserver=True, instance_type="p6e-gb200.36xlarge")
    found = evidence(instances=all_ended(start="10:30:05"), reservations=read(reservation))
    assert found.signals[0].at == at("10:30")
    assert "60 minutes" in found.signals[0].what


def test_one_node_lost_while_others_live_is_not_the_signature() -> None:
    instances = read(ended(NODES[0], at("11:00:10")), *(instance(n) for n in NODES[1:]))
    assert kinds(evidence(instances=instances, reservations=read(block()))) == []


def test_a_block_of_one_node_ends_with_that_node() -> None:
    found = evidence(
        nodes=(node(NODES[0]),),
        instances=read(ended(NODES[0], at("11:00:10"))),
        reservations=read(block(total=1)),
    )
    assert kinds(found) == [("block_end", True)]


def test_nodes_of_another_reservation_do_not_belong_to_the_block() -> None:
    other = [
        ended(name, at("11:00:10")).model_copy(update={"reservation": "cr-0bbbbbbbbbbbbbbb0"})
        for name in NODES
    ]
    assert "block_end" not in dict(
        kinds(evidence(instances=read(*other), reservations=read(block())))
    )


def test_a_node_that_somebody_ended_was_not_ended_by_the_block() -> None:
    stopped = call("TerminateInstances", at("10:59"), ChangeKind.TERMINATE, nodes=NODES)
    found = evidence(instances=all_ended(), reservations=read(block()), trail=trail(stopped))
    assert "block_end" not in dict(kinds(found))


def test_an_empty_reason_is_no_record_of_the_service() -> None:
    found = evidence(
        instances=all_ended(by_service=False), records=shutdowns(), reservations=read(block())
    )
    assert kinds(found) == [("block_end", False)]


def test_the_finding_says_what_was_missing() -> None:
    found = evidence(
        instances=all_ended(),
        reservations=read(block(state="expired")),
        rules=read(
            AlertRule(name="watch", hears=(WarningKind.INTERRUPTION,), is_enabled=True, targets=1)
        ),
        services=(
            line(
                ServiceEvent.LAUNCH_FAILED,
                at("11:04"),
                fault=LaunchFault.CAPACITY,
                code="InsufficientInstanceCapacity",
            ),
        ),
    )
    said = " ".join([*found.facts, *found.actions])
    assert "no extension in the history" in said
    assert "only the instance Interruption Warning is heard: watch" in said
    assert "InsufficientInstanceCapacity at 2026-03-20T11:04:00Z is a consequence" in said
    assert "no TerminateInstances or StopInstances on these 3 nodes" in said
    assert "checkpoint end before 11:00Z" in said
    assert [s.kind for s in found.signals if s.effect] == ["launch_capacity"]


def test_an_extension_in_the_history_is_told() -> None:
    found = evidence(
        instances=all_ended(),
        reservations=read(block()),
        extensions=read(Extension(reservation=BLOCK, status="payment-pending", end=END)),
    )
    assert any("payment-pending" in fact for fact in found.facts)


# Capacity that never began, ended, or could not be had.


def test_a_block_that_has_not_begun_gives_no_nodes() -> None:
    later = block(state="scheduled", start=T0 + timedelta(hours=3), end=END + timedelta(days=7))
    found = evidence(Symptom.START_UP, reservations=read(later), instances=read())
    assert kinds(found) == [("not_active_yet", False)]
    assert judged(Symptom.START_UP, reservations=read(later), instances=read()) == PROVEN


def test_an_expired_reservation_gives_no_nodes() -> None:
    over = block(state="expired", end=T0 - timedelta(hours=5))
    found = evidence(Symptom.START_UP, reservations=read(over), instances=read())
    assert kinds(found) == [("expired", False)]


def test_a_reservation_that_nodes_run_in_is_no_signal() -> None:
    later = block(state="active", end=END + timedelta(days=1))
    assert kinds(evidence(reservations=read(later))) == []


def hyperpod(**values: object) -> dict[str, Any]:
    base: dict[str, Any] = {
        "orchestrator": Orchestrator.HYPERPOD_SLURM,
        "instances": read(),
        "cluster": one(cluster(group(current=2))),
        "hyperpod_nodes": read(*(HyperPodNode(id=n, group="workers") for n in NODES)),
        "events": read(),
        "nodes": tuple(node(n, group="workers", instance_type="ml.p5.48xlarge") for n in NODES),
        "subnets": read(Subnet(id=SUBNET, free=3500)),
    }
    return {**base, **values}


def attempt(message: str, when: str = "10:50") -> ClusterEvent:
    return ClusterEvent(
        id="e1",
        at=at(when),
        meaning=EventMeaning.PROVISION_FAILED,
        description="Failed to provision EC2 Instance in Cluster train-a and InstanceGroup workers",
        level="Error",
        group="workers",
        failure=message,
    )


NO_CAPACITY = "We currently do not have sufficient capacity to launch new ml.p5.48xlarge instances."


def test_missing_addresses_with_a_measured_shortfall_are_proven_as_read_now() -> None:
    values = hyperpod(subnets=read(Subnet(id=SUBNET, free=20)))
    found = evidence(Symptom.START_UP, **values)
    assert kinds(found) == [("addresses", True)]
    assert "20 free as read now, a ml.p5.48xlarge needs 32" in found.signals[0].what
    assert judged(Symptom.START_UP, **values) == PROVEN


def test_enough_addresses_for_what_is_missing_are_no_signal() -> None:
    assert kinds(evidence(Symptom.START_UP, **hyperpod())) == []


def test_on_eks_a_node_needs_more_addresses() -> None:
    values = hyperpod(
        orchestrator=Orchestrator.HYPERPOD_EKS, subnets=read(Subnet(id=SUBNET, free=80))
    )
    assert kinds(evidence(Symptom.START_UP, **values)) == [("addresses", True)]


def test_the_services_own_words_prove_that_the_attempt_failed_so() -> None:
    values = hyperpod(events=read(attempt(NO_CAPACITY)))
    found = evidence(Symptom.START_UP, **values)
    assert kinds(found) == [("attempt_capacity", True)]
    assert NO_CAPACITY in found.signals[0].what


def test_why_capacity_was_missing_stays_open_while_the_plan_shows_instances_free() -> None:
    plan = TrainingPlan(name="plan-a", status="Active", available=2, total=4)
    values = hyperpod(events=read(attempt(NO_CAPACITY)), plans=read(plan))
    assert "yet plan-a shows instances free: suspect another zone or subnet" in (
        evidence(Symptom.START_UP, **values).signals[0].what
    )


def test_measured_addresses_come_before_a_text_about_capacity() -> None:
    values = hyperpod(events=read(attempt(NO_CAPACITY)), subnets=read(Subnet(id=SUBNET, free=20)))
    found = evidence(Symptom.START_UP, **values)
    assert kinds(found) == [("addresses", True), ("attempt_capacity", False)]
    assert found.signals[1].what.startswith("competing: ")


def test_a_full_plan_blocks_the_replacement() -> None:
    plan = TrainingPlan(name="plan-a", status="Active", available=0, total=3)
    arn = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/plan-a"
    values = hyperpod(cluster=one(cluster(group(current=2, plan=arn))), plans=read(plan))
    assert kinds(evidence(Symptom.NODES_LOST, **values)) == [("no_room", True)]


def planned(*blocks: PlanBlock, status: str = "Active") -> dict[str, Any]:
    arn = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/plan-a"
    plan = TrainingPlan(name="plan-a", status=status, blocks=blocks, end=blocks[-1].end)
    return hyperpod(cluster=one(cluster(group(plan=arn))), plans=read(plan))


def test_a_gap_of_the_plan_takes_the_nodes() -> None:
    values = planned(
        PlanBlock(start=T0 - timedelta(days=1), end=T0),
        PlanBlock(start=T0 + timedelta(hours=12), end=T0 + timedelta(days=2)),
    )
    found = evidence(Symptom.NODES_LOST, **values)
    assert [k for k, _ in kinds(found)] == ["plan_gap"]
    assert "lead assumed from Capacity Blocks" in found.signals[0].what


def test_stretches_that_touch_have_no_gap() -> None:
    values = planned(
        PlanBlock(start=T0 - timedelta(days=1), end=T0),
        PlanBlock(start=T0, end=T0 + timedelta(days=2)),
    )
    assert kinds(evidence(Symptom.NODES_LOST, **values)) == []


def test_an_expired_plan_is_told() -> None:
    over = PlanBlock(start=T0 - timedelta(days=2), end=T0 - timedelta(hours=1))
    found = evidence(Symptom.START_UP, **planned(over, status="Expired"))
    assert [k for k, _ in kinds(found)] == ["plan_ended"]


def test_another_clusters_plan_is_no_signal() -> None:
    plan = TrainingPlan(name="other", status="Expired", end=T0 - timedelta(days=1))
    values = hyperpod(cluster=one(cluster()), plans=read(plan))
    assert kinds(evidence(Symptom.START_UP, **values)) == []


# Bootstrap.

FAILED = line(
    ServiceEvent.BOOTSTRAP_FAILED,
    at("10:50:22"),
    names=("gpu-st-p5-1", "gpu-st-p5-2"),
    queues=("gpu",),
)
IGNORED = tuple(
    line(
        ServiceEvent.INSTANCE_IGNORED,
        at("10:50:20"),
        line=i,
        instances=(name,),
        code="PrivateIpAddress",
    )
    for i, name in enumerate(NODES[:2], 2)
)


def script(status: int, name: str = NODES[0]) -> ServiceRecord:
    return line(
        ServiceEvent.ACTION_EXIT,
        at("10:50:10"),
        node=name,
        action="post_install.sh",
        exit_status=status,
    )


def test_ignored_instances_before_the_record_are_the_apis_lag_and_not_the_script() -> None:
    found = evidence(Symptom.START_UP, services=(*IGNORED, script(0), FAILED))
    assert kinds(found) == [("bootstrap_read_lag", True)]
    assert "eventual consistency" in found.signals[0].what
    assert any("exit status 0 of post_install.sh" in fact for fact in found.facts)


def test_a_lag_after_the_record_did_not_cause_it() -> None:
    late = tuple(r.model_copy(update={"at": at("10:59")}) for r in IGNORED)
    assert kinds(evidence(Symptom.START_UP, services=(FAILED, *late))) == []


def test_a_custom_action_that_failed_is_the_users_script() -> None:
    assert kinds(evidence(Symptom.START_UP, services=(script(7), FAILED))) == [
        ("bootstrap_script", True)
    ]


def test_two_causes_with_evidence_prove_neither() -> None:
    values: dict[str, Any] = {"services": (*IGNORED, script(7), FAILED)}
    found = evidence(Symptom.START_UP, **values)
    assert kinds(found) == [("bootstrap_read_lag", False), ("bootstrap_script", False)]
    assert judged(Symptom.START_UP, **values) == SUPPOSED
    assert "which of these it met first" in (found.signals[0].confirming or "")


def test_where_names_and_ids_are_paired_the_evidence_must_name_the_failed() -> None:
    pairs = line(
        ServiceEvent.ASSIGNED,
        at("10:49"),
        pairs=(("gpu-st-p5-1", NODES[0]), ("gpu-st-p5-2", NODES[1])),
    )
    other = IGNORED[0].model_copy(update={"instances": (NODES[2],)})
    found = evidence(Symptom.START_UP, services=(pairs, other, FAILED))
    assert kinds(found) == [("bootstrap_read_lag", False)]
    assert not found.signals[0].affected


TIMEOUT = line(
    ServiceEvent.CONNECT_TIMEOUT,
    at("10:50"),
    node=NODES[0],
    service="dynamodb",
    endpoint="dynamodb.us-west-2.amazonaws.com",
)


@pytest.mark.parametrize(
    ("subnet", "endpoints", "expected"),
    [
        pytest.param(
            Subnet(id=SUBNET, has_default_route=False),
            read(Endpoints(services=("s3",))),
            [("bootstrap_no_endpoint", True)],
            id="no route and no endpoint",
        ),
        pytest.param(
            Subnet(id=SUBNET, has_default_route=False),
            read(Endpoints(services=("dynamodb",))),
            [],
            id="the service has its endpoint",
        ),
        pytest.param(Subnet(id=SUBNET, has_default_route=True), read(), [], id="there is a way"),
        pytest.param(
            Subnet(id=SUBNET, has_default_route=False),
            denied(),
            [("bootstrap_no_endpoint", False)],
            id="endpoints not read",
        ),
        pytest.param(
            Subnet(id=SUBNET), read(), [("bootstrap_no_endpoint", False)], id="routes not read"
        ),
    ],
)
def test_a_connect_timeout_means_a_missing_way_to_the_service(
    subnet: Subnet, endpoints: Envelope[Any], expected: list[tuple[str, bool]]
) -> None:
    found = evidence(
        Symptom.START_UP, services=(TIMEOUT,), subnets=read(subnet), endpoints=endpoints
    )
    assert kinds(found) == expected


def test_unread_endpoints_are_named() -> None:
    found = evidence(
        Symptom.START_UP,
        services=(TIMEOUT,),
        subnets=read(Subnet(id=SUBNET, has_default_route=False)),
        endpoints=denied(operation="DescribeVpcEndpoints"),
    )
    assert "VPC endpoints" in [one.what for one in found.deciding_unseen]


@pytest.mark.parametrize("fault", list(LaunchFault))
def test_failed_launches_are_their_own_row(fault: LaunchFault) -> None:
    launch = line(ServiceEvent.LAUNCH_FAILED, at("10:50"), fault=fault, code="Code")
    assert kinds(evidence(Symptom.START_UP, services=(launch, FAILED))) == [
        ("bootstrap_launch", True)
    ]


def test_protected_mode_names_the_queue_and_the_way_out() -> None:
    protected = line(ServiceEvent.PROTECTED_MODE, at("10:58"), queues=("gpu",))
    found = evidence(Symptom.START_UP, services=(*IGNORED, FAILED, protected))
    assert any("queue gpu is INACTIVE" in fact for fact in found.facts)
    assert any("update-compute-fleet" in action for action in found.actions)


def test_a_failed_lifecycle_script_of_hyperpod_is_the_users_script() -> None:
    event = ClusterEvent(
        id="e1",
        at=at("10:50"),
        meaning=EventMeaning.LIFECYCLE_FAILED,
        description=f"Instance lifecycle script execution for EC2 Instance {NODES[0]} has Failed.",
        instance=NODES[0],
    )
    values = hyperpod(cluster=one(cluster()), events=read(event))
    assert kinds(evidence(Symptom.START_UP, **values)) == [("bootstrap_script", True)]


# Ruled out, and what was not seen.


def test_nodes_that_run_with_nothing_ending_rule_capacity_out() -> None:
    status, _ = judged(Symptom.SLOW)
    assert status is BranchStatus.RULED_OUT


@pytest.mark.parametrize(
    "unread",
    [
        pytest.param({"instances": denied()}, id="instances"),
        pytest.param({"reservations": denied()}, id="reservations"),
        pytest.param({"services_read": denied("logs", "find")}, id="logs of services"),
    ],
)
def test_a_source_that_was_not_read_rules_nothing_out_and_is_named(
    unread: dict[str, Any],
) -> None:
    found = evidence(Symptom.SLOW, **unread)
    assert found.ruled_out is None
    assert [one.reason for one in found.deciding_unseen] == [Reason.DENIED]
    assert judged(Symptom.SLOW, **unread)[0] is BranchStatus.NOT_OBSERVABLE


def test_a_node_that_is_gone_is_not_ruled_out() -> None:
    instances = read(ended(NODES[0], at("09:00")), *(instance(n) for n in NODES[1:]))
    assert evidence(Symptom.NODES_LOST, instances=instances).ruled_out is None


def test_on_hyperpod_full_groups_rule_capacity_out_whatever_ec2_shows() -> None:
    values = hyperpod(cluster=one(cluster()), reservations=denied())
    found = evidence(Symptom.SLOW, **values)
    assert found.ruled_out is not None
    assert found.ruled_out.startswith("nodes current of target: workers 3 of 3")
    assert "reservation" not in found.ruled_out


def test_a_group_below_its_target_is_not_ruled_out() -> None:
    assert evidence(Symptom.SLOW, **hyperpod()).ruled_out is None


def test_a_table_that_says_active_until_later_stands_for_unrecorded_readings() -> None:
    unrecorded = denied().model_copy(
        update={"status": Status.NOT_CHECKED, "reason": Reason.NOT_RECORDED}
    )
    told = (("training plan Active until 2026-05-01T11:30:00Z", "clean_signals.json"),)
    values: dict[str, Any] = {"instances": unrecorded, "reservations": unrecorded, "told": told}
    assert evidence(Symptom.SLOW, **values).ruled_out == (
        "training plan Active until 2026-05-01T11:30:00Z, as read in clean_signals.json"
    )


def test_a_case_without_any_reading_of_capacity_is_not_assessed() -> None:
    unrecorded = denied().model_copy(
        update={"status": Status.NOT_CHECKED, "reason": Reason.NOT_RECORDED}
    )
    values: dict[str, Any] = {
        "instances": unrecorded,
        "reservations": unrecorded,
        "plans": unrecorded,
    }
    values |= {"warnings": unrecorded}
    assert not evidence(Symptom.SLOW, **values).assessed


def test_the_failure_without_a_time_still_gets_the_block() -> None:
    asked = Failure(symptom=Symptom.UNKNOWN)
    found = judge_capacity(
        capacity(instances=all_ended(), reservations=read(block()), now=NOW), asked
    )
    assert rank_branches([found], asked).label is Label.PROVEN
