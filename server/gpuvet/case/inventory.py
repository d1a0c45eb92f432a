"""The nodes of a case: who they are, from every source that names them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from gpuvet.aws.door import AwsDoor, NodeName, Page
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import Case
from gpuvet.case.cluster_facts import CLUSTER_TAG
from gpuvet.case.held_logs import UNATTRIBUTED
from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.case import GONE_STATES, Accelerator, CaseNode, NodeReading
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Envelope
from gpuvet.model.untyped import object_at, objects_at, text_at

Json = Mapping[str, Any]

# For types the catalog lacks: families with GPUs (p, g, gr) or Neuron devices (trn, inf).
_ACCELERATED = re.compile(r"(?:ml\.)?(?:p\d|g\d|gr\d|trn\d|inf\d)[\w-]*\.")
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")


def nodes(case: Case, named: Sequence[tuple[str, str]] = ()) -> tuple[CaseNode, ...]:
    """Return every node that a reply, a table, an object or a log of the case names, sorted.

    A recorded account is asked through its door, as a live one would be.

    Args:
        case: Where the evidence comes from.
        named: Further nodes that lines name, each with the stream it stands in.
    """
    seen: dict[str, CaseNode] = {}
    for found in (*_everywhere(case), *(CaseNode(node=n, known_from=(s,)) for n, s in named)):
        before = seen.get(found.node)
        seen[found.node] = found if before is None else _joined(before, found)
    default, types = case.meta.orchestrator, _types(case)
    return tuple(_finished(seen[name], default, types) for name in sorted(seen))


def node_names(found: Sequence[CaseNode]) -> tuple[NodeName, ...]:
    """Return the names to look for in stream names."""
    return tuple(NodeName(node=node.node, aliases=node.aliases) for node in found)


def _everywhere(case: Case) -> Iterator[CaseNode]:
    yield from hyperpod_nodes(case.aws, case.meta.cluster)
    yield from ec2_nodes(case.aws, case.meta.cluster)
    for reading in case.facts.nodes:
        if reading.node != UNATTRIBUTED:
            yield reading_node(reading)
    for node, source in case.named:
        yield CaseNode(node=node, known_from=(source,))


def listings(case: Case) -> tuple[Envelope[tuple[Page, ...]], ...]:
    """Return the readings that list the nodes of a case, with how far each got."""
    cluster = case.meta.cluster
    return _hyperpod_listing(case.aws, cluster), _ec2_listing(case.aws, cluster)


def _hyperpod_listing(door: AwsDoor, cluster: str | None) -> Envelope[tuple[Page, ...]]:
    params = {"ClusterName": cluster} if cluster else {}
    # With logical ids, as whoever links replaced nodes asks: a fleet's pages are read once.
    answer = door.read("sagemaker:ListClusterNodes", {"IncludeNodeLogicalIds": True, **params})
    if answer.status.is_complete:
        return answer
    return door.read("sagemaker:ListClusterNodes", params)


def _ec2_listing(door: AwsDoor, cluster: str | None) -> Envelope[tuple[Page, ...]]:
    filters = [{"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]}] if cluster else []
    return door.read("ec2:DescribeInstances", {"Filters": filters} if filters else {})


def hyperpod_nodes(door: AwsDoor, cluster: str | None) -> Iterator[CaseNode]:
    """Yield the nodes that SageMaker lists of a cluster."""
    for page in _hyperpod_listing(door, cluster).value or ():
        for row in objects_at(page, "ClusterNodeSummaries"):
            node = text_at(row, "InstanceId")
            if node is None:
                continue
            yield CaseNode(
                node=node,
                host=text_at(row, "PrivateDnsHostname"),
                aliases=_aliases(text_at(row, "PrivateDnsHostname"), f"hyperpod-{node}"),
                instance_group=text_at(row, "InstanceGroupName"),
                instance_type=text_at(row, "InstanceType"),
                launched_at=as_datetime(row.get("LaunchTime")),
                state=text_at(object_at(row, "InstanceStatus"), "Status"),
                known_from=("sagemaker:ListClusterNodes",),
            )


def ec2_nodes(door: AwsDoor, cluster: str | None) -> Iterator[CaseNode]:
    """Yield the instances that EC2 describes; of a named cluster those that carry its tag."""
    answer = _ec2_listing(door, cluster)
    reserved = _reserved_types(door)
    for page in answer.value or ():
        for reservation in objects_at(page, "Reservations"):
            for row in objects_at(reservation, "Instances"):
                node = _instance(row)
                if node is not None:
                    kind = reserved.get(text_at(row, "CapacityReservationId") or "")
                    yield node.model_copy(update={"instance_type": node.instance_type or kind})


def _reserved_types(door: AwsDoor) -> dict[str, str]:
    """Return the instance type of each reservation: all instances in one are of its type."""
    answer = door.read("ec2:DescribeCapacityReservations", {})
    rows = (row for page in answer.value or () for row in objects_at(page, "CapacityReservations"))
    pairs = ((text_at(r, "CapacityReservationId"), text_at(r, "InstanceType")) for r in rows)
    return {name: kind for name, kind in pairs if name and kind}


def _instance(row: Json) -> CaseNode | None:
    node = text_at(row, "InstanceId")
    if node is None:
        return None
    host, address = text_at(row, "PrivateDnsName"), text_at(row, "PrivateIpAddress")
    tags = {text_at(tag, "Key"): text_at(tag, "Value") for tag in objects_at(row, "Tags")}
    state = text_at(object_at(row, "State"), "Name")
    return CaseNode(
        node=node,
        host=host.partition(".")[0] if host else tags.get("Name"),
        aliases=_aliases(host, address, f"ip-{address.replace('.', '-')}" if address else None),
        instance_group=tags.get("parallelcluster:compute-resource-name"),
        instance_type=text_at(row, "InstanceType"),
        launched_at=as_datetime(row.get("LaunchTime")),
        left_at=_changed_at(row) if state in GONE_STATES else None,
        created_at=_created_at(row),
        stopped_at=_changed_at(row) if state == "stopped" else None,
        state=state,
        orchestrator=Orchestrator.PARALLELCLUSTER if CLUSTER_TAG in tags else Orchestrator.UNKNOWN,
        known_from=("ec2:DescribeInstances",),
    )


def _changed_at(row: Json) -> datetime | None:
    """Return when an instance ended or stopped, from the reason of its last transition."""
    found = _TRANSITION.search(text_at(row, "StateTransitionReason") or "")
    return as_datetime(found[1]) if found else None


def _created_at(row: Json) -> datetime | None:
    """Return when an instance was first started: its root volume's or first card's attach time."""
    root = text_at(row, "RootDeviceName")
    volumes = (
        object_at(one, "Ebs")
        for one in objects_at(row, "BlockDeviceMappings")
        if root is not None and text_at(one, "DeviceName") == root
    )
    cards = (object_at(one, "Attachment") for one in objects_at(row, "NetworkInterfaces"))
    first = (one for one in cards if one.get("DeviceIndex") == 0)
    times = (as_datetime(one.get("AttachTime")) for one in (*volumes, *first))
    return min((at for at in times if at is not None), default=None)


def reading_node(reading: NodeReading) -> CaseNode:
    """Return what an operator's reading says of who a node is."""
    return CaseNode(
        node=reading.node,
        host=reading.host,
        aliases=_aliases(reading.host, *reading.aliases),
        instance_type=reading.instance_type,
        gpu_expected=reading.gpu_expected,
        driver_version=reading.driver_version,
        driver_open=reading.driver_open,
        launched_at=reading.launched_at,
        left_at=reading.left_at,
        state=reading.facts.status,
        known_from=reading.files,
    )


