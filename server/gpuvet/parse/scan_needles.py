"""Finds the lines of a block that may say something of a GPU, a boot or an agent. Pure.

Needles that no scarce letter tells, or that are common in the logs we read, are searched directly.
The rest are rare: a sieve drops all but a few letters of the block, and only where the letters of
a needle are left in the sieve is the block itself searched for it.
"""

from collections.abc import Iterator
from typing import NamedTuple

COMMON = (b"NVRM", b"-fabricmanager", b"Kernel panic - not syncing", b"controller is down")
RARE = (
    *(b"SXid (PCI:", b"xid: Xid (PCI:", b"XidCriticalError", b"NvidiaXID"),
    *(b"MMU Fault: ENGINE", b"Fault is of type FAULT_", b"infoROM is corrupted"),
    *(b"GPU reset executed: GPU-", b"NVIDIA fabric manager"),
    *(b"Nvidia Fabric Manager", b"NVIDIA Fabric Manager"),
    *(b"Linux version ", b"BOOT_IMAGE=", b"Power key pressed", b"Received SIGTERM"),
    *(b"Reached target System Shutdown", b"Reached target Shutdown"),
    *(b"HealthMonitoringAgentDetectionEvent", b"Encountered FaultyInstance. Replace"),
    *(b"[Hardware Error]", b"EDAC MC", b"BUG: soft lockup"),
    *(b"PCIe Bus Error: severity=Unc", b"AER: Unc", b"AER: Multiple Unc"),
    b'"MESSAGE":[',
)
# Letters that are scarce in logs yet tell the needles apart. T and k would let every stamp and
# every "kernel" through.
KEPT = b"BCEFGHILMNOPRSUVXvwx"
_DROPPED = bytes(byte for byte in range(256) if byte not in KEPT)


class Hit(NamedTuple):
    """One line that holds a needle: its span in the block, and where the needle stands."""

    start: int
    end: int
    needle: int


def sieved(text: bytes) -> bytes:
    """Return a text without the letters the sieve drops."""
    return text.translate(None, _DROPPED)


_SIEVED = tuple((needle, sieved(needle)) for needle in RARE)


def hits(block: bytes) -> list[Hit]:
    """Return every line of a block that holds a needle, once, in order."""
    found: dict[int, Hit] = {}
    for needle in (*COMMON, *_possible(block)):
        for hit in _lines_with(block, needle):
            found.setdefault(hit.start, hit)
    return [found[start] for start in sorted(found)]


def _possible(block: bytes) -> list[bytes]:
    """Return the rare needles that may stand in a block; the others certainly do not."""
    left = sieved(block)
    return [needle for needle, kept in _SIEVED if kept in left]


def _lines_with(block: bytes, needle: bytes) -> Iterator[Hit]:
    at = block.find(needle)
    while at >= 0:
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        yield Hit(start, end, at)
        at = block.find(needle, end)
