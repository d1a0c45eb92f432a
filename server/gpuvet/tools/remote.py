"""Tools as a server shows them to other machines: without the arguments that choose an identity."""

import inspect
from collections.abc import Iterable

from mcp.server.mcpserver.tools import Tool

from gpuvet.tools import build_tool

IDENTITY = frozenset({"profile", "role"})


def without_identity(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools without `profile` and `role`: they do not exist for a remote caller."""
    return [_without(tool, IDENTITY) for tool in tools]


def _without(tool: Tool, names: frozenset[str]) -> Tool:
    signature = inspect.signature(tool.fn, eval_str=True)
    if names.isdisjoint(signature.parameters):
        return tool
    kept = [p for p in signature.parameters.values() if p.name not in names]
    # The SDK builds the schema and refuses arguments by this signature; the defaults stay in force.
    setattr(tool.fn, "__signature__", signature.replace(parameters=kept))  # noqa: B010 (a function has no such member for a type checker)
    hints = tool.annotations
    is_open = hints is None or hints.open_world_hint is not False
    return build_tool(tool.fn, title=tool.title or tool.name, open_world=is_open)