def _aliases(*names: str | None) -> tuple[str, ...]:
    """Return names and their short forms, each once."""
    every = (part for name in names if name for part in (name, _short(name)))
    return tuple(dict.fromkeys(every))


def _short(name: str) -> str:
    return name if name.replace(".", "").isdigit() else name.partition(".")[0]


def _joined(one: CaseNode, other: CaseNode) -> CaseNode:
    """Return what two sources say together; the first one has the word where both speak."""
    known = {
        name: value
        for name in type(one).model_fields
        if (value := getattr(one, name)) not in {None, Accelerator.UNKNOWN, Orchestrator.UNKNOWN}
        and name not in {"aliases", "known_from"}
    }
    return other.model_copy(
        update={
            **known,
            "aliases": tuple(dict.fromkeys((*one.aliases, *other.aliases))),
            "known_from": tuple(dict.fromkeys((*one.known_from, *other.known_from))),
        }
    )


def _types(case: Case) -> dict[str | None, str]:
    """Return instance types by group, and under None the type of a cluster that has just one."""
    by_group: dict[str | None, str] = {}
    params = {"ClusterName": case.meta.cluster} if case.meta.cluster else {}
    for page in case.aws.read("sagemaker:DescribeCluster", params).value or ():
        for group in objects_at(page, "InstanceGroups"):
            name, kind = text_at(group, "InstanceGroupName"), text_at(group, "InstanceType")
            if name is not None and kind is not None:
                by_group[name] = kind
    kinds = set(by_group.values())
    return {**by_group, None: kinds.pop()} if len(kinds) == 1 else by_group


def _finished(node: CaseNode, default: Orchestrator, types: Mapping[str | None, str]) -> CaseNode:
    kind = node.instance_type or types.get(node.instance_group) or types.get(None)
    accelerator = node.accelerator
    if kind is not None:
        listed = instance_type(kind)
        is_one = _ACCELERATED.match(kind) is not None
        if listed is not None:
            is_one = listed.gpus + listed.neuron_devices > 0
        accelerator = Accelerator.YES if is_one else Accelerator.NO
    own = node.orchestrator if node.orchestrator is not Orchestrator.UNKNOWN else default
    update = {"instance_type": kind, "accelerator": accelerator, "orchestrator": own}
    return node.model_copy(update=update)
