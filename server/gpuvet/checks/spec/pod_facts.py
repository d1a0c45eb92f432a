"""What several families of checks read of a pod: amounts, instance type, mounts, literals."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.checks.spec.instance_types import NodeType, node_types
from gpuvet.model.job_spec import TEMPLATE, Argument, Container, Field, JobSpec, ReplicaSet

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"
NEURON = "aws.amazon.com/neuron"
EFA = "vpc.amazonaws.com/efa"
HUGEPAGES = "hugepages-"
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
GROUP_LABEL = "sagemaker.amazonaws.com/instance-group-name"
_PERSISTENT = frozenset(
    [
        "persistentVolumeClaim",
        "csi",
        "nfs",
        "cephfs",
        "glusterfs",
        "rbd",
        "iscsi",
        "fc",
        "flexVolume",
        "azureFile",
    ]
)
_QUANTITY = re.compile(
    r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][-+]?[0-9]{1,3})|([A-Za-z]+))?\Z"
)
_UNITS = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    **{unit: 1000.0 ** (power + 2) for power, unit in enumerate("MGTPE")},
    **{f"{unit}i": 1024.0 ** (power + 1) for power, unit in enumerate("KMGTPE")},
}
_MOST = 1e24  # more bytes or cores than anyone has: unreadable
_OPERATOR_ENV = frozenset({"NNODES", "NPROC_PER_NODE"})  # set by the operator in every container


class DollarLiteral(NamedTuple):
    """Text with $VAR that neither a shell nor Kubernetes expands."""

    field: Field
    names: tuple[str, ...]


def quantity(field: Field) -> float | None:
    """Return an amount in base units (bytes, cores, pieces); None when absent or unreadable."""
    scalar = field.scalar
    match = _QUANTITY.match(scalar.text.strip()) if scalar else None
    if match is None:
        return None
    number, exponent, unit = match.groups()
    factor = _UNITS.get(unit or "")
    amount = float(number + (exponent or "")) * (factor or 0.0)
    return amount if factor is not None and abs(amount) < _MOST else None


def whole_number(option: Argument | None) -> int | None:
    """Return an option's value if it is a whole number."""
    value = option.value if option else None
    return int(value) if value and re.fullmatch(r"[0-9]{1,6}", value) else None


def asked(container: Container, resource: str) -> float | None:
    """Return the amount of a resource a container gets: its limit, else its request."""
    limit = container.amount("limits", resource)
    return quantity(limit if limit.present else container.amount("requests", resource))


def requested(container: Container, resource: str) -> float | None:
    """Return what the scheduler counts: the request, else the limit."""
    request = container.amount("requests", resource)
    return quantity(request if request.present else container.amount("limits", resource))


def resource_names(container: Container, *prefixes: str) -> tuple[str, ...]:
    """Return the resources with one of these prefixes that a container names, in order."""
    names = [
        name
        for kind in ("requests", "limits")
        for name, _ in container.field.at("resources", kind).members
        if name.startswith(prefixes)
    ]
    return tuple(dict.fromkeys(names))


def amount_field(container: Container, name: str) -> Field:
    """Return the limit of a resource, else its request."""
    limit = container.amount("limits", name)
    return limit if limit.present else container.amount("requests", name)


def unequal(container: Container, name: str) -> tuple[Field, str] | None:
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


def unequal_amounts(job: JobSpec, *prefixes: str) -> Iterator[tuple[Field, str]]:
    """Yield the faults of extended resources with one of these prefixes, MIG aside."""
    for replica_set in job.replica_sets:
        for container in replica_set.containers:
            for name in resource_names(container, *prefixes):
                fault = unequal(container, name) if not name.startswith(MIG) else None
                if fault:
                    yield fault


def gpus(container: Container) -> int:
    """Return the whole GPUs a container asks for; 0 when none or unreadable."""
    return int(asked(container, GPU) or 0)


def accelerators(container: Container) -> int:
    """Return GPUs and Neuron devices together."""
    neuron = sum(int(asked(container, name) or 0) for name in resource_names(container, NEURON))
    return gpus(container) + neuron


