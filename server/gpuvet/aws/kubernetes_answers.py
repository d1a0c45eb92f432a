"""Lists of a Kubernetes API cut down to what we read, before anybody keeps them. Pure.

What goes: environment values (all but those of NCCL and libfabric), annotations, managed fields,
volumes, commands. Secrets stand in these, and nothing that we conclude does.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at
from gpuvet.parse.untrusted import clean

Json = Mapping[str, Any]
_LENGTH = 1_000
_MOST_ITEMS = 200
_FAULT_DETAILS = "fault-details"  # the one annotation that HyperPod puts its reasons in
_META = ("name", "namespace", "creationTimestamp", "deletionTimestamp", "uid")
_READ_ENVIRONMENT = ("FI_", "NCCL_")


def page_of_list(document: Json, kind: str) -> dict[str, Any]:
    """Return a list of the API as a page of our door: `items`, and `nextToken` where it goes on."""
    meta = object_at(document, "metadata")
    trim = _TRIM[kind]
    items = [
        {"kind": kind, "metadata": _meta(row), **trim(row)} for row in objects_at(document, "items")
    ]
    following = text_at(meta, "continue")
    return {"items": items} | ({"nextToken": following} if following else {})


def _meta(row: Json) -> dict[str, Any]:
    meta = object_at(row, "metadata")
    owners = [_some(one, ("kind", "name")) for one in objects_at(meta, "ownerReferences")[:8]]
    notes = {
        key: value
        for key, value in _texts(object_at(meta, "annotations")).items()
        if key.rpartition("/")[2] == _FAULT_DETAILS
    }
    return {
        **_some(meta, _META),
        "labels": _texts(object_at(meta, "labels")),
        **({"ownerReferences": owners} if owners else {}),
        **({"annotations": notes} if notes else {}),
    }


def _node(row: Json) -> dict[str, Any]:
    spec, status = object_at(row, "spec"), object_at(row, "status")
    taints = [_some(one, ("key", "value", "effect", "timeAdded")) for one in _rows(spec, "taints")]
    return {
        "spec": {**_some(spec, ("providerID", "unschedulable")), "taints": taints},
        "status": {
            "conditions": [_some(one, _CONDITION) for one in _rows(status, "conditions")],
            "addresses": [_some(one, ("type", "address")) for one in _rows(status, "addresses")],
            "allocatable": _texts(object_at(status, "allocatable")),
            "capacity": _texts(object_at(status, "capacity")),
            "nodeInfo": _texts(object_at(status, "nodeInfo")),
        },
    }


def _pod(row: Json) -> dict[str, Any]:
    spec, status = object_at(row, "spec"), object_at(row, "status")
    return {
        "spec": {
            **_some(spec, ("nodeName", "schedulerName", "priorityClassName")),
            "containers": [_container(one) for one in _rows(spec, "containers")],
        },
        "status": {
            **_some(status, ("phase", "reason", "message", "startTime")),
            "conditions": [_some(one, _CONDITION) for one in _rows(status, "conditions")],
            "containerStatuses": [_state(one) for one in _rows(status, "containerStatuses")],
        },
    }


def _container(row: Json) -> dict[str, Any]:
    environment = [
        _some(one, ("name", "value"))
        for one in _rows(row, "env")
        if (text_at(one, "name") or "").startswith(_READ_ENVIRONMENT)
    ]
    asked = object_at(row, "resources")
    return {
        **_some(row, ("name", "image")),
        "resources": {name: _texts(object_at(asked, name)) for name in ("requests", "limits")},
        **({"env": environment} if environment else {}),
    }


_STATES = ("waiting", "running", "terminated")
_STATE = ("reason", "message", "exitCode", "signal", "startedAt", "finishedAt")


def _state(row: Json) -> dict[str, Any]:
    def states(of: str) -> dict[str, Any]:
        told = object_at(row, of)
        return {name: _some(object_at(told, name), _STATE) for name in _STATES if name in told}

    return {
        **_some(row, ("name", "restartCount", "ready")),
        "state": states("state"),
        "lastState": states("lastState"),
    }


_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime", "lastHeartbeatTime")
_ABOUT = ("kind", "name", "namespace")


def _event(row: Json) -> dict[str, Any]:
    about = object_at(row, "involvedObject") or object_at(row, "regarding")
    return {
        **_some(row, ("type", "reason", "message", "note", "count", *_TIMES)),
        "involvedObject": _some(about, _ABOUT),
        "source": _some(object_at(row, "source"), ("component", "host")),
    }


_TIMES = ("firstTimestamp", "lastTimestamp", "eventTime")


def _job(row: Json) -> dict[str, Any]:
    status = object_at(row, "status")
    plain = {name: value for name, value in status.items() if isinstance(value, int | bool | str)}
    return {
        "status": {
            **_some(plain, tuple(plain)[:_MOST_ITEMS]),
            "conditions": [_some(one, _CONDITION) for one in _rows(status, "conditions")],
        }
    }


_TRIM: Mapping[str, Callable[[Json], dict[str, Any]]] = MappingProxyType(
    {"Node": _node, "Pod": _pod, "Event": _event, "HyperPodPyTorchJob": _job}
)


def _rows(row: Json, name: str) -> list[Json]:
    return objects_at(row, name)[:_MOST_ITEMS]


def _some(row: Json, names: tuple[str, ...]) -> dict[str, Any]:
    """Return these plain members, texts bounded and masked; others are left out."""
    return dict(_plain((name, row[name]) for name in names if name in row))


def _texts(row: Json) -> dict[str, str]:
    members = list(row.items())[:_MOST_ITEMS]
    return {
        clean(str(name)): clean(str(value))
        for name, value in members
        if not is_object(value) and not is_array(value)
    }


def _plain(pairs: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, value in pairs:
        if isinstance(value, str):
            yield name, clean(value, limit=_LENGTH)
        elif isinstance(value, datetime):  # a recorded time, read as one already
            yield name, value.isoformat()
        elif isinstance(value, bool | int | float):
            yield name, value
