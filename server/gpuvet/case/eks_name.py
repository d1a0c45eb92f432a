"""The EKS cluster under a case."""

from gpuvet.aws.hyperpod import read_cluster
from gpuvet.case.case import Case
from gpuvet.model.cluster import Orchestrator


def eks_name(case: Case) -> str | None:
    """Return the name of the EKS cluster under a case, or None."""
    name, kind = case.meta.cluster, case.meta.orchestrator
    if kind is Orchestrator.EKS:
        return name
    if name is None or kind in {Orchestrator.HYPERPOD_SLURM, Orchestrator.PARALLELCLUSTER}:
        return None
    found = read_cluster(case.aws, name).value
    return found.eks.rpartition("/")[2] if found is not None and found.eks else None
