"""ParallelCluster's JSON events to what they say. Pure.

Fields beyond `event-type` and `failure-type` are not documented in full (coverage.md), so
node names and exit codes are looked for wherever they stand.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from gpuvet.model.bootstrap import LaunchFault, ServiceEvent
from gpuvet.model.untyped import is_array, is_number, is_object, object_at, text_at, whole_at
from gpuvet.parse.launch_faults import fault_of
from gpuvet.parse.times import Stamp, parse_time
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id

_MOST_LEVELS = 12
# An event's stamp has its year, so that this is never looked at.
_NO_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)
_KINDS = {
    "node-launch-failure-count": ServiceEvent.LAUNCH_FAILED,
    "node-launch-failure": ServiceEvent.LAUNCH_FAILED,
    "protected-mode-error-count": ServiceEvent.BOOTSTRAP_FAILED,
    "node-not-responding-down-count": ServiceEvent.NOT_RESPONDING,
    "nodes-failing-health-check-count": ServiceEvent.HEALTH_CHECK_FAILED,
    "compute-node-health-check": ServiceEvent.HEALTH_CHECK_FAILED,
    "invalid-backing-instance-count": ServiceEvent.NO_BACKING_INSTANCE,
    "custom-action-error": ServiceEvent.ACTION_EXIT,
}


def read_event(
    text: str, fields: Mapping[str, object]
) -> tuple[ServiceEvent, dict[str, Any]] | None:
    """Return what an event says, or None for a line that is none, and for a count of zero.

    Args:
        text: The line as shipped.
        fields: The JSON object the line's wrappers held, where they were opened already.
    """
    document = fields if "event-type" in fields else _document(text)
    kind = _KINDS.get(text_at(document, "event-type") or "")
    if kind is None:
        return None
    detail = object_at(document, "detail")
    count = whole_at(detail, "count")
    exit_status = next(_numbers(detail, {"exit_code", "exit-code", "health-check-result"}), None)
    if count == 0 or (kind is ServiceEvent.HEALTH_CHECK_FAILED and exit_status == 0):
        return None
    failure = text_at(detail, "failure-type")
    stamp = event_time(document)
    told: dict[str, Any] = {
        **({"at": stamp.at, "time_quality": stamp.quality} if stamp is not None else {}),
        "names": tuple(dict.fromkeys(_texts(detail, {"name", "node-name", "node_name"}))),
        "instances": tuple(
            dict.fromkeys(
                i for one in _texts(detail, {"id", "instance-id"}) if (i := instance_id(one))
            )
        ),
        "count": count,
        "code": failure,
        "exit_status": exit_status,
        "action": clean(text_at(detail, "action") or "custom action")
        if kind is ServiceEvent.ACTION_EXIT
        else None,
        "fault": _fault(failure) if kind is ServiceEvent.LAUNCH_FAILED else None,
    }
    return kind, told


def event_time(document: object) -> Stamp | None:
    """Return the time an event carries, or None."""
    text = text_at(document, "datetime") or text_at(document, "time")
    return parse_time(text, _NO_REFERENCE) if text else None


def _fault(failure: str | None) -> LaunchFault:
    return fault_of(failure) if failure else LaunchFault.OTHER


def _document(text: str) -> object:
    start = text.find("{")
    if start < 0 or '"event-type"' not in text:
        return None
    try:
        return json.loads(text[start:])
    except (ValueError, RecursionError):
        return None


def _texts(value: object, names: set[str], level: int = 0) -> Iterator[str]:
    for key, inner in _members(value, level):
        if key in names and isinstance(inner, str):
            yield inner
        else:
            yield from _texts(inner, names, level + 1)


def _numbers(value: object, names: set[str], level: int = 0) -> Iterator[int]:
    for key, inner in _members(value, level):
        if key in names and is_number(inner):
            yield int(inner)
        else:
            yield from _numbers(inner, names, level + 1)


def _members(value: object, level: int) -> Iterator[tuple[str, object]]:
    if level > _MOST_LEVELS:
        return
    if is_object(value):
        yield from value.items()
    elif is_array(value):
        yield from (("", inner) for inner in value)
