"""Operations that a recording answers from its stores rather than call by call.

Queries, event reads and metrics come from the log and metric store; listings of groups and
streams honour pattern, prefix, order and limit; CloudTrail's look-ups are filtered from all
recorded events. Where there is no store, the recorded calls stand as they are.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpuvet.aws.door import Page
from gpuvet.aws.insights_filter import MalformedQuery
from gpuvet.aws.log_store import (
    BYTES_PER_LINE,
    LogStore,
    StoredGroup,
    StoredStream,
    group_name,
)
from gpuvet.aws.logs_insights import QueryAnswer, run_query
from gpuvet.aws.metric_store import NotServed, StoredSeries, list_metrics, metric_data
from gpuvet.aws.recorded_calls import RecordedCall
from gpuvet.aws.recorded_trail import lookup_events
from gpuvet.model.coverage import LogClass


class Refused(Exception):
    """The service would answer with this error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Unanswered(Exception):
    """The recording cannot tell what the service would answer."""


class _Asked(NamedTuple):
    params: Mapping[str, Any]
    call: RecordedCall | None  # the best recorded match
    recorded: Sequence[RecordedCall]  # every call of the operation


_GROUP_SELECTORS = ("logGroupNamePattern", "logGroupNamePrefix", "logGroupIdentifiers")
_STREAM_SELECTORS = ("logStreamNamePrefix", "orderBy", "descending", "limit")


