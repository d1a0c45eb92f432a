"""Progress over MCP: stages with counts while an account is asked, for whoever asked for them."""

from typing import Any

import pytest
from asking import SCENARIOS, case_server, connected, live_server, page_of, recorded_account
from mcp import Client

pytestmark = pytest.mark.anyio

LIVE_TOOLS = (
    *("incident_report", "timeline", "audit_report", "node_verdicts", "log_coverage"),
    *("list_clusters", "list_nodes", "cluster_events", "find_log_sources", "read_log_lines"),
    *("read_metrics", "storage_status", "network_status", "capacity_status", "account_changes"),
)
_NO_WINDOW = frozenset({"list_clusters", "list_nodes", "find_log_sources"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Told:
    """What a client was told."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, str]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Remember one notification."""
        del total  # counts of one stage stand in the message
        self.steps.append((progress, message or ""))


def arguments(tool: str, asked: dict[str, Any]) -> dict[str, Any]:
    if tool == "list_clusters":
        return {}
    return {"cluster": asked["cluster"]} if tool in _NO_WINDOW else asked


@pytest.mark.parametrize(
    ("tool", "era"), [*((tool, "auto") for tool in LIVE_TOOLS), ("list_nodes", "legacy")]
)
async def test_every_tool_that_asks_an_account_tells_its_stages(tool: str, era: Any) -> None:  # noqa: ANN401 (a protocol era)
    evidence, asked = recorded_account("s03")
    told = Told()
    async with Client(live_server(evidence), mode=era) as client:
        page_of(await client.call_tool(tool, arguments(tool, asked), progress_callback=told))
    counts = [count for count, _ in told.steps]
    assert counts == sorted(set(counts)), "a count only grows"
    assert counts[0] == 1.0
    stages = {words.partition(":")[0] for _, words in told.steps}
    assert stages & {"cluster", "instances and capacity"}
    assert all(any(c.isdigit() for c in words) for _, words in told.steps)


async def test_log_queries_are_told_as_so_many_of_so_many() -> None:
    evidence, asked = recorded_account("s03")
    told = Told()
    async with connected(live_server(evidence)) as client:
        await client.call_tool("node_verdicts", asked, progress_callback=told)
    queries = [words for _, words in told.steps if words.startswith("logs: ")]
    counts = [tuple(int(word) for word in words.split() if word.isdigit()) for words in queries]
    assert [done for done, _ in counts] == list(range(1, len(counts) + 1))
    assert all(done <= total for done, total in counts)
    assert counts[0][1] > 1, "what is planned is told before it is run"
    assert counts[-1][0] == counts[-1][1]


async def test_a_client_that_asked_for_no_progress_gets_its_answer_alone() -> None:
    evidence, asked = recorded_account("s03")
    async with connected(live_server(evidence)) as client:
        assert page_of(await client.call_tool("list_nodes", {"cluster": asked["cluster"]}))


async def test_a_case_is_read_without_progress() -> None:
    told = Told()
    async with connected(case_server(SCENARIOS["s03"])) as client:
        await client.call_tool("node_verdicts", {}, progress_callback=told)
    assert told.steps == []
