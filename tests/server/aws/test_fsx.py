"""File systems through the door, whole and trimmed, and where the cluster says they are."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpuvet.aws.fsx import file_systems
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import CallError, RecordedCall
from gpuvet.aws.storage_placement import cluster_placement, instance_placement
from gpuvet.calculators.fsx_link import Placement
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.storage import AdministrativeAction, FileSystem, WeeklyTime

FS = "fs-0123456789abcdef0"


def door(operation: str, answer: dict[str, Any] | CallError) -> RecordedAws:
    return RecordedAws([RecordedCall(operation, {}, (answer,))])


def systems(*rows: dict[str, Any]) -> RecordedAws:
    return door("fsx:DescribeFileSystems", {"FileSystems": list(rows)})


def test_a_whole_reply_is_read() -> None:
    asked = datetime(2026, 7, 1, 10, tzinfo=UTC)
    row = {
        "FileSystemId": FS,
        "FileSystemType": "LUSTRE",
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": 4800,
        "StorageType": "SSD",
        "VpcId": "vpc-1",
        "SubnetIds": ["subnet-1"],
        "DNSName": f"{FS}.fsx.us-west-2.amazonaws.com",
        "LustreConfiguration": {
            "DeploymentType": "PERSISTENT_2",
            "PerUnitStorageThroughput": 125,
            "WeeklyMaintenanceStartTime": "1:05:30",
            "MountName": "abcdefgh",
            "MetadataConfiguration": {"Mode": "AUTOMATIC", "Iops": 6000},
        },
        "AdministrativeActions": [
            {
                "AdministrativeActionType": "FILE_SYSTEM_UPDATE",
                "Status": "IN_PROGRESS",
                "RequestTime": asked,
                "ProgressPercent": 40,
            }
        ],
    }
    assert file_systems(systems(row)).value == (
        FileSystem(
            id=FS,
            lifecycle="AVAILABLE",
            capacity_gib=4800,
            storage_type="SSD",
            vpc="vpc-1",
            subnets=("subnet-1",),
            dns_name=f"{FS}.fsx.us-west-2.amazonaws.com",
            mount_name="abcdefgh",
            deployment="PERSISTENT_2",
            throughput_per_tib=125,
            maintenance=WeeklyTime(weekday=1, hour=5, minute=30),
            metadata_mode="AUTOMATIC",
            metadata_iops=6000,
            actions=(
                AdministrativeAction(
                    kind="FILE_SYSTEM_UPDATE",
                    status="IN_PROGRESS",
                    requested_at=asked,
                    progress_percent=40,
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            {"FileSystemId": FS, "LustreConfiguration": {"DeploymentType": "SCRATCH_2"}},
            (FileSystem(id=FS, deployment="SCRATCH_2"),),
            id="a trimmed one is Lustre by its configuration",
        ),
        pytest.param(
            {"FileSystemId": FS, "FileSystemType": "ONTAP"}, (), id="another type is none"
        ),
        pytest.param({"FileSystemId": "$(reboot)", "FileSystemType": "LUSTRE"}, (), id="no id"),
    ],
)
def test_what_counts_as_a_lustre_file_system(
    row: dict[str, Any], expected: tuple[FileSystem, ...]
) -> None:
    assert file_systems(systems(row)).value == expected


@pytest.mark.parametrize("word", ["8:05:00", "1:24:00", "monday", ""])
def test_a_maintenance_time_that_cannot_be_read_is_not_read(word: str) -> None:
    row = {
        "FileSystemId": FS,
        "LustreConfiguration": {"WeeklyMaintenanceStartTime": word, "DeploymentType": "SCRATCH_1"},
    }
    found = file_systems(systems(row)).value
    assert found == (FileSystem(id=FS, deployment="SCRATCH_1"),)


def test_none_and_denied_are_two_things() -> None:
    none = file_systems(systems())
    denied = file_systems(door("fsx:DescribeFileSystems", CallError("AccessDeniedException", "")))
    asked = file_systems(RecordedAws())
    assert (none.status, none.value) == (Status.OK_EMPTY, ())
    assert (denied.status, denied.reason, denied.value) == (Status.UNVERIFIED, Reason.DENIED, None)
    assert (asked.status, asked.reason) == (Status.NOT_CHECKED, Reason.NOT_RECORDED)


def test_a_hyperpod_cluster_names_the_storage_of_its_groups() -> None:
    name = f"{FS}.fsx.us-west-2.amazonaws.com"
    groups = [
        {"InstanceStorageConfigs": [{"FsxLustreConfig": {"DnsName": name, "MountName": "a"}}]},
        {"OverrideVpcConfig": {"Subnets": ["subnet-2"]}},
    ]
    reply = {"InstanceGroups": groups, "VpcConfig": {"Subnets": ["subnet-1"]}}
    assert cluster_placement(door("sagemaker:DescribeCluster", reply), "c") == Placement(
        dns_names=(name,), subnets=("subnet-1", "subnet-2")
    )


def test_instances_say_where_they_are_and_foreign_ones_are_left_out() -> None:
    rows = [
        {"InstanceId": "i-0aaa0000000000001", "VpcId": "vpc-1", "SubnetId": "subnet-1"},
        {"InstanceId": "i-0bbb0000000000002", "VpcId": "vpc-2", "SubnetId": "subnet-2"},
    ]
    aws = door("ec2:DescribeInstances", {"Reservations": [{"Instances": rows}]})
    assert instance_placement(aws, ["i-0aaa0000000000001"]) == Placement(
        vpcs=("vpc-1",), subnets=("subnet-1",)
    )


def test_what_could_not_be_read_places_nothing() -> None:
    assert cluster_placement(RecordedAws(), "c") == Placement()
    assert instance_placement(RecordedAws(), ["i-0aaa0000000000001"]) == Placement()
