"""Folders as people send them about nodes that did not come: from files to branch and verdict."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuvet.case import load_case
from gpuvet.model.cause import Branch, Label
from gpuvet.model.report import IncidentReport
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked

LATE = datetime(2026, 11, 30, tzinfo=UTC)
ONE, TWO = "i-04b2008d490839cb1", "i-09aadaf7c3691565e"
MANAGER = "2026-03-05 18:22:22,010 - [slurm_plugin.clustermgtd:_manage] - WARNING - "
FAILED = "Found the following bootstrap failure nodes: (x2) ['gpu-dy-p5-1', 'gpu-dy-p5-2']"
PAIRED = (
    "Nodes are now configured with instances: (x2) "
    f"[\"('gpu-dy-p5-1', EC2Instance(id='{ONE}', private_ip='10.0.8.17'))\", "
    f"\"('gpu-dy-p5-2', EC2Instance(id='{TWO}', private_ip='10.0.8.18'))\"]"
)
SUBNET = {"SubnetId": "subnet-0aaaabbbbccccdddd", "VpcId": "vpc-0aaaabbbbccccdddd"}


def answered(folder: Path, files: dict[str, str], question: str) -> IncidentReport:
    for name, text in files.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    return incident_report(load_case(folder, question=question), Asked(), clock=LATE)


def leading(report: IncidentReport) -> tuple[Branch | None, Label]:
    return report.branch, report.label


def routes(*, leads_out: bool) -> str:
    way = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "State": "active"}
    table = {
        "RouteTableId": "rtb-1",
        "VpcId": SUBNET["VpcId"],
        "Associations": [{"SubnetId": SUBNET["SubnetId"]}],
        "Routes": [{"DestinationCidrBlock": "10.0.0.0/16"}, *([way] if leads_out else [])],
    }
    return json.dumps({"RouteTables": [table]})


def timeouts(*, leads_out: bool) -> dict[str, str]:
    return {
        "clustermgtd.log": f"{MANAGER}{PAIRED}\n{MANAGER}{FAILED}",
        f"cloud_init_output_{ONE}.log": "2026-03-05T17:52:01Z cloud-init[1]: Connect timeout on "
        'endpoint URL: "https://dynamodb.us-west-2.amazonaws.com/"',
        "describe_subnets.json": json.dumps(
            {"Subnets": [{**SUBNET, "AvailableIpAddressCount": 9}]}
        ),
        "describe_route_tables.json": routes(leads_out=leads_out),
        "describe_vpc_endpoints.json": json.dumps(
            {"VpcEndpoints": [{"ServiceName": "com.amazonaws.us-west-2.s3"}]}
        ),
    }


def test_a_missing_way_to_a_service_is_proven_and_every_failed_node_is_left_alone(
    tmp_path: Path,
) -> None:
    report = answered(tmp_path, timeouts(leads_out=False), "Nodes never come up. Why?")
    assert leading(report) == (Branch.CAPACITY, Label.PROVEN)
    assert {k: v.value for k, v in report.verdicts.items()} == {
        ONE: "LEAVE ALONE",
        TWO: "LEAVE ALONE",
    }


def test_a_timeout_where_there_is_a_way_out_proves_nothing(tmp_path: Path) -> None:
    report = answered(tmp_path, timeouts(leads_out=True), "Nodes never come up. Why?")
    assert leading(report)[1] is not Label.PROVEN


def test_one_line_about_missing_capacity_is_a_log_and_not_an_aws_error(tmp_path: Path) -> None:
    line = (
        "2026-03-05 17:50:10,400 - [slurm_plugin.instance_manager:_launch_instances] - ERROR - "
        "Encountered exception when launching instances for nodes (x1) ['gpu-dy-p5-1']: An error "
        "occurred (InsufficientInstanceCapacity) when calling the RunInstances operation"
    )
    report = answered(tmp_path, {"slurm_resume.log": line}, "Our nodes do not start. Why?")
    assert leading(report) == (Branch.CAPACITY, Label.PROVEN)
    assert [(f.kind, f.status) for f in report.files] == [("parallelcluster log", "read")]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(7, (Branch.CAPACITY, Label.PROVEN), id="it failed"),
        pytest.param(0, None, id="it succeeded"),
    ],
)
def test_a_custom_action_is_judged_by_its_exit_status(
    tmp_path: Path, status: int, expected: tuple[Branch, Label] | None
) -> None:
    files = {
        "clustermgtd.log": MANAGER + FAILED,
        f"cloud_init_output_{ONE}.log": "2026-03-05T17:50:55Z Cloud-init v. 22.2 running\n"
        f"2026-03-05T17:52:56Z post_install.sh: exit status {status}",
    }
    report = answered(tmp_path, files, "The nodes fail to start. Why?")
    assert (leading(report) == expected) if expected else (report.label is not Label.PROVEN)


def test_measured_addresses_come_before_the_services_words(tmp_path: Path) -> None:
    group = {
        "InstanceGroupName": "workers",
        "InstanceType": "ml.p5.48xlarge",
        "CurrentCount": 3,
        "TargetCount": 4,
    }
    cluster = {
        "ClusterName": "train-z",
        "NodeProvisioningMode": "Continuous",
        "InstanceGroups": [group],
        "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:us-west-2:111122223333:cluster/z"}},
        "VpcConfig": {"Subnets": [SUBNET["SubnetId"]]},
    }
    event = {
        "EventId": "e1",
        "InstanceGroupName": "workers",
        "EventTime": "2026-03-09T10:00:00Z",
        "Description": "Failed to provision EC2 Instance in Cluster train-z and InstanceGroup w",
        "EventLevel": "Error",
        "FailureMessage": "We currently do not have sufficient capacity to launch new instances.",
    }
    files = {
        "describe_cluster.json": json.dumps(cluster),
        "list_cluster_events.json": json.dumps({"Events": [event]}),
        "describe_subnets.json": json.dumps(
            {"Subnets": [{**SUBNET, "AvailableIpAddressCount": 9}]}
        ),
        "now.txt": "2026-03-09T10:30:00Z",
    }
    report = answered(tmp_path, files, "The fourth node fails to start. Why?")
    assert leading(report) == (Branch.CAPACITY, Label.PROVEN)
    row = next(b for b in report.branches if b.branch is Branch.CAPACITY)
    assert row.why.startswith("workers has 3 of 4 nodes and no room for 1 more")
    assert "competing: HyperPod at 2026-03-09T10:00:00Z" in row.why


def test_a_kernel_upgrade_without_the_client_module_leads_over_the_mount_it_broke(
    tmp_path: Path,
) -> None:
    kernel = "6.1.130-139.amzn2023.x86_64"
    files = {
        f"messages_{ONE}.log": f"2026-03-09T02:39:11Z {ONE} kernel: Linux version {kernel} (gcc)\n"
        f"2026-03-09T02:40:11Z {ONE} modprobe: FATAL: Module lustre not found in directory "
        f"/lib/modules/{kernel}\n"
        f"2026-03-09T02:40:12Z {ONE} systemd: fsx.mount: Failed with result 'exit-code'.",
        "dnf.log": f"2026-03-08T22:10:11Z SUBDEBUG Upgraded: kernel-{kernel}\n"
        "2026-03-08T22:10:12Z SUBDEBUG Upgraded: nvidia-fabricmanager-570.1-1.x86_64",
    }
    report = answered(tmp_path, files, "FSx fails to mount since the reboot last night. Why?")
    assert leading(report) == (Branch.CHANGE, Label.PROVEN)
    assert set(report.verdicts) == {ONE}


def test_eventbridge_events_in_a_file_warn_of_the_instances_they_name(tmp_path: Path) -> None:
    events = [
        {
            "detail-type": "EC2 Capacity Reservation Instance Interruption Warning",
            "source": "aws.ec2",
            "time": "2026-03-04T10:50:02Z",
            "detail": {"instance-id": name, "instance-termination-time": "2026-03-04T11:00:00Z"},
        }
        for name in (ONE, TWO)
    ]
    block = {
        "CapacityReservationId": "cr-0aaaabbbbccccdddd",
        "ReservationType": "capacity-block",
        "State": "expired",
        "EndDate": "2026-03-04T11:30:00Z",
        "TotalInstanceCount": 2,
    }
    instances = [
        {
            "InstanceId": name,
            "State": "terminated",
            "CapacityReservationId": block["CapacityReservationId"],
        }
        for name in (ONE, TWO)
    ]
    lines = "\n".join(
        f"2026-03-04T11:00:1{i}Z {name} systemd-logind: Power key pressed short."
        for i, name in enumerate((ONE, TWO))
    )
    files = {
        "warnings.json": json.dumps(events, indent=1),
        "describe_capacity_reservations.json": json.dumps({"CapacityReservations": [block]}),
        "describe_instances.json": json.dumps({"Instances": instances}),
        "messages.log": lines + "\n" + lines.replace("Power key pressed short.", "shutting"),
        "now.txt": "2026-03-04T12:00:00Z",
    }
    report = answered(tmp_path, files, "Both nodes disappeared at once. Why?")
    assert leading(report) == (Branch.CAPACITY, Label.PROVEN)
