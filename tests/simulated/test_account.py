"""The simulated account behaves as the facts say: pages, limits, latency, failures."""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from simulated import limits
from simulated.account import Account, Fault, account_of
from simulated.clients import BadCall, SimulatedClients, live_door
from simulated.fleet import GROUPS, NOW, Kind, fleet, kernel_stream, xid

from gpuvet.aws.login import Login
from gpuvet.model.evidence import Reason, Status

KINDS: list[Kind] = ["hyperpod", "parallelcluster", "eks", "ec2"]
START = int((NOW - timedelta(hours=3)).replace(minute=0).timestamp())
END = int(NOW.replace(minute=0).timestamp())


def query(account: Account, text: str, *, group: str, limit: int = 10_000) -> str:
    asked = {
        "logGroupNames": [group],
        "queryString": text,
        "startTime": START,
        "endTime": END,
        "limit": limit,
    }
    return str(account.call("logs:StartQuery", asked)["queryId"])


def results(account: Account, query_id: str) -> dict[str, Any]:
    return account.call("logs:GetQueryResults", {"queryId": query_id})


def code_of(account: Account, operation: str, **params: object) -> str:
    with pytest.raises(ClientError) as raised:
        account.call(operation, params)
    return str(raised.value.response.get("Error", {}).get("Code"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_node_has_a_stream_of_its_system_log(kind: Kind) -> None:
    made = fleet(kind, 300)
    assert len({node.id for node in made.nodes}) == 300
    assert len({node.host for node in made.nodes}) == 300
    assert [stream.name for _, stream in made.carriers()] == [
        kernel_stream(kind, node)[1] for node in made.nodes
    ]


def test_a_listing_comes_in_the_services_pages() -> None:
    account = account_of(fleet("parallelcluster", 10))
    door = live_door(account)
    listed = door.read("logs:DescribeLogStreams", {"logGroupName": GROUPS["parallelcluster"]})
    assert listed.pages == 2  # 80 streams, 50 a page
    names = [row["logStreamName"] for page in listed.value or () for row in page["logStreams"]]
    assert names == sorted(names)
    assert len(set(names)) == 80


def test_groups_found_by_a_part_of_their_name_tell_neither_class_nor_size() -> None:
    account = account_of(fleet("ec2", 1))
    by_part = account.call("logs:DescribeLogGroups", {"logGroupNamePattern": "syslog"})
    by_name = account.call("logs:DescribeLogGroups", {"logGroupNamePrefix": GROUPS["ec2"]})
    assert set(by_part["logGroups"][0]) == {"logGroupName", "arn", "logGroupArn", "creationTime"}
    assert by_name["logGroups"][0]["logGroupClass"] == "STANDARD"
    assert by_name["logGroups"][0]["storedBytes"] > 0
    asked = {"logGroupNamePattern": "a", "logGroupNamePrefix": "b"}
    assert code_of(account, "logs:DescribeLogGroups", **asked) == "InvalidParameterException"


def test_a_call_takes_its_round_trip_and_one_too_many_a_second_is_throttled() -> None:
    account = account_of(fleet("ec2", 1))
    for _ in range(30):
        try:
            results(account, query(account, "fields @message", group=GROUPS["ec2"]))
        except ClientError:
            account.clock.pass_time(5)
    assert account.clock.seconds >= 30 * limits.CALL_SECONDS
    fast = account_of(fleet("ec2", 1))
    codes = {"": 0, "ThrottlingException": 0}
    for _ in range(20):
        try:
            fast.call("cloudtrail:LookupEvents", {})
            codes[""] += 1
        except ClientError as error:
            codes[str(error.response.get("Error", {}).get("Code"))] += 1
    # 20 calls in 2 s at 2 a second, a second's worth at once.
    assert codes == {"": 5, "ThrottlingException": 15}


def test_a_query_runs_for_a_while_and_its_rows_are_not_whole_before() -> None:
    made = fleet("ec2", 40)
    account = account_of(made)
    text = "stats count(*) as lines by @log, @logStream, bin(1h) as hour | limit 10000"
    asked = query(account, text, group=GROUPS["ec2"])
    early = results(account, asked)
    assert early["status"] == "Running"
    account.clock.pass_time(limits.QUERY_SECONDS + 1)
    ended = results(account, asked)
    assert ended["status"] == "Complete"
    assert len(ended["results"]) == 40 * 3
    account.call("logs:StopQuery", {"queryId": asked})
    assert results(account, asked)["status"] == "Cancelled"


def test_rows_beyond_the_limit_are_left_out_and_counted() -> None:
    account = account_of(fleet("ec2", 40))
    text = "stats count(*) as lines by @log, @logStream, bin(1h) as hour | limit 10000"
    asked = query(account, text, group=GROUPS["ec2"], limit=50)
    account.clock.pass_time(10)
    ended = results(account, asked)
    assert (len(ended["results"]), ended["statistics"]["resultCount"]) == (50, 120)


@pytest.mark.parametrize(("log_class", "most"), [("STANDARD", 3), ("INFREQUENT_ACCESS", 5)])
def test_more_queries_than_the_account_may_run_are_refused(log_class: str, most: int) -> None:
    at_once = most if log_class == "STANDARD" else limits.QUERIES_AT_ONCE
    account = account_of(fleet("ec2", 1, log_class=log_class), queries_at_once=at_once)
    for _ in range(most):
        query(account, "fields @message", group=GROUPS["ec2"])
        account.clock.seconds -= limits.CALL_SECONDS  # all at once
        account.tokens.clear()
    refused = {"logGroupNames": [GROUPS["ec2"]], "queryString": "fields @message"}
    times = {"startTime": START, "endTime": END}
    assert code_of(account, "logs:StartQuery", **refused, **times) == "LimitExceededException"


def test_named_streams_of_a_standard_group_are_all_that_is_scanned() -> None:
    def scanned(log_class: str) -> float:
        made = fleet("ec2", 10, log_class=log_class)
        account = account_of(made)
        name = made.carrier(0).name
        query(account, f'filter @logStream in ["{name}"]', group=GROUPS["ec2"])
        return account.scanned

    assert scanned("INFREQUENT_ACCESS") == 10 * scanned("STANDARD")


def test_events_stand_where_and_when_they_were_written() -> None:
    made = fleet("ec2", 3)
    xid(made.carrier(1), 79, NOW - timedelta(hours=2))
    account = account_of(made)
    text = "filter @message like /NVRM: Xid/ | fields @logStream, @message"
    asked = query(account, text, group=GROUPS["ec2"])
    account.clock.pass_time(10)
    rows = results(account, asked)["results"]
    assert [row[0]["value"] for row in rows] == [made.carrier(1).name]


def test_a_request_the_model_would_not_let_out_is_a_bug_of_ours() -> None:
    client = SimulatedClients(account_of(fleet("ec2", 1))).client(Login(), "logs", "us-west-2")
    with pytest.raises(BadCall, match="queryString"):
        client.start_query(startTime=0, endTime=1)
    with pytest.raises(BadCall, match="limit"):
        client.start_query(startTime=0, endTime=1, queryString="fields @message", limit=0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("x" * 10_001, "InvalidParameterException", id="too long"),
        pytest.param("frobnicate @message", "MalformedQueryException", id="no such command"),
    ],
)
def test_a_query_the_service_cannot_read_is_refused(text: str, code: str) -> None:
    asked = {"logGroupNames": [GROUPS["ec2"]], "queryString": text}
    times = {"startTime": START, "endTime": END}
    assert code_of(account_of(fleet("ec2", 1)), "logs:StartQuery", **asked, **times) == code


def test_faults_come_through_the_live_door_as_states() -> None:
    account = account_of(fleet("ec2", 1))
    account.faults.append(Fault("logs:DescribeLogGroups", "AccessDeniedException", times=1))
    door = live_door(account)
    refused = door.read("logs:DescribeLogGroups", {})
    assert (refused.status, refused.reason) == (Status.UNVERIFIED, Reason.DENIED)
    assert door.read("logs:DescribeLogGroups", {}).status is Status.OK


def test_two_runs_see_the_same_times_and_calls() -> None:
    def run() -> tuple[float, dict[str, int]]:
        account = account_of(fleet("parallelcluster", 20))
        door = live_door(account)
        door.read("logs:DescribeLogStreams", {"logGroupName": GROUPS["parallelcluster"]})
        door.read("ec2:DescribeInstances", {})
        return account.clock.seconds, dict(account.made)

    assert run() == run()
