"""Whole incidents of 64, 512 and 4,096 nodes: time, memory and sizes; growth at most linear.

Each size runs in a process of its own, so that its peak memory is its own. The case is made from
the demo: one node loses a GPU, all others echo it with Xid 43 and 45, every eighth has a hole.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import say

SIZES = (64, 512, 4096)
ROOT = Path(__file__).resolve().parents[2]


def case_of(nodes: int) -> dict[str, object]:
    """Return a case of many nodes in the form of one JSON document."""
    lost = [
        (
            "Mar  2 10:04:11 {host} kernel: NVRM: Xid (PCI:0000:64:00): 79, pid='<unknown>', "
            "name=<unknown>, GPU has fallen off the bus."
        ),
    ]
    echo = [
        f"Mar  2 10:04:{14 + k % 40:02d} {{host}} kernel: NVRM: Xid (PCI:0000:{bus}:00): 45, "
        f"pid={7000 + k}, name=python3, Ch 0000000{k % 8}"
        for k, bus in enumerate(("53", "64", "75", "86", "97", "a8", "b9", "ca"))
    ]
    rows: list[dict[str, object]] = []
    for number in range(nodes):
        node, host = f"i-{number:017x}", f"queue1-dy-p5-{number}"
        lines = [text.format(host=host) for text in (lost if number == 7 else echo)]
        status = "PARTIAL" if number % 8 == 3 else "MEASURED"
        empty = ["2026-03-02T09:00:00Z"] if status == "PARTIAL" else []
        rows.append(
            {
                "node_id": node,
                "host": host,
                "logs": [
                    {
                        "source": "cloudwatch_agent",
                        "stream": f"{host}.{node}.system-messages",
                        "lines": lines,
                    }
                ],
                "boots": [],
                "facts": {"gpu_seen": None},
                "coverage": {"status": status, "empty_hours": empty},
            }
        )
    return {
        "id": f"synthetic-{nodes}",
        "input": {
            "cluster": {
                "orchestrator": "parallelcluster",
                "instance_type": "p5.48xlarge",
                "gpu_expected": 8,
            },
            "window": {
                "start": "2026-03-02T08:00:00Z",
                "end": "2026-03-02T11:00:00Z",
                "failure_at": "2026-03-02T10:04:12Z",
            },
            "nodes": rows,
        },
    }


ONE = """
import json, sys, time
from datetime import datetime, UTC
from pathlib import Path
from gpuvet.case import load_case
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked
from benchmarks.measure import peak_rss_mib
start = time.perf_counter()
clock = datetime(2027, 1, 1, tzinfo=UTC)
report = incident_report(load_case(Path(sys.argv[1])), Asked(), clock=clock)
text = report.model_dump_json(by_alias=True)
print(json.dumps({
    "seconds": time.perf_counter() - start, "rss": peak_rss_mib(),
    "json": len(text), "markdown": len(report.markdown), "short_words": len(report.short.split()),
}))
"""


def run(*, runs: int) -> None:
    """Measure and print."""
    say(" nodes   seconds  ms a node     MiB   JSON kB  Markdown words")
    with tempfile.TemporaryDirectory() as folder:
        for nodes in SIZES:
            path = Path(folder) / f"{nodes}.json"
            path.write_text(json.dumps(case_of(nodes)), encoding="utf-8")
            results = [_one(path) for _ in range(max(1, min(runs, 3)))]
            best = sorted(results, key=lambda r: r["seconds"])[len(results) // 2]
            say(
                f"{nodes:6d} {best['seconds']:9.2f} {1000 * best['seconds'] / nodes:10.2f} "
                f"{best['rss']:7.0f} {best['json'] / 1000:9.0f} {best['markdown']:9.0f} "
                f"{best['short_words']:.0f}"
            )


def _one(path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", ONE, str(path)],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(str(ROOT / f) for f in ("server", "tests"))},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found