def mentions_accelerator(container: Container) -> bool:
    """Return whether any accelerator is asked for, even by a token; zero does not count."""
    for name in resource_names(container, GPU, MIG, NEURON):
        for kind in ("limits", "requests"):
            field = container.amount(kind, name)
            if field.present and (field.is_token or (quantity(field) or 0) > 0):
                return True
    return False


def type_fields(replica_set: ReplicaSet) -> tuple[Field, ...]:
    """Return every place that names an instance type the pod may run on."""
    selector = replica_set.pod.at("nodeSelector")
    found = [selector.at(label) for label in TYPE_LABELS if selector.at(label).present]
    for expression in required_expressions(replica_set.pod):
        if expression.at("key").words in TYPE_LABELS and expression.at("operator").words == "In":
            found += expression.at("values").items
    return tuple(found)


def required_terms(pod: Field) -> tuple[Field, ...]:
    """Return the terms of required node affinity; one of them has to hold."""
    required = pod.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return required.at("nodeSelectorTerms").items


def required_expressions(pod: Field) -> Iterator[Field]:
    """Yield every expression of required node affinity."""
    for term in required_terms(pod):
        yield from term.at("matchExpressions").items


def has_placement(replica_set: ReplicaSet) -> bool:
    """Return whether the pod is bound to a type or to an instance group, which has one type."""
    keys = {expression.at("key").words for expression in required_expressions(replica_set.pod)}
    selector = replica_set.pod.at("nodeSelector")
    return any(selector.at(label).present or label in keys for label in (*TYPE_LABELS, GROUP_LABEL))


def instance_type(job: JobSpec, replica_set: ReplicaSet) -> NodeType | None:
    """Return the one known type the pods run on, or None where it cannot be said."""
    names = {field.text for field in type_fields(replica_set)}
    if not names and job.context.instance_type:
        names = {job.context.instance_type}
    return node_types().get(names.pop() or "") if len(names) == 1 else None


def typed_trainers(job: JobSpec) -> Iterator[tuple[ReplicaSet, Container, NodeType]]:
    """Yield the training containers whose instance type is known."""
    for replica_set, container in job.trainers():
        kind = instance_type(job, replica_set)
        if kind is not None:
            yield replica_set, container, kind


def volumes(replica_set: ReplicaSet) -> dict[str, Field]:
    """Return the pod's volumes by name."""
    return {
        name: item
        for item in replica_set.pod.at("volumes").items
        if (name := item.at("name").words)
    }


def mounts(container: Container) -> tuple[Field, ...]:
    """Return the container's mounts."""
    return container.field.at("volumeMounts").items


def is_persistent(volume: Field) -> bool:
    """Return whether a volume outlives its node; unknown kinds of claim count as yes."""
    return any(name in _PERSISTENT for name, _ in volume.members)


def persistent_paths(replica_set: ReplicaSet, container: Container) -> tuple[str, ...]:
    """Return the mount paths of a container whose volumes outlive the node."""
    known = volumes(replica_set)
    return tuple(
        path
        for mount in mounts(container)
        if (path := mount.at("mountPath").words)
        and (name := mount.at("name").words) in known
        and is_persistent(known[name])
    )


def dollar_literals(job: JobSpec | None) -> Iterator[DollarLiteral]:
    """Yield env values and exec-form arguments with $VAR of a variable the container does have.

    An env value that is nothing but one token is a template's, not one of these.
    """
    for replica_set in job.replica_sets if job else ():
        for container in replica_set.containers:
            known = {each.name for each in container.env} | _OPERATOR_ENV
            shell = container.launch.shell
            candidates = [(each.value, True) for each in container.env]
            candidates += [
                (item, False)
                for key in ("command", "args")
                for item in container.field.at(key).items
                if shell is None or item.path != shell.path
            ]
            for field, is_env in candidates:
                names = tuple(name for name in _dollar_names(field, is_env) if name in known)
                if names:
                    yield DollarLiteral(field, names)


def _dollar_names(field: Field, is_env: bool) -> tuple[str, ...]:
    text = field.words or ""
    if is_env and TEMPLATE.fullmatch(text):
        return ()
    return tuple(
        re.sub(r"\W.*", "", match[0].lstrip("${"))
        for match in TEMPLATE.finditer(text)
        if match[0].startswith("$")
    )
