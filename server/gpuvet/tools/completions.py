"""What a host offers while a person types an argument of a prompt or of a template.

Codes come from our tables, node ids from the case; an account is never asked for a completion.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import anyio.to_thread
from mcp.server import MCPServer
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from gpuvet.errors import UsageError
from gpuvet.tools.resources import codes_of

_MOST = 100  # the protocol's limit of one answer
_SPANS = ("90m", "6h", "24h", "72h", "7d", "30d")
_ARGUMENTS = {
    "since": _SPANS,
    "hours": ("24", "48", "72", "168"),
    "checkpoint_every": ("15m", "30m", "1h", "2h", "4h"),
}


@runtime_checkable
class NamesNodes(Protocol):
    """Evidence that knows its nodes without asking an account."""

    def node_names(self) -> tuple[str, ...]:
        """Return the ids of its nodes."""
        ...


def add_completions(server: MCPServer, source: object) -> None:
    """Let the server complete arguments.

    Args:
        server: To add to.
        source: The evidence; its nodes are offered where it `NamesNodes`.
    """

    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _context: CompletionContext | None,
    ) -> Completion | None:
        choices = _choices(ref, argument.name, source)
        if choices is None:
            return None
        return _starting_with(argument.value, await anyio.to_thread.run_sync(choices))

    server.completion()(complete)  # type: ignore[no-untyped-call]  # the SDK leaves it untyped


def _choices(
    ref: PromptReference | ResourceTemplateReference, argument: str, source: object
) -> Callable[[], Sequence[str]] | None:
    if isinstance(ref, ResourceTemplateReference):
        return codes_of(str(ref.uri)) if argument == "code" else None
    if argument == "node" and isinstance(source, NamesNodes):
        return lambda: _readable(source)
    words = _ARGUMENTS.get(argument)
    return None if words is None else lambda: words


def _readable(source: NamesNodes) -> tuple[str, ...]:
    try:
        return source.node_names()
    except UsageError:  # a case that cannot be read says so when a tool is called
        return ()


def _starting_with(typed: str, choices: Sequence[str]) -> Completion:
    found = [choice for choice in choices if choice.lower().startswith(typed.lower())]
    return Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)
