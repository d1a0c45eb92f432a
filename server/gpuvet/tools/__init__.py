"""The MCP tools of a server: which of them, over which evidence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from mcp.server.mcpserver.tools import Tool

from gpuvet.tools.table import TOOLS
from gpuvet.tools.tool import build_tool

if TYPE_CHECKING:
    from gpuvet.tools.request import Evidence

Choice = Literal["core", "all"]
_NONE: Mapping[str, str] = MappingProxyType({})
# A case has its nodes and its account; an argument that could choose others would mislead.
_OF_A_CASE = dict.fromkeys(
    ("cluster", "instances", "tag", "profile", "region", "role"),
    "this server answers from the case it was started with: leave out cluster, instances, tag, "
    "profile, region and role, or start it without --case",
)


def all_tools(
    evidence: "Evidence",
    *,
    is_account: bool = False,
    choice: Choice = "all",
    without: Mapping[str, str] = _NONE,
) -> list[Tool]:
    """Return the tools of a server over the evidence it was started with.

    Args:
        evidence: A case, or live accounts.
        is_account: Whether it is a live account; some tools are about one.
        choice: `core` leaves out the tools that show single sources.
        without: Arguments that this server does not take, each with the reason.
    """
    left_out = without if is_account else {**_OF_A_CASE, **without}
    return [
        build_tool(row, evidence, left_out)
        for row in TOOLS
        if (choice == "all" or row.is_core) and (is_account or not row.needs_account)
    ]
