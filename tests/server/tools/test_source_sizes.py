"""Answers about 4,096 nodes: grouped, within their bytes, and paged until every row was shown."""

from typing import Any

import pytest
from asking import RecordedAccount, connected, live_server, page_of, size_of, text_of
from big_account import ACCOUNT, CLUSTER, NOW, REGION, BigAccount, node_id
from mcp.types import CallToolResult

pytestmark = pytest.mark.anyio

NODES, FEWER = 4_096, 512
TOOLS = {
    "list_clusters": 410,
    "list_nodes": NODES,
    "cluster_events": NODES,
    "find_log_sources": 16,
    "read_log_lines": NODES,
    "read_metrics": 5_000,
    "storage_status": 256,
    "network_status": 67,
    "capacity_status": 528,
    "account_changes": NODES,
}


MODES = (
    *("node_verdicts", "log_coverage", "incident_report", "timeline"),
    *("audit_report", "preflight_report"),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def account(nodes: int = NODES) -> RecordedAccount:
    return RecordedAccount(BigAccount(nodes), now=NOW, account=ACCOUNT, region=REGION)


def arguments(tool: str) -> dict[str, Any]:
    return {} if tool == "list_clusters" else {"cluster": CLUSTER}


@pytest.mark.parametrize("tool", TOOLS)
async def test_an_answer_about_4096_nodes_stays_within_its_bytes(tool: str) -> None:
    async with connected(live_server(account())) as client:
        result = await client.call_tool(tool, arguments(tool))
    assert_fits(result, 8_000, TOOLS[tool])


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_full_answer_has_four_times_the_room(tool: str) -> None:
    async with connected(live_server(account(FEWER))) as client:
        result = await client.call_tool(tool, {**arguments(tool), "detail": "full"})
    page = assert_fits(result, 32_000)
    assert page["shown"] == page["total"] or size_of(page) > 16_000


def assert_fits(result: CallToolResult, most: int, total: int | None = None) -> dict[str, Any]:
    """Check an answer's bytes and counts; return its structured half."""
    page = page_of(result)
    assert page["total"] == (total or page["total"])
    assert 0 < page["shown"] == len(page["rows"]) <= page["total"]
    assert max(size_of(page), len(text_of(result))) <= most
    assert (page.get("cursor") is None) == (page["shown"] == page["total"])
    return page


@pytest.mark.parametrize("detail", ["summary", "full"])
@pytest.mark.parametrize("tool", MODES)
async def test_modes_and_calculators_over_a_fleet_stay_within_their_bytes(
    tool: str, detail: str
) -> None:
    async with connected(live_server(account(FEWER))) as client:
        result = await client.call_tool(tool, {"cluster": CLUSTER, "detail": detail})
    page = page_of(result)
    most = {"summary": 8_000, "full": 32_000}[detail]
    assert max(size_of(page), len(text_of(result))) <= most
    assert page["shown"] == page["total"] or size_of(page) > most // 2


async def test_alike_nodes_are_counted_and_those_that_failed_come_first() -> None:
    async with connected(live_server(account())) as client:
        page = page_of(await client.call_tool("list_nodes", {"cluster": CLUSTER}))
    assert page["headline"] == "4096 nodes: 4055 Running, 41 Failure"
    assert sum(group["count"] for group in page["groups"]) == NODES
    assert {row["state"] for row in page["rows"]} == {"Failure"}


async def test_a_cursor_goes_on_until_every_node_was_shown_once_at_the_clock_of_the_first() -> None:
    evidence = account(FEWER)
    seen: list[str] = []
    asked: dict[str, Any] = {"cluster": CLUSTER, "detail": "full"}
    async with connected(live_server(evidence)) as client:
        for _ in range(80):
            page = page_of(await client.call_tool("list_nodes", asked))
            seen += [row["node"] for row in page["rows"]]
            if page.get("cursor") is None:
                break
            asked = {"cursor": page["cursor"], "detail": "full"}
    assert sorted(seen) == [node_id(place) for place in range(FEWER)]
    assert set(evidence.clocks) == {NOW}
    assert len(evidence.clocks) > 2


async def test_a_cursor_of_another_tool_and_an_altered_one_are_refused() -> None:
    async with connected(live_server(account(FEWER))) as client:
        page = page_of(await client.call_tool("list_nodes", {"cluster": CLUSTER}))
        cursor = page["cursor"]
        other = await client.call_tool("cluster_events", {"cursor": cursor})
        altered = await client.call_tool("list_nodes", {"cursor": cursor[:-2] + "AA"})
    assert (other.is_error, altered.is_error) == (True, True)
    assert "belongs to another tool" in text_of(other)
    assert "not one of this server" in text_of(altered)
