"""Logs Insights on the live side: a slot for each query, and its results once it has ended."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from gpuvet.aws.live_calls import Caller, Failure, Page
from gpuvet.aws.live_pages import Outcome, failed, read_pages
from gpuvet.model.evidence import Reason, Status

# coverage.md: an account may run more, but shares them with dashboards and schedules.
MOST_AT_ONCE = 4
# Longest wait for a slot of our own; the account's quota decides after that.
_SLOT_SECONDS = 30.0
# A full quota frees a slot only when somebody's query ends: waits between tries, in seconds.
_QUOTA_WAITS = (2.0, 4.0, 8.0, 15.0, 15.0, 15.0, 15.0, 15.0)
# Waits between looks at a running query, in seconds; the last one repeats.
_LOOKS = (0.25, 0.5, 1.0, 2.0, 3.0)
_RUNNING = frozenset({"Scheduled", "Running", "Unknown"})
_FULL = "LimitExceededException"
_START, _RESULTS = "logs:StartQuery", "logs:GetQueryResults"

Ask = Callable[[Mapping[str, Any]], Page]


class Queries:
    """The queries of one account and region that this process runs."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._slots = threading.BoundedSemaphore(most)
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def start(self, caller: Caller, start: Ask, params: Mapping[str, Any]) -> Outcome:
        """Return what StartQuery answers, after waiting for a slot; see `LiveAws.read`."""
        has_slot = self._slots.acquire(timeout=min(_SLOT_SECONDS, caller.budget.remaining()))
        answer = self._started(caller, start, params)
        if isinstance(answer, Failure):
            if has_slot:
                self._slots.release()
            return failed((), answer)
        if has_slot:
            with self._lock:
                self._running.add(str(answer.get("queryId")))
        return read_pages(_START, params, lambda _: answer, rows=())

    def _started(self, caller: Caller, start: Ask, params: Mapping[str, Any]) -> Page | Failure:
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

    @staticmethod
    def _ended(caller: Caller, look: Ask, sent: Mapping[str, Any]) -> Page | Failure:
        looks = 0
        while True:
            answer = caller.ask(_RESULTS, lambda: look(sent))
            if isinstance(answer, Failure) or answer.get("status") not in _RUNNING:
                return answer
            if not caller.pause(_LOOKS[min(looks, len(_LOOKS) - 1)]):
                return caller.shortage()
            looks += 1

    def _free(self, query: str) -> None:
        with self._lock:
            if query in self._running:
                self._running.remove(query)
                self._slots.release()


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
