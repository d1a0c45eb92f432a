"""Timestamps of recorded replies: text or numbers to aware datetimes, as boto3 gives them.

The live door gets datetimes from botocore; a recording holds ISO 8601 text (or, from older
command lines, epoch seconds). Which members are times is a table, so that no service model has
to be loaded. CloudWatch Logs keeps its integers: its times are milliseconds by contract.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gpuvet.model.untyped import is_array, is_object

# Every `timestamp` member in the outputs of the operations of reads.py (botocore 1.44.8). No
# member of these names has another type anywhere in them; a test compares.
TIME_MEMBERS = frozenset(
    {
        "AlarmConfigurationUpdatedTimestamp",
        "AttachTime",
        "CapacityBlockExtensionEndDate",
        "CapacityBlockExtensionPurchaseDate",
        "CapacityBlockExtensionStartDate",
        "CommitmentEndDate",
        "CreateDate",
        "CreationDate",
        "CreationTime",
        "CreationTimestamp",
        "DeletionDate",
        "ElasticInferenceAcceleratorAssociationTime",
        "EndDate",
        "EndTime",
        "EventTime",
        "ImpairedSince",
        "LastSoftwareUpdateTime",
        "LaunchTime",
        "NextPatchDate",
        "NotAfter",
        "NotBefore",
        "NotBeforeDeadline",
        "OriginalStartDate",
        "RequestTime",
        "StartDate",
        "StartTime",
        "StateTransitionedTimestamp",
        "StateUpdatedTimestamp",
        "Timestamp",
        "Timestamps",
        "UsageOperationUpdateTime",
        "ValidTo",
        "activationExpiry",
        "createdAt",
        "endTime",
        "lastUpdatedTime",
        "modifiedAt",
        "startTime",
    }
)


def as_datetime(value: object) -> datetime | None:
    """Return a UTC datetime for ISO 8601 text, epoch seconds or a datetime; None for the rest."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _from_epoch(seconds: float) -> datetime | None:
    if not math.isfinite(seconds):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def with_datetimes(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply whose time members are aware datetimes; unreadable ones stay as they are."""
    return {name: _converted(name, value) for name, value in reply.items()}


def _converted(name: str, value: object) -> object:
    if is_object(value):
        return with_datetimes(value)
    if is_array(value):
        return [_converted(name, item) for item in value]
    if name in TIME_MEMBERS:
        at = as_datetime(value)
        return value if at is None else at
    return value
