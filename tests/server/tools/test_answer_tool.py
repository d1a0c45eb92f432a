"""`check_answer` as a host calls it: over a case and over an account, within its size."""

import pytest
from asking import SCENARIOS, case_server, live_server, page_of, recorded_account
from mcp import Client
from mcp.types import TextContent

pytestmark = pytest.mark.anyio
NODES = ("i-0a11c27f3e5d90b41", "i-0b22d4e61fa0873c9")
SOUND = (
    f"NOT OBSERVABLE `{NODES[0]}` (2 of 49 h). LEAVE ALONE `{NODES[1]}` (0 Xids in 49 of 49 h). "
    "Root cause: Not observable."
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_sound_draft_over_a_case_is_clean() -> None:
    async with Client(case_server(SCENARIOS["s01"])) as client:
        page = page_of(await client.call_tool("check_answer", {"draft": SOUND}))
    assert (page["clean"], page["findings"], page["total"]) == (True, [], 0)
    assert {row["what"] for row in page["evidence"]} == {
        *("Incident report", "Audit report", "Preflight report", "case"),
    }


async def test_both_halves_name_every_fault_and_what_to_write_instead() -> None:
    async with Client(case_server(SCENARIOS["s01"])) as client:
        result = await client.call_tool(
            "check_answer", {"draft": f"All nodes are healthy. I rebooted `{NODES[0]}`."}
        )
    page, text = page_of(result), result.content[0]
    assert isinstance(text, TextContent)
    assert [f["code"] for f in page["findings"]] == ["ANS401", "ANS701"]
    assert all(f["code"] in text.text and f["fix"] in text.text for f in page["findings"])
    assert not page["clean"]


async def test_results_of_other_calls_back_what_the_case_does_not_hold() -> None:
    draft = f"{SOUND} The ticket counts 7,341 steps."
    async with Client(case_server(SCENARIOS["s01"])) as client:
        alone = page_of(await client.call_tool("check_answer", {"draft": draft}))
        backed = page_of(
            await client.call_tool("check_answer", {"draft": draft, "results": '{"steps": 7341}'})
        )
    assert [f["code"] for f in alone["findings"]] == ["ANS201"]
    assert backed["clean"]


async def test_an_account_is_asked_for_the_questions_own_report_alone() -> None:
    evidence, where = recorded_account("s01")
    async with Client(live_server(evidence)) as client:
        page = page_of(
            await client.call_tool("check_answer", {"draft": "All nodes are healthy.", **where})
        )
    assert len([row for row in page["evidence"] if row["what"].endswith("report")]) == 1
    assert [f["code"] for f in page["findings"]] == ["ANS401"]


async def test_many_findings_are_cut_to_what_fits_and_counted() -> None:
    draft = "\n".join(f"- i-0{n:016x} is healthy." for n in range(200))
    async with Client(case_server(SCENARIOS["s01"])) as client:
        result = await client.call_tool("check_answer", {"draft": draft})
    page, text = page_of(result), result.content[0]
    assert isinstance(text, TextContent)
    assert page["total"] > page["shown"] == len(page["findings"])
    assert f"{page['shown']} of {page['total']} findings are shown." in text.text
    assert len(text.text) <= 8_000


async def test_an_empty_draft_is_refused_in_words() -> None:
    async with Client(case_server(SCENARIOS["s01"])) as client:
        result = await client.call_tool("check_answer", {"draft": " "})
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "the draft is empty" in result.content[0].text
