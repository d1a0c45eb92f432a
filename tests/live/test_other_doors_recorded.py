"""What both doors answered, recorded: a case folder gives the answer that the account gave."""

import json
import zipfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from live.test_other_doors import (
    DROPPING,
    FAULTY,
    FELL_OFF,
    IDLE,
    STALE,
    busy_cluster,
    objects,
)
from prometheus_world import (
    ACCOUNT,
    EKS,
    NODES,
    NOW,
    REGION,
    WORKSPACE,
    World,
    case_of,
    every_minute,
    host_of,
    hyperpod,
)
from recordings import MODES, record, replay

from gpuvet.aws.door import AwsDoor, Page
from gpuvet.case import load_case
from gpuvet.model.audit import LostCause
from gpuvet.model.case import FileKind, FileStatus
from gpuvet.model.evidence import Envelope, Reason
from gpuvet.model.verdict import Verdict
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked
from gpuvet.record.local_map import read_map


class Recorder:
    """A door that keeps each answer as a case's recorded call; see `AwsDoor`."""

    def __init__(self, behind: AwsDoor) -> None:
        self.behind = behind
        self.calls: list[dict[str, Any]] = []

    def read(
        self, operation: str, params: Mapping[str, Any], *, region: str | None = None
    ) -> Envelope[tuple[Page, ...]]:
        """See `AwsDoor.read`."""
        answer = self.behind.read(operation, params, region=region)
        call: dict[str, Any] = {
            "service": answer.service,
            "operation": answer.operation,
            "params": json.loads(answer.params),
        }
        if answer.error_code is not None:
            self.calls.append({**call, "error": {"Code": answer.error_code}})
        elif answer.value is not None:
            self.calls += [{**call, "response": page} for page in answer.value]
        return answer


def folder_of(recorder: Recorder, folder: Path) -> Path:
    """Write what was recorded as a case."""
    header = {
        "format": "gpuvet-case/1",
        "now": NOW.isoformat(),
        "cluster": "train-a",
        "region": "us-west-2",
        "account": "111122223333",
        "orchestrator": "hyperpod_eks",
        "question": "The job crashed, what happened?",
    }
    (folder / "case.json").write_text(json.dumps(header), encoding="utf-8")
    calls = json.dumps({"calls": recorder.calls}, default=str)
    (folder / "calls.json").write_text(calls, encoding="utf-8")
    return folder


def test_a_replay_of_both_doors_gives_the_lives_answer(tmp_path: Path) -> None:
    recorder = Recorder(busy_cluster())
    question = "The job crashed, what happened?"
    live = incident_report(case_of(recorder, question), Asked(since="4h"), clock=NOW)
    case = load_case(folder_of(recorder, tmp_path))
    assert case.doors == {"prometheus", "kubernetes"}
    again = incident_report(case, Asked(since="4h"), clock=NOW)
    assert again.verdicts == live.verdicts
    assert (again.branch, again.label, again.failure) == (live.branch, live.label, live.failure)
    assert again.outliers == live.outliers
    assert again.cluster_state == live.cluster_state
    sources = {"dcgm_gauge", "kube-state-metrics", "kubernetes", "efa"}
    assert [one for one in again.timeline if one.source in sources] == [
        one for one in live.timeline if one.source in sources
    ]
    unread = [row.what for row in again.not_seen if "prometheus:" in row.what]
    assert unread == []


def test_a_recorded_denial_is_named_as_one(tmp_path: Path) -> None:
    recorder = Recorder(busy_cluster(errors={"prometheus:Labels": ("AccessDeniedException", 403)}))
    incident_report(case_of(recorder), Asked(since="4h"), clock=NOW)
    report = incident_report(load_case(folder_of(recorder, tmp_path)), Asked("4h"), clock=NOW)
    rows = [row for row in report.not_seen if "prometheus:Labels" in row.what]
    assert [(row.reason, "aps:GetLabels" in row.closes_with) for row in rows] == [
        (Reason.DENIED, True)
    ]


def test_lists_as_the_api_prints_them_are_read_and_cut_down(tmp_path: Path) -> None:
    pods = objects()["ListPods"]
    secret: Any = pods[0]["spec"]
    secret["containers"][0]["env"] = [{"name": "TOKEN", "value": "hunter2-hunter2"}]
    raw = {"kind": "PodList", "metadata": {"continue": "more"}, "items": pods}
    nodes: dict[str, Any] = {"kind": "NodeList", "metadata": {}, "items": objects()["ListNodes"]}
    recorder = Recorder(hyperpod())
    recorder.read("sagemaker:DescribeCluster", {})
    recorder.read("sagemaker:ListClusterNodes", {})
    recorder.calls += [
        {"service": "kubernetes", "operation": "ListPods", "params": {}, "response": raw},
        {"service": "kubernetes", "operation": "ListNodes", "params": {}, "response": nodes},
    ]
    case = load_case(folder_of(recorder, tmp_path))
    assert {one.kind for one in case.kube} == {"Pod", "Node"}
    assert "hunter2" not in str([one.body for one in case.kube])
    report = incident_report(case, Asked(since="4h"), clock=NOW)
    assert report.verdicts[DROPPING] is Verdict.REPLACE


