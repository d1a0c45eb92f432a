"""CloudTrail look-ups over recorded events: by one attribute and a time range, newest first."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gpuvet.aws.door import Page
from gpuvet.aws.recorded_calls import RecordedCall
from gpuvet.aws.timestamps import as_datetime

_TRAIL_KEYS = ("EventId", "EventName", "ReadOnly", "Username", "EventSource", "AccessKeyId")


def lookup_events(
    params: Mapping[str, Any], call: RecordedCall | None, recorded: Sequence[RecordedCall]
) -> list[Page] | None:
    """Return what LookupEvents would answer, newest first, or None where the call stands as it is.

    Args:
        params: As asked: one look-up attribute or none, and a time range.
        call: The recorded call that matches best.
        recorded: Every recorded LookupEvents; without attributes all of their events count.
    """
    if call is None:
        return None
    pages = [page for each in recorded for page in each.pages]
    if call.params.get("LookupAttributes"):
        pages = list(call.pages)
    if any(page.get("NextToken") for page in pages):
        return None
    events: dict[str, Page] = {}
    for page in pages:
        for event in page.get("Events", ()):
            key = event.get("EventId") or json.dumps(event, sort_keys=True, default=str)
            events.setdefault(str(key), event)
    attributes = params.get("LookupAttributes") or ()
    start = as_datetime(params.get("StartTime"))
    end = as_datetime(params.get("EndTime"))
    kept = [
        event
        for event in events.values()
        if _has_attributes(event, attributes) and _is_between(event, start, end)
    ]
    kept.sort(key=_event_time, reverse=True)
    return [{"Events": kept}]


def _has_attributes(event: Page, attributes: Iterable[Mapping[str, str]]) -> bool:
    return all(_has(event, a.get("AttributeKey"), a.get("AttributeValue")) for a in attributes)


def _has(event: Page, key: str | None, value: str | None) -> bool:
    if key in {"ResourceName", "ResourceType"}:
        return any(resource.get(key) == value for resource in event.get("Resources") or ())
    return key in _TRAIL_KEYS and event.get(key) == value


def _event_time(event: Page) -> float:
    at = as_datetime(event.get("EventTime"))
    return at.timestamp() if at else 0.0


def _is_between(event: Page, start: datetime | None, end: datetime | None) -> bool:
    at = as_datetime(event.get("EventTime"))
    if at is None:
        return True
    return (start is None or at >= start) and (end is None or at <= end)
