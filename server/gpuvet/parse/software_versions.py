"""Lines that name versions of CUDA, the EFA installer and the kernel. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.model.software import Component

_DOTTED = r"(?P<version>\d{1,4}(?:\.\d{1,6}){1,3})"
_SAID = (
    # NCCL prints what it was built with, nvcc what it is, PyTorch's collect_env what it was.
    (Component.CUDA, re.compile(rf"NCCL version \d+(?:\.\d+)+[^\s+]*\+cuda{_DOTTED}")),
    (Component.CUDA, re.compile(rf"Cuda compilation tools, release {_DOTTED}")),
    (Component.CUDA, re.compile(rf"CUDA used to build PyTorch: {_DOTTED}")),
    (Component.CUDA_DRIVER, re.compile(rf"CUDA Version\s*:\s*{_DOTTED}")),
    (Component.EFA_INSTALLER, re.compile(rf"EFA installer version\s*:\s*{_DOTTED}", re.IGNORECASE)),
    (Component.EFA_INSTALLER, re.compile(rf"aws-efa-installer-{_DOTTED}")),
    (Component.KERNEL, re.compile(rf"^Linux \S+ {_DOTTED}\S* .*\bGNU/Linux\b")),
)
_DRIVER_NUMBER = re.compile(r"cudaDriverVersion (?P<number>\d{4,6})\b")
_NCCL_HOST = re.compile(r"(?P<host>[\w.-]{1,253}):\d{1,10}:\d{1,10} \[\d{1,4}\]")

# What any of these lines holds; part of the pattern of log queries.
VERSION_WORDS = (
    r"NCCL version|cudaDriverVersion|[Cc]uda compilation tools|CUDA used to build"
    r"|EFA [Ii]nstaller [Vv]ersion|aws-efa-installer-"
)


class VersionText(NamedTuple):
    """What one line says."""

    component: Component
    version: str
    host: str | None = None


def read_versions(body: str) -> Iterator[VersionText]:
    """Yield every version that a bare line names."""
    named = _NCCL_HOST.search(body)
    host = named["host"] if named else None
    for component, pattern in _SAID:
        match = pattern.search(body)
        if match is not None:
            yield VersionText(component, match["version"], host)
    number = _DRIVER_NUMBER.search(body)
    if number is not None:
        # CUDA's own number: 1000 x major + 10 x minor.
        major, rest = divmod(int(number["number"]), 1000)
        yield VersionText(Component.CUDA_DRIVER, f"{major}.{rest // 10}", host)
