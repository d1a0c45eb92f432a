"""What one reading of a source came to: its status, its reason, and where it can be re-run."""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, NamedTuple, Self, TypeVar

from pydantic import AwareDatetime, model_validator

from gpuvet.model.base import Value

T = TypeVar("T")


class Status(StrEnum):
    """How far a reading got. Only OK and OK_EMPTY support a negative."""

    OK = "OK"
    OK_EMPTY = "OK_EMPTY"
    PARTIAL = "PARTIAL"
    UNVERIFIED = "UNVERIFIED"
    NOT_SUPPORTED = "NOT_SUPPORTED"
    NOT_FOUND = "NOT_FOUND"
    NOT_CHECKED = "NOT_CHECKED"

    @property
    def is_complete(self) -> bool:
        """True when everything asked for was read, so that "none" is a statement."""
        return self in {Status.OK, Status.OK_EMPTY}


class Reason(StrEnum):
    """Why a reading is not OK; text shows this word, never a bare UNVERIFIED."""

    DENIED = "denied"
    EXPIRED = "expired"
    THROTTLED = "throttled"
    TIMED_OUT = "timed_out"
    NOT_SUBSCRIBED = "not_subscribed"
    NOT_SUPPORTED = "not_supported"
    UNREACHABLE = "unreachable"
    ROW_CAP = "row_cap"
    PAGE_CAP = "page_cap"
    BUDGET = "budget"
    NOT_RECORDED = "not_recorded"
    REFUSED = "refused"  # the service refused the request itself; its error code says how
    # Files and streams have ways of failing that an AWS call has not.
    CUT_SHORT = "cut_short"
    UNREADABLE = "unreadable"
    EMPTY = "empty"  # the stream exists, no line arrived
    NOT_SHIPPED = "not_shipped"  # no stream carries it


class Window(Value):
    """A span of time in UTC, start included, end not."""

    start: AwareDatetime
    end: AwareDatetime

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.end <= self.start:
            msg = f"a window must end after it starts: {self.start} to {self.end}"
            raise ValueError(msg)
        return self

    def padded(self, before: timedelta, after: timedelta) -> "Window":
        """Return the window widened on both sides."""
        return Window(start=self.start - before, end=self.end + after)

    def holds(self, at: datetime) -> bool:
        """Say whether a time lies inside."""
        return self.start <= at < self.end


class Envelope(Value, Generic[T]):
    """One reading of a source: what was asked, how far it got, and what came back.

    `params` is canonical JSON (sorted keys, no blanks), so that the same question has the same
    evidence id in every process. `value` is None only where nothing was read at all.
    """

    service: str
    operation: str
    account: str | None = None
    region: str | None = None
    params: str = "{}"
    window: Window | None = None
    called_at: AwareDatetime | None = None
    status: Status
    reason: Reason | None = None
    error_code: str | None = None
    value: T | None = None
    pages: int = 0
    notes: tuple[str, ...] = ()

    @property
    def evidence(self) -> str:
        """The evidence id of this reading."""
        return evidence_id(
            account=self.account,
            region=self.region,
            operation=f"{self.service}:{self.operation}",
            params=self.params,
            window=self.window,
        )


def evidence_id(
    *,
    account: str | None,
    region: str | None,
    operation: str,
    params: str,
    window: Window | None = None,
) -> str:
    """Return `ev-` and 10 hex digits that name one reading.

    Args:
        account: AWS account id, or None where the evidence carries none.
        region: AWS region, or None.
        operation: `service:Operation`, or `file` for a line of a file.
        params: Canonical JSON of the parameters; for a line, `stream#line`.
        window: The window asked about, where the reading had one.
    """
    span = f"{window.start.isoformat()}/{window.end.isoformat()}" if window else ""
    text = "\x1f".join((account or "", region or "", operation, params, span))
    name = f"ev-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
    for given in _WITNESSES:
        given[name] = EvidenceOf(account, region, operation, params, window)
    return name


class EvidenceOf(NamedTuple):
    """What an evidence id was made of; see `evidence_id`."""

    account: str | None
    region: str | None
    operation: str
    params: str
    window: Window | None


_WITNESSES: list[dict[str, EvidenceOf]] = []


@contextmanager
def witnessed(given: dict[str, EvidenceOf]) -> Generator[None, None, None]:
    """Collect every evidence id made meanwhile, in any thread, with what it was made of.

    An id cannot be turned back; a recording needs the ids of both its sides.

    Args:
        given: Where they are collected.
    """
    _WITNESSES.append(given)
    try:
        yield
    finally:
        _WITNESSES[:] = [one for one in _WITNESSES if one is not given]
