"""The cluster as read now, in sentences: recovery, what resuming needs, counts, checks."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.calculators.capacity_evidence import values
from gpuvet.model.bootstrap import ServiceEvent, ServiceRecord
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.cluster_state import ClusterState, HyperPodCluster, HyperPodNode
from gpuvet.model.evidence import Envelope
from gpuvet.report.words import some, utc

# AWS's API reference: what a replacement takes at most as a rule; §A: Pending beyond it stands out.
_PENDING_BAR_MINUTES = 30
# incident-branches §A: a deep health check beyond this stands out.
_CHECK_BAR_HOURS = 2

_RESUME = {
    Orchestrator.HYPERPOD_SLURM: "the job resumes only from checkpoints and with srun "
    "--auto-resume=1 (on srun, not sbatch)",
    Orchestrator.HYPERPOD_EKS: "the job resumes only from checkpoints and with the orchestrator's "
    "retry (training operator or Kubeflow retry policy)",
    Orchestrator.PARALLELCLUSTER: "the job resumes only from checkpoints and when Slurm requeues "
    "it (sbatch --requeue)",
    Orchestrator.EKS: "the job resumes only from checkpoints and when its controller restarts its "
    "pods (backoffLimit, restartPolicy)",
}


def cluster_state(
    orchestrator: Orchestrator,
    now: datetime,
    *,
    name: str | None = None,
    cluster: Envelope[HyperPodCluster] | None = None,
    nodes: Envelope[tuple[HyperPodNode, ...]] | None = None,
    services: Sequence[ServiceRecord] = (),
) -> ClusterState:
    """Return what an operator needs to know beside the cause.

    Args:
        orchestrator: Who runs the nodes.
        now: When it was read.
        name: Of the cluster.
        cluster: DescribeCluster; None where the cluster is no HyperPod cluster.
        nodes: ListClusterNodes.
        services: Lines of the cluster's services: protected mode stops ParallelCluster's recovery.
    """
    found = cluster.value if cluster is not None else None
    recovery, does = _recovery(orchestrator, found, cluster, services)
    return ClusterState(
        cluster=found.name if found is not None else name,
        orchestrator=orchestrator.value,
        recovery=recovery,
        recovery_does=does,
        resume_needs=_RESUME.get(
            orchestrator, "the job resumes only from checkpoints and when somebody starts it again"
        ),
        counts=tuple(_counts(found)),
        deep_checks=tuple(_deep_checks(found)),
        images=tuple(_images(found)),
        pending=(*_pending(values(nodes), now), *_running(values(nodes))),
        notes=tuple(_notes(found)),
        evidence=tuple(e for e in (found.evidence if found else None,) if e is not None),
    )


def _recovery(
    orchestrator: Orchestrator,
    found: HyperPodCluster | None,
    cluster: Envelope[HyperPodCluster] | None,
    services: Sequence[ServiceRecord],
) -> tuple[str | None, str]:
    if found is not None:
        return found.recovery, _hyperpod_recovery(found.recovery)
    if orchestrator.is_hyperpod:
        why = cluster.reason or cluster.status if cluster is not None else "not asked"
        return None, f"NodeRecovery was not read ({why}): DescribeCluster tells it"
    if orchestrator is Orchestrator.PARALLELCLUSTER:
        if any(r.event is ServiceEvent.PROTECTED_MODE for r in services):
            return "protected mode", "the queue is INACTIVE: clustermgtd replaces no node in it"
        return "clustermgtd", "clustermgtd ends a failed node and launches another by the same name"
    if orchestrator is Orchestrator.EKS:
        return None, "node repair of the node group replaces a node only where it is switched on"
    return None, "nothing replaces a node by itself"


def _hyperpod_recovery(recovery: str | None) -> str:
    if recovery == "Automatic":
        return (
            "NodeRecovery Automatic: HyperPod reboots or replaces a node that its health agent "
            "finds faulty; it does not restart the job"
        )
    if recovery == "None":
        return (
            "NodeRecovery None: HyperPod labels a faulty node and does nothing; replace it by hand"
        )
    return "NodeRecovery was not returned: whether a faulty node is replaced is unverified"


def _counts(found: HyperPodCluster | None) -> Iterator[str]:
    for group in found.groups if found is not None else ():
        if group.current is None or group.target is None:
            continue
        missing = f", {group.short} missing" if group.short else ""
        yield f"{group.name}: {group.current} of {group.target} nodes{missing}"


def _deep_checks(found: HyperPodCluster | None) -> Iterator[str]:
    for group in found.groups if found is not None else ():
        if group.is_controller:
            continue
        checks = some(list(group.deep_checks)) if group.deep_checks else "none on start"
        yield f"{group.name}: {checks}"


def _images(found: HyperPodCluster | None) -> Iterator[str]:
    for group in found.groups if found is not None else ():
        if group.image is None and group.software is None:
            continue
        wanted = (
            f", wanted {group.wanted_image}: update in progress"
            if group.wanted_image not in {None, group.image}
            else ""
        )
        software = f", SoftwareUpdateStatus {group.software}" if group.software else ""
        yield f"{group.name}: {group.image or 'image not returned'}{wanted}{software}"


def _running(nodes: Sequence[HyperPodNode]) -> Iterator[str]:
    """Yield per group how many nodes run, and when the last of them was launched."""
    groups: dict[str, list[HyperPodNode]] = {}
    for node in nodes:
        if node.status == "Running":
            groups.setdefault(node.group or "no group", []).append(node)
    for group, members in groups.items():
        launched = [n.launched_at for n in members if n.launched_at is not None]
        last = f", the last launched {max(launched):%Y-%m-%dT%H:%M:%SZ}" if launched else ""
        yield f"{group}: {len(members)} Running{last}"


def _pending(nodes: Sequence[HyperPodNode], now: datetime) -> Iterator[str]:
    for node in nodes:
        if node.launched_at is None or node.status in {None, "Running"}:
            continue
        minutes = (now - node.launched_at).total_seconds() / 60
        bar = ""
        if node.status == "Pending":
            word = "more" if minutes > _PENDING_BAR_MINUTES else "less"
            bar = f", {word} than {_PENDING_BAR_MINUTES} min"
        elif node.status == "DeepHealthCheckInProgress" and minutes > _CHECK_BAR_HOURS * 60:
            bar = f", more than {_CHECK_BAR_HOURS} h"
        yield (
            f"{node.id} ({node.group}) is {node.status}, launched {utc(node.launched_at)}, "
            f"{minutes:.1f} min ago{bar}"
        )


def _notes(found: HyperPodCluster | None) -> Iterator[str]:
    if found is None:
        return
    if found.status not in {None, "InService"}:
        yield f"ClusterStatus {found.status}"
    if found.failure:
        yield f"the service says: {found.failure}"
    for group in found.groups:
        if group.status in {"Failed", "Degraded", "Updating", "SystemUpdating"}:
            yield f"{group.name} is {group.status}"
    if found.provisioning != "Continuous":
        yield "NodeProvisioningMode is not Continuous: the cluster keeps no list of its events"
