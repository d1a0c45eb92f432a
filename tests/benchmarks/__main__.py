"""Runs one benchmark or all: `python -m tests.benchmarks [NAME] [options]`.

Run from the root of a checkout. Every benchmark interleaves its runs with those of its baseline
and prints the median of each, its spread, and their ratio. Big inputs are made in a temporary
folder and removed. `tests.benchmarks.monitors` and `tests.benchmarks.evals_grade` have options of
their own.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("server", "evals", "tests")]

# The path is set only now.
from benchmarks import (  # noqa: E402
    audit,
    cold,
    fleet,
    http,
    incident,
    lines,
    record,
    scan,
    serve,
    verdicts,
)

NAMES = (
    *("scan", "lines", "cold", "serve", "verdicts", "incident", "audit", "fleet", "http"),
    "record",
)


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=(*NAMES, "all"), default="all")
    parser.add_argument("--gigabytes", type=float, default=0.25, help="size of the scanned log")
    parser.add_argument("--lines", type=int, default=200_000, help="candidate lines to parse")
    parser.add_argument("--nodes", type=int, nargs="+", help="of a fleet; the audit takes one size")
    parser.add_argument("--kinds", nargs="+", default=["parallelcluster"], help="of fleets")
    parser.add_argument("--hours", type=int, default=168, help="audited")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    actions: dict[str, Callable[[], object]] = {
        "scan": lambda: scan.run(gigabytes=options.gigabytes, runs=options.runs),
        "lines": lambda: lines.run(count=options.lines, runs=options.runs),
        "cold": lambda: cold.main([str(options.runs)]),
        "serve": lambda: serve.run(runs=options.runs),
        "http": lambda: http.run(runs=options.runs),
        "verdicts": lambda: verdicts.run(runs=options.runs),
        "incident": lambda: incident.run(runs=options.runs),
        "audit": lambda: audit.run(
            nodes=(options.nodes or [4_096])[0], hours=options.hours, runs=options.runs
        ),
        "fleet": lambda: fleet.run(
            sizes=tuple(options.nodes or fleet.SIZES), kinds=tuple(options.kinds)
        ),
        "record": lambda: record.run(
            nodes=(options.nodes or [4_096])[0], hours=24, runs=options.runs
        ),
    }
    for name in NAMES if options.name == "all" else (options.name,):
        actions[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
