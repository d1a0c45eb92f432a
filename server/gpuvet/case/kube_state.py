"""Pods, jobs, taints and events of a case as values, wherever the objects came from."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import KubeObject
from gpuvet.model.kube import ContainerEnd, JobState, KubeEvent, KubeView, PodState, Taint
from gpuvet.model.untyped import object_at, objects_at, text_at, whole_at
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id

Json = Mapping[str, Any]
_DEVICES = ("nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")
_EFA = "vpc.amazonaws.com/efa"
_BAD_PHASES = frozenset({"Pending", "Failed", "Unknown"})
_FAULTY_ENDS = frozenset({"OOMKilled", "Error", "ContainerCannotRun", "DeadlineExceeded"})
# Reasons of events that speak of nodes, places and ends; the rest is routine.
TELLING_REASONS = frozenset(
    {
        *("FailedScheduling", "Evicted", "Preempted", "TaintManagerEviction", "OOMKilling"),
        *("SystemOOM", "NodeNotReady", "NodeReady", "Rebooted", "NodeHasDiskPressure"),
        *("EvictionThresholdMet", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"),
        *("BackOff", "Failed", "Unhealthy", "Killing", "DeletingNode", "RemovingNode", "Cordon"),
        *("SuccessfulDelete", "SuccessfulCreate", "NodeNotSchedulable", "FailedCreate"),
    }
)


def is_telling(one: KubeObject) -> bool:
    """Say whether an object says anything a question uses; routine pods and events do not."""
    if one.kind == "Pod":
        return _gpus(one.body) > 0 or _asks_for_efa(one.body) or _is_in_trouble(one.body)
    if one.kind == "Event":
        is_warning = text_at(one.body, "type") == "Warning"
        return is_warning or text_at(one.body, "reason") in TELLING_REASONS
    return True


_AGENT = "health-monitoring-agent"  # part of its pods' names


def agent_runs(objects: Iterable[KubeObject], names: Collection[str]) -> bool | None:
    """Say whether HyperPod's health agent runs on a node; None where no pod of it was listed.

    Args:
        objects: Of the case.
        names: Every name of the node.
    """
    own = [
        object_at(one.body, "status")
        for one in objects
        if one.kind == "Pod"
        and _AGENT in (text_at(object_at(one.body, "metadata"), "name") or "")
        and text_at(object_at(one.body, "spec"), "nodeName") in names
    ]
    if not own:
        return None
    return any(
        text_at(status, "phase") == "Running"
        and all(each.get("ready") is not False for each in objects_at(status, "containerStatuses"))
        for status in own
    )


def kube_view(objects: Iterable[KubeObject]) -> KubeView:
    """Return what the objects of a case say."""
    kept = list(objects)
    return KubeView(
        pods=tuple(_pod(one) for one in kept if one.kind == "Pod"),
        jobs=tuple(_job(one) for one in kept if one.kind == "HyperPodPyTorchJob"),
        taints=tuple(taint for one in kept if one.kind == "Node" for taint in _taints(one)),
        events=tuple(
            _event(one, place) for place, one in enumerate(kept, start=1) if one.kind == "Event"
        ),
    )


def _containers(body: Json) -> Iterator[Json]:
    yield from objects_at(object_at(body, "spec"), "containers")


def _gpus(body: Json) -> int:
    asked = (object_at(object_at(one, "resources"), "limits") for one in _containers(body))
    return sum(whole_at(limits, name) or 0 for limits in asked for name in _DEVICES)


def _asks_for_efa(body: Json) -> bool:
    limits = (object_at(object_at(one, "resources"), "limits") for one in _containers(body))
    return any((whole_at(one, _EFA) or 0) > 0 for one in limits)


def _is_in_trouble(body: Json) -> bool:
    status = object_at(body, "status")
    ends = (end.reason for end in _ends(body))
    return text_at(status, "phase") in _BAD_PHASES or any(one in _FAULTY_ENDS for one in ends)


def _pod(one: KubeObject) -> PodState:
    meta, status = object_at(one.body, "metadata"), object_at(one.body, "status")
    waits = next(
        (
            row
            for row in objects_at(status, "conditions")
            if text_at(row, "type") == "PodScheduled" and str(row.get("status")) == "False"
        ),
        None,
    )
    owners = objects_at(meta, "ownerReferences")[:1]
    named = [text_at(owner, part) for owner in owners for part in ("kind", "name")]
    return PodState(
        name=clean(text_at(meta, "name") or "unnamed"),
        namespace=_clean(text_at(meta, "namespace")),
        node=_clean(text_at(object_at(one.body, "spec"), "nodeName")),
        phase=_clean(text_at(status, "phase")),
        reason=_clean(text_at(status, "reason")),
        message=clean(text_at(status, "message") or ""),
        gpus=_gpus(one.body),
        job=clean("/".join(part for part in named if part)) or None,
        waits_because=clean(text_at(waits, "message") or text_at(waits, "reason") or "")
        if waits is not None
        else None,
        since=as_datetime((waits or {}).get("lastTransitionTime"))
        or as_datetime(meta.get("creationTimestamp")),
        ends=tuple(_ends(one.body)),
        file=one.file,
    )


def _ends(body: Json) -> Iterator[ContainerEnd]:
    for row in objects_at(object_at(body, "status"), "containerStatuses"):
        for member in ("state", "lastState"):
            end = object_at(object_at(row, member), "terminated")
            if end:
                yield ContainerEnd(
                    container=clean(text_at(row, "name") or "unnamed"),
                    reason=_clean(text_at(end, "reason")),
                    exit_code=whole_at(end, "exitCode"),
                    at=as_datetime(end.get("finishedAt")),
                    was_restarted=member == "lastState",
                )


def _job(one: KubeObject) -> JobState:
    meta, status = object_at(one.body, "metadata"), object_at(one.body, "status")
    true = [c for c in objects_at(status, "conditions") if str(c.get("status")) == "True"]
    dated = sorted(((_moment(c), i, c) for i, c in enumerate(true)), key=lambda row: row[:2])
    last: Json = dated[-1][2] if dated else {}
    return JobState(
        name=clean(text_at(meta, "name") or "unnamed"),
        namespace=_clean(text_at(meta, "namespace")),
        state=_clean(text_at(last, "type") or text_at(status, "phase") or text_at(status, "state")),
        reason=_clean(text_at(last, "reason")),
        message=clean(text_at(last, "message") or ""),
        at=as_datetime(last.get("lastTransitionTime")),
        file=one.file,
    )


def _moment(condition: Json) -> float:
    at = as_datetime(condition.get("lastTransitionTime"))
    return at.timestamp() if at is not None else 0.0


def _taints(one: KubeObject) -> Iterator[Taint]:
    meta, spec = object_at(one.body, "metadata"), object_at(one.body, "spec")
    name = text_at(meta, "name") or ""
    node = instance_id(text_at(spec, "providerID") or "") or instance_id(name) or name
    for row in objects_at(spec, "taints"):
        key, effect = text_at(row, "key"), text_at(row, "effect")
        if node and key and effect:
            value = _clean(text_at(row, "value"))
            yield Taint(node=node, key=clean(key), effect=clean(effect), value=value)


def _event(one: KubeObject, place: int) -> KubeEvent:
    about = object_at(one.body, "involvedObject") or object_at(one.body, "regarding")
    named = (text_at(about, "kind") or "Object", text_at(about, "name") or "unnamed")
    return KubeEvent(
        reason=clean(text_at(one.body, "reason") or "unknown"),
        about=clean("/".join(named)),
        message=clean(text_at(one.body, "message") or text_at(one.body, "note") or ""),
        kind=clean(text_at(one.body, "type") or "Normal"),
        at=_at(one.body),
        count=whole_at(one.body, "count") or 1,
        file=one.file,
        line=place,
    )


def _at(body: Json) -> datetime | None:
    names = ("lastTimestamp", "eventTime", "firstTimestamp")
    return next((at for name in names if (at := as_datetime(body.get(name))) is not None), None)


def _clean(text: str | None) -> str | None:
    return clean(text) if text else None
