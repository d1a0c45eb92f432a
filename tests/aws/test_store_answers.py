"""What a recording's stores answer: queries, events, listings, metrics and CloudTrail."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import read_metric_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.model.evidence import Envelope, Reason, Status

GROUP = "/customer/train-a/kernel"
START = datetime(2026, 3, 2, 4, tzinfo=UTC)
STORE: dict[str, Any] = {
    GROUP: {
        "creationTime": 1770000000000,
        "logGroupClass": "STANDARD",
        "storedBytes": 10,
        "retentionInDays": 30,
        "streams": {
            "host-a.i-0aa11bb22cc33dd44.syslog": {
                "hours": {"2026-03-02T04:00:00Z": 40, "2026-03-02T05:00:00Z": 2},
                "kernel_hours": {"2026-03-02T04:00:00Z": 3},
                "events": [
                    {"timestamp": "2026-03-02T04:12:00Z", "message": "host-a kernel: NVRM: Xid 79"},
                    {"timestamp": "2026-03-02T05:01:00Z", "message": "host-a systemd: Started"},
                ],
            },
            "host-b.i-0bb11bb22cc33dd44.syslog": {"hours": {"2026-03-02T04:00:00Z": 7}},
        },
    },
    "/old": {"logGroupClass": "INFREQUENT_ACCESS", "streams": {"s": {"hours": {}}}},
    "/gone": {"logGroupClass": "DELIVERY", "streams": {}},
}
METRICS = [
    {
        "namespace": "AWS/FSx",
        "metric": "CPUUtilization",
        "dimensions": {"FileSystemId": "fs-1", "FileServer": "MDS0000"},
        "period": 60,
        "stat": "Maximum",
        "unit": "Percent",
        "start": "2026-03-02T04:00:00Z",
        "values": [1.0, None, 3.0, 98.7],
    }
]


def door(*calls: Mapping[str, Any]) -> RecordedAws:
    stores = StoreAnswers(
        read_log_store(STORE),
        read_metric_store(METRICS),
        account="111122223333",
        region="us-west-2",
    )
    recorded = read_calls(calls)
    return RecordedAws(recorded, account="111122223333", region="us-west-2", stores=stores)


def query(recorded: RecordedAws, text: str, **more: object) -> Envelope[Any]:
    params = {
        "logGroupNames": [GROUP],
        "queryString": text,
        "startTime": int(START.timestamp()),
        "endTime": int((START + timedelta(hours=2)).timestamp()),
        **more,
    }
    started = recorded.read("logs:StartQuery", params)
    if started.value is None:
        return started
    return recorded.read("logs:GetQueryResults", {"queryId": started.value[0]["queryId"]})


def rows(answer: Envelope[Any]) -> list[dict[str, str]]:
    return [
        {cell["field"]: cell["value"] for cell in row}
        for page in answer.value or ()
        for row in page["results"]
    ]


def test_lines_per_hour_come_from_the_hours() -> None:
    answer = query(door(), "stats count(*) as lines by @logStream, bin(1h) as hour | sort hour asc")
    assert [(row["@logStream"][:6], row["hour"][11:16], row["lines"]) for row in rows(answer)] == [
        ("host-a", "04:00", "40"),
        ("host-b", "04:00", "7"),
        ("host-a", "05:00", "2"),
    ]


def test_kernel_lines_come_from_the_kernel_hours() -> None:
    answer = query(door(), "filter @message like /kernel:/ | stats count(*) as n by @logStream")
    assert [row["n"] for row in rows(answer)] == ["3"]


def test_text_is_filtered_over_the_events() -> None:
    answer = query(door(), "fields @timestamp, @message | filter @message like /NVRM: Xid/")
    assert rows(answer) == [
        {"@timestamp": "2026-03-02 04:12:00.000", "@message": "host-a kernel: NVRM: Xid 79"}
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('@logStream = "host-b.i-0bb11bb22cc33dd44.syslog"', 0),
        ("@logStream like /i-0aa1/ and not @message like /systemd/", 1),
        ("@message like 'systemd' or @message like /xid/i", 2),
        ('(@message like /Xid/ or @message like /none/) and @logStream != "x"', 1),
        ("@message not like /Xid/", 1),
        ('_TRANSPORT = "kernel"', 0),
    ],
)
def test_filters_join_comparisons(text: str, kept: int) -> None:
    assert len(rows(query(door(), f"fields @message | filter {text}"))) == kept


@pytest.mark.parametrize(
    "text",
    [
        "parse @message /x/",
        "filter @message",
        "filter @message ~ 3",
        "filter @message like /(/",
        "stats avg(x) by y",
        "stats max(x)",
        "sort !",
        "limit many",
        'filter @logStream in ["a"',
    ],
)
def test_a_query_outside_the_language_is_refused_not_guessed(text: str) -> None:
    answer = query(door(), text)
    assert (answer.status, answer.error_code) == (Status.UNVERIFIED, "MalformedQueryException")


def test_a_limit_cuts_rows_and_the_count_still_says_how_many_there_were() -> None:
    answer = query(door(), "fields @message | limit 1")
    assert len(rows(answer)) == 1
    assert answer.value is not None
    assert answer.value[0]["statistics"]["resultCount"] == 2.0


def test_results_come_in_pages_of_the_asked_size() -> None:
    recorded = door()
    params = {
        "logGroupNames": [GROUP],
        "queryString": "fields @message",
        "startTime": int(START.timestamp()),
        "endTime": int(START.timestamp()) + 7200,
    }
    started = recorded.read("logs:StartQuery", params)
    assert started.value is not None
    asked = {"queryId": started.value[0]["queryId"], "maxItems": 1}
    assert recorded.read("logs:GetQueryResults", asked).pages == 2


def test_an_unknown_query_or_group_does_not_exist() -> None:
    missing = door().read("logs:GetQueryResults", {"queryId": "no"})
    assert missing.status is Status.NOT_FOUND
    assert query(door(), "fields @message", logGroupNames=["/none"]).status is Status.NOT_FOUND


def test_a_recorded_error_outranks_the_store() -> None:
    denied = {
        "service": "logs",
        "operation": "StartQuery",
        "params": {},
        "error": {"Code": "AccessDeniedException"},
    }
    answer = query(door(denied), "fields @message")
    assert (answer.status, answer.reason) == (Status.UNVERIFIED, Reason.DENIED)


@pytest.mark.parametrize(
    ("params", "messages"),
    [
        ({}, 2),
        ({"filterPattern": "Xid"}, 1),
        ({"filterPattern": '"NVRM: Xid" 79'}, 1),
        ({"filterPattern": "?Xid ?Started"}, 2),
        ({"filterPattern": "-Xid"}, 1),
        ({"startTime": int((START + timedelta(hours=1)).timestamp() * 1000)}, 1),
        ({"logStreamNamePrefix": "host-b"}, 0),
        ({"logStreamNames": ["host-a.i-0aa11bb22cc33dd44.syslog"], "limit": 1}, 2),
    ],
)
def test_events_are_filtered_by_words_streams_and_time(
    params: Mapping[str, Any], messages: int
) -> None:
    answer = door().read("logs:FilterLogEvents", {"logGroupName": GROUP, **params})
    assert sum(len(page["events"]) for page in answer.value or ()) == messages
    assert answer.pages == (2 if "limit" in params else 1)


def test_a_json_filter_pattern_is_not_answered_from_a_recording() -> None:
    asked = {"logGroupName": GROUP, "filterPattern": '{ $.level = "error" }'}
    assert door().read("logs:FilterLogEvents", asked).reason is Reason.NOT_RECORDED


def test_events_of_one_stream_have_no_stream_name() -> None:
    asked = {"logGroupName": GROUP, "logStreamName": "host-a.i-0aa11bb22cc33dd44.syslog"}
    answer = door().read("logs:GetLogEvents", asked)
    assert answer.value is not None
    assert [sorted(event) for event in answer.value[0]["events"]] == [["message", "timestamp"]] * 2


@pytest.mark.parametrize(
    ("group", "operation"), [("/old", "GetLogEvents"), ("/gone", "StartQuery")]
)
def test_a_class_that_cannot_be_read_this_way_is_refused(group: str, operation: str) -> None:
    params = {"logGroupName": group, "logStreamName": "s", "queryString": "fields @message"}
    answer = door().read(f"logs:{operation}", {**params, "startTime": 0, "endTime": 1})
    assert answer.status is Status.UNVERIFIED


def test_a_pattern_that_is_not_recorded_is_answered_from_the_store_without_class() -> None:
    default: dict[str, Any] = {
        "service": "logs",
        "operation": "DescribeLogGroups",
        "params": {},
        "response": {"logGroups": [{"logGroupName": "/default"}]},
    }
    recorded = door(default)
    by_pattern = recorded.read("logs:DescribeLogGroups", {"logGroupNamePattern": "train-a"})
    assert by_pattern.value == (
        {
            "logGroups": [
                {
                    "logGroupName": GROUP,
                    "creationTime": 1770000000000,
                    "arn": f"arn:aws:logs:us-west-2:111122223333:log-group:{GROUP}:*",
                }
            ]
        },
    )
    nothing = recorded.read("logs:DescribeLogGroups", {"logGroupNamePattern": "TRAIN"})
    assert nothing.status is Status.OK_EMPTY
    by_prefix = recorded.read("logs:DescribeLogGroups", {"logGroupNamePrefix": GROUP})
    assert by_prefix.value is not None
    assert by_prefix.value[0]["logGroups"][0]["retentionInDays"] == 30
    everything = recorded.read("logs:DescribeLogGroups", {})
    assert everything.value == ({"logGroups": [{"logGroupName": "/default"}]},)


def test_pattern_and_prefix_together_are_a_bad_question() -> None:
    asked = {"logGroupNamePattern": "a", "logGroupNamePrefix": "b"}
    answer = door().read("logs:DescribeLogGroups", asked)
    assert answer.error_code == "InvalidParameterException"


def test_streams_honour_prefix_order_and_limit() -> None:
    recorded = door()
    asked = {"logGroupName": GROUP, "logStreamNamePrefix": "host-b"}
    one = recorded.read("logs:DescribeLogStreams", asked)
    assert one.value is not None
    assert [row["logStreamName"][:6] for row in one.value[0]["logStreams"]] == ["host-b"]
    newest = recorded.read(
        "logs:DescribeLogStreams",
        {"logGroupName": GROUP, "orderBy": "LastEventTime", "descending": True, "limit": 1},
    )
    assert [page["logStreams"][0]["logStreamName"][:6] for page in newest.value or ()] == [
        "host-a",
        "host-b",
    ]
    both = {**asked, "orderBy": "LastEventTime"}
    refused = recorded.read("logs:DescribeLogStreams", both)
    assert refused.error_code == "InvalidParameterException"


def test_metrics_are_listed_by_name_and_dimensions() -> None:
    recorded = door()
    found = recorded.read("cloudwatch:ListMetrics", {"Dimensions": [{"Name": "FileSystemId"}]})
    assert found.value is not None
    assert found.value[0]["Metrics"][0]["MetricName"] == "CPUUtilization"
    none = recorded.read("cloudwatch:ListMetrics", {"Namespace": "AWS/EC2"})
    assert none.status is Status.OK_EMPTY


def metric_question(**change: object) -> dict[str, object]:
    metric = {
        "Namespace": "AWS/FSx",
        "MetricName": "CPUUtilization",
        "Dimensions": [
            {"Name": "FileServer", "Value": "MDS0000"},
            {"Name": "FileSystemId", "Value": "fs-1"},
        ],
    }
    stat = {"Metric": metric, "Period": 60, "Stat": "Maximum", **change}
    return {
        "MetricDataQueries": [{"Id": "m", "MetricStat": stat}],
        "StartTime": START,
        "EndTime": START + timedelta(hours=1),
        "ScanBy": "TimestampAscending",
    }


def test_missing_datapoints_are_absent_not_zero() -> None:
    answer = door().read("cloudwatch:GetMetricData", metric_question())
    assert answer.value is not None
    result = answer.value[0]["MetricDataResults"][0]
    assert result["Values"] == [1.0, 3.0, 98.7]
    assert result["Timestamps"][1] == START + timedelta(minutes=2)


def test_a_longer_period_is_rolled_up() -> None:
    answer = door().read("cloudwatch:GetMetricData", metric_question(Period=300))
    assert answer.value is not None
    assert answer.value[0]["MetricDataResults"][0]["Values"] == [98.7]


def test_a_statistic_that_was_not_recorded_is_not_made_up() -> None:
    answer = door().read("cloudwatch:GetMetricData", metric_question(Stat="Average"))
    assert (answer.status, answer.reason) == (Status.NOT_CHECKED, Reason.NOT_RECORDED)


def trail(*names: str) -> list[dict[str, object]]:
    return [
        {
            "EventId": f"{name}-{place}",
            "EventName": name,
            "EventSource": "sagemaker.amazonaws.com",
            "EventTime": f"2026-03-02T0{place}:00:00Z",
        }
        for place, name in enumerate(names, start=1)
    ]


def looked_up(params: Mapping[str, Any]) -> list[str]:
    events = trail("UpdateCluster", "BatchReplaceClusterNodes")
    calls = [
        {
            "service": "cloudtrail",
            "operation": "LookupEvents",
            "params": {
                "LookupAttributes": [
                    {"AttributeKey": "EventName", "AttributeValue": event["EventName"]}
                ]
            },
            "response": {"Events": [event]},
        }
        for event in events
    ]
    default: dict[str, Any] = {
        "service": "cloudtrail",
        "operation": "LookupEvents",
        "params": {},
        "response": {"Events": []},
    }
    answer = door(*calls, default).read("cloudtrail:LookupEvents", params)
    return [event["EventName"] for page in answer.value or () for event in page["Events"]]


def attribute(key: str, value: str) -> dict[str, object]:
    return {"LookupAttributes": [{"AttributeKey": key, "AttributeValue": value}]}


@pytest.mark.parametrize(
    ("params", "names"),
    [
        pytest.param(
            {}, ["BatchReplaceClusterNodes", "UpdateCluster"], id="all of them, newest first"
        ),
        pytest.param(
            {"StartTime": datetime(2026, 3, 2, 1, 30, tzinfo=UTC)},
            ["BatchReplaceClusterNodes"],
            id="in the time range",
        ),
        pytest.param(attribute("EventName", "UpdateCluster"), ["UpdateCluster"], id="by name"),
        pytest.param(attribute("EventName", "DeleteCluster"), [], id="a name without events"),
        pytest.param(
            attribute("EventSource", "sagemaker.amazonaws.com"),
            ["BatchReplaceClusterNodes", "UpdateCluster"],
            id="by source",
        ),
    ],
)
def test_cloudtrail_is_filtered_from_all_recorded_events(
    params: Mapping[str, Any], names: list[str]
) -> None:
    assert looked_up(params) == names
