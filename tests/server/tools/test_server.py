"""The server as a client meets it: tools, bounds, errors, both protocol eras."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from gpuvet.app import build_server
from gpuvet.tools.case_judge import CaseJudge

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "cases"
V01 = next((CASES / "verdicts").glob("v01*.json"))
V08 = next((CASES / "verdicts").glob("v08*.json"))

Era = Literal["auto", "legacy"]
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(case: Path = V01, era: Era = "auto") -> AsyncGenerator[Client]:
    async with Client(build_server(CaseJudge(case)), mode=era) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


async def call(client: Client, tool: str, **arguments: object) -> CallToolResult:
    return await client.call_tool(tool, arguments)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_both_halves_of_a_verdict_say_the_same(era: Era) -> None:
    async with connected(era=era) as client:
        result = await call(client, "node_verdicts")
    structured = result.structured_content
    assert structured is not None
    assert structured["counts"] == {"REBOOT": 1}
    assert structured["nodes"][0]["verdict"] == "REBOOT"
    assert text_of(result).startswith("**1 node: 1 REBOOT**")
    assert "0000:64:00" in text_of(result)


async def test_a_cursor_goes_on_where_the_page_ended_and_shows_every_node_once() -> None:
    async with connected(V08) as client:
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(10):
            result = await call(client, "node_verdicts", **({"cursor": cursor} if cursor else {}))
            structured = result.structured_content
            assert structured is not None
            seen += [n["node"] for n in structured["nodes"]]
            assert len(text_of(result)) <= 8_000
            assert len(json.dumps(structured, separators=(",", ":"))) <= 8_000
            cursor = structured.get("cursor")
            if cursor is None:
                break
    assert len(seen) == len(set(seen)) == 6


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        pytest.param("node_verdicts", {"cursor": "bm90IG91cnM"}, "cursor", id="a forged cursor"),
        pytest.param("node_verdicts", {"nodes": ["i-0dead"]}, "no node", id="an unknown node"),
        pytest.param("node_verdicts", {"since": "soon"}, "no time", id="a time nobody can read"),
        pytest.param("node_verdicts", {"sinse": "1h"}, "sinse", id="a misspelt argument"),
        pytest.param("explain_xid", {}, "either code", id="no code and no line"),
        pytest.param("explain_xid", {"code": 1, "line": "x"}, "either", id="both at once"),
    ],
)
async def test_what_the_caller_can_mend_is_put_into_words(
    tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with connected() as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert told in text_of(result)


async def test_a_code_is_explained_and_a_line_decoded() -> None:
    line = (
        "NVRM: Xid (PCI:0000:97:00): 149, NETIR_LINK_DOWN Fatal XC0 i0 Link 08 "
        "(0x00440411 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
    )
    async with connected() as client:
        by_code = await call(client, "explain_xid", code=79)
        by_line = await call(client, "explain_xid", line=line)
    assert "REBOOT" in text_of(by_code)
    assert "link 8" in text_of(by_line).lower()
    assert by_line.structured_content is not None


async def test_an_audit_says_what_may_be_claimed_in_both_halves() -> None:
    case = CASES / "field" / "12-audit-rotation-and-hole" / "inputs"
    async with connected(case) as client:
        result = await call(client, "audit_report")
        whole = await call(client, "audit_report", detail="full")
    structured = result.structured_content
    assert structured is not None
    assert structured["claim"] in text_of(result)
    assert structured["counts"] == {"NOT OBSERVABLE": 3, "LEAVE ALONE": 1}
    assert [h["hours"] for h in structured["holes"]] == [24, 20, 2]
    assert structured["shown"] == structured["total"] == 4
    assert max(len(text_of(result)), len(json.dumps(structured, separators=(",", ":")))) <= 8_000
    assert "## Holes" in text_of(whole)
    assert len(text_of(whole)) <= 40_000


async def test_coverage_names_group_stream_and_hours() -> None:
    async with connected(ROOT / "server" / "gpuvet" / "demo_case") as client:
        result = await call(client, "log_coverage")
    structured = result.structured_content
    assert structured is not None
    first = structured["coverage"][0]
    assert first["node"] == "i-0a1c5e7f9b2d40633"
    assert first["hours_measured"] < first["hours_asked"]
    assert first["stream"] in text_of(result)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_real_stdio_client_gets_its_verdict(era: Era) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gpuvet", "serve", "--case", str(V01)],
        env={"PYTHONPATH": str(ROOT / "server")},
    )
    async with Client(command, mode=era) as client:
        assert client.server_info is not None
        assert client.server_info.name == "gpuvet"
        result = await call(client, "node_verdicts")
    assert "REBOOT" in text_of(result)


async def test_an_incident_is_answered_in_one_call_and_both_halves_agree() -> None:
    async with connected(ROOT / "server" / "gpuvet" / "demo_case") as client:
        result = await call(client, "incident_report")
    structured = result.structured_content
    assert structured is not None
    assert (structured["branch"], structured["label"]) == ("A", "Proven")
    assert structured["headline"] in text_of(result).replace("\\", "")
    assert len(text_of(result).split()) <= 620
    assert [n["verdict"] for n in structured["nodes"]][:2] == ["REBOOT", "NOT OBSERVABLE"]


async def test_the_timeline_names_source_and_precision_in_order() -> None:
    async with connected(ROOT / "server" / "gpuvet" / "demo_case") as client:
        result = await call(client, "timeline")
    structured = result.structured_content
    assert structured is not None
    times = [event["at"] for event in structured["events"]]
    assert times == sorted(times)
    assert {event["source"] for event in structured["events"]} >= {"kernel"}