def matrix(metric: str, values: Mapping[str, Any], **labels: str) -> dict[str, Any]:
    """Return an answer of query_range as the API prints it: one series a GPU of each node."""
    start = NOW - timedelta(hours=4)
    result: list[dict[str, Any]] = [
        {
            "metric": {
                "__name__": metric,
                "Hostname": host_of(node),
                "gpu": str(gpu),
                "pci_bus_id": f"00000000:{gpu + 16:02x}:00.0",
                "pod": f"llm-{gpu}",
                **labels,
            },
            "values": [
                [at.timestamp(), str(value)]
                for at, value in every_minute(start, NOW, values.get(node, values[""]))
            ],
        }
        for node in NODES
        for gpu in range(8)
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def lost_then(at: datetime) -> float:
    return 79 if at >= FELL_OFF else 0


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """Return a case whose metrics somebody saved by hand."""
    recorder = Recorder(World(hyperpod(), workspaces=()))
    for operation in ("DescribeCluster", "ListClusterNodes"):
        recorder.read(f"sagemaker:{operation}", {})
    folder = folder_of(recorder, tmp_path)
    answers = {
        "util.json": matrix("DCGM_FI_DEV_GPU_UTIL", {IDLE: 0, "": 97}),
        "xid.json": matrix(
            "DCGM_FI_DEV_XID_ERRORS",
            {FAULTY: lost_then, STALE: 31, "": 0},
        ),
    }
    for name, answer in answers.items():
        (folder / name).write_text(json.dumps(answer), encoding="utf-8")
    return folder


def test_answers_saved_by_hand_are_recognised_by_their_content(dumps: Path) -> None:
    case = load_case(dumps)
    kinds = {one.path: (one.kind, one.status) for one in case.files}
    assert kinds["util.json"] == (FileKind.PROMETHEUS, FileStatus.READ)
    assert kinds["xid.json"] == (FileKind.PROMETHEUS, FileStatus.READ)


def test_answers_saved_by_hand_say_what_the_workspace_would(dumps: Path) -> None:
    report = audit_report(load_case(dumps), Asked(since="4h"), clock=NOW)
    assert [(row.node, row.cause, row.gpu_hours) for row in report.lost.rows] == [
        (IDLE, LostCause.IDLE, 32.0)
    ]
    incident = incident_report(load_case(dumps), Asked(since="4h"), clock=NOW)
    assert incident.verdicts == {
        IDLE: Verdict.NOT_OBSERVABLE,
        FAULTY: Verdict.REBOOT,
        STALE: Verdict.NOT_OBSERVABLE,
        DROPPING: Verdict.NOT_OBSERVABLE,
    }
    told = [one for one in incident.timeline if one.source == "dcgm_gauge"]
    assert len(told) == 8
    assert {(one.node, one.at) for one in told} == {(FAULTY, FELL_OFF)}


def test_of_a_nodes_conditions_only_ready_counts(dumps: Path) -> None:
    answer = matrix(
        "kube_node_status_condition", {"": 0}, condition="MemoryPressure", status="true"
    )
    (dumps / "conditions.json").write_text(json.dumps(answer), encoding="utf-8")
    report = incident_report(load_case(dumps), Asked(since="4h"), clock=NOW)
    assert not [one for one in report.timeline if one.source == "kube-state-metrics"]


ODD: list[Mapping[str, Any]] = [
    {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": 1}]}},
    {"status": "success", "data": {"resultType": "vector", "result": [7, None, {}]}},
    {"status": "success", "data": {"resultType": "matrix", "result": []}, "warnings": ["x"]},
]


@pytest.mark.parametrize("answer", ODD)
def test_answers_of_odd_content_say_nothing_and_stop_nothing(
    dumps: Path, answer: Mapping[str, Any]
) -> None:
    (dumps / "odd.json").write_text(json.dumps(answer), encoding="utf-8")
    report = incident_report(load_case(dumps), Asked(since="4h"), clock=NOW)
    assert report.verdicts[FAULTY] is Verdict.REBOOT


SCENARIO: Mapping[str, Any] = {
    "account_id": ACCOUNT,
    "region": REGION,
    "now": NOW.isoformat(),
    "question": "The job crashed, what happened?",
    "request": {
        "cluster": "train-a",
        "window": {"start": (NOW - timedelta(hours=4)).isoformat(), "end": NOW.isoformat()},
    },
}


@pytest.mark.parametrize("name", ["verdict", "incident", "audit"])
def test_a_redacted_recording_of_both_doors_mapped_back_is_the_live_answer(
    name: str, tmp_path: Path
) -> None:
    kept = record(SCENARIO, busy_cluster(), MODES[name], tmp_path / "case.zip")
    again = replay(SCENARIO, MODES[name], kept.written.path)
    assert kept.written.map is not None
    assert read_map(kept.written.map).restored(again) == kept.answer
    with zipfile.ZipFile(kept.written.path) as archive:
        text = " ".join(archive.read(one).decode() for one in archive.namelist())
    assert "ROW_REMAP" in text or "prometheus" in text
    own = (*NODES, "ip-10-0-0-1", "10.0.0.1", WORKSPACE, "train-a", EKS, ACCOUNT, "GPU-5f1c2a3")
    assert [one for one in own if one in text] == []
