"""The Prometheus door: signed for `aps`, every state a status, every answer bounded."""

import json
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import botocore.httpsession
import pytest
from aws.other_doors import (
    END,
    QUERY,
    READ_OF_EACH,
    REGION,
    WORKSPACE,
    Sent,
    as_json,
    door_through,
    usual,
    vector,
)
from aws.wire import StillTime, keys, no_machine
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from gpuvet.aws import live_http
from gpuvet.aws.closing import closes_with, reason_of
from gpuvet.aws.door_guard import Outgoing
from gpuvet.aws.live import LiveAws
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.live_http import Incoming
from gpuvet.aws.login import Login
from gpuvet.aws.prometheus_answers import answer_of, page_of
from gpuvet.model.evidence import Reason, Status

__all__ = ["keys", "no_machine"]
pytestmark = pytest.mark.usefixtures("keys")

URL = f"https://aps-workspaces.{REGION}.amazonaws.com/workspaces/{WORKSPACE}/api/v1"

ONE_NODE = 'DCGM_FI_DEV_GPU_UTIL{Hostname=~"ip-10-0-0-7"}'


def test_a_query_is_a_signed_form_of_a_written_template() -> None:
    sent = Sent()
    door_through(sent).read("prometheus:QueryRange", READ_OF_EACH["prometheus:QueryRange"])
    (request,) = sent.requests
    headers = dict(request.headers)
    assert (request.method, request.url) == ("POST", f"{URL}/query_range")
    assert parse_qs(request.body.decode()) == {
        "query": [f"max by (Hostname, gpu) (max_over_time({ONE_NODE}[60s]))"],
        "max_samples_processed_error_threshold": ["50000000"],
        "start": [f"{END.timestamp():.3f}"],
        "end": [f"{END.timestamp():.3f}"],
        "step": ["60s"],
    }
    assert "Credential=EXAMPLE/" in headers["Authorization"]
    assert f"/{REGION}/aps/aws4_request" in headers["Authorization"]
    assert sent.authorities == [None]


def test_labels_and_series_are_got_with_a_selector_in_the_url() -> None:
    sent = Sent()
    door = door_through(sent)
    door.read("prometheus:Labels", READ_OF_EACH["prometheus:Labels"])
    door.read("prometheus:Series", READ_OF_EACH["prometheus:Series"])
    assert [(r.method, r.url.partition("?")[0]) for r in sent.requests] == [
        ("GET", f"{URL}/labels"),
        ("GET", f"{URL}/series"),
    ]
    for request in sent.requests:
        asked = parse_qs(request.url.partition("?")[2])
        assert asked["match[]"] == ["DCGM_FI_DEV_GPU_UTIL{}"]
        assert request.body == b""


def test_a_workspace_of_another_region_is_asked_and_signed_there() -> None:
    sent = Sent()
    door_through(sent).read("prometheus:Query", QUERY, region="eu-west-1")
    (request,) = sent.requests
    assert request.url.startswith("https://aps-workspaces.eu-west-1.amazonaws.com/")
    assert "/eu-west-1/aps/" in dict(request.headers)["Authorization"]


class State(NamedTuple):
    """What came back, what it comes to, after how many requests."""

    answer: Incoming | Exception
    status: Status
    reason: Reason | None
    requests: int
    shown: str
    closes: str


