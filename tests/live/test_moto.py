"""boto3 over HTTP against moto's server, where moto answers as AWS does."""

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest
from aws.wire import StillTime, keys, no_machine
from mcp import Client, StdioServerParameters
from mcp.types import TextContent
from moto.server import ThreadedMotoServer

from gpuvet.app import build_server
from gpuvet.aws.budget import Budget
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.login import admitted
from gpuvet.cli import main
from gpuvet.model.access import Access
from gpuvet.model.evidence import Reason, Status
from gpuvet.modes.access import account_access
from gpuvet.tools.live_source import LiveSource

__all__ = ["keys", "no_machine"]

ROOT = Path(__file__).parents[2]
REGION = "us-west-2"
GROUP = "/aws/parallelcluster/lab-202605010000"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    logging.getLogger("werkzeug").disabled = True
    started = ThreadedMotoServer(port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture
def account(server: str, keys: Path, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: ARG001 (made-up keys are in force)
    """Return the address of an empty account that every client of this process talks to."""
    urlopen(Request(f"{server}/moto-api/reset", method="POST")).close()  # noqa: S310 (our own server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_REGION", REGION)
    return server


def accounts() -> LiveAccounts:
    return LiveAccounts(admitted(regions=[REGION]), clock=StillTime().clock)


def client(service: str) -> Any:  # noqa: ANN401 (a boto3 client)
    return boto3.client(service, region_name=REGION)  # type: ignore[call-overload]  # any service


def running(count: int, **tags: str) -> list[str]:
    ec2 = client("ec2")
    image = ec2.describe_images()["Images"][0]["ImageId"]
    named = [{"Key": key, "Value": value} for key, value in tags.items()]
    made = ec2.run_instances(
        ImageId=image,
        MinCount=count,
        MaxCount=count,
        InstanceType="p4d.24xlarge",
        TagSpecifications=[{"ResourceType": "instance", "Tags": named}],
    )
    return [instance["InstanceId"] for instance in made["Instances"]]


@pytest.mark.usefixtures("account")
def test_who_asks_is_read_first_and_stands_in_every_reading() -> None:
    opened = accounts().enter()
    assert opened.who.account == "123456789012"
    assert opened.door.read("ec2:DescribeSubnets", {}).account == "123456789012"


@pytest.mark.usefixtures("account")
def test_every_page_of_a_service_is_read() -> None:
    logs = client("logs")
    logs.create_log_group(logGroupName=GROUP)
    for n in range(120):
        logs.create_log_stream(logGroupName=GROUP, logStreamName=f"ip-10-0-0-{n}.x.syslog")
    events = client("events")
    for n in range(130):
        events.put_rule(Name=f"rule-{n:03}", ScheduleExpression="rate(1 day)")
    door = accounts().enter().door
    streams = door.read("logs:DescribeLogStreams", {"logGroupName": GROUP})
    rules = door.read("events:ListRules", {})
    assert (streams.status, streams.pages) == (Status.OK, 3)
    assert sum(len(page["logStreams"]) for page in streams.value or ()) == 120
    assert sum(len(page["Rules"]) for page in rules.value or ()) == 130


@pytest.mark.usefixtures("account")
def test_events_of_a_stream_are_read_to_the_token_that_repeats() -> None:
    logs = client("logs")
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="s")
    start = int(time.time() * 1000) - 60_000
    lines = [{"timestamp": start + n, "message": f"line {n}"} for n in range(25)]
    logs.put_log_events(logGroupName=GROUP, logStreamName="s", logEvents=lines)
    door = accounts().enter().door
    params = {"logGroupName": GROUP, "logStreamName": "s", "startFromHead": True}
    got = door.read("logs:GetLogEvents", params)
    filtered = door.read("logs:FilterLogEvents", {"logGroupName": GROUP})
    assert sum(len(page["events"]) for page in got.value or ()) == 25
    assert sum(len(page["events"]) for page in filtered.value or ()) == 25


@pytest.mark.usefixtures("account")
def test_what_is_empty_is_empty_and_what_does_not_exist_is_not_found() -> None:
    door = accounts().enter().door
    assert door.read("amp:ListWorkspaces", {}).status is Status.OK_EMPTY
    assert door.read("logs:DescribeLogStreams", {"logGroupName": "g"}).status is Status.NOT_FOUND
    assert door.read("eks:DescribeCluster", {"name": "x"}).status is Status.NOT_FOUND
    broken = door.read("cloudtrail:LookupEvents", {})  # moto has no such call: it fails
    assert (broken.status, broken.reason) == (Status.UNVERIFIED, Reason.UNREACHABLE)


@pytest.mark.usefixtures("account")
def test_the_doctor_tells_readable_from_empty_and_from_broken() -> None:
    client("sagemaker")
    client("logs").create_log_group(logGroupName=GROUP)
    report = account_access(accounts())
    access = {one.operation: one.access for one in report.sources}
    assert access["ec2:DescribeSubnets"] is Access.READABLE
    assert access["amp:ListWorkspaces"] is Access.EMPTY
    assert access["eks:DescribeCluster"] is Access.READABLE  # asked with a made-up name
    assert access["cloudtrail:LookupEvents"] is Access.FAILED
    assert (report.account, report.region) == ("123456789012", REGION)
    assert report.groups == (GROUP,)
    assert report.policy is None
    assert not report.is_whole


@pytest.mark.usefixtures("account")
def test_a_tag_becomes_nodes_with_verdicts_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine, _others = running(2, team="llm"), running(1, team="vision")
    words = ["verdict", "--tag", "team=llm", "--deadline", "30s", "--format", "json"]
    assert main(words) == 3  # nothing is shipped: too little seen
    report = json.loads(capsys.readouterr().out)
    assert sorted(report["verdicts"]) == sorted(mine)
    assert set(report["verdicts"].values()) == {"NOT OBSERVABLE"}
    assert (report["account"], report["region"]) == ("123456789012", REGION)
    unread = {row["what"]: row["closes_with"] for row in report["not_seen"]}
    closes = unread["capacity reservations (ec2:DescribeCapacityReservations)"]
    assert "ec2:DescribeCapacityReservations" in closes


@pytest.mark.usefixtures("account")
def test_an_answer_comes_at_the_deadline_whatever_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (node,) = running(1, team="llm")
    code = main(["incident", "--instances", node, "--deadline", "1s", "--format", "json"])
    # moto's server, in this process, prints what it cannot answer.
    report = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert code == 3
    assert "budget" in {row["reason"] for row in report["not_seen"]}


@pytest.mark.anyio
async def test_a_server_answers_from_a_live_account_over_stdio(account: str) -> None:
    nodes = running(2, team="llm")
    env = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gpuvet", "serve", "--region", REGION, "--deadline", "20s"],
        env={**env, "PYTHONPATH": str(ROOT / "server"), "AWS_ENDPOINT_URL": account},
    )
    async with Client(command) as connected:
        verdicts = await connected.call_tool("node_verdicts", {"tag": "team=llm"})
        elsewhere = await connected.call_tool(
            "node_verdicts", {"tag": "team=llm", "region": "eu-west-1"}
        )
    assert verdicts.structured_content is not None
    assert sorted(n["node"] for n in verdicts.structured_content["nodes"]) == sorted(nodes)
    assert elsewhere.is_error
    assert isinstance(elsewhere.content[0], TextContent)
    assert "region 'eu-west-1' was not given at start" in elsewhere.content[0].text


