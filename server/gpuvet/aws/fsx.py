"""FSx for Lustre file systems through the AWS door."""

import re
from collections.abc import Mapping
from typing import Any

from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.storage import AdministrativeAction, FileSystem, WeeklyTime
from gpuvet.model.untyped import is_array, object_at, objects_at, text_at, whole_at

_WEEKLY = re.compile(r"([1-7]):([01]\d|2[0-3]):([0-5]\d)")
_ID = re.compile(r"fs-[0-9a-f]{8,40}")


def file_systems(door: AwsDoor) -> Envelope[tuple[FileSystem, ...]]:
    """Return every Lustre file system of the account and region; other types are left out."""
    answer = door.read("fsx:DescribeFileSystems", {})
    found = tuple(
        system
        for page in answer.value or ()
        for row in objects_at(page, "FileSystems")
        if (system := _file_system(row)) is not None
    )
    is_empty = answer.status is Status.OK and not found
    return Envelope[tuple[FileSystem, ...]](
        service=answer.service,
        operation=answer.operation,
        account=answer.account,
        region=answer.region,
        params=answer.params,
        called_at=answer.called_at,
        status=Status.OK_EMPTY if is_empty else answer.status,
        reason=answer.reason,
        error_code=answer.error_code,
        value=found if answer.value is not None or answer.status.is_complete else None,
        pages=answer.pages,
        notes=answer.notes,
    )


def _file_system(row: Mapping[str, Any]) -> FileSystem | None:
    lustre = object_at(row, "LustreConfiguration")
    kind = text_at(row, "FileSystemType") or ("LUSTRE" if lustre else None)
    name = text_at(row, "FileSystemId")
    if kind != "LUSTRE" or name is None or _ID.fullmatch(name) is None:
        return None
    metadata = object_at(lustre, "MetadataConfiguration")
    subnets = row.get("SubnetIds")
    return FileSystem(
        id=name,
        lifecycle=text_at(row, "Lifecycle"),
        capacity_gib=whole_at(row, "StorageCapacity"),
        storage_type=text_at(row, "StorageType"),
        vpc=text_at(row, "VpcId"),
        subnets=tuple(str(one) for one in subnets) if is_array(subnets) else (),
        dns_name=text_at(row, "DNSName"),
        mount_name=text_at(lustre, "MountName"),
        deployment=text_at(lustre, "DeploymentType"),
        throughput_per_tib=whole_at(lustre, "PerUnitStorageThroughput"),
        maintenance=_weekly(text_at(lustre, "WeeklyMaintenanceStartTime")),
        metadata_mode=text_at(metadata, "Mode"),
        metadata_iops=whole_at(metadata, "Iops"),
        actions=_actions(row),
        kms_key=text_at(row, "KmsKeyId"),
    )


def _weekly(text: str | None) -> WeeklyTime | None:
    found = _WEEKLY.fullmatch(text or "")
    if found is None:
        return None
    return WeeklyTime(weekday=int(found[1]), hour=int(found[2]), minute=int(found[3]))


def _actions(row: Mapping[str, Any]) -> tuple[AdministrativeAction, ...] | None:
    if not is_array(row.get("AdministrativeActions")):
        return None
    return tuple(
        AdministrativeAction(
            kind=text_at(one, "AdministrativeActionType") or "unknown",
            status=text_at(one, "Status") or "unknown",
            requested_at=as_datetime(one.get("RequestTime")),
            progress_percent=whole_at(one, "ProgressPercent"),
        )
        for one in objects_at(row, "AdministrativeActions")
    )
