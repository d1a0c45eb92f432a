"""Calls that nobody waits for any more keep no more than a bounded number of threads."""

import threading
from collections.abc import Mapping

import anyio
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult

from gpuvet.tools.tool import LazyTool

WAVES, CALLS = 8, 40
PATIENCE = 30.0

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Stuck:
    """A tool that ends only when it is let go."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.inside = 0

    def __call__(self, arguments: Mapping[str, object], progress: object) -> CallToolResult:
        del arguments, progress
        self.inside += 1
        self.gate.wait(PATIENCE)
        return CallToolResult(content=[])


async def test_threads_of_calls_that_were_given_up_are_bounded() -> None:
    stuck = Stuck()
    tool = LazyTool(
        fn=stuck,
        name="stuck",
        title=None,
        description="Waits.",
        parameters={},
        fn_metadata=FuncMetadata(arg_model=ArgModelBase),
        is_async=False,
        context_kwarg=None,
        annotations=None,
    )
    context = Context(mcp_server=MCPServer("stuck", version="1", tools=[tool]))
    before = threading.active_count()
    scopes: list[anyio.CancelScope] = []
    held: list[int] = []

    async def call() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await tool.run({}, context)

    async with anyio.create_task_group() as calls:
        for wave in range(WAVES):
            for _ in range(CALLS):
                calls.start_soon(call)
            with anyio.move_on_after(0.5):
                while stuck.inside < CALLS * (wave + 1):
                    await anyio.sleep(0.01)
            for scope in scopes:
                scope.cancel()
        held.append(threading.active_count() - before)
        stuck.gate.set()
    # At first a call that is given up is left alone; from some number on it is waited for.
    assert CALLS < held[0] <= 64 + 2 * CALLS
