"""Why a launch failed, from the error code a service gave. Pure."""

import re
from types import MappingProxyType

from gpuvet.model.bootstrap import LaunchFault

# EC2's error codes (EC2 API reference, error codes) and the failure types of ParallelCluster's
# events (coverage.md).
_FAULTS = MappingProxyType(
    {
        "InsufficientInstanceCapacity": LaunchFault.CAPACITY,
        "InsufficientHostCapacity": LaunchFault.CAPACITY,
        "InsufficientReservedInstanceCapacity": LaunchFault.CAPACITY,
        "InsufficientCapacity": LaunchFault.CAPACITY,
        "UnfulfillableCapacity": LaunchFault.CAPACITY,
        "ReservationCapacityExceeded": LaunchFault.CAPACITY,
        "ice-failures": LaunchFault.CAPACITY,
        "VcpuLimitExceeded": LaunchFault.QUOTA,
        "InstanceLimitExceeded": LaunchFault.QUOTA,
        "MaxSpotInstanceCountExceeded": LaunchFault.QUOTA,
        "VolumeLimitExceeded": LaunchFault.QUOTA,
        "ResourceLimitExceeded": LaunchFault.QUOTA,
        "vcpu-limit-failures": LaunchFault.QUOTA,
        "volume-limit-failures": LaunchFault.QUOTA,
        "UnauthorizedOperation": LaunchFault.PERMISSION,
        "AccessDeniedException": LaunchFault.PERMISSION,
        "iam-policy-errors": LaunchFault.PERMISSION,
        "InsufficientFreeAddressesInSubnet": LaunchFault.ADDRESSES,
        "InsufficientFreeAddresses": LaunchFault.ADDRESSES,
        "PrivateIpAddressLimitExceeded": LaunchFault.ADDRESSES,
        "NetworkInterfaceLimitExceeded": LaunchFault.ADDRESSES,
        "other-failures": LaunchFault.OTHER,
    }
)
_CODE = re.compile(
    r"(?<![\w-])(?P<code>" + "|".join(map(re.escape, sorted(_FAULTS, reverse=True))) + r")(?![\w])"
)
# These codes also stand in other calls' errors; there they say nothing of a launch.
_AMBIGUOUS = frozenset({"UnauthorizedOperation", "AccessDeniedException", "ResourceLimitExceeded"})
_OF_A_LAUNCH = re.compile(r"RunInstances|CreateFleet|[Ll]aunch")
# What HyperPod writes where an instance could not be had.
_IN_WORDS = (
    (re.compile(r"do(?:es)? not have sufficient capacity", re.IGNORECASE), LaunchFault.CAPACITY),
    (re.compile(r"insufficient (?:instance )?capacity", re.IGNORECASE), LaunchFault.CAPACITY),
    (
        re.compile(
            r"(?:insufficient|not enough|no) (?:free |available )?(?:private )?(?:ip )?addresses"
            r"|free addresses|InsufficientFreeAddresses",
            re.IGNORECASE,
        ),
        LaunchFault.ADDRESSES,
    ),
    (re.compile(r"customer ENI|network interface", re.IGNORECASE), LaunchFault.ADDRESSES),
    (re.compile(r"quota|limit exceeded|service limit", re.IGNORECASE), LaunchFault.QUOTA),
    (
        re.compile(r"not authorized|access denied|AccessDenied", re.IGNORECASE),
        LaunchFault.PERMISSION,
    ),
)


def launch_code(text: str) -> str | None:
    """Return the code of a failed launch that a line holds, or None."""
    for found in _CODE.finditer(text):
        if found["code"] not in _AMBIGUOUS or _OF_A_LAUNCH.search(text):
            return found["code"]
    return None


def fault_of(code: str) -> LaunchFault:
    """Return what a launch's error code says was missing."""
    return _FAULTS.get(code, LaunchFault.OTHER)


def fault_in_words(message: str) -> LaunchFault | None:
    """Return what a service's failure message says was missing, or None."""
    code = launch_code(message)
    if code is not None:
        return fault_of(code)
    return next((fault for pattern, fault in _IN_WORDS if pattern.search(message)), None)
