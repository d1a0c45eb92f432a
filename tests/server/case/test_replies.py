"""AWS replies, exports and objects that lie in a case as files."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case import Case, load_case, nodes, xid_sight
from gpuvet.model.case import Accelerator, FileKind, FileStatus
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.evidence import Reason, Status

NODE = "i-0aa11bb22cc33dd44"
OTHER = "i-0bb11bb22cc33dd44"


def case_of(folder: Path, **documents: Any) -> Case:  # noqa: ANN401 - any JSON
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return load_case(folder)


def test_several_pages_of_one_listing_are_one_answer(tmp_path: Path) -> None:
    case = case_of(
        tmp_path,
        a={"Subnets": [{"SubnetId": "subnet-1"}], "NextToken": "t"},
        b={"Subnets": [{"SubnetId": "subnet-2"}]},
    )
    answer = case.aws.read("ec2:DescribeSubnets", {"SubnetIds": ["subnet-2"]})
    assert answer.value is not None
    assert [row["SubnetId"] for row in answer.value[0]["Subnets"]] == ["subnet-1", "subnet-2"]
    assert answer.status is Status.OK


def test_a_listing_whose_last_page_is_missing_is_partial(tmp_path: Path) -> None:
    case = case_of(tmp_path, a={"Subnets": [{"SubnetId": "s"}], "NextToken": "t"})
    assert case.aws.read("ec2:DescribeSubnets", {}).status is Status.PARTIAL


def test_a_single_object_answers_for_itself_only(tmp_path: Path) -> None:
    cluster: dict[str, Any] = {"ClusterName": "a", "ClusterArn": "arn:a", "InstanceGroups": []}
    case = case_of(tmp_path, a=cluster, b={**cluster, "ClusterName": "b", "ClusterArn": "arn:b"})
    read = case.aws.read
    for name in ("b", "arn:b"):
        answer = read("sagemaker:DescribeCluster", {"ClusterName": name}).value
        assert answer is not None
        assert answer[0]["ClusterName"] == "b"
    other = read("sagemaker:DescribeCluster", {"ClusterName": "c"})
    assert other.reason is Reason.NOT_RECORDED
    assert case.meta.cluster is None  # two of them: neither is guessed


def test_replies_of_several_operations_in_one_file_are_told_apart(tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "Subnets": [{"SubnetId": "s"}],
        "RouteTables": [],
        "SecurityGroups": [],
    }
    case = case_of(tmp_path, vpc=document)
    assert case.files[0].records == 3
    assert case.aws.read("ec2:DescribeSubnets", {}).status is Status.OK
    assert case.aws.read("ec2:DescribeRouteTables", {}).status is Status.OK_EMPTY


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("lookup_events", "cloudtrail:LookupEvents"),
        ("list-cluster-events", "sagemaker:ListClusterEvents"),
    ],
)
def test_an_empty_list_of_events_is_told_by_its_name(
    name: str, operation: str, tmp_path: Path
) -> None:
    assert (
        case_of(tmp_path, **{name: {"Events": []}}).aws.read(operation, {}).status
        is Status.OK_EMPTY
    )


def test_an_empty_list_of_events_without_a_telling_name_answers_nothing(tmp_path: Path) -> None:
    case = case_of(tmp_path, x={"Events": []}, y={"Subnets": [{"SubnetId": "s"}]})
    report = next(one for one in case.files if one.path == "x.json")
    assert report.status is FileStatus.NOT_UNDERSTOOD
    assert "several operations" in str(report.reason)
    for operation in ("cloudtrail:LookupEvents", "sagemaker:ListClusterEvents"):
        assert case.aws.read(operation, {}).reason is Reason.NOT_RECORDED


def test_a_trimmed_event_gets_the_record_its_parameters_belong_in(tmp_path: Path) -> None:
    event = {
        "EventName": "UpdateClusterSoftware",
        "EventTime": "2026-03-09T01:58:02Z",
        "requestParameters": {"clusterName": "train-b"},
    }
    answer = case_of(tmp_path, x={"Events": [event]}).aws.read("cloudtrail:LookupEvents", {})
    assert answer.value is not None
    record = json.loads(answer.value[0]["Events"][0]["CloudTrailEvent"])
    assert record["requestParameters"] == {"clusterName": "train-b"}
    assert record["eventTime"] == "2026-03-09T01:58:02Z"


def test_a_listing_of_groups_never_says_that_another_one_does_not_exist(tmp_path: Path) -> None:
    case = case_of(tmp_path, x={"logGroups": [{"logGroupName": "/a/kernel"}]})
    ask = case.aws.read
    assert ask("logs:DescribeLogGroups", {"logGroupNamePattern": "kern"}).status is Status.OK
    other = ask("logs:DescribeLogGroups", {"logGroupNamePattern": "syslog"})
    assert other.reason is Reason.NOT_RECORDED


def test_events_of_a_log_export_are_lines_of_their_streams(tmp_path: Path) -> None:
    event = {
        "logStreamName": f"host.{NODE}.syslog",
        "timestamp": 1772424718000,
        "ingestionTime": 1772424720000,
        "message": "Mar  2 04:11:58 host kernel: NVRM: Xid (PCI:0000:53:00): 79",
    }
    case = case_of(tmp_path, x={"events": [event], "nextToken": "more"})
    assert (case.files[0].kind, case.files[0].status) == (
        FileKind.LOG_EXPORT,
        FileStatus.PARTLY_READ,
    )
    assert [node.node for node in nodes(case)] == [NODE]


def test_rows_of_a_query_are_lines_of_their_streams(tmp_path: Path) -> None:
    row = [
        {"field": "@timestamp", "value": "2026-03-02 04:11:58.000"},
        {"field": "@log", "value": "111122223333:/g"},
        {"field": "@logStream", "value": f"host.{NODE}.syslog"},
        {"field": "@message", "value": "kernel: NVRM: Xid (PCI:0000:53:00): 79"},
    ]
    case = case_of(tmp_path, x={"status": "Complete", "results": [row]})
    assert case.named == ((NODE, f"host.{NODE}.syslog"),)


def kube_node(**labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "ip-10-1-2-3.ec2.internal",
            "labels": {"node.kubernetes.io/instance-type": "p5.48xlarge", **labels},
        },
        "spec": {"providerID": f"aws:///us-west-2a/{NODE}"},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def test_a_list_of_nodes_as_kubectl_prints_it(tmp_path: Path) -> None:
    label = "sagemaker.amazonaws.com/node-health-status"
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [kube_node(**{label: "UnschedulablePendingReboot"})],
    }
    case = case_of(tmp_path, nodes=listed)
    assert case.files[0].kind is FileKind.KUBE_OBJECT
    reading = case.facts.of(NODE)
    assert reading is not None
    assert reading.facts.health_label == "UnschedulablePendingReboot"
    assert dict(reading.allocatable) == {"nvidia.com/gpu": "8"}
    (node,) = nodes(case)
    assert (node.accelerator, node.orchestrator) == (Accelerator.YES, Orchestrator.HYPERPOD_EKS)


def test_a_job_spec_in_json_is_a_manifest(tmp_path: Path) -> None:
    spec: dict[str, Any] = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}}
    case = case_of(tmp_path, job=spec)
    assert [one.kind for one in case.manifests] == [FileKind.MANIFEST]


def test_yaml_that_is_none_is_kept_for_whoever_checks_it(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("apiVersion: v1\nkind: [Pod\n", encoding="utf-8")
    case = load_case(tmp_path)
    assert case.files[0].status is FileStatus.PARTLY_READ
    assert case.manifests[0].text.startswith("apiVersion")


def test_a_secret_in_a_manifest_is_masked(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: Secret\nstringData: {HF_TOKEN: hf_abcdefghijklmnopqrstuv}\n"
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    assert "hf_abcdef" not in load_case(tmp_path).manifests[0].text


@pytest.mark.parametrize(
    ("document", "name"),
    [
        pytest.param(
            {NODE: {"rdmap79s0": {"retrans_timeout_events": 4, "rx_drops": 0}}},
            "efa counters",
            id="by node and device",
        ),
        pytest.param(
            {"nodes": [{"node": NODE, "device": "rdmap79s0", "retrans_timeout_events": 4}]},
            "efa counters",
            id="rows",
        ),
    ],
)
def test_efa_counters_keep_node_and_name(document: object, name: str, tmp_path: Path) -> None:
    case = case_of(tmp_path, x=document)
    first = case.facts.efa_counters[0]
    assert (first.name, first.value, first.node) == ("retrans_timeout_events", 4.0, NODE)
    assert case.facts.summaries[0].name == name


def test_facts_by_node_keep_their_node_and_null_is_not_read(tmp_path: Path) -> None:
    table = {
        NODE: {"earlier_same_bus_events_last_30d": 2, "reboots_since_event": 1},
        OTHER: {"earlier_same_bus_events_last_7d": None, "visible_gpu_count": 8},
    }
    history = case_of(tmp_path, facts=table).facts.bus_history
    assert [
        (one.node, one.earlier_events, one.earlier_days, one.reboots_since, one.visible_gpus)
        for one in history
    ] == [(NODE, 2, 30, 1, None), (OTHER, None, 7, None, 8)]


def test_a_table_of_no_known_form_is_kept_and_said_to_be_so(tmp_path: Path) -> None:
    case = case_of(tmp_path, x={"weather": {"rain": True, "clouds": []}})
    report = case.files[0]
    assert (report.kind, report.status) == (FileKind.SUMMARY, FileStatus.PARTLY_READ)
    leaves = [(leaf.path, leaf.value, leaf.is_empty) for leaf in case.facts.summaries[0].leaves]
    assert leaves == [(("weather", "rain"), True, False), (("weather", "clouds"), None, True)]


def test_one_node_read_twice_is_one_reading(tmp_path: Path) -> None:
    case = case_of(
        tmp_path,
        a={"nodes": [{"id": NODE, "type": "p5.48xlarge", "gpu_seen": 7}]},
        b={"nodes": [{"node": NODE, "status": "Running", "host": "h"}]},
    )
    (reading,) = case.facts.nodes
    assert (reading.instance_type, reading.host) == ("p5.48xlarge", "h")
    assert (reading.facts.gpus_seen, reading.facts.status) == (7, "Running")
    assert reading.files == ("a.json", "b.json")


def test_a_node_named_by_its_host_is_the_instance_that_has_that_host(tmp_path: Path) -> None:
    host = "ip-10-1-2-3.us-west-2.compute.internal"
    bins: dict[str, Any] = {
        "group": "/g/kernel",
        "window_utc": ["2026-03-02T02:00Z", "2026-03-02T03:00Z"],
        "bins": [{"node": host, "stream": f"{host}-host.messages", "hourly_counts": {}}],
    }
    search: dict[str, Any] = {"query": "NVRM: Xid", "rows": [], "status": "Complete"}
    case = case_of(
        tmp_path,
        bins=bins,
        instances={"Instances": [{"InstanceId": NODE, "PrivateDnsName": host}]},
        node={"apiVersion": "v1", "kind": "Node", "metadata": {"name": host}, "status": {"x": 1}},
        search={**search, "streams": [f"{host}-host.messages"]},
    )
    (node,) = nodes(case)
    assert (node.node, node.host) == (NODE, "ip-10-1-2-3")
    assert case.facts.of(NODE) is not None
    assert [name for name, _ in case.named] == [NODE]
    assert xid_sight(case, NODE).can_say_none


@pytest.mark.parametrize("text", ["2026-03-18T09:00:00Z\n", "2026-03-18T09:00Z"])
def test_a_time_alone_is_the_clock_of_the_case(text: str, tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text(text, encoding="utf-8")
    case = load_case(tmp_path)
    assert case.meta.now is not None
    assert (case.meta.now.hour, case.files[0].kind) == (9, FileKind.CLOCK)
