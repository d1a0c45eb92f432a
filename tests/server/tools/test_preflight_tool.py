"""`preflight_report` over MCP: one call, both halves alike, within its bytes."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from gpuvet.app import build_server
from gpuvet.tools.case_judge import CaseJudge

CASES = Path(__file__).parents[2] / "cases"
S07 = CASES / "scenarios" / "s07-preflight-fails-p1-p4.json"
BAD = CASES / "field" / "11-spec-operator-inverted" / "inputs" / "monitors.yaml"
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected() -> AsyncGenerator[Client]:
    async with Client(build_server(CaseJudge(S07))) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


async def test_a_run_is_answered_in_one_call_and_both_halves_agree() -> None:
    async with connected() as client:
        result = await client.call_tool("preflight_report", {})
    found = result.structured_content
    assert found is not None
    assert found["ready"] == {"72": "No"}
    assert found["because"] == {"72": ["P1", "P4"]}
    assert [c["id"] for c in found["checks"]][:2] == ["P1", "P4"]
    assert "**72 h: No** (P1, P4)" in text_of(result)
    assert len(text_of(result)) <= 8_000
    assert len(json.dumps(found, separators=(",", ":"))) <= 8_000


async def test_a_cursor_goes_on_with_the_same_run_until_every_check_was_shown() -> None:
    async with connected() as client:
        seen: list[str] = []
        arguments: dict[str, object] = {"hours": 24.0, "nodes": 2, "auto_resume": True}
        for _ in range(12):
            result = await client.call_tool("preflight_report", arguments)
            found = result.structured_content
            assert found is not None
            assert list(found["ready"]) == ["24"]
            seen += [c["id"] for c in found["checks"]]
            if found.get("cursor") is None:
                break
            arguments = {"cursor": found["cursor"]}
    assert sorted(seen) == sorted(f"P{n}" for n in range(1, 31))


async def test_a_spec_comes_as_text() -> None:
    async with connected() as client:
        result = await client.call_tool(
            "preflight_report", {"job_spec": BAD.read_text(encoding="utf-8")}
        )
    found = result.structured_content
    assert found is not None
    assert {f["severity"] for f in found["spec_findings"]} == {"FAIL", "RISK"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"hours": -1.0}, "-1 h"),
        ({"checkpoint_every": "often"}, "often"),
        ({"cluster": "x"}, "case it was started with"),
        ({"path": "/etc"}, "path"),
    ],
)
async def test_what_the_caller_can_mend_is_put_into_words(
    arguments: dict[str, object], told: str
) -> None:
    async with connected() as client:
        result = await client.call_tool("preflight_report", arguments)
    assert result.is_error
    assert told in text_of(result)
