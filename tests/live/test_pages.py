"""Later pages of one question: read once, gone on with where something was left, never stale."""

from datetime import timedelta
from typing import Any

import pytest
from mcp import Client
from simulated.account import Account, account_of
from simulated.clients import SimulatedClients
from simulated.fleet import CLUSTER, NOW, REGION, fleet, xid

from gpuvet.app import build_server
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.login import admitted
from gpuvet.model.report import VerdictReport
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked
from gpuvet.tools.arguments import Where
from gpuvet.tools.live_source import LiveSource

WHERE = Where(cluster=CLUSTER)
# Who asks and which cluster is meant is looked up for each page.
LOOKED_UP = 10


def account(nodes: int = 12) -> Account:
    made = fleet("parallelcluster", nodes)
    for place in range(0, nodes, 3):
        xid(made.carrier(place), 79, NOW - timedelta(hours=3))
    return account_of(made)


def source(asked: Account, calls: int = 300) -> LiveSource:
    accounts = LiveAccounts(
        admitted(regions=[REGION]), clock=asked.clock.clock, clients=SimulatedClients(asked)
    )
    return LiveSource(accounts, calls=calls)


def page(of: LiveSource, *, after: VerdictReport | None = None) -> VerdictReport:
    """Return a question's answer; a later page keeps the clock of the first, as its cursor does."""
    opened = of.case(WHERE, now=after.now if after else None)
    return verdict_report(opened.case, Asked(), clock=opened.now)


def test_a_later_page_of_a_question_asks_the_account_nothing_more() -> None:
    asked = account()
    own = source(asked)
    first = page(own)
    queries, calls = asked.made["logs:StartQuery"], asked.calls
    assert page(own, after=first) == first
    assert asked.made["logs:StartQuery"] == queries
    assert asked.calls - calls < LOOKED_UP


def test_another_process_goes_on_without_what_the_first_one_read() -> None:
    asked = account()
    first = page(source(asked))
    queries = asked.made["logs:StartQuery"]
    assert page(source(asked), after=first) == first
    assert asked.made["logs:StartQuery"] == 2 * queries


@pytest.mark.parametrize("what", ["a new question", "another clock"])
def test_nothing_else_is_answered_from_what_was_read(what: str) -> None:
    asked = account()
    own = source(asked)
    first = page(own)
    queries = asked.made["logs:StartQuery"]
    later = first.model_copy(update={"now": first.now + timedelta(hours=1)})
    page(own, after=None if what == "a new question" else later)
    assert asked.made["logs:StartQuery"] == 2 * queries


def test_what_the_calls_of_one_page_did_not_reach_the_next_page_reads() -> None:
    asked = account()
    whole = page(source(account()))
    own = source(asked, calls=24)
    first = page(own)
    assert {row.reason for row in first.not_seen} >= {"budget"}
    reports = [page(own, after=first) for _ in range(3)]
    assert reports[-1].verdicts == whole.verdicts
    assert not [row for row in reports[-1].not_seen if row.reason == "budget"]


def cursor_of(result: Any) -> str | None:  # noqa: ANN401 (what a client's call returns)
    content: dict[str, Any] = result.structured_content or {}
    return content.get("cursor")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_client_that_pages_through_a_fleet_has_it_read_once() -> None:
    asked = account(60)
    own = source(asked)
    asked_for = {"cluster": CLUSTER, "detail": "full"}
    async with Client(build_server(own, is_account=True)) as client:
        cursor = cursor_of(await client.call_tool("node_verdicts", asked_for))
        seen, queries = 1, asked.made["logs:StartQuery"]
        while cursor:
            cursor = cursor_of(await client.call_tool("node_verdicts", {"cursor": cursor}))
            seen += 1
    assert seen > 1
    assert asked.made["logs:StartQuery"] == queries
