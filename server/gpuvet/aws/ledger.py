"""What a question has read: each thing once, and a list of all that could not be read.

A report is made of many readings by many hands. This is the one place that sees all of them, so
a reading that failed is named even where whoever asked for it had no use for its status.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.recorded import canonical
from gpuvet.model.evidence import Envelope, Reason

_Key = tuple[str, str, str | None]  # operation, canonical parameters, region


class Ledger:
    """An AWS door that asks the door behind it each question once; see `AwsDoor`.

    Asked twice, a running account might answer differently, and a report would disagree with
    itself.
    """

    def __init__(self, door: AwsDoor) -> None:
        self._door = door
        self._answers: dict[_Key, Envelope[tuple[Page, ...]]] = {}
        self._noted: list[Envelope[tuple[Page, ...]]] = []
        self._locks: dict[_Key, Lock] = {}
        self._lock = Lock()

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """Return the answer to one read, the same each time; see `AwsDoor.read`."""
        key = (operation, canonical(params), region)
        with self._lock:
            own = self._locks.setdefault(key, Lock())
        with own:
            known = self._answers.get(key)
            if known is None or _may_start_now(known):
                known = self._answers[key] = self._door.read(operation, params, region=region)
            return known

    def note(self, answer: Envelope[tuple[Page, ...]]) -> None:
        """Add a reading that was refused before it came here."""
        with self._lock:
            self._noted.append(answer)

    def answers(self) -> tuple[Envelope[tuple[Page, ...]], ...]:
        """Return every reading so far, in the order asked."""
        with self._lock:
            return (*self._answers.values(), *self._noted)

    def incomplete(self) -> tuple[Envelope[tuple[Page, ...]], ...]:
        """Return every reading so far that is neither OK nor OK_EMPTY, in the order asked."""
        return tuple(answer for answer in self.answers() if not answer.status.is_complete)


def _may_start_now(answer: Envelope[tuple[Page, ...]]) -> bool:
    """Say whether a query found no room to start in: it ran nowhere, and may be started later."""
    return answer.operation == "StartQuery" and answer.reason is Reason.THROTTLED
