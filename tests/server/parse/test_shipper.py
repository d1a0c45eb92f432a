"""What a stream carries: its name promises, its lines confirm (coverage.md)."""

from collections.abc import Iterator

import pytest

from gpuvet.model.coverage import Shipper
from gpuvet.parse.shipper import shipper_of, shipper_of_name

NODE = "i-0aa11bb22cc33dd44"
KERNEL = "Feb 23 16:24:18 host kernel: ena: link up"
SYSTEMD = "Feb 23 16:24:18 host systemd[1]: Started x."


@pytest.mark.parametrize(
    ("stream", "shipper"),
    [
        (f"ip-10-0-38-23.{NODE}.system-messages", Shipper.HOST_SYSLOG),
        (f"ip-10-0-38-23.{NODE}.syslog", Shipper.HOST_SYSLOG),
        ("ip-10-1-2-3.us-west-2.compute.internal-host.messages", Shipper.HOST_SYSLOG),
        (f"messages/{NODE}", Shipper.HOST_SYSLOG),
        ("hyperpod-i-0aa11bb22cc33dd44-messages", Shipper.HOST_SYSLOG),
        ("ip-10-1-2-3.us-west-2.compute.internal-host.dmesg", Shipper.KERNEL_ONLY),
        (f"/customer/kernel/{NODE}", Shipper.KERNEL_ONLY),
        ("kernel.log", Shipper.KERNEL_ONLY),
        (f"journal/{NODE}", Shipper.JOURNAL_ALL),
        (f"SagemakerHealthMonitoringAgent/workers/{NODE}", Shipper.HMA),
        (f"LifecycleConfig/workers/{NODE}", Shipper.SERVICE),
        ("DeepHealthCheckResults/1a2b", Shipper.SERVICE),
        ("ClusterMetrics/slurm", Shipper.SERVICE),
        (f"ip-10-0-38-23.{NODE}.slurmd", Shipper.SERVICE),
        (f"ip-10-0-38-23.{NODE}.cloud-init-output", Shipper.SERVICE),
        (f"ip-10-0-38-23.{NODE}.clustermgtd", Shipper.SERVICE),
        ("ip-10-1-2-3-dataplane.systemd.kubelet.service", Shipper.SERVICE),
        ("ip-10-1-2-3-host.secure", Shipper.SERVICE),
        ("ip-10-1-2-3-application.var.log.containers.a_b_c-1.log", Shipper.APP),
        (NODE, Shipper.UNKNOWN),
    ],
)
def test_a_streams_name_promises_what_it_carries(stream: str, shipper: Shipper) -> None:
    assert shipper_of_name(stream) is shipper


def test_the_group_speaks_where_the_stream_says_nothing() -> None:
    assert shipper_of_name(NODE, "/ops/fleet/kernel") is Shipper.KERNEL_ONLY


@pytest.mark.parametrize(
    ("stream", "samples", "shipper"),
    [
        pytest.param(NODE, [KERNEL, SYSTEMD], Shipper.HOST_SYSLOG, id="kernel and another"),
        pytest.param("kernel", [KERNEL, SYSTEMD], Shipper.HOST_SYSLOG, id="the name was too small"),
        pytest.param(NODE, [KERNEL], Shipper.KERNEL_ONLY, id="the kernel alone"),
        pytest.param("messages", [KERNEL] * 12, Shipper.KERNEL_ONLY, id="name was too large"),
        pytest.param("messages", [KERNEL], Shipper.HOST_SYSLOG, id="one line proves nothing"),
        pytest.param("messages", [], Shipper.HOST_SYSLOG, id="no sample"),
        pytest.param(NODE, [SYSTEMD], Shipper.UNKNOWN, id="no kernel line"),
        pytest.param(
            NODE,
            [
                '{"_TRANSPORT":"kernel","MESSAGE":"a"}',
                '{"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"sshd","MESSAGE":"b"}',
            ],
            Shipper.JOURNAL_ALL,
            id="journal with several transports",
        ),
        pytest.param(
            NODE, ['{"_TRANSPORT":"kernel","MESSAGE":"a"}'], Shipper.KERNEL_ONLY, id="its kernel"
        ),
        pytest.param(NODE, ["[    1.000000] a"], Shipper.KERNEL_ONLY, id="dmesg"),
        pytest.param(
            NODE, ['{"HealthMonitoringAgentDetectionEvent":"HealthEvent"}'], Shipper.HMA, id="agent"
        ),
        pytest.param("x.slurmd", [KERNEL, SYSTEMD], Shipper.SERVICE, id="a service stays one"),
    ],
)
def test_sampled_lines_confirm_or_correct_the_name(
    stream: str, samples: list[str], shipper: Shipper
) -> None:
    assert shipper_of(stream, samples) is shipper


def test_no_more_than_fifty_lines_are_looked_at() -> None:
    def lines() -> Iterator[str]:
        yield from [KERNEL] * 50
        raise AssertionError

    assert shipper_of(NODE, lines()) is Shipper.KERNEL_ONLY
