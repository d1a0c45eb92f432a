"""The recorded side of the AWS door: the backend rules of recorded scenarios, one by one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.errors import NotReadOnly
from gpuvet.model.evidence import Reason, Status

NODES = "sagemaker:ListClusterNodes"


def door(*calls: Mapping[str, Any]) -> RecordedAws:
    return RecordedAws(read_calls(calls), account="111122223333", region="us-west-2")


def call(operation: str, params: Mapping[str, Any], **answer: object) -> dict[str, object]:
    service, _, name = operation.partition(":")
    return {"service": service, "operation": name, "params": params, **answer}


def nodes(*ids: str, **more: object) -> dict[str, object]:
    return {"ClusterNodeSummaries": [{"InstanceId": one} for one in ids], **more}


def ids(pages: Sequence[Mapping[str, Any]] | None) -> list[str]:
    return [row["InstanceId"] for page in pages or () for row in page["ClusterNodeSummaries"]]


def test_a_time_member_becomes_an_aware_datetime() -> None:
    reply = {"ClusterNodeSummaries": [{"InstanceId": "i-1", "LaunchTime": "2026-03-01T08:00:00Z"}]}
    answer = door(call(NODES, {}, response=reply)).read(NODES, {})
    assert answer.value == (
        {
            "ClusterNodeSummaries": [
                {"InstanceId": "i-1", "LaunchTime": datetime(2026, 3, 1, 8, tzinfo=UTC)}
            ]
        },
    )


def test_times_of_log_groups_stay_milliseconds() -> None:
    reply = {"logGroups": [{"logGroupName": "/g", "creationTime": 1773107411000}]}
    answer = door(call("logs:DescribeLogGroups", {}, response=reply)).read(
        "logs:DescribeLogGroups", {}
    )
    assert answer.value == (reply,)


def test_the_call_with_most_recorded_parameters_wins() -> None:
    calls = (
        call(NODES, {}, response=nodes("any")),
        call(NODES, {"ClusterName": "a"}, response=nodes("of-a")),
        call(
            NODES,
            {"ClusterName": "a", "InstanceGroupNameContains": "w"},
            response=nodes("of-a-w"),
        ),
    )
    recorded = door(*calls)
    asked = {"ClusterName": "a", "InstanceGroupNameContains": "w", "SortBy": "NAME"}
    assert ids(recorded.read(NODES, asked).value) == ["of-a-w"]
    assert ids(recorded.read(NODES, {"ClusterName": "a"}).value) == ["of-a"]
    assert ids(recorded.read(NODES, {"ClusterName": "b"}).value) == ["any"]


def test_of_equal_matches_the_first_in_the_file_wins() -> None:
    first = call(NODES, {"ClusterName": "a"}, response=nodes("first"))
    second = call(NODES, {"SortBy": "NAME"}, response=nodes("second"))
    asked = {"ClusterName": "a", "SortBy": "NAME"}
    assert ids(door(first, second).read(NODES, asked).value) == ["first"]
    assert ids(door(second, first).read(NODES, asked).value) == ["second"]


def test_a_recorded_time_is_compared_as_a_moment() -> None:
    recorded = door(
        call(
            "sagemaker:ListClusterEvents",
            {"EventTimeAfter": "2026-03-01T00:00:00Z"},
            response={"Events": [{"EventId": "e"}]},
        )
    )
    at = datetime(2026, 3, 1, tzinfo=UTC)
    answer = recorded.read("sagemaker:ListClusterEvents", {"EventTimeAfter": at})
    assert answer.status is Status.OK
    later = recorded.read("sagemaker:ListClusterEvents", {"EventTimeAfter": at.replace(day=2)})
    assert later.reason is Reason.NOT_RECORDED


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        pytest.param(
            {"Code": "AccessDeniedException"}, Status.UNVERIFIED, Reason.DENIED, id="denied"
        ),
        pytest.param(
            {
                "Code": "ValidationException",
                "Message": "ListClusterEvents is only supported for cluster with "
                "NodeProvisioningMode set to Continuous",
            },
            Status.NOT_SUPPORTED,
            Reason.NOT_SUPPORTED,
            id="the mode gate",
        ),
        pytest.param({"Code": "ResourceNotFound"}, Status.NOT_FOUND, None, id="no such cluster"),
        pytest.param(
            {"Code": "SubscriptionRequiredException"},
            Status.UNVERIFIED,
            Reason.NOT_SUBSCRIBED,
            id="no support plan",
        ),
        pytest.param(
            {"Code": "Unheard", "HTTPStatusCode": 503},
            Status.UNVERIFIED,
            Reason.UNREACHABLE,
            id="an unknown fault of the service",
        ),
    ],
)
def test_a_recorded_error_is_a_status_with_its_code(
    error: Mapping[str, object], status: Status, reason: Reason | None
) -> None:
    answer = door(call(NODES, {}, error=error)).read(NODES, {"ClusterName": "a"})
    assert (answer.status, answer.reason) == (status, reason)
    assert (answer.error_code, answer.value) == (error["Code"], None)


def test_a_sequence_answers_in_order_and_repeats_its_last() -> None:
    entries = [{"response": nodes("one")}, {"response": nodes("two")}]
    recorded = door(call(NODES, {}, sequence=entries))
    answers = [ids(recorded.read(NODES, {}).value) for _ in range(3)]
    assert answers == [["one"], ["two"], ["two"]]


def test_a_throttled_answer_is_asked_again() -> None:
    entries = [{"error": {"Code": "ThrottlingException"}}, {"response": nodes("one")}]
    assert ids(door(call(NODES, {}, sequence=entries)).read(NODES, {}).value) == ["one"]
    always = door(call(NODES, {}, error={"Code": "ThrottlingException"})).read(NODES, {})
    assert (always.status, always.reason) == (Status.UNVERIFIED, Reason.THROTTLED)


def test_recorded_pages_are_read_to_the_last() -> None:
    recorded = door(
        call(NODES, {}, response=nodes("one", NextToken="t")),
        call(NODES, {"NextToken": "t"}, response=nodes("two")),
    )
    answer = recorded.read(NODES, {})
    assert (ids(answer.value), answer.pages, answer.status) == (["one", "two"], 2, Status.OK)


def test_a_reply_that_goes_on_unrecorded_is_partial() -> None:
    answer = door(call(NODES, {}, response=nodes("one", NextToken="t"))).read(NODES, {})
    assert (ids(answer.value), answer.status) == (["one"], Status.PARTIAL)
    assert answer.reason is Reason.NOT_RECORDED


def test_what_was_not_recorded_is_not_checked_and_never_empty() -> None:
    answer = door().read(NODES, {"ClusterName": "a"})
    assert (answer.status, answer.reason) == (Status.NOT_CHECKED, Reason.NOT_RECORDED)
    assert answer.value is None
    assert "sagemaker:ListClusterNodes" in answer.notes[0]


def test_an_answer_without_rows_is_complete_and_empty() -> None:
    assert door(call(NODES, {}, response=nodes())).read(NODES, {}).status is Status.OK_EMPTY


def test_a_call_of_another_region_does_not_answer() -> None:
    health = call(
        "health:DescribeEvents",
        {},
        region="us-east-1",
        response={"events": [{"arn": "a"}]},
    )
    recorded = door(health)
    assert recorded.read("health:DescribeEvents", {}, region="us-east-1").status is Status.OK
    assert recorded.read("health:DescribeEvents", {}).reason is Reason.NOT_RECORDED


@pytest.mark.parametrize(
    "operation",
    ["sagemaker:DeleteCluster", "ec2:TerminateInstances", "s3:GetObject", "ListClusters", ""],
)
def test_an_operation_outside_the_list_is_refused(operation: str) -> None:
    with pytest.raises(NotReadOnly, match="read operations"):
        door().read(operation, {})


def test_the_same_question_has_the_same_evidence_id_in_any_order() -> None:
    recorded = door(call(NODES, {}, response=nodes("one")))
    one = recorded.read(NODES, {"ClusterName": "a", "SortBy": "NAME"})
    other = recorded.read(NODES, {"SortBy": "NAME", "ClusterName": "a"})
    assert one.evidence == other.evidence
    assert one.evidence.startswith("ev-")


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({"operation": "X", "params": {}, "response": {}}, id="no service"),
        pytest.param({"service": "ec2", "operation": "X"}, id="no answer"),
        pytest.param({"service": "ec2", "operation": "X", "sequence": []}, id="empty sequence"),
        pytest.param({"service": "ec2", "operation": "X", "response": []}, id="a list as reply"),
    ],
)
def test_a_call_that_is_none_is_a_value_error(raw: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"X|service"):
        read_calls([raw])
