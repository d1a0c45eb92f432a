"""A recorded list of nodes that goes on, and a raw log shorter than its counts, are named."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpuvet.case import load_case
from gpuvet.model.report import VerdictReport
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

NOW = datetime(2026, 8, 19, 15, 0, tzinfo=UTC)
NODE = "i-0aaaaaaaaaaaaaa01"
EC2 = {
    "Reservations": [
        {
            "Instances": [
                {
                    "InstanceId": NODE,
                    "InstanceType": "p5.48xlarge",
                    "LaunchTime": "2026-08-01T00:00:00Z",
                    "State": {"Name": "running"},
                }
            ]
        }
    ]
}
HYPERPOD = {
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


def report(room: Path, **files: Any) -> VerdictReport:  # noqa: ANN401 (any document)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        suffix = ".log" if isinstance(content, str) else ".json"
        (room / f"{name}{suffix}").write_text(text, encoding="utf-8")
    return verdict_report(load_case(room), Asked(), clock=NOW)


def rows(found: VerdictReport, words: str) -> list[tuple[str, str, bool]]:
    return [
        (row.what, row.closes_with, row.any_node) for row in found.not_seen if words in row.what
    ]


@pytest.mark.parametrize(
    ("reply", "operation", "subject"),
    [
        (EC2, "ec2:DescribeInstances", "instances"),
        (HYPERPOD, "sagemaker:ListClusterNodes", "the nodes HyperPod lists"),
    ],
)
def test_a_list_of_nodes_that_goes_on_is_named(
    reply: dict[str, Any], operation: str, subject: str, tmp_path: Path
) -> None:
    found = report(tmp_path, listing={**reply, "NextToken": "more"})

    assert rows(found, "behind the recorded part") == [
        (
            f"nodes behind the recorded part of {subject} ({operation})",
            f"every page of {operation} in the case",
            True,
        )
    ]


@pytest.mark.parametrize("reply", [EC2, HYPERPOD], ids=["EC2", "HyperPod"])
def test_a_whole_list_of_nodes_is_not(reply: dict[str, Any], tmp_path: Path) -> None:
    assert rows(report(tmp_path, listing=reply), "behind the recorded part") == []


def bins(lines: int) -> dict[str, Any]:
    return {
        "group": "/ops/kernel",
        "window_utc": ["2026-08-19T13:00Z", "2026-08-19T14:00Z"],
        "bins": [
            {
                "node": NODE,
                "stream": f"kernel/{NODE}",
                "hourly_counts": {"2026-08-19T13:00Z": lines, "2026-08-19T14:00Z": lines},
            }
        ],
    }


LINE = f"2026-08-19T13:10:00Z {NODE} kernel: NVRM: Xid (PCI:0000:53:00): 31, pid=9, name=python3\n"


def test_a_raw_log_shorter_than_its_counts_is_said_to_be_an_excerpt(tmp_path: Path) -> None:
    found = report(tmp_path, listing=EC2, hourly_bins=bins(40), kernel=LINE)

    (row,) = [one for one in found.not_seen if one.what.startswith("the rest of kernel.log")]
    assert row.what == "the rest of kernel.log: 1 line in hand, 80 counted"
    assert (row.nodes, row.any_node) == ((NODE,), False)


def test_a_raw_log_as_long_as_its_counts_is_whole(tmp_path: Path) -> None:
    found = report(tmp_path, listing=EC2, hourly_bins=bins(1), kernel=LINE * 2)

    assert not [one for one in found.not_seen if "in hand" in one.what]
