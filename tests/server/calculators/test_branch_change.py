"""Branch E: calls and their effects, versions, rollouts, responses (incident-branches §E)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from control_plane_world import (
    CLUSTER_ARN,
    NODES,
    NOW,
    T0,
    at,
    call,
    change,
    cluster,
    denied,
    failure,
    group,
    line,
    node,
    one,
    read,
    trail,
)

from gpuvet.calculators.branch_change import judge_change
from gpuvet.calculators.ranking import rank_branches
from gpuvet.calculators.replacements import Replacement, replacements
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.cause import (
    Branch,
    BranchEvidence,
    BranchStatus,
    Label,
    Signal,
    Symptom,
)
from gpuvet.model.changes import (
    Change,
    ChangeKind,
    ClusterEvent,
    EventMeaning,
    Missed,
    PackageChange,
    Rollout,
    ScriptUpgrade,
)
from gpuvet.model.cluster import NodeFacts, NodeRecords
from gpuvet.model.cluster_state import HyperPodNode
from gpuvet.model.events import (
    Boundary,
    BoundaryKind,
    FabricManagerLine,
    FabricState,
    HmaRecord,
    NodeCondition,
    XidEvent,
)
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.identity import Arrival, Initiator, LinkBasis

OLD, NEW = "i-0bbbbbbbbbbbbbb01", NODES[0]
FAILED_AT = T0
PROVEN = (BranchStatus.ROOT_CAUSE, Label.PROVEN)
SUPPOSED = (BranchStatus.LEADING_HYPOTHESIS, Label.HYPOTHESIS)


def evidence(
    symptom: Symptom = Symptom.UNKNOWN, start: datetime | None = T0, **values: object
) -> BranchEvidence:
    return judge_change(change(**values), failure(symptom, start))


def judged(
    symptom: Symptom = Symptom.UNKNOWN,
    start: datetime | None = T0,
    others: tuple[BranchEvidence, ...] = (),
    **values: object,
) -> tuple[BranchStatus, Label]:
    asked = failure(symptom, start)
    ranking = rank_branches([judge_change(change(**values), asked), *others], asked)
    row = next(b for b in ranking.branches if b.branch is Branch.CHANGE)
    return row.status, ranking.label


def replace(when: str = "10:30", **values: object) -> Change:
    base: dict[str, Any] = {"cluster": CLUSTER_ARN, "nodes": (OLD,)}
    merged: dict[str, Any] = {**base, **values}
    return call("BatchReplaceClusterNodes", at(when), ChangeKind.REPLACE, **merged)


def listed(*, launched: str = "10:50", status: str = "Pending") -> Envelope[Any]:
    return read(
        HyperPodNode(id=NEW, group="workers", status=status, launched_at=at(launched)),
        *(
            HyperPodNode(
                id=n, group="workers", status="Running", launched_at=T0 - timedelta(days=3)
            )
            for n in NODES[1:]
        ),
    )


def replaced(*calls: Change, streams: tuple[str, ...] = (), **values: object) -> dict[str, Any]:
    nodes = listed()
    return {
        "trail": trail(*calls),
        "hyperpod_nodes": nodes,
        "replaced": replacements(calls, nodes, streams=streams),
        **values,
    }


STREAM = (f"SagemakerHealthMonitoringAgent/workers/{OLD}",)


# Replacement by an operator.


def test_a_pending_node_is_explained_by_the_call_that_replaced_the_old_id() -> None:
    values = replaced(replace(), streams=STREAM)
    found = evidence(**values)
    assert [(s.kind, s.node, s.proven_by_rule) for s in found.signals] == [("replace", NEW, True)]
    assert "1200 s after the call (20 min 0 s), status Pending" in found.signals[0].what
    assert judged(**values) == PROVEN
    said = " ".join(found.facts)
    assert "names the cluster by its ARN" in said
    assert f"{NEW} has been Pending for 70.0 min" in said
    assert "beyond the normal 20 to 30 min" in said


def test_a_successor_known_by_launch_time_only_is_a_hypothesis() -> None:
    found = evidence(**replaced(replace()))
    assert [s.proven_by_rule for s in found.signals] == [False]


@pytest.mark.parametrize(
    ("launched", "joined"),
    [
        pytest.param("10:29", False, id="before the call"),
        pytest.param("10:31", True, id="after it"),
        pytest.param("12:30", True, id="two hours after it"),
    ],
)
def test_a_successor_launches_within_two_hours_after_the_call(launched: str, joined: bool) -> None:
    found = replacements([replace()], listed(launched=launched), streams=STREAM)
    assert [bool(one.new) for one in found] == [joined]


def test_a_requested_id_that_is_still_listed_was_not_replaced() -> None:
    found = replacements([replace(nodes=(NODES[1],))], listed(), streams=STREAM)
    assert [(one.old, one.new, one.still_there) for one in found] == [((), (), (NODES[1],))]


def test_a_logical_id_ties_the_successor_to_its_node() -> None:
    nodes = read(HyperPodNode(id=NEW, group="workers", logical="node-1", launched_at=at("10:50")))
    found = replacements([replace(nodes=(), logical=("node-1",))], nodes)
    assert [(r.new[0].id, r.link, r.is_certain) for r in found] == [
        (NEW, LinkBasis.LOGICAL_ID, True)
    ]


def test_several_gone_and_several_new_match_as_sets() -> None:
    both = (OLD, "i-0bbbbbbbbbbbbbb02")
    streams = tuple(f"LifecycleConfig/workers/{name}" for name in both)
    nodes = read(
        *(
            HyperPodNode(id=n, group="workers", status="Running", launched_at=at("10:50"))
            for n in NODES[:2]
        )
    )
    found = replacements([replace(nodes=both)], nodes, streams=streams)
    assert [(r.old, len(r.new), r.is_paired) for r in found] == [(both, 2, False)]


def test_only_ids_the_answer_lists_as_successful_count() -> None:
    request = replace(nodes=(OLD, "i-0bbbbbbbbbbbbbb02"), accepted=(OLD,))
    assert request.targets == (OLD,)


def test_unread_nodes_match_nothing() -> None:
    assert replacements([replace()], denied()) == ()


def test_a_node_that_came_without_a_call_is_told_with_what_is_known_of_it() -> None:
    came = Arrival(node=NEW, at=at("10:50"), initiator=Initiator.UNKNOWN, why="no customer call")
    assert f"{NEW}: service-initiated or unknown, no customer call" in (
        evidence(arrivals=(came,)).facts
    )


def test_a_failed_call_is_an_attempt_and_no_cause() -> None:
    attempt = replace(error="AccessDeniedException")
    found = evidence(**replaced(attempt, streams=STREAM))
    assert found.signals == ()
    assert any("only an attempt" in fact for fact in found.facts)
    assert found.ruled_out is not None


def test_a_call_on_another_cluster_is_ignored_and_counted() -> None:
    other = replace(cluster="other", nodes=("i-0cccccccccccccc01",))
    found = evidence(trail=trail(other))
    assert found.signals == ()
    assert any("1 call on other clusters or nodes ignored" in fact for fact in found.facts)


def test_a_call_after_a_hardware_fault_is_the_response_to_it() -> None:
    fault = HmaRecord(
        node=OLD, stream=STREAM[0], line=1, raw="", at=at("10:00"), reason="XidHardwareFailure"
    )
    values = replaced(replace(), streams=STREAM, records={OLD: NodeRecords(hma=(fault,))})
    found = evidence(**values)
    assert [(s.effect, s.mechanism) for s in found.signals] == [(True, None)]
    assert judged(**values)[0] is BranchStatus.CONTRIBUTING


def test_an_application_xid_on_the_old_id_does_not_make_the_call_a_response() -> None:
    xid = XidEvent(node=OLD, stream=STREAM[0], line=1, raw="", at=at("08:00"), code=13)
    values = replaced(replace(), streams=STREAM, records={OLD: NodeRecords(xids=(xid,))})
    assert judged(**values) == PROVEN
    assert any("application class" in fact for fact in evidence(**values).facts)


def test_a_change_after_the_failure_contributes_at_most() -> None:
    values = replaced(replace("11:10"), streams=STREAM)
    assert judged(Symptom.CRASH, **values)[0] is BranchStatus.CONTRIBUTING


# Other calls.


def update(when: str, **values: object) -> Change:
    base: dict[str, Any] = {"cluster": "train-a"}
    merged: dict[str, Any] = {**base, **values}
    return call("UpdateClusterSoftware", at(when), ChangeKind.SOFTWARE, **merged)


def boot(name: str, when: str, driver: str = "570.172.08") -> Boundary:
    return Boundary(
        node=name,
        stream="messages.log",
        line=1,
        raw="NVRM: loading",
        at=at(when),
        kind=BoundaryKind.DRIVER_RELOAD,
        driver_version=driver,
    )


def test_a_call_without_an_effect_on_a_node_is_a_hypothesis() -> None:
    found = evidence(Symptom.CRASH, trail=trail(update("10:30")))
    assert [(s.hypothesis_only, s.mechanism) for s in found.signals] == [(True, None)]
    assert judged(Symptom.CRASH, trail=trail(update("10:30"))) == SUPPOSED


@pytest.mark.parametrize(
    ("when", "label"),
    [
        pytest.param("10:01", Label.PROVEN, id="within the hour, with a boot on the node"),
        pytest.param("06:00", Label.HYPOTHESIS, id="five hours before, no node in change"),
    ],
)
def test_an_update_is_strong_within_an_hour(when: str, label: Label) -> None:
    records = {NEW: NodeRecords(boundaries=(boot(NEW, "10:40"),))}
    assert judged(Symptom.CRASH, trail=trail(update(when)), records=records)[1] is label


def test_an_update_is_linked_by_what_nodes_show_and_not_by_its_time() -> None:
    nodes = tuple(node(n, group="workers", state="SystemUpdating") for n in NODES)
    values: dict[str, Any] = {"trail": trail(update("06:00")), "nodes": nodes}
    assert judged(Symptom.NODES_LOST, **values) == PROVEN


def network(name: str, when: str, group_id: str = "sg-0aaaabbbbccccdddd") -> Change:
    return call(name, at(when), ChangeKind.NETWORK, resource=group_id)


OURS: dict[str, Any] = {"resources": frozenset({"sg-0aaaabbbbccccdddd"})}


@pytest.mark.parametrize(
    ("when", "label"),
    [
        pytest.param("10:46", Label.PROVEN, id="14 minutes before"),
        pytest.param("10:44", Label.HYPOTHESIS, id="16 minutes before"),
    ],
)
def test_a_revoked_rule_is_strong_within_a_quarter_of_an_hour(when: str, label: Label) -> None:
    revoked = network("RevokeSecurityGroupIngress", when)
    assert judged(Symptom.HANG, trail=trail(revoked), **OURS)[1] is label


def test_a_revoked_rule_explains_the_missing_rule_that_is_read_now() -> None:
    missing = BranchEvidence(
        branch=Branch.COMMUNICATION,
        signals=(
            Signal(
                branch=Branch.COMMUNICATION,
                kind="self_rule_missing",
                what="no rule",
                standing=True,
                mechanism="set-up needs the rule",
            ),
        ),
    )
    revoked = network("RevokeSecurityGroupEgress", "10:50")
    assert judged(Symptom.HANG, others=(missing,), trail=trail(revoked), **OURS) == PROVEN


def test_a_rule_of_a_group_that_is_not_ours_is_no_signal() -> None:
    other = network("RevokeSecurityGroupIngress", "10:50", "sg-0ccccccccccccccc1")
    assert evidence(Symptom.HANG, trail=trail(other), **OURS).signals == ()


def test_a_deleted_log_explains_missing_evidence_and_nothing_else() -> None:
    gone = call("DeleteLogStream", at("10:50"), ChangeKind.LOGS, resource="kernel")
    found = evidence(trail=trail(gone))
    assert found.signals == ()
    assert any("evidence may be gone" in fact for fact in found.facts)


def test_the_cluster_managers_own_call_is_told_as_automatic() -> None:
    own = call(
        "TerminateInstances",
        at("10:50"),
        ChangeKind.TERMINATE,
        nodes=(NEW,),
        by="i-0head00000000001",
        by_arn="arn:aws:sts::111122223333:assumed-role/HeadNode/i-0dddddddddddddd01",
    )
    assert "automatic: the cluster manager" in evidence(trail=trail(own)).signals[0].what


# Versions.


def refusal(name: str, when: str) -> FabricManagerLine:
    return FabricManagerLine(
        node=name,
        stream="messages.log",
        line=2,
        raw="don't match",
        at=at(when),
        state=FabricState.VERSION_MISMATCH,
        driver_version="570.172.08",
        manager_version="570.133.20",
    )


def mismatched(loaded: str | None = "10:59:40", refused: str = "11:00:00") -> dict[str, Any]:
    return {
        name: NodeRecords(
            boundaries=(boot(name, loaded),) if loaded else (),
            fabric_manager=(refusal(name, refused),),
        )
        for name in NODES
    }


FABRIC = BranchEvidence(
    branch=Branch.COMMUNICATION,
    signals=(
        Signal(
            branch=Branch.COMMUNICATION,
            kind="fabric_manager",
            what="Fabric Manager did not start",
            node=NODES[0],
            at=T0,
            precision_seconds=0,
            mechanism="no fabric",
        ),
    ),
)


def test_an_update_that_leaves_two_versions_leads_over_the_fabric_it_broke() -> None:
    values: dict[str, Any] = {"trail": trail(update("10:18")), "records": mismatched()}
    found = evidence(Symptom.START_UP, **values)
    assert [(s.kind, s.at, s.proven_by_rule) for s in found.signals] == [
        ("software_update", at("10:18"), True)
    ]
    assert "on all 3 of 3 nodes" in found.signals[0].what
    assert found.signals[0].explains == (Branch.COMMUNICATION,)
    assert judged(Symptom.START_UP, others=(FABRIC,), **values) == PROVEN
    assert any("same version" in action for action in found.actions)


def test_a_package_log_stands_for_the_call() -> None:
    package = PackageChange(
        node=NEW,
        stream="dpkg.log",
        line=1,
        raw="upgrade",
        at=at("10:20"),
        package="nvidia-driver-570",
        old="570.133.20-0",
        new="570.172.08-0",
    )
    found = evidence(Symptom.START_UP, packages=(package,), records=mismatched())
    assert [(s.kind, s.at) for s in found.signals] == [("package_upgrade", at("10:20"))]


def test_the_boot_line_with_the_new_version_stands_for_the_call() -> None:
    found = evidence(Symptom.START_UP, records=mismatched())
    assert [(s.kind, s.at, s.proven_by_rule) for s in found.signals] == [
        ("driver_version", at("10:59:40"), False)
    ]
    assert judged(Symptom.START_UP, others=(FABRIC,), records=mismatched()) == PROVEN


def test_a_mismatch_without_any_sign_of_a_change_is_not_this_branch() -> None:
    assert evidence(Symptom.START_UP, records=mismatched(loaded=None)).signals == ()


def test_an_update_after_the_mismatch_did_not_cause_it() -> None:
    values: dict[str, Any] = {"trail": trail(update("11:30")), "records": mismatched(loaded=None)}
    assert [s.kind for s in evidence(Symptom.START_UP, **values).signals] == ["software"]


def test_a_driver_that_differs_from_the_boot_before_is_told_once_for_all_nodes() -> None:
    records = {
        name: NodeRecords(
            boundaries=(boot(name, "08:00", "570.133.20"), boot(name, "10:40", "570.172.08"))
        )
        for name in NODES
    }
    found = evidence(Symptom.CRASH, records=records)
    said = (
        f"3 nodes booted with driver 570.172.08, before that 570.133.20; first {NODES[0]} at "
        "2026-03-20T10:40:00Z"
    )
    assert [s.what for s in found.signals] == [said]


def test_the_same_driver_again_is_no_change() -> None:
    records = {NEW: NodeRecords(boundaries=(boot(NEW, "08:00"), boot(NEW, "10:40")))}
    assert evidence(Symptom.CRASH, records=records).signals == ()


def kernel_boot() -> Boundary:
    return Boundary(
        node=NEW,
        stream="messages.log",
        line=1,
        raw="Linux version",
        at=at("10:40"),
        kind=BoundaryKind.REBOOT,
        kernel_version="6.1.130-139.aws",
    )


def test_a_kernel_without_the_client_module_breaks_the_mount_and_leads_over_it() -> None:
    mount = BranchEvidence(
        branch=Branch.STORAGE,
        signals=(
            Signal(
                branch=Branch.STORAGE,
                kind="mount",
                what="mount failed",
                at=at("10:59"),
                mechanism="no mount",
            ),
        ),
    )
    values: dict[str, Any] = {
        "records": {NEW: NodeRecords(boundaries=(kernel_boot(),))},
        "services": (
            line(ServiceEvent.MODULE_MISSING, at("10:41"), code="6.1.130-139.aws", action="lustre"),
        ),
    }
    assert judged(Symptom.MOUNT, others=(mount,), **values) == PROVEN


def test_a_script_that_upgrades_without_versions_is_named() -> None:
    script = ScriptUpgrade(file="on_create.sh", line=3, text="apt-get -y upgrade", tool="apt-get")
    facts = evidence(scripts=(script,)).facts
    assert any("on_create.sh:3 `apt-get -y upgrade`" in fact for fact in facts)


# Rollouts and conditions.


def rollout(when: str, workload: str = "daemonset/dcgm-exporter") -> Rollout:
    return Rollout(
        node="",
        stream="rollout.txt",
        line=1,
        raw="rollout started",
        at=at(when),
        workload=workload,
        step="started",
        old="4.2.0",
        new="4.2.3",
    )


def condition(name: str = NEW, moved: str = "11:00", reason: str = "DCGMError") -> NodeFacts:
    return NodeFacts(
        conditions=(
            NodeCondition(
                node=name,
                stream="node.yaml",
                line=1,
                raw="",
                kind="AcceleratedHardwareReady",
                status="False",
                reason=reason,
                transition_at=at(moved),
                heartbeat_at=NOW,
            ),
        )
    )


@pytest.mark.parametrize(
    ("when", "workload", "reason", "is_cause"),
    [
        pytest.param("10:55", "daemonset/dcgm-exporter", "DCGMError", True, id="five minutes"),
        pytest.param("10:54", "daemonset/dcgm-exporter", "DCGMError", False, id="more"),
        pytest.param("11:01", "daemonset/dcgm-exporter", "DCGMError", False, id="after it"),
        pytest.param("10:58", "daemonset/fluent-bit", "DCGMError", False, id="another workload"),
        pytest.param(
            "10:58", "daemonset/dcgm-exporter", "NvidiaXID79Error", False, id="a GPU's condition"
        ),
    ],
)
def test_a_monitors_rollout_explains_a_dcgm_condition_within_five_minutes(
    when: str, workload: str, reason: str, is_cause: bool
) -> None:
    values: dict[str, Any] = {
        "rollouts": (rollout(when, workload),),
        "facts": {NEW: condition(reason=reason)},
    }
    found = evidence(**values)
    assert [(s.kind, s.proven_by_rule) for s in found.signals] == (
        [("daemonset_rollout", True)] if is_cause else []
    )


def test_an_old_condition_does_not_explain_another_failure() -> None:
    values: dict[str, Any] = {
        "rollouts": (rollout("10:58"),),
        "facts": {NEW: condition()},
    }
    found = evidence(Symptom.SLOW, start=at("11:40"), **values)
    assert [(s.affected, s.proven_by_rule) for s in found.signals] == [(False, False)]


def test_many_nodes_behind_one_rollout_are_one_signal() -> None:
    facts = {name: condition(name) for name in NODES}
    found = evidence(rollouts=(rollout("10:58"),), facts=facts)
    assert len(found.signals) == 1
    assert f"on {NODES[0]} and 2 more nodes" in found.signals[0].what


# Cluster events and states.


def event(meaning: EventMeaning, when: str, name: str | None = NEW) -> ClusterEvent:
    return ClusterEvent(
        id=f"{meaning}-{when}",
        at=at(when),
        meaning=meaning,
        description=f"{meaning.value} of {name}",
        instance=name,
    )


def test_cluster_events_show_a_change_while_who_made_it_stays_unknown() -> None:
    missed = [Missed(name="UpdateClusterSoftware", status=Status.UNVERIFIED, reason=Reason.DENIED)]
    values: dict[str, Any] = {
        "trail": trail(missed=missed),
        "events": read(event(EventMeaning.SOFTWARE, "10:40")),
    }
    found = evidence(Symptom.NODES_LOST, **values)
    assert "who asked for it is unknown" in found.signals[0].what
    assert judged(Symptom.NODES_LOST, **values)[0] is BranchStatus.ROOT_CAUSE


def test_readiness_noise_during_scaling_is_never_a_cause() -> None:
    assert evidence(events=read(event(EventMeaning.READINESS, "10:40"))).signals == ()


def test_an_automatic_replacement_after_a_hardware_fault_is_not_a_change() -> None:
    fault = HmaRecord(
        node=NEW, stream="s", line=1, raw="", at=at("10:00"), condition="NvidiaErrorTerminate"
    )
    values: dict[str, Any] = {
        "events": read(event(EventMeaning.REPLACEMENT, "10:40")),
        "records": {NEW: NodeRecords(hma=(fault,))},
    }
    assert evidence(Symptom.NODES_LOST, **values).signals == ()


def test_an_automatic_replacement_without_a_fault_is_service_initiated_or_unknown() -> None:
    found = evidence(Symptom.NODES_LOST, events=read(event(EventMeaning.REPLACEMENT, "10:40")))
    assert "no customer call found" in found.signals[0].what
    assert found.signals[0].hypothesis_only


def test_a_rollback_leads() -> None:
    rolling = cluster(group(software="RollbackInProgress", image="ami-1", wanted_image="ami-2"))
    values: dict[str, Any] = {"cluster": one(rolling)}
    assert evidence(**values).signals[0].kind == "software_rollback"
    assert any("an update is in progress" in fact for fact in evidence(**values).facts)


# Ruled out, and what was not seen.


def test_a_trail_that_was_read_in_full_and_shows_nothing_rules_a_change_out() -> None:
    found = evidence(Symptom.SLOW)
    assert found.ruled_out is not None
    assert found.ruled_out.startswith("no change of this cluster among 4 CloudTrail event names")
    assert judged(Symptom.SLOW)[0] is BranchStatus.RULED_OUT


@pytest.mark.parametrize("reason", [Reason.DENIED, Reason.THROTTLED])
def test_without_cloudtrail_a_change_is_unverified_and_never_ruled_out(reason: Reason) -> None:
    missed = [Missed(name="TerminateInstances", status=Status.UNVERIFIED, reason=reason)]
    found = evidence(Symptom.SLOW, trail=trail(missed=missed))
    assert found.ruled_out is None
    assert [one.reason for one in found.deciding_unseen] == [reason]
    assert judged(Symptom.SLOW, trail=trail(missed=missed))[0] is BranchStatus.UNVERIFIED


def test_a_table_that_states_an_empty_look_up_rules_a_change_out() -> None:
    told = trail().model_copy(update={"told_by": "clean_signals.json"})
    assert evidence(Symptom.SLOW, trail=told).ruled_out == (
        "no cluster event in CloudTrail, as read in clean_signals.json; no package upgrade, "
        "rollout or new driver in the logs in hand"
    )


def test_a_replacement_holds_what_was_asked_and_what_came() -> None:
    request = replace()
    new = HyperPodNode(id=NEW, group="workers", status="Pending", launched_at=at("10:50"))
    nodes = read(new)
    assert replacements([request], nodes, streams=STREAM) == (
        Replacement(request, (OLD,), (new,), "workers", LinkBasis.STREAM_GROUP),
    )
