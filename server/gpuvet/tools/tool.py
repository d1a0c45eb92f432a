"""How a tool is built from its definition, and how a call of it is run.

The SDK would build a model from every signature when the server starts. Here the schemas are
ready in `definitions.json`, and a tool's module is loaded by its first call.
"""

import importlib
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ValidationError

from gpuvet.errors import UsageError
from gpuvet.tools.reply import ERROR_CHARACTERS, result_of
from gpuvet.tools.table import ToolRow

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from gpuvet.model.progress import Progress, Step
    from gpuvet.tools.arguments import Arguments
    from gpuvet.tools.request import Evidence, Reply, Request

Json = dict[str, Any]
PACKAGE = "gpuvet.tools"
DEFINITIONS = "definitions.json"
_MANY_THREADS = 64  # ours; AnyIO runs at most 40 calls that are waited for at once


class Loaded(NamedTuple):
    """A tool's function and the model of its arguments."""

    run: "Callable[[Request, Any], Reply[Any]]"
    arguments: "type[Arguments]"


@cache
def loaded(function: str) -> Loaded:
    """Return a tool's function, its module loaded.

    Args:
        function: As the table of tools names it.
    """
    module, _, name = function.partition(":")
    run: Callable[[Request, Any], Reply[Any]] = getattr(
        importlib.import_module(f"{PACKAGE}.{module}"), name
    )
    asked = list(inspect.signature(run).parameters)[1]
    return Loaded(run, get_type_hints(run)[asked])


@cache
def definitions() -> Mapping[str, Json]:
    """Return what `tools/list` says of every tool, by name."""
    text = files(PACKAGE).joinpath(DEFINITIONS).read_text(encoding="utf-8")
    known: dict[str, Json] = json.loads(text)
    return known


@dataclass(frozen=True, slots=True)
class Answering:
    """One tool over the evidence of a server."""

    row: ToolRow
    evidence: "Evidence"
    without: Mapping[str, str]

    def __call__(self, arguments: Mapping[str, Any], progress: "Progress") -> CallToolResult:
        """Answer one call.

        Raises:
            UsageError: What was asked cannot be, and the caller can mend it.
        """
        refused = next((self.without[name] for name in arguments if name in self.without), None)
        if refused is not None:
            raise UsageError(refused)
        tool = loaded(self.row.function)
        request = _request(self.row.name, tool.arguments, arguments, self.evidence, progress)
        return result_of(tool.run(request, request.asked))


class LazyTool(Tool):
    """A tool of the SDK whose function is an `Answering`."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: "Context[Any, Any]",
        convert_result: bool = False,
    ) -> CallToolResult:
        """Answer one call; what the caller can mend is put into words, bugs stay masked."""
        del convert_result  # an answer of ours is converted already
        answer: partial[CallToolResult] = partial(self.fn, arguments, _progress_of(context))
        try:
            # Left alone, a call that nobody waits for any more ends by itself on its thread. With
            # many of those the next ones are waited for, so that threads stay bounded.
            alone = threading.active_count() < _MANY_THREADS
            return await anyio.to_thread.run_sync(answer, abandon_on_cancel=alone)
        except UsageError as error:
            raise ToolError(str(error)[:ERROR_CHARACTERS]) from error
        except Exception as error:
            raise UnexpectedToolError(f"Error executing tool {self.name}") from error


def build_tool(row: ToolRow, evidence: "Evidence", without: Mapping[str, str]) -> Tool:
    """Return a read-only tool.

    Args:
        row: Which.
        evidence: What it answers from.
        without: Arguments that this server does not take, each with the reason.
    """
    known = definitions()[row.name]
    schema: Json = known["inputSchema"]
    members: Json = schema["properties"]
    offered = {name: one for name, one in members.items() if name not in without}
    return LazyTool(
        fn=Answering(row, evidence, without),
        name=row.name,
        title=row.title,
        description=known["description"],
        parameters={**schema, "properties": offered},
        fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=known["outputSchema"]),
        is_async=False,
        context_kwarg=None,
        annotations=ToolAnnotations(
            title=row.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=row.asks_account,
        ),
    )


def _request(
    tool: str,
    model: "type[Arguments]",
    arguments: Mapping[str, Any],
    evidence: "Evidence",
    progress: "Progress",
) -> "Request":
    """Return the request of a call; one with a cursor asks what the first page asked."""
    from gpuvet.tools.request import Request

    asked = _read(tool, model, arguments)
    cursor: str | None = getattr(asked, "cursor", None)
    if cursor is None:
        return Request(tool, asked, evidence, progress=progress)
    from gpuvet.tools.cursor import unseal

    state = unseal(cursor)
    if state["tool"] != tool:
        raise UsageError(f"this cursor belongs to another tool than {tool}")
    own = {name: arguments[name] for name in arguments if name in model.not_carried}
    now = datetime.fromisoformat(state["now"]) if state["now"] else None
    restored = _read(tool, model, {**state["asked"], **own})
    return Request(tool, restored, evidence, state["offset"], now, progress)


def _read(tool: str, model: "type[Arguments]", arguments: Mapping[str, Any]) -> "Arguments":
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(part) for part in one['loc']) or 'arguments'}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        ]
        takes = ", ".join(model.model_fields)
        raise UsageError(f"{tool} cannot be asked so: {'; '.join(faults)}. It takes {takes}") from (
            error
        )


def _progress_of(context: "Context[Any, Any]") -> "Progress":
    """Return what tells a client how far a call has got; the SDK sends it where it was asked to."""
    loop = anyio.lowlevel.current_token()

    def tell(step: "Step") -> None:
        words = step.words
        try:
            anyio.from_thread.run(
                context.report_progress, float(step.all_done), None, words, token=loop
            )
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the client is gone: the answer will find that out

    return tell
