"""What replies, group names and files say of a cluster as a whole: name, kind, account, region."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpuvet.case.case import KubeObject, Reply
from gpuvet.model.case import FileKind
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at

Json = Mapping[str, Any]
CLUSTER_TAG = "parallelcluster:cluster-name"
# Log groups that name their cluster (coverage.md), and who writes them.
_GROUPS = (
    (Orchestrator.PARALLELCLUSTER, re.compile(r"/aws/parallelcluster/(?P<name>.+)-\d{12}$")),
    (Orchestrator.UNKNOWN, re.compile(r"/aws/sagemaker/Clusters/(?P<name>[^/]+)/")),
    (Orchestrator.EKS, re.compile(r"/aws/containerinsights/(?P<name>[^/]+)/")),
    (Orchestrator.EKS, re.compile(r"/aws/eks/(?P<name>[^/]+)/cluster")),
)
_ARN = re.compile(r"arn:aws[\w-]*:[\w-]+:(?P<region>[a-z]{2}[\w-]*-\d):(?P<account>\d{12}):")
_ZONE = re.compile(r"(?<![\w-])([a-z]{2}(?:-[a-z]+)+-\d)[a-z](?![\w-])")
_HYPERPOD_LABEL = "sagemaker.amazonaws.com/"


class ClusterFacts(NamedTuple):
    """What is known of the cluster as a whole."""

    name: str | None = None
    orchestrator: Orchestrator = Orchestrator.UNKNOWN
    account: str | None = None
    region: str | None = None


def cluster_facts(
    replies: Sequence[Reply],
    groups: Iterable[str],
    kube: Sequence[KubeObject],
    kinds: Iterable[FileKind],
) -> ClusterFacts:
    """Return name, orchestrator, account and region; what sources disagree on stays unknown."""
    named = list(_named(replies, groups))
    orchestrators = [kind for kind, _ in named if kind is not Orchestrator.UNKNOWN]
    texts = [text for reply in replies for text in _texts(reply.reply)]
    arns = [match for text in texts if (match := _ARN.match(text))]
    zones = [match[1] for text in texts if (match := _ZONE.fullmatch(text))]
    return ClusterFacts(
        name=_only(name for _, name in named),
        orchestrator=_orchestrator(orchestrators, replies, kube, frozenset(kinds)),
        account=_only(match["account"] for match in arns),
        region=_only([*(match["region"] for match in arns), *zones]),
    )


def _named(replies: Sequence[Reply], groups: Iterable[str]) -> Iterator[tuple[Orchestrator, str]]:
    for reply in replies:
        if reply.operation == "sagemaker:DescribeCluster":
            name = text_at(reply.reply, "ClusterName")
            has_eks = "Eks" in object_at(reply.reply, "Orchestrator")
            # An absent Orchestrator means Slurm.
            kind = Orchestrator.HYPERPOD_EKS if has_eks else Orchestrator.HYPERPOD_SLURM
            yield from [(kind, name)] if name else []
        for tag in _tags(reply):
            yield Orchestrator.PARALLELCLUSTER, tag
    for group in groups:
        for kind, pattern in _GROUPS:
            found = pattern.match(group)
            if found is not None:
                yield kind, found["name"]


def _tags(reply: Reply) -> Iterator[str]:
    for reservation in objects_at(reply.reply, "Reservations"):
        for instance in objects_at(reservation, "Instances"):
            for tag in objects_at(instance, "Tags"):
                value = text_at(tag, "Value")
                if tag.get("Key") == CLUSTER_TAG and value:
                    yield value


def _orchestrator(
    named: Sequence[Orchestrator],
    replies: Sequence[Reply],
    kube: Sequence[KubeObject],
    kinds: frozenset[FileKind],
) -> Orchestrator:
    hyperpod = [kind for kind in named if kind.is_hyperpod]
    if named:
        return hyperpod[0] if hyperpod else named[0]
    if kube:
        labels = [object_at(object_at(one.body, "metadata"), "labels") for one in kube]
        is_hyperpod = any(key.startswith(_HYPERPOD_LABEL) for one in labels for key in one)
        return Orchestrator.HYPERPOD_EKS if is_hyperpod else Orchestrator.EKS
    if FileKind.CLUSTER_LOG in kinds:
        return Orchestrator.PARALLELCLUSTER
    # A cluster that lists its nodes runs them, whatever else was asked; and an empty answer of EC2
    # says nothing of who does.
    if any(objects_at(reply.reply, "ClusterNodeSummaries") for reply in replies):
        return Orchestrator.UNKNOWN
    if any(objects_at(reply.reply, "Reservations") for reply in replies):
        return Orchestrator.EC2
    return Orchestrator.UNKNOWN


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for inner in value.values():
            yield from _texts(inner)
    elif is_array(value):
        for inner in value:
            yield from _texts(inner)


def _only(values: Iterable[str]) -> str | None:
    """Return a value that all sources agree on."""
    found = set(values)
    return found.pop() if len(found) == 1 else None
