"""One request of the live door: within its budget, tried again where that helps, never raising.

Retries follow botocore's standard mode: exponential waits with jitter, at most six attempts at a
throttled call. They are made here and not in botocore, because only here the deadline of the
question is known; a throttled service makes every thread of the question wait.
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from gpuvet.aws.budget import Budget, Clock
from gpuvet.aws.live_clients import REQUEST_SECONDS
from gpuvet.aws.live_paces import Paces
from gpuvet.aws.statuses import Meaning, meaning_of
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.untyped import object_at, text_at, whole_at
from gpuvet.parse.untrusted import clean

T = TypeVar("T")
Page = Mapping[str, Any]

# AWS's API reference: throttled calls five to eight times, an unreachable network once more.
THROTTLED_ATTEMPTS = 6
OTHER_ATTEMPTS = 2
# botocore's standard mode: 1 s doubled each time, at most 20 s, and a random part of that.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 20.0
# A courtesy after the deadline, such as ending a query that would go on costing.
_BEYOND_SECONDS = 1.0


class Failure(NamedTuple):
    """A request that brought nothing: what it means, and how it said so."""

    meaning: Meaning
    code: str | None = None
    message: str = ""


class Caller:
    """Makes the requests of one question."""

    def __init__(self, budget: Budget, clock: Clock, paces: Paces | None = None) -> None:
        self._budget = budget
        self._clock = clock
        self._paces = paces or Paces()
        self._quiet_until: dict[str, float] = {}  # by service: throttled, nobody asks before
        self._given_up: set[str] = set()  # operations that failed whatever was tried

    @property
    def budget(self) -> Budget:
        """What the question may still use."""
        return self._budget

    def seconds(self) -> float:
        """Return the reading of the stopwatch."""
        return self._clock.monotonic()

    def ask(
        self, operation: str, call: Callable[[], Page], *, is_patient: bool = True
    ) -> Page | Failure:
        """Return the reply of one request, or what its failure means.

        An operation that failed in all its attempts has one each time it is asked again: a
        service that is down would else use up what the question may spend.

        Args:
            operation: `service:Operation`; a throttled service is left alone for a while.
            call: The request.
            is_patient: Try a throttled request again; False where something better can be done.
        """
        service = operation.partition(":")[0]
        attempt = 0
        while True:
            if not self._wait_for(service) or not self._in_turn(operation):
                return self.shortage()
            if not self._budget.spend():
                return self.shortage()
            answer = self._once(call)
            if not isinstance(answer, Failure) or not answer.meaning.is_retried:
                return answer
            if not is_patient:
                return answer
            attempt += 1
            most = 1 if operation in self._given_up else _attempts(answer.meaning)
            if attempt >= most or not self._back_off(service, attempt):
                self._given_up.add(operation)
                return answer

    def shortage(self) -> Failure:
        """Return what it means that the budget is used up."""
        why = self._budget.shortage() or "the deadline of this question is too near"
        return Failure(Meaning(Status.NOT_CHECKED, Reason.BUDGET), None, why)

    def pause(self, seconds: float) -> bool:
        """Wait; False, without waiting, where the deadline comes first."""
        if self._budget.remaining() <= seconds:
            return False
        self._clock.sleep(seconds)
        return True

    def beyond(self, call: Callable[[], object]) -> None:
        """Make one last request outside the budget; nobody waits long for it."""
        within(_BEYOND_SECONDS, lambda: _tried(lambda: {"": call()}))

    def _wait_for(self, service: str) -> bool:
        wait = self._quiet_until.get(service, 0.0) - self._clock.monotonic()
        return wait <= 0 or self.pause(wait)

    def _in_turn(self, operation: str) -> bool:
        """Wait for this process's turn at an operation that the service rations by the second."""
        wait = self._paces.wait(operation, self._clock.monotonic())
        return wait <= 0 or self.pause(wait)

    def _back_off(self, service: str, attempt: int) -> bool:
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (attempt - 1))
        wait = longest * random.uniform(0.25, 1.0)  # noqa: S311 (spreads callers, hides nothing)
        if self._budget.remaining() <= wait:
            return False
        until = self._clock.monotonic() + wait
        self._quiet_until[service] = max(until, self._quiet_until.get(service, 0.0))
        return True

    def _once(self, call: Callable[[], Page]) -> Page | Failure:
        remaining = self._budget.remaining()
        if remaining > REQUEST_SECONDS:
            return _tried(call)
        answer = within(remaining, lambda: _tried(call))
        return self.shortage() if answer is None else answer


def within(seconds: float, call: Callable[[], T]) -> T | None:
    """Return what a call returns, or None where it takes longer; its thread is left behind.

    Raises:
        BaseException: Whatever the call raises.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(call())
        except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    return returned[0] if returned else None


def _tried(call: Callable[[], Page]) -> Page | Failure:
    try:
        return call()
    except ClientError as error:
        return failure_of(error.response)
    except (BotoCoreError, ResponseParserError) as error:
        return failure_of_exception(error)


def failure_of(response: object) -> Failure:
    """Return what an error response means."""
    error = object_at(response, "Error")
    code = text_at(error, "Code") or "Unknown"
    message = clean(text_at(error, "Message") or "")
    http_status = whole_at(object_at(response, "ResponseMetadata"), "HTTPStatusCode")
    return Failure(meaning_of(code, message, http_status), code, message)


def failure_of_exception(error: BaseException) -> Failure:
    """Return what an exception of botocore itself means; the nearest known class decides."""
    names = [kind.__name__ for kind in type(error).__mro__]
    meanings = (meaning_of(name) for name in names)
    known = next((m for m in meanings if m.reason is not None), meaning_of(names[0]))
    return Failure(known, names[0], clean(str(error)))


def _attempts(meaning: Meaning) -> int:
    return THROTTLED_ATTEMPTS if meaning.reason is Reason.THROTTLED else OTHER_ATTEMPTS
