"""Scanning a big mixed log for GPU events and lines per hour, against the plain loop and grep."""

import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measure import interleaved, peak_rss_mib, report, say
from gpuvet.parse.scan import scan

REFERENCE = datetime(2026, 3, 20, tzinfo=UTC)
_START = datetime(2026, 3, 10, tzinfo=UTC)
_SERVICES = (
    "systemd[1]: Started Session 411 of User root.",
    "sshd[2211]: Accepted publickey for ec2-user from 10.0.1.2 port 51234 ssh2: RSA SHA256:q1w2e3",
    'kubelet[3312]: I0310 16:24:18.104201    3312 kubelet.go:2345] "SyncLoop (PLEG): event"',
    'containerd[991]: time="2026-03-10T16:24:18.1Z" level=info msg="shim disconnected" id=0f0f0f0f',
    "kernel: ena 0000:00:05.0 eth0: link up",
    'kernel: audit: type=1400 audit(1740327858.104:33): apparmor="ALLOWED" operation="open"',
    "chronyd[1102]: Selected source 169.254.169.123",
    "dhclient[812]: XMT: Solicit on eth0, interval 110190ms.",
    "slurmd[4410]: launch task StepId=8812.0 request from UID:1000 GID:1000 HOST:10.0.1.9 PORT:41",
)
_DRIVER = (
    (
        "kernel: NVRM: Xid (PCI:0000:53:00): 31, pid=9000, name=python3, Ch 00000007, intr "
        "00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f1c_90743000."
    ),
    "kernel: NVRM: Xid (PCI:0000:64:00): 45, pid=9001, name=python3, Ch 0000000a",
    "kernel: NVRM: GPU at PCI:0000:53:00: GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901",
)


def write_log(path: Path, size: int) -> int:
    """Write a syslog of several services, about 1 % of it the driver's; return its lines."""
    pick = random.Random(1)  # noqa: S311 - the same log every time
    lines, written, at = 0, 0, _START
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < size:
            parts: list[str] = []
            for _ in range(20_000):
                at += timedelta(microseconds=pick.randrange(150_000))
                text = pick.choice(_DRIVER if pick.random() < 0.01 else _SERVICES)
                parts.append(f"{at.isoformat(timespec='microseconds')} ip-10-1-2-3 {text}\n")
            written += file.write("".join(parts))
            lines += len(parts)
    return lines


def plain_loop(path: Path) -> tuple[dict[bytes, int], int]:
    """Count lines per hour prefix and lines with the driver's mark, line by line."""
    hours: dict[bytes, int] = {}
    marked = 0
    with path.open("rb") as file:
        for line in file:
            hour = line[:13]
            hours[hour] = hours.get(hour, 0) + 1
            if b"NVRM" in line:
                marked += 1
    return hours, marked


def our_scan(path: Path) -> tuple[int, int]:
    """Scan for every GPU, boot and agent line and all lines per hour."""
    with path.open("rb") as file:
        found = scan(file, reference_time=REFERENCE)
    return found.lines, len(found.candidates) + found.candidates_dropped


def run(*, gigabytes: float, runs: int) -> None:
    """Print the medians of the scan, the plain loop and grep over one log."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "messages"
        lines = write_log(path, int(gigabytes * 1e9))
        say(f"scan: {path.stat().st_size / 1e9:.2f} GB, {lines:,} lines, {runs} runs each")
        hours, marked = plain_loop(path)
        seen, candidates = our_scan(path)
        say(f"hours {len(hours)}; lines {seen:,}; marked {marked:,}; candidates {candidates:,}")
        say(f"peak RSS after one scan: {peak_rss_mib() or 0:.0f} MiB")
        subjects: dict[str, Callable[[], object]] = {
            "plain loop": lambda: plain_loop(path),
            "scan": lambda: our_scan(path),
        }
        if grep := shutil.which("grep"):
            subjects["grep -c NVRM"] = lambda: subprocess.run(
                [grep, "-c", "NVRM", str(path)], check=False, capture_output=True
            )
        report(interleaved(subjects, runs), "plain loop")
