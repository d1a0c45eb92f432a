"""What a verdict asks an operator to do, as text; nothing here is ever run."""

from gpuvet.model.cluster import Orchestrator
from gpuvet.model.verdict import Verdict

_REPLACE = {
    Orchestrator.HYPERPOD_SLURM: "replace the node through HyperPod; its instance id will change",
    Orchestrator.HYPERPOD_EKS: "replace the node through HyperPod; its instance id will change",
    Orchestrator.PARALLELCLUSTER: "drain it, then terminate it or stop and start it: new hardware",
    Orchestrator.EKS: "cordon and drain it, then terminate or stop and start it: new hardware",
    Orchestrator.EC2: "stop and start the instance (a reboot keeps the hardware), or terminate it",
    Orchestrator.UNKNOWN: "move the work to new hardware; a reboot keeps the present one",
}

_FIXED = {
    Verdict.REBOOT: "reboot the node once its job is off it; the hardware stays the same",
    Verdict.MONITOR: "no action on the node now; watch for a repetition",
    Verdict.LEAVE_ALONE: "nothing on the node",
    Verdict.NOT_OBSERVABLE: "nothing can be said of its health; light the missing source",
    Verdict.UNVERIFIED: "run the open check before anything stronger",
}


def action(verdict: Verdict, orchestrator: Orchestrator) -> str:
    """Return what a verdict asks for on this kind of cluster, in one phrase."""
    if verdict is Verdict.REPLACE:
        return _REPLACE[orchestrator]
    return _FIXED[verdict]
