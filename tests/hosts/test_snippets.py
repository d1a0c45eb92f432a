"""What people paste into their hosts starts the server."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from gpuvet.hosts.snippets import SNIPPETS
from gpuvet.tools.table import TOOLS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "server" / "packaging"
STDIO = [one for one in SNIPPETS if one.file != "http.mcp.json"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server_of(file: str) -> dict[str, Any]:
    """Return the one server a snippet configures."""
    body = json.loads((FOLDER / "snippets" / file).read_text(encoding="utf-8"))
    servers = body.get("mcpServers") or body["servers"]
    (name,) = servers
    assert name == "gpuvet"
    found: dict[str, Any] = servers[name]
    return found


def expanded(value: str) -> str:
    """Return a value as a host gives it to the server: a default for what is not set or asked."""
    return re.sub(r"\$\{input:[\w-]+\}", "default", re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value))


@pytest.mark.anyio
@pytest.mark.parametrize("file", [one.file for one in STDIO])
async def test_a_host_that_follows_it_gets_the_tools(file: str) -> None:
    server = server_of(file)
    assert Path(server["command"]).name == "gpuvet"
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gpuvet", *server["args"]],
        # AWS_PROFILE names somebody else's profile; nothing is asked of it to list tools.
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "server"),
            **{name: expanded(value) for name, value in server["env"].items()},
        },
    )
    async with Client(started) as client:
        assert {t.name for t in (await client.list_tools()).tools} == {row.name for row in TOOLS}


def test_the_one_for_http_names_the_path_and_a_token_from_the_environment() -> None:
    server = server_of("http.mcp.json")
    assert server["type"] == "http"
    assert server["url"].endswith(":8000/mcp")
    assert server["headers"] == {"Authorization": "Bearer ${GPUVET_HTTP_TOKEN}"}


def test_vs_code_asks_for_every_input_it_uses() -> None:
    body = json.loads((FOLDER / "snippets" / "vscode.mcp.json").read_text(encoding="utf-8"))
    used = set(re.findall(r"\$\{input:([\w-]+)\}", json.dumps(body)))
    assert used == {one["id"] for one in body["inputs"]}


def test_the_page_shows_every_snippet_word_for_word() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for one in SNIPPETS:
        assert (FOLDER / "snippets" / one.file).read_text(encoding="utf-8") in page
        assert f"## {one.host}\n" in page


def test_the_page_promises_pypi_only_after_the_first_release() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    before, after = page.split("## After the first release")
    assert "uvx" not in before
    assert "uvx gpuvet serve" in after


def test_every_link_and_make_target_of_the_page_is_there() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert (FOLDER / target).exists(), target
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z]+)`", page):
        assert f"\n{target}:" in makefile, target
