"""When a node existed: first start, stop, and whether HyperPod's agent runs on it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case import KubeObject, load_case, nodes
from gpuvet.case.kube_state import agent_runs
from gpuvet.model.coverage import CoverageStatus, HourState
from gpuvet.modes.evidence import gather
from gpuvet.modes.window import Asked, resolve

NOW = datetime(2026, 8, 19, 15, 0, tzinfo=UTC)
NODE = "i-0aaaaaaaaaaaaaa01"
LAUNCH = "2026-08-19T10:00:00Z"


def instance(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (members of a reply)
    own = {
        "InstanceId": NODE,
        "InstanceType": "p5.48xlarge",
        "LaunchTime": LAUNCH,
        "State": {"Name": "running"},
        **changes,
    }
    return {"Reservations": [{"Instances": [own]}]}


def bins(*hours: int) -> dict[str, Any]:
    counts = {f"2026-08-19T{hour:02}:00Z": 40 for hour in hours}
    stream = {"node": NODE, "stream": f"system-messages/{NODE}", "hourly_counts": counts}
    return {
        "group": "/ops/system",
        "window_utc": ["2026-08-19T06:00Z", "2026-08-19T14:00Z"],
        "bins": [stream],
    }


def gaps(room: Path, reply: dict[str, Any], *hours: int) -> list[tuple[int, int, HourState]]:
    (room / "instances.json").write_text(json.dumps(reply), encoding="utf-8")
    (room / "bins.json").write_text(json.dumps(bins(*hours)), encoding="utf-8")
    case = load_case(room)
    asked = Asked(since="2026-08-19T06:00:00Z", until="2026-08-19T14:00:00Z")
    (node,) = gather(case, resolve(case.meta, asked, NOW)).evidence.nodes
    (source,) = node.coverage.sources
    return [(gap.start.hour, gap.end.hour, gap.state) for gap in source.gaps]


ROOT = {
    "RootDeviceName": "/dev/xvda",
    "BlockDeviceMappings": [
        {"DeviceName": "/dev/xvda", "Ebs": {"AttachTime": "2026-08-01T00:00:00Z"}},
        {"DeviceName": "/dev/sdb", "Ebs": {"AttachTime": "2026-07-01T00:00:00Z"}},
    ],
}
CARD = {
    "NetworkInterfaces": [
        {"Attachment": {"DeviceIndex": 0, "AttachTime": "2026-08-01T00:00:00Z"}},
        {"Attachment": {"DeviceIndex": 1, "AttachTime": "2026-07-01T00:00:00Z"}},
    ]
}


@pytest.mark.parametrize("told", [ROOT, CARD], ids=["root volume", "first network card"])
def test_hours_before_the_last_start_of_an_older_instance_are_open(
    told: dict[str, Any], tmp_path: Path
) -> None:
    found = gaps(tmp_path, instance(**told), *range(10, 16))
    assert [(start, state) for start, _, state in found] == [(6, HourState.UNKNOWN_STATE)]


def test_hours_before_the_only_start_are_not_asked_for(tmp_path: Path) -> None:
    attached = {"NetworkInterfaces": [{"Attachment": {"DeviceIndex": 0, "AttachTime": LAUNCH}}]}
    assert gaps(tmp_path, instance(**attached), *range(10, 16)) == []


def test_hours_in_which_an_instance_is_stopped_are_not_asked_for(tmp_path: Path) -> None:
    stopped = instance(
        State={"Name": "stopped"},
        StateTransitionReason="User initiated (2026-08-19 12:00:00 GMT)",
    )
    running = gaps(tmp_path, instance(), 10, 11)
    assert gaps(tmp_path, stopped, 10, 11) == []
    assert [state for _, _, state in running] == [HourState.EMPTY]


def pod(name: str, host: str, phase: str = "Running", *, ready: bool = True) -> KubeObject:
    status = {"phase": phase, "containerStatuses": [{"ready": ready}]}
    body = {"metadata": {"name": name}, "spec": {"nodeName": host}, "status": status}
    return KubeObject("Pod", "pods.json", body)


AGENT, HOST = "health-monitoring-agent-x7k2p", f"hyperpod-{NODE}"


@pytest.mark.parametrize(
    ("pods", "runs"),
    [
        pytest.param([pod(AGENT, HOST)], True, id="runs"),
        pytest.param([pod(AGENT, HOST, "Failed")], False, id="failed"),
        pytest.param([pod(AGENT, HOST, ready=False)], False, id="not ready"),
        pytest.param([pod(AGENT, HOST, "Failed"), pod(AGENT, HOST)], True, id="started again"),
        pytest.param([pod(AGENT, "another")], None, id="listed on another node only"),
        pytest.param([pod("coredns-1", HOST)], None, id="no pod of it"),
        pytest.param([], None, id="no pod at all"),
    ],
)
def test_whether_the_health_agent_runs(pods: list[KubeObject], runs: bool | None) -> None:
    assert agent_runs(pods, (NODE, HOST)) is runs


def test_the_silence_of_an_agent_that_does_not_run_is_worth_nothing(tmp_path: Path) -> None:
    listed = {
        "ClusterNodeSummaries": [
            {
                "InstanceGroupName": "gpu",
                "InstanceId": NODE,
                "InstanceType": "ml.p5.48xlarge",
                "LaunchTime": "2026-08-01T00:00:00Z",
                "InstanceStatus": {"Status": "Running"},
            }
        ]
    }
    body = {"apiVersion": "v1", "kind": "Pod", **pod(AGENT, HOST, "Failed").body}
    for name, document in (("nodes", listed), ("pods", body)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    group = {"InstanceGroupName": "gpu", "InstanceType": "ml.p5.48xlarge", "CurrentCount": 1}
    cluster = {
        "ClusterName": "train-a",
        "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc123def456",
        "ClusterStatus": "InService",
        "InstanceGroups": [group],
        "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:us-west-2:111122223333:cluster/a"}},
    }
    (tmp_path / "cluster.json").write_text(json.dumps(cluster), encoding="utf-8")
    case = load_case(tmp_path)

    (node,) = gather(case, resolve(case.meta, Asked(), NOW)).evidence.nodes

    assert [n.node for n in nodes(case)] == [NODE]
    (agent,) = [one for one in node.coverage.sources if one.source == "HMA"]
    assert (agent.status, agent.reason) == (
        CoverageStatus.NOT_OBSERVABLE,
        "the health agent does not run",
    )
