"""Lines about the node's life and its services: boots, reloads, resets, shutdowns, Fabric Manager.

Pure: one bare message in, what it says out. Nothing here looks at neighbouring lines.
"""

import re
from typing import NamedTuple

from gpuvet.model.events import BoundaryKind, FabricState

_LINUX = re.compile(r"Linux version (?P<version>\S+)")
_COMMAND_LINE = re.compile(r"(?:Kernel )?[Cc]ommand line: (?=.*(?:BOOT_IMAGE|root=|\bro\b))")
_DRIVER = re.compile(
    r"NVRM: loading NVIDIA UNIX (?P<open>Open )?.*?(?P<version>\d{3,4}\.\d+(?:\.\d+)?)(?!\S)"
)
_RESET = re.compile(
    r"GPU reset executed: *(?P<uuid>GPU-[0-9a-fA-F-]{8,40})?[^,]*, *success: *true"
    r"|GPU [0-9a-fA-F:.]{10,18} was successfully reset"
)

# What systemd, logind, shutdown and the kernel print when the node itself goes down. The plain
# "Reached target Shutdown." is left out without a PID: every user session's manager prints it too.
_SHUTDOWN = re.compile(
    r"Power key pressed"
    r"|Received SIGTERM(?:\.\.\.| from PID| \.)"
    r"|System is (?:powering down|rebooting|halting|going down)"
    r"|The system (?:will|is going to|is going down)"
    r"|(?:Reached target|Starting) (?:System |Late )?(?:Shutdown Services|Power-Off|Reboot|Halt)\b"
    r"|Reached target (?:System Shutdown|Unmount All Filesystems|Final Step|reboot|poweroff|halt)\b"
    r"|Shutting down\.|Powering off\.|Rebooting\.|Powering down"
    r"|(?i:stopping\b.*\binstance\b.*\b(?:terminat|stopp)|\binstance\b.*\bterminat)"
)
_SHUTDOWN_OF_PID_1 = re.compile(r"Reached target (?:shutdown\.target - )?(?:System )?Shutdown\b")
_KERNEL_DOWN = re.compile(r"reboot: (?:Restarting system|Power down|System halted)")
_SPEAKS_FOR_NODE = frozenset({"systemd", "systemd-logind", "systemd-shutdown", "shutdown", "init"})

_FABRIC = re.compile(r"fabric.?manager|\bNVSwitch", re.IGNORECASE)
_MISMATCH = re.compile(
    r"version (?P<manager>\d[\d.]*\d) (?:don't|doesn't|does not|do not|is not) "
    r"match(?:ing)?(?: with)?(?: the)?(?: NVIDIA)?(?: GPU)? driver version (?P<driver>\d[\d.]*\d)",
    re.IGNORECASE,
)
_FABRIC_STARTED = re.compile(
    r"(?:Started|Successfully (?:started|configured)) .*fabric.?manager", re.IGNORECASE
)
_FABRIC_FAILED = re.compile(
    r"Failed with result|Failed to start|aborting fabric manager|failed to (?:initialize|start)"
    r"|Main process exited|entered failed state|start request repeated too quickly",
    re.IGNORECASE,
)

_IDENTITY = re.compile(
    r"NVRM: GPU at (?:PCI:)?(?P<pci>[0-9a-fA-F:.]+): (?P<uuid>GPU-[0-9a-fA-F-]+)"
)
_BOARD_SERIAL = re.compile(r"NVRM: GPU Board Serial Number: (?P<serial>\w+)")
_SERIAL = re.compile(r"NVRM: GPU (?P<pci>[0-9a-fA-F:.]+): GPU serial number is (?P<serial>\w+)")
_INFOROM = re.compile(r"infoROM is corrupted(?: at gpu (?P<pci>[0-9a-fA-F:.]+))?", re.IGNORECASE)
_PLUGIN = re.compile(
    r"XidCriticalError: Xid=(?P<code>\d{1,5})\b(?:.*?Device=(?P<uuid>GPU-[0-9a-fA-F-]+))?"
)
_CONDITION = re.compile(r"Nvidia(?:XID|Xid)(?P<code>\d{1,5})(?:Error|Warning)\b")
_CONDITION_TEXT = re.compile(r"\bdetected XID-?(?P<code>\d{1,5}) on the instance", re.IGNORECASE)


