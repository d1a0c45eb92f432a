"""Events of CloudWatch Logs as the command line returns them: lines with their shipping times."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpuvet.aws.door import LogLine
from gpuvet.aws.log_store import group_name
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.held_logs import UNATTRIBUTED
from gpuvet.model.untyped import is_array, is_number, is_object, object_at, objects_at, text_at
from gpuvet.parse.wrappers import instance_id

Json = Mapping[str, Any]


class Export(NamedTuple):
    """The lines of an export, and why they are not all."""

    lines: tuple[LogLine, ...]
    problem: str | None = None


def is_export(document: object) -> bool:
    """Say whether a document holds events with messages, or rows of a query with messages."""
    return bool(_event_rows(document)) or bool(_query_rows(document))


def _event_rows(document: object) -> list[Json]:
    rows = objects_at(document, "events")
    return [row for row in rows if "message" in row and "timestamp" in row]


def _query_rows(document: object) -> list[dict[str, str]]:
    """Return GetQueryResults rows that carry a message, as name and value."""
    if not is_object(document) or not is_array(document.get("results")):
        return []
    rows = [
        {str(cell.get("field")): str(cell.get("value")) for cell in cells if is_object(cell)}
        for cells in document["results"]
        if is_array(cells)
    ]
    return [row for row in rows if "@message" in row]


def read_export(document: Json, file: str) -> Export:
    """Return the lines of an export. Pages that are missing are said to be missing."""
    lines = (*_lines(_event_rows(document), file), *_queried(_query_rows(document), file))
    if text_at(document, "nextToken"):
        return Export(lines, "more pages exist (nextToken is set)")
    matched = object_at(document, "statistics").get("recordsMatched")
    if is_number(matched) and matched > len(lines):
        return Export(lines, f"{len(lines)} of {matched:.0f} lines that the query matched")
    status = text_at(document, "status")
    if status not in {None, "Complete"}:
        return Export(lines, f"the query was {status}")
    return Export(lines)


def _lines(rows: list[Json], file: str) -> Iterator[LogLine]:
    for place, row in enumerate(rows, start=1):
        stream = text_at(row, "logStreamName") or file
        stamp, ingested = row.get("timestamp"), row.get("ingestionTime")
        yield LogLine(
            node=instance_id(stream) or UNATTRIBUTED,
            group=text_at(row, "logGroupName"),
            stream=stream,
            line=place,
            text=str(row["message"]),
            shipped_at_ms=int(stamp) if is_number(stamp) else None,
            ingested_at_ms=int(ingested) if is_number(ingested) else None,
        )


def _queried(rows: list[dict[str, str]], file: str) -> Iterator[LogLine]:
    for place, row in enumerate(rows, start=1):
        stream = row.get("@logStream", file)
        at = as_datetime(row.get("@timestamp"))
        log = row.get("@log")
        yield LogLine(
            node=instance_id(stream) or UNATTRIBUTED,
            group=group_name(log.partition(":")[2]) if log else None,
            stream=stream,
            line=place,
            text=row["@message"],
            shipped_at_ms=None if at is None else round(at.timestamp() * 1000),
        )
