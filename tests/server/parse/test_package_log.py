"""Packages, rollouts and upgrade commands, and EventBridge's warnings."""

import json
from datetime import UTC, datetime

import pytest

from gpuvet.model.capacity import WarningKind
from gpuvet.parse.capacity_events import read_capacity_events
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.node_health import health_words
from gpuvet.parse.package_log import read_package_lines, read_rollout_lines, upgrade_commands

NOW = datetime(2026, 6, 1, tzinfo=UTC)
AT = datetime(2026, 3, 9, 2, 10, 11, tzinfo=UTC)


def packages(*lines: str) -> list[tuple[str, str | None, str | None, datetime | None]]:
    found = read_package_lines(
        [RawLine(one) for one in lines], node="n", stream="s", reference_time=NOW
    )
    return [(one.package, one.old, one.new, one.at) for one in found]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ["2026-03-09 02:10:11 upgrade nvidia-driver-570:amd64 570.133.20-0 570.172.08-0"],
            [("nvidia-driver-570", "570.133.20-0", "570.172.08-0", AT)],
            id="dpkg",
        ),
        pytest.param(
            ["2026-03-09 02:10:11 install linux-image-6.8:amd64 <none> 6.8.0-1"],
            [("linux-image-6.8", None, "6.8.0-1", AT)],
            id="dpkg puts in",
        ),
        pytest.param(
            [
                "Start-Date: 2026-03-09  02:10:11",
                "Upgrade: linux-aws:amd64 (6.8.1, 6.8.2), vim:amd64 (1, 2)",
            ],
            [("linux-aws", "6.8.1", "6.8.2", AT)],
            id="apt history has its time a line before",
        ),
        pytest.param(
            ["2026-03-09T02:10:11Z SUBDEBUG Upgraded: kernel-6.1.1-1.amzn2023.x86_64"],
            [("kernel", None, "6.1.1-1.amzn2023.x86_64", AT)],
            id="dnf",
        ),
        pytest.param(
            ["Mar  9 02:10:11 ip-10-0-0-1 yum[12]: Updated: kernel-5.10.1-1.amzn2.x86_64"],
            [("kernel", None, "5.10.1-1.amzn2.x86_64", AT)],
            id="yum in the system log",
        ),
        pytest.param(
            ["2026-03-09 02:10:11,123 INFO Packages that will be upgraded: vim linux-aws"],
            [("linux-aws", None, None, AT.replace(microsecond=123000))],
            id="unattended upgrades",
        ),
        pytest.param(
            ["2026-03-09 02:10:11 upgrade vim:amd64 1 2"], [], id="an editor breaks no node"
        ),
    ],
)
def test_package_managers_tell_what_changed(
    lines: list[str], expected: list[tuple[str, str | None, str | None, datetime]]
) -> None:
    assert packages(*lines) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "2026-03-10T02:13:05Z daemonset/dcgm-exporter rollout started (image 4.2.0 -> 4.2.3)",
            [("daemonset/dcgm-exporter", "started", "4.2.0", "4.2.3", None)],
            id="a rollout starts",
        ),
        pytest.param(
            "2026-03-10T02:13:05Z daemonset.apps/nvidia-device-plugin restarted",
            [("daemonset/nvidia-device-plugin", "started", None, None, None)],
            id="kubectl restarts one",
        ),
        pytest.param(
            "2026-03-10T02:14:38Z pod dcgm-exporter-x7k2p on ip-10-1-2-3 Ready",
            [("daemonset/dcgm-exporter", "pod ready", None, None, "ip-10-1-2-3")],
            id="a pod is ready",
        ),
        pytest.param(
            "we saw daemonset/dcgm-exporter rollout started yesterday", [], id="somebody's word"
        ),
    ],
)
def test_a_rollout_record_is_stamped(
    text: str, expected: list[tuple[str, str, str | None, str | None, str | None]]
) -> None:
    found = read_rollout_lines([RawLine(text)], node="", stream="s", reference_time=NOW)
    assert [(r.workload, r.step, r.old, r.new, r.on) for r in found] == expected


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        pytest.param("apt-get -y upgrade   # on every node", [1], id="apt-get upgrade"),
        pytest.param("apt-get update && apt-get -y dist-upgrade", [1], id="behind a refresh"),
        pytest.param("#!/bin/sh\nyum -y update\n", [2], id="yum update changes packages"),
        pytest.param("apt-get update\napt-get install -y jq", [], id="lists and one package"),
        pytest.param("# apt-get upgrade", [], id="a comment"),
    ],
)
def test_upgrades_to_whatever_is_newest_are_found_in_scripts(script: str, lines: list[int]) -> None:
    assert [one.line for one in upgrade_commands(script, "on_create.sh")] == lines


def event(name: str, **detail: str) -> str:
    return json.dumps(
        {
            "detail-type": name,
            "source": "aws.ec2",
            "time": "2026-05-09T10:50:02Z",
            "resources": ["arn:aws:ec2:us-west-2:111122223333:instance/i-0d31a0b1c2d3e4f51"],
            "detail": detail,
        }
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Capacity Reservation Instance Interruption Warning", WarningKind.INTERRUPTION),
        ("EC2 Capacity Reservation Instance Interruption Warning", WarningKind.INTERRUPTION),
        ("Capacity Block Expiration Warning", WarningKind.EXPIRATION),
        ("capacity block reservation expiration warning", WarningKind.EXPIRATION),
        ("EC2 Instance State-change Notification", None),
    ],
)
def test_warnings_are_told_by_the_tails_of_their_names(name: str, kind: WarningKind | None) -> None:
    line = event(name, **{"instance-termination-time": "2026-05-09T11:00:00Z"})
    found = read_capacity_events([RawLine(line)], stream="s")
    assert [one.kind for one in found] == ([kind] if kind else [])
    if found:
        assert found[0].instance == "i-0d31a0b1c2d3e4f51"
        assert found[0].ends_at == datetime(2026, 5, 9, 11, 0, tzinfo=UTC)


def test_a_warning_inside_another_record_is_read() -> None:
    inner = event("Capacity Reservation Instance Interruption Warning")
    found = read_capacity_events([RawLine(json.dumps({"message": inner}))], stream="s")
    assert [one.at for one in found] == [datetime(2026, 5, 9, 10, 50, 2, tzinfo=UTC)]


def test_the_overall_health_that_dcgm_printed_is_quoted() -> None:
    words = list(health_words("$ dcgmi health -c\nOverall Health: Healthy\n", "on_node.txt"))
    assert words == ["DCGM on the node, asked by hand: Overall Health: Healthy (on_node.txt)"]
