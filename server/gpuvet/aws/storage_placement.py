"""Where a cluster says its storage and its nodes are, to tie a file system to a job."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuvet.aws.door import AwsDoor
from gpuvet.calculators.fsx_link import Placement
from gpuvet.model.untyped import is_array, object_at, objects_at, text_at

# ec2:DescribeInstances takes at most 200 values a filter (EC2 API reference).
_MOST_IDS = 200
_GROUPS = ("InstanceGroups", "RestrictedInstanceGroups")


def cluster_placement(door: AwsDoor, cluster: str) -> Placement:
    """Return the storage and subnets of a HyperPod cluster; empty where they could not be read."""
    answer = door.read("sagemaker:DescribeCluster", {"ClusterName": cluster})
    names: dict[str, None] = {}
    subnets: dict[str, None] = {}
    for page in answer.value or ():
        subnets.update(dict.fromkeys(_texts(object_at(page, "VpcConfig"), "Subnets")))
        for group in (g for key in _GROUPS for g in objects_at(page, key)):
            own = object_at(group, "OverrideVpcConfig")
            subnets.update(dict.fromkeys(_texts(own, "Subnets")))
            names.update(dict.fromkeys(_dns_names(group)))
    return Placement(dns_names=tuple(names), subnets=tuple(subnets))


def _dns_names(group: Mapping[str, Any]) -> Iterator[str]:
    for storage in objects_at(group, "InstanceStorageConfigs"):
        name = text_at(object_at(storage, "FsxLustreConfig"), "DnsName")
        if name is not None:
            yield name


def _texts(document: Mapping[str, Any], name: str) -> list[str]:
    found = document.get(name)
    return [one for one in found if isinstance(one, str)] if is_array(found) else []


def instance_placement(door: AwsDoor, instances: Sequence[str]) -> Placement:
    """Return VPCs and subnets of EC2 instances; empty where they could not be read."""
    vpcs: dict[str, None] = {}
    subnets: dict[str, None] = {}
    for first in range(0, len(instances), _MOST_IDS):
        ids = list(instances[first : first + _MOST_IDS])
        params = {"Filters": [{"Name": "instance-id", "Values": ids}]}
        answer = door.read("ec2:DescribeInstances", params)
        rows = (
            row
            for page in answer.value or ()
            for reservation in objects_at(page, "Reservations")
            for row in objects_at(reservation, "Instances")
            if text_at(row, "InstanceId") in ids
        )
        for row in rows:
            vpcs |= {vpc: None for vpc in (text_at(row, "VpcId"),) if vpc}
            subnets |= {subnet: None for subnet in (text_at(row, "SubnetId"),) if subnet}
    return Placement(vpcs=tuple(vpcs), subnets=tuple(subnets))
