"""Kinds of log lines that may be shown: hardware, drivers, agents, NCCL, heads of tracebacks.

A line of no kind is never shown: an application may print anything. Patterns are read alike by
Logs Insights and by Python, and have no slashes. Pure.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from gpuvet.parse.service_lines import PATTERN as _SERVICE_WORDS


class LineKind(StrEnum):
    """What a line is about."""

    XID = "xid"
    DRIVER = "driver"
    FABRIC = "fabric"
    HARDWARE = "hardware"
    MEMORY = "memory"
    KERNEL = "kernel"
    BOOT = "boot"
    HEALTH = "health"
    EFA = "efa"
    NCCL = "nccl"
    TRACEBACK = "traceback"
    STORAGE = "storage"
    SLURM = "slurm"
    SERVICE = "service"


PATTERNS: Mapping[LineKind, str] = MappingProxyType(
    {
        LineKind.XID: r"NVRM: (Xid|SXid)|nvidia-nvswitch.*SXid",
        LineKind.DRIVER: r"NVRM:|fallen off the bus|GPU reset|infoROM|GPU has become inaccessible",
        LineKind.FABRIC: r"[Ff]abric ?[Mm]anager|nvidia-nvswitch|NVSwitch",
        LineKind.HARDWARE: r"Hardware Error|Machine check|EDAC MC|Uncorrect|pcieport.*(error|AER)"
        r"|AER: |controller is down",
        LineKind.MEMORY: r"Out of memory|oom-kill|oom_reaper|CUDA out of memory|OutOfMemoryError"
        r"|OOMKilled|Cannot allocate memory",
        LineKind.KERNEL: r"Kernel panic|soft lockup|hung_task|blocked for more than|Call Trace"
        r"|segfault at|general protection fault",
        LineKind.BOOT: r"Linux version|Command line: BOOT|Power key pressed|Reached target.*[Ss]hut"
        r"|System is (rebooting|powering down|going down)|reboot: ",
        LineKind.HEALTH: r"HealthMonitoringAgent|NPD caught|FaultyInstance|DCGM.*(violation|policy)"
        r"|deep health check",
        LineKind.EFA: r"\befa\b.*(error|fail|timeout|reset)|\bEFA addr|rdmap[0-9]+s[0-9]+.*(error"
        r"|down|reset)|fi_getinfo|libfabric:.*(error|warn)",
        LineKind.NCCL: r"NCCL (WARN|ERROR)|NCCL INFO.*(Using network|via NET|Bootstrap"
        r"|Connected all|Selected [Pp]rovider|NVLS)|nccl[A-Z][A-Za-z]*Error"
        r"|Watchdog caught collective|last (enqueued|completed) NCCL work",
        LineKind.TRACEBACK: r"Traceback \(most recent call last\)|ChildFailedError"
        r"|SignalException|(RuntimeError|DistBackendError|OSError|MemoryError|TimeoutError): "
        r".*(CUDA|NCCL|NVML|cuDNN|device|No space left|Input.output error|timed? ?out)"
        r"|exitcode +: -?[0-9]+",
        LineKind.STORAGE: r"LustreError|Lustre: .*(Connection|lost|evict|timed out)|ENOSPC"
        r"|No space left on device|nfs: server .* not responding|Stale file handle|I.O error",
        LineKind.SLURM: r"slurmstepd: error|srun: error|slurmd: error|CANCELLED AT|NODE.?FAIL"
        r"|not responding, setting DOWN",
        LineKind.SERVICE: _SERVICE_WORDS,
    }
)
_COMPILED = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}


def pattern_of(kinds: Iterable[LineKind]) -> str:
    """Return one pattern for lines of some kinds; of all where none is named."""
    wanted = tuple(kinds) or tuple(LineKind)
    return "|".join(PATTERNS[kind] for kind in LineKind if kind in wanted)


def kinds_of(text: str, among: Iterable[LineKind] = ()) -> tuple[LineKind, ...]:
    """Return the kinds a line is of, in their order; none where it may not be shown.

    Args:
        text: The line; only the first 16 kB are looked at.
        among: Kinds that are wanted; all where none is named.
    """
    wanted = frozenset(among) or frozenset(LineKind)
    head = text[:16_384]
    return tuple(kind for kind in LineKind if kind in wanted and _COMPILED[kind].search(head))
