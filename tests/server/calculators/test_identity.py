"""Which node followed which: all rules of incident-branches."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.arrivals import IdentityEvidence, group_of_stream
from gpuvet.calculators.identity import identify
from gpuvet.model.evidence import Status
from gpuvet.model.identity import (
    Arrival,
    CurrentNode,
    Fate,
    FormerNode,
    Identities,
    Initiator,
    LinkBasis,
    NodeEvent,
    NodeFate,
    NodeRequest,
    RequestKind,
)

T = datetime(2026, 3, 12, 10, tzinfo=UTC)
OLD, OLD2 = "i-0a10000000000001a", "i-0a10000000000002a"
NEW, NEW2 = "i-0b20000000000001b", "i-0b20000000000002b"
USER = "arn:aws:iam::111122223333:user/operator"
HEAD_NODE = "arn:aws:sts::111122223333:assumed-role/train-RoleHeadNode-1A2B/i-0c3"
STREAM = f"SagemakerHealthMonitoringAgent/workers/{OLD}"
STREAM2 = f"LifecycleConfig/workers/{OLD2}"


def minutes(number: float) -> datetime:
    return T + timedelta(minutes=number)


def call(*nodes: str, kind: RequestKind = RequestKind.REPLACE, **more: object) -> NodeRequest:
    return NodeRequest.model_validate(
        {"at": T, "kind": kind, "nodes": nodes, "caller": USER, "evidence": "ev-1", **more}
    )


def current(node: str, launched: float | None = 25, **more: object) -> CurrentNode:
    return CurrentNode.model_validate(
        {
            "node": node,
            "launched_at": None if launched is None else minutes(launched),
            "instance_type": "ml.p5.48xlarge",
            "group": "workers",
            **more,
        }
    )


def found(requests: list[NodeRequest], listed: list[CurrentNode], **more: object) -> Identities:
    values: dict[str, object] = {"requests": requests, "current": listed, **more}
    return identify(IdentityEvidence(**values))  # type: ignore[arg-type] # cases name what they add


def only(result: Identities) -> NodeFate:
    (fate,) = result.fates
    return fate


@pytest.mark.parametrize(
    ("listed", "more", "fate", "successors", "basis", "label"),
    [
        pytest.param(
            [current(NEW)],
            {"streams": [STREAM]},
            *(Fate.REPLACED, (NEW,), LinkBasis.STREAM_GROUP, "Proven"),
            id="one candidate in the group that the old stream's path names",
        ),
        pytest.param(
            [current(NEW, logical_id="7"), current(NEW2, logical_id="8")],
            {"former": [FormerNode(node=OLD, logical_id="7")]},
            *(Fate.REPLACED, (NEW,), LinkBasis.LOGICAL_ID, "Proven"),
            id="the same logical id, beside another candidate",
        ),
        pytest.param(
            [current(NEW)],
            {"events": [NodeEvent(at=T, node=OLD, group="workers", description="x")]},
            *(Fate.REPLACED, (NEW,), LinkBasis.CLUSTER_EVENT, "Proven"),
            id="a cluster event names the old id's group",
        ),
        pytest.param(
            [current(NEW)],
            {
                "events": [
                    NodeEvent(
                        at=minutes(20),
                        node=NEW,
                        description=f"Instance {NEW} is starting as part of instance replacement",
                    )
                ]
            },
            *(Fate.REPLACED, (NEW,), LinkBasis.CLUSTER_EVENT, "Proven"),
            id="a cluster event calls the new one a replacement",
        ),
        pytest.param(
            [current(NEW)],
            {},
            *(Fate.REPLACED, (NEW,), LinkBasis.LAUNCH_TIME, "Hypothesis"),
            id="nothing but the launch time",
        ),
        pytest.param(
            [current(NEW, ip="10.0.0.7"), current(NEW2, ip="10.0.0.8")],
            {"former": [FormerNode(node=OLD, ip="10.0.0.7")]},
            *(Fate.REPLACED, (NEW,), LinkBasis.HOST, "Hypothesis"),
            id="the same private address, which may be reused",
        ),
        pytest.param(
            [current(NEW, 121)],
            {"streams": [STREAM]},
            *(Fate.NOT_JOINED, (), None, None),
            id="launched over two hours later",
        ),
        pytest.param(
            [current(NEW, -5)],
            {"streams": [STREAM]},
            *(Fate.NOT_JOINED, (), None, None),
            id="launched before the call",
        ),
        pytest.param(
            [current(NEW, group="login")],
            {"streams": [STREAM]},
            *(Fate.NOT_JOINED, (), None, None),
            id="launched in another group",
        ),
        pytest.param(
            [current(NEW, instance_type="ml.m5.large")],
            {"former": [FormerNode(node=OLD, instance_type="ml.p5.48xlarge")]},
            *(Fate.NOT_JOINED, (), None, None),
            id="of another type",
        ),
        pytest.param(
            [current(NEW, None, pending=True)],
            {"streams": [STREAM]},
            *(Fate.NOT_JOINED, (), None, None),
            id="pending",
        ),
        pytest.param(
            [current(OLD, -9000)],
            {},
            *(Fate.STILL_PRESENT, (), None, None),
            id="still listed",
        ),
    ],
)
def test_a_replaced_node_is_joined_to_its_successor(
    listed: list[CurrentNode],
    more: dict[str, object],
    fate: Fate,
    successors: tuple[str, ...],
    basis: LinkBasis | None,
    label: str | None,
) -> None:
    told = only(found([call(OLD)], listed, **more))
    assert (told.fate, told.successors, told.basis, told.label) == (fate, successors, basis, label)
    assert (told.at, told.initiator, told.caller, told.evidence) == (
        T,
        Initiator.CUSTOMER,
        USER,
        "ev-1",
    )


def test_several_of_one_group_are_matched_as_a_set() -> None:
    told = found([call(OLD, OLD2)], [current(NEW), current(NEW2, 30)], streams=[STREAM, STREAM2])
    assert [(f.node, f.successors, f.label) for f in told.fates] == [
        (OLD, (NEW, NEW2), "Proven"),
        (OLD2, (NEW, NEW2), "Proven"),
    ]
    assert told.fates[0].notes[0] == (
        "2 old and 2 new nodes matched as a set: individual pairing unknown"
    )


def test_a_set_with_too_few_new_nodes_says_how_many_have_not_joined() -> None:
    told = found([call(OLD, OLD2)], [current(NEW)], streams=[STREAM, STREAM2])
    assert "1 of 2 replacements have not joined" in told.fates[0].notes


def test_a_successor_is_taken_once() -> None:
    told = found(
        [call(OLD), call(OLD2, at=minutes(1))],
        [current(NEW, logical_id="7")],
        former=[FormerNode(node=OLD, logical_id="7")],
    )
    assert [(f.node, f.fate) for f in told.fates] == [
        (OLD, Fate.REPLACED),
        (OLD2, Fate.NOT_JOINED),
    ]


def test_a_verdict_never_passes_to_the_successor() -> None:
    told = only(found([call(OLD)], [current(NEW)]))
    assert "a verdict on the old id says nothing of the new one" in told.notes


def test_a_failed_call_is_an_attempt() -> None:
    told = found([call(OLD, error_code="AccessDenied")], [current(OLD, -9000)])
    assert (told.fates, told.attempts) == (
        (),
        (f"replace of {OLD} at 2026-03-12T10:00:00Z failed: AccessDenied",),
    )


def test_only_the_ids_that_the_answer_calls_successful_count() -> None:
    told = found([call(OLD, OLD2, successful=(OLD2,))], [current(OLD, -9000)])
    assert only(told).node == OLD2


def test_a_call_for_another_cluster_does_not_count() -> None:
    names = frozenset({"train-a", "arn:aws:sagemaker:us-west-2:111122223333:cluster/ab12"})
    told = found(
        [call(OLD, cluster="train-b"), call(OLD2, cluster="train-a")], [], cluster_names=names
    )
    assert only(told).node == OLD2


def test_a_logical_id_stands_for_the_instance_that_held_it() -> None:
    told = found(
        [call(logical_ids=("7",))],
        [current(NEW, logical_id="7")],
        former=[FormerNode(node=OLD, logical_id="7")],
    )
    assert (only(told).node, only(told).successors, only(told).label) == (OLD, (NEW,), "Proven")


def test_a_logical_id_whose_instance_nobody_remembers_still_finds_its_successor() -> None:
    told = only(found([call(logical_ids=("7",))], [current(NEW, logical_id="7")]))
    assert (told.node, told.successors, told.basis) == ("7", (NEW,), LinkBasis.LOGICAL_ID)


def test_a_deletion_has_no_successor() -> None:
    told = only(found([call(OLD, kind=RequestKind.DELETE)], [current(NEW)], streams=[STREAM]))
    assert (told.fate, told.successors) == (Fate.REMOVED, ())
    assert told.notes == ("removed without a successor: the group's target count falls",)


def test_a_reboot_keeps_the_id() -> None:
    told = only(found([call(OLD, kind=RequestKind.REBOOT)], [current(OLD, -9000)]))
    assert (told.fate, told.notes) == (Fate.REBOOTED, ())


def test_a_node_still_listed_was_not_replaced() -> None:
    told = only(found([call(OLD)], [current(OLD, -9000)]))
    assert told.notes == ("not executed yet, rejected, or it was a reboot",)


@pytest.mark.parametrize(
    ("more", "initiator"),
    [
        ({"caller": USER}, Initiator.CUSTOMER),
        ({"caller": HEAD_NODE}, Initiator.SLURM),
        ({"invoked_by": "ec2.amazonaws.com"}, Initiator.SERVICE),
        ({"caller": None}, Initiator.UNKNOWN),
    ],
    ids=["a user", "the head node's role", "a service", "nobody named"],
)
def test_who_terminated_an_instance(more: dict[str, object], initiator: Initiator) -> None:
    told = only(found([call(OLD, kind=RequestKind.TERMINATE, **more)], []))
    assert (told.fate, told.initiator) == (Fate.NOT_JOINED, initiator)


def test_slurm_replaces_by_queue_and_node_name() -> None:
    told = only(
        found(
            [call(OLD, kind=RequestKind.TERMINATE, caller=HEAD_NODE)],
            [current(NEW, group="queue1", host="queue1-dy-p5-1"), current(NEW2, group="queue1")],
            former=[FormerNode(node=OLD, group="queue1", host="queue1-dy-p5-1")],
        )
    )
    assert (told.successors, told.basis, told.initiator) == (
        (NEW,),
        LinkBasis.HOST,
        Initiator.SLURM,
    )


def test_a_pending_node_of_the_group_is_named() -> None:
    told = only(found([call(OLD)], [current(NEW, None, pending=True)], streams=[STREAM]))
    assert told.notes == (f"Pending in its group: {NEW}",)


REPLACING = f"Instance {NEW} is starting as part of instance replacement in Cluster train"
ENDING = f"Termination of EC2 Instance {OLD} is currently in progress"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param(
            {"events": [NodeEvent(at=minutes(20), node=NEW, description=REPLACING)]},
            Arrival(
                node=NEW, at=minutes(25), initiator=Initiator.SERVICE, why=f"event: {REPLACING}"
            ),
            id="the service says it is a replacement",
        ),
        pytest.param(
            {
                "automatic_recovery": True,
                "terminate_conditions": [(OLD, minutes(-10))],
                "streams": [STREAM],
            },
            Arrival(
                node=NEW,
                at=minutes(25),
                initiator=Initiator.NODE_RECOVERY,
                why="NodeRecovery is Automatic and the health agent said NvidiaErrorTerminate "
                f"before, of {OLD}",
                replaced=OLD,
            ),
            id="the agent condemned a node of its group before",
        ),
        pytest.param(
            {"cloudtrail": Status.UNVERIFIED},
            Arrival(
                node=NEW,
                at=minutes(25),
                initiator=Initiator.UNKNOWN,
                why="no customer call found (CloudTrail UNVERIFIED)",
            ),
            id="nothing tells, and CloudTrail was not read",
        ),
        pytest.param(
            {"events": [NodeEvent(at=minutes(5), node=OLD, description=ENDING)]},
            Arrival(
                node=NEW,
                at=minutes(25),
                initiator=Initiator.UNKNOWN,
                why=f"no customer call found (CloudTrail OK); before it: {ENDING}",
                replaced=OLD,
            ),
            id="another node of its group was terminated before",
        ),
    ],
)
def test_a_new_node_without_a_call_is_explained_as_far_as_evidence_goes(
    more: dict[str, object], expected: Arrival
) -> None:
    assert found([], [current(NEW)], since=T, **more).arrivals == (expected,)


def test_an_old_node_is_no_arrival() -> None:
    assert found([], [current(NEW, -5)], since=T).arrivals == ()


def test_a_successor_is_no_arrival() -> None:
    assert found([call(OLD)], [current(NEW)], since=T).arrivals == ()


@pytest.mark.parametrize(
    ("stream", "place"),
    [
        (STREAM, ("workers", OLD)),
        (STREAM2, ("workers", OLD2)),
        ("ClusterMetrics/slurm", None),
        (f"kernel/{OLD}", None),
    ],
    ids=["agent", "lifecycle", "metrics", "another"],
)
def test_a_streams_path_names_group_and_instance(
    stream: str, place: tuple[str, str] | None
) -> None:
    assert group_of_stream(stream) == place


def test_order_changes_nothing() -> None:
    requests = [call(OLD), call(OLD2, at=minutes(1))]
    listed = [current(NEW), current(NEW2, 30)]
    assert found(requests, listed, streams=[STREAM, STREAM2]) == found(
        requests[::-1], listed[::-1], streams=[STREAM2, STREAM]
    )
