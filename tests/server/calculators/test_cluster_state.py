"""The cluster as read now: recovery, what resuming needs, counts, checks, images (R8)."""

from datetime import timedelta

import pytest
from control_plane_world import (
    NODES,
    T0,
    at,
    capacity,
    cluster,
    denied,
    group,
    line,
    node,
    one,
    read,
)

from gpuvet.calculators.addresses import addresses_of_node, nodes_that_fit
from gpuvet.calculators.bootstrap import blockers
from gpuvet.calculators.cluster_state import cluster_state
from gpuvet.calculators.pending import pending_blockers
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.capacity import Subnet
from gpuvet.model.changes import ClusterEvent, EventMeaning
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.cluster_state import ClusterState, HyperPodNode

SUBNET = "subnet-0aaaabbbbccccdddd"
PENDING_WORDS = (
    f"{NODES[0]} (workers) is Pending, launched 2026-03-20T10:15:00Z, 45.0 min ago, more than "
    "30 min"
)


def test_the_state_says_recovery_counts_checks_images_and_what_is_pending() -> None:
    workers = group(current=2, deep_checks=("InstanceStress",), image="ami-1", wanted_image="ami-2")
    found = cluster_state(
        Orchestrator.HYPERPOD_SLURM,
        T0,
        cluster=one(cluster(workers)),
        nodes=read(
            HyperPodNode(
                id=NODES[0],
                group="workers",
                status="Pending",
                launched_at=T0 - timedelta(minutes=45),
            )
        ),
    )
    assert found == ClusterState(
        cluster="train-a",
        orchestrator="hyperpod_slurm",
        recovery="Automatic",
        recovery_does="NodeRecovery Automatic: HyperPod reboots or replaces a node that its health "
        "agent finds faulty; it does not restart the job",
        resume_needs="the job resumes only from checkpoints and with srun --auto-resume=1 (on "
        "srun, not sbatch)",
        counts=("workers: 2 of 3 nodes, 1 missing",),
        deep_checks=("workers: InstanceStress",),
        images=("workers: ami-1, wanted ami-2: update in progress",),
        pending=(PENDING_WORDS,),
        notes=("NodeProvisioningMode is not Continuous: the cluster keeps no list of its events",),
    )


@pytest.mark.parametrize(
    ("recovery", "says"),
    [
        pytest.param("Automatic", "reboots or replaces", id="automatic"),
        pytest.param("None", "replace it by hand", id="none is a word"),
        pytest.param(None, "unverified", id="absent is not none"),
    ],
)
def test_node_recovery_is_a_word_and_its_absence_is_unverified(
    recovery: str | None, says: str
) -> None:
    found = cluster_state(Orchestrator.HYPERPOD_EKS, T0, cluster=one(cluster(recovery=recovery)))
    assert says in found.recovery_does


def test_a_cluster_that_was_not_read_says_so() -> None:
    found = cluster_state(Orchestrator.HYPERPOD_EKS, T0, cluster=denied())
    assert (found.recovery, "denied" in found.recovery_does) == (None, True)


def test_protected_mode_stops_recovery() -> None:
    protected = line(ServiceEvent.PROTECTED_MODE)
    found = cluster_state(Orchestrator.PARALLELCLUSTER, T0, services=[protected])
    assert found.recovery == "protected mode"


# What a node needs, and what it waits for.


@pytest.mark.parametrize(
    ("kind", "orchestrator", "interface", "need"),
    [
        pytest.param("ml.p5.48xlarge", Orchestrator.HYPERPOD_SLURM, None, 32, id="a card each"),
        pytest.param("p5.48xlarge", Orchestrator.EKS, None, 81, id="and a set for pods on EKS"),
        pytest.param("p6-b300.48xlarge", Orchestrator.HYPERPOD_EKS, None, 66, id="17 cards"),
        pytest.param("p5.48xlarge", Orchestrator.HYPERPOD_SLURM, "efa-only", 1, id="efa-only"),
        pytest.param("p5.48xlarge", Orchestrator.HYPERPOD_EKS, "efa-only", 50, id="efa-only, EKS"),
        pytest.param("p99.metal", Orchestrator.EKS, None, None, id="an unlisted type"),
    ],
)
def test_a_node_takes_addresses_by_its_cards(
    kind: str, orchestrator: Orchestrator, interface: str | None, need: int | None
) -> None:
    assert addresses_of_node(kind, orchestrator, interface) == need


