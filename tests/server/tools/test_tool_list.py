"""The list of tools as hosts read it: names, words, annotations, bytes, and what a start loads."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal

import pytest
from asking import SCENARIOS, case_server, live_server, page_of, recorded_account
from mcp import Client, StdioServerParameters
from mcp.types import Tool
from packaging.requirements import Requirement

from gpuvet.app import build_server
from gpuvet.model.untyped import is_array, is_object
from gpuvet.tools.case_judge import CaseJudge

ROOT = Path(__file__).parents[3]
CASE = SCENARIOS["s03"]
Era = Literal["auto", "legacy"]
pytestmark = pytest.mark.anyio

CORE = (
    *("incident_report", "preflight_report", "timeline", "audit_report"),
    *("node_verdicts", "log_coverage", "explain_xid"),
    *("check_job_spec", "simulate_log_monitors", "suggest_log_monitors", "check_answer"),
)
SOURCES = (
    *("list_clusters", "list_nodes", "cluster_events", "find_log_sources", "read_log_lines"),
    *("read_metrics", "storage_status", "network_status", "capacity_status", "account_changes"),
)
ACCOUNT = ("check_access",)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def live_tools(era: Era = "auto") -> list[Tool]:
    evidence, _ = recorded_account("s03")
    async with Client(live_server(evidence), mode=era) as client:
        return (await client.list_tools()).tools


def titles(value: object, inside: str = "") -> list[str]:
    """Return the titles pydantic gives to schemas; a member named title has none of its own."""
    if is_array(value):
        return [found for one in value for found in titles(one)]
    if not is_object(value):
        return []
    own = ["title"] if isinstance(value.get("title"), str) and inside != "properties" else []
    return own + [found for key, one in value.items() for found in titles(one, key)]


def as_json(tool: Tool) -> dict[str, Any]:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_live_server_has_every_tool_and_no_more_than_24(era: Era) -> None:
    names = [tool.name for tool in await live_tools(era)]
    assert set(names) >= {*CORE, *SOURCES, *ACCOUNT}
    assert len(names) == len(set(names)) <= 24


async def test_a_server_over_a_case_lacks_what_needs_an_account() -> None:
    async with Client(case_server(CASE)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {tool.name for tool in await live_tools()} - {*ACCOUNT}


async def test_the_core_leaves_out_single_sources_and_nothing_else() -> None:
    evidence, _ = recorded_account("s03")
    async with Client(build_server(evidence, is_account=True, choice="core")) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {tool.name for tool in await live_tools()} - {*SOURCES}


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_every_tool_is_read_only_titled_and_described(era: Era) -> None:
    for tool in await live_tools(era):
        hints = tool.annotations
        assert hints is not None
        assert hints.title == tool.title
        assert (hints.read_only_hint, hints.destructive_hint) == (True, False)
        assert hints.idempotent_hint is True
        assert tool.description is not None
        assert 60 <= len(tool.description) <= 600
        assert re.fullmatch(r"[a-z][a-z0-9_]{2,27}", tool.name)


async def test_no_description_tells_a_model_how_to_behave() -> None:
    orders = re.compile(
        r"\b(you must|always|never call|call this|use this tool|first call|before calling"
        r"|make sure|do not|don't|important|critical)\b",
        re.IGNORECASE,
    )
    told = {tool.name: orders.findall(tool.description or "") for tool in await live_tools()}
    assert {name: words for name, words in told.items() if words} == {}


async def test_the_list_of_tools_stays_within_its_bytes() -> None:
    dumped = [as_json(tool) for tool in await live_tools()]
    bare = [{k: v for k, v in tool.items() if k != "outputSchema"} for tool in dumped]
    assert len(json.dumps(bare)) <= 30_000
    assert len(json.dumps(dumped)) <= 64_000


async def test_no_tool_takes_a_path_an_address_or_query_text() -> None:
    taken = {name for tool in await live_tools() for name in tool.input_schema["properties"]}
    assert not taken & {"path", "file", "url", "uri", "endpoint", "query", "case", "command"}


async def test_one_word_means_one_thing_in_every_tool() -> None:
    meanings: dict[str, set[str]] = {}
    for tool in await live_tools():
        for name, schema in tool.input_schema["properties"].items():
            meanings.setdefault(name, set()).add(json.dumps(schema, sort_keys=True))
    shared = ("cluster", "instances", "tag", "since", "until", "profile", "region", "role")
    assert {name: len(meanings[name]) for name in (*shared, "detail", "cursor")} == dict.fromkeys(
        (*shared, "detail", "cursor"), 1
    )


async def test_schemas_say_what_is_refused_and_carry_no_noise() -> None:
    for tool in await live_tools():
        assert tool.input_schema["additionalProperties"] is False
        assert all(one.get("description") for one in tool.input_schema["properties"].values())
        assert tool.output_schema is not None
        assert tool.output_schema["additionalProperties"] is False
        assert titles(as_json(tool)["inputSchema"]) == titles(as_json(tool)["outputSchema"]) == []


async def test_a_case_offers_no_choice_of_nodes_or_identity() -> None:
    async with Client(build_server(CaseJudge(CASE))) as client:
        tools = (await client.list_tools()).tools
    offered = {name for tool in tools for name in tool.input_schema["properties"]}
    assert not offered & {"cluster", "instances", "tag", "profile", "region", "role"}


def test_a_server_starts_without_the_models_of_its_answers() -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gpuvet.app import build_server\n"
        "from gpuvet.tools.case_judge import CaseJudge\n"
        f"build_server(CaseJudge(Path({str(CASE)!r})))\n"
        "heavy = ('gpuvet.modes', 'gpuvet.report', 'gpuvet.case', 'gpuvet.calculators',"
        " 'gpuvet.aws', 'boto3', 'botocore', 'ruamel', 'jinja2')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "server")},
    )
    assert done.stdout == "[]\n"


def closure(name: str) -> set[str]:
    """Return every distribution that installing one without extras brings, itself left out."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        for text in distribution(current).requires or ():
            wanted = Requirement(text)
            applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
            key = re.sub(r"[-_.]+", "-", wanted.name).lower()
            if applies and key not in found:
                found.add(key)
                waiting += [wanted.name, *_with_extras(wanted)]
    return found


