"""Recorded scenarios as live accounts: the same door, narrowed and counted as a live one is."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuvet.aws.door import AwsDoor
from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import read_metric_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.case import Case
from gpuvet.case.live_case import live_case
from gpuvet.model.target import Target
from gpuvet.model.untyped import object_at, text_at
from gpuvet.modes.window import Asked

SCENARIOS = sorted((Path(__file__).parents[1] / "cases" / "scenarios").glob("s*.json"))


def document(path: Path) -> Mapping[str, Any]:
    """Return a scenario as written."""
    read: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def door(scenario: Mapping[str, Any]) -> RecordedAws:
    """Return the account of a scenario."""
    account, region = scenario["account_id"], scenario["region"]
    stores = StoreAnswers(
        read_log_store(scenario["log_store"]),
        read_metric_store(scenario["metric_store"]),
        account=account,
        region=region,
    )
    return RecordedAws(
        read_calls(scenario["calls"]),
        account=account,
        region=region,
        now=now(scenario),
        stores=stores,
    )


def now(scenario: Mapping[str, Any]) -> datetime:
    """Return the clock of a scenario."""
    return datetime.fromisoformat(scenario["now"])


def as_live(scenario: Mapping[str, Any], aws: AwsDoor) -> Case:
    """Return the cluster of a scenario as a live case over a door."""
    return live_case(
        aws,
        Target(cluster=scenario["request"]["cluster"]),
        now=now(scenario),
        region=scenario["region"],
        account=scenario["account_id"],
        question=scenario["question"],
    )


def asked(scenario: Mapping[str, Any]) -> Asked:
    """Return the window of a scenario's request, as a caller would give it."""
    request = object_at(scenario, "request")
    window = object_at(request, "window")
    return Asked(
        since=text_at(window, "start"),
        until=text_at(window, "end"),
        failure_at=text_at(request, "failure_at"),
    )
