"""Lines of clustermgtd, slurm, cloud-init and lifecycle scripts, and ParallelCluster's events."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.model.bootstrap import LaunchFault, ServiceEvent, ServiceRecord
from gpuvet.parse.cluster_log import bootstrap_names, read_service_lines, service_of
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.launch_faults import fault_in_words
from gpuvet.parse.service_lines import NEEDLES, PATTERN

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MANAGER = "2026-05-09 11:02:40,311 - [slurm_plugin.clustermgtd:_manage] - WARNING - "


def read_one(text: str) -> ServiceRecord | None:
    found = read_service_lines(
        [RawLine(text)], node="", stream="head.clustermgtd", reference_time=NOW
    )
    return found[0] if found else None


def told(record: ServiceRecord | None) -> dict[str, Any]:
    assert record is not None
    place = {"node", "stream", "line", "raw", "at", "time_quality", "source"}
    return record.model_dump(exclude=place, exclude_defaults=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            MANAGER + "Ignoring instance i-04b2008d490839cb1 because not all EC2 info are "
            "available, exception: KeyError, message: 'PrivateIpAddress'",
            {
                "event": ServiceEvent.INSTANCE_IGNORED,
                "instances": ("i-04b2008d490839cb1",),
                "code": "PrivateIpAddress",
            },
            id="an ignored instance names the key EC2 did not return",
        ),
        pytest.param(
            MANAGER
            + "Found the following bootstrap failure nodes: (x2) ['gpu-st-p5-17', 'gpu-st-p5-18']",
            {
                "event": ServiceEvent.BOOTSTRAP_FAILED,
                "names": ("gpu-st-p5-17", "gpu-st-p5-18"),
                "queues": ("gpu",),
                "count": 2,
            },
            id="bootstrap failures name nodes and with them the queue",
        ),
        pytest.param(
            MANAGER + "Partitions bootstrap failure count: {'gpu': {'p5': 10}}, cluster will be "
            "set into protected mode if protected failure count reach threshold 10",
            {
                "event": ServiceEvent.FAILURE_COUNT,
                "queues": ("gpu",),
                "count": 10,
                "threshold": 10,
            },
            id="a count has its threshold",
        ),
        pytest.param(
            MANAGER + "Placing bootstrap failure partitions to INACTIVE: ['gpu', 'cpu']",
            {"event": ServiceEvent.PROTECTED_MODE, "queues": ("gpu", "cpu")},
            id="protected mode names its queues",
        ),
        pytest.param(
            MANAGER + "Found unhealthy static nodes with no backing instance: train-st-p5-1, "
            "train-st-p5-2",
            {
                "event": ServiceEvent.NO_BACKING_INSTANCE,
                "names": ("train-st-p5-1", "train-st-p5-2"),
                "queues": ("train",),
            },
            id="nodes without an instance",
        ),
        pytest.param(
            "[2026-05-09T11:04:02.870] node gpu-dy-p5-3 not resumed by ResumeTimeout(1800) - "
            "marking down and power_save",
            {
                "event": ServiceEvent.RESUME_TIMEOUT,
                "names": ("gpu-dy-p5-3",),
                "queues": ("gpu",),
            },
            id="slurmctld gives up on a node",
        ),
        pytest.param(
            MANAGER + "Error in CreateFleet request: InsufficientInstanceCapacity",
            {
                "event": ServiceEvent.LAUNCH_FAILED,
                "code": "InsufficientInstanceCapacity",
                "fault": LaunchFault.CAPACITY,
            },
            id="capacity was missing",
        ),
        pytest.param(
            MANAGER + "Encountered exception when launching instances for nodes (x1) "
            "['q-dy-c-1']: An error occurred (VcpuLimitExceeded) when calling the RunInstances "
            "operation",
            {
                "event": ServiceEvent.LAUNCH_FAILED,
                "code": "VcpuLimitExceeded",
                "fault": LaunchFault.QUOTA,
                "names": ("q-dy-c-1",),
                "queues": ("q",),
            },
            id="a quota was met",
        ),
        pytest.param(
            MANAGER + "An error occurred (UnauthorizedOperation) when calling the RunInstances "
            "operation: not authorized",
            {
                "event": ServiceEvent.LAUNCH_FAILED,
                "code": "UnauthorizedOperation",
                "fault": LaunchFault.PERMISSION,
            },
            id="a permission was missing",
        ),
        pytest.param(
            MANAGER + "(InsufficientFreeAddressesInSubnet) when calling the RunInstances operation",
            {
                "event": ServiceEvent.LAUNCH_FAILED,
                "code": "InsufficientFreeAddressesInSubnet",
                "fault": LaunchFault.ADDRESSES,
            },
            id="addresses were missing",
        ),
        pytest.param(
            MANAGER
            + 'Connect timeout on endpoint URL: "https://dynamodb.us-west-2.amazonaws.com/"',
            {
                "event": ServiceEvent.CONNECT_TIMEOUT,
                "service": "dynamodb",
                "endpoint": "dynamodb.us-west-2.amazonaws.com",
            },
            id="an endpoint did not answer",
        ),
        pytest.param(
            "2026-03-05T17:50:56Z post_install.sh: exit status 0",
            {"event": ServiceEvent.ACTION_EXIT, "action": "post_install.sh"} | {"exit_status": 0},
            id="a script that succeeded says so",
        ),
        pytest.param(
            "Failed to execute OnNodeConfigured script 1 s3://bucket/setup.sh, return code: 127",
            {
                "event": ServiceEvent.ACTION_EXIT,
                "action": "OnNodeConfigured",
                "exit_status": 127,
            },
            id="a custom action that failed",
        ),
        pytest.param(
            "[SageMaker] Downloading lifecycle scripts from s3://bucket/lcs",
            {"event": ServiceEvent.SCRIPTS_STARTED},
            id="lifecycle scripts begin",
        ),
        pytest.param(
            "[SageMaker] The lifecycle scripts succeeded.",
            {"event": ServiceEvent.SCRIPTS_SUCCEEDED},
            id="lifecycle scripts succeed",
        ),
        pytest.param(
            "[SageMaker] The lifecycle scripts failed with exit code 2",
            {
                "event": ServiceEvent.SCRIPTS_FAILED,
                "exit_status": 2,
                "action": "lifecycle scripts",
            },
            id="lifecycle scripts fail",
        ),
        pytest.param(
            "2026-03-05T17:50:55Z Cloud-init v. 22.2 finished at Thu, 05 Mar 2026 17:50:55 +0000.",
            {"event": ServiceEvent.BOOT_FINISHED},
            id="cloud-init finishes",
        ),
        pytest.param(
            "Mar  9 02:40:11 ip-10-0-0-1 modprobe: FATAL: Module lustre not found in directory "
            "/lib/modules/6.1.130-139.aws",
            {
                "event": ServiceEvent.MODULE_MISSING,
                "action": "lustre",
                "code": "6.1.130-139.aws",
            },
            id="a kernel lacks the client module",
        ),
        pytest.param(
            '{"datetime": "2026-05-09T11:04:02Z", "scheduler": "slurm", "event-type": '
            '"node-launch-failure-count", "detail": {"failure-type": "ice-failures", "count": 2, '
            '"error-details": {"InsufficientCapacity": {"nodes": [{"name": "q-dy-c-1"}]}}}}',
            {
                "event": ServiceEvent.LAUNCH_FAILED,
                "names": ("q-dy-c-1",),
                "count": 2,
                "code": "ice-failures",
                "fault": LaunchFault.CAPACITY,
            },
            id="an event counts failed launches",
        ),
        pytest.param(
            '{"datetime": "2026-05-09T11:04:02Z", "event-type": "custom-action-error", "detail": '
            '{"action": "OnNodeStart", "error": {"exit_code": 3}}}',
            {"event": ServiceEvent.ACTION_EXIT, "action": "OnNodeStart", "exit_status": 3},
            id="an event tells of a custom action",
        ),
    ],
)
def test_a_line_says_what_happened(text: str, expected: dict[str, Any]) -> None:
    assert told(read_one(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(MANAGER + "Node bootstrap looks fine", id="talk about bootstraps"),
        pytest.param("exit status 1", id="a status of nothing"),
        pytest.param(
            MANAGER + "An error occurred (UnauthorizedOperation) when calling the DescribeVolumes "
            "operation",
            id="a permission that no launch needed",
        ),
        pytest.param(
            '{"event-type": "node-launch-failure-count", "detail": {"failure-type": '
            '"ice-failures", "count": 0}}',
            id="a count of zero",
        ),
        pytest.param(
            '{"event-type": "compute-node-health-check", "detail": {"health-check-result": 0}}',
            id="a health check that passed",
        ),
        pytest.param('{"event-type": "compute-node-idle-time", "detail": {"count": 5}}', id="idle"),
    ],
)
def test_a_line_that_says_nothing_gives_nothing(text: str) -> None:
    assert read_one(text) is None


def test_nodes_and_instances_that_a_line_pairs_stay_paired() -> None:
    record = read_one(
        MANAGER + "Nodes are now configured with instances: (x1) [\"('gpu-st-p5-17', "
        "EC2Instance(id='i-04b2008d490839cb1', private_ip='10.0.8.17'))\"]"
    )
    assert told(record) == {
        "event": ServiceEvent.ASSIGNED,
        "instances": ("i-04b2008d490839cb1",),
        "names": ("gpu-st-p5-17",),
        "pairs": (("gpu-st-p5-17", "i-04b2008d490839cb1"),),
    }


def test_only_ignored_and_failed_instances_become_nodes_of_a_case() -> None:
    records = [
        read_one(MANAGER + "Terminating instances ['i-0aaaaaaaaaaaaaa01']"),
        read_one(
            MANAGER + "Ignoring instance i-0aaaaaaaaaaaaaa02 because not all EC2 info are "
            "available, exception: KeyError, message: 'PrivateIpAddress'"
        ),
    ]
    assert list(bootstrap_names(r for r in records if r)) == ["i-0aaaaaaaaaaaaaa02"]


def test_an_events_own_time_is_kept() -> None:
    record = read_one(
        '{"datetime": "2026-05-09T11:04:02Z", "event-type": "protected-mode-error-count", '
        '"detail": {"failure-type": "static-replacement-timeout-error", "count": 1}}'
    )
    assert record is not None
    assert record.at == datetime(2026, 5, 9, 11, 4, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("host", "service"),
    [
        pytest.param("ec2.us-west-2.amazonaws.com", "ec2", id="the plain form"),
        pytest.param("bucket.s3.us-west-2.amazonaws.com", "s3", id="a bucket before the service"),
        pytest.param("example.org", None, id="another's host"),
    ],
)
def test_an_endpoint_names_its_service(host: str, service: str | None) -> None:
    assert service_of(host) == service


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        pytest.param(
            "We currently do not have sufficient capacity to launch new ml.p5.48xlarge instances.",
            LaunchFault.CAPACITY,
            id="capacity in words",
        ),
        pytest.param(
            "Insufficient free IP addresses in subnet", LaunchFault.ADDRESSES, id="addresses"
        ),
        pytest.param("Failed to create customer ENI", LaunchFault.ADDRESSES, id="interfaces"),
        pytest.param("Request to service failed", None, id="progress noise says no cause"),
    ],
)
def test_a_services_words_say_what_was_missing(message: str, fault: LaunchFault | None) -> None:
    assert fault_in_words(message) is fault


def test_every_kind_of_line_can_be_found_by_pattern_and_by_needle() -> None:
    lines = [
        "Ignoring instance i-1",
        "Found the following bootstrap failure nodes",
        "not resumed by ResumeTimeout",
        "Error in CreateFleet request: InsufficientInstanceCapacity",
        "Connect timeout on endpoint URL",
        "post_install.sh: exit status 0",
        "[SageMaker] Downloading lifecycle scripts",
        "Cloud-init v. 22.2 finished",
        "Module lustre not found in directory",
        "2026-03-09 02:10:11 upgrade kernel 1 2",
        "daemonset/dcgm-exporter rollout started",
        "Capacity Reservation Instance Interruption Warning",
    ]
    assert all(re.search(PATTERN, one) for one in lines)
    assert all(any(needle in one.encode() for needle in NEEDLES) for one in lines)
    assert "/" not in PATTERN


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_reader(text: str) -> None:
    for prefix in ("", MANAGER, '{"event-type": "custom-action-error", "detail": '):
        found = read_service_lines(
            [RawLine(prefix + text)], node="", stream="s", reference_time=NOW
        )
        assert len(found) <= 1
