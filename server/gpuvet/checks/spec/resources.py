"""HPJ040 to HPJ059: accelerators, EFA, memory, and on which nodes the pods may run."""

from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, renamed
from gpuvet.checks.spec.instance_types import NodeType, node_types
from gpuvet.checks.spec.pod_facts import (
    EFA,
    GPU,
    HUGEPAGES,
    MIG,
    NEURON,
    TYPE_LABELS,
    accelerators,
    asked,
    has_placement,
    instance_type,
    mentions_accelerator,
    quantity,
    requested,
    required_expressions,
    required_terms,
    resource_names,
    type_fields,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import Container, Field, JobSpec, ReplicaSet
from gpuvet.model.yaml_tree import MappingNode

GIB = 1024.0**3
_TINY_SHARE = 0.05  # a whole-node job that requests less memory than this share of the node
_LOW_LIMIT_SHARE = 0.25
_COMPUTE_TYPE = "sagemaker.amazonaws.com/compute-type"
_HEALTH = "sagemaker.amazonaws.com/node-health-status"
_DEEP = "sagemaker.amazonaws.com/deep-health-check"
_DEEP_STATUS = "sagemaker.amazonaws.com/deep-health-check-status"


def _unequal(container: Container, name: str) -> tuple[Field, str] | None:
    """Return the fault of an extended resource: request and limit differ, or not whole."""
    request, limit = container.amount("requests", name), container.amount("limits", name)
    if request.is_token or limit.is_token:
        return None
    if request.present and not limit.present:
        return request, f"{name}: request {request.words} without a limit"
    for field in (limit, request):
        amount = quantity(field)
        if field.present and (amount is None or amount != int(amount)):
            return field, f"{name}: {field.words} is not a whole number"
    if request.present and quantity(request) != quantity(limit):
        return limit, f"{name}: request {request.words}, limit {limit.words}"
    return None


def _unequal_hits(job: JobSpec, *prefixes: str, exact: bool = False) -> Iterator[Hit]:
    for replica_set in job.replica_sets:
        for container in replica_set.containers:
            for name in resource_names(container, *prefixes):
                fault = _unequal(container, name)
                if fault and (not exact or name in prefixes):
                    yield Hit(fault[0], fault[1])


def accelerator_request_differs(job: JobSpec) -> Iterator[Hit]:
    """GPU or Neuron requests that are not their limits."""
    for hit in _unequal_hits(job, GPU, NEURON):
        if MIG not in hit.where.path:
            yield hit


def _typed(job: JobSpec) -> Iterator[tuple[ReplicaSet, Container, NodeType]]:
    for replica_set, container in job.trainers():
        kind = instance_type(job, replica_set)
        if kind is not None:
            yield replica_set, container, kind


def more_gpus_than_node(job: JobSpec) -> Iterator[Hit]:
    """More accelerators than one node has."""
    for replica_set, container, kind in _typed(job):
        for name in resource_names(container, GPU, NEURON):
            total = sum(asked(each, name) or 0 for each in replica_set.containers)
            if (
                _fits_kind(name, kind)
                and name in {GPU, f"{NEURON}device", f"{NEURON}"}
                and (total > kind.accelerators)
            ):
                yield Hit(
                    _amount_field(container, name),
                    f"{total:g} of {name} asked, {kind.name} has {kind.accelerators}",
                    fix=f"write {kind.accelerators} or less",
                )


def _amount_field(container: Container, name: str) -> Field:
    limit = container.amount("limits", name)
    return limit if limit.present else container.amount("requests", name)


def _fits_kind(name: str, kind: NodeType) -> bool:
    return kind.has_gpu if name.startswith("nvidia.com/") else kind.is_neuron


def wrong_accelerator(job: JobSpec) -> Iterator[Hit]:
    """An accelerator the instance type does not carry."""
    for _, container, kind in _typed(job):
        for name in resource_names(container, GPU, MIG, NEURON):
            if not _fits_kind(name, kind) and (asked(container, name) or 0) > 0:
                has = f"{kind.accelerators} {kind.accelerator}" if kind.accelerator else "none"
                yield Hit(
                    _amount_field(container, name), f"{name} asked, {kind.name} carries {has}"
                )


def part_of_node(job: JobSpec) -> Iterator[Hit]:
    """A multi-node job on parts of nodes."""
    for _, container, kind in _typed(job):
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


def efa_request_differs(job: JobSpec) -> Iterator[Hit]:
    """EFA requests that are not their limits."""
    yield from _unequal_hits(job, EFA)


def more_efa_than_node(job: JobSpec) -> Iterator[Hit]:
    """More EFA interfaces than one node has."""
    for _, container, kind in _typed(job):
        count = asked(container, EFA) or 0
        if kind.efa_max is not None and count > kind.efa_max:
            yield Hit(
                _amount_field(container, EFA),
                f"{count:g} EFA interfaces asked, {kind.name} has {kind.efa_max}",
                fix=f"write {kind.efa_max}" if kind.efa_max else f"remove {EFA}",
            )


def no_efa(job: JobSpec) -> Iterator[Hit]:
    """A multi-node job on a type with EFA that asks for none."""
    for _, container, kind in _typed(job):
        field = _amount_field(container, EFA)
        if job.is_multi_node and kind.efa_max and not field.is_token and not asked(container, EFA):
            yield Hit(
                container.field.at("resources"),
                f"no {EFA} on {kind.name}, which has {kind.efa_max}",
                fix=f"add {EFA}: {kind.efa_max} to requests and limits",
            )


def part_of_efa(job: JobSpec) -> Iterator[Hit]:
    """A whole-node job with a part of the node's EFA interfaces."""
    for _, container, kind in _typed(job):
        count = asked(container, EFA) or 0
        if (
            job.is_multi_node
            and accelerators(container) == kind.accelerators
            and (0 < count < (kind.efa_max or 0))
        ):
            yield Hit(
                _amount_field(container, EFA),
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
                yield Hit(_amount_field(container, pages[0]), f"{pages[0]} without cpu or memory")


def efa_without_hugepages(job: JobSpec) -> Iterator[Hit]:
    """EFA without the huge pages its library prefers."""
    for _, container in job.trainers():
        if (asked(container, EFA) or 0) > 0 and not resource_names(container, HUGEPAGES):
            if container.env_value("FI_EFA_USE_HUGE_PAGE") == "0":
                continue
            yield Hit(_amount_field(container, EFA), f"{EFA} without hugepages-2Mi")


def more_than_allocatable(job: JobSpec) -> Iterator[Hit]:
    """More cores or memory than a node can give."""
    for replica_set, container, kind in _typed(job):
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
    for _, container, kind in _typed(job):
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


def bad_mig(job: JobSpec) -> Iterator[Hit]:
    """MIG beside whole GPUs, a profile the type lacks, or request and limit apart."""
    for replica_set, container in job.trainers():
        names = resource_names(container, MIG)
        if not names:
            continue
        kind = instance_type(job, replica_set)
        if GPU in resource_names(container, GPU) and (asked(container, GPU) or 0) > 0:
            yield Hit(_amount_field(container, names[0]), f"{names[0]} beside {GPU}")
        for name in names:
            fault = _unequal(container, name)
            profile = name.removeprefix(MIG)
            if fault:
                yield Hit(fault[0], fault[1])
            elif kind and kind.has_gpu and profile not in kind.mig_profiles:
                offered = ", ".join(sorted(kind.mig_profiles)) or "no MIG profile"
                yield Hit(
                    _amount_field(container, name), f"{kind.name} offers {offered}, not {profile}"
                )


def no_instance_type(job: JobSpec) -> Iterator[Hit]:
    """GPUs asked for without saying on which type."""
    for replica_set, container in job.trainers():
        if mentions_accelerator(container) and not has_placement(replica_set):
            yield Hit(replica_set.pod.at("nodeSelector"), "accelerators without an instance type")


def old_type_label(job: JobSpec) -> Iterator[Hit]:
    """The deprecated instance type label."""
    for each in job.replica_sets:
        field = each.pod.at("nodeSelector", TYPE_LABELS[1])
        if field.present:
            edits = renamed(field, TYPE_LABELS[0])
            yield Hit(field, f"{TYPE_LABELS[1]} is deprecated", at_key=True, edits=edits)


def unknown_type(job: JobSpec) -> Iterator[Hit]:
    """An instance type no HyperPod node carries."""
    known = node_types()
    for each in job.replica_sets:
        for field in type_fields(each):
            name = field.text
            if name is None or name in known or _is_placeholder_name(name):
                continue
            guess = f"ml.{name}" if f"ml.{name}" in known else _nearest(name)
            yield Hit(
                field,
                f"no HyperPod instance type {name!r}",
                fix=f"did you mean {guess}?" if guess else "write an ml.* type of the cluster",
            )


def _is_placeholder_name(name: str) -> bool:
    return name.upper() == name and "_" in name


def _nearest(name: str) -> str | None:
    """Return the known type that differs least, where the family shows."""
    name = name.lower().removeprefix("ml.")
    family, _, size = name.partition(".")
    close = [
        known
        for known in node_types()
        if _close(known[3:].partition(".")[0], family) and known.endswith(size[-4:] or "x")
    ]
    same_family = [known for known in close if known[3:].partition(".")[0] == family]
    return next(iter(same_family or close), None)


def _close(left: str, right: str) -> bool:
    plain = left.replace("-", ""), right.replace("-", "").replace(".", "")
    return plain[0] == plain[1] or (left[:2] == right[:2] and abs(len(left) - len(right)) <= 1)


def wrong_node_label(job: JobSpec) -> Iterator[Hit]:
    """A HyperPod node label with a value no node has."""
    for each in job.replica_sets:
        selector = each.pod.at("nodeSelector")
        compute, health = selector.at(_COMPUTE_TYPE), selector.at(_HEALTH)
        if compute.present and compute.words != "hyperpod":
            yield Hit(compute, f"{_COMPUTE_TYPE} is {compute.words!r}", fix="write hyperpod")
        if health.present and not health.is_token and health.words != "Schedulable":
            yield Hit(health, f"{_HEALTH} is {health.words!r}", fix="write Schedulable")
        for key, field in selector.members:
            if key.startswith(_DEEP) and (
                key != _DEEP_STATUS or field.text not in {None, "Passed"}
            ):
                yield Hit(
                    field, f"{key}: {field.words}", fix=f"write {_DEEP_STATUS}: Passed", at_key=True
                )


def impossible_placement(job: JobSpec) -> Iterator[Hit]:
    """Selectors that exclude each other, or anti-affinity that meets no pod of the job."""
    for each in job.replica_sets:
        selector = {key: field.text for key, field in each.pod.at("nodeSelector").members}
        old, new = (selector.get(label) for label in reversed(TYPE_LABELS))
        if old and new and old != new:
            yield Hit(each.pod.at("nodeSelector"), f"two instance types: {new} and {old}")
        terms = required_terms(each.pod)
        if terms and all(_excludes(term, selector) for term in terms):
            expression = next(iter(required_expressions(each.pod)))
            yield Hit(expression, "nodeSelector and required nodeAffinity exclude each other")
        yield from _pointless_anti_affinity(each)


def _excludes(term: Field, selector: dict[str, str | None]) -> bool:
    for expression in term.at("matchExpressions").items:
        wanted = selector.get(expression.at("key").words or "")
        values = {item.text for item in expression.at("values").items}
        if wanted is None or None in values or not values:
            continue
        operator = expression.at("operator").words
        if (operator == "In" and wanted not in values) or (
            operator == "NotIn" and wanted in values
        ):
            return True
    return False


def _pointless_anti_affinity(replica_set: ReplicaSet) -> Iterator[Hit]:
    labels = {
        key: field.text
        for key, field in replica_set.field.at("template", "metadata", "labels").members
    }
    anti = replica_set.pod.at("affinity", "podAntiAffinity")
    terms = list(anti.at("requiredDuringSchedulingIgnoredDuringExecution").items)
    terms += [
        item.at("podAffinityTerm")
        for item in anti.at("preferredDuringSchedulingIgnoredDuringExecution").items
    ]
    for term in terms:
        selector = term.at("labelSelector", "matchLabels")
        if not isinstance(selector.node, MappingNode):
            continue
        for key, field in selector.members:
            if field.text is not None and labels.get(key, "") not in {field.text, None}:
                yield Hit(
                    field, f"anti-affinity looks for {key}: {field.text}, which the pods lack"
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
    Check(
        "HPJ054",
        "bad-mig",
        Severity.ERROR,
        "The CLI refuses it, or no node can run it.",
        "one profile that the type offers, request equal to limit, without nvidia.com/gpu",
        "HyperPod CLI MIG table",
        bad_mig,
    ),
    Check(
        "HPJ055",
        "no-instance-type",
        Severity.WARNING,
        "The pods may land on any type; the CLI and SDK refuse accelerators without one.",
        f"add nodeSelector {TYPE_LABELS[0]}: ml.…",
        "HyperPod CLI validators",
        no_instance_type,
    ),
    Check(
        "HPJ056",
        "old-type-label",
        Severity.ADVICE,
        "Kubernetes replaced the label.",
        f"write {TYPE_LABELS[0]}",
        "Kubernetes: well-known labels",
        old_type_label,
    ),
    Check(
        "HPJ057",
        "unknown-instance-type",
        Severity.ERROR,
        "No HyperPod node carries that label value: the pods stay Pending.",
        "write an ml.* type of the cluster",
        "HyperPod CLI instance table",
        unknown_type,
    ),
    Check(
        "HPJ058",
        "wrong-node-label",
        Severity.WARNING,
        "No node carries that label value: the pods stay Pending.",
        "write the value HyperPod sets",
        "public manifests; HyperPod CLI template 1.4.1",
        wrong_node_label,
    ),
    Check(
        "HPJ059",
        "impossible-placement",
        Severity.ERROR,
        "The pods stay Pending, or the spread asked for is not applied.",
        "align selector, affinity and pod labels",
        "Kubernetes: assigning pods to nodes",
        impossible_placement,
    ),
)
