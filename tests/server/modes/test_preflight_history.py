"""History of a preflight, orchestrator by orchestrator, through whole reports."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case import load_case
from gpuvet.model.preflight import HistoryRow
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords

SCENARIOS = Path(__file__).parents[2] / "cases" / "scenarios"
LATE = datetime(2027, 1, 1, tzinfo=UTC)
Document = dict[str, Any]


def document(name: str) -> Document:
    found: Document = json.loads(next(SCENARIOS.glob(f"{name}-*.json")).read_text(encoding="utf-8"))
    return found


S07, S01, S08 = document("s07"), document("s01"), document("s08")
H100, NEW = "i-0171a1b2c3d4e5f61", "i-0171a1b2c3d4e5f72"


def replies(changed: Document, operation: str) -> list[Document]:
    service, _, name = operation.partition(":")
    return [
        call["response"]
        for call in changed["calls"]
        if (call["service"], call["operation"]) == (service, name) and call.get("response")
    ]


def hours_before(changed: Document, hours: float) -> str:
    now = datetime.fromisoformat(changed["now"])
    return f"{now - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def call(
    changed: Document,
    name: str,
    hours: float,
    *,
    asked: Document | None = None,
    answered: Document | None = None,
    by: str = "arn:aws:sts::111122223333:assumed-role/OpsAdmin/dana",
) -> None:
    """Add one call to CloudTrail, some hours before the clock."""
    when = hours_before(changed, hours)
    record = {
        "eventName": name,
        "eventTime": when,
        "requestParameters": asked or {},
        "responseElements": answered or {},
        "userIdentity": {"arn": by},
    }
    own = {
        "EventId": f"{name}-{hours}",
        "EventName": name,
        "EventTime": when,
        "Username": by.rpartition("/")[2],
        "CloudTrailEvent": json.dumps(record),
    }
    for reply in replies(changed, "cloudtrail:LookupEvents"):
        reply["Events"].append(own)


def event(changed: Document, text: str, hours: float, instance: str | None) -> None:
    """Add one HyperPod cluster event."""
    for reply in replies(changed, "sagemaker:ListClusterEvents"):
        reply["Events"].append(
            {
                "EventId": f"00000000-0000-4000-8000-{abs(hash((text, hours))) % 10**12:012}",
                "ClusterName": "zephyr",
                "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/z1x2c3v4b5n6",
                "InstanceGroupName": "h100",
                "ResourceType": "Instance",
                "EventTime": hours_before(changed, hours),
                "Description": text,
                **({"InstanceId": instance} if instance else {}),
            }
        )


def ids(*names: str) -> Document:
    return {"instancesSet": {"items": [{"instanceId": name} for name in names]}}


def launched(cluster: str, *names: str) -> Document:
    tag = {"items": [{"key": "parallelcluster:cluster-name", "value": cluster}]}
    return {"instancesSet": {"items": [{"instanceId": n, "tagSet": tag} for n in names]}}


def denied(changed: Document, operation: str) -> Document:
    service, _, name = operation.partition(":")
    error = {"Code": "AccessDeniedException", "Message": "no", "HTTPStatusCode": 400}
    kept = [c for c in changed["calls"] if (c["service"], c["operation"]) != (service, name)]
    own = {"service": service, "operation": name, "params": {}, "error": error}
    return {**changed, "calls": [own, *kept]}


def history(changed: Document, room: Path, hours: float = 72.0) -> HistoryRow:
    path = room / "scenario.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    found = preflight_report(load_case(path), RunWords(hours=hours), clock=LATE).history
    assert found is not None
    return found


def told(row: HistoryRow) -> list[tuple[tuple[str, ...], bool]]:
    return [(one.nodes, one.counted) for one in row.past]


GONE = "i-0171a1b2c3d4e5f50"


def hyperpod() -> Document:
    changed = deepcopy(S07)
    event(changed, f"Reboot of EC2 Instance {H100} is currently in progress", 100, H100)
    event(changed, f"Termination of EC2 Instance {GONE} is currently in progress", 50.2, GONE)
    event(changed, f"Instance {NEW} is starting as part of instance replacement", 50, NEW)
    call(
        changed,
        "BatchReplaceClusterNodes",
        51,
        asked={"clusterName": "zephyr", "nodeIds": [GONE]},
    )
    return changed


def test_hyperpod_counts_reboots_and_replacements_once_over_events_and_calls(
    tmp_path: Path,
) -> None:
    found = history(hyperpod(), tmp_path)

    assert told(found) == [((GONE, NEW), True), ((H100,), True)]
    assert found.past[0].told_by == ("CloudTrail", "HyperPod cluster events")
    assert (found.events, found.hours_from) == (2, "HyperPod cluster events")


def without_events(recovery: str) -> Document:
    changed = denied(hyperpod(), "sagemaker:ListClusterEvents")
    for reply in replies(changed, "sagemaker:DescribeCluster"):
        reply["NodeRecovery"] = recovery
    return changed


def test_hyperpod_without_its_events_claims_no_hour_and_names_them(tmp_path: Path) -> None:
    found = history(without_events("Automatic"), tmp_path)

    assert (found.events, found.node_hours, found.low) == (0, 0.0, None)
    assert found.said.startswith("too little history: 0 events")
    first = found.sources[0]
    assert (first.source, first.reason) == ("HyperPod cluster events", "denied")
    assert told(found) == [((GONE,), False)]


def test_hyperpod_that_replaces_nothing_by_itself_is_told_whole_by_calls(tmp_path: Path) -> None:
    found = history(without_events("None"), tmp_path)

    assert (found.events, found.hours_from) == (1, "CloudTrail")
    assert told(found) == [((GONE,), True)]


FRESH = "i-0f00000000000000a"
HEAD = "arn:aws:sts::111122223333:assumed-role/tri-b200-RoleHeadNode-1A2B/i-0abcdefabcdefabc0"


def own_nodes(changed: Document) -> list[str]:
    return [
        one["InstanceId"]
        for reply in replies(changed, "ec2:DescribeInstances")
        for reservation in reply["Reservations"]
        for one in reservation["Instances"]
    ]


def slurm() -> Document:
    """Return ParallelCluster with a node that ended and a successor, and ordinary scaling."""
    changed = deepcopy(S01)
    call(changed, "RunInstances", 90, answered=launched("tri-b200", GONE, FRESH), by=HEAD)
    call(changed, "TerminateInstances", 60, asked=ids(GONE))
    call(changed, "RunInstances", 59, answered=launched("tri-b200", "i-0f00000000000000b"), by=HEAD)
    call(changed, "TerminateInstances", 40, asked=ids(FRESH), by=HEAD)
    return changed


def test_parallelcluster_counts_an_end_with_a_successor_and_leaves_scaling_aside(
    tmp_path: Path,
) -> None:
    plain = history(S01, tmp_path)
    found = history(slurm(), tmp_path)

    assert told(found) == [((GONE, "i-0f00000000000000b"), True)]
    assert found.hours_from == "CloudTrail"
    assert len(found.not_counted) == 1
    assert "scaling" in found.not_counted[0]
    # The lives of nodes that are gone add their own hours: 30 and 50 of them.
    assert found.node_hours == pytest.approx(plain.node_hours + 30 + 50, abs=0.2)


def test_parallelcluster_counts_what_status_checks_and_health_say_as_one(tmp_path: Path) -> None:
    changed = deepcopy(S01)
    node = own_nodes(changed)[0]
    for reply in replies(changed, "ec2:DescribeInstanceStatus"):
        own = [one for one in reply["InstanceStatuses"] if one["InstanceId"] != node]
        sick = {"InstanceId": node, "SystemStatus": {"Status": "impaired"}}
        reply["InstanceStatuses"] = [*own, sick]
    arn = "arn:aws:health:us-west-2::event/EC2/X/1"
    for reply in replies(changed, "health:DescribeEvents"):
        reply["events"] = [
            {
                "arn": arn,
                "eventTypeCode": "AWS_EC2_INSTANCE_ISSUE",
                "eventTypeCategory": "issue",
                "service": "EC2",
                "startTime": hours_before(changed, 1),
                "statusCode": "open",
            }
        ]
    for reply in replies(changed, "health:DescribeAffectedEntities"):
        reply["entities"] = [{"eventArn": arn, "entityValue": node}]

    found = history(changed, tmp_path)

    assert told(found) == [((node,), True)]
    assert found.past[0].told_by == ("AWS Health", "EC2 status checks")


def eks() -> Document:
    changed = deepcopy(S08)
    node = own_nodes(changed)[0]
    for reply in replies(changed, "ec2:DescribeInstances"):
        for reservation in reply["Reservations"]:
            for one in reservation["Instances"]:
                one["LaunchTime"] = hours_before(changed, 300)
    call(changed, "RebootInstances", 20, asked=ids(node))
    return changed


def test_eks_counts_a_reboot_by_call(tmp_path: Path) -> None:
    found = history(eks(), tmp_path)

    assert (found.events, found.hours_from) == (1, "CloudTrail")
    assert found.past[0].what == "RebootInstances by dana (OpsAdmin)"


def no_trail(build: Callable[[], Document]) -> Document:
    return denied(build(), "cloudtrail:LookupEvents")


@pytest.mark.parametrize("build", [slurm, eks], ids=["ParallelCluster", "EKS"])
def test_without_cloudtrail_only_hours_of_searched_logs_count(
    build: Callable[[], Document], tmp_path: Path
) -> None:
    whole = history(build(), tmp_path)
    found = history(no_trail(build), tmp_path)

    assert found.hours_from != "CloudTrail"
    assert found.node_hours < whole.node_hours
    reason = next(s.reason for s in found.sources if s.source == "CloudTrail")
    assert reason is not None
    assert reason.startswith("denied: RebootInstances")


def test_a_call_that_reboots_most_nodes_is_maintenance(tmp_path: Path) -> None:
    changed = deepcopy(S01)
    call(changed, "RebootInstances", 20, asked=ids(*own_nodes(changed)))

    found = history(changed, tmp_path)

    assert found.events == 0
    assert "scaling or maintenance" in found.not_counted[0]


def test_a_range_is_shown_from_three_events_and_a_thousand_node_hours(tmp_path: Path) -> None:
    changed = hyperpod()
    for hours in (150, 250):
        text = f"Reboot of EC2 Instance {H100} is currently in progress"
        event(changed, text, hours, H100)
    for reply in replies(changed, "sagemaker:ListClusterNodes"):
        for one in reply["ClusterNodeSummaries"]:
            one["LaunchTime"] = hours_before(changed, 700)
    event(changed, "Instance Group h100 scaled", 700, None)

    found = history(changed, tmp_path)

    assert found.events == 4
    assert found.node_hours >= 1_000
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.high
    assert "interruptions to expect in 72 h (exact Poisson interval, 95 %)" in found.said
    assert "at least, for node logs could not be read in full" in found.said


def test_history_changes_no_status(tmp_path: Path) -> None:
    def statuses(changed: Document) -> dict[str, str]:
        path = tmp_path / "scenario.json"
        path.write_text(json.dumps(changed), encoding="utf-8")
        report = preflight_report(load_case(path), RunWords(hours=72.0), clock=LATE)
        return {one.id: one.status.value for one in report.checks}

    changed = deepcopy(S01)
    for hours in range(20, 90, 10):
        call(changed, "RebootInstances", hours, asked=ids(own_nodes(changed)[0]))
    assert statuses(changed) == statuses(S01)
