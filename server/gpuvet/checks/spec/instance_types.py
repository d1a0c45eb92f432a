"""What an ml.* instance type offers a pod: accelerators, cores, memory, EFA interfaces."""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

_TABLE = Path(__file__).with_name("instance_types.csv")

# What kubelet and system keep for themselves, as the HyperPod CLI reckons: (size of tier, share).
_MEMORY_BASE_GIB = 0.5
_MEMORY_TIERS = ((4, 0.30), (4, 0.25), (8, 0.20), (112, 0.17), (float("inf"), 0.07))
_CPU_BASE = 0.1
_CPU_TIERS = ((1, 0.30), (1, 0.15), (1, 0.10), (1, 0.10), (float("inf"), 0.06))


class InstanceType(NamedTuple):
    """One row of the table."""

    name: str
    accelerator: str  # "" on CPU types
    accelerators: int
    vcpu: int
    memory_gib: int
    efa_max: int | None  # None: not known
    mig_profiles: frozenset[str]

    @property
    def is_neuron(self) -> bool:
        """True for Trainium."""
        return self.accelerator.startswith("Trainium")

    @property
    def has_gpu(self) -> bool:
        """True for NVIDIA GPUs."""
        return self.accelerators > 0 and not self.is_neuron

    @property
    def allocatable_memory_gib(self) -> float:
        """Memory a pod can ask for."""
        return self.memory_gib - _MEMORY_BASE_GIB - _tiered(self.memory_gib, _MEMORY_TIERS)

    @property
    def allocatable_cpu(self) -> float:
        """Cores a pod can ask for."""
        return self.vcpu - _CPU_BASE - _tiered(self.vcpu, _CPU_TIERS)


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return the known types by name."""
    with _TABLE.open(encoding="utf-8", newline="") as lines:
        rows = [_read(row) for row in csv.DictReader(lines)]
    return MappingProxyType({row.name: row for row in rows})


def _read(row: Mapping[str, str]) -> InstanceType:
    return InstanceType(
        name=row["instance_type"],
        accelerator=row["accelerator"],
        accelerators=int(row["accelerators"]),
        vcpu=int(row["vcpu"]),
        memory_gib=int(row["memory_gib"]),
        efa_max=int(row["efa_max"]) if row["efa_max"] else None,
        mig_profiles=frozenset(row["mig_profiles"].split()),
    )


def _tiered(amount: float, tiers: tuple[tuple[float, float], ...]) -> float:
    """Return the sum of each tier's share of the part of the amount that falls into it."""
    kept = 0.0
    for size, share in tiers:
        part = min(amount, size)
        kept += part * share
        amount -= part
    return kept
