"""Runs one benchmark or all: `python -m tests.benchmarks [scan|lines|cold|serve|audit] [options]`.

Run from the root of a checkout. Every benchmark interleaves its runs with those of its baseline
and prints the median of each, its spread, and their ratio. Big inputs are made in a temporary
folder and removed.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "server"))

from tests.benchmarks import audit, cold, lines, scan, serve  # noqa: E402 - after the package is on the path


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "name", nargs="?", choices=("scan", "lines", "cold", "serve", "audit", "all"), default="all"
    )
    parser.add_argument("--gigabytes", type=float, default=0.25, help="size of the scanned log")
    parser.add_argument("--lines", type=int, default=200_000, help="candidate lines to parse")
    parser.add_argument("--nodes", type=int, default=4_096, help="of the audited fleet")
    parser.add_argument("--hours", type=int, default=168, help="audited")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.name in {"scan", "all"}:
        scan.run(gigabytes=options.gigabytes, runs=options.runs)
    if options.name in {"lines", "all"}:
        lines.run(count=options.lines, runs=options.runs)
    if options.name in {"cold", "all"}:
        cold.main([str(options.runs)])
    if options.name in {"serve", "all"}:
        serve.run(runs=options.runs)
    if options.name in {"audit", "all"}:
        audit.run(nodes=options.nodes, hours=options.hours, runs=options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
