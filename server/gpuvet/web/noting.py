"""What of a protocol message may stand in a log: its method and its tool, by names of ours."""

from typing import Any

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

SEEN = "gpuvet.seen"  # in an ASGI scope: where a request's names are put for its log line

_PROTOCOL = frozenset(
    {
        *("initialize", "server/discover", "ping", "notifications/initialized"),
        *("notifications/cancelled", "tools/list", "tools/call", "prompts/list", "prompts/get"),
        *("resources/list", "resources/read", "resources/templates/list", "completion/complete"),
    }
)


def call_noter(server: MCPServer) -> ServerMiddleware[Any]:
    """Return a middleware that tells the log which method and which tool was asked for."""
    ours: set[str] = set()  # names that may stand in a log; any other is a client's own text

    async def note_call(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        seen: dict[str, str] | None = getattr(ctx.request, "scope", {}).get(SEEN)
        if seen is not None:
            seen["rpc"] = ctx.method if ctx.method in _PROTOCOL else "other"
            if ctx.method == "tools/call":
                if not ours:
                    ours.update(tool.name for tool in await server.list_tools())
                name = (ctx.params or {}).get("name")
                seen["tool"] = name if isinstance(name, str) and name in ours else "unknown"
        return await call_next(ctx)

    return note_call
