"""The live door: every failure a state with its reason, every page, and an end in time."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

import botocore.session
import pytest
from aws.wire import NOW, StillTime, keys, no_machine
from botocore import exceptions, xform_name
from botocore.exceptions import ClientError

from gpuvet.aws.budget import Budget
from gpuvet.aws.closing import closes_with, reason_of
from gpuvet.aws.live import LiveAws
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.login import Login
from gpuvet.aws.reads import READS, read_of
from gpuvet.model.evidence import Envelope, Reason, Status

__all__ = ["keys", "no_machine"]
pytestmark = pytest.mark.usefixtures("keys")

Answer = Mapping[str, Any] | Exception
CORE = botocore.session.get_session()  # loads each service model once


class Scripted(Clients):
    """Clients that answer from a list instead of calling; the last answer repeats."""

    def __init__(self, answers: Mapping[str, Sequence[Answer]]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.regions: list[str] = []
        self._place: dict[str, int] = {}

    def client(self, login: Login, service: str, region: str) -> Any:  # noqa: ANN401 (a client)
        assert login == Login()
        self.regions.append(region)
        methods: dict[str, Any] = {}
        for read in READS.values():
            if read.service == service:
                methods[xform_name(read.name)] = self._method(read.operation)
        return type("Client", (), {name: staticmethod(m) for name, m in methods.items()})()

    def _method(self, operation: str) -> Any:  # noqa: ANN401 (a client's method)
        def call(**params: object) -> Mapping[str, Any]:
            self.asked.append((operation, params))
            place = self._place.get(operation, 0)
            self._place[operation] = place + 1
            answer = self.answers[operation][min(place, len(self.answers[operation]) - 1)]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    def count(self, operation: str) -> int:
        """How often an operation was called."""
        return sum(asked == operation for asked, _ in self.asked)


def refusal(code: str, message: str = "", status: int = 400) -> ClientError:
    reply: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(reply, "Operation")


def door(
    clients: Clients,
    time: StillTime | None = None,
    *,
    seconds: float = 600,
    calls: int | None = None,
) -> LiveAws:
    time = time or StillTime()
    budget = Budget(seconds, calls, monotonic=time.clock.monotonic)
    return LiveAws(
        Login(),
        "us-west-2",
        clients=clients,
        account="111122223333",
        budget=budget,
        clock=time.clock,
    )


def read(
    operation: str, answers: Sequence[Answer], time: StillTime | None = None, **params: object
) -> Envelope[Any]:
    return door(Scripted({operation: answers}), time).read(operation, params)


CLUSTER_GATE = (
    "ListClusterEvents is only supported for cluster with NodeProvisioningMode set to Continuous"
)


class Expected(NamedTuple):
    """What a failure comes to, and how many requests it takes to find out."""

    status: Status
    reason: Reason | None
    requests: int


DENIED = Expected(Status.UNVERIFIED, Reason.DENIED, 1)
EXPIRED = Expected(Status.UNVERIFIED, Reason.EXPIRED, 1)
THROTTLED = Expected(Status.UNVERIFIED, Reason.THROTTLED, 6)
NOT_SUBSCRIBED = Expected(Status.UNVERIFIED, Reason.NOT_SUBSCRIBED, 1)
NOT_SUPPORTED = Expected(Status.NOT_SUPPORTED, Reason.NOT_SUPPORTED, 1)
REFUSED = Expected(Status.UNVERIFIED, None, 1)
NOT_FOUND = Expected(Status.NOT_FOUND, None, 1)
UNREACHABLE = Expected(Status.UNVERIFIED, Reason.UNREACHABLE, 2)
TIMED_OUT = Expected(Status.UNVERIFIED, Reason.TIMED_OUT, 2)
NO_REGION = Expected(Status.UNVERIFIED, Reason.UNREACHABLE, 1)
URL = "https://aws.test"
FAILURES: list[tuple[str, Exception, Expected]] = [
    ("ec2:DescribeInstances", refusal("UnauthorizedOperation", status=403), DENIED),
    ("sagemaker:ListClusters", refusal("AccessDeniedException"), DENIED),
    ("cloudwatch:ListMetrics", refusal("AccessDenied", status=403), DENIED),
    ("ec2:DescribeSubnets", refusal("AuthFailure", status=401), DENIED),
    ("fsx:DescribeFileSystems", refusal("SomethingNew", status=403), DENIED),
    ("logs:DescribeLogGroups", refusal("ExpiredTokenException"), EXPIRED),
    ("ec2:DescribeInstances", refusal("RequestExpired"), EXPIRED),
    ("eks:ListAddons", refusal("UnrecognizedClientException"), EXPIRED),
    ("ec2:DescribeInstances", refusal("RequestLimitExceeded", status=503), THROTTLED),
    ("sagemaker:ListClusters", refusal("ThrottlingException"), THROTTLED),
    ("health:DescribeEvents", refusal("TooManyRequestsException", status=429), THROTTLED),
    ("health:DescribeEvents", refusal("SubscriptionRequiredException"), NOT_SUBSCRIBED),
    ("sagemaker:ListClusterEvents", refusal("ValidationException", CLUSTER_GATE), NOT_SUPPORTED),
    ("sagemaker:DescribeCluster", refusal("ValidationException", "bad"), REFUSED),
    ("sagemaker:DescribeCluster", refusal("ResourceNotFound"), NOT_FOUND),
    ("eks:DescribeCluster", refusal("ResourceNotFoundException", status=404), NOT_FOUND),
    ("fsx:DescribeFileSystems", refusal("FileSystemNotFound"), NOT_FOUND),
    ("service-quotas:GetServiceQuota", refusal("NoSuchResourceException"), NOT_FOUND),
    ("ec2:DescribeInstances", refusal("InvalidInstanceID.NotFound"), NOT_FOUND),
    ("logs:StartQuery", refusal("MalformedQueryException"), REFUSED),
    ("cloudtrail:LookupEvents", refusal("InvalidTimeRangeException"), REFUSED),
    ("logs:DescribeLogGroups", refusal("ServiceUnavailableException", status=503), UNREACHABLE),
    ("events:ListRules", refusal("Unknown", status=502), UNREACHABLE),
    ("amp:ListWorkspaces", exceptions.EndpointConnectionError(endpoint_url=URL), UNREACHABLE),
    ("amp:ListWorkspaces", exceptions.ConnectTimeoutError(endpoint_url=URL), TIMED_OUT),
    ("amp:ListWorkspaces", exceptions.ReadTimeoutError(endpoint_url=URL), TIMED_OUT),
    ("amp:ListWorkspaces", exceptions.ConnectionClosedError(endpoint_url=URL), UNREACHABLE),
    ("amp:ListWorkspaces", exceptions.SSLError(endpoint_url=URL, error=OSError("no")), UNREACHABLE),
    ("amp:ListWorkspaces", exceptions.NoCredentialsError(), EXPIRED),
    (
        "amp:ListWorkspaces",
        exceptions.PartialCredentialsError(provider="env", cred_var="x"),
        EXPIRED,
    ),
    ("amp:ListWorkspaces", exceptions.UnauthorizedSSOTokenError(), EXPIRED),
    ("amp:ListWorkspaces", exceptions.NoRegionError(), NO_REGION),
    ("amp:ListWorkspaces", exceptions.ParamValidationError(report="bad"), REFUSED),
]


def _id(failure: tuple[str, Exception, Status, Reason | None, int]) -> str:
    operation, error, *_ = failure
    name = type(error).__name__
    if isinstance(error, ClientError):
        name = error.response.get("Error", {}).get("Code", name)
    return f"{operation} {name}"


@pytest.mark.parametrize("failure", FAILURES, ids=_id)
def test_every_failure_is_a_state_with_its_reason_and_what_closes_it(
    failure: tuple[str, Exception, Expected],
) -> None:
    operation, error, (status, reason, attempts) = failure
    clients = Scripted({operation: [error]})
    answer = door(clients).read(operation, {})
    assert (answer.status, answer.reason, answer.value) == (status, reason, None)
    assert clients.count(operation) == attempts
    assert reason_of(answer) != ""
    closing = closes_with(answer)
    assert operation in closing or read_of(operation).iam_action in closing
    if reason is Reason.DENIED and answer.error_code != "AuthFailure":
        assert read_of(operation).iam_action in closing


@pytest.mark.parametrize("operation", sorted(READS))
def test_a_denied_read_is_never_an_empty_one(operation: str) -> None:
    answer = read(operation, [refusal("AccessDeniedException")])
    assert answer.status is Status.UNVERIFIED
    assert answer.value is None
    assert answer.error_code == "AccessDeniedException"


def test_credentials_that_end_are_not_tried_again_in_that_region() -> None:
    clients = Scripted(
        {
            "sagemaker:ListClusters": [{"ClusterSummaries": [{"ClusterName": "a"}]}],
            "ec2:DescribeInstances": [refusal("RequestExpired")],
        }
    )
    opened = door(clients)
    assert opened.read("sagemaker:ListClusters", {}).status is Status.OK
    opened.read("ec2:DescribeInstances", {})
    later = opened.read("sagemaker:ListClusters", {"NameContains": "b"})
    assert (later.status, later.reason) == (Status.UNVERIFIED, Reason.EXPIRED)
    assert later.notes == ("not asked: the credentials were refused at 12:00:00Z (RequestExpired)",)
    assert clients.count("sagemaker:ListClusters") == 1
    # A region that is not enabled refuses good credentials with the same words.
    assert opened.read("sagemaker:ListClusters", {}, region="us-east-1").status is Status.OK


def listings() -> Iterator[str]:
    core = CORE
    for operation, row in READS.items():
        model = core.get_service_model(row.service).operation_model(row.name)
        members = model.output_shape.members if model.output_shape else {}
        if "NextToken" in members or "nextToken" in members or "nextForwardToken" in members:
            yield operation


@pytest.mark.parametrize("operation", sorted(listings()))
def test_every_listing_is_read_to_its_end_and_empty_pages_do_not_end_it(operation: str) -> None:
    row = read_of(operation)
    model: Any = CORE.get_service_model(row.service)
    members = model.operation_model(row.name).output_shape.members
    out = next(n for n in ("NextToken", "nextToken", "nextForwardToken") if n in members)
    sent_as = "nextToken" if out == "nextForwardToken" else out
    assert sent_as in model.operation_model(row.name).input_shape.members
    member = row.rows[0]
    last = {out: "b"} if out == "nextForwardToken" else {}
    pages: list[Answer] = [
        {member: [], out: "a", "status": "Complete"},
        {member: ["one"], out: "b", "status": "Complete"},
        {member: ["two"], "status": "Complete", **last},
    ]
    clients = Scripted({operation: pages})
    answer = door(clients).read(operation, {"x": 1})
    assert answer.status is Status.OK
    assert [row for page in answer.value or () for row in page[member]] == ["one", "two"]
    assert [params.get(sent_as) for _, params in clients.asked] == [None, "a", "b"]
    assert answer.params == '{"x":1}'  # neither page size nor token: the question as asked


@pytest.mark.parametrize("operation", sorted(listings()))
def test_a_page_is_as_large_as_the_service_allows(operation: str) -> None:
    clients = Scripted({operation: [{"status": "Complete"}]})
    door(clients).read(operation, {})
    row = read_of(operation)
    model: Any = CORE.get_service_model(row.service)
    shape = model.operation_model(row.name).input_shape
    for name, size in clients.asked[0][1].items():
        limits = shape.members[name].metadata
        assert limits.get("min", 1) <= size <= limits.get("max", size)
        assert "max" not in limits or size == limits["max"] or operation == "amp:ListWorkspaces"


def test_ec2_gets_no_page_size_beside_a_list_of_what_is_wanted() -> None:
    clients = Scripted({"ec2:DescribeInstanceTypes": [{"InstanceTypes": [1]}]})
    door(clients).read("ec2:DescribeInstanceTypes", {"InstanceTypes": ["p5.48xlarge"]})
    assert clients.asked[0][1] == {"InstanceTypes": ["p5.48xlarge"]}


MORE = {"Rules": [1], "NextToken": "a"}


@pytest.mark.parametrize(
    ("pages", "reason", "read_pages"),
    [
        pytest.param(
            [{**MORE, "NextToken": str(n)} for n in range(300)],
            Reason.PAGE_CAP,
            200,
            id="more pages than the cap",
        ),
        pytest.param([MORE], Reason.PAGE_CAP, 2, id="a token that leads back"),
        pytest.param(
            [MORE, refusal("ThrottlingException")], Reason.THROTTLED, 1, id="a throttle on the way"
        ),
        pytest.param(
            [MORE, refusal("AccessDeniedException")], Reason.DENIED, 1, id="a denial on the way"
        ),
    ],
)
def test_what_is_cut_short_is_partial_and_says_why(
    pages: Sequence[Answer], reason: Reason, read_pages: int
) -> None:
    answer = read("events:ListRules", pages)
    assert (answer.status, answer.reason, answer.pages) == (Status.PARTIAL, reason, read_pages)


def test_events_stop_at_the_number_wanted_and_say_so() -> None:
    page: dict[str, Any] = {"events": [{}], "nextToken": "more"}
    answer = read("logs:FilterLogEvents", [page], limit=1)
    assert (answer.status, answer.reason, answer.pages) == (Status.PARTIAL, Reason.ROW_CAP, 1)


def test_zero_rows_are_empty_and_a_single_object_is_not() -> None:
    assert read("events:ListRules", [{"Rules": []}]).status is Status.OK_EMPTY
    assert read("eks:DescribeCluster", [{"cluster": {}}]).status is Status.OK


def test_times_come_in_utc_and_the_transport_stays_out() -> None:
    there = datetime(2026, 5, 9, 14, tzinfo=timezone(timedelta(hours=2)))
    page = {"Events": [{"EventTime": there}], "ResponseMetadata": {"HTTPStatusCode": 200}}
    answer = read("cloudtrail:LookupEvents", [page])
    assert answer.value == ({"Events": [{"EventTime": NOW}]},)
    first: Any = next(iter(answer.value or ()))
    assert first["Events"][0]["EventTime"].tzinfo is UTC


def test_a_throttled_service_is_tried_again_and_answers() -> None:
    time = StillTime()
    answer = read(
        "events:ListRules", [refusal("Throttling"), refusal("Throttling"), {"Rules": [1]}], time
    )
    assert answer.status is Status.OK
    assert len(time.waits) == 2
    assert 0.25 <= time.waits[0] <= 1.0
    assert 0.5 <= time.waits[1] <= 2.0


def test_aws_health_is_asked_in_the_region_of_its_partition() -> None:
    for own, wanted in {
        "us-west-2": "us-east-1",
        "cn-north-1": "cn-northwest-1",
        "us-gov-east-1": "us-gov-west-1",
    }.items():
        clients = Scripted({"health:DescribeEvents": [{"events": []}]})
        LiveAws(Login(), own, clients=clients).read("health:DescribeEvents", {}, region="us-east-1")
        assert clients.regions == [wanted]


def test_a_service_that_is_down_is_asked_once_each_time_after_it_was_given_up() -> None:
    clients = Scripted({"cloudtrail:LookupEvents": [refusal("InternalFailure", status=500)]})
    opened = door(clients)
    answers = [opened.read("cloudtrail:LookupEvents", {"EventCategory": n}) for n in "abc"]
    assert {answer.reason for answer in answers} == {Reason.UNREACHABLE}
    assert clients.count("cloudtrail:LookupEvents") == 2 + 1 + 1
    assert closes_with(answers[0]).endswith("the service failed by itself (InternalFailure)")


def test_a_service_without_a_way_to_it_is_not_asked_again_in_that_region() -> None:
    lost = exceptions.ConnectTimeoutError(endpoint_url=URL)
    clients = Scripted({"events:ListRules": [lost], "events:ListTargetsByRule": [lost]})
    opened = door(clients)
    opened.read("events:ListRules", {})
    later = opened.read("events:ListTargetsByRule", {"Rule": "x"})
    assert (later.status, later.reason) == (Status.UNVERIFIED, Reason.TIMED_OUT)
    assert "did not answer before" in later.notes[0]
    assert clients.count("events:ListTargetsByRule") == 0


# Budget


def test_a_spent_number_of_calls_leaves_the_rest_not_checked() -> None:
    clients = Scripted({"events:ListRules": [{"Rules": [1]}]})
    opened = door(clients, calls=2)
    states = [opened.read("events:ListRules", {"NamePrefix": str(n)}) for n in range(4)]
    assert [one.status for one in states] == [
        Status.OK,
        Status.OK,
        Status.NOT_CHECKED,
        Status.NOT_CHECKED,
    ]
    assert states[3].reason is Reason.BUDGET
    assert states[3].notes == ("the 2 calls of this question are made",)
    assert "--deadline" in closes_with(states[3])


def test_a_deadline_ends_retries_and_pages() -> None:
    time = StillTime()
    clients = Scripted({"events:ListRules": [refusal("Throttling")]})
    answer = door(clients, time, seconds=3).read("events:ListRules", {})
    assert answer.reason in {Reason.THROTTLED, Reason.BUDGET}
    assert time.seconds <= 3


def test_a_call_that_hangs_is_left_behind_at_the_deadline() -> None:
    hang = threading.Event()

    class Hanging(Scripted):
        def _method(self, operation: str) -> Any:  # noqa: ANN401 (a client's method)
            def call(**_params: object) -> Mapping[str, Any]:
                hang.wait(30)
                return {"of": operation}

            return call

    opened = LiveAws(Login(), "us-west-2", clients=Hanging({}), budget=Budget(0.05))
    answer = opened.read("events:ListRules", {})
    hang.set()
    assert (answer.status, answer.reason) == (Status.NOT_CHECKED, Reason.BUDGET)


def test_a_bug_is_raised_also_from_a_call_with_a_deadline() -> None:
    clients = Scripted({"events:ListRules": [ZeroDivisionError("a bug of ours")]})
    with pytest.raises(ZeroDivisionError):
        door(clients, seconds=5).read("events:ListRules", {})


# Log queries


def test_results_are_waited_for_until_the_query_has_ended_and_paged() -> None:
    time = StillTime()
    looks: list[Answer] = [
        {"status": "Scheduled", "results": []},
        {"status": "Running", "results": [["half"]]},
        {"status": "Complete", "results": [["a"]], "nextToken": "t"},
        {"status": "Complete", "results": [["b"]]},
    ]
    answer = read("logs:GetQueryResults", looks, time, queryId="q")
    assert answer.status is Status.OK
    assert [row for page in answer.value or () for row in page["results"]] == [["a"], ["b"]]
    assert time.waits == [0.5, 0.5]  # more seldom the longer it takes


@pytest.mark.parametrize("state", ["Failed", "Cancelled", "Timeout"])
def test_a_query_that_ended_otherwise_has_no_rows(state: str) -> None:
    answer = read("logs:GetQueryResults", [{"status": state, "results": [["half"]]}], queryId="q")
    assert (answer.status, answer.reason, answer.value) == (
        Status.UNVERIFIED,
        Reason.TIMED_OUT,
        None,
    )
    assert answer.error_code == state


def test_a_query_the_deadline_overtakes_is_stopped_and_not_checked() -> None:
    clients = Scripted(
        {
            "logs:GetQueryResults": [{"status": "Running", "results": [["half"]]}],
            "logs:StopQuery": [{"success": True}],
        }
    )
    answer = door(clients, seconds=10).read("logs:GetQueryResults", {"queryId": "q"})
    assert (answer.status, answer.reason, answer.value) == (Status.NOT_CHECKED, Reason.BUDGET, None)
    assert ("logs:StopQuery", {"queryId": "q"}) in clients.asked


def test_a_full_quota_of_queries_is_waited_out() -> None:
    time = StillTime()
    full = refusal("LimitExceededException")
    clients = Scripted({"logs:StartQuery": [full] * 12 + [{"queryId": "q"}]})
    answer = door(clients, time).read("logs:StartQuery", {})
    assert answer.value == ({"queryId": "q"},)
    assert time.seconds < 120


def test_more_queries_than_slots_wait_for_one_to_end() -> None:
    clients = Scripted(
        {
            "logs:StartQuery": [{"queryId": str(n)} for n in range(9)],
            "logs:GetQueryResults": [{"status": "Complete", "results": []}],
        }
    )
    opened = LiveAws(Login(), "us-west-2", clients=clients)
    most = 0
    for _ in range(9):
        started = opened.read("logs:StartQuery", {}).value
        assert started is not None
        opened.read("logs:GetQueryResults", dict(started[0]))
        most += 1
    assert most == 9  # a slot that was not given back would have made the fifth one wait


def test_waits_are_spread_but_never_longer_than_the_standard_modes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def longest(_low: float, high: float) -> float:
        return high

    time = StillTime()
    monkeypatch.setattr("gpuvet.aws.live_calls.random.uniform", longest)
    read("events:ListRules", [refusal("Throttling")], time)
    assert time.waits == [1.0, 2.0, 4.0, 8.0, 16.0]
