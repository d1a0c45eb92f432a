"""EKS node groups and add-ons. HyperPod's instance groups are not node groups."""

from collections.abc import Iterator
from typing import Any

from gpuvet.aws.answers import Row, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.model.evidence import Envelope
from gpuvet.model.readiness import Addon, NodeGroup
from gpuvet.model.untyped import is_array, object_at, objects_at, text_at
from gpuvet.parse.untrusted import clean


def read_nodegroups(door: AwsDoor, cluster: str) -> Envelope[tuple[NodeGroup, ...]]:
    """Return the managed node groups of an EKS cluster."""
    listed = door.read("eks:ListNodegroups", {"clusterName": cluster})
    found: list[NodeGroup] = []
    for name in _names(listed, "nodegroups"):
        params = {"clusterName": cluster, "nodegroupName": name}
        answer = door.read("eks:DescribeNodegroup", params)
        if not answer.status.is_complete:
            return with_value(answer, tuple(found) or None)
        found += [_nodegroup(object_at(page, "nodegroup"), name) for page in answer.value or ()]
    return with_value(listed, tuple(found) if found or listed.status.is_complete else None)


def _nodegroup(row: Row, name: str) -> NodeGroup:
    repair = object_at(row, "nodeRepairConfig").get("enabled")
    return NodeGroup(
        name=text_at(row, "nodegroupName") or name,
        status=text_at(row, "status"),
        capacity=text_at(row, "capacityType"),
        instance_types=_texts(row.get("instanceTypes")),
        repair=repair if isinstance(repair, bool) else None,
        issues=tuple(_issues(row)),
        subnets=_texts(row.get("subnets")),
    )


def read_secret_keys(door: AwsDoor, cluster: str) -> Envelope[tuple[str, ...]]:
    """Return the KMS keys that an EKS cluster encrypts its secrets with; most have none."""
    answer = door.read("eks:DescribeCluster", {"name": cluster})
    if answer.value is None:
        return with_value(answer, None)
    configs = (
        one
        for page in answer.value
        for one in objects_at(object_at(page, "cluster"), "encryptionConfig")
    )
    keys = (text_at(object_at(one, "provider"), "keyArn") for one in configs)
    return with_value(answer, tuple(key for key in keys if key))


def read_addons(door: AwsDoor, cluster: str) -> Envelope[tuple[Addon, ...]]:
    """Return the add-ons of an EKS cluster."""
    listed = door.read("eks:ListAddons", {"clusterName": cluster})
    found: list[Addon] = []
    for name in _names(listed, "addons"):
        answer = door.read("eks:DescribeAddon", {"clusterName": cluster, "addonName": name})
        if not answer.status.is_complete:
            return with_value(answer, tuple(found) or None)
        found += [_addon(object_at(page, "addon"), name) for page in answer.value or ()]
    return with_value(listed, tuple(found) if found or listed.status.is_complete else None)


def _addon(row: Row, name: str) -> Addon:
    return Addon(
        name=text_at(row, "addonName") or name,
        status=text_at(row, "status"),
        version=text_at(row, "addonVersion"),
        issues=tuple(_issues(row)),
    )


def _issues(row: Row) -> Iterator[str]:
    for issue in objects_at(object_at(row, "health"), "issues"):
        yield clean(f"{text_at(issue, 'code') or 'issue'}: {text_at(issue, 'message') or ''}")


def _names(answer: Envelope[Any], member: str) -> Iterator[str]:
    for page in answer.value or ():
        yield from _texts(page.get(member))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if is_array(value) else ()
