"""Driver and service lines that are known and classify nothing. Pure."""

import re
from typing import NamedTuple


class Known(NamedTuple):
    """One kind of line: how it is told, why it is no finding, and what is worth a note."""

    pattern: re.Pattern[str]
    why: str
    note: str | None = None


KNOWN = (
    Known(
        re.compile(r"NVRM: API mismatch:"),
        "user space lags the module",
        "driver API mismatch: user-space libraries and kernel module have different versions",
    ),
    Known(
        re.compile(
            r"NVRM: (?:has the version|the version \d|kernel module and all|have the same version)"
        ),
        "continuation of an API mismatch",
    ),
    Known(
        re.compile(r"NVRM: Rate limiting GSP RPC error prints"),
        "detail of a 119 or 120",
        "GSP RPC prints were rate limited: the number of 119 lines understates the truth",
    ),
    Known(
        re.compile(r"NVRM: GPU\d* ?RPC (?:event )?history|NVRM: +(?:entry +func|-?\d+ +\S)"),
        "RPC history, detail of a 119 or 120",
    ),
    Known(
        re.compile(r"NVRM: The NVIDIA probe routine (?:failed|was not called)"),
        "the driver could not start a GPU",
        "the NVIDIA probe routine failed for a device",
    ),
    Known(re.compile(r"NVRM: Persistence mode is deprecated"), "notice"),
    Known(re.compile(r"NVRM: Applied patches"), "notice"),
    Known(re.compile(r".*PIDFile= references a path below legacy directory"), "systemd warning"),
    Known(re.compile(r".*CX Bridge device .* is usable for NVLink"), "good"),
    Known(
        re.compile(r".*(?:[Ss]tarting|[Ss]topp(?:ed|ing)) .*fabric.?manager", re.IGNORECASE),
        "service",
    ),
)


def known_line(body: str) -> Known | None:
    """Return the known kind of a message, or None."""
    return next((known for known in KNOWN if known.pattern.match(body)), None)
