"""HPJ001 to HPJ007: the file as YAML, and what a template or a server left in it."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, rewritten
from gpuvet.checks.spec.pod_facts import dollar_literals
from gpuvet.checks.spec.schema_walk import members
from gpuvet.model.check import Edit, Severity
from gpuvet.model.job_spec import PLACEHOLDER, TEMPLATE, DocumentRole, Field, Manifest
from gpuvet.model.yaml_tree import MappingNode, Place, Scalar, walk

_SERVER_SET = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
)
_NOT_WRITTEN = ("status", "metadata.managedFields", "metadata.annotations['kubectl.kubernetes.io")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")
_NAMES = re.compile(
    r"(?:metadata\.name|metadata\.namespace|\.image|\.claimName|queue-name'\]|nodeSelector[.\[].*)\Z"
)
_YAML_11_WORDS = frozenset(["y", "n", "yes", "no", "on", "off"])
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+\Z")
_SEXAGESIMAL = re.compile(r"[0-9]+(?::[0-5][0-9])+\Z")


def not_yaml(manifest: Manifest) -> Iterator[Hit]:
    """Nothing of the document can be applied."""
    if manifest.fault is not None:
        message, line, column = manifest.fault
        place = Place(line, column, line, column, 0, 0)
        yield Hit(Field("", place), f"not YAML: {message}")


def repeated_keys(manifest: Manifest) -> Iterator[Hit]:
    """The same key twice in one mapping."""
    if manifest.document is None or manifest.template_lines:
        return
    for each in manifest.document.repeated:
        where = Field(each.path, each.again, None, each.again)
        yield Hit(where, f"{each.key!r} stands twice; first in line {each.first.line}")


def other_documents(manifest: Manifest) -> Iterator[Hit]:
    """A document that is not judged."""
    if manifest.role is DocumentRole.OTHER and manifest.fault is None and not manifest.alone:
        kind = manifest.kind or "document without a kind"
        yield Hit(manifest.root, f"{kind} is not a HyperPodPyTorchJob and was not checked")


def placeholders(manifest: Manifest) -> Iterator[Hit]:
    """Text that a template engine or a person still has to fill in."""
    for line, text in manifest.template_lines[:1]:
        more = f" and {len(manifest.template_lines) - 1} more" * (len(manifest.template_lines) > 1)
        place = Place(line, 1, line, len(text) + 1, 0, 0)
        yield Hit(Field("", place), f"template line {text!r}{more} (Helm or Jinja)")
    if manifest.root.node is None:
        return
    taken = {
        (each.field.path, name) for each in dollar_literals(manifest.job) for name in each.names
    }
    for path, node in walk(manifest.root.node, manifest.root.path):
        if isinstance(node, Scalar) and node.alias is None and not path.startswith(_NOT_WRITTEN):
            found = _unfilled(path, node, manifest.shell_paths, taken)
            if found:
                token, kind = found
                yield Hit(Field(path, node.place, node), f"{token!r} is not filled in ({kind})")
        if isinstance(node, MappingNode):
            yield from _keys(path, node)


def _keys(path: str, node: MappingNode) -> Iterator[Hit]:
    for entry in node.entries:
        if TEMPLATE.search(entry.key.text) and not entry.merged:
            where = Field(path, entry.key.place, entry.key)
            yield Hit(where, f"the key {entry.key.text!r} is not filled in (template)")


def _unfilled(
    path: str, node: Scalar, shell_paths: frozenset[str], taken: set[tuple[str, str]]
) -> tuple[str, str] | None:
    """Return the first token of a value and what would fill it in."""
    is_regex = path.endswith(("logPattern", "stopPattern"))
    for match in TEMPLATE.finditer(node.text):
        token = match[0]
        if token.startswith("{"):
            return token, "Helm or Jinja"
        name = re.sub(r"\W.*", "", token.lstrip("${"))
        if path not in shell_paths and (path, name) not in taken:
            return token, "envsubst or a shell"
    if is_regex:
        return None
    for match in PLACEHOLDER.finditer(node.text):
        if path not in shell_paths or match[0].startswith("<"):
            return match[0], "by hand"
    if _NAMES.search(path) and _CAPITALS.match(node.text):
        return node.text, "by hand"
    return None


def anchors(manifest: Manifest) -> Iterator[Hit]:
    """Anchors and aliases."""
    if manifest.document is not None and manifest.document.anchors:
        first = manifest.document.anchors[0]
        where = Field("", first.place)
        names = ", ".join(f"&{each.name}" for each in manifest.document.anchors[:5])
        merge = "; << is not YAML 1.2" if manifest.document.has_merge else ""
        yield Hit(where, f"anchors {names} are lost when a tool writes the file again{merge}")


def yaml_11_words(manifest: Manifest) -> Iterator[Hit]:
    """Plain text that YAML 1.1 readers turn into another type."""
    if manifest.job is None:
        return
    for member in members(manifest.job):
        node = member.field.scalar
        kind = member.row.type if member.row else ""
        if node is None or not node.is_plain or kind not in {"string", "int"}:
            continue
        if member.row and member.row.choices:
            continue
        becomes = yaml_11_meaning(node.text)
        if becomes and (kind == "string" or _LEADING_ZERO.match(node.text)):
            quoted = f'"{node.text}"' if kind == "string" else str(int(node.text))
            yield Hit(
                member.field,
                f"{node.text} without quotes is read as {becomes}",
                fix=f"write {quoted}",
                edits=rewritten(member.field, quoted),
            )


def yaml_11_meaning(text: str) -> str | None:
    """Return what a YAML 1.1 reader makes of plain text, or None if it stays what it looks like."""
    if text.lower() in _YAML_11_WORDS:
        return "true" if text.lower() in {"y", "yes", "on"} else "false"
    if _LEADING_ZERO.match(text):
        return "an octal or other number"
    if _SEXAGESIMAL.match(text):
        return "a number to base 60 by some readers"
    return None


def server_fields(manifest: Manifest) -> Iterator[Hit]:
    """Fields that only the API server writes."""
    if manifest.job is None or manifest.job.is_fragment:
        return
    milder = Severity.ADVICE if manifest.is_export else None
    fields = [manifest.root.at("status")]
    fields += [manifest.root.at("metadata", key) for key in _SERVER_SET]
    for field in fields:
        if field.present:
            edits = _deletion(field) if milder is None else ()
            name = field.path
            yield Hit(
                field, f"{name} is set by the server", milder=milder, at_key=True, edits=edits
            )


def _deletion(field: Field) -> tuple[Edit, ...]:
    """Return the edit that removes a key with its value in block style."""
    if field.key_place is None or field.node is None:
        return ()
    if field.key_place.column > 40 or field.node.place.end < field.key_place.start:
        return ()
    start = field.key_place.start - (field.key_place.column - 1)
    if isinstance(field.node, MappingNode) and field.node.is_flow:
        return ()
    end = field.node.place.end
    is_open = isinstance(field.node, Scalar) and field.node.place.end_column > 1
    return (Edit(start=start, end=end + (1 if is_open else 0), text=""),)


CHECKS = (
    Check(
        code="HPJ001",
        name="not-yaml",
        severity=Severity.ERROR,
        why="kubectl cannot read the document, so nothing of it is applied or checked.",
        fix="mend the line named; the fault is often one line above",
        source="YAML 1.1/1.2",
        run=not_yaml,
    ),
    Check(
        code="HPJ002",
        name="repeated-key",
        severity=Severity.ERROR,
        why="kubectl refuses it; lenient readers silently keep the last value.",
        fix="keep one of the two",
        source="YAML, kubectl strict decoding",
        run=repeated_keys,
    ),
    Check(
        code="HPJ003",
        name="document-not-checked",
        severity=Severity.ADVICE,
        why="Only HyperPodPyTorchJob, log monitors and ServiceMonitor documents are judged.",
        fix="nothing to do",
        source="gpuvet",
        run=other_documents,
    ),
    Check(
        code="HPJ004",
        name="placeholder-left",
        severity=Severity.ERROR,
        why="kubectl does not fill in templates: the text is applied as it stands.",
        fix="write the value, or run envsubst or helm template first and check its output",
        source="AWS samples; public manifests",
        run=placeholders,
    ),
    Check(
        code="HPJ005",
        name="anchors-used",
        severity=Severity.ADVICE,
        why="kubectl reads them, but tools that rewrite the file lose them.",
        fix="nothing to do",
        source="YAML 1.2",
        run=anchors,
    ),
    Check(
        code="HPJ006",
        name="word-changes-type",
        severity=Severity.WARNING,
        why="YAML 1.1 readers, kubectl among them, change the type of such words.",
        fix="put it in quotes",
        source="YAML 1.1",
        run=yaml_11_words,
    ),
    Check(
        code="HPJ007",
        name="server-field-in-manifest",
        severity=Severity.ERROR,
        why="The API server sets it; in a manifest it is ignored or makes the apply fail.",
        fix="delete it",
        source="Kubernetes API conventions",
        run=server_fields,
    ),
)
