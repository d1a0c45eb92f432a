"""Kubernetes objects as kubectl prints them, JSON or YAML: nodes, pods, events, lists, excerpts."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import KubeObject
from gpuvet.model.case import NodeReading
from gpuvet.model.cluster import NodeFacts
from gpuvet.model.events import NodeCondition, Source, TimeQuality
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id

Json = Mapping[str, Any]
HEALTH_LABEL = "sagemaker.amazonaws.com/node-health-status"
_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
# What HyperPod itself says of a node by labels; the singular spellings are documented too.
_OWN_LABEL = re.compile(
    r"sagemaker\.amazonaws\.com/(?:deep-health-check-status|fault-types?|fault-reasons?)"
)
# What a cluster says of itself; anything else with a kind is somebody's wish: a manifest.
_OBSERVED = frozenset({"Node", "Pod", "Event", "Job"})
# The command an excerpt was taken with names the node that the excerpt may not.
_ASKED_FOR = re.compile(r"kubectl\s+(?:get|describe)\s+(?:nodes?|no)[/ ]+([\w.-]+)")


def kube_objects(document: object, file: str) -> Iterator[KubeObject]:
    """Yield the observed objects of a document, lists opened; manifests are none of them."""
    if not is_object(document):
        return
    kind = text_at(document, "kind") or ""
    if kind.endswith("List") and is_array(document.get("items")):
        for item in objects_at(document, "items"):
            yield from kube_objects({"kind": kind.removesuffix("List"), **item}, file)
    elif kind in _OBSERVED and (is_object(document.get("status")) or kind == "Event"):
        yield KubeObject(kind, file, document)
    elif not kind and _is_node_excerpt(document):
        yield KubeObject("Node", file, document)


def _is_node_excerpt(document: Json) -> bool:
    provider = text_at(object_at(document, "spec"), "providerID")
    return provider is not None or bool(objects_at(object_at(document, "status"), "conditions"))


def node_reading(thing: KubeObject, text: str = "") -> NodeReading | None:
    """Return what a Node object says, or None where it names no node.

    Args:
        thing: An object of kind Node.
        text: The file's text: a comment may hold the command, and with it the node's name.
    """
    meta, status = object_at(thing.body, "metadata"), object_at(thing.body, "status")
    asked = _ASKED_FOR.search(text)
    name = text_at(meta, "name") or (asked[1] if asked else None)
    provider = text_at(object_at(thing.body, "spec"), "providerID") or ""
    node = instance_id(provider) or instance_id(name or "") or name
    if node is None:
        return None
    labels = object_at(meta, "labels")
    found_type = next((labels[key] for key in _TYPE_LABELS if key in labels), None)
    short = name.partition(".")[0] if name else None
    return NodeReading(
        node=node,
        host=name,
        aliases=tuple(dict.fromkeys(alias for alias in (name, short) if alias)),
        instance_type=str(found_type) if found_type else None,
        facts=NodeFacts(
            health_label=text_at(labels, HEALTH_LABEL),
            conditions=(
                *_conditions(status, node, thing.file),
                *_label_conditions(labels, node, thing.file),
            ),
        ),
        labels=tuple(sorted((key, str(value)) for key, value in labels.items())),
        allocatable=tuple(
            sorted((key, str(value)) for key, value in object_at(status, "allocatable").items())
        ),
        files=(thing.file,),
    )


def _label_conditions(labels: Json, node: str, file: str) -> Iterator[NodeCondition]:
    """Yield HyperPod's own labels as conditions; a label has no time of its own."""
    for key, value in sorted(labels.items()):
        if _OWN_LABEL.fullmatch(key):
            yield NodeCondition(
                node=node,
                stream=file,
                line=0,
                raw=clean(f"{key}: {value}"),
                source=Source.EKS_CONDITION,
                kind=key,
                status=clean(str(value)),
            )


def _conditions(status: Json, node: str, file: str) -> Iterator[NodeCondition]:
    for place, row in enumerate(objects_at(status, "conditions"), start=1):
        transition = as_datetime(row.get("lastTransitionTime"))
        said = ", ".join(f"{key}: {value}" for key, value in row.items())
        yield NodeCondition(
            node=node,
            stream=file,
            line=place,
            raw=clean(said),
            at=transition,
            time_quality=TimeQuality.EXACT if transition else TimeQuality.NONE,
            source=Source.EKS_CONDITION,
            kind=text_at(row, "type") or "unknown",
            status=str(row.get("status", "Unknown")),
            reason=text_at(row, "reason"),
            message=clean(text_at(row, "message") or ""),
            transition_at=transition,
            heartbeat_at=as_datetime(row.get("lastHeartbeatTime")),
        )
