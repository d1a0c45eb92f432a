"""Asking a model: request in, reply out, and what it cost; who asks sees no SDK. Pure.

`Asks` is the seam: `model.py` fills it with the Messages API, tests with a script.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from gpuvet.model.base import Value
from gpuvet_evals.journal import mapping, mappings

Request = Mapping[str, Any]  # the body of POST /v1/messages


class Usage(Value):
    """Tokens of one or of many replies."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        """Every token read or written; those from the prompt cache count as well."""
        read = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        return read + self.output_tokens

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


class ToolUse(Value):
    """A tool the model wants called."""

    id: str
    name: str
    input: object


class Reply(Value):
    """One assistant message as the API gave it."""

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        """The text blocks, joined by a blank line."""
        texts = (block.get("text") for block in self.content if block.get("type") == "text")
        return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tools to call, in order."""
        return tuple(
            ToolUse(id=str(block.get("id")), name=str(block.get("name")), input=block.get("input"))
            for block in self.content
            if block.get("type") == "tool_use"
        )


class Asks(Protocol):
    """Whatever answers a request."""

    def ask(self, request: Request) -> Reply:
        """Return the reply to one request.

        Raises:
            ModelUnavailable: Nothing can be asked at all: no key, a refused key, no SDK.
            ModelFailed: This request failed, also after retries.
            BudgetSpent: What may be spent is spent.
        """
        ...


def read_reply(message: Mapping[str, Any]) -> Reply:
    """Return a reply from a message of the API."""
    usage = mapping(message.get("usage"))
    return Reply(
        content=tuple(dict(block) for block in mappings(message.get("content"))),
        stop_reason=str(message.get("stop_reason") or ""),
        usage=read_usage(usage),
    )


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens of a usage object; what is missing or null is 0."""
    return Usage(
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cache_read_tokens=_count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=_count(usage.get("cache_creation_input_tokens")),
    )


def usage_json(usage: Usage) -> dict[str, int]:
    """Return usage in the names of the API, which `read_usage` reads back."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
