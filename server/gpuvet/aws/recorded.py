"""The recorded side of the AWS door: what a case's calls and stores can answer.

A call that was not recorded is NOT_CHECKED with the reason not_recorded, never an empty answer.
Replies come back as boto3 gives them: time members are aware datetimes, CloudWatch Logs keeps
its integers.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from gpuvet.aws.door import Page
from gpuvet.aws.reads import KUBERNETES, PROMETHEUS, Read, read_of
from gpuvet.aws.recorded_calls import Answer, CallError, RecordedCall
from gpuvet.aws.statuses import meaning_of
from gpuvet.aws.store_answers import Refused, StoreAnswers, Unanswered
from gpuvet.model.evidence import Envelope, Reason, Status

# AWS's API reference: a cap on pages; beyond it the reading is PARTIAL.
MAX_PAGES = 200
# AWS's API reference: attempts at a throttled call before it is given up.
MAX_ATTEMPTS = 6
_TOKENS = ("NextToken", "nextToken")


class _Outcome(NamedTuple):
    pages: tuple[Page, ...]
    status: Status
    reason: Reason | None = None
    code: str | None = None
    notes: tuple[str, ...] = ()


class RecordedAws:
    """Recorded replies behind the AWS door; see `AwsDoor`."""

    def __init__(
        self,
        calls: Sequence[RecordedCall] = (),
        *,
        account: str | None = None,
        region: str | None = None,
        now: datetime | None = None,
        stores: StoreAnswers | None = None,
    ) -> None:
        self._calls: dict[str, list[RecordedCall]] = {}
        for call in calls:
            self._calls.setdefault(call.operation, []).append(call)
        self._account = account
        self._region = region
        self._now = now
        self._stores = stores or StoreAnswers()
        self._played: dict[int, int] = {}
        self._lock = threading.Lock()

    @property
    def operations(self) -> tuple[str, ...]:
        """Operations that have at least one recorded call."""
        return tuple(sorted(self._calls))

    @property
    def other_doors(self) -> frozenset[str]:
        """Doors beside that of AWS of which something was recorded: prometheus, kubernetes."""
        services = {operation.partition(":")[0] for operation in self._calls}
        return frozenset(services & {PROMETHEUS, KUBERNETES})

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return every recorded page of one read; see `AwsDoor.read`."""
        row = read_of(operation)
        where = region or self._region
        outcome = self._answered(row, params, where)
        return Envelope[tuple[Page, ...]](
            service=row.service,
            operation=row.name,
            account=self._account,
            region=where,
            params=canonical(params),
            called_at=self._now,
            status=outcome.status,
            reason=outcome.reason,
            error_code=outcome.code,
            value=outcome.pages or None,
            pages=len(outcome.pages),
            notes=outcome.notes,
        )

    def _answered(self, row: Read, params: Mapping[str, Any], region: str | None) -> _Outcome:
        call = self._best(row.operation, params, region)
        if call is None or not call.has_error:
            stored = self._from_stores(row, params, region, call)
            if stored is not None:
                return stored
        if call is None:
            note = f"{row.operation} {canonical(params)} is not among the recorded calls"
            return _Outcome((), Status.NOT_CHECKED, Reason.NOT_RECORDED, notes=(note,))
        return self._played_out(row, call, params, region)

    def _from_stores(
        self,
        row: Read,
        params: Mapping[str, Any],
        region: str | None,
        call: RecordedCall | None,
    ) -> _Outcome | None:
        if region != self._region:
            return None
        recorded = self._calls.get(row.operation, ())
        try:
            pages = self._stores.answer(row.operation, params, call, recorded)
        except Refused as error:
            meaning = meaning_of(error.code)
            return _Outcome((), meaning.status, meaning.reason, error.code, (error.message,))
        except Unanswered as error:
            return _Outcome((), Status.NOT_CHECKED, Reason.NOT_RECORDED, notes=(str(error),))
        return None if pages is None else _complete(row, pages, call.notes if call else ())

    def _played_out(
        self, row: Read, call: RecordedCall, params: Mapping[str, Any], region: str | None
    ) -> _Outcome:
        pages: list[Page] = []
        while True:
            answer = self._next_answer(call)
            if isinstance(answer, CallError):
                return _failed(tuple(pages), answer)
            pages.append(answer)
            token = next((name for name in _TOKENS if answer.get(name)), None)
            if token is None:
                return _complete(row, pages, call.notes)
            if len(pages) >= MAX_PAGES:
                return _Outcome(tuple(pages), Status.PARTIAL, Reason.PAGE_CAP, notes=call.notes)
            following = self._best(row.operation, {**params, token: answer[token]}, region)
            if following is None or not _goes_on(following, token):
                note = f"the recorded reply goes on ({token} is set); the rest is not recorded"
                notes = (*call.notes, note)
                return _Outcome(tuple(pages), Status.PARTIAL, Reason.NOT_RECORDED, notes=notes)
            call = following

    def _next_answer(self, call: RecordedCall) -> Answer:
        """Take the call's next answer; what the live door would try again is tried again."""
        answer = self._advance(call)
        for _ in range(MAX_ATTEMPTS - 1):
            if not isinstance(answer, CallError):
                return answer
            if not meaning_of(answer.code, answer.message, answer.http_status).is_retried:
                return answer
            answer = self._advance(call)
        return answer

    def _advance(self, call: RecordedCall) -> Answer:
        with self._lock:
            place = self._played.get(id(call), 0)
            self._played[id(call)] = place + 1
        return call.answers[min(place, len(call.answers) - 1)]

    def _best(
        self, operation: str, params: Mapping[str, Any], region: str | None
    ) -> RecordedCall | None:
        """Return the matching call with most parameters; the first one of those in the file."""
        matching = [
            call
            for call in self._calls.get(operation, ())
            if (call.region or self._region) in {region, None} and call.matches(params)
        ]
        return max(matching, key=lambda call: len(call.params), default=None)


def canonical(params: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return parameters as canonical JSON: sorted keys, no blanks, times in ISO 8601."""
    return json.dumps(params, sort_keys=True, separators=(",", ":"), default=_json_time)


def _json_time(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _goes_on(following: RecordedCall, token: str) -> bool:
    return token in following.params or len(following.answers) > 1


def _complete(row: Read, pages: Sequence[Page], notes: tuple[str, ...]) -> _Outcome:
    has_rows = not row.rows or any(page.get(name) for page in pages for name in row.rows)
    return _Outcome(tuple(pages), Status.OK if has_rows else Status.OK_EMPTY, notes=notes)


def _failed(pages: tuple[Page, ...], error: CallError) -> _Outcome:
    meaning = meaning_of(error.code, error.message, error.http_status)
    status = Status.PARTIAL if pages else meaning.status
    notes = (error.message,) if error.message else ()
    return _Outcome(pages, status, meaning.reason, error.code, notes)
