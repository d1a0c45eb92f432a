"""Job specs as an assistant asks about them: the tools say what the command line says."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from gpuvet.app import build_server
from gpuvet.tools.case_judge import CaseJudge

CASES = Path(__file__).parents[2] / "cases"
V01 = next((CASES / "verdicts").glob("v01*.json"))
JOBS = sorted((CASES / "job_specs").glob("*.yaml"))
MONITORS = sorted(path for path in (CASES / "log_monitors").iterdir() if path.is_dir())
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def ask(tool: str, **arguments: object) -> CallToolResult:
    async with Client(build_server(CaseJudge(V01))) as client:
        return await client.call_tool(tool, arguments)


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    page: dict[str, Any] | None = result.structured_content
    assert page is not None
    return page


def text_of(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
async def test_what_must_be_found_in_a_spec_is_found_over_mcp(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    page = structured(
        await ask("check_job_spec", spec=path.read_text(encoding="utf-8"), detail="full")
    )
    found = {each["code"] for each in page["findings"]}
    assert set(expected["expected"]) <= found
    assert not found & set(expected["must_not"])
    assert page["shown"] == page["total"] == len(page["findings"])


@pytest.mark.parametrize("folder", MONITORS, ids=lambda path: path.name)
async def test_monitors_come_to_the_same_over_mcp(folder: Path) -> None:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    stream = case["streams"][0]
    page = structured(
        await ask(
            "simulate_log_monitors",
            spec=(folder / "monitors.yaml").read_text(encoding="utf-8"),
            log=(folder / stream["log"]).read_text(encoding="utf-8"),
            log_format=case["log_format"],
            stage_start=case["stage_start"],
            end_seconds=stream["end_seconds"],
        )
    )
    assert [(each["rule"], each["state"]) for each in page["rules"]] == [
        (each["rule"], each["state"]) for each in stream["expected"]
    ]
    trip: dict[str, Any] = page.get("first_trip") or {}
    expected: dict[str, Any] = stream["first_trip"] or {}
    assert trip.get("rule") == expected.get("rule")


def steps(count: int, *, hang_after: int | None = None) -> str:
    """Return a training log with a step line every 10 s, silent after some step."""
    lines = [
        f"2026-03-02 {8 + (10 * n) // 3600:02}:{(10 * n) // 60 % 60:02}:{10 * n % 60:02},000 "
        f"INFO step {n} loss {2.5 - n / 1000:.4f} tokens/s 41000"
        for n in range(hang_after or count)
    ]
    if hang_after is not None:
        lines.append("2026-03-02 11:30:00,000 INFO received SIGTERM")
    return "\n".join(lines) + "\n"


async def test_monitors_are_proposed_and_proven_on_the_given_logs() -> None:
    page = structured(
        await ask("suggest_log_monitors", log=steps(600), bad_log=steps(600, hang_after=60))
    )
    assert page["good_run"].get("first_trip") is None
    assert page["bad_runs"][0]["first_trip"]["state"] == "HANGING"
    assert set(page["reasons"]) <= {
        line.split("name: ")[1] for line in page["yaml"].splitlines() if "name: " in line
    }
    checked = structured(await ask("check_job_spec", spec=page["yaml"]))
    assert not [each for each in checked["findings"] if each["severity"] != "advice"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        pytest.param("check_job_spec", {"spec": "a: b", "select": ["HPX"]}, "HPX", id="a code"),
        pytest.param(
            "check_job_spec", {"spec": "a: b", "agent_version": "new"}, "1.1.3", id="a version"
        ),
        pytest.param(
            "simulate_log_monitors", {"spec": "kind: Pod", "log": "x"}, "neither", id="no monitors"
        ),
        pytest.param("suggest_log_monitors", {"log": "no stamps here"}, "stamp", id="no clock"),
    ],
)
async def test_what_the_caller_can_mend_is_put_into_words(
    tool: str, arguments: dict[str, Any], told: str
) -> None:
    result = await ask(tool, **arguments)
    assert result.is_error
    assert told in text_of(result)


async def test_a_pattern_that_never_ends_is_stopped_and_named() -> None:
    spec = (
        "logMonitoringConfiguration:\n"
        "- name: Greedy\n"
        "  logPattern: '(x+x+)+y'\n"
        "  expectedRecurringFrequencyInSeconds: 60\n"
    )
    log = "2026-03-02 08:00:00,000 INFO start\n" + "x" * 4000 + "\n"
    page = structured(await ask("simulate_log_monitors", spec=spec, log=log))
    assert page["rules"][0]["state"] == "NOT_JUDGED"


async def test_an_answer_stays_within_its_bounds_however_much_is_wrong() -> None:
    rules = "".join(
        f"- name: r{n}\n  logPattern: '.*(a+)+b{n}'\n  operator: almost\n" for n in range(400)
    )
    result = await ask("check_job_spec", spec="logMonitoringConfiguration:\n" + rules)
    page = structured(result)
    assert len(json.dumps(page, separators=(",", ":"))) <= 8_000
    assert len(text_of(result)) <= 8_000
    assert page["shown"] == len(page["findings"]) < page["total"]
