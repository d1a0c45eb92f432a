"""P4: a failed node is replaced, and the job goes on, without a person."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unknown_platform, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import Orchestrator

_SLURM = "is the job started with srun --auto-resume=1 (on srun, not sbatch)?"
_EKS = "does the job restart by itself (training operator, or Kubeflow's retry policy)?"
_REQUEUE = "is the job submitted with sbatch --requeue?"


def recovery(view: View) -> Iterator[Part]:
    """Read what replaces nodes on this kind of cluster, and ask what restarts the job."""
    match view.orchestrator:
        case Orchestrator.HYPERPOD_SLURM | Orchestrator.HYPERPOD_EKS:
            yield _hyperpod(view)
        case Orchestrator.EKS:
            yield from _nodegroups(view)
        case Orchestrator.PARALLELCLUSTER:
            yield _parallelcluster(view)
        case Orchestrator.EC2:
            yield Part(
                CheckStatus.RISK,
                "EC2",
                "nothing replaces a failed instance by itself",
                action="agree who replaces a failed node and restarts the job during the run",
            )
        case Orchestrator.UNKNOWN:
            yield unknown_platform()
    if view.run.auto_resume is False:
        yield Part(
            CheckStatus.RISK,
            "the job",
            "the job does not restart by itself, as told",
            action=_advice(view),
        )


def _question(view: View) -> str:
    if view.orchestrator is Orchestrator.HYPERPOD_SLURM:
        return _SLURM
    if view.orchestrator is Orchestrator.PARALLELCLUSTER:
        return _REQUEUE
    return _EKS


def _advice(view: View) -> str:
    if view.orchestrator is Orchestrator.HYPERPOD_SLURM:
        return "start the job with srun --auto-resume=1"
    if view.orchestrator is Orchestrator.PARALLELCLUSTER:
        return "submit the job with sbatch --requeue"
    return "run the job under a controller that restarts its pods"


def _notes(view: View) -> tuple[str, ...]:
    if view.run.auto_resume is True:
        return ("the job restarts by itself, as told",)
    if view.run.auto_resume is False:
        return ()
    return (f"open question: {_question(view)} Without it the job does not resume",)


def _hyperpod(view: View) -> Part:
    found, subject = view.cluster.value, view.cluster_name or "the cluster"
    if found is None:
        return unread(view.cluster, subject)
    refs = view.cluster.refs
    if found.recovery == "Automatic":
        return Part(
            CheckStatus.PASS,
            found.name,
            "NodeRecovery Automatic: HyperPod reboots or replaces a node its agent finds faulty",
            evidence=refs,
            notes=_notes(view),
        )
    if found.recovery == "None":
        return Part(
            CheckStatus.FAIL,
            found.name,
            "NodeRecovery None: HyperPod labels a faulty node and does nothing more",
            action=f"set NodeRecovery of {found.name} to Automatic (UpdateCluster) before the run",
            evidence=refs,
            notes=_notes(view),
        )
    return Part(
        CheckStatus.UNVERIFIED,
        found.name,
        f"NodeRecovery was not returned ({found.recovery or 'absent'})",
        closes_with=f"sagemaker:DescribeCluster of {found.name}: NodeRecovery",
        evidence=refs,
    )


def _nodegroups(view: View) -> Iterator[Part]:
    if not view.nodegroups.is_complete:
        yield unread(view.nodegroups, view.cluster_name or "the cluster")
    for group in rows(view.nodegroups):
        if group.repair:
            why = f"node repair of {group.name} is on"
            yield Part(CheckStatus.PASS, group.name, why, notes=_notes(view))
        else:
            yield Part(
                CheckStatus.RISK,
                group.name,
                f"node repair of {group.name} is "
                + ("off" if group.repair is False else "not set, which is off"),
                action=f"switch nodeRepairConfig of {group.name} on",
                notes=_notes(view),
            )
    if view.nodegroups.is_complete and not rows(view.nodegroups):
        yield Part(
            CheckStatus.UNVERIFIED,
            view.cluster_name or "the cluster",
            "the cluster has no managed node group: what replaces its nodes is not known",
            closes_with="ask: Karpenter, a self-managed group, or nothing?",
        )


def _parallelcluster(view: View) -> Part:
    name = view.cluster_name or "the cluster"
    protected = [r for r in view.services if r.event is ServiceEvent.PROTECTED_MODE]
    if protected:
        return Part(
            CheckStatus.RISK,
            name,
            f"protected mode ({protected[-1].raw}): clustermgtd replaces no node in that queue",
            action="mend the bootstrap failure, then start the compute fleet again",
            evidence=(protected[-1].evidence,),
        )
    if view.manager_alive is None:
        return unread(view.services_read, name, "whether clustermgtd runs")
    if not view.manager_alive:
        return Part(
            CheckStatus.UNVERIFIED,
            name,
            "clustermgtd wrote nothing in the last hour: whether it runs is not shown",
            closes_with="the clustermgtd stream of the head node, or its heartbeat alarm",
        )
    return Part(
        CheckStatus.PASS,
        name,
        "clustermgtd runs and no queue is in protected mode: it replaces a failed node",
        notes=_notes(view),
        evidence=view.services_read.refs,
    )


P4 = PreflightCheck(
    "P4",
    "a failed node is replaced without a person",
    "DescribeCluster (NodeRecovery), DescribeNodegroup, clustermgtd's stream",
    "FAIL: NodeRecovery None. RISK: node repair off, protected mode, plain EC2, or a job that does "
    "not restart by itself. An absent NodeRecovery is UNVERIFIED, not None",
    "SageMaker HyperPod and EKS user guides",
    recovery,
)
