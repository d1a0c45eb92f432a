"""The MCP tools: the list, how each is built, and where errors reach a model."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Protocol

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations

from gpuvet.errors import UsageError
from gpuvet.model.untyped import is_array, is_object
from gpuvet.tools.account import Accessible, AccountTools
from gpuvet.tools.calculators import CalculatorTools, Judge
from gpuvet.tools.modes import ModeTools, Triage
from gpuvet.tools.preflight import Preflighter, PreflightTools
from gpuvet.tools.reply import ERROR_CHARACTERS
from gpuvet.tools.spec import check_job_spec, simulate_log_monitors, suggest_log_monitors

ToolFunction = Callable[..., CallToolResult]
Json = dict[str, Any]


class Source(Judge, Triage, Preflighter, Protocol):
    """The evidence a server was started with, as its tools ask for it."""


def all_tools(source: Source, account: Accessible | None = None) -> list[Tool]:
    """Return every tool of the server over the evidence it was started with.

    Args:
        source: A case, or a live account.
        account: The account, where it is a live one.
    """
    modes = ModeTools(source)
    calculators = CalculatorTools(source)
    access = (
        [build_tool(AccountTools(account).check_access, title="Check access")] if account else []
    )
    return [
        build_tool(modes.incident_report, title="Incident report"),
        build_tool(PreflightTools(source).preflight_report, title="Preflight report"),
        build_tool(modes.timeline, title="Timeline"),
        build_tool(modes.audit_report, title="Audit report"),
        build_tool(calculators.node_verdicts, title="Node verdicts"),
        build_tool(calculators.log_coverage, title="Log coverage"),
        build_tool(calculators.explain_xid, title="Explain an Xid", open_world=False),
        build_tool(check_job_spec, title="Check a job spec", open_world=False),
        build_tool(simulate_log_monitors, title="Simulate log monitors", open_world=False),
        build_tool(suggest_log_monitors, title="Suggest log monitors", open_world=False),
        *access,
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
        schema = without_titles(tool.fn_metadata.output_schema)
        tool.fn_metadata.output_schema = with_nulls_left_out(schema)
        # Answers are dumped from values that were validated when made; the SDK would hold the
        # dump against the strict model again and refuse its own times and enums as text.
        tool.fn_metadata.output_model = None
    return tool


def without_titles(schema: Mapping[str, Any]) -> Json:
    """Return a JSON Schema without the titles pydantic adds to every member."""
    return {
        key: _untitled(key, value) for key, value in schema.items() if not _is_title(key, value)
    }


def _is_title(key: str, value: object) -> bool:
    # A member that is itself named "title" has a schema, not a text.
    return key == "title" and isinstance(value, str)


def _untitled(key: str, value: object) -> object:
    if is_array(value):
        return [without_titles(v) if is_object(v) else v for v in value]
    if not is_object(value):
        return value
    if key in {"properties", "$defs"}:
        return {name: without_titles(v) if is_object(v) else v for name, v in value.items()}
    return without_titles(value)


def with_nulls_left_out(schema: Mapping[str, Any]) -> Json:
    """Return an output schema that asks for no nullable member: answers leave nulls out."""
    relaxed: Json = {key: _relaxed(value) for key, value in schema.items()}
    members, required = relaxed.get("properties"), relaxed.get("required")
    if is_object(members) and is_array(required):
        relaxed["required"] = [n for n in required if not _is_nullable(members.get(str(n)))]
    return relaxed


def _relaxed(value: object) -> object:
    if is_array(value):
        return [_relaxed(item) for item in value]
    return with_nulls_left_out(value) if is_object(value) else value


def _is_nullable(member: object) -> bool:
    choices = member.get("anyOf") if is_object(member) else None
    return is_array(choices) and any(is_object(c) and c.get("type") == "null" for c in choices)


def _tell_the_model(function: ToolFunction) -> ToolFunction:
    """Put what the caller can mend into words a model reads; bugs stay masked."""

    @wraps(function)
    def told(*args: Any, **kwargs: Any) -> CallToolResult:  # noqa: ANN401 (passes through)
        try:
            return function(*args, **kwargs)
        except UsageError as error:
            raise ToolError(str(error)[:ERROR_CHARACTERS]) from error

    return told
