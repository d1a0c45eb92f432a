"""Runs one benchmark or all: `python -m tests.benchmarks [NAME] [options]`.

Run from the root of a checkout. Every benchmark interleaves its runs with those of its baseline
and prints the median of each, its spread, and their ratio. Big inputs are made in a temporary
folder and removed.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("server", "evals", "tests")]

# The path is set only now.
from benchmarks import cold, incident, lines, scan, serve, verdicts  # noqa: E402


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "name",
        nargs="?",
        choices=("scan", "lines", "cold", "serve", "incident", "verdicts", "all"),
        default="all",
    )
    parser.add_argument("--gigabytes", type=float, default=0.25, help="size of the scanned log")
    parser.add_argument("--lines", type=int, default=200_000, help="candidate lines to parse")
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
    if options.name in {"incident", "all"}:
        incident.run(runs=options.runs)
    if options.name in {"verdicts", "all"}:
        verdicts.run(runs=options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
