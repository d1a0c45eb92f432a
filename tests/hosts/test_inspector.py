"""Conformance as the MCP Inspector sees it, over stdio and over HTTP."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from host_tools import run_tool
from web_server import DEMO, Command, command

from gpuvet.tools.table import TOOLS

ROOT = Path(__file__).parents[2]
TOKEN = "inspectors-own-token-of-this-test"
STDIO = (sys.executable, "-m", "gpuvet", "serve", "--case", str(DEMO))


@pytest.fixture(scope="module")
def served() -> Generator[Command]:
    with command("--case", str(DEMO), env={"GPUVET_HTTP_TOKEN": TOKEN}) as running:
        yield running


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, served: Command) -> tuple[str, ...]:
    """Return how the Inspector reaches the server."""
    if request.param == "stdio":
        return (*STDIO, "-e", f"PYTHONPATH={ROOT / 'server'}")
    url = f"http://127.0.0.1:{served.port}/mcp"
    token = f"Authorization: Bearer {TOKEN}"
    return ("--transport", "http", "--server-url", url, "--header", token)


def asked(target: tuple[str, ...], home: Path, *words: str) -> dict[str, Any]:
    """Return what the Inspector prints as JSON."""
    done = run_tool("mcp-inspector", "--cli", *target, *words, home=home)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_tool_is_portable_to_every_host(target: tuple[str, ...], tmp_path: Path) -> None:
    listed = asked(target, tmp_path, "--method", "tools/list", "--strict")
    names = {tool["name"] for tool in listed["tools"]}
    assert names <= {row.name for row in TOOLS}
    assert "incident_report" in names


def test_a_tool_is_called_and_its_answer_fits_its_schema(
    target: tuple[str, ...], tmp_path: Path
) -> None:
    words = ("--method", "tools/call", "--tool-name", "explain_xid", "--tool-arg", "code=79")
    answer = asked(target, tmp_path, *words)
    assert "fallen off the bus" in answer["content"][0]["text"]
    assert answer["structuredContent"]["explanations"][0]["code"] == 79


@pytest.mark.parametrize(
    ("words", "member", "least"),
    [
        pytest.param(("resources/list",), "resources", 15, id="resources"),
        pytest.param(("resources/templates/list",), "resourceTemplates", 3, id="templates"),
        pytest.param(("prompts/list",), "prompts", 4, id="prompts"),
        pytest.param(
            ("resources/read", "--uri", "gpuvet://xid/79"), "contents", 1, id="one resource"
        ),
        pytest.param(
            ("prompts/get", "--prompt-name", "incident", "--prompt-args", "question=why"),
            "messages",
            1,
            id="one prompt",
        ),
    ],
)
def test_prompts_and_resources_are_listed_and_read(
    target: tuple[str, ...], tmp_path: Path, words: tuple[str, ...], member: str, least: int
) -> None:
    assert len(asked(target, tmp_path, "--method", *words)[member]) >= least


def test_without_the_token_the_inspector_is_refused(served: Command, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{served.port}/mcp"
    words = ("--transport", "http", "--server-url", url, "--method", "tools/list")
    done = run_tool("mcp-inspector", "--cli", *words, home=tmp_path)
    assert done.returncode != 0
    assert "fallen" not in done.stdout
