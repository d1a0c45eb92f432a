"""A recording as a door: each read is answered as it was, and none that was not made."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import Any

from gpuvet.aws.door import Page
from gpuvet.aws.reads import read_of
from gpuvet.aws.recorded import canonical
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.record.archive import key_of
from gpuvet.record.tape import AWS, Answer, Reading


class Replayed:
    """One door of a recording; see `AwsDoor`."""

    def __init__(
        self,
        readings: Sequence[Reading],
        *,
        kind: str = AWS,
        now: datetime | None = None,
        account: str | None = None,
        region: str | None = None,
    ) -> None:
        """Hold what was read.

        Args:
            readings: In the order of their turns.
            kind: Which door this is.
            now: When a read that was not made would have been made.
            account: Whose account it was.
            region: The door's own.
        """
        self._answers: dict[tuple[str, ...], list[Answer]] = {}
        for one in readings:
            key = key_of(one.kind, one.operation, one.params, one.region)
            self._answers.setdefault(key, []).append(one.answer)
        self._kind = kind
        self._now = now
        self._account = account
        self._region = region
        self._lock = Lock()

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Answer:
        """Return what one read was answered with; see `AwsDoor.read`.

        Asked more often than it was, the last answer stands.
        """
        if self._kind == AWS:
            read_of(operation)
        key = key_of(self._kind, operation, params, region)
        with self._lock:
            answers = self._answers.get(key)
            if answers:
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return self._not_recorded(operation, params, region)

    def _not_recorded(
        self, operation: str, params: Mapping[str, Any], region: str | None
    ) -> Answer:
        service, _, name = operation.partition(":")
        return Envelope[tuple[Page, ...]](
            service=service,
            operation=name,
            account=self._account,
            region=region or self._region,
            params=canonical(params),
            called_at=self._now,
            status=Status.NOT_CHECKED,
            reason=Reason.NOT_RECORDED,
            notes=(f"{operation} {canonical(params)} is not among the recorded reads",),
        )