class BoundaryLine(NamedTuple):
    """A boot, a driver load or a reset."""

    kind: BoundaryKind
    driver_version: str | None = None
    driver_open: bool | None = None
    kernel_version: str | None = None
    uuid: str | None = None


class FabricLine(NamedTuple):
    """Fabric Manager about itself; `state` None: nothing that changes how it stands."""

    state: FabricState | None
    manager_version: str | None = None
    driver_version: str | None = None


class IdentityLine(NamedTuple):
    """Which GPU sits where; what the line does not say is None."""

    pci: str | None = None
    uuid: str | None = None
    serial: str | None = None


class ReportedXid(NamedTuple):
    """A code that a Kubernetes component names; it never carries a PCI id."""

    code: int
    uuid: str | None = None


def boundary(body: str) -> BoundaryLine | None:
    """Return the boundary a message marks; a loading line is a reload, also within a boot."""
    if match := _LINUX.match(body):
        return BoundaryLine(BoundaryKind.REBOOT, kernel_version=match["version"])
    if match := _DRIVER.match(body):
        return BoundaryLine(
            BoundaryKind.DRIVER_RELOAD,
            driver_version=match["version"],
            driver_open=match["open"] is not None,
        )
    if match := _RESET.search(body):
        return BoundaryLine(BoundaryKind.GPU_RESET, uuid=match["uuid"])
    return None


def is_command_line(body: str) -> bool:
    """Say whether a message is the kernel's own command line, printed once a boot."""
    return _COMMAND_LINE.match(body) is not None


def is_shutdown(body: str, identifier: str | None, pid: int | None) -> bool:
    """Say whether a message tells that the node itself goes down.

    Args:
        body: The bare message.
        identifier: Who logged it; only init, logind, shutdown and the kernel speak for the node.
        pid: Its process id: a systemd with another PID than 1 is a user session's.
    """
    if identifier in {None, "kernel"}:
        return _KERNEL_DOWN.search(body) is not None
    if identifier not in _SPEAKS_FOR_NODE or (identifier == "systemd" and (pid or 1) != 1):
        return False
    if identifier == "systemd" and pid == 1 and _SHUTDOWN_OF_PID_1.match(body):
        return True
    return _SHUTDOWN.search(body) is not None


def fabric_manager(body: str, identifier: str | None) -> FabricLine | None:
    """Return what a Fabric Manager line, or systemd's about it, says; None: another subject."""
    text = body if identifier is None else f"{identifier}: {body}"
    if not _FABRIC.search(text) or body.startswith("NVRM:"):
        return None
    if match := _MISMATCH.search(body):
        return FabricLine(FabricState.VERSION_MISMATCH, match["manager"], match["driver"])
    if "NV_WARN_NOTHING_TO_DO" in body:
        return FabricLine(FabricState.NO_SWITCH)
    if _FABRIC_FAILED.search(body):
        return FabricLine(FabricState.FAILED)
    if _FABRIC_STARTED.search(body):
        return FabricLine(FabricState.STARTED)
    return FabricLine(None)


def identity(body: str) -> IdentityLine | None:
    """Return the GPU identity a driver line prints, or None."""
    for pattern in (_IDENTITY, _BOARD_SERIAL, _SERIAL):
        if match := pattern.match(body):
            return IdentityLine(**match.groupdict())
    return None


def corrupted_inforom(body: str) -> str | None:
    """Return the PCI id, or an empty text, of an infoROM warning; None where it is none."""
    match = _INFOROM.search(body)
    return None if match is None else (match["pci"] or "")


def plugin_xid(body: str) -> ReportedXid | None:
    """Return the Xid a Kubernetes device plugin names, or None."""
    match = _PLUGIN.search(body)
    return None if match is None else ReportedXid(int(match["code"]), match["uuid"])


def condition_xid(text: str) -> ReportedXid | None:
    """Return the Xid an EKS node condition names in its reason or its message, or None."""
    match = _CONDITION.search(text) or _CONDITION_TEXT.search(text)
    return None if match is None else ReportedXid(int(match["code"]))
