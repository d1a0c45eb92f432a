"""Clusters of an account, and the nodes of one cluster, as the platform lists them now."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from gpuvet.aws.answers import read_rows
from gpuvet.aws.clusters import CLUSTER_TAG
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.hyperpod import read_cluster, read_nodes
from gpuvet.aws.instances import read_instance_health, read_instances
from gpuvet.aws.ledger import Ledger
from gpuvet.calculators.capacity_evidence import values
from gpuvet.case import Case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.capacity import Instance, InstanceHealth
from gpuvet.model.case import CaseNode
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.cluster_state import HyperPodCluster, HyperPodNode
from gpuvet.model.evidence import Envelope
from gpuvet.model.inspection import ClusterList, ClusterRow, ListedNode, NodeList
from gpuvet.model.untyped import objects_at, text_at
from gpuvet.modes.evidence import orchestrator_of
from gpuvet.modes.inspection import (
    Look,
    counts_of,
    grouped,
    of_operations,
    source_rows,
    state_of,
    told,
    unseen_rows,
)
from gpuvet.modes.window import Asked
from gpuvet.report.words import counted

# Ours: a cluster is described by a call of its own, and an account may have many.
_MOST_DESCRIBED = 25
_EKS_TAG = "kubernetes.io/cluster/"
_RUNNING = frozenset({"running", "inservice"})
_EKS_NOTE = (
    "EKS clusters are known by their instances and by the HyperPod clusters on them: one without "
    "either is not listed"
)


def cluster_list(
    door: AwsDoor,
    *,
    now: datetime,
    account: str | None = None,
    region: str | None = None,
    case: Case | None = None,
) -> ClusterList:
    """Return the clusters of an account and region.

    Args:
        door: The way to it.
        now: The clock.
        account: Whose.
        region: Where.
        case: A recorded one, which may name its cluster itself.
    """
    aws = Ledger(door)
    found = {(row.kind, row.name): row for row in _clusters(aws)}
    for row in _of_case(case):
        if not any(name == row.name for _, name in found):
            found[row.kind, row.name] = row
    rows = tuple(sorted(found.values(), key=lambda row: (_KINDS.index(row.kind), row.name)))
    answers = aws.answers()
    state = state_of(len(rows), of_operations(answers, *_LISTS))
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts_of(r.kind for r in rows).items())
    none = told(state, "no cluster in this account and region", "the clusters are")
    return ClusterList(
        headline=f"{counted(len(rows), 'cluster')}: {kinds}" if rows else none,
        state=state.status,
        reason=state.reason,
        account=account,
        region=region,
        now=now,
        notes=(_EKS_NOTE,),
        sources=source_rows(answers),
        not_seen=tuple(unseen_rows(answers)),
        total=len(rows),
        rows=rows,
    )


_KINDS = ("HyperPod", "EKS", "ParallelCluster", "told")
_LISTS = ("sagemaker:ListClusters", "ec2:DescribeInstances")


def _clusters(door: AwsDoor) -> Iterator[ClusterRow]:
    listed = read_rows(
        door,
        "sagemaker:ListClusters",
        {},
        "ClusterSummaries",
        lambda row, evidence: ClusterRow(
            name=text_at(row, "ClusterName") or "",
            kind="HyperPod",
            status=text_at(row, "ClusterStatus"),
            arn=text_at(row, "ClusterArn"),
            evidence=evidence,
        ),
    )
    for place, row in enumerate(values(listed)):
        described = read_cluster(door, row.name).value if place < _MOST_DESCRIBED else None
        yield row if described is None else _described(row, described)
        if described is not None and described.eks:
            name = described.eks.rpartition("/")[2]
            yield ClusterRow(
                name=name, kind="EKS", orchestrator="EKS", arn=described.eks, evidence=row.evidence
            )
    yield from _tagged(door)


def _described(row: ClusterRow, found: HyperPodCluster) -> ClusterRow:
    current = [group.current for group in found.groups if group.current is not None]
    target = [group.target for group in found.groups if group.target is not None]
    kind = Orchestrator.HYPERPOD_EKS if found.eks else Orchestrator.HYPERPOD_SLURM
    types = sorted({group.instance_type for group in found.groups if group.instance_type})
    return row.model_copy(
        update={
            "orchestrator": kind.value,
            "status": found.status or row.status,
            "nodes": sum(current) if current else None,
            "target": sum(target) if target else None,
            "recovery": found.recovery,
            "provisioning": found.provisioning,
            "runs_on": found.eks,
            "instance_types": tuple(types),
        }
    )


def _tagged(door: AwsDoor) -> Iterator[ClusterRow]:
    """Yield ParallelCluster and EKS clusters by the tags of their running instances."""
    keys = [CLUSTER_TAG, f"{_EKS_TAG}*"]
    answer = door.read("ec2:DescribeInstances", {"Filters": [{"Name": "tag-key", "Values": keys}]})
    types: dict[tuple[str, str], list[str]] = {}
    for page in answer.value or ():
        for reservation in objects_at(page, "Reservations"):
            for row in objects_at(reservation, "Instances"):
                for key in _names_of(row):
                    types.setdefault(key, []).append(text_at(row, "InstanceType") or "")
    for (kind, name), members in sorted(types.items()):
        yield ClusterRow(
            name=name,
            kind=kind,
            orchestrator=kind,
            nodes=len(members),
            instance_types=tuple(sorted({one for one in members if one})),
            evidence=answer.evidence,
        )


def _names_of(instance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for tag in objects_at(instance, "Tags"):
        key, value = text_at(tag, "Key") or "", text_at(tag, "Value") or ""
        if key == CLUSTER_TAG and value:
            yield "ParallelCluster", value
        elif key.startswith(_EKS_TAG):
            yield "EKS", key.removeprefix(_EKS_TAG)


def _of_case(case: Case | None) -> Iterator[ClusterRow]:
    if case is not None and case.meta.cluster:
        kind = case.meta.orchestrator
        word = kind.value if kind is not Orchestrator.UNKNOWN else None
        yield ClusterRow(name=case.meta.cluster, kind="told", orchestrator=word)


def node_list(case: Case, *, now: datetime) -> NodeList:
    """Return the nodes of a cluster, those that do not run first.

    Args:
        case: Where they are listed.
        now: The clock.
    """
    look = Look.at(case, Asked(), now)
    found = nodes_of(look.case)
    orchestrator = orchestrator_of(look.case, found)
    listed = read_nodes(look.aws, look.case.meta.cluster)
    instances = read_instances(look.aws, look.case.meta.cluster)
    # EC2 does not show the instances of HyperPod: asking for their checks would bring others'.
    checks = None if orchestrator.is_hyperpod else read_instance_health(look.aws)
    by_node = _Known(listed, instances, checks)
    rows = tuple(sorted((by_node.row(one) for one in found), key=_order))
    answers = look.answers()
    state = state_of(len(rows), of_operations(answers, *_deciding(orchestrator)))
    states = ", ".join(f"{n} {word}" for word, n in counts_of(_state(r) for r in rows).items())
    none = told(state, "the cluster has no nodes", "the nodes are")
    return NodeList(
        **look.common(len(rows), answers, state, has_window=False),
        headline=f"{counted(len(rows), 'node')}: {states}" if rows else none,
        orchestrator=orchestrator.value,
        groups=grouped(rows, _alike, lambda row: row.node),
        rows=rows,
    )


class _Known:
    """What the platform's lists say of each node."""

    def __init__(
        self,
        listed: Envelope[tuple[HyperPodNode, ...]],
        instances: Envelope[tuple[Instance, ...]],
        checks: Envelope[tuple[InstanceHealth, ...]] | None,
    ) -> None:
        self._listed = {one.id: one for one in values(listed)}
        self._instances = {one.id: one for one in values(instances)}
        self._checks = {one.id: one for one in values(checks)}

    def row(self, node: CaseNode) -> ListedNode:
        """Return a node with what these lists add."""
        base = ListedNode(
            node=node.node,
            group=node.instance_group,
            instance_type=node.instance_type,
            state=node.state,
            launched=node.launched_at,
            left=node.left_at,
            host=node.host,
            known_from=node.known_from,
        )
        more: dict[str, object] = {}
        listed, instance = self._listed.get(node.node), self._instances.get(node.node)
        if listed is not None:
            more |= {
                "message": listed.message,
                "updated": listed.updated_at,
                "logical": listed.logical,
                "release": listed.release,
                "evidence": listed.evidence,
            }
        if instance is not None:
            more |= {
                "message": more.get("message") or instance.reason or None,
                "reservation": instance.reservation,
                "zone": instance.zone,
                "evidence": more.get("evidence") or instance.evidence,
            }
        health = self._checks.get(node.node)
        if health is not None and health.is_impaired:
            words = f"instance {health.instance_status}, system {health.system_status}"
            more["status_checks"] = words
        return base.model_copy(update=more)


def _deciding(orchestrator: Orchestrator) -> Sequence[str]:
    if orchestrator.is_hyperpod:
        return ("sagemaker:ListClusterNodes",)
    if orchestrator is Orchestrator.UNKNOWN:
        return ("sagemaker:ListClusterNodes", "ec2:DescribeInstances")
    return ("ec2:DescribeInstances",)


def _state(row: ListedNode) -> str:
    return row.state or "state not told"


def _alike(row: ListedNode) -> str:
    parts = (row.group or "no group told", row.instance_type or "type not told", _state(row))
    return ", ".join(parts)


def _order(row: ListedNode) -> tuple[bool, str, str]:
    runs = _state(row).lower() in _RUNNING and row.status_checks is None
    return (runs, row.group or "", row.node)
