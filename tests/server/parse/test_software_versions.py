"""Versions of CUDA, the EFA installer and the kernel, as programs print them."""

from datetime import UTC, datetime

import pytest

from gpuvet.model.software import Component
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_log import parse_nccl
from gpuvet.parse.software_versions import VersionText, read_versions

NOW = datetime(2026, 8, 19, tzinfo=UTC)
CUDA, DRIVER, EFA, KERNEL = (
    Component.CUDA,
    Component.CUDA_DRIVER,
    Component.EFA_INSTALLER,
    Component.KERNEL,
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NCCL version 2.23.4+cuda12.6", [VersionText(CUDA, "12.6")]),
        (
            "ip-10-0-0-7:812:812 [0] NCCL INFO NCCL version 2.26.2+cuda12.8",
            [VersionText(CUDA, "12.8", "ip-10-0-0-7")],
        ),
        (
            "ip-10-0-0-7:812:812 [0] NCCL INFO cudaDriverVersion 12080",
            [VersionText(DRIVER, "12.8", "ip-10-0-0-7")],
        ),
        ("Cuda compilation tools, release 12.8, V12.8.93", [VersionText(CUDA, "12.8")]),
        ("CUDA used to build PyTorch: 12.6", [VersionText(CUDA, "12.6")]),
        (
            "| NVIDIA-SMI 570.86.15    Driver Version: 570.86.15   CUDA Version: 12.8     |",
            [VersionText(DRIVER, "12.8")],
        ),
        ("CUDA Version                          : 13.0", [VersionText(DRIVER, "13.0")]),
        ("# EFA installer version: 1.41.0", [VersionText(EFA, "1.41.0")]),
        ("Downloading aws-efa-installer-1.44.0.tar.gz", [VersionText(EFA, "1.44.0")]),
        (
            "Linux ip-10-0-0-7 6.8.0-1021-aws #23 SMP x86_64 GNU/Linux",
            [VersionText(KERNEL, "6.8.0")],
        ),
        ("CUDA error: out of memory", []),
        ("NCCL version unknown", []),
    ],
)
def test_a_line_names_versions(line: str, said: list[VersionText]) -> None:
    assert list(read_versions(line)) == said


def test_versions_keep_whose_stream_they_stand_in() -> None:
    lines = [RawLine("2026-08-19T10:00:00Z NCCL version 2.26.2+cuda12.8")]

    found = parse_nccl(lines, node="i-1", stream="job.log", reference_time=NOW)

    own = found.versions[0]
    assert (own.node, own.stream, own.component, own.version) == ("i-1", "job.log", CUDA, "12.8")
    assert found.lines == ()