class StoreAnswers:
    """What a recording's stores answer; pages, or None where the recorded call stands."""

    def __init__(
        self,
        logs: LogStore | None = None,
        metrics: Sequence[StoredSeries] | None = None,
        *,
        account: str | None = None,
        region: str | None = None,
    ) -> None:
        self._logs = logs
        self._metrics = metrics
        self._account = account or "000000000000"
        self._region = region or "unknown"
        self._queries: dict[str, QueryAnswer] = {}
        self._serve: Mapping[str, Callable[[_Asked], list[Page] | None]] = MappingProxyType(
            {
                "logs:DescribeLogGroups": self._log_groups,
                "logs:DescribeLogStreams": self._log_streams,
                "logs:FilterLogEvents": self._filter_events,
                "logs:GetLogEvents": self._get_events,
                "logs:StartQuery": self._start_query,
                "logs:GetQueryResults": self._query_results,
                "cloudwatch:ListMetrics": self._list_metrics,
                "cloudwatch:GetMetricData": self._metric_data,
                "cloudtrail:LookupEvents": _trail,
            }
        )

    def answer(
        self,
        operation: str,
        params: Mapping[str, Any],
        call: RecordedCall | None,
        recorded: Sequence[RecordedCall],
    ) -> list[Page] | None:
        """Return the pages of one read, or None where the recorded call is the answer.

        Args:
            operation: `service:Operation`.
            params: As asked.
            call: The recorded call that matches best, if any.
            recorded: Every recorded call of the operation.

        Raises:
            Refused: The service would answer with an error.
            Unanswered: Neither a store nor a recording knows.
        """
        serve = self._serve.get(operation)
        return None if serve is None else serve(_Asked(params, call, recorded))

    def _log_groups(self, asked: _Asked) -> list[Page] | None:
        selects = [name for name in _GROUP_SELECTORS if name in asked.params]
        if "logGroupNamePattern" in selects and "logGroupNamePrefix" in selects:
            raise Refused("InvalidParameterException", "give a pattern or a prefix, not both")
        if asked.call is not None and (not selects or asked.call.params):
            return None
        if self._logs is None:
            return _filtered_groups(asked) if asked.call is not None else None
        groups = [g for g in self._logs.groups.values() if _is_selected(g.name, asked.params)]
        by_pattern = "logGroupNamePattern" in selects
        rows = [self._group_row(group, by_pattern=by_pattern) for group in groups]
        return _paged("logGroups", rows, asked.params.get("limit"))

    def _group_row(self, group: StoredGroup, *, by_pattern: bool) -> dict[str, Any]:
        arn = f"arn:aws:logs:{self._region}:{self._account}:log-group:{group.name}"
        row: dict[str, Any] = {
            "logGroupName": group.name,
            "creationTime": group.created_ms,
            "arn": f"{arn}:*",
        }
        if by_pattern:  # as the service does: class, retention and size are left out
            return row
        row |= {"logGroupArn": arn, "logGroupClass": group.log_class.value}
        row |= {"storedBytes": group.stored_bytes, "retentionInDays": group.retention_days}
        return {name: value for name, value in row.items() if value is not None}

    def _log_streams(self, asked: _Asked) -> list[Page] | None:
        params = asked.params
        if params.get("orderBy") == "LastEventTime" and "logStreamNamePrefix" in params:
            message = "Cannot order by LastEventTime with a logStreamNamePrefix."
            raise Refused("InvalidParameterException", message)
        if asked.call is not None and not any(name in params for name in _STREAM_SELECTORS):
            return None
        rows = self._stream_rows(asked)
        if rows is None:
            return None
        prefix = params.get("logStreamNamePrefix", "")
        rows = [row for row in rows if row["logStreamName"].startswith(prefix)]
        key = "lastEventTimestamp" if params.get("orderBy") == "LastEventTime" else "logStreamName"
        blank: int | str = 0 if key == "lastEventTimestamp" else ""
        rows.sort(key=lambda row: row.get(key, blank), reverse=bool(params.get("descending")))
        return _paged("logStreams", rows, params.get("limit"))

    def _stream_rows(self, asked: _Asked) -> list[dict[str, Any]] | None:
        if asked.call is not None and asked.call.params:
            return [dict(row) for page in asked.call.pages for row in page.get("logStreams", ())]
        if self._logs is None:
            return None
        group = self._known_group(_named_group(asked.params))
        return [_stream_row(stream) for stream in group.streams.values()]

    def _known_group(self, identifier: str) -> StoredGroup:
        group = self._logs.group(identifier) if self._logs else None
        if group is None:
            raise Refused("ResourceNotFoundException", "The specified log group does not exist.")
        return group

    def _filter_events(self, asked: _Asked) -> list[Page] | None:
        if self._logs is None:
            return None
        group = self._readable_group(asked.params)
        wanted = asked.params.get("logStreamNames")
        prefix = asked.params.get("logStreamNamePrefix", "")
        matches = _filter_pattern(asked.params.get("filterPattern", ""))
        rows = [
            row
            for stream in group.streams.values()
            if (wanted is None or stream.name in wanted) and stream.name.startswith(prefix)
            for row in _event_rows(stream, asked.params)
            if matches(row["message"])
        ]
        rows.sort(key=lambda row: row["timestamp"])
        return _paged("events", rows, asked.params.get("limit"))

    def _get_events(self, asked: _Asked) -> list[Page] | None:
        if self._logs is None:
            return None
        group = self._readable_group(asked.params)
        stream = group.streams.get(asked.params.get("logStreamName", ""))
        if stream is None:
            raise Refused("ResourceNotFoundException", "The specified log stream does not exist.")
        rows = _event_rows(stream, asked.params)
        for row in rows:
            del row["logStreamName"], row["eventId"]  # GetLogEvents has neither
        return _paged("events", rows, asked.params.get("limit"))

    def _readable_group(self, params: Mapping[str, Any]) -> StoredGroup:
        group = self._known_group(_named_group(params))
        if group.log_class is not LogClass.STANDARD:
            message = f"events of a group of class {group.log_class} cannot be read this way"
            raise Refused("InvalidOperationException", message)
        return group

    def _start_query(self, asked: _Asked) -> list[Page] | None:
        if self._logs is None:
            return None
        params = asked.params
        names = [group_name(name) for name in _queried_groups(params)]
        for name in names:
            if self._known_group(name).log_class is LogClass.DELIVERY:
                raise Refused("InvalidOperationException", "class DELIVERY cannot be queried")
        try:
            answer = run_query(
                self._logs,
                names,
                params["queryString"],
                start_s=int(params["startTime"]),
                end_s=int(params["endTime"]),
                account=self._account,
                limit=params.get("limit"),
            )
        except MalformedQuery as error:
            raise Refused("MalformedQueryException", str(error)) from error
        except KeyError as error:
            raise Refused("InvalidParameterException", f"missing {error}") from error
        text = json.dumps(params, sort_keys=True, default=str)
        query_id = hashlib.sha256(text.encode()).hexdigest()[:32]
        self._queries[query_id] = answer
        return [{"queryId": query_id}]

    def _query_results(self, asked: _Asked) -> list[Page] | None:
        if self._logs is None:
            return None
        answer = self._queries.get(asked.params.get("queryId", ""))
        if answer is None:
            raise Refused("ResourceNotFoundException", "The specified query does not exist.")
        rows = [[{"field": name, "value": value} for name, value in row] for row in answer.rows]
        statistics = {
            "recordsMatched": float(answer.matched),
            "recordsScanned": float(answer.scanned),
            "bytesScanned": float(answer.scanned * BYTES_PER_LINE),
            "resultCount": float(answer.total_rows),
        }
        pages = _paged("results", rows, asked.params.get("maxItems"))
        return [{**page, "statistics": statistics, "status": "Complete"} for page in pages]

    def _list_metrics(self, asked: _Asked) -> list[Page] | None:
        if self._metrics is None:
            return None
        return [{"Metrics": list_metrics(self._metrics, asked.params)}]

    def _metric_data(self, asked: _Asked) -> list[Page] | None:
        if self._metrics is None:
            return None
        try:
            return [{"MetricDataResults": metric_data(self._metrics, asked.params)}]
        except NotServed as error:
            raise Unanswered(str(error)) from error


