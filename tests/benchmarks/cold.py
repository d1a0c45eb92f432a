"""How long `gpuvet xid 79` takes in a fresh process, against `import pydantic` alone.

Run `python -m tests.benchmarks.cold [RUNS]`. The runs of all commands are interleaved, so that a
busy moment of the machine slows each of them alike.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

SERVER = Path(__file__).parents[2] / "server"
RUNS = 15
FEWEST_RUNS = 5

YARDSTICK = "import pydantic"
OURS = "gpuvet xid 79"
COMMANDS = {
    "pass": ("-c", "pass"),
    YARDSTICK: ("-c", "import pydantic"),
    "from pydantic import BaseModel": ("-c", "from pydantic import BaseModel"),
    OURS: ("-c", "import sys; from gpuvet.cli import main; sys.exit(main(['xid', '79']))"),
}


def seconds_of(words: Sequence[str]) -> float:
    """Return the wall time of one fresh interpreter."""
    start = time.perf_counter()
    subprocess.run(
        (sys.executable, *words),
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(SERVER)},
    )
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, list[float]]:
    """Return the seconds of every run by command; one run of each is thrown away to warm files."""
    for words in COMMANDS.values():
        seconds_of(words)
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, words in COMMANDS.items():
            found[name].append(seconds_of(words))
    return found


def told(name: str, seconds: Sequence[float]) -> str:
    """Return a command's median and spread in one line."""
    median, low, high = (1000 * s for s in (statistics.median(seconds), min(seconds), max(seconds)))
    return f"{name:<32} {median:6.1f} ms   ({low:.1f} to {high:.1f}, {len(seconds)} runs)"


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    runs = max(FEWEST_RUNS, int(words[0]) if words else RUNS)
    found = measure(runs)
    lines = [told(name, seconds) for name, seconds in found.items()]
    pairs = [ours / base for ours, base in zip(found[OURS], found[YARDSTICK], strict=True)]
    ratio = statistics.median(found[OURS]) / statistics.median(found[YARDSTICK])
    lines.append(
        f"{OURS} / {YARDSTICK}: {ratio:.2f}   "
        f"({min(pairs):.2f} to {max(pairs):.2f} within a round; at most 2 is the aim)"
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
