"""HPJ055 to HPJ059: on which nodes the pods may run."""

from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, renamed
from gpuvet.checks.spec.instance_types import node_types
from gpuvet.checks.spec.pod_facts import (
    TYPE_LABELS,
    has_placement,
    mentions_accelerator,
    required_expressions,
    required_terms,
    type_fields,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import Field, JobSpec, ReplicaSet
from gpuvet.model.yaml_tree import MappingNode

_COMPUTE_TYPE = "sagemaker.amazonaws.com/compute-type"


_HEALTH = "sagemaker.amazonaws.com/node-health-status"


_DEEP = "deep-health-check"  # older templates wrote deep-health-check-passed: "true"


_DEEP_STATUS = "sagemaker.amazonaws.com/deep-health-check-status"


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
            if _DEEP in key and (key != _DEEP_STATUS or field.text not in {None, "Passed"}):
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
