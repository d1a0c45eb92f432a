"""The Messages API behind `Asks`: one place for keys, streaming and retries.

The only user of Anthropic's SDK, which is imported when the first model is made: it costs seconds.
"""

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

from gpuvet_evals.asking import Reply, Request, read_reply
from gpuvet_evals.errors import ModelFailed, ModelUnavailable
from gpuvet_evals.untrusted import clean

if TYPE_CHECKING:
    from anthropic import Anthropic, APIError

ATTEMPTS = 6
# Anthropic's API reference: 408, 409, 429 and 5xx (529: overloaded) may succeed when tried again.
_RETRIED_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
# An error event inside a stream stands under status 200; its type tells.
_RETRIED_TYPES = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
_REFUSED_KEY = frozenset({401, 403})
_LONGEST_WAIT_S = 120.0
_FIRST_WAIT_S = 1.0
_TIMEOUT_S = 600.0

Sleep = Callable[[float], None]


class LiveModel:
    """Asks the Messages API, streaming; see `Asks`. Safe to share between threads.

    Its connections are closed at the end of a `with` block.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        attempts: int = ATTEMPTS,
        sleep: Sleep = time.sleep,
    ) -> None:
        """Make a client.

        Args:
            api_key: By default the SDK looks in the environment.
            base_url: Another endpoint than the public one.
            attempts: At each request.
            sleep: Waits that many seconds before the next attempt.

        Raises:
            ModelUnavailable: The SDK is not installed, or there is no key.
        """
        self._client = _client(api_key, base_url)
        self._attempts = attempts
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, request: Request) -> Reply:
        """Return the reply to one request; see `Asks.ask`."""
        for attempt in range(1, self._attempts + 1):
            outcome = self._once(request)
            if isinstance(outcome, Reply):
                return outcome
            message, wait = outcome
            if attempt < self._attempts:
                backoff = _FIRST_WAIT_S * 2 ** (attempt - 1)
                self._sleep(min(max(wait, backoff), _LONGEST_WAIT_S))
            else:
                raise ModelFailed(f"{message}; given up after {attempt} attempts")
        raise AssertionError  # the loop returns or raises

    def _once(self, request: Request) -> "Reply | tuple[str, float]":
        """Return the reply, or what went wrong and how long the service asks to wait."""
        from anthropic import APIConnectionError, APIError

        try:
            return self._streamed(request)
        except APIConnectionError as error:
            return f"no connection to the API: {clean(str(error))}", 0.0
        except APIError as error:
            return _judged(error)
        except ValueError as error:  # a tool's input that is no JSON, a torn event
            return f"the reply cannot be read: {clean(str(error))}", 0.0
        except Exception as error:
            if not _is_of_transport(error):
                raise
            return f"the connection broke: {clean(str(error))}", 0.0

    def _streamed(self, request: Request) -> "Reply | tuple[str, float]":
        parameters: dict[str, Any] = dict(request)
        with self._client.messages.stream(**parameters) as stream:
            message: dict[str, Any] = {}
            for event in stream:
                if event.type == "message_stop":
                    message = stream.current_message_snapshot.to_dict()
        if not message:
            return "the stream ended before the message did", 0.0
        return read_reply(message)


def _is_of_transport(error: Exception) -> bool:
    """Whether the SDK's HTTP client, whichever it brings, lost the connection inside a stream."""
    return any(kind.__name__ == "TransportError" for kind in type(error).__mro__)


def _client(api_key: str | None, base_url: str | None) -> "Anthropic":
    try:
        from anthropic import Anthropic, AnthropicError
    except ImportError as error:
        raise ModelUnavailable(
            "Anthropic's SDK is not installed: pip install 'gpuvet[evals]'; "
            "without it nothing can be run, and only kept judgements are graded"
        ) from error
    try:
        client = Anthropic(api_key=api_key, base_url=base_url, max_retries=0, timeout=_TIMEOUT_S)
    except AnthropicError as error:
        raise ModelUnavailable(f"no client can be made: {clean(str(error))}") from error
    if not (client.api_key or client.auth_token or client.credentials):
        raise ModelUnavailable(
            "no key: set ANTHROPIC_API_KEY; without one nothing is run, only kept judgements are "
            "graded"
        )
    return client


def _judged(error: "APIError") -> tuple[str, float]:
    """Return what went wrong and how long to wait, where trying again makes sense.

    Raises:
        ModelUnavailable: The key is refused.
        ModelFailed: The same request would fail again.
    """
    status = getattr(error, "status_code", None)
    kind = _type_of(error)
    shown = f"{status or 'no status'} {kind or ''}: {clean(error.message)}"
    if kind in _RETRIED_TYPES or (status in _RETRIED_STATUSES and kind != "invalid_request_error"):
        return shown, _asked_wait(error)
    if status in _REFUSED_KEY:
        raise ModelUnavailable(f"the API refuses the key or the model: {shown}") from error
    raise ModelFailed(f"the API refuses the request: {shown}") from error


def _type_of(error: "APIError") -> str | None:
    kind = getattr(error, "type", None)
    if isinstance(kind, str):
        return kind
    try:
        text: object = json.loads(error.body) if isinstance(error.body, str) else error.body
    except ValueError:
        return None
    body = cast("dict[str, Any]", text) if isinstance(text, dict) else {}
    inner = body.get("error")
    found = cast("dict[str, Any]", inner).get("type") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else None


def _asked_wait(error: "APIError") -> float:
    """Return the seconds of retry-after; 0 where the service does not say."""
    response = getattr(error, "response", None)
    text = str(response.headers.get("retry-after", "")) if response is not None else ""
    try:
        return max(float(text), 0.0)
    except ValueError:
        return 0.0
