"""What questions of this process have read, for whoever goes on with one of them.

An answer that did not fit a page, or a budget, is gone on with at the clock it began at. What was
read whole then is not asked again: pages agree with each other, and a question that ran out of
time gets further each time.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from threading import Lock
from typing import Any

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.aws.recorded import canonical
from gpuvet.model.evidence import Envelope, Status

_Answer = Envelope[tuple[Page, ...]]
_Key = tuple[str, str, str | None]
# Ours: a question about thousands of nodes holds some ten MB.
MOST_QUESTIONS = 4
# Settled for good; anything else is asked again.
_KEPT = frozenset({Status.OK, Status.OK_EMPTY, Status.NOT_FOUND})


class Memory:
    """The answers of the last few questions, each question by its identity and clock."""

    def __init__(self, most: int = MOST_QUESTIONS) -> None:
        self._most = most
        self._questions: OrderedDict[Hashable, dict[_Key, _Answer]] = OrderedDict()
        self._lock = Lock()

    def door(self, question: Hashable, door: AwsDoor) -> "RememberingAws":
        """Return a door that asks only what this question has not read yet.

        Args:
            question: Whose credentials, where, and the clock it began at.
            door: The way to the account.
        """
        with self._lock:
            answers = self._questions.setdefault(question, {})
            self._questions.move_to_end(question)
            while len(self._questions) > self._most:
                self._questions.popitem(last=False)
        return RememberingAws(door, answers)


class RememberingAws:
    """See `AwsDoor`."""

    def __init__(self, door: AwsDoor, answers: dict[_Key, _Answer]) -> None:
        self._door = door
        self._answers = answers

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> _Answer:
        """Return one read, from memory where it was read whole; see `AwsDoor.read`."""
        key = (operation, canonical(params), region)
        known = self._answers.get(key)
        if known is None:
            known = self._door.read(operation, params, region=region)
            if known.status in _KEPT:
                self._answers[key] = known
            elif operation == "logs:GetQueryResults":
                self._forget(params.get("queryId"))
        return known

    def _forget(self, query: object) -> None:
        """Forget that a query was started: it was stopped or broke, and has to start anew."""
        for key, one in list(self._answers.items()):
            pages = one.value or ()
            if key[0] == "logs:StartQuery" and any(page.get("queryId") == query for page in pages):
                self._answers.pop(key, None)
