"""Our own case format: case.json, operator_facts.json, recorded calls, and their schemas."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpuvet.case import load_case, nodes
from gpuvet.case.schemas import SCHEMAS, schema_text
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import FileKind, RunPlan
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Reason, Status

ROOT = Path(__file__).parents[3]
NODE = "i-0aa11bb22cc33dd44"
HEADER: dict[str, Any] = {
    "format": "gpuvet-case/1",
    "question": "Which GPU is bad?",
    "now": "2026-03-02T07:00:00Z",
    "account": "111122223333",
    "region": "us-west-2",
    "cluster": "train-a",
    "orchestrator": "hyperpod_eks",
    "window": {"start": "2026-03-02T03:00:00Z", "end": "2026-03-02T06:00:00Z"},
    "failure_at": "2026-03-02T04:12:00Z",
    "failure_measured": True,
    "run": {"hours": 72},
}
FACTS: dict[str, Any] = {
    "format": "gpuvet-operator-facts/1",
    "nodes": [
        {
            "node": NODE,
            "host": "queue1-dy-p5-1",
            "instance_type": "p5.48xlarge",
            "boots": [{"at": "2026-03-02T04:30:00Z", "kind": "reboot"}],
            "coverage": {"status": "PARTIAL", "empty_hours": ["2026-03-02T05:00:00Z"]},
            "facts": {"gpus_seen": 7},
        }
    ],
    "bus_history": [{"node": NODE, "pci": "0000:53:00", "earlier_events": 0, "earlier_days": 30}],
}


def write(folder: Path, **documents: object) -> Path:
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_a_case_says_its_question_clock_and_window(tmp_path: Path) -> None:
    meta = load_case(write(tmp_path, case=HEADER)).meta
    assert meta.question == "Which GPU is bad?"
    assert (meta.cluster, meta.orchestrator) == ("train-a", Orchestrator.HYPERPOD_EKS)
    assert meta.now is not None
    assert meta.window is not None
    assert (meta.now.hour, meta.now_source) == (7, "case.json")
    assert (meta.window.start.hour, meta.window_padded) == (3, False)
    assert meta.failure_measured
    assert meta.run == RunPlan(hours=72)


def test_the_question_of_the_command_line_replaces_that_of_the_case(tmp_path: Path) -> None:
    case = load_case(write(tmp_path, case=HEADER), question="Ready?")
    assert case.meta.question == "Ready?"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nwo": "2026-03-02T07:00:00Z"}, "nwo"),
        ({"now": "yesterday"}, "now"),
        ({"window": {"start": "2026-03-02T03:00:00Z", "end": "2026-03-02T03:00:00Z"}}, "window"),
        ({"orchestrator": "nomad"}, "orchestrator"),
    ],
)
def test_a_misspelt_case_is_refused_by_the_name_of_the_field(
    change: dict[str, object], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableCase, match=words):
        load_case(write(tmp_path, case={**HEADER, **change}))


def test_two_cases_in_one_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCase, match="is a second"):
        load_case(write(tmp_path, one=HEADER, two=HEADER))


def test_operator_facts_are_read_and_name_nodes(tmp_path: Path) -> None:
    case = load_case(write(tmp_path, case=HEADER, anything=FACTS))
    reading = case.facts.of(NODE)
    assert reading is not None
    assert reading.facts.gpus_seen == 7
    assert reading.coverage is not None
    assert case.facts.bus_history[0].earlier_events == 0
    assert [(node.node, node.host) for node in nodes(case)] == [(NODE, "queue1-dy-p5-1")]


def test_operator_facts_that_break_their_form_are_refused(tmp_path: Path) -> None:
    broken = {**FACTS, "nodes": [{"node": NODE, "gpu_expected": "eight"}]}
    with pytest.raises(UnreadableCase, match="gpu_expected"):
        load_case(write(tmp_path, facts=broken))


def test_recorded_calls_and_their_store_are_served(tmp_path: Path) -> None:
    calls: dict[str, Any] = {
        "calls": [
            {
                "service": "sagemaker",
                "operation": "ListClusterEvents",
                "params": {},
                "error": {"Code": "AccessDeniedException"},
            }
        ],
        "log_store": {"/g": {"streams": {}}},
        "metric_store": [],
    }
    case = load_case(write(tmp_path, case=HEADER, calls=calls))
    denied = case.aws.read("sagemaker:ListClusterEvents", {"ClusterName": "train-a"})
    assert denied.reason is Reason.DENIED
    groups = case.aws.read("logs:DescribeLogGroups", {"logGroupNamePattern": "g"})
    assert groups.status is Status.OK
    assert case.aws.read("cloudwatch:ListMetrics", {}).status is Status.OK_EMPTY
    assert denied.account == "111122223333"


def test_calls_that_are_none_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    case = load_case(write(tmp_path, case=HEADER, calls={"calls": [{"service": "ec2"}]}))
    report = next(one for one in case.files if one.path == "calls.json")
    assert report.kind is FileKind.RECORDED_CALLS
    assert "operation" in str(report.reason)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_in_the_references_is_current(name: str) -> None:
    path = ROOT / "references" / "schemas" / name
    assert path.read_text(encoding="utf-8") == schema_text(name)


@pytest.mark.parametrize(
    ("name", "document"),
    [("case.schema.json", HEADER), ("operator_facts.schema.json", FACTS)],
)
def test_what_loads_also_fits_its_schema(name: str, document: dict[str, Any]) -> None:
    jsonschema.validate(document, json.loads(schema_text(name)))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "nwo": 1}, json.loads(schema_text(name)))