DENIED = {"message": "User is not authorized to perform: aps:QueryMetrics"}
TYPE = "x-amzn-errortype"
STATES = {
    "denied": State(
        as_json(DENIED, 403, {TYPE: "AccessDeniedException:http://internal"}),
        *(Status.UNVERIFIED, Reason.DENIED, 1, "denied", "allow aps:QueryMetrics"),
    ),
    "denied without a type": State(
        as_json(DENIED, 403), Status.UNVERIFIED, Reason.DENIED, 1, "denied", "aps:QueryMetrics"
    ),
    "expired": State(
        as_json({"message": "expired"}, 403, {TYPE: "ExpiredTokenException"}),
        *(Status.UNVERIFIED, Reason.EXPIRED, 1, "expired", "sign in again"),
    ),
    "throttled": State(
        as_json({"message": "slow down"}, 429),
        *(Status.UNVERIFIED, Reason.THROTTLED, 6, "throttled", "again in a few minutes"),
    ),
    "a query the server cannot run": State(
        as_json({"status": "error", "errorType": "execution", "error": "bad matcher"}, 422),
        *(Status.UNVERIFIED, None, 1, "execution", "bad matcher"),
    ),
    "too much for one query": State(
        as_json(
            {
                "status": "error",
                "errorType": "execution",
                "error": "query processing would load too many samples into memory",
            },
            422,
        ),
        *(Status.UNVERIFIED, Reason.ROW_CAP, 1, "row_cap", "narrower window"),
    ),
    "an error under 200": State(
        as_json({"status": "error", "errorType": "bad_data", "error": "parse error"}),
        *(Status.UNVERIFIED, None, 1, "bad_data", "parse error"),
    ),
    "no such workspace": State(
        as_json({"message": "not found"}, 404, {TYPE: "ResourceNotFoundException"}),
        *(Status.NOT_FOUND, None, 1, "ResourceNotFoundException", "right name or id"),
    ),
    "down": State(
        as_json({"message": "oops"}, 503),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "unreachable", "failed by itself"),
    ),
    "a redirect": State(
        Incoming(302, b"", {"location": "https://evil.test/"}),
        *(Status.UNVERIFIED, Reason.REFUSED, 1, "refused", "AWS's own"),
    ),
    "no connection": State(
        EndpointConnectionError(endpoint_url=URL),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "unreachable", "a network path"),
    ),
    "no connection in time": State(
        ConnectTimeoutError(endpoint_url=URL),
        *(Status.UNVERIFIED, Reason.TIMED_OUT, 2, "timed_out", "again"),
    ),
    "no answer in time": State(
        ReadTimeoutError(endpoint_url=URL),
        *(Status.UNVERIFIED, Reason.TIMED_OUT, 2, "timed_out", "again"),
    ),
    "no JSON": State(
        Incoming(200, b"<html>sign in</html>"),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "unreachable", "a network path"),
    ),
    "JSON of another form": State(
        as_json({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "unreachable", "a network path"),
    ),
    "nested without end": State(
        Incoming(200, b"[" * 200_000),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "unreachable", "a network path"),
    ),
    "no series": State(
        as_json({"status": "success", "data": vector([])}),
        *(Status.OK_EMPTY, None, 1, "ok_empty", ""),
    ),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_every_state_is_a_status_with_its_reason_and_what_closes_it(state: State) -> None:
    sent = Sent(state.answer)
    answer = door_through(sent).read("prometheus:Query", QUERY)
    assert (answer.status, answer.reason) == (state.status, state.reason)
    assert len(sent.requests) == state.requests
    assert answer.value is None or state.status.is_complete
    assert reason_of(answer) == state.shown
    assert state.closes in closes_with(answer)


def test_a_redirect_is_not_followed_and_the_other_place_gets_nothing() -> None:
    sent = Sent(Incoming(307, b"", {"location": f"{URL}/query"}))
    door_through(sent).read("prometheus:Query", QUERY)
    assert [request.url for request in sent.requests] == [f"{URL}/query"]


def test_an_answer_longer_than_the_bound_is_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_http, "MOST_BYTES", 1_000)
    body = json.dumps({"status": "success", "data": vector([({"a": "b" * 2_000}, 1)])}).encode()
    answer = door_through(Sent(Incoming(200, body))).read("prometheus:Query", QUERY)
    assert (answer.value, answer.reason) == (None, Reason.ROW_CAP)


def test_a_body_is_read_to_one_byte_beyond_its_bound_and_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_http, "MOST_BYTES", 1_000)
    read: list[int] = []

    def endless(amount: int) -> bytes:
        read.append(amount)
        return b"x" * min(amount, 300)

    assert len(live_http.bounded(endless)) == 1_001
    assert sum(read) < 5_000


def test_the_budget_of_the_question_holds_here_too() -> None:
    time = StillTime()
    sent = Sent()
    door = door_through(sent, time, calls=2)
    states = [door.read("prometheus:Query", {**QUERY, "span": n}).reason for n in (60, 61, 62)]
    assert states == [None, None, Reason.BUDGET]
    assert len(sent.requests) == 2


def test_a_throttled_workspace_is_left_alone_until_the_deadline() -> None:
    time = StillTime()
    sent = Sent(as_json({}, 429))
    answer = door_through(sent, time, seconds=3).read("prometheus:Query", QUERY)
    assert answer.reason in {Reason.THROTTLED, Reason.BUDGET}
    assert time.seconds <= 3


def test_a_process_whose_requests_go_to_a_local_fake_asks_no_real_workspace() -> None:
    door = LiveAws(Login(), REGION, clients=Clients(endpoint="http://127.0.0.1:1"))
    answer = door.read("prometheus:Query", QUERY)
    assert (answer.status, answer.reason) == (Status.UNVERIFIED, Reason.UNREACHABLE)