def _trail(asked: _Asked) -> list[Page] | None:
    return lookup_events(asked.params, asked.call, asked.recorded)


def _paged(name: str, rows: Sequence[Any], limit: int | None) -> list[Page]:
    size = limit or max(len(rows), 1)
    starts = range(0, max(len(rows), 1), size)
    return [{name: list(rows[start : start + size])} for start in starts]


def _is_selected(name: str, params: Mapping[str, Any]) -> bool:
    wanted = params.get("logGroupIdentifiers")
    return (
        params.get("logGroupNamePattern", "") in name
        and name.startswith(params.get("logGroupNamePrefix", ""))
        and (wanted is None or name in {group_name(one) for one in wanted})
    )


def _filtered_groups(asked: _Asked) -> list[Page]:
    """Select from a recorded listing; what it lacks may still exist."""
    rows = [
        row
        for page in (asked.call.pages if asked.call else ())
        for row in page.get("logGroups", ())
        if _is_selected(row.get("logGroupName", ""), asked.params)
    ]
    if not rows:
        msg = "the recorded listing of log groups holds none of that name; it may not hold all"
        raise Unanswered(msg)
    return [{"logGroups": rows}]


def _stream_row(stream: StoredStream) -> dict[str, Any]:
    times = [*stream.hours, *(event.at_ms for event in stream.events)]
    row: dict[str, Any] = {"logStreamName": stream.name, "storedBytes": 0}
    if stream.created_ms is not None:
        row["creationTime"] = stream.created_ms
    if times:
        row |= {"firstEventTimestamp": min(times), "lastEventTimestamp": max(times)}
    return row


def _named_group(params: Mapping[str, Any]) -> str:
    return str(params.get("logGroupIdentifier") or params.get("logGroupName") or "")


def _queried_groups(params: Mapping[str, Any]) -> Sequence[str]:
    for name in ("logGroupIdentifiers", "logGroupNames"):
        if params.get(name):
            return list(params[name])
    return [params["logGroupName"]] if "logGroupName" in params else []


def _event_rows(stream: StoredStream, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    start = int(params.get("startTime", 0))
    end = int(params.get("endTime", 2**62))
    rows: list[dict[str, Any]] = []
    for place, event in stream.events_between(start, end):
        row: dict[str, Any] = {
            "logStreamName": stream.name,
            "timestamp": event.at_ms,
            "message": event.message,
            "eventId": f"{event.at_ms:020d}{place:08d}",
        }
        if event.ingested_ms is not None:
            row["ingestionTime"] = event.ingested_ms
        rows.append(row)
    return rows


def _filter_pattern(pattern: str) -> Callable[[str], bool]:
    """Read a filter pattern: plain words all in the message, a quoted phrase, or ?any.

    Raises:
        Unanswered: A JSON or a space-delimited pattern.
    """
    text = pattern.strip()
    if text[:1] in {"{", "["}:
        msg = f"the filter pattern {pattern!r} is not served from a recording; words are"
        raise Unanswered(msg)
    words = [word.strip('"') for word in _words(text)]
    optional = [word[1:].strip('"') for word in words if word.startswith("?")]
    required = [word for word in words if word and not word.startswith(("?", "-"))]
    refused = [word[1:].strip('"') for word in words if word.startswith("-") and len(word) > 1]

    def matches(message: str) -> bool:
        return (
            all(word in message for word in required)
            and (not optional or any(word in message for word in optional))
            and not any(word in message for word in refused)
        )

    return matches


def _words(text: str) -> list[str]:
    words: list[str] = []
    current = ""
    is_quoted = False
    for sign in text:
        if sign == '"':
            is_quoted = not is_quoted
        if sign.isspace() and not is_quoted:
            words.append(current)
            current = ""
        else:
            current += sign
    return [word for word in (*words, current) if word]
