"""nvidia-smi output becomes facts; what it does not say was not read."""

from datetime import UTC, datetime

import pytest

from gpuvet.model.cluster import Flag, GpuFacts
from gpuvet.parse.nvidia_smi import SmiReading, parse_nvidia_smi

READ_AT = datetime(2026, 3, 18, 8, 50, tzinfo=UTC)
UUID = "GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901"
OTHER = "GPU-2b2c3d4e-5f60-7182-93a4-b5c6d7e8f902"

WHOLE = f"""
==============NVSMI LOG==============

Timestamp                                 : Wed Mar 18 08:50:00 2026
Driver Version                            : 570.133.20
CUDA Version                              : 12.8

Attached GPUs                             : 8
GPU 00000000:53:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Serial Number                         : 1650000000001
    GPU UUID                              : {UUID}
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Threshold Exceeded       : N/A
        Aggregate
            SRAM Uncorrectable Parity     : 0
            SRAM Threshold Exceeded       : Yes
        Channel Repair Pending            : No
        TPC Repair Pending                : Yes
        Unrepairable Memory               : No
    Retired Pages
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 3
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 2557 bank(s)
            High                          : 0 bank(s)
            Partial                       : 1 bank(s)
            Low                           : 2 bank(s)
            None                          : 1 bank(s)
    Fabric
        State                             : Completed
        Status                            : Success
        Health
            Summary                       : Healthy
GPU 00000000:64:00.0
    GPU UUID                              : {OTHER}
    Serial Number                         : N/A
    ECC Errors
        Aggregate
            SRAM Threshold Exceeded       : Unknown Error
    Remapped Rows                         : N/A
    Fabric
        State                             : N/A
        Status                            : N/A
"""


def bare(gpu: GpuFacts) -> dict[str, object]:
    return gpu.model_dump(exclude={"raw"}, exclude_defaults=True)


def test_a_whole_output_is_read_gpu_by_gpu() -> None:
    reading = parse_nvidia_smi(WHOLE, read_at=READ_AT)
    assert (reading.driver_version, reading.attached, reading.gpus_seen) == ("570.133.20", 8, 8)
    assert [bare(gpu) for gpu in reading.gpus] == [
        {
            "pci": "0000:53:00",
            "uuid": UUID,
            "serial": "1650000000001",
            "remap_pending": Flag.YES,
            "remap_failed": Flag.NO,
            "remapped_uncorrectable": 3,
            "sram_threshold_exceeded": Flag.YES,
            "unrepairable_memory": Flag.NO,
            "channel_repair_pending": Flag.NO,
            "tpc_repair_pending": Flag.YES,
            "banks_low": 3,
            "fabric_state": "Completed",
            "fabric_status": "Success",
            "read_at": READ_AT,
        },
        {"pci": "0000:64:00", "uuid": OTHER, "read_at": READ_AT},
    ]
    assert "        Pending                           : Yes" in reading.gpus[0].raw


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "GPU 00000000:53:00.0\n    Remapped Rows\n        Pending        : No\n",
            {"pci": "0000:53:00", "remap_pending": Flag.NO},
            id="ROW_REMAPPER excerpt",
        ),
        pytest.param(
            "        Pending                           : No\n"
            "        Remapping Failure Occurred        : Yes\n",
            {"remap_pending": Flag.NO, "remap_failed": Flag.YES},
            id="grep without headings",
        ),
        pytest.param(
            "$ nvidia-smi -q -d ROW_REMAPPER | grep -E 'Pending|Failure'\n"
            "        Pending                           : No\n",
            {"remap_pending": Flag.NO},
            id="transcript",
        ),
        pytest.param(
            "GPU 00000000:53:00.0\n    ECC Mode\n        Pending   : Enabled\n",
            {"pci": "0000:53:00"},
            id="ECC mode pending is no remap",
        ),
        pytest.param(
            "GPU 00000000:53:00.0\n    Fabric\n        State   : In Progress\n",
            {"pci": "0000:53:00", "fabric_state": "In Progress"},
            id="FABRIC excerpt",
        ),
    ],
)
def test_an_excerpt_says_what_it_holds(text: str, expected: dict[str, object]) -> None:
    (gpu,) = parse_nvidia_smi(text).gpus
    assert bare(gpu) == expected


@pytest.mark.parametrize(
    "value", ["N/A", "[N/A]", "Unknown Error", "[Unknown Error]", "", "Not Supported", "Maybe"]
)
def test_what_is_not_yes_or_no_was_not_read(value: str) -> None:
    text = f"GPU 00000000:53:00.0\n    Remapped Rows\n        Pending : {value}\n"
    (gpu,) = parse_nvidia_smi(text).gpus
    assert gpu.remap_pending is Flag.NOT_READ


def test_a_list_counts_the_gpus_that_answered() -> None:
    text = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\nGPU 1: NVIDIA H100 (UUID: {OTHER})\n"
    reading = parse_nvidia_smi(text)
    assert (reading.listed, reading.gpus_seen) == (2, 2)
    assert [gpu.uuid for gpu in reading.gpus] == [UUID, OTHER]


def test_a_counted_list_in_a_transcript_is_a_count() -> None:
    assert parse_nvidia_smi("$ nvidia-smi -L | wc -l\n7\n").gpus_seen == 7


def test_links_are_counted_active_and_inactive() -> None:
    text = (
        f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n"
        "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t Link 2: <inactive>\n"
    )
    (gpu,) = parse_nvidia_smi(text).gpus
    assert (gpu.links_active, gpu.links_inactive) == (1, 2)


def test_a_gpu_that_cannot_be_opened_and_a_corrupted_inforom_are_named() -> None:
    text = (
        "Unable to determine the device handle for GPU0000:53:00.0: Unknown Error\n"
        "WARNING: infoROM is corrupted at gpu 0000:64:00.0\n"
    )
    assert parse_nvidia_smi(text) == SmiReading(
        no_handle=("0000:53:00",), inforom_corrupted=("0000:64:00",)
    )


@pytest.mark.parametrize("text", ["", "\n\n", ":", "GPU", "x" * 100_000, "\x00: \ud800"])
def test_anything_else_says_nothing(text: str) -> None:
    assert parse_nvidia_smi(text) == SmiReading()
