"""Kernel lines of failed hardware that carry no Xid: which they are, as a table. Pure."""

import re
from typing import NamedTuple

from gpuvet.model.events import HardwareKind

_UNCORRECTED = 1 << 61  # MCi_STATUS.UC: Intel SDM vol. 3B §15.3.2.2, AMD64 APM vol. 2 §9.3.2
_ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"


class HardwareLine(NamedTuple):
    """One kind of line; the pattern stands at the start of the kernel's message.

    Attributes:
        pattern: Its groups, where it has them: `device` is a bus address or a device name,
            `driver` the kernel driver that owns it, `status` the MCi_STATUS of a machine check.
        kind: What failed.
        meaning: The same for a reader.
        source: Where the kernel or the driver prints it.
    """

    pattern: re.Pattern[str]
    kind: HardwareKind
    meaning: str
    source: str


class HardwareSaid(NamedTuple):
    """What one line says."""

    kind: HardwareKind
    meaning: str
    device: str | None = None
    driver: str | None = None


# Corrected errors match nothing here: they are no finding.
HARDWARE_LINES = (
    HardwareLine(
        re.compile(
            r"NVRM: (?:GPU (?P<device>[0-9a-fA-F:.]+): )?"
            r"(?:RmInitAdapter failed|rm_init_adapter(?:\(\d+\))? failed)"
        ),
        HardwareKind.GPU_START,
        "the driver could not start a GPU (RmInitAdapter failed)",
        "open-gpu-kernel-modules osinit.c, nv.c; the driver's log formats",
    ),
    HardwareLine(
        re.compile(
            r"Kernel panic - not syncing: (?:.*machine check|Fatal hardware error"
            r"|Timeout: Not all CPUs entered broadcast exception handler)",
            re.IGNORECASE,
        ),
        HardwareKind.MACHINE_CHECK,
        "the kernel stopped on a machine check",
        "linux arch/x86/kernel/cpu/mce/core.c, drivers/acpi/apei/ghes.c",
    ),
    HardwareLine(
        re.compile(r"Kernel panic - not syncing"),
        HardwareKind.PANIC,
        "the kernel stopped (panic)",
        "linux kernel/panic.c",
    ),
    HardwareLine(
        re.compile(
            r"(?:mce: )?\[Hardware Error\]: CPU \d+: Machine Check(?: Exception)?: "
            r"[0-9a-f]+ Bank \d+: (?P<status>[0-9a-f]{16})"
        ),
        HardwareKind.MACHINE_CHECK,
        "uncorrected machine check",
        "linux arch/x86/kernel/cpu/mce/core.c",
    ),
    HardwareLine(
        re.compile(
            r"(?:mce: )?(?:\{\d+\})?\[Hardware Error\]: "
            r"(?:Machine check: |Uncorrected, |event severity: (?:fatal|panic))"
        ),
        HardwareKind.MACHINE_CHECK,
        "uncorrected machine check",
        "linux arch/x86/kernel/cpu/mce/core.c, drivers/edac/mce_amd.c, drivers/firmware/efi/cper.c",
    ),
    HardwareLine(
        re.compile(
            rf"pcieport \S+ (?:AER: )?(?:Multiple )?Uncorrect(?:ed|able) \([^)]+\) error "
            rf"(?:message )?received(?: from|:) (?P<device>{_ADDRESS})"
        ),
        HardwareKind.PCIE,
        "uncorrected PCIe error",
        "linux drivers/pci/pcie/aer.c",
    ),
    HardwareLine(
        re.compile(
            rf"(?P<driver>[\w-]+) (?P<device>{_ADDRESS}): (?:AER: )?(?:Multiple )?"
            r"(?:PCIe Bus Error: severity=)?Uncorrect(?:ed|able) \("
        ),
        HardwareKind.PCIE,
        "uncorrected PCIe error",
        "linux drivers/pci/pcie/aer.c",
    ),
    HardwareLine(
        re.compile(r"EDAC (?P<device>MC\d+): \d+ UE\b"),
        HardwareKind.MEMORY,
        "uncorrected error of the host's memory",
        "linux drivers/edac/edac_mc.c",
    ),
    HardwareLine(
        re.compile(r"nvme (?P<device>nvme\d+): controller is down"),
        HardwareKind.NVME,
        "an NVMe controller is down",
        "linux drivers/nvme/host/pci.c",
    ),
    HardwareLine(
        re.compile(r"(?:(?:NMI )?watchdog: )?BUG: soft lockup"),
        HardwareKind.SOFT_LOCKUP,
        "a CPU did not schedule (soft lockup)",
        "linux kernel/watchdog.c",
    ),
)


def hardware_line(body: str) -> HardwareSaid | None:
    """Return what a message of the kernel says of failed hardware, or None."""
    for row in HARDWARE_LINES:
        if match := row.pattern.match(body):
            told = match.groupdict()
            status = told.get("status")
            if status is not None and not int(status, 16) & _UNCORRECTED:
                return None
            return HardwareSaid(row.kind, row.meaning, told.get("device"), told.get("driver"))
    return None
