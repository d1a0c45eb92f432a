"""Recorded scenarios against their own reference answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import metric_data, read_metric_store
from gpuvet.aws.reads import READS
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Reason

SCENARIOS = sorted((Path(__file__).parents[1] / "cases" / "scenarios").glob("*.json"))
EACH = pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)


def scenario(path: Path) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def door(document: Mapping[str, Any]) -> RecordedAws:
    account, region = document["account_id"], document["region"]
    stores = StoreAnswers(
        read_log_store(document["log_store"]),
        read_metric_store(document["metric_store"]),
        account=account,
        region=region,
    )
    calls = read_calls(document["calls"])
    return RecordedAws(calls, account=account, region=region, stores=stores)


@EACH
def test_every_reference_query_is_reproduced(path: Path) -> None:
    document = scenario(path)
    recorded = door(document)
    for reference in document["insights"]:
        names = ("logGroupNames", "startTime", "endTime", "queryString")
        started = recorded.read("logs:StartQuery", {name: reference[name] for name in names})
        assert started.value is not None
        answer = recorded.read("logs:GetQueryResults", dict(started.value[0]))
        assert answer.value is not None
        found, wanted = answer.value[0], reference["results"]
        assert (found["results"], found["status"]) == (wanted["results"], wanted["status"])
        for name in ("recordsMatched", "resultCount"):
            assert found["statistics"][name] == wanted["statistics"][name]


@EACH
def test_every_reference_of_metrics_is_reproduced(path: Path) -> None:
    document = scenario(path)
    series = read_metric_store(document["metric_store"])
    for call in document["calls"]:
        if call["operation"] == "GetMetricData":
            found = metric_data(series, call["params"])
            wanted = call["response"]["MetricDataResults"]
            assert [one["Values"] for one in found] == [one["Values"] for one in wanted]
            assert [one["Timestamps"] for one in found] == [
                [as_datetime(at) for at in one["Timestamps"]] for one in wanted
            ]


@EACH
def test_every_listed_read_has_an_answer_and_metrics_are_listed_as_recorded(path: Path) -> None:
    document = scenario(path)
    recorded = door(document)
    served = {"logs:StartQuery", "logs:GetQueryResults", "logs:FilterLogEvents"}
    served |= {"logs:GetLogEvents", "cloudwatch:GetMetricData"}
    for operation in READS.keys() - served:
        region = "us-east-1" if operation.startswith("health:") else None
        answer = recorded.read(operation, {}, region=region)
        assert answer.reason is not Reason.NOT_RECORDED, operation


@EACH
def test_every_recorded_reply_is_served_for_its_own_parameters(path: Path) -> None:
    document = scenario(path)
    recorded = door(document)
    for call in document["calls"]:
        operation = f"{call['service']}:{call['operation']}"
        answer = recorded.read(operation, call["params"], region=call.get("region"))
        if "error" in call:
            assert answer.error_code == call["error"]["Code"]
        else:
            assert answer.value is not None
