"""What an ml.* instance type offers a pod: accelerators, MIG profiles, what can be allocated."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from gpuvet.catalog.instance_types import InstanceType, instance_types

# MIG profiles by GPU, as the HyperPod CLI's training constants list them.
_MIG_PROFILES = {
    ("A100", 40): "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb",
    ("A100", 80): "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
    ("H100", 80): "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
    ("H200", 141): "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb",
    ("B200", 180): "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb",
    ("B300", 269): "1g.34gb 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb",
    ("GB200", 186): "1g.23gb 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb",
}

# What kubelet and system keep for themselves, as the HyperPod CLI reckons: (size of tier, share).
_MEMORY_BASE_GIB = 0.5
_MEMORY_TIERS = ((4, 0.30), (4, 0.25), (8, 0.20), (112, 0.17), (float("inf"), 0.07))
_CPU_BASE = 0.1
_CPU_TIERS = ((1, 0.30), (1, 0.15), (1, 0.10), (1, 0.10), (float("inf"), 0.06))


class NodeType(NamedTuple):
    """One instance type under its SageMaker name."""

    name: str
    row: InstanceType

    @property
    def accelerators(self) -> int:
        """GPUs or Neuron devices."""
        return self.row.gpus or self.row.neuron_devices

    @property
    def accelerator(self) -> str:
        """What they are called; empty on CPU types."""
        if self.is_neuron:
            return "Neuron devices"
        return self.row.gpu_name or ("GPUs" if self.row.gpus else "")

    @property
    def is_neuron(self) -> bool:
        """True for Trainium."""
        return self.row.neuron_devices > 0

    @property
    def has_gpu(self) -> bool:
        """True for NVIDIA GPUs."""
        return self.row.gpus > 0

    @property
    def vcpu(self) -> int:
        """Virtual cores."""
        return self.row.vcpus

    @property
    def memory_gib(self) -> int:
        """Memory of the instance."""
        return self.row.memory_gib

    @property
    def efa_max(self) -> int | None:
        """Most EFA interfaces; None where nobody says."""
        return self.row.max_efa

    @property
    def mig_profiles(self) -> frozenset[str]:
        """Profiles the type's GPU can be cut into; empty where none are listed."""
        return frozenset(
            profile
            for (gpu, _), profiles in _MIG_PROFILES.items()
            if gpu == self.row.gpu_name and self._has_largest(profiles)
            for profile in profiles.split()
        )

    def _has_largest(self, profiles: str) -> bool:
        """Tell the 40 GB A100 from the 80 GB one by the profile that takes the whole GPU."""
        whole = int(profiles.rsplit("7g.", 1)[1].removesuffix("gb"))
        gib = (self.row.gpu_memory_mib or 0) / 1024
        return not gib or self.row.gpu_name != "A100" or abs(gib - whole) < 20

    @property
    def allocatable_memory_gib(self) -> float:
        """Memory a pod can ask for."""
        return self.memory_gib - _MEMORY_BASE_GIB - _tiered(self.memory_gib, _MEMORY_TIERS)

    @property
    def allocatable_cpu(self) -> float:
        """Cores a pod can ask for."""
        return self.vcpu - _CPU_BASE - _tiered(self.vcpu, _CPU_TIERS)


@cache
def node_types() -> Mapping[str, NodeType]:
    """Return the known types by their SageMaker name."""
    named = (NodeType(f"ml.{name}", row) for name, row in instance_types().items())
    return MappingProxyType({each.name: each for each in named})


def _tiered(amount: float, tiers: tuple[tuple[float, float], ...]) -> float:
    """Return the sum of each tier's share of the part of the amount that falls into it."""
    kept = 0.0
    for size, share in tiers:
        part = min(amount, size)
        kept += part * share
        amount -= part
    return kept
