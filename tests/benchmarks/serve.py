"""Start of `gpuvet serve` to the answer of `tools/list`, against a bare one-tool server of the SDK.

Wall time over stdio and peak memory, interleaved. The aim is 1.3 times the bare server for both.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import say

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "server" / "gpuvet" / "demo_case"

BARE = """
from mcp.server import MCPServer
server = MCPServer(name="bare", version="1")
@server.tool()
def one(code: int) -> str:
    "One tool."
    return str(code)
server.run()
"""
OURS = ["-m", "gpuvet", "serve", "--case", str(DEMO)]
SUBJECTS = {"bare one-tool server": ["-c", BARE], "gpuvet serve": OURS}

_MESSAGES = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def start_to_list(words: list[str]) -> tuple[float, float | None, int]:
    """Return seconds to the answer of tools/list, peak MiB where told, and its bytes."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server has no pipes")
        for message in _MESSAGES:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        line = b""
        while b'"id":2' not in line.replace(b" ", b""):
            line = process.stdout.readline()
        seconds = time.perf_counter() - began
        peak = _peak_mib(process.pid)
        process.stdin.close()
    return seconds, peak, len(line)


def _peak_mib(pid: int) -> float | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    for row in status.read_text(encoding="utf-8").splitlines():
        if row.startswith("VmHWM:"):
            return int(row.split()[1]) / 1024
    return None


def run(*, runs: int) -> None:
    """Measure and print."""
    found: dict[str, list[tuple[float, float | None, int]]] = {name: [] for name in SUBJECTS}
    for _ in range(runs + 1):
        for name, words in SUBJECTS.items():
            found[name].append(start_to_list(words))
    medians: dict[str, tuple[float, float]] = {}
    for name, results in found.items():
        warm = results[1:]
        seconds = [s for s, _, _ in warm]
        peaks = [p for _, p, _ in warm if p is not None]
        medians[name] = (statistics.median(seconds), statistics.median(peaks) if peaks else 0.0)
        say(
            f"{name:24s} {medians[name][0]:6.3f} s ({min(seconds):.3f} to {max(seconds):.3f})"
            f"   {medians[name][1]:6.1f} MiB   tools/list {warm[-1][2]} bytes"
        )
    bare, ours = medians["bare one-tool server"], medians["gpuvet serve"]
    memory = ours[1] / bare[1] if bare[1] else 0.0
    say(f"ratio: {ours[0] / bare[0]:.2f} in time, {memory:.2f} in memory; the aim is 1.3")
