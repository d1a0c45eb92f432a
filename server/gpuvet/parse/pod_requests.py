"""What the containers of a manifest or a pod ask for: GPUs, EFA interfaces, network settings.

Any kind that holds a pod template is read: the walk looks for `containers`, not for kinds. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence

from gpuvet.errors import SpecSyntaxError
from gpuvet.model.network import PodRequest
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at, whole_at
from gpuvet.parse.untrusted import clean
from gpuvet.parse.yaml_text import load_documents

EFA_RESOURCE = "vpc.amazonaws.com/efa"
_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
_SETTINGS = ("FI_", "NCCL_", "RDMAV_", "OFI_NCCL_")
_MOST_DEPTH = 20


def read_pod_requests(text: str, file: str) -> tuple[PodRequest, ...]:
    """Return one request per container of a YAML text; nothing where it is no YAML."""
    try:
        documents = load_documents(text)
    except SpecSyntaxError:
        return ()
    return tuple(one for document in documents for one in pod_requests(document, file))


def pod_requests(document: object, file: str) -> Iterator[PodRequest]:
    """Yield one request per container that asks for a GPU, wherever the template lies."""
    if not is_object(document):
        return
    kind = clean(text_at(document, "kind") or "")
    name = clean(text_at(object_at(document, "metadata"), "name") or "") or None
    for spec, replicas in _templates(document, None, 0):
        for row in objects_at(spec, "containers"):
            found = _request(row, file, kind, name, replicas)
            if found.gpus:
                yield found


def _templates(
    value: object, replicas: int | None, depth: int
) -> Iterator[tuple[Mapping[str, object], int | None]]:
    if depth > _MOST_DEPTH:
        return
    if is_object(value):
        own = whole_at(value, "replicas")
        replicas = own if own is not None else replicas
        if is_array(value.get("containers")):
            yield value, replicas
        for inner in value.values():
            yield from _templates(inner, replicas, depth + 1)
    elif is_array(value):
        for inner in value:
            yield from _templates(inner, replicas, depth + 1)


def _request(
    row: Mapping[str, object], file: str, kind: str, name: str | None, replicas: int | None
) -> PodRequest:
    resources = object_at(row, "resources")
    asked = {**object_at(resources, "requests"), **object_at(resources, "limits")}
    gpus = [number for key in _GPU_RESOURCES if (number := whole_at(asked, key)) is not None]
    return PodRequest(
        file=file,
        kind=kind,
        name=name,
        container=clean(text_at(row, "name") or "") or None,
        replicas=replicas,
        gpus=sum(gpus) if gpus else None,
        efa=whole_at(asked, EFA_RESOURCE),
        environment=tuple(_settings(objects_at(row, "env"))),
    )


def _settings(rows: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        name = text_at(row, "name") or ""
        if name.startswith(_SETTINGS):
            yield clean(name), clean(str(row.get("value", "")))
