"""The one measurement an answer asks for is about what the question complains of."""

import json
from datetime import UTC, datetime
from pathlib import Path

from gpuvet.case import load_case
from gpuvet.model.report import IncidentReport
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked

SCENARIOS = Path(__file__).parents[2] / "cases" / "scenarios"


def denied(scenario: str, service: str, operation: str, folder: Path) -> IncidentReport:
    """Return the report over a scenario with one operation denied."""
    (path,) = SCENARIOS.glob(f"{scenario}-*.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    asked = {"service": service, "operation": operation, "params": {}}
    error = {"Code": "AccessDeniedException", "Message": "no", "HTTPStatusCode": 403}
    kept = [c for c in document["calls"] if (c["service"], c["operation"]) != (service, operation)]
    document["calls"] = [*kept, {**asked, "error": error}]
    target = folder / "case.json"
    target.write_text(json.dumps(document), encoding="utf-8")
    return incident_report(load_case(target), Asked(), clock=datetime(2026, 11, 12, tzinfo=UTC))


def test_for_a_lost_node_it_is_who_changed_the_cluster_not_how_ranks_talked(
    tmp_path: Path,
) -> None:
    report = denied("s06", "cloudtrail", "LookupEvents", tmp_path)

    (line,) = [x for x in report.markdown.splitlines() if x.startswith("Deciding measurement")]
    assert line == "Deciding measurement: cloudtrail:LookupEvents by event name from 6 h before."


def test_for_a_slow_job_it_stays_with_the_first_branch_that_was_not_seen(tmp_path: Path) -> None:
    report = denied("s05", "cloudwatch", "GetMetricData", tmp_path)

    (line,) = [x for x in report.markdown.splitlines() if x.startswith("Deciding measurement")]
    assert "client-side stat" in line
