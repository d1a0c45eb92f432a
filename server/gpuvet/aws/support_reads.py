"""Small reads that a run depends on: log retention, Prometheus workspaces, keys, node places."""

from collections.abc import Sequence
from typing import Any

from gpuvet.aws.answers import read_rows, with_value
from gpuvet.aws.door import AwsDoor
from gpuvet.model.evidence import Envelope
from gpuvet.model.readiness import GroupRetention, KeyState, NodePlace, Workspace
from gpuvet.model.untyped import is_object, object_at, text_at, whole_at


def read_retention(door: AwsDoor, groups: Sequence[str]) -> Envelope[tuple[GroupRetention, ...]]:
    """Return how long these log groups keep lines; asked one by one, by exact prefix."""
    found: list[GroupRetention] = []
    last: Envelope[Any] | None = None
    for name in groups:
        answer = read_rows(
            door,
            "logs:DescribeLogGroups",
            {"logGroupNamePrefix": name},
            "logGroups",
            lambda row, _: GroupRetention(
                name=text_at(row, "logGroupName") or "",
                days=whole_at(row, "retentionInDays"),
                key=text_at(row, "kmsKeyId"),
            ),
        )
        found += [one for one in answer.value or () if one.name == name]
        if last is None or not answer.status.is_complete:
            last = answer
    if last is None:
        msg = "no log group was named"
        raise ValueError(msg)
    return with_value(last, tuple(found))


def read_workspaces(door: AwsDoor) -> Envelope[tuple[Workspace, ...]]:
    """Return the Managed Prometheus workspaces of the region."""
    return read_rows(
        door,
        "amp:ListWorkspaces",
        {},
        "workspaces",
        lambda row, _: Workspace(
            id=text_at(row, "workspaceId") or "",
            alias=text_at(row, "alias"),
            status=text_at(object_at(row, "status"), "statusCode"),
        ),
    )


def read_key(door: AwsDoor, key: str, used_by: str = "") -> Envelope[KeyState]:
    """Return the state of a KMS key; not in the minimal policy, so a denial is expected."""
    answer = door.read("kms:DescribeKey", {"KeyId": key})
    row = next((object_at(page, "KeyMetadata") for page in answer.value or ()), None)
    found = (
        None if row is None else KeyState(key=key, used_by=used_by, state=text_at(row, "KeyState"))
    )
    return with_value(answer, found)


def read_place(door: AwsDoor, cluster: str | None, node: str) -> Envelope[NodePlace]:
    """Return where a HyperPod node runs, its images, and its Kubernetes labels."""
    params = {"NodeId": node} | ({"ClusterName": cluster} if cluster else {})
    answer = door.read("sagemaker:DescribeClusterNode", params)
    row = next((object_at(page, "NodeDetails") for page in answer.value or ()), None)
    if row is None:
        return with_value(answer, None)
    place = object_at(row, "Placement")
    labels = object_at(row, "KubernetesConfig").get("CurrentLabels")
    pairs = labels.items() if is_object(labels) else ()
    found = NodePlace(
        node=node,
        zone=text_at(place, "AvailabilityZone"),
        zone_id=text_at(place, "AvailabilityZoneId"),
        image=text_at(row, "CurrentImageId"),
        wanted_image=text_at(row, "DesiredImageId"),
        labels=tuple(sorted((str(key), str(value)) for key, value in pairs)),
    )
    return with_value(answer, found)
