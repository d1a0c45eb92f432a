"""Which cluster a name means: HyperPod, then EKS, then ParallelCluster's tag."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor
from gpuvet.errors import UsageError
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.target import Target
from gpuvet.model.untyped import object_at, objects_at, text_at

CLUSTER_TAG = "parallelcluster:cluster-name"
_ARN = re.compile(
    r"arn:aws[a-z-]*:(?P<service>sagemaker|eks):(?P<region>[a-z0-9-]+):\d{12}:cluster/(?P<name>.+)"
)

Filters = tuple[Mapping[str, Any], ...]


class Found(NamedTuple):
    """The nodes a question is about."""

    name: str | None  # the cluster's, where it has one
    orchestrator: Orchestrator
    names: tuple[str, ...] = ()  # every name its log groups may carry
    filters: Filters = ()  # what finds its instances in EC2; (): the ParallelCluster tag
    instances: tuple[str, ...] = ()  # named one by one


class _Match(NamedTuple):
    kind: str
    arn: str
    found: Found
    runs_on: str | None = None  # ARN of the EKS cluster below a HyperPod cluster


def find_target(door: AwsDoor, target: Target, region: str | None = None) -> Found:
    """Return what a target means in this account and region.

    Args:
        door: Where it is looked up.
        target: A cluster, instances or a tag; exactly one of them.
        region: The door's, to hold an ARN against.

    Raises:
        UsageError: Nothing is named, the cluster does not exist, or the name means several.
    """
    if target.cluster is not None:
        return _cluster(door, target.cluster, region)
    if target.instances:
        filters: Filters = ({"Name": "instance-id", "Values": list(target.instances)},)
        return _tagged(door, filters, target.instances)
    if target.tag is not None:
        key, value = target.tag
        return _tagged(door, ({"Name": f"tag:{key}", "Values": [value]},), ())
    raise UsageError("nothing says which nodes: name a cluster, instances or a tag")


def _cluster(door: AwsDoor, wanted: str, region: str | None) -> Found:
    arn = _ARN.fullmatch(wanted)
    if arn and region and arn["region"] != region:
        raise UsageError(
            f"{wanted!r} lies in {arn['region']}, the question in {region}; give that --region"
        )
    service, name = (arn["service"], arn["name"]) if arn else (None, wanted)
    lookups = {"sagemaker": _hyperpod, "eks": _eks, "tag": _parallelcluster}
    troubles: list[str] = []
    matches: list[_Match] = []
    for kind, look in lookups.items():
        if service in {None, kind}:
            matches += look(door, wanted if kind == "sagemaker" else name, troubles)
    distinct = list(_without_own_eks(matches))
    if len(distinct) > 1:
        named = "; ".join(f"{one.kind} {one.arn}" for one in distinct)
        raise UsageError(f"cluster {wanted!r} means more than one: {named}. Give the ARN of one")
    if distinct:
        return distinct[0].found
    if troubles:  # it may exist: what could not be looked up stays unknown, and a report comes
        return Found(name, Orchestrator.UNKNOWN, (name,))
    raise UsageError(
        f"no cluster {wanted!r} in this account and region: no HyperPod or EKS cluster and no "
        f"instance with tag {CLUSTER_TAG} has that name{_others(door)}"
    )


def _others(door: AwsDoor) -> str:
    answer = door.read("sagemaker:ListClusters", {})
    rows = (row for page in answer.value or () for row in objects_at(page, "ClusterSummaries"))
    names = sorted(filter(None, (text_at(row, "ClusterName") for row in rows)))
    shown = ", ".join(names[:10])
    return f"; HyperPod has {shown}{' …' if len(names) > 10 else ''}" if names else ""


def _without_own_eks(matches: Sequence[_Match]) -> Iterator[_Match]:
    """Leave out the EKS cluster that a HyperPod cluster of the same name runs on."""
    below = {one.runs_on for one in matches}
    yield from (one for one in matches if one.arn not in below)


def _hyperpod(door: AwsDoor, wanted: str, troubles: list[str]) -> Iterator[_Match]:
    answer = door.read("sagemaker:DescribeCluster", {"ClusterName": wanted})
    for page in _pages(answer, troubles):
        name = text_at(page, "ClusterName") or wanted
        eks = text_at(object_at(object_at(page, "Orchestrator"), "Eks"), "ClusterArn")
        # An absent Orchestrator means Slurm.
        kind = Orchestrator.HYPERPOD_EKS if eks else Orchestrator.HYPERPOD_SLURM
        names = (name, eks.rpartition("/")[2]) if eks else (name,)
        found = Found(name, kind, tuple(dict.fromkeys(names)))
        yield _Match("HyperPod", text_at(page, "ClusterArn") or name, found, eks)


def _eks(door: AwsDoor, name: str, troubles: list[str]) -> Iterator[_Match]:
    answer = door.read("eks:DescribeCluster", {"name": name})
    for page in _pages(answer, troubles):
        arn = text_at(object_at(page, "cluster"), "arn") or name
        # Managed groups, self-managed groups and Karpenter all put this tag on their instances.
        filters: Filters = ({"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{name}"]},)
        yield _Match("EKS", arn, Found(name, Orchestrator.EKS, (name,), filters))


def _parallelcluster(door: AwsDoor, name: str, troubles: list[str]) -> Iterator[_Match]:
    filters = [{"Name": f"tag:{CLUSTER_TAG}", "Values": [name]}]
    answer = door.read("ec2:DescribeInstances", {"Filters": filters})
    rows = [row for page in _pages(answer, troubles) for row in _instances(page)]
    if any(_cluster_tag(row) == name for row in rows):
        found = Found(name, Orchestrator.PARALLELCLUSTER, (name,))
        yield _Match("ParallelCluster", f"{CLUSTER_TAG}={name}", found)


def _instances(page: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for reservation in objects_at(page, "Reservations"):
        yield from objects_at(reservation, "Instances")


def _cluster_tag(row: Mapping[str, Any]) -> str | None:
    tags = (tag for tag in objects_at(row, "Tags") if tag.get("Key") == CLUSTER_TAG)
    return next((text_at(tag, "Value") for tag in tags), None)


def _pages(answer: Envelope[Any], troubles: list[str]) -> tuple[Mapping[str, Any], ...]:
    if not answer.status.is_complete and answer.status is not Status.NOT_FOUND:
        troubles.append(answer.operation)
    return answer.value or ()


def _tagged(door: AwsDoor, filters: Filters, instances: tuple[str, ...]) -> Found:
    """Return instances found by a filter; those of one ParallelCluster have its name and logs."""
    answer = door.read("ec2:DescribeInstances", {"Filters": list(filters)})
    rows = [row for page in answer.value or () for row in _instances(page)]
    clusters = tuple(sorted({name for row in rows if (name := _cluster_tag(row))}))
    if answer.status.is_complete and not rows and not instances:
        raise UsageError(f"no instance in this account and region matches {_words(filters)}")
    kind = Orchestrator.PARALLELCLUSTER if len(clusters) == 1 else Orchestrator.UNKNOWN
    name = clusters[0] if len(clusters) == 1 else None
    return Found(name, kind, clusters, filters, instances)


def _words(filters: Filters) -> str:
    return " and ".join(f"{one['Name']} = {', '.join(one['Values'])}" for one in filters)
