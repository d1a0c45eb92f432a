"""How each host is told to start the server, and the page that says so."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from gpuvet.hosts.plugin import as_json
from gpuvet.hosts.words import NAME

FOLDER = "server/packaging"
_ENVIRONMENT = {"AWS_PROFILE": "training", "AWS_REGION": "us-west-2"}
_URL = "http://127.0.0.1:8000/mcp"


class Snippet(NamedTuple):
    """One host's configuration."""

    host: str
    file: str  # under snippets/
    goes_to: str
    note: str
    body: Mapping[str, Any]


_STDIO = {"command": NAME, "args": ["serve"], "env": _ENVIRONMENT}
SNIPPETS = (
    Snippet(
        "Claude Desktop",
        "claude_desktop_config.json",
        "`~/Library/Application Support/Claude/claude_desktop_config.json`, on Windows "
        "`%APPDATA%\\Claude\\claude_desktop_config.json`",
        "Desktop programs know no shell: give the whole path of `gpuvet` (`which gpuvet`, on "
        "Windows `where gpuvet`). The bundle below needs no path.",
        {"mcpServers": {NAME: {**_STDIO, "command": "/path/to/.venv/bin/gpuvet"}}},
    ),
    Snippet(
        "Claude Code",
        "claude_code.mcp.json",
        "`.mcp.json` of a project; or `claude mcp add gpuvet -- gpuvet serve`",
        "The plugin below brings the skill with it.",
        {
            "mcpServers": {
                NAME: {
                    "command": NAME,
                    "args": ["serve"],
                    "env": {"AWS_REGION": "${AWS_REGION:-us-east-1}"},
                }
            }
        },
    ),
    Snippet(
        "VS Code",
        "vscode.mcp.json",
        "`.vscode/mcp.json` of a workspace",
        "VS Code asks for the profile at the first start.",
        {
            "inputs": [
                {
                    "type": "promptString",
                    "id": "aws-profile",
                    "description": "AWS profile that may read",
                    "default": "default",
                }
            ],
            "servers": {
                NAME: {
                    "type": "stdio",
                    **_STDIO,
                    "env": {**_ENVIRONMENT, "AWS_PROFILE": "${input:aws-profile}"},
                }
            },
        },
    ),
    Snippet(
        "Cursor",
        "cursor.mcp.json",
        "`.cursor/mcp.json` of a project, or `~/.cursor/mcp.json`",
        "",
        {"mcpServers": {NAME: _STDIO}},
    ),
    Snippet(
        "any host, over HTTP",
        "http.mcp.json",
        "where the host keeps its servers",
        "For `gpuvet serve --http`. The token is needed where the server asks for one.",
        {
            "mcpServers": {
                NAME: {
                    "type": "http",
                    "url": _URL,
                    "headers": {"Authorization": "Bearer ${GPUVET_HTTP_TOKEN}"},
                }
            }
        },
    ),
)

_PAGE = "packages.md"
_PLACE = "<!-- snippets -->\n"


def snippet_files() -> Mapping[str, str]:
    """Return the text of every snippet and of the page, by path in the checkout."""
    bodies = {f"{FOLDER}/snippets/{one.file}": as_json(one.body) for one in SNIPPETS}
    return MappingProxyType({**bodies, f"{FOLDER}/README.md": _page()})


def _page() -> str:
    page = files("gpuvet.hosts").joinpath(_PAGE).read_text(encoding="utf-8")
    return page.replace(_PLACE, "\n".join(map(_section, SNIPPETS)) + "\n")


def _section(one: Snippet) -> str:
    note = f"\n{one.note}\n" if one.note else ""
    return f"## {one.host}\n\nIn {one.goes_to}:\n\n```json\n{as_json(one.body)}```\n{note}"
