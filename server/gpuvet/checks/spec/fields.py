"""HPJ013 to HPJ019: whether fields exist, stand where they belong, and have their types."""

import re
from collections.abc import Iterator

from gpuvet.catalog.job_fields import FOREIGN_NAMES, HOMES, OBJECTS
from gpuvet.checks.registry import Check, Hit, renamed, rewritten
from gpuvet.checks.spec.document import yaml_11_meaning
from gpuvet.checks.spec.schema_walk import Member, expected, fits, members, missing
from gpuvet.model.check import Edit, Severity
from gpuvet.model.job_spec import Field, JobSpec
from gpuvet.model.yaml_tree import MappingNode, Scalar, SequenceNode


def unknown_fields(job: JobSpec) -> Iterator[Hit]:
    """A name the API does not have."""
    for member in members(job):
        if member.row is not None or _home(member):
            continue
        if isinstance(member.field.node, Scalar) and "{{" in member.key:
            continue
        guess = _guess(member)
        fix = f"did you mean {guess}?" if guess else "remove it"
        plain = guess if guess and guess in OBJECTS[member.owner] else None
        yield Hit(
            member.field,
            f"{member.key!r} is not a field of {_label(member.owner)}",
            fix=fix,
            at_key=True,
            edits=renamed(member.field, plain) if plain else (),
        )


def misplaced_fields(job: JobSpec) -> Iterator[Hit]:
    """A name the API has, at another level."""
    for member in members(job):
        home = _home(member)
        if member.row is None and home:
            yield Hit(
                member.field,
                f"{member.key!r} does not belong to {_label(member.owner)}",
                fix=f"move it to {home}.{member.key}",
                at_key=True,
            )


def _label(owner: str) -> str:
    return HOMES.get(owner) or {"Job": "the manifest"}.get(owner, owner)


def _home(member: Member) -> str | None:
    """Return where a field unknown here is known, if it is a misplaced one."""
    if member.row is not None or member.key in OBJECTS[member.owner]:
        return None
    if member.key == "restartPolicy" and isinstance(member.field.node, Scalar):
        return None  # Kubeflow's, which takes a word
    if member.key == "rules" and member.owner == "Rule":
        return None
    return next(
        (
            home
            for owner, home in HOMES.items()
            if owner != member.owner and member.key in OBJECTS[owner]
        ),
        None,
    )


