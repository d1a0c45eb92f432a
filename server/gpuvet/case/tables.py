"""Hourly counts, log searches and metrics that lie in a case as small JSON tables."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from gpuvet.aws.door import LogLine
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.case import LogSearch, MetricSeries, MetricSpan
from gpuvet.model.coverage import HourCount, StreamCounts
from gpuvet.model.evidence import Reason, Status, Window, evidence_id
from gpuvet.model.untyped import (
    is_array,
    is_number,
    is_object,
    object_at,
    objects_at,
    text_at,
    whole_at,
)
from gpuvet.parse.shipper import shipper_of_name
from gpuvet.parse.wrappers import instance_id

HOUR = timedelta(hours=1)
Json = Mapping[str, Any]


class BinsFile(NamedTuple):
    """All lines per hour of exact streams, and the window they were counted over."""

    counts: tuple[StreamCounts, ...]
    window: Window | None


def is_bins(document: object) -> bool:
    """Say whether a document holds hourly counts of streams."""
    rows = objects_at(document, "bins")
    return bool(rows) and any(is_object(row.get("hourly_counts")) for row in rows)


def read_bins(document: Json, file: str) -> BinsFile:
    """Return hourly counts. An hour of zero lines and a missing hour are the same: not seen."""
    window = hours_window(document.get("window_utc"))
    group = text_at(document, "group")
    evidence = evidence_id(account=None, region=None, operation="file", params=file)
    rows = (_counts(row, group, evidence) for row in objects_at(document, "bins"))
    return BinsFile(tuple(row for row in rows if row is not None), window)


def _counts(row: Json, group: str | None, evidence: str) -> StreamCounts | None:
    stream = text_at(row, "stream")
    node = text_at(row, "node") or (instance_id(stream) if stream else None)
    if stream is None or node is None:
        return None
    hours = ((as_datetime(h), n) for h, n in object_at(row, "hourly_counts").items())
    return StreamCounts(
        node=node,
        group=text_at(row, "group") or group,
        stream=stream,
        shipper=shipper_of_name(stream, text_at(row, "group") or group),
        bins=tuple(
            HourCount(hour=hour, lines=int(n))
            for hour, n in sorted((h, n) for h, n in hours if h is not None and is_number(n))
            if n > 0
        ),
        evidence=evidence,
    )


def hours_window(raw: object) -> Window | None:
    """Return a window named by its first and last hour: the last hour belongs to it whole."""
    if not is_array(raw) or len(raw) < 2:
        return None
    first, last = as_datetime(raw[0]), as_datetime(raw[-1])
    if first is None or last is None or last < first:
        return None
    return Window(start=first, end=last + HOUR)


class SearchFile(NamedTuple):
    """A search and the lines it returned."""

    search: LogSearch
    lines: tuple[LogLine, ...]


# Queries that look for the driver's Xid lines, whatever else they look for.
_XID_QUERY = re.compile(r"\bXid\b|NVRM", re.IGNORECASE)


def is_search(document: object) -> bool:
    """Say whether a document is a search: a query, the streams, its status and its rows."""
    return is_object(document) and {"query", "rows"} <= document.keys()


def read_search(document: Json, file: str) -> SearchFile:
    """Return a search; only a status of Complete makes its absences a statement."""
    rows = objects_at(document, "rows")
    group = text_at(document, "group")
    streams = document.get("streams")
    query = text_at(document, "query") or ""
    word = (text_at(document, "status") or "").lower()
    is_complete = word == "complete"
    status = Status.OK if rows else Status.OK_EMPTY
    search = LogSearch(
        file=file,
        query=query,
        group=group,
        streams=tuple(str(s) for s in streams) if is_array(streams) else (),
        window=hours_window(document.get("window_utc")),
        status=status if is_complete else Status.UNVERIFIED,
        reason=None if is_complete else _why_incomplete(word),
        rows=len(rows),
        row_streams=tuple(dict.fromkeys(s for r in rows if (s := text_at(r, "@logStream")))),
        is_for_xids=_XID_QUERY.search(query) is not None,
    )
    return SearchFile(search, tuple(_search_lines(rows, group, file)))


def _why_incomplete(word: str) -> Reason | None:
    if word in {"timeout", "running", "scheduled"}:
        return Reason.TIMED_OUT
    return Reason.DENIED if "denied" in word else None


def _search_lines(rows: list[Json], group: str | None, file: str) -> Iterator[LogLine]:
    for place, row in enumerate(rows, start=1):
        stream = text_at(row, "@logStream") or file
        message = text_at(row, "@message")
        if message is None:
            continue
        at = as_datetime(row.get("@timestamp"))
        yield LogLine(
            node=instance_id(stream) or instance_id(message) or stream,
            group=group,
            stream=stream,
            line=place,
            text=message,
            shipped_at_ms=None if at is None else round(at.timestamp() * 1000),
        )


_SPAN = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")
_SERIES_KEYS = frozenset({"metric", "dims", "dimensions", "stat", "namespace", "unit", "period_s"})


def is_metrics(document: object) -> bool:
    """Say whether a document is a table of metric series."""
    rows = objects_at(document, "series")
    return bool(rows) and all("metric" in row for row in rows)


def read_metrics(document: Json, file: str, day: date | None) -> tuple[MetricSeries, ...]:
    """Return metric series. A key HH:MM-HH:MM is one datapoint per period all through it.

    Args:
        document: With `series`, and `period_s` for all of them.
        file: Its name.
        day: The day that bare times belong to; without one a span has no time.
    """
    period = whole_at(document, "period_s")
    return tuple(_series(row, file, day, period) for row in objects_at(document, "series"))


def _series(row: Json, file: str, day: date | None, period: int | None) -> MetricSeries:
    dimensions = object_at(row, "dims") or object_at(row, "dimensions")
    seconds = whole_at(row, "period_s") or period
    spans = (
        _span(key, value, day, seconds)
        for key, value in row.items()
        if key not in _SERIES_KEYS and is_number(value)
    )
    return MetricSeries(
        file=file,
        metric=str(row["metric"]),
        dimensions=tuple(sorted((k, str(v)) for k, v in dimensions.items())),
        statistic=text_at(row, "stat"),
        namespace=text_at(row, "namespace"),
        unit=text_at(row, "unit"),
        spans=tuple(spans),
    )


def _span(key: str, value: float, day: date | None, period: int | None) -> MetricSpan:
    found = _SPAN.fullmatch(key)
    if found is None or day is None:
        return MetricSpan(value=float(value), period_seconds=period)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    start = midnight + timedelta(hours=int(found[1]), minutes=int(found[2]))
    end = midnight + timedelta(hours=int(found[3]), minutes=int(found[4]))
    if end <= start:  # over midnight
        end += timedelta(days=1)
    return MetricSpan(value=float(value), start=start, end=end, period_seconds=period)