@pytest.mark.parametrize(
    ("subnets", "fit"),
    [
        pytest.param([Subnet(id="a", free=63)], 1, id="one fits, two do not"),
        pytest.param([Subnet(id="a", free=31), Subnet(id="b", free=31)], 0, id="not across two"),
        pytest.param([Subnet(id="a")], None, id="not read"),
        pytest.param([Subnet(id="a", free=0, is_ipv6_only=True)], None, id="no IPv4 at all"),
        pytest.param([], None, id="no subnet"),
    ],
)
def test_a_nodes_addresses_lie_in_one_subnet(subnets: list[Subnet], fit: int | None) -> None:
    assert nodes_that_fit(subnets, 32) == fit


PENDING = node(NODES[0], group="workers", state="Pending", launched_at=at("10:50"))
LIFECYCLE = f"LifecycleConfig/workers/{NODES[0]}"


@pytest.mark.parametrize(
    ("event", "when", "says"),
    [
        pytest.param(ServiceEvent.SCRIPTS_STARTED, "10:55", "have not ended", id="still running"),
        pytest.param(ServiceEvent.SCRIPTS_FAILED, "10:55", "failed at", id="failed"),
        pytest.param(ServiceEvent.SCRIPTS_SUCCEEDED, "10:55", None, id="succeeded"),
        pytest.param(ServiceEvent.SCRIPTS_STARTED, "10:45", None, id="of an earlier start"),
    ],
)
def test_a_pending_node_waits_for_its_scripts(
    event: ServiceEvent, when: str, says: str | None
) -> None:
    script = line(event, at(when), node=NODES[0], stream=LIFECYCLE)
    found = pending_blockers(capacity(nodes=(PENDING,), services=(script,)))
    assert (says in found[NODES[0]]) if says else found == {}


def test_a_pending_node_waits_for_what_the_service_says() -> None:
    event = ClusterEvent(
        id="e",
        at=at("10:55"),
        meaning=EventMeaning.PROVISION_FAILED,
        description="Failed to provision",
        group="workers",
        failure="no capacity",
    )
    found = pending_blockers(capacity(nodes=(PENDING,), events=read(event)))
    assert found == {NODES[0]: "Pending: HyperPod at 2026-03-20T10:55:00Z: “no capacity”"}


def test_a_pending_node_without_a_measured_reason_has_no_blocker() -> None:
    assert pending_blockers(capacity(nodes=(PENDING,))) == {}


def test_a_running_node_has_no_blocker() -> None:
    running = node(NODES[0], group="workers", state="Running")
    script = line(ServiceEvent.SCRIPTS_STARTED, node=NODES[0], stream=LIFECYCLE)
    assert pending_blockers(capacity(nodes=(running,), services=(script,))) == {}


IGNORED = line(
    ServiceEvent.INSTANCE_IGNORED, at("10:50"), instances=(NODES[0],), code="PrivateIpAddress"
)


def test_an_ignored_instance_is_blocked_once_its_failure_was_recorded() -> None:
    failed = line(ServiceEvent.BOOTSTRAP_FAILED, at("10:51"), names=("gpu-st-p5-1",))
    assert blockers(capacity(services=(IGNORED,))) == {}
    assert set(blockers(capacity(services=(IGNORED, failed)))) == {NODES[0]}


def test_a_script_that_succeeded_blocks_nobody() -> None:
    script = line(ServiceEvent.ACTION_EXIT, node=NODES[0], action="x.sh", exit_status=0)
    assert blockers(capacity(services=(script,))) == {}