def _with_extras(wanted: Requirement) -> list[str]:
    """Return what the extras of a requirement bring."""
    return [
        Requirement(text).name
        for extra in wanted.extras
        for text in distribution(wanted.name).requires or ()
        if (marker := Requirement(text).marker) is not None
        and marker.evaluate({"extra": extra})
        and not marker.evaluate({"extra": ""})
    ]


def test_installing_brings_at_most_42_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [Requirement(text).name for text in project["dependencies"]]
    try:
        every = {re.sub(r"[-_.]+", "-", one).lower() for one in direct}.union(
            *(closure(one) for one in direct)
        )
    except PackageNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed: a marker of another platform")
    assert len(every) <= 42, sorted(every)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_real_stdio_client_asks_every_tool_over_a_case(era: Era) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gpuvet", "serve", "--case", str(CASE)],
        env={"PYTHONPATH": str(ROOT / "server")},
    )
    given: dict[str, dict[str, Any]] = {
        "explain_xid": {"code": 79},
        "check_answer": {"draft": "All nodes are healthy."},
        "check_job_spec": {"spec": "logMonitoringConfiguration: []"},
        "simulate_log_monitors": {
            "spec": "logMonitoringConfiguration:\n- name: a\n  logPattern: '.*x'\n"
            "  expectedRecurringFrequencyInSeconds: 60\n",
            "log": "2026-03-02 08:00:00,000 INFO x\n",
        },
        "suggest_log_monitors": {
            "log": "".join(
                f"2026-03-02 08:{n // 6:02}:{10 * n % 60:02},000 INFO step {n} loss 2.5\n"
                for n in range(300)
            )
        },
    }
    async with Client(command, mode=era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        asked = {*CORE, *SOURCES}
        assert asked <= set(names)
        for name in sorted(asked):
            page = page_of(await client.call_tool(name, given.get(name, {})))
            assert page, name
