"""The MCP tools: the list, how each is built, and where errors reach a model."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations

from gpuvet.errors import UsageError
from gpuvet.tools.calculators import CalculatorTools, Judge
from gpuvet.tools.reply import ERROR_CHARACTERS

ToolFunction = Callable[..., CallToolResult]


def all_tools(judge: Judge) -> list[Tool]:
    """Return every tool of the server over the evidence it was started with."""
    calculators = CalculatorTools(judge)
    return [
        build_tool(calculators.node_verdicts, title="Node verdicts"),
        build_tool(calculators.log_coverage, title="Log coverage"),
        build_tool(calculators.explain_xid, title="Explain an Xid", open_world=False),
    ]


def build_tool(function: ToolFunction, *, title: str, open_world: bool = True) -> Tool:
    """Return a read-only tool that refuses unknown arguments and carries no schema noise."""
    tool = Tool.from_function(
        _tell_the_model(function),
        title=title,
        description=inspect.getdoc(function),
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=open_world,
        ),
    )
    arguments = tool.fn_metadata.arg_model
    # The SDK drops misspelt arguments silently; a default that was not asked for misleads.
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = without_titles(arguments.model_json_schema(by_alias=True))
    if tool.fn_metadata.output_schema is not None:
        tool.fn_metadata.output_schema = without_titles(tool.fn_metadata.output_schema)
    return tool


def without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema without the titles pydantic adds to every member."""

    def clean(node: Any, *, is_properties: bool = False) -> Any:  # noqa: ANN401 (JSON is what it is)
        if isinstance(node, dict):
            return {
                key: clean(
                    value, is_properties=key in {"properties", "$defs"} and not is_properties
                )
                for key, value in node.items()
                if is_properties or key != "title" or not isinstance(value, str)
            }
        return [clean(item) for item in node] if isinstance(node, list) else node

    cleaned: dict[str, Any] = clean(schema)
    return cleaned


def _tell_the_model(function: ToolFunction) -> ToolFunction:
    """Put what the caller can mend into words a model reads; bugs stay masked."""

    @wraps(function)
    def told(*args: Any, **kwargs: Any) -> CallToolResult:  # noqa: ANN401 (passes through)
        try:
            return function(*args, **kwargs)
        except UsageError as error:
            raise ToolError(str(error)[:ERROR_CHARACTERS]) from error

    return told
