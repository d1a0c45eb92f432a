"""A manifest file as documents and jobs, each field with its line and column.

Takes YAML and JSON, several documents, `kind: List`, templated files, and a bare
logMonitoringConfiguration. Judges nothing.
"""

from collections.abc import Iterator

from gpuvet.errors import SpecSyntaxError
from gpuvet.model.job_spec import (
    CheckContext,
    Container,
    DocumentRole,
    Env,
    Field,
    JobSpec,
    Manifest,
    ReplicaSet,
    Rule,
    SpecFile,
)
from gpuvet.model.yaml_tree import Document, MappingNode, Place, Scalar, SequenceNode
from gpuvet.parse import templates
from gpuvet.parse.launch_command import read_launch, shell_paths
from gpuvet.parse.yaml_text import Chunk, compose, split_documents

JOB_KIND = "HyperPodPyTorchJob"
API_VERSION = "sagemaker.amazonaws.com/v1"
MONITORS_KEY = "logMonitoringConfiguration"

# Kinds that start work: a user who checks one of them took the wrong resource.
_WORKLOADS = frozenset(
    {
        "cronjob",
        "daemonset",
        "deployment",
        "pod",
        "raycluster",
        "replicaset",
        "statefulset",
        "trainjob",
    }
)


def read_spec_file(name: str, text: str, context: CheckContext | None = None) -> SpecFile:
    """Return every document of a file; one that is not YAML carries its fault.

    Raises:
        SpecSyntaxError: the file is larger than 1 MiB.
    """
    manifests = [
        manifest
        for chunk in split_documents(text)
        for manifest in _read_chunk(chunk, context or CheckContext())
    ]
    has_job = any(manifest.kind.lower() == JOB_KIND.lower() for manifest in manifests)
    return SpecFile(name, text, tuple(each._replace(alone=not has_job) for each in manifests))


def _read_chunk(chunk: Chunk, context: CheckContext) -> Iterator[Manifest]:
    lines = tuple(
        (number + chunk.first_line - 1, line) for number, line in templates.lines(chunk.text)
    )
    try:
        document = compose(chunk)
    except SpecSyntaxError as error:
        place = Place(chunk.first_line, 1, chunk.first_line, 1, chunk.offset, chunk.offset)
        fault = (str(error), error.line, error.column)
        yield Manifest(Field("", place), DocumentRole.OTHER, "", fault=fault)
        return
    if document is None:
        return
    root = Field("", document.root.place, document.root)
    for each in _listed(root):
        yield _manifest(each, document, lines, context)


def _listed(root: Field) -> tuple[Field, ...]:
    """Return the items of a `kind: List`, else the document itself."""
    kind = root.at("kind").words or ""
    if kind == "List" or (kind.endswith("List") and root.at("items").items):
        return root.at("items").items
    return (root,)


def _manifest(
    root: Field,
    document: Document,
    template_lines: tuple[tuple[int, str], ...],
    context: CheckContext,
) -> Manifest:
    role = _role(root)
    job: JobSpec | None = None
    if role is DocumentRole.JOB:
        job = _job(root, context)
    elif role is DocumentRole.MONITORS:
        monitors = root if isinstance(root.node, SequenceNode) else root.at(MONITORS_KEY)
        job = JobSpec(root, rules=_rules(monitors), context=context, is_fragment=True)
    return Manifest(
        root,
        role,
        root.at("kind").words or "",
        document=document,
        job=job,
        shell_paths=frozenset(shell_paths(root.node, root.path)) if root.node else frozenset(),
        template_lines=template_lines,
        is_export=_is_export(root),
    )


def _role(root: Field) -> DocumentRole:
    kind = (root.at("kind").words or "").lower()
    api = root.at("apiVersion").words or ""
    if kind == JOB_KIND.lower():
        return DocumentRole.JOB
    if kind == "servicemonitor":
        return DocumentRole.SERVICE_MONITOR
    if not kind and _looks_like_monitors(root):
        return DocumentRole.MONITORS
    if not kind and (api.startswith("sagemaker.amazonaws.com/") or _has_replica_specs(root)):
        return DocumentRole.JOB
    if "job" in kind or "hyperpod" in kind or kind in _WORKLOADS:
        return DocumentRole.WRONG_KIND
    return DocumentRole.OTHER


def _has_replica_specs(root: Field) -> bool:
    return root.at("spec", "replicaSpecs").present


def _looks_like_monitors(root: Field) -> bool:
    if isinstance(root.node, MappingNode):
        return root.at(MONITORS_KEY).present
    return bool(root.items) and all(
        item.at("logPattern").present or item.at("stopPattern").present for item in root.items
    )


def _is_export(root: Field) -> bool:
    """True for an object that came out of the API server."""
    server_set = ("uid", "resourceVersion", "creationTimestamp")
    return all(root.at("metadata", key).present for key in server_set)


def _job(root: Field, context: CheckContext) -> JobSpec:
    spec = root.at("spec")
    return JobSpec(
        root,
        replica_sets=tuple(_replica_set(item) for item in spec.at("replicaSpecs").items),
        rules=_rules(spec.at("runPolicy", MONITORS_KEY)),
        context=context,
    )


def _rules(monitors: Field) -> tuple[Rule, ...]:
    """Return the rules of a list, or of the `{rules: [...]}` form that some guides teach."""
    items = monitors.items or monitors.at("rules").items
    return tuple(
        Rule(item, index) for index, item in enumerate(items) if isinstance(item.node, MappingNode)
    )


def _replica_set(item: Field) -> ReplicaSet:
    pod = item.at("template", "spec")
    return ReplicaSet(
        item, pod, tuple(_container(container) for container in pod.at("containers").items)
    )


def _container(container: Field) -> Container:
    env = tuple(
        Env(name, item.at("value"), item)
        for item in container.at("env").items
        if (name := item.at("name").words)
    )
    return Container(container, read_launch(container), env)


def has_alias(field: Field) -> bool:
    """Return whether a value stands there as *alias: an edit would change another place."""
    return isinstance(field.node, Scalar) and field.node.alias is not None
