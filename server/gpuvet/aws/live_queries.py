"""Logs Insights on the live side: a slot for each query, and its results once it has ended."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpuvet.aws.live_calls import Caller, Failure, Page
from gpuvet.aws.live_pages import Outcome, failed, read_pages
from gpuvet.aws.statuses import Meaning
from gpuvet.model.evidence import Reason, Status

# coverage.md: an account may run more, but shares them with dashboards and schedules.
MOST_AT_ONCE = 4
# Longest wait for a slot of our own, and between tries; the account's quota decides after that.
_SLOT_SECONDS, _SLOT_WAIT = 30.0, 0.5
# A full quota frees a slot only when somebody's query ends: waits between tries, in seconds.
_QUOTA_WAITS = (2.0, 4.0, 8.0, 15.0, 15.0, 15.0, 15.0, 15.0)
# Ours: a query is first looked at when others took about as long, then at growing waits.
_FIRST_LOOK, _LEAST_WAIT, _LONGEST_WAIT, _GROWTH = 1.0, 0.5, 5.0, 0.5
_SOONER = 0.9
_RUNNING = frozenset({"Scheduled", "Running", "Unknown"})
_FULL = "LimitExceededException"
_START, _RESULTS = "logs:StartQuery", "logs:GetQueryResults"

Ask = Callable[[Mapping[str, Any]], Page]


class _Started(NamedTuple):
    caller: Caller
    at: float


class Queries:
    """The queries of one account and region that this process runs.

    A question that holds slots of its own is told at once that there is no other: it can end what
    it has running, and two that wait for each other's slots would wait for ever.
    """

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._starting = 0
        self._running: dict[str, _Started] = {}
        self._typical = _FIRST_LOOK  # how long queries take, as far as seen
        self._lock = threading.Lock()

    def start(self, caller: Caller, start: Ask, params: Mapping[str, Any]) -> Outcome:
        """Return what StartQuery answers, after waiting for a slot; see `LiveAws.read`."""
        if not self._enter(caller):
            return failed((), _NO_ROOM)
        answer = self._started(caller, start, params)
        with self._lock:
            self._starting -= 1
            if not isinstance(answer, Failure):
                self._running[str(answer.get("queryId"))] = _Started(caller, caller.seconds())
        if isinstance(answer, Failure):
            return failed((), answer)
        return read_pages(_START, params, lambda _: answer, rows=())

    def _enter(self, caller: Caller) -> bool:
        """Take a slot; False where the question itself holds some of those that are taken."""
        waited = 0.0
        while not self._has_room():
            if self._holds_some(caller):
                return False
            if waited >= _SLOT_SECONDS or not caller.pause(_SLOT_WAIT):
                break
            waited += _SLOT_WAIT
        with self._lock:
            self._starting += 1
        return True

    def _has_room(self) -> bool:
        """Say whether a slot is free; a question that is over holds none."""
        with self._lock:
            over = [i for i, one in self._running.items() if not one.caller.budget.remaining()]
            for query in over:
                del self._running[query]
            return len(self._running) + self._starting < self._most

    def _holds_some(self, caller: Caller) -> bool:
        with self._lock:
            return any(one.caller is caller for one in self._running.values())

    def _started(self, caller: Caller, start: Ask, params: Mapping[str, Any]) -> Page | Failure:
        if self._holds_some(caller):
            return caller.ask(_START, lambda: start(params), is_patient=False)
        answer = caller.ask(_START, lambda: start(params))
        for wait in _QUOTA_WAITS:
            if not isinstance(answer, Failure) or answer.code != _FULL or not caller.pause(wait):
                return answer
            answer = caller.ask(_START, lambda: start(params))
        return answer

    def results(self, caller: Caller, look: Ask, stop: Ask, params: Mapping[str, Any]) -> Outcome:
        """Return the results of a query once it has ended; see `LiveAws.read`.

        Rows of a running query are never returned. Where the budget ends first the query is
        stopped, so that it costs nothing more.
        """
        query = str(params.get("queryId"))
        try:
            outcome = read_pages(
                _RESULTS,
                params,
                lambda sent: self._ended(caller, look, sent),
                rows=("results",),
            )
            if outcome.reason is Reason.BUDGET:
                _stop(caller, stop, query)
            return _judged(outcome)
        finally:
            self._free(query)

    def _ended(self, caller: Caller, look: Ask, sent: Mapping[str, Any]) -> Page | Failure:
        """Return a page of a query that has ended, looking as seldom as its length allows."""
        started = self._running.get(str(sent.get("queryId")))
        began = caller.seconds() if started is None else started.at
        is_first = started is not None and "nextToken" not in sent
        if is_first and not self._wait(caller, began + self._typical - caller.seconds()):
            return caller.shortage()
        looks = 0
        while True:
            answer = caller.ask(_RESULTS, lambda: look(sent))
            took = caller.seconds() - began
            if isinstance(answer, Failure) or answer.get("status") not in _RUNNING:
                if is_first:
                    self._learn(took, is_late=looks == 0)
                return answer
            looks += 1
            wait = min(_LONGEST_WAIT, max(_LEAST_WAIT, _GROWTH * took))
            if not self._wait(caller, wait):
                return caller.shortage()

    @staticmethod
    def _wait(caller: Caller, seconds: float) -> bool:
        """Wait, but never past the middle of what is left: a last look is always worth it."""
        left = caller.budget.remaining()
        seconds = min(seconds, max(_LEAST_WAIT, left / 2))
        return seconds <= 0 or caller.pause(seconds)

    def _learn(self, took: float, *, is_late: bool) -> None:
        """Adjust when the next query is first looked at; one seen late ended any time before."""
        with self._lock:
            near = min(took, self._typical) * _SOONER if is_late else took
            self._typical = min(_LONGEST_WAIT, max(_LEAST_WAIT, near))

    def _free(self, query: str) -> None:
        with self._lock:
            self._running.pop(query, None)


_NO_ROOM = Failure(
    Meaning(Status.UNVERIFIED, Reason.THROTTLED), _FULL, "as many queries as we run at once run"
)


def _stop(caller: Caller, stop: Ask, query: str) -> None:
    """End a query of our own, whatever comes of it; the budget no longer counts."""
    caller.beyond(lambda: stop({"queryId": query}))


def _judged(outcome: Outcome) -> Outcome:
    """Return results of a query that failed or was ended as not read."""
    states = [page.get("status") for page in outcome.pages]
    broken = next((state for state in states if state not in {None, "Complete"}), None)
    if broken is None:
        return outcome
    note = f"the query ended as {broken}"
    return Outcome((), Status.UNVERIFIED, Reason.TIMED_OUT, str(broken), (note,))
