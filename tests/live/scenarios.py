"""Recorded scenarios as live accounts: the same door, narrowed and counted as a live one is."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuvet.aws.budget import SCAN_GB
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.log_store import read_log_store
from gpuvet.aws.metric_store import read_metric_store
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.aws.store_answers import StoreAnswers
from gpuvet.case import Case
from gpuvet.case.live_case import live_case
from gpuvet.model.target import Target
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


def as_live(scenario: Mapping[str, Any], aws: AwsDoor, *, max_scan_gb: float = SCAN_GB) -> Case:
    """Return the cluster of a scenario as a live case over a door."""
    return live_case(
        aws,
        Target(cluster=scenario["request"]["cluster"]),
        now=now(scenario),
        region=scenario["region"],
        account=scenario["account_id"],
        question=scenario["question"],
        max_scan_gb=max_scan_gb,
    )


def asked(scenario: Mapping[str, Any]) -> Asked:
    """Return the window of a scenario's request, as a caller would give it."""
    window: Mapping[str, Any] = scenario["request"].get("window") or {}
    failure = scenario["request"].get("failure_at")
    return Asked(since=window.get("start"), until=window.get("end"), failure_at=failure)
