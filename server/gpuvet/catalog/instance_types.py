"""EC2 instance types: GPUs, EFA interfaces, network cards, NVSwitch, health agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpuvet.catalog.table import Row, by_key, read_table, yes_no
from gpuvet.catalog.xids import Architecture

_SAGEMAKER_PREFIX = "ml."


class RunsHma(StrEnum):
    """Whether the HyperPod health monitoring agent runs on a type."""

    YES = "yes"
    NO = "no"
    NOT_STATED = "not stated"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One instance type, without SageMaker's `ml.`. None means not known, never zero."""

    name: str
    gpus: int
    gpu_name: str | None
    gpu_memory_mib: int | None  # of one GPU
    architecture: Architecture | None  # the column of the Xid catalog; None claims nothing
    neuron_devices: int
    max_efa: int | None
    network_cards: int | None
    ipv4_per_interface: int | None
    vcpus: int
    memory_gib: int
    nvswitch: bool
    runs_hma: RunsHma
    source: str
    note: str | None = None


def _read(row: Row) -> InstanceType:
    return InstanceType(
        name=row.text("type"),
        gpus=row.read("gpus", int),
        gpu_name=row.optional("gpu_name"),
        gpu_memory_mib=row.read_optional("gpu_memory_mib", int),
        architecture=row.read_optional("architecture", Architecture),
        neuron_devices=row.read("neuron_devices", int),
        max_efa=row.read_optional("max_efa", int),
        network_cards=row.read_optional("network_cards", int),
        ipv4_per_interface=row.read_optional("ipv4_per_interface", int),
        vcpus=row.read("vcpus", int),
        memory_gib=row.read("memory_gib", int),
        nvswitch=row.read("nvswitch", yes_no),
        runs_hma=row.read("hma", RunsHma),
        source=row.text("source"),
        note=row.optional("note"),
    )


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return every listed type by its EC2 name."""
    rows = map(_read, read_table("instance_types.csv"))
    return by_key("instance_types.csv", rows, lambda row: row.name)


def instance_type(name: str) -> InstanceType | None:
    """Return a type by its EC2 or SageMaker name, or None for one that is not listed."""
    return instance_types().get(name.strip().removeprefix(_SAGEMAKER_PREFIX))
