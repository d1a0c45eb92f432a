"""gpuvet's MCP server in memory, as tools of a side: nothing is started or connected to."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.types import CallToolResult, TextContent

from gpuvet.app import build_server
from gpuvet.tools.case_judge import CaseJudge
from gpuvet_evals.run.plain_tools import PlainTools, ToolResult

Json = dict[str, Any]


class ServerTools:
    """The plain tools, and those of gpuvet's server over the same world."""

    def __init__(self, plain: PlainTools, client: Client, portal: BlockingPortal) -> None:
        self._plain, self._client, self._portal = plain, client, portal
        self._listed = portal.call(client.list_tools).tools
        self._names = frozenset(tool.name for tool in self._listed)

    def definitions(self) -> Sequence[Json]:
        """Return the server's tools; see `Tools`."""
        return [
            {
                "name": tool.name,
                "description": tool.description or "",
                "input_schema": dict(tool.input_schema),
            }
            for tool in self._listed
        ]

    def call(self, name: str, given: object) -> ToolResult:
        """Return what a tool of either kind says; see `Tools`."""
        if name not in self._names:
            return self._plain.call(name, given)
        if not isinstance(given, dict):
            return ToolResult("the input must be an object", is_error=True)
        arguments = cast("Json", given)
        result = self._portal.call(self._client.call_tool, name, arguments)
        return _said(result)


@contextmanager
def server_tools(plain: PlainTools, case: Path, now: datetime) -> Generator[ServerTools]:
    """Serve a world's case in memory for as long as the block runs."""
    server = build_server(CaseJudge(case, clock=lambda: now))
    client = Client(server)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(client) as connected,
    ):
        yield ServerTools(plain, connected, portal)


def _said(result: CallToolResult) -> ToolResult:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return ToolResult("\n".join(texts), is_error=bool(result.is_error))