def test_without_credentials_nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    sent = Sent()
    answer = door_through(sent).read("prometheus:Query", QUERY)
    assert answer.reason is Reason.EXPIRED
    assert sent.requests == []


def test_requests_go_through_botocores_own_session_without_redirects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[AWSPreparedRequest] = []

    class Raw:
        """A body that streams."""

        def __init__(self) -> None:
            self.rest = usual(Outgoing(str(seen[-1].method), str(seen[-1].url))).body

        def read(self, amount: int) -> bytes:
            part, self.rest = self.rest[:amount], self.rest[amount:]
            return part

    def send(_self: object, request: AWSPreparedRequest) -> AWSResponse:
        seen.append(request)
        raw: Any = Raw()
        return AWSResponse(request.url, 200, HTTPHeaders(), raw)

    monkeypatch.setattr(botocore.httpsession.URLLib3Session, "send", send)
    answer = LiveAws(Login(), REGION).read("prometheus:Query", QUERY)
    assert answer.status is Status.OK
    assert [request.url for request in seen] == [f"{URL}/query"]
    assert seen[0].stream_output is True


HOSTILE: list[tuple[str, object]] = [
    ("a word", "word"),
    ("NaN", "NaN"),
    ("infinity", "+Inf"),
    ("minus infinity", "-Inf"),
    ("nothing", None),
    ("a long number", "9" * 5_000),
    ("an object", {}),
    ("true", True),
    ("too large a number", 10**400),
]


@pytest.mark.parametrize(("name", "value"), HOSTILE, ids=[name for name, _ in HOSTILE])
def test_what_is_no_finite_number_is_no_sample_and_never_zero(name: str, value: object) -> None:
    del name
    at = END.timestamp()
    pairs: list[object] = [[at, value], [at + 60, "2"]]
    page: dict[str, Any] = {"result": [{"metric": {}, "values": pairs}]}
    (series,) = answer_of([page]).series
    assert [v for _, v in series.points] == [2.0]
    assert answer_of([{"result": [{"metric": {}, "value": [at, value]}]}]).series == ()


@pytest.mark.parametrize(
    "pair", [[], [1], [1, "2", 3], ["now", "2"], [-1, "2"], [10**12, "2"], [float("nan"), "2"], 7]
)
def test_a_pair_of_another_form_is_left_out(pair: object) -> None:
    assert answer_of([{"result": [{"metric": {}, "values": [pair]}]}]).series == ()


def test_times_come_in_order_and_once() -> None:
    pairs = [[120, "3"], [60, "2"], [60, "2"]]
    (series,) = answer_of([{"result": [{"metric": {}, "values": pairs}]}]).series
    assert series.points == ((60.0, 2.0), (120.0, 3.0))


def test_labels_are_bounded_masked_and_shown() -> None:
    labels = {f"l{n}": "x" for n in range(500)} | {"": 1}
    metric = {"Hostname": "a\u202eb" + "c" * 9_000, "pod": "AKIAABCDEFGHIJKLMNOP", **labels}
    (series,) = answer_of([{"result": [{"metric": metric, "value": [60, "1"]}]}]).series
    assert len(series.labels) <= 64
    assert "\\u202e" in series.labels["Hostname"]
    assert len(series.labels["Hostname"]) < 400
    assert series.labels["pod"] == "[masked]"


def test_more_samples_than_we_keep_make_an_answer_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuvet.aws.prometheus_answers.MOST_SAMPLES", 10)
    rows = [{"metric": {"n": str(n)}, "values": [[60, "1"], [120, "1"]]} for n in range(20)]
    found = answer_of([{"result": rows}])
    assert found.is_cut
    assert sum(len(one.points) for one in found.series) <= 10


@pytest.mark.parametrize(
    ("warning", "is_cut"),
    [("PromQL info: metric might not be a counter", False), ("results truncated", True)],
)
def test_a_warning_of_the_server_makes_an_answer_partial_and_a_remark_does_not(
    warning: str, is_cut: bool
) -> None:
    page = page_of(
        {"status": "success", "data": vector([({}, 1)]), "warnings": [warning]}, "result"
    )
    assert page is not None
    assert answer_of([page]).is_cut is is_cut


def test_the_apis_own_form_and_our_pages_read_the_same() -> None:
    raw = {"status": "success", "data": vector([({"gpu": "0"}, 4)])}
    page = page_of(raw, "result")
    assert page is not None
    assert answer_of([raw]) == answer_of([page])
