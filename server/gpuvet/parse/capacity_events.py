"""EventBridge events about capacity, as a rule's log group or a file holds them. Pure."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from gpuvet.model.capacity import CapacityWarning, WarningKind
from gpuvet.model.evidence import evidence_id
from gpuvet.model.untyped import is_array, is_object, object_at, text_at
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.times import parse_time
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id

# Event stamps have their year, so that this is never looked at.
_NO_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)
_ENDS = ("instance-termination-time", "end-date", "endDate", "termination-time")
_RESERVATION = ("capacity-reservation-id", "capacityReservationId")


def read_capacity_events(
    lines: Iterable[RawLine], *, stream: str, group: str | None = None
) -> tuple[CapacityWarning, ...]:
    """Return the warnings that lines hold; detail types are told by their tails, in any case.

    The names differ between partitions and pages.
    """
    found = (
        _warning(line.text, line.line or place, stream, group)
        for place, line in enumerate(lines, start=1)
    )
    return tuple(one for one in found if one is not None)


def _warning(text: str, line: int, stream: str, group: str | None) -> CapacityWarning | None:
    event = _event(text)
    name = (text_at(event, "detail-type") or "").lower()
    kind = next((one for one in WarningKind if name.endswith(one.value.lower())), None)
    at = _time(text_at(event, "time"))
    if kind is None or at is None or text_at(event, "source") not in {"aws.ec2", None}:
        return None
    detail = object_at(event, "detail")
    resources = _texts(event.get("resources"))
    instance = next(
        (
            i
            for one in (text_at(detail, "instance-id") or "", *resources)
            if (i := instance_id(one))
        ),
        None,
    )
    reservation = next((r for key in _RESERVATION if (r := text_at(detail, key))), None)
    if reservation is None:
        named = (one.rpartition("/")[2] for one in resources)
        reservation = next((one for one in named if one.startswith("cr-")), None)
    return CapacityWarning(
        kind=kind,
        at=at,
        instance=instance,
        reservation=reservation,
        ends_at=next((e for key in _ENDS if (e := _time(text_at(detail, key)))), None),
        stream=stream,
        raw=clean(text),
        evidence=evidence_id(
            account=None, region=None, operation="line", params=f"{group or ''}|{stream}#{line}"
        ),
    )


def _event(text: str) -> Mapping[str, Any]:
    """Return the event a line holds, also inside another record's message."""
    start = text.find("{")
    try:
        document: object = json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return {}
    if is_object(document) and "detail-type" not in document:
        inner = text_at(document, "message") or text_at(document, "@message")
        return _event(inner) if inner and inner != text else {}
    return document if is_object(document) else {}


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if is_array(value) else []


def _time(text: str | None) -> datetime | None:
    stamp = parse_time(text, _NO_REFERENCE) if text else None
    return stamp.at if stamp else None
