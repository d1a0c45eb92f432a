"""Facts of one node as small tables write them, to the values that verdicts read.

A flag that is missing, null, N/A or unreadable is not read; it is never No.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.cluster import Flag, GpuFacts, NodeFacts
from gpuvet.model.untyped import is_object, object_at, text_at, whole_at
from gpuvet.parse.nvidia_smi import flag
from gpuvet.parse.xid_line import pci_id


def node_facts(raw: Mapping[str, Any]) -> NodeFacts:
    """Return a node's facts from keys such as gpu_seen, nvidia_smi, fabric, k8s_label."""
    return NodeFacts(
        gpus_seen=whole_at(raw, "gpu_seen"),
        gpus_seen_at=as_datetime(raw.get("gpu_seen_at")),
        gpus_seen_stale=raw.get("gpu_seen_stale") is True,
        gpus=tuple(_gpus(raw)),
        status=text_at(raw, "node_status"),
        health_label=text_at(raw, "k8s_label"),
        replacement_requested=text_at(raw, "recommendation"),
    )


def _gpus(raw: Mapping[str, Any]) -> Iterator[GpuFacts]:
    memory, fabric = object_at(raw, "nvidia_smi"), object_at(raw, "fabric")
    read_at = as_datetime(raw.get("nvidia_smi_at"))
    for key in dict.fromkeys((*memory, *fabric)):
        flags, state = object_at(memory, key), object_at(fabric, key)
        if not is_object(memory.get(key)) and not is_object(fabric.get(key)):
            continue
        yield GpuFacts(
            pci=pci_id(key),
            uuid=key if key.startswith("GPU-") else text_at(flags, "UUID"),
            serial=text_at(flags, "Serial Number"),
            remap_pending=_flag(flags.get("Remapped Rows Pending")),
            remap_failed=_flag(flags.get("Remapping Failure Occurred")),
            remapped_uncorrectable=whole_at(flags, "Remapped Rows Uncorrectable"),
            sram_threshold_exceeded=_flag(flags.get("SRAM Threshold Exceeded")),
            unrepairable_memory=_flag(flags.get("Unrepairable Memory")),
            channel_repair_pending=_flag(flags.get("Channel Repair Pending")),
            tpc_repair_pending=_flag(flags.get("TPC Repair Pending")),
            fabric_state=text_at(state, "State"),
            fabric_status=text_at(state, "Status"),
            links_active=whole_at(state, "Links Active"),
            links_inactive=whole_at(state, "Links Inactive"),
            read_at=read_at,
            raw=tuple(f"{name}: {value}" for name, value in (*flags.items(), *state.items())),
        )


def _flag(value: object) -> Flag:
    return flag(str(value)) if value is not None else Flag.NOT_READ
