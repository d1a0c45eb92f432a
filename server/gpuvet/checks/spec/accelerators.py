"""HPJ040 to HPJ044, HPJ054: GPUs, Neuron devices and MIG."""

from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.instance_types import NodeType
from gpuvet.checks.spec.pod_facts import (
    GPU,
    MIG,
    NEURON,
    accelerators,
    amount_field,
    asked,
    instance_type,
    mentions_accelerator,
    resource_names,
    typed_trainers,
    unequal,
    unequal_amounts,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import JobSpec


def accelerator_request_differs(job: JobSpec) -> Iterator[Hit]:
    """GPU or Neuron requests that are not their limits."""
    for field, fault in unequal_amounts(job, GPU, NEURON):
        yield Hit(field, fault)


def more_gpus_than_node(job: JobSpec) -> Iterator[Hit]:
    """More accelerators than one node has."""
    for replica_set, container, kind in typed_trainers(job):
        for name in resource_names(container, GPU, NEURON):
            total = sum(asked(each, name) or 0 for each in replica_set.containers)
            if (
                _fits_kind(name, kind)
                and name in {GPU, f"{NEURON}device", f"{NEURON}"}
                and (total > kind.accelerators)
            ):
                yield Hit(
                    amount_field(container, name),
                    f"{total:g} of {name} asked, {kind.name} has {kind.accelerators}",
                    fix=f"write {kind.accelerators} or less",
                )


def _fits_kind(name: str, kind: NodeType) -> bool:
    return kind.has_gpu if name.startswith("nvidia.com/") else kind.is_neuron


def wrong_accelerator(job: JobSpec) -> Iterator[Hit]:
    """An accelerator the instance type does not carry."""
    for _, container, kind in typed_trainers(job):
        for name in resource_names(container, GPU, MIG, NEURON):
            if not _fits_kind(name, kind) and (asked(container, name) or 0) > 0:
                has = f"{kind.accelerators} {kind.accelerator}" if kind.accelerator else "none"
                yield Hit(amount_field(container, name), f"{name} asked, {kind.name} carries {has}")


def part_of_node(job: JobSpec) -> Iterator[Hit]:
    """A multi-node job on parts of nodes."""
    for _, container, kind in typed_trainers(job):
        count = accelerators(container)
        if job.is_multi_node and 0 < count < kind.accelerators:
            yield Hit(
                container.field.at("resources"), f"{count} of {kind.accelerators} GPUs of each node"
            )


def no_gpu_asked(job: JobSpec) -> Iterator[Hit]:
    """GPU work without a GPU."""
    for replica_set, container in job.trainers():
        if any(mentions_accelerator(each) for each in replica_set.containers):
            continue
        if container.field.at("resources", "claims").present:
            continue
        kind = instance_type(job, replica_set)
        env = next((e.name for e in container.env if e.name.startswith(("NCCL_", "CUDA_"))), None)
        words = " ".join(container.launch.words).lower()
        reason = (
            f"{kind.name} is asked for"
            if kind and kind.accelerators
            else f"{env} is set"
            if env
            else "nccl is named"
            if "nccl" in words
            else "nprocPerNode is gpu"
            if job.spec.at("nprocPerNode").text == "gpu"
            else None
        )
        if reason:
            yield Hit(container.field.at("resources"), f"no GPU is asked for, but {reason}")


def bad_mig(job: JobSpec) -> Iterator[Hit]:
    """MIG beside whole GPUs, a profile the type lacks, or request and limit apart."""
    for replica_set, container in job.trainers():
        names = resource_names(container, MIG)
        if not names:
            continue
        kind = instance_type(job, replica_set)
        if GPU in resource_names(container, GPU) and (asked(container, GPU) or 0) > 0:
            yield Hit(amount_field(container, names[0]), f"{names[0]} beside {GPU}")
        for name in names:
            fault = unequal(container, name)
            profile = name.removeprefix(MIG)
            if fault:
                yield Hit(fault[0], fault[1])
            elif kind and kind.has_gpu and profile not in kind.mig_profiles:
                offered = ", ".join(sorted(kind.mig_profiles)) or "no MIG profile"
                yield Hit(
                    amount_field(container, name), f"{kind.name} offers {offered}, not {profile}"
                )


CHECKS = (
    Check(
        "HPJ040",
        "accelerator-request-differs",
        Severity.ERROR,
        "Extended resources cannot be overcommitted: the API server refuses the pod.",
        "write the same whole number in requests and limits",
        "Kubernetes: extended resources",
        accelerator_request_differs,
    ),
    Check(
        "HPJ041",
        "more-gpus-than-node",
        Severity.ERROR,
        "No node of this type can run the pod: it stays Pending.",
        "ask for what one node has",
        "HyperPod CLI instance table",
        more_gpus_than_node,
    ),
    Check(
        "HPJ042",
        "wrong-accelerator",
        Severity.ERROR,
        "No node of this type offers the resource: the pod stays Pending.",
        f"{GPU} on GPU types, {NEURON}device on Trainium",
        "HyperPod CLI instance table",
        wrong_accelerator,
    ),
    Check(
        "HPJ043",
        "part-of-node",
        Severity.ADVICE,
        "EFA and NVLink are shared with strangers, and collectives are slower.",
        "use whole nodes",
        "inferred",
        part_of_node,
    ),
    Check(
        "HPJ044",
        "no-gpu-asked",
        Severity.WARNING,
        "The pod gets no GPU: it runs on the CPU or fails.",
        "ask for the node's GPUs",
        'AWS sample with "0"',
        no_gpu_asked,
    ),
    Check(
        "HPJ054",
        "bad-mig",
        Severity.ERROR,
        "The CLI refuses it, or no node can run it.",
        "one profile that the type offers, request equal to limit, without nvidia.com/gpu",
        "HyperPod CLI MIG table",
        bad_mig,
    ),
)
