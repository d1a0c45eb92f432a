"""Capacity Blocks beside their reservations, and offers to extend them. Nothing is bought."""

from gpuvet.aws.answers import Row, read_rows
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope
from gpuvet.model.readiness import CapacityBlock, Offering
from gpuvet.model.untyped import is_array, text_at, whole_at


def read_blocks(door: AwsDoor) -> Envelope[tuple[CapacityBlock, ...]]:
    """Return every Capacity Block: it tells which of them are UltraServers."""
    return read_rows(door, "ec2:DescribeCapacityBlocks", {}, "CapacityBlocks", _block)


def _block(row: Row, _: str) -> CapacityBlock | None:
    name = text_at(row, "CapacityBlockId")
    listed = row.get("CapacityReservationIds")
    ids = [one for one in listed if isinstance(one, str)] if is_array(listed) else []
    if name is None:
        return None
    return CapacityBlock(
        id=name, ultraserver=text_at(row, "UltraserverType"), reservations=tuple(ids)
    )


def read_offerings(door: AwsDoor, reservation: str, hours: int) -> Envelope[tuple[Offering, ...]]:
    """Return the offers to extend a Capacity Block by some hours.

    Args:
        door: The AWS door.
        reservation: Id of the block's reservation.
        hours: A multiple of 24.
    """
    return read_rows(
        door,
        "ec2:DescribeCapacityBlockExtensionOfferings",
        {"CapacityReservationId": reservation, "CapacityBlockExtensionDurationHours": hours},
        "CapacityBlockExtensionOfferings",
        lambda row, _: Offering(
            reservation=reservation,
            hours=whole_at(row, "CapacityBlockExtensionDurationHours") or hours,
            end=as_datetime(row.get("CapacityBlockExtensionEndDate")),
            instances=whole_at(row, "InstanceCount"),
        ),
    )