def _guess(member: Member) -> str | None:
    """Return the field most likely meant."""
    if member.key == "restartPolicy":
        return "runPolicy.jobMaxRetryCount and runPolicy.restartPolicy"
    if member.key in FOREIGN_NAMES and FOREIGN_NAMES[member.key] not in OBJECTS[member.owner]:
        return FOREIGN_NAMES[member.key]
    names = OBJECTS[member.owner]
    folded = _folded(member.key)
    same = next((name for name in names if _folded(name) == folded), None)
    if same:
        return same
    nearest = min(names, key=lambda name: _distance(folded, _folded(name)))
    near_enough = _distance(folded, _folded(nearest)) <= max(1, min(3, len(folded) // 4))
    if near_enough:
        return nearest
    known = {name: home for owner, home in HOMES.items() for name in OBJECTS[owner]}
    elsewhere = next((name for name in known if _folded(name) == folded), None)
    return f"{known[elsewhere]}.{elsewhere}" if elsewhere else FOREIGN_NAMES.get(member.key)


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _distance(left: str, right: str) -> int:
    """Return the edit distance of two names."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left[:80], 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def missing_fields(job: JobSpec) -> Iterator[Hit]:
    """A field without which the object is refused."""
    if not job.is_fragment:
        name, generated = job.metadata.at("name"), job.metadata.at("generateName")
        if not name.present and not generated.present:
            yield Hit(name, "the job has no metadata.name", fix="name it")
    for each in missing(job):
        yield Hit(each.field, f"{each.row.name} is missing", fix=f"add {each.row.name}")
    for replica_set in job.replica_sets:
        containers = replica_set.pod.at("containers")
        if not containers.items and not containers.is_token and _may_be_list(containers):
            yield Hit(containers, "the pod has no containers", fix="add one")
        for container in replica_set.containers:
            if not container.field.at("name").present:
                yield Hit(container.field.at("name"), "a container has no name", fix="name it")


def _may_be_list(field: Field) -> bool:
    return not field.present or isinstance(field.node, SequenceNode)


def wrong_types(job: JobSpec) -> Iterator[Hit]:
    """A value of another type than the API takes."""
    for member in members(job):
        field, row = member.field, member.row
        if row is None or fits(field, row.type) or row.choices or _has_own_check(member):
            continue
        if row.type == "string" and _is_yaml_11(field):
            continue
        if field.path.endswith("logMonitoringConfiguration"):
            continue
        yield Hit(
            field,
            f"{_named(member)} is {_written(field)}, not {expected(row.type)}",
            fix=_retype(field, row.type),
            edits=_retyping(field, row.type),
        )


def _has_own_check(member: Member) -> bool:
    is_text = member.field.text is not None
    return member.key == "image" and (is_text or not member.field.present)


def _named(member: Member) -> str:
    return member.key or member.field.path.rsplit(".", 1)[-1]


def _is_yaml_11(field: Field) -> bool:
    node = field.scalar
    return node is not None and node.is_plain and yaml_11_meaning(node.text) is not None


def _written(field: Field) -> str:
    match field.node:
        case Scalar(value=value, text=text) as node:
            if isinstance(value, bool):
                return f"the bool {text}"
            if isinstance(value, int | float):
                return f"the number {text}"
            return f"the text {node.text!r}"
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"
        case None:
            return "nothing"


def _retype(field: Field, kind: str) -> str:
    text = field.words or ""
    if kind == "string" and isinstance(field.node, Scalar):
        return f'write "{text}"'
    if kind == "int" and _seconds(text) is not None:
        return f"write {_seconds(text)}"
    return f"write {expected(kind)}"


def _retyping(field: Field, kind: str) -> tuple[Edit, ...]:
    if not isinstance(field.node, Scalar):
        return ()
    text = field.node.text
    if kind == "string" and field.node.is_plain:
        return rewritten(field, f'"{text}"')
    if kind == "int" and _seconds(text) is not None:
        return rewritten(field, str(_seconds(text)))
    if kind == "bool" and text in {"true", "false"}:
        return rewritten(field, text)
    return ()


def _seconds(text: str) -> int | None:
    """Return what "15m", "90s" or "4" means as a whole number."""
    match = re.fullmatch(r"([0-9]{1,9})\s*(s|sec|m|min|h|)", text.strip())
    if match is None:
        return None
    return int(match[1]) * {"m": 60, "min": 60, "h": 3600}.get(match[2], 1)


def wrong_words(job: JobSpec) -> Iterator[Hit]:
    """A word outside a closed list."""
    for member in members(job):
        field, row = member.field, member.row
        if row is None or not row.choices or not field.present or field.is_token:
            continue
        if field.words in row.choices and field.text is not None:
            continue
        same = [word for word in row.choices if word.lower() == (field.words or "").lower()]
        yield Hit(
            field,
            f"{member.key} is {_written(field)}",
            fix=f"write {same[0]}" if same else f"write one of {', '.join(row.choices)}",
            edits=rewritten(field, f'"{same[0]}"') if same else (),
        )


def out_of_range(job: JobSpec) -> Iterator[Hit]:
    """A number below what makes sense."""
    for member in members(job):
        field, row = member.field, member.row
        number = field.integer
        if row is None or row.minimum is None or number is None or number >= row.minimum:
            continue
        yield Hit(field, f"{member.key} is {number}", fix=f"write {row.minimum} or more")


def monitors_not_a_list(job: JobSpec) -> Iterator[Hit]:
    """The map form that some guides teach."""
    field = (
        job.root.at("logMonitoringConfiguration")
        if job.is_fragment
        else job.run_policy.at("logMonitoringConfiguration")
    )
    if not field.present or field.is_token or isinstance(field.node, SequenceNode):
        return
    has_rules = field.at("rules").present
    yield Hit(
        field,
        f"logMonitoringConfiguration is {_written(field)}, not a list",
        fix="drop 'rules:' and put its items directly below" if has_rules else "write a list",
        at_key=True,
    )


CHECKS = (
    Check(
        code="HPJ013",
        name="unknown-field",
        severity=Severity.ERROR,
        why="kubectl refuses it, or it is dropped silently and the setting never exists.",
        fix="remove or rename it",
        source="HyperPod CLI model of the CRD; Kubernetes field validation",
        run=unknown_fields,
    ),
    Check(
        code="HPJ014",
        name="field-at-wrong-level",
        severity=Severity.ERROR,
        why="kubectl refuses it, or it is dropped silently and the setting never exists.",
        fix="move it",
        source="HyperPod CLI model of the CRD",
        run=misplaced_fields,
    ),
    Check(
        code="HPJ015",
        name="required-field-missing",
        severity=Severity.ERROR,
        why="The API server refuses the object.",
        fix="add it",
        source="HyperPod CLI model of the CRD; Kubernetes",
        run=missing_fields,
    ),
    Check(
        code="HPJ016",
        name="wrong-type",
        severity=Severity.ERROR,
        why="The API server refuses a value of another type.",
        fix="write the type named",
        source="HyperPod CLI model of the CRD; Kubernetes",
        run=wrong_types,
    ),
    Check(
        code="HPJ017",
        name="word-not-in-list",
        severity=Severity.ERROR,
        why="Refused or ignored; the words are case-sensitive.",
        fix="write one of the words",
        source="AWS: using the HyperPod training operator",
        run=wrong_words,
    ),
    Check(
        code="HPJ018",
        name="number-out-of-range",
        severity=Severity.ERROR,
        why="Refused, or it makes no sense.",
        fix="write a number in range",
        source="HyperPod CLI model of the CRD",
        run=out_of_range,
    ),
    Check(
        code="HPJ019",
        name="monitors-not-a-list",
        severity=Severity.ERROR,
        why="The field is a list of rules; the map form is refused.",
        fix="write a list",
        source="HyperPod CLI model of the CRD",
        run=monitors_not_a_list,
    ),
)
