"""HPJ045 to HPJ053: EFA, hugepages, cores and memory."""

from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.pod_facts import (
    EFA,
    HUGEPAGES,
    accelerators,
    amount_field,
    asked,
    quantity,
    requested,
    resource_names,
    typed_trainers,
    unequal_amounts,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import Container, Field, JobSpec

GIB = 1024.0**3


_TINY_SHARE = 0.05  # a whole-node job that requests less memory than this share of the node


_LOW_LIMIT_SHARE = 0.25


def efa_request_differs(job: JobSpec) -> Iterator[Hit]:
    """EFA requests that are not their limits."""
    for field, fault in unequal_amounts(job, EFA):
        yield Hit(field, fault)


def more_efa_than_node(job: JobSpec) -> Iterator[Hit]:
    """More EFA interfaces than one node has."""
    for _, container, kind in typed_trainers(job):
        count = asked(container, EFA) or 0
        if kind.efa_max is not None and count > kind.efa_max:
            yield Hit(
                amount_field(container, EFA),
                f"{count:g} EFA interfaces asked, {kind.name} has {kind.efa_max}",
                fix=f"write {kind.efa_max}" if kind.efa_max else f"remove {EFA}",
            )


def no_efa(job: JobSpec) -> Iterator[Hit]:
    """A multi-node job on a type with EFA that asks for none."""
    for _, container, kind in typed_trainers(job):
        field = amount_field(container, EFA)
        if job.is_multi_node and kind.efa_max and not field.is_token and not asked(container, EFA):
            yield Hit(
                container.field.at("resources"),
                f"no {EFA} on {kind.name}, which has {kind.efa_max}",
                fix=f"add {EFA}: {kind.efa_max} to requests and limits",
            )


def part_of_efa(job: JobSpec) -> Iterator[Hit]:
    """A whole-node job with a part of the node's EFA interfaces."""
    for _, container, kind in typed_trainers(job):
        count = asked(container, EFA) or 0
        if (
            job.is_multi_node
            and accelerators(container) == kind.accelerators
            and (0 < count < (kind.efa_max or 0))
        ):
            yield Hit(
                amount_field(container, EFA),
                f"{count:g} of {kind.efa_max} EFA interfaces of {kind.name}",
                fix=f"write {kind.efa_max}",
            )


def hugepages_differ(job: JobSpec) -> Iterator[Hit]:
    """Hugepage requests that are not their limits."""
    for replica_set in job.replica_sets:
        for container in replica_set.containers:
            for name in resource_names(container, HUGEPAGES):
                request, limit = (
                    container.amount("requests", name),
                    container.amount("limits", name),
                )
                if request.is_token or limit.is_token or not request.present:
                    continue
                if quantity(request) != quantity(limit):
                    yield Hit(
                        limit if limit.present else request,
                        f"{name}: request {request.words}, limit {limit.words or 'none'}",
                    )


def hugepages_alone(job: JobSpec) -> Iterator[Hit]:
    """Hugepages in a container that asks for neither cpu nor memory."""
    for replica_set in job.replica_sets:
        for container in replica_set.containers:
            pages = resource_names(container, HUGEPAGES)
            if pages and not resource_names(container, "cpu", "memory"):
                yield Hit(amount_field(container, pages[0]), f"{pages[0]} without cpu or memory")


def efa_without_hugepages(job: JobSpec) -> Iterator[Hit]:
    """EFA without the huge pages its library prefers."""
    for _, container in job.trainers():
        if (asked(container, EFA) or 0) > 0 and not resource_names(container, HUGEPAGES):
            if container.env_value("FI_EFA_USE_HUGE_PAGE") == "0":
                continue
            yield Hit(amount_field(container, EFA), f"{EFA} without hugepages-2Mi")


def more_than_allocatable(job: JobSpec) -> Iterator[Hit]:
    """More cores or memory than a node can give."""
    for replica_set, container, kind in typed_trainers(job):
        cpu = sum(requested(each, "cpu") or 0 for each in replica_set.containers)
        memory = sum(requested(each, "memory") or 0 for each in replica_set.containers) / GIB
        if cpu > kind.allocatable_cpu:
            yield Hit(
                _request_field(container, "cpu"),
                f"{cpu:g} cores asked, {kind.name} can give "
                f"{kind.allocatable_cpu:.0f} of {kind.vcpu}",
                fix=f"ask for {kind.allocatable_cpu:.0f} or less",
            )
        if memory > kind.allocatable_memory_gib:
            yield Hit(
                _request_field(container, "memory"),
                f"{memory:.0f} GiB asked, {kind.name} can give "
                f"{kind.allocatable_memory_gib:.0f} of {kind.memory_gib}",
                fix=f"ask for {kind.allocatable_memory_gib:.0f}Gi or less",
            )


def _request_field(container: Container, name: str) -> Field:
    request = container.amount("requests", name)
    return request if request.present else container.amount("limits", name)


def little_memory(job: JobSpec) -> Iterator[Hit]:
    """A whole-node job with a small part of the node's memory."""
    for _, container, kind in typed_trainers(job):
        if not kind.accelerators or accelerators(container) < kind.accelerators:
            continue
        limit = container.amount("limits", "memory")
        request = container.amount("requests", "memory")
        low = quantity(limit)
        if low is not None and low < _LOW_LIMIT_SHARE * kind.memory_gib * GIB:
            yield Hit(limit, f"memory limit {limit.words} on a node of {kind.memory_gib} GiB")
        elif not request.present and not limit.present:
            yield Hit(
                container.field.at("resources"),
                "no memory request on a whole-node job",
                milder=Severity.ADVICE,
            )
        elif (quantity(request) or 1e18) < _TINY_SHARE * kind.memory_gib * GIB:
            yield Hit(
                request,
                f"memory request {request.words} on a node of {kind.memory_gib} GiB",
                milder=Severity.ADVICE,
            )


CHECKS = (
    Check(
        "HPJ045",
        "efa-request-differs",
        Severity.ERROR,
        "Extended resources cannot be overcommitted: the API server refuses the pod.",
        "write the same whole number in requests and limits",
        "Kubernetes: extended resources",
        efa_request_differs,
    ),
    Check(
        "HPJ046",
        "more-efa-than-node",
        Severity.ERROR,
        "No node of this type can run the pod: it stays Pending.",
        "ask for what one node has",
        "HyperPod CLI instance table",
        more_efa_than_node,
    ),
    Check(
        "HPJ047",
        "no-efa-asked",
        Severity.WARNING,
        "NCCL silently falls back to TCP.",
        "ask for all interfaces of the type",
        "sagemaker-hyperpod-cli issue 306",
        no_efa,
    ),
    Check(
        "HPJ048",
        "part-of-efa",
        Severity.WARNING,
        "Bandwidth between nodes is lost.",
        "ask for all interfaces of the type",
        "inferred",
        part_of_efa,
    ),
    Check(
        "HPJ049",
        "hugepages-differ",
        Severity.ERROR,
        "Hugepages cannot be overcommitted: the API server refuses the pod.",
        "write the same amount in requests and limits",
        "Kubernetes: huge pages",
        hugepages_differ,
    ),
    Check(
        "HPJ050",
        "hugepages-alone",
        Severity.ERROR,
        "The API server refuses a container with hugepages and neither cpu nor memory.",
        "add a memory request",
        "Kubernetes: huge pages",
        hugepages_alone,
    ),
    Check(
        "HPJ051",
        "efa-without-hugepages",
        Severity.ADVICE,
        "libfabric prefers huge pages and falls back without.",
        "add hugepages-2Mi: 5120Mi, or set FI_EFA_USE_HUGE_PAGE=0",
        "AWS: using the HyperPod training operator",
        efa_without_hugepages,
    ),
    Check(
        "HPJ052",
        "more-than-allocatable",
        Severity.ERROR,
        "The node keeps a part for itself: the pod stays Pending, or Kueue never admits the job.",
        "ask for less",
        "sagemaker-hyperpod-cli quota computation, issue 383",
        more_than_allocatable,
    ),
    Check(
        "HPJ053",
        "little-memory",
        Severity.WARNING,
        "The pod is evicted, or killed when a checkpoint is gathered.",
        "size memory to the node",
        "AWS sample with 32000Mi",
        little_memory,
    ),
)
