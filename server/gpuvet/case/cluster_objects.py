"""Objects of the cluster's own Kubernetes API, kept as the objects that files of a case hold."""

from collections.abc import Iterator
from dataclasses import replace

from gpuvet.aws.kubernetes import read_objects
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS
from gpuvet.aws.reads import KUBERNETES
from gpuvet.case.case import Case, KubeObject
from gpuvet.case.eks_name import eks_name
from gpuvet.case.kube import node_reading
from gpuvet.case.kube_state import is_telling
from gpuvet.case.readings import merged_facts
from gpuvet.model.case import CaseForm, OperatorFacts


def with_cluster_objects(case: Case) -> Case:
    """Return a case with the objects its cluster's API lists; nodes also as facts.

    A list that was not read is named by whoever keeps account of the door's answers.
    """
    cluster = eks_name(case) if KUBERNETES in case.doors else None
    if cluster is None and KUBERNETES in case.doors and case.meta.form is not CaseForm.LIVE:
        cluster = case.meta.cluster or ""  # recorded: which cluster it was, the recording knows
    if cluster is None:
        return case
    found = tuple(_objects(case, cluster))
    if not found:
        return case
    readings = (node_reading(one) for one in found if one.kind == "Node")
    told = OperatorFacts(nodes=tuple(one for one in readings if one is not None))
    return replace(case, kube=(*case.kube, *found), facts=merged_facts([case.facts, told]))


def _objects(case: Case, cluster: str) -> Iterator[KubeObject]:
    """Yield what is worth keeping of each list; a role may allow one and not another."""
    for name, listing in KUBERNETES_READS.items():
        answer = read_objects(case.aws, cluster, name)
        for body in answer.value or ():
            one = KubeObject(listing.kind, f"{KUBERNETES}:{name}", body)
            if is_telling(one):
                yield one
