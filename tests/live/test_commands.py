"""The live side from the command line and over MCP, as far as it goes without an account."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws.wire import no_machine
from mcp import Client
from mcp.types import TextContent

from gpuvet.app import build_server
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.login import admitted
from gpuvet.cli import main
from gpuvet.tools.case_judge import CaseJudge
from gpuvet.tools.live_source import LiveSource

__all__ = ["no_machine"]
pytestmark = pytest.mark.usefixtures("no_machine")

ROOT = Path(__file__).parents[2]
CASE = str(ROOT / "server" / "gpuvet" / "demo_case")
REGION = "us-west-2"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["incident"], "nothing says which nodes", id="nothing named"),
        pytest.param(["audit"], "nothing says which nodes", id="nothing named, audit"),
        pytest.param(
            ["verdict", "--case", CASE, "--cluster", "a"], "not both", id="case and cluster"
        ),
        pytest.param(["triage", "--cluster", "a", "--tag", "b=c"], "give one of", id="two targets"),
        pytest.param(["verdict", "--instances", "a"], "no instance id", id="no id"),
        pytest.param(
            ["verdict", "--cluster", "a", "--deadline", "soon"], "no time to wait", id="no time"
        ),
        pytest.param(["verdict", "--cluster", "a"], "no region is set", id="no region"),
        pytest.param(
            ["verdict", "--cluster", "a", "--region", REGION],
            "no AWS credentials were found",
            id="no credentials",
        ),
        pytest.param(
            ["doctor", "--region", REGION], "no AWS credentials were found", id="doctor without any"
        ),
        pytest.param(
            ["doctor", "--region", REGION, "--profile", "x"], "'x' does not exist", id="no profile"
        ),
        pytest.param(["serve", "--role", "reader"], "is no role", id="a server with a bad role"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_ends_with_2(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("mode", [None, "incident", "audit", "preflight"])
def test_the_policy_is_printed_as_it_stands_in_the_references(
    mode: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["iam-policy", *(["--mode", mode] if mode else [])]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed)["Version"] == "2012-10-17"
    kept = (ROOT / "references" / "iam-policy.json").read_text(encoding="utf-8")
    assert (printed == kept) == (mode in {None, "preflight"})


def test_a_live_server_starts_without_boto3_network_or_credentials() -> None:
    code = (
        "import sys\n"
        "from gpuvet.app import build_server\n"
        "from gpuvet.aws.live_account import LiveAccounts\n"
        "from gpuvet.aws.login import admitted\n"
        "from gpuvet.tools.live_source import LiveSource\n"
        "source = LiveSource(LiveAccounts(admitted()))\n"
        "build_server(source, is_account=True)\n"
        "print([m for m in ('boto3', 'botocore') if m in sys.modules])\n"
    )
    env = {"PYTHONPATH": str(ROOT / "server")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout == "[]\n"


def live_server() -> Any:  # noqa: ANN401 (an MCP server)
    source = LiveSource(LiveAccounts(admitted(["one"], [REGION])))
    return build_server(source, is_account=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_live_server_has_the_tools_of_a_case_and_check_access() -> None:
    async with Client(live_server()) as client:
        live = (await client.list_tools()).tools
    async with Client(build_server(CaseJudge(Path(CASE)))) as client:
        of_a_case = (await client.list_tools()).tools
    assert [t.name for t in live] == [*(t.name for t in of_a_case), "check_access"]
    assert all(t.annotations and t.annotations.read_only_hint for t in live)
    dumped = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in live]
    bare = [{k: v for k, v in t.items() if k != "outputSchema"} for t in dumped]
    assert len(json.dumps(bare)) <= 30_000


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        pytest.param("incident_report", {}, "name which nodes", id="no nodes"),
        pytest.param(
            "node_verdicts",
            {"cluster": "a", "profile": "two"},
            "not given at start",
            id="a profile",
        ),
        pytest.param(
            "timeline", {"cluster": "a", "region": "eu-west-1"}, "not given at start", id="a region"
        ),
        pytest.param("check_access", {"role": "x"}, "not given at start", id="a role"),
        pytest.param(
            "log_coverage", {"cluster": "a"}, "'one' does not exist", id="a profile without entry"
        ),
    ],
)
async def test_what_a_request_may_not_ask_is_put_into_words(
    tool: str, arguments: dict[str, str], told: str
) -> None:
    async with Client(live_server()) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert told in result.content[0].text


@pytest.mark.anyio
async def test_a_server_with_a_case_says_that_it_has_no_account() -> None:
    async with Client(build_server(CaseJudge(Path(CASE)))) as client:
        result = await client.call_tool("node_verdicts", {"cluster": "a"})
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "start it without --case" in result.content[0].text