@pytest.mark.anyio
async def test_single_sources_of_a_live_account_are_shown_over_stdio(account: str) -> None:
    nodes = running(3, **{"parallelcluster:cluster-name": "lab"})
    env = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gpuvet", "serve", "--region", REGION, "--deadline", "30s"],
        env={**env, "PYTHONPATH": str(ROOT / "server"), "AWS_ENDPOINT_URL": account},
    )
    pages: dict[str, dict[str, Any]] = {}
    async with Client(command) as connected:
        for tool in ("list_clusters", "list_nodes", "find_log_sources", "network_status"):
            asked = {} if tool == "list_clusters" else {"cluster": "lab"}
            result = await connected.call_tool(tool, asked)
            assert not result.is_error
            pages[tool] = result.structured_content or {}
    clusters = [(row["kind"], row["name"], row["nodes"]) for row in pages["list_clusters"]["rows"]]
    assert clusters == [("ParallelCluster", "lab", 3)]
    assert sorted(row["node"] for row in pages["list_nodes"]["rows"]) == sorted(nodes)
    assert pages["list_nodes"]["account"] == "123456789012"
    assert pages["find_log_sources"]["silent_total"] == 3
    layers = {row["layer"] for row in pages["network_status"]["rows"]}
    assert {"set-up", "addresses"} <= layers
    # moto's server knows no capacity reservations: that shows, and is no empty list.
    unread = {row["what"] for row in pages["list_nodes"]["not_seen"]}
    assert "capacity reservations (ec2:DescribeCapacityReservations)" in unread


@pytest.mark.anyio
@pytest.mark.usefixtures("account")
async def test_a_question_that_runs_out_of_calls_is_gone_on_with_by_its_cursor() -> None:
    nodes = running(3, **{"parallelcluster:cluster-name": "lab"})
    live = accounts()
    live.enter()  # who asks is known from now on
    source = LiveSource(live, calls=5)
    asked: dict[str, object] = {"cluster": "lab"}
    unread: list[set[str]] = []
    page: dict[str, Any] = {}
    async with Client(build_server(source, is_account=True)) as connected:
        for _ in range(12):
            result = await connected.call_tool("list_nodes", asked)
            page = result.structured_content or {}
            unread.append({r["what"] for r in page["not_seen"] if r["reason"] == "budget"})
            if page.get("cursor") is None:
                break
            asked = {"cursor": page["cursor"]}
    assert unread[0] != set()
    assert unread[-1] == set(), "the last answer left nothing for lack of calls"
    assert sorted(row["node"] for row in page["rows"]) == sorted(nodes)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.usefixtures("account")
def test_a_budget_of_calls_counts_every_request_that_left() -> None:
    budget = Budget(60, 3)
    door = accounts().enter(budget=budget).door  # one for who asks
    door.read("cloudtrail:LookupEvents", {})  # fails, and is tried once more
    assert budget.made == 3
    assert door.read("ec2:DescribeSubnets", {}).reason is Reason.BUDGET
