"""A recorded store of CloudWatch Logs: hourly counts of lines, and a sample of events.

The store stands in for the service: queries, filters and listings are answered from it. An
hour's lines stand at its start; only events have text and an exact time.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.coverage import LogClass, Shipper
from gpuvet.model.untyped import object_at, objects_at

HOUR_MS = 3_600_000
# Ours: what the recorded reference answers charge for a line.
BYTES_PER_LINE = 180


class StoredEvent(NamedTuple):
    """One line with its text."""

    at_ms: int
    message: str
    ingested_ms: int | None = None


class StoredStream(NamedTuple):
    """One stream: all lines an hour, kernel lines an hour (counted inside), and the sample."""

    name: str
    created_ms: int | None
    shipper: Shipper
    hours: Mapping[int, int]  # epoch milliseconds of the hour to lines
    kernel_hours: Mapping[int, int]
    events: tuple[StoredEvent, ...]

    def lines_between(self, start_ms: int, end_ms: int) -> int:
        """Return all lines of the hours that begin in [start, end)."""
        return sum(n for hour, n in self.hours.items() if start_ms <= hour < end_ms)

    def events_between(self, start_ms: int, end_ms: int) -> Iterator[tuple[int, StoredEvent]]:
        """Yield (1-based place in the sample, event) of [start, end), oldest first."""
        for place, event in enumerate(self.events, start=1):
            if start_ms <= event.at_ms < end_ms:
                yield place, event


class StoredGroup(NamedTuple):
    """One log group."""

    name: str
    created_ms: int | None
    log_class: LogClass
    stored_bytes: int | None
    retention_days: int | None  # None: never expires
    streams: Mapping[str, StoredStream]


class LogStore(NamedTuple):
    """Every group of a recorded account."""

    groups: Mapping[str, StoredGroup]

    def group(self, identifier: str) -> StoredGroup | None:
        """Return a group by name or ARN."""
        return self.groups.get(group_name(identifier))


def group_name(identifier: str) -> str:
    """Return the group's name from a name, or from an ARN with or without its `:*`."""
    if not identifier.startswith("arn:"):
        return identifier
    return identifier.partition(":log-group:")[2].partition(":")[0]


def read_log_store(raw: Mapping[str, Any]) -> LogStore:
    """Return the store of a scenario's `log_store`.

    Raises:
        ValueError: An hour, a count or a time of an event cannot be read.
    """
    return LogStore(
        MappingProxyType({name: _group(name, group) for name, group in sorted(raw.items())})
    )


def _group(name: str, raw: Mapping[str, Any]) -> StoredGroup:
    streams = object_at(raw, "streams")
    return StoredGroup(
        name=name,
        created_ms=raw.get("creationTime"),
        log_class=LogClass(raw.get("logGroupClass") or LogClass.STANDARD),
        stored_bytes=raw.get("storedBytes"),
        retention_days=raw.get("retentionInDays"),
        streams=MappingProxyType({key: _stream(key, streams[key]) for key in sorted(streams)}),
    )


def _stream(name: str, raw: Mapping[str, Any]) -> StoredStream:
    shipper = raw.get("shipper")
    return StoredStream(
        name=name,
        created_ms=raw.get("creationTime"),
        shipper=Shipper(shipper) if shipper in set(Shipper) else Shipper.UNKNOWN,
        hours=_hours(object_at(raw, "hours")),
        kernel_hours=_hours(object_at(raw, "kernel_hours")),
        events=tuple(sorted(map(_event, objects_at(raw, "events")), key=lambda e: e.at_ms)),
    )


def _hours(raw: Mapping[str, Any]) -> Mapping[int, int]:
    return MappingProxyType({_milliseconds(hour): int(n) for hour, n in sorted(raw.items())})


def _event(raw: Mapping[str, Any]) -> StoredEvent:
    ingested = raw.get("ingestionTime")
    return StoredEvent(
        at_ms=_milliseconds(raw["timestamp"]),
        message=str(raw["message"]),
        ingested_ms=None if ingested is None else _milliseconds(ingested),
    )


def _milliseconds(value: object) -> int:
    """Read a time of the store: text in ISO 8601, or epoch milliseconds as the service writes."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    at = as_datetime(value) if isinstance(value, str) else None
    if at is None:
        msg = f"a log store's time must be ISO 8601 or milliseconds, not {value!r}"
        raise ValueError(msg)
    return to_milliseconds(at)


def to_milliseconds(at: datetime) -> int:
    """Return epoch milliseconds of an aware time."""
    return round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def from_milliseconds(at_ms: int) -> datetime:
    """Return the aware UTC time of epoch milliseconds."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)
