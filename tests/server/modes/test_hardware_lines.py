"""Failed hardware that the kernel tells without an Xid: a case folder, to its reports."""

from pathlib import Path

import pytest
from host_log import LATE, judged, program

from gpuvet.case.load import load_case
from gpuvet.model.cause import Branch, BranchStatus
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked

GPU = "0000:64:00.0"
XID = "NVRM: Xid (PCI:0000:64:00): 31, pid=1, name=x, Ch 00000007, intr 00000000. MMU Fault: ENGINE"
PANIC = "Kernel panic - not syncing: "
UNVERIFIED = {
    "GPU start": (f"NVRM: GPU {GPU}: RmInitAdapter failed! (0x62:0x40:2477)", "hardware"),
    "GPU start, old": ("NVRM: RmInitAdapter failed! (0x62:0x40:2477)", "hardware"),
    "GPU start, minor": (f"NVRM: GPU {GPU}: rm_init_adapter failed, device minor 3", "hardware"),
    "machine check panic": (f"{PANIC}Fatal machine check", "hardware"),
    "machine check": (
        "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000800400",
        "hardware",
    ),
    "firmware first": ("{1}[Hardware Error]: event severity: fatal", "hardware"),
    "PCIe, port": (
        f"pcieport 0000:60:01.0: AER: Uncorrected (Fatal) error received: {GPU}",
        "hardware",
    ),
    "PCIe, GPU": (
        f"nvidia {GPU}: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
        "hardware",
    ),
    "PCIe, new": (
        f"pcieport 0000:60:01.0: AER: Uncorrectable (Non-Fatal) error message received from {GPU}",
        "hardware",
    ),
    "NVMe": ("nvme nvme1: controller is down; will reset: CSTS=0xffffffff", "hardware"),
    "NVMe, short": ("nvme nvme1: controller is down", "hardware"),
    "memory": ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0", "hardware"),
    "panic": (f"{PANIC}Fatal exception", "unknown"),
}


@pytest.mark.parametrize(("text", "fault"), UNVERIFIED.values(), ids=UNVERIFIED.keys())
def test_hardware_that_fails_without_an_xid_is_unverified(
    text: str, fault: str, tmp_path: Path
) -> None:
    line = program("kernel", text)
    node = judged(tmp_path, line)
    assert (node.verdict, node.fault_class) == (Verdict.UNVERIFIED, FaultClass(fault))
    assert [ground.raw for ground in node.grounds] == [line]
    assert node.open_check
    report = incident_report(load_case(tmp_path), Asked(), clock=LATE)
    status = next(b.status for b in report.branches if b.branch is Branch.HARDWARE)
    assert status is not BranchStatus.RULED_OUT


def test_a_gpu_that_does_not_start_asks_for_a_reboot_at_least(tmp_path: Path) -> None:
    node = judged(tmp_path, program("kernel", UNVERIFIED["GPU start"][0]))
    assert (node.minimum_action, node.grounds[0].pci) == ("REBOOT", "0000:64:00")


def test_the_lines_of_one_gpu_that_does_not_start_are_one_finding(tmp_path: Path) -> None:
    lines = [program("kernel", UNVERIFIED[k][0]) for k in ("GPU start, old", "GPU start")]
    (ground,) = judged(tmp_path, *lines).grounds
    assert ground.pci == "0000:64:00"


def test_a_program_fault_beside_a_pcie_error_stays_unverified(tmp_path: Path) -> None:
    node = judged(tmp_path, program("kernel", XID), program("kernel", UNVERIFIED["PCIe, port"][0]))
    ground = node.grounds[0]
    assert (node.verdict, ground.pci) == (Verdict.UNVERIFIED, "0000:64:00")


def test_a_soft_lockup_is_watched(tmp_path: Path) -> None:
    text = "watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:4242]"
    assert judged(tmp_path, program("kernel", text)).verdict is Verdict.MONITOR
    report = incident_report(load_case(tmp_path), Asked(), clock=LATE)
    status = next(b.status for b in report.branches if b.branch is Branch.HARDWARE)
    assert status is not BranchStatus.RULED_OUT


NOTHING = {
    "PCIe corrected": "pcieport 0000:60:01.0: AER: Corrected error received: 0000:64:00.0",
    "PCIe severity": f"nvidia {GPU}: PCIe Bus Error: severity=Corrected, type=Physical Layer",
    "memory corrected": "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0",
    "machine check corrected": (
        "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010092"
    ),
    "logged": "mce: [Hardware Error]: Machine check events logged",
    "firmware corrected": "{1}[Hardware Error]: event severity: corrected",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_a_corrected_error_is_no_finding(text: str, tmp_path: Path) -> None:
    assert judged(tmp_path, program("kernel", text)).verdict is Verdict.LEAVE_ALONE


def test_a_failed_device_that_is_no_gpu_accuses_none(tmp_path: Path) -> None:
    node = judged(
        tmp_path,
        program("kernel", "ena 0000:27:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal)"),
    )
    (ground,) = node.grounds
    assert (node.verdict, ground.pci) == (Verdict.UNVERIFIED, None)
    assert ground.what == "uncorrected PCIe error: platform, device 0000:27:00.0"


def test_the_port_that_tells_and_the_gpu_that_failed_are_one_finding(tmp_path: Path) -> None:
    node = judged(
        tmp_path,
        program("kernel", UNVERIFIED["PCIe, port"][0]),
        program("kernel", UNVERIFIED["PCIe, GPU"][0]),
    )
    (ground,) = node.grounds
    assert (node.verdict, ground.pci) == (Verdict.UNVERIFIED, "0000:64:00")


QUOTED = {name: text for name, (text, _) in UNVERIFIED.items()}


@pytest.mark.parametrize("text", QUOTED.values(), ids=QUOTED.keys())
@pytest.mark.parametrize("lead", ["", "COMMAND=/bin/grep "], ids=["copied", "quoted"])
def test_a_program_that_writes_such_a_line_proves_nothing(
    lead: str, text: str, tmp_path: Path
) -> None:
    assert judged(tmp_path, program("sudo[9]", lead + text)).verdict is Verdict.LEAVE_ALONE


def test_an_xid_of_the_lost_gpu_decides_over_its_failed_start(tmp_path: Path) -> None:
    lost = "NVRM: Xid (PCI:0000:64:00): 79, pid=1, name=x, GPU has fallen off the bus."
    node = judged(tmp_path, program("kernel", lost), program("kernel", UNVERIFIED["GPU start"][0]))
    assert node.verdict is Verdict.REBOOT
