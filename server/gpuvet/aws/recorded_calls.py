"""Recorded AWS calls: what was asked, what was answered, and which question each one answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from gpuvet.aws.door import Page
from gpuvet.aws.timestamps import as_datetime, with_datetimes
from gpuvet.model.untyped import is_array, is_object


class CallError(NamedTuple):
    """An error a service answered with."""

    code: str
    message: str = ""
    http_status: int | None = None


Answer = CallError | Page
_GROUPS = frozenset({"logGroupNames", "logGroupIdentifiers"})


class RecordedCall(NamedTuple):
    """One recorded call: it answers every call whose parameters hold its own."""

    operation: str  # service:Operation
    params: Mapping[str, Any]
    answers: tuple[Answer, ...]  # in order; the last one repeats
    region: str | None = None
    source: str | None = None  # the file it came from, where it is a file of its own
    notes: tuple[str, ...] = ()

    @property
    def has_error(self) -> bool:
        """Say whether any of its answers is an error."""
        return any(isinstance(answer, CallError) for answer in self.answers)

    @property
    def pages(self) -> tuple[Page, ...]:
        """Its answers that are no errors."""
        return tuple(a for a in self.answers if not isinstance(a, CallError))

    def matches(self, params: Mapping[str, Any]) -> bool:
        """Say whether each recorded parameter equals the actual one.

        A query over several groups fails for any one of them: a recorded failure of some groups
        is one of every query that reads them too.
        """
        return all(
            name in params
            and (same_value(value, params[name]) or self._fails_for(name, value, params[name]))
            for name, value in self.params.items()
        )

    def _fails_for(self, name: str, recorded: object, actual: object) -> bool:
        if name not in _GROUPS or not self.has_error:
            return False
        return is_array(recorded) and is_array(actual) and all(one in actual for one in recorded)


def read_calls(raw: Sequence[Mapping[str, Any]], source: str | None = None) -> list[RecordedCall]:
    """Return calls from their JSON: service, operation, params and response, error or sequence.

    Raises:
        ValueError: An entry lacks one of these.
    """
    return [_call(entry, source) for entry in raw]


def _call(raw: Mapping[str, Any], source: str | None) -> RecordedCall:
    try:
        operation = f"{raw['service']}:{raw['operation']}"
        entries = raw.get("sequence", [raw])
        answers = tuple(_answer(entry) for entry in entries)
        params = dict(raw.get("params") or {})
    except (KeyError, TypeError) as error:
        msg = f"a recorded call needs service, operation, params and an answer; missing {error}"
        raise ValueError(msg) from error
    if not answers:
        msg = f"{operation} has an empty sequence; give at least one answer"
        raise ValueError(msg)
    return RecordedCall(operation, params, answers, raw.get("region"), source)


def _answer(raw: Mapping[str, Any]) -> Answer:
    if "error" in raw:
        error = raw["error"]
        return CallError(error["Code"], error.get("Message", ""), error.get("HTTPStatusCode"))
    response = raw["response"]
    if not is_object(response):
        raise TypeError("a response that is an object")
    return with_datetimes(response)


def same_value(recorded: object, actual: object) -> bool:
    """Compare one parameter; times are equal as moments, lists in their order."""
    if is_object(recorded) and is_object(actual):
        return recorded.keys() == actual.keys() and all(
            same_value(value, actual[key]) for key, value in recorded.items()
        )
    if is_array(recorded) and is_array(actual):
        pairs = zip(recorded, actual, strict=False)
        return len(recorded) == len(actual) and all(same_value(a, b) for a, b in pairs)
    if isinstance(recorded, datetime) or isinstance(actual, datetime):
        left, right = as_datetime(recorded), as_datetime(actual)
        return left is not None and left == right
    return bool(recorded == actual)
