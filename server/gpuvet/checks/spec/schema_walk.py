"""A job's fields beside the rows that describe them: known, unknown and missing ones."""

from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.catalog.job_fields import K8S, OBJECTS, FieldRow
from gpuvet.model.job_spec import Field, JobSpec
from gpuvet.model.yaml_tree import MappingNode, SequenceNode

_TEXT = FieldRow("", "string", K8S)


class Member(NamedTuple):
    """One value of the manifest; `row` is None where the object has no such field."""

    field: Field
    row: FieldRow | None
    owner: str  # the object it stands in, e.g. RunPolicy
    key: str


class Missing(NamedTuple):
    """A required field that is not there."""

    field: Field
    row: FieldRow
    owner: str


def members(job: JobSpec) -> Iterator[Member]:
    """Yield every value that the table can speak of, objects before what they hold."""
    if job.is_fragment:
        for rule in job.rules:
            yield from _object(rule.field, "Rule")
        return
    yield from _object(job.root, "Job")


def _object(field: Field, owner: str) -> Iterator[Member]:
    rows = OBJECTS[owner]
    for key, member in field.members:
        row = rows.get(key)
        yield Member(member, row, owner, key)
        if row is not None:
            yield from _below(member, row)


def _below(field: Field, row: FieldRow) -> Iterator[Member]:
    kind = row.type
    if kind == "text_map":
        for key, member in field.members:
            yield Member(member, _TEXT, "map", key)
    elif kind in OBJECTS and isinstance(field.node, MappingNode):
        yield from _object(field, kind)
    elif kind.startswith("["):
        items = field.items
        if kind == "[Rule]" and not items:
            items = field.at("rules").items  # HPJ019 reports the form
        for item in items:
            yield from _item(item, kind[1:-1])


def _item(item: Field, kind: str) -> Iterator[Member]:
    if kind in OBJECTS:
        if isinstance(item.node, MappingNode):
            yield from _object(item, kind)
        else:
            yield Member(item, FieldRow("", kind), "list", "")
    else:
        yield Member(item, FieldRow("", kind), "list", "")


def missing(job: JobSpec) -> Iterator[Missing]:
    """Yield the required fields of the job's own objects that are absent."""
    owners = [("ReplicaSpec", each.field) for each in job.replica_sets]
    owners += [("Rule", rule.field) for rule in job.rules]
    policy = job.run_policy.at("restartPolicy")
    if not job.is_fragment and isinstance(policy.node, MappingNode):
        owners.append(("RestartPolicy", policy))
    for owner, field in owners:
        for row in OBJECTS[owner].values():
            if row.required and not field.at(row.name).present:
                yield Missing(field.at(row.name), row, owner)


def expected(kind: str) -> str:
    """Return a type's name for people."""
    names = {
        "string": "text in quotes",
        "int": "a whole number",
        "bool": "true or false",
        "text_map": "a mapping of names to text",
        "quantity_map": "a mapping of resources to amounts",
    }
    if kind.startswith("["):
        return "a list"
    return names.get(kind, "a mapping")


def fits(field: Field, kind: str) -> bool:
    """Return whether a value has the type; absent values and tokens do."""
    if not field.present or field.is_token or kind == "any":
        return True
    if kind.startswith("["):
        return isinstance(field.node, SequenceNode)
    if kind == "string":
        return field.text is not None
    if kind == "int":
        return field.integer is not None
    if kind == "bool":
        return field.boolean is not None
    return isinstance(field.node, MappingNode)
