"""Lines become records, torn prints are joined, and every line is counted once."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.model.events import (
    AnyRecord,
    Boundary,
    BoundaryKind,
    FabricManagerLine,
    FabricState,
    GpuIdentity,
    HardwareError,
    InforomCorrupted,
    Shutdown,
    Source,
    SxidEvent,
    TimeQuality,
    XidEvent,
)
from gpuvet.parse.joins import PROBE_FORM
from gpuvet.parse.kernel_log import LineCounts, ParsedLog, RawLine, parse_lines
from gpuvet.parse.recognise import LOST_FORM

REFERENCE = datetime(2026, 3, 20, tzinfo=UTC)
AT = datetime(2026, 2, 23, 16, 24, 18, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"
UUID = "GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901"


def parsed(*lines: str | RawLine, node: str = "node", stream: str = "messages") -> ParsedLog:
    return parse_lines(lines, node=node, stream=stream, reference_time=REFERENCE)


def kernel(body: str, second: int = 18) -> str:
    return f"Feb 23 16:24:{second:02} ip-10-1-2-3 kernel: {body}"


def service(name: str, body: str) -> str:
    return f"Feb 23 16:24:18 ip-10-1-2-3 {name}: {body}"


def only(*lines: str) -> AnyRecord:
    (record,) = parsed(*lines).records
    return record


def said(record: AnyRecord) -> dict[str, object]:
    """What a record says beyond where and when it stands."""
    place = {"node", "stream", "group", "line", "raw", "at", "time_quality", "uptime_us", "boot"}
    return record.model_dump(exclude=place, exclude_defaults=True)


def test_a_record_says_where_and_when_it_stands() -> None:
    line = kernel(
        "NVRM: Xid (PCI:0000:53:00): 79, pid=7, name=python3, GPU has fallen off the bus."
    )
    assert parse_lines(
        ["quiet", line], node="n", stream="s", group="g", reference_time=REFERENCE
    ) == ParsedLog(
        records=(
            XidEvent(
                node="n",
                group="g",
                stream="s",
                line=2,
                raw=line,
                at=AT,
                time_quality=TimeQuality.ASSUMED,
                code=79,
                pci="0000:53:00",
                pid=7,
                process="python3",
                text="GPU has fallen off the bus.",
            ),
        ),
        counts=LineCounts(lines=2, understood=1, unrelated=1),
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus.",
            {"code": 79, "pci": "0000:53:00", "text": "GPU has fallen off the bus."},
            id="no pid",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 79", {"code": 79, "pci": "0000:53:00"}, id="bare"
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:A0:1D GPU-I:05 GPU-CI:01): 94, pid=7194, name=python3, Contained: "
            "SM (0x1). RST: No, D-RST: No",
            {
                "code": 94,
                "pci": "0000:a0:1d",
                "gpu_instance": 5,
                "compute_instance": 1,
                "pid": 7194,
                "process": "python3",
                "text": "Contained: SM (0x1). RST: No, D-RST: No",
            },
            id="MIG",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00 GPU-I:05): 45, pid=1, name=a, Ch 00000009",
            {
                "code": 45,
                "pci": "0000:53:00",
                "gpu_instance": 5,
                "pid": 1,
                "process": "a",
                "text": "Ch 00000009",
            },
            id="MIG without compute instance",
        ),
        pytest.param(
            "NVRM: Xid (0000:53:00): 43, Ch 00000020, engmask 00000101",
            {"code": 43, "pci": "0000:53:00", "text": "Ch 00000020, engmask 00000101"},
            id="old brackets",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0018:01:00.0): 43, Ch 00000020",
            {"code": 43, "pci": "0018:01:00", "text": "Ch 00000020"},
            id="another domain, function digit",
        ),
        pytest.param(
            "NVRM: Xid (PCI:00000000:53:00): 43, Ch 00000020",
            {"code": 43, "pci": "0000:53:00", "text": "Ch 00000020"},
            id="eight-digit domain",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 31, pid='<unknown>', name=<unknown>, Ch 00000007",
            {"code": 31, "pci": "0000:53:00", "text": "Ch 00000007"},
            id="unknown pid",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 31, pid=0, name=nvc:[driver], Ch 00000007",
            {
                "code": 31,
                "pci": "0000:53:00",
                "pid": 0,
                "process": "nvc:[driver]",
                "text": "Ch 00000007",
            },
            id="name with colon and brackets",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 31, pid=9, name=ray::Worker Dict, Ch 00000007",
            {
                "code": 31,
                "pci": "0000:53:00",
                "pid": 9,
                "process": "ray::Worker Dict",
                "text": "Ch 00000007",
            },
            id="name with blanks",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 31, pid=9, Ch 00000007",
            {"code": 31, "pci": "0000:53:00", "pid": 9, "text": "Ch 00000007"},
            id="pid without name",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 45, pid=9, name=p, Ch 00000001 caused by previous Xid 149",
            {
                "code": 45,
                "pci": "0000:53:00",
                "pid": 9,
                "process": "p",
                "text": "Ch 00000001 caused by previous Xid 149",
                "root": 149,
            },
            id="root",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x0045",
            {
                "code": 149,
                "pci": "0000:53:00",
                "text": "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x0045",
                "cut": True,
            },
            id="cut before errorStatus",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 31, pid=9, name=py",
            {"code": 31, "pci": "0000:53:00", "pid": 9, "process": "py", "cut": True},
            id="cut after the name",
        ),
        pytest.param(
            "NVRM: Xid (PCI:0000:53:00): 74,",
            {"code": 74, "pci": "0000:53:00", "cut": True},
            id="cut after the code",
        ),
        pytest.param(
            "Xid (PCI:0000:53:00): 79, GPU has fallen off the bus.",
            {"code": 79, "pci": "0000:53:00", "text": "GPU has fallen off the bus."},
            id="tracepoint",
        ),
        pytest.param(
            "NVRM: Xid (PCI:$pci): 74, NVLink: fatal error",
            {"code": 74, "text": "NVLink: fatal error", "source": Source.USER_SPACE},
            id="a script that failed to expand",
        ),
    ],
)
def test_an_xid_core_is_read_in_every_form(body: str, expected: dict[str, object]) -> None:
    record = only(kernel(body))
    assert isinstance(record, XidEvent)
    assert said(record) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Xid (43, pid: 5678)",
        kernel("NVRM: Xid (PCI:0000:53:00"),
        kernel("NVRM: Xid (PCI:0000:53:00):"),
        kernel("NVRM: Xid 79 seen"),
        kernel("NVRM: something nobody listed"),
    ],
)
def test_what_is_not_the_drivers_form_is_no_event_but_is_counted_and_shown(line: str) -> None:
    log = parsed(line)
    assert (log.records, log.counts) == ((), LineCounts(lines=1, not_understood=1))
    assert log.unread == (line,)


@pytest.mark.parametrize(
    ("line", "source"),
    [
        (kernel("NVRM: Xid (PCI:0000:53:00): 79, x"), Source.KERNEL),
        ("NVRM: Xid (PCI:0000:53:00): 79, x", Source.KERNEL),
        (service("root", "NVRM: Xid (PCI:0000:53:00): 79, x"), Source.USER_SPACE),
        (
            (
                '{"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"kernel",'
                '"MESSAGE":"NVRM: Xid (PCI:0000:53:00): 79, x"}'
            ),
            Source.USER_SPACE,
        ),
        ("12,4711,430954509105,-;NVRM: Xid (PCI:0000:53:00): 79, x", Source.USER_SPACE),
        ("[gpu-health] [CRITICAL] XID: NVRM: Xid (PCI:0000:53:00): 79, x", Source.AGENT),
        (service("monitor[7]", "saw NVRM: Xid (PCI:0000:53:00): 79, x"), Source.USER_SPACE),
        (service("nv-hostengine[7]", "saw NVRM: Xid (PCI:0000:53:00): 79, x"), Source.AGENT),
        (service("kernel[0]", "NVRM: Xid (PCI:0000:53:00): 79, x"), Source.KERNEL),
        (service("dmesg", "[430954.509105] NVRM: Xid (PCI:0000:53:00): 79, x"), Source.KERNEL),
        (service("root", "NVRM: GPU 0000:53:00.0: GPU has fallen off the bus."), Source.USER_SPACE),
        (
            "py-12 [003] d..1. 123.456789: nvidia_dev_xid: Xid (PCI:0000:53:00): 79, x",
            Source.KERNEL,
        ),
        (
            f"XidCriticalError: Xid=79 on Device={UUID}; marking device as unhealthy.",
            Source.DEVICE_PLUGIN,
        ),
        ("AcceleratedHardwareReady False NvidiaXID79Error", Source.EKS_CONDITION),
        ("detected XID-79 on the instance, see the log", Source.EKS_CONDITION),
    ],
)
def test_a_record_says_who_wrote_its_line(line: str, source: Source) -> None:
    record = only(line)
    assert isinstance(record, XidEvent)
    assert (record.code, record.source) == (79, source)


def test_a_device_plugin_names_the_gpu_by_uuid_alone() -> None:
    record = only(f"XidCriticalError: Xid=48 on Device={UUID}; marking device as unhealthy.")
    assert said(record) == {"code": 48, "uuid": UUID, "source": Source.DEVICE_PLUGIN}


MMU_HEAD = "NVRM: Xid (PCI:0000:53:00): 31, pid=7, name=p, Ch 00000007, intr 00000000."
MMU_TAIL = "MMU Fault: ENGINE GRAPHICS GPC0 GPCCLIENT_T1_6 faulted @ 0x7f5a_e7504000."
MMU_TYPE = "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
MMU_WHOLE = f"Ch 00000007, intr 00000000. {MMU_TAIL} {MMU_TYPE}"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([kernel(f"{MMU_HEAD} {MMU_TAIL} {MMU_TYPE}")], id="whole"),
        pytest.param([kernel(MMU_HEAD), kernel(f"{MMU_TAIL} {MMU_TYPE}")], id="two lines"),
        pytest.param([kernel(MMU_HEAD), kernel(MMU_TAIL), kernel(MMU_TYPE)], id="three lines"),
        pytest.param([kernel(MMU_HEAD), f"{MMU_TAIL} {MMU_TYPE}"], id="second without a header"),
        pytest.param(
            [
                kernel(MMU_HEAD),
                kernel("ena 0000:00:05.0 eth0: link up"),
                kernel(f"{MMU_TAIL} {MMU_TYPE}"),
            ],
            id="another line between",
        ),
        pytest.param([kernel(f"{MMU_HEAD}\n{MMU_TAIL} {MMU_TYPE}")], id="a newline in the record"),
        pytest.param([kernel(f"{MMU_HEAD}#012{MMU_TAIL} {MMU_TYPE}")], id="rsyslog's escape"),
        pytest.param([kernel(f"{MMU_HEAD}\\x0a{MMU_TAIL} {MMU_TYPE}")], id="kmsg's escape"),
        pytest.param([kernel(f"{MMU_TAIL} {MMU_TYPE}"), kernel(MMU_HEAD)], id="out of order"),
    ],
)
def test_a_torn_mmu_fault_is_one_event_with_its_whole_text(lines: list[str]) -> None:
    log = parsed(*lines)
    (record,) = log.records
    assert isinstance(record, XidEvent)
    assert record.text == MMU_WHOLE
    assert log.counts.not_understood == 0


def test_each_torn_half_goes_to_its_own_event() -> None:
    log = parsed(
        kernel(MMU_HEAD),
        kernel(MMU_TAIL),
        kernel(MMU_HEAD.replace("53", "64")),
        kernel(MMU_TAIL.replace("GPC0", "GPC1")),
    )
    assert [r.text.split()[8] for r in log.records if isinstance(r, XidEvent)] == ["GPC0", "GPC1"]


def test_a_torn_half_without_an_event_is_not_understood() -> None:
    log = parsed(kernel(MMU_TAIL), kernel(MMU_HEAD, second=30))
    assert log.counts == LineCounts(lines=2, understood=1, not_understood=1)


PROBE = (
    "NVRM: The NVIDIA GPU 0000:53:00.0",
    "NVRM: (PCI ID: 10de:2330) installed in this system has",
    "NVRM: fallen off the bus and is not responding to commands.",
)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([kernel(part) for part in PROBE], id="three lines"),
        pytest.param([kernel("\n".join(PROBE))], id="one record"),
        pytest.param([kernel(" ".join(PROBE))], id="one line"),
        pytest.param([kernel(part) for part in reversed(PROBE)], id="out of order"),
    ],
)
def test_a_gpu_lost_at_probe_is_one_79_without_a_number(lines: list[str]) -> None:
    log = parsed(*lines)
    assert [said(record) for record in log.records] == [
        {"code": 79, "pci": "0000:53:00", "text": PROBE_FORM, "source": Source.GPU_LOST}
    ]
    assert log.counts.understood == len(lines)


def test_two_gpus_lost_at_probe_keep_their_own_ids() -> None:
    log = parsed(
        *(kernel(part) for part in PROBE),
        *(kernel(part.replace("0000:53", "0000:64")) for part in PROBE),
    )
    assert [r.pci for r in log.records if isinstance(r, XidEvent)] == ["0000:53:00", "0000:64:00"]


def test_a_filtered_log_with_only_the_end_of_the_probe_form_still_tells_the_loss() -> None:
    record = only(kernel(PROBE[2]))
    assert said(record) == {"code": 79, "text": PROBE_FORM, "source": Source.GPU_LOST}


def test_another_ending_of_the_probe_form_is_no_loss() -> None:
    log = parsed(
        kernel("NVRM: The NVIDIA GPU 0000:53:00.0"),
        kernel("NVRM: (PCI ID: 10de:2330) installed in this system is not supported by the"),
    )
    assert (log.records, log.counts) == ((), LineCounts(lines=2, understood=2))


def test_the_companion_of_a_79_names_the_gpu() -> None:
    record = only(kernel("NVRM: GPU 0000:53:00.0: GPU has fallen off the bus."))
    assert said(record) == {
        "code": 79,
        "pci": "0000:53:00",
        "text": LOST_FORM,
        "source": Source.GPU_LOST,
    }


def test_identity_lines_tie_pci_uuid_and_serial() -> None:
    log = parsed(
        kernel(f"NVRM: GPU at PCI:0000:53:00: {UUID}"),
        kernel("NVRM: GPU Board Serial Number: 1650000000001"),
        kernel("NVRM: GPU 0000:64:00.0: GPU serial number is 1650000000002."),
        kernel("NVRM: GPU Board Serial Number: 1650000000003"),
    )
    assert [said(record) for record in log.records if isinstance(record, GpuIdentity)] == [
        {"pci": "0000:53:00", "uuid": UUID},
        {"pci": "0000:53:00", "uuid": UUID, "serial": "1650000000001"},
        {"pci": "0000:64:00", "serial": "1650000000002"},
        {"serial": "1650000000003"},
    ]


def test_an_sxid_is_one_event_and_its_details_are_none() -> None:
    log = parsed(
        "[131453.740743] nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM "
        "Fault Up",
        "[131453.740744] nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 "
        "egress non-posted PRIV error (First)",
        "[131453.740745] nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Severity 1 Engine "
        "instance 30 Sub-engine instance 00",
        "[131453.740746] nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Data {0x10000000, "
        "0x10000000, 0x00000000}",
        "[131453.740747] nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 10001, Fatal, host error, "
        "instance=0, chiplet=0",
    )
    assert [said(record) for record in log.records if isinstance(record, SxidEvent)] == [
        {
            "code": 20034,
            "switch": 0,
            "switch_pci": "0000:c3:00.0",
            "fatal": True,
            "link": 30,
            "text": "Link 30 LTSSM Fault Up",
        },
        {
            "code": 12028,
            "switch": 3,
            "switch_pci": "0000:c4:00.0",
            "fatal": False,
            "link": 32,
            "text": "Link 32 egress non-posted PRIV error (First)",
        },
        {
            "code": 10001,
            "switch": 0,
            "switch_pci": "0000:c3:00.0",
            "fatal": True,
            "text": "host error, instance=0, chiplet=0",
        },
    ]
    assert log.counts == LineCounts(lines=5, understood=5)


VERSION = "Linux version 6.1.119-129.201.amzn2023.x86_64 (mockbuild@host) (gcc 11.4.1)"
COMMAND = "Command line: BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz-6.1 root=UUID=0 ro"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            VERSION,
            {"kind": BoundaryKind.REBOOT, "kernel_version": "6.1.119-129.201.amzn2023.x86_64"},
        ),
        (COMMAND, {"kind": BoundaryKind.REBOOT}),
        (
            (
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release "
                "Build  (builder@host)  Mon Jun  2 13:13:04 UTC 2025"
            ),
            {
                "kind": BoundaryKind.DRIVER_RELOAD,
                "driver_version": "570.133.20",
                "driver_open": True,
            },
        ),
        (
            "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 2024",
            {
                "kind": BoundaryKind.DRIVER_RELOAD,
                "driver_version": "535.183.01",
                "driver_open": False,
            },
        ),
        (
            f"GPU reset executed: {UUID}, success: true",
            {"kind": BoundaryKind.GPU_RESET, "uuid": UUID},
        ),
    ],
)
def test_a_boundary_is_read(body: str, expected: dict[str, object]) -> None:
    record = only(kernel(body))
    assert isinstance(record, Boundary)
    assert said(record) == expected


def test_version_and_command_line_of_one_boot_are_one_boundary() -> None:
    log = parsed(
        "[    0.000000] Linux version 6.8.0-1021-aws (buildd@host)",
        "[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz root=/dev/nvme0n1p1 ro",
    )
    assert [said(record) for record in log.records] == [
        {"kind": BoundaryKind.REBOOT, "kernel_version": "6.8.0-1021-aws"}
    ]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(service("tool[9]", VERSION), id="a program prints it"),
        pytest.param(f"[430954.509105] {VERSION}", id="days into a boot"),
        pytest.param(kernel(f"GPU reset executed: {UUID}, success: false"), id="reset that failed"),
    ],
)
def test_what_only_looks_like_a_boundary_is_none(line: str) -> None:
    assert parsed(line).records == ()


@pytest.mark.parametrize(
    "line",
    [
        service("systemd-logind[812]", "Power key pressed short."),
        service("systemd-logind", "System is powering down."),
        service("systemd[1]", "Received SIGTERM... Power key pressed."),
        service("systemd[1]", "Reached target System Shutdown."),
        service("systemd[1]", "Reached target Shutdown."),
        service("systemd", "Reached target System Shutdown."),
        service("systemd[1]", "Reached target shutdown.target - System Shutdown."),
        service("systemd", "Stopping (instance terminated by user request)"),
        kernel("reboot: Restarting system"),
    ],
)
def test_the_node_going_down_is_read(line: str) -> None:
    assert isinstance(only(line), Shutdown)


@pytest.mark.parametrize(
    "line",
    [
        service("systemd[4411]", "Reached target Shutdown."),
        service("systemd", "Reached target Shutdown."),
        service("chronyd[7]", "Received SIGTERM, shutting down"),
        service("systemd[1]", "Starting Update UTMP about System Boot/Shutdown..."),
        service("systemd[1]", "Stopping User Manager for UID 1000..."),
        service("sshd[7]", "System is rebooting"),
    ],
)
def test_a_service_or_a_session_that_stops_is_not_the_node(line: str) -> None:
    assert parsed(line).records == ()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            service(
                "nv-fabricmanager",
                "fabric manager NVIDIA GPU driver interface version 570.133.20 don't match with "
                "driver version 570.172.08. Please update with matching NVIDIA driver package.",
            ),
            {
                "state": FabricState.VERSION_MISMATCH,
                "manager_version": "570.133.20",
                "driver_version": "570.172.08",
            },
        ),
        (
            service("systemd[1]", 'Started "Nvidia Fabric Manager".'),
            {"state": FabricState.STARTED},
        ),
        (
            service(
                "systemd[1]",
                "Started nvidia-fabricmanager.service - NVIDIA fabric manager service.",
            ),
            {"state": FabricState.STARTED},
        ),
        (
            service("systemd[1]", "nvidia-fabricmanager.service: Failed with result 'exit-code'."),
            {"state": FabricState.FAILED},
        ),
        (
            service(
                "nv-fabricmanager[1929]",
                "detected number of NVSwitches don't match with any supported system topology, "
                "aborting fabric manager",
            ),
            {"state": FabricState.FAILED},
        ),
        (
            service(
                "nv-fabricmanager[1929]",
                "request to query NVSwitch device information from NVSwitch driver failed with "
                "error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
            ),
            {"state": FabricState.NO_SWITCH},
        ),
    ],
)
def test_fabric_manager_says_how_it_stands(line: str, expected: dict[str, object]) -> None:
    record = only(line)
    assert isinstance(record, FabricManagerLine)
    assert said(record) == {**expected, "source": Source.SERVICE}


def test_a_corrupted_inforom_is_read_from_any_log() -> None:
    record = only("WARNING: infoROM is corrupted at gpu 0000:53:00.0")
    assert isinstance(record, InforomCorrupted)
    assert said(record) == {"pci": "0000:53:00", "source": Source.AGENT}


@pytest.mark.parametrize(
    "line",
    [
        kernel("NVRM: API mismatch: the client 'nvidia-gridd' (pid 2211)"),
        kernel("NVRM: has the version 550.163.01, but this kernel module has"),
        kernel("NVRM: the version 570.133.20.  Please make sure that this"),
        kernel("NVRM: kernel module and all NVIDIA driver components"),
        kernel("NVRM: have the same version."),
        service(
            "systemd[1]",
            "nvidia-fabricmanager.service: PIDFile= references a path below legacy directory "
            "/var/run/, updating",
        ),
        service("systemd[1]", "Starting NVIDIA fabric manager service..."),
        service("nvlsm[7]", "CX Bridge device mlx5_4 is usable for NVLink subnet management"),
        kernel("NVRM: GPU4 RPC history (CPU -> GSP):"),
        kernel("NVRM:     entry function                   data0              data1"),
        kernel("NVRM:      0    76   GSP_RM_CONTROL 0x0000000020802a02 0x0000000000000008"),
        kernel("NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:53:00 (printing 1)"),
        kernel("NVRM: Persistence mode is deprecated and will be removed"),
        kernel("NVRM: Applied patches:"),
        kernel("NVRM: The NVIDIA probe routine failed for 1 device(s)."),
    ],
)
def test_a_known_line_that_classifies_nothing_is_benign(line: str) -> None:
    log = parsed(line)
    assert (log.records, log.counts) == ((), LineCounts(lines=1, benign=1))


def test_a_known_line_that_bears_on_the_rest_leaves_one_note() -> None:
    line = kernel("NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:53:00 (printing 1")
    assert parsed(line, line).notes == (
        "GSP RPC prints were rate limited: the number of 119 lines understates the truth",
    )


def test_the_parts_of_a_cri_line_are_one_line() -> None:
    first = "2026-02-23T16:24:18.1Z stderr P NVRM: Xid (PCI:0000:53:00): 79, pid=7, na"
    last = "2026-02-23T16:24:18.2Z stderr F me=p, GPU has fallen off the bus."
    other = "2026-02-23T16:24:18.1Z stdout F unrelated"
    log = parsed(first, other, last)
    (record,) = log.records
    assert said(record) == {
        "code": 79,
        "pci": "0000:53:00",
        "pid": 7,
        "process": "p",
        "text": "GPU has fallen off the bus.",
    }
    assert (record.line, log.counts) == (1, LineCounts(lines=3, understood=2, unrelated=1))


def test_a_cri_line_that_never_ends_is_cut() -> None:
    log = parsed("2026-02-23T16:24:18.1Z stderr P NVRM: Xid (PCI:0000:53:00): 79, GPU has")
    (record,) = log.records
    assert isinstance(record, XidEvent)
    assert record.cut
    assert log.counts == LineCounts(lines=1, understood=1)


def test_prints_that_a_console_ran_together_are_two_events() -> None:
    log = parsed(
        kernel(
            "NVRM: Xid (PCI:0000:53:00): 45, pid=1, name=p, Ch 1NVRM: Xid (PCI:0000:64:00): 45, "
            "pid=2, name=q, Ch 2"
        )
    )
    assert [r.pci for r in log.records if isinstance(r, XidEvent)] == ["0000:53:00", "0000:64:00"]


def test_a_line_belongs_to_the_node_it_names_else_to_the_streams() -> None:
    core = "kernel: NVRM: Xid (PCI:0000:53:00): 79, x"
    log = parse_lines(
        [
            f"2026-03-09T02:40:11Z {NODE} {core}",
            f"2026-03-09T02:40:11Z hyperpod-i-0aa11bb22cc33dd55 {core}",
            f"2026-03-09T02:40:11Z ip-10-1-2-3 {core}",
            f"2026-03-09T02:40:11Z ip-10-1-2-4 {core}",
        ],
        node="default",
        stream="kernel.log",
        reference_time=REFERENCE,
        names={"ip-10-1-2-3": "i-0aa11bb22cc33dd66"},
    )
    assert [record.node for record in log.records] == [
        NODE,
        "i-0aa11bb22cc33dd55",
        "i-0aa11bb22cc33dd66",
        "default",
    ]
    assert log.nodes == ("default", NODE, "i-0aa11bb22cc33dd55", "i-0aa11bb22cc33dd66")
    assert log.of_node(NODE).xids == log.records[:1]


def test_numbers_and_times_of_raw_lines_are_kept() -> None:
    shipped = datetime(2026, 3, 1, tzinfo=UTC)
    record = parsed(RawLine("NVRM: Xid (PCI:0000:53:00): 79, x", 4711, shipped)).records[0]
    assert (record.line, record.at, record.time_quality) == (
        4711,
        shipped,
        TimeQuality.INGEST_ONLY,
    )


def test_what_a_record_keeps_is_masked_and_escaped() -> None:
    record = only(kernel("NVRM: Xid (PCI:0000:53:00): 31, pid=7, name=token=hunter2222\x1b, x"))
    assert isinstance(record, XidEvent)
    assert record.process == r"token=[masked]"
    assert "hunter2222" not in record.raw


LINES = [
    kernel("NVRM: Xid (PCI:0000:53:00): 79, pid=7, name=p, GPU has fallen off the bus."),
    kernel("NVRM: Xid (PCI:0000:64:00): 48, pid=7, name=p, Ch 00000001", second=20),
    kernel("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
    kernel(f"NVRM: GPU at PCI:0000:53:00: {UUID}"),
    kernel(MMU_HEAD, second=40),
    kernel(MMU_TAIL, second=40),
    *(kernel(part, second=50) for part in PROBE),
    kernel(VERSION, second=55),
    kernel(COMMAND, second=55),
    service("systemd[1]", "Started Session 411 of User root."),
    kernel("NVRM: Applied patches:"),
    kernel("NVRM: nobody knows this"),
    service("systemd-logind", "Power key pressed short."),
]


def contents(log: ParsedLog) -> list[str]:
    return sorted(str((type(record).__name__, record.at, said(record))) for record in log.records)


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(shuffler: random.Random) -> None:
    lines = list(LINES)
    shuffler.shuffle(lines)
    whole, shuffled = parsed(*LINES), parsed(*lines)
    assert contents(shuffled) == contents(whole)
    assert shuffled.counts == whole.counts


def test_a_stream_shipped_twice_says_the_same_twice() -> None:
    once, twice = parsed(*LINES), parsed(*LINES, *LINES)
    assert contents(twice) == sorted(contents(once) * 2)
    assert twice.counts.understood == 2 * once.counts.understood


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(LINES),
            st.text(max_size=60),
            st.sampled_from(["", "{", '{"MESSAGE":', " SUBSYSTEM=pci", "x P NVRM", MMU_TAIL]),
        ),
        max_size=25,
    )
)
def test_every_line_is_counted_exactly_once(lines: list[str]) -> None:
    counts = parsed(*lines).counts
    assert counts.lines == len(lines)
    assert counts.lines == (
        counts.understood + counts.benign + counts.unrelated + counts.not_understood
    )


@pytest.mark.parametrize(
    "text",
    [
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff",
        "EDAC MC0: 1 UE memory read error",
        "watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:4242]",
        "BUG: soft lockup - CPU#12 stuck for 23s! [python:4242]",
        "Kernel panic - not syncing: Fatal machine check",
    ],
)
@pytest.mark.parametrize("stamp", ["[Sun Feb 23 16:24:18 2026] ", "[430954.509105] ", ""])
def test_first_words_of_the_kernel_are_no_host_and_no_program(stamp: str, text: str) -> None:
    assert isinstance(only(stamp + text), HardwareError)
