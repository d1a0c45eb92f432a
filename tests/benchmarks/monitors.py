"""Log monitors over a big log, a cold `spec check`, and proposals for 200 logs.

Run `python -m tests.benchmarks.monitors [--gigabytes 1]`. The simulation is measured against one
plain `re.match` loop over the same lines and patterns in a process of its own.
"""

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests")]

from benchmarks.measure import say  # noqa: E402  (as above)
from gpuvet.simulate.guard import run_rules  # noqa: E402  (after the package is on the path)
from gpuvet.simulate.rule import RuleSpec  # noqa: E402  (as above)

RULES = (
    RuleSpec("JobStart", ".*Experiment configuration.*", cutoff=600.0),
    RuleSpec(
        "StepHang",
        r".*\[Epoch \d+ Batch \d+.*'training_loss_step': (\d+(?:\.\d+)?).*",
        ".*training loop finished.*",
        600.0,
        600.0,
    ),
    RuleSpec("NoCheckpoint", ".*The checkpoint is finalized.*", None, 1e6, 1e6),
    RuleSpec(
        "LowThroughput",
        r".*\[Epoch \d+ Batch \d+.*'samples/sec': (\d+(?:\.\d+)?).*",
        threshold=10.0,
        operator="lteq",
        data_points=25,
    ),
    RuleSpec("OutOfMemory", ".*RuntimeError.*out of memory.*", fault_on_match=True),
)
_PLAIN = """
import json, re, sys
patterns = [re.compile(p).match for p in json.loads(sys.argv[2])]
count = 0
with open(sys.argv[1], encoding="utf-8") as log:
    for line in log:
        for match in patterns:
            if match(line):
                count += 1
print(count)
"""
_RSS = """
import json, resource, subprocess, sys
child = subprocess.run([sys.executable, "-I", sys.argv[1]], input=sys.argv[2].encode(),
                       stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def write_log(path: Path, gigabytes: float) -> int:
    """Write a run's stdout: every fourth line is a step, the rest is chatter; return its lines."""
    lines, size, step = 0, int(gigabytes * (1 << 30)), 0
    with path.open("w", encoding="utf-8", newline="\n") as log:
        log.write("2026-03-02 08:00:00,000 [INFO] main: Experiment configuration: {}\n")
        while log.tell() < size:
            parts: list[str] = []
            for _ in range(2500):
                step += 1
                seconds = step // 4
                stamp = f"2026-03-{2 + seconds // 86400:02} {seconds // 3600 % 24:02}:"
                stamp += f"{seconds // 60 % 60:02}:{seconds % 60:02},{step % 4 * 250:03}"
                parts.append(
                    f"{stamp} [INFO] trainer: [Epoch {step // 5000} Batch {step}] "
                    f"{{'training_loss_step': 2.31, 'samples/sec': 92.5}}\n"
                    f"{stamp} [INFO] data: shard {step % 97} read, queue depth 12, 3 workers\n"
                    f"{stamp} [DEBUG] comm: all_reduce bucket {step % 31} took 12.3 ms\n"
                    f"{stamp} [INFO] memory: allocated 61.2 GiB reserved 70.1 GiB retries 0\n"
                )
            log.write("".join(parts))
            lines += 10_000
    return lines


def seconds_of(action: Callable[[], object]) -> float:
    """Return the wall time of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def big_log(gigabytes: float, runs: int) -> None:
    """Measure the simulation against the plain loop, taking turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdout.log"
        lines = write_log(path, gigabytes)
        patterns = [rule.log_pattern for rule in RULES]
        patterns += [rule.stop_pattern for rule in RULES if rule.stop_pattern]
        plain_words = [sys.executable, "-c", _PLAIN, str(path), json.dumps(patterns)]
        ours: list[float] = []
        plain: list[float] = []
        for _ in range(runs):
            plain.append(
                seconds_of(lambda: subprocess.run(plain_words, check=True, capture_output=True))
            )
            ours.append(seconds_of(lambda: run_rules(RULES, log=path)))
        say(f"{gigabytes:g} GB, {lines} lines, {len(RULES)} rules, {runs} runs each")
        for name, seconds in (("re.match loop", plain), ("simulate", ours)):
            say(f"  {name:14s} {statistics.median(seconds):7.2f} s  {min(seconds):.2f} least")
        say(f"  ratio {statistics.median(ours) / statistics.median(plain):.2f} (at most 1.5)")
        say(f"  RSS of the child {_peak_mib(path):.0f} MiB (at most 200)")


def _peak_mib(path: Path) -> float:
    request = {
        "rules": [rule._asdict() for rule in RULES],
        "log": str(path),
        "console": None,
        "stage_start": None,
        "end_seconds": None,
        "max_bytes": 64 << 30,
        "announce_from": None,
    }
    child = ROOT / "server/gpuvet/simulate/child.py"
    words = [sys.executable, "-c", _RSS, str(child), json.dumps(request) + "\n"]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def cold(runs: int) -> None:
    """Measure a cold `gpuvet spec check` against importing pydantic and the YAML reader."""
    spec = next((ROOT / "tests/cases/job_specs").glob("c01*.yaml"))
    compileall.compile_dir(ROOT / "server", quiet=1)  # as installers do
    ours = (
        "import argparse, sys; from gpuvet.commands import spec; p = argparse.ArgumentParser(); "
        "spec.add_parser(p.add_subparsers()); a = p.parse_args(['spec', 'check', sys.argv[1]]); "
        "a.run(a)"
    )
    commands = {
        "import pydantic, ruamel.yaml": "import pydantic, ruamel.yaml",
        "from pydantic import BaseModel; ruamel.yaml": (
            "from pydantic import BaseModel; from ruamel.yaml import YAML"
        ),
        "gpuvet spec check": ours,
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs + 1):
        for name, code in commands.items():
            seconds[name].append(seconds_of(partial(_fresh, code, str(spec))))
    base = statistics.median(seconds["from pydantic import BaseModel; ruamel.yaml"][1:])
    for name, each in seconds.items():
        middle = statistics.median(each[1:])
        say(f"  {name:45s} {1000 * middle:6.1f} ms  {middle / base:4.2f} x")


def _fresh(code: str, argument: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    words = [sys.executable, "-c", code, argument]
    subprocess.run(words, check=True, capture_output=True, env=env)


def proposals(count: int) -> None:
    """Propose monitors for generated logs; each has to pass, stay quiet and catch its faults."""
    from training_logs import FAULTS, training_log  # noqa: PLC0415  (as above)

    from gpuvet.model.check import Severity  # noqa: PLC0415  (only this part needs them)
    from gpuvet.modes.spec import check_text  # noqa: PLC0415  (as above)
    from gpuvet.modes.spec_suggest import suggest_monitors  # noqa: PLC0415  (as above)

    caught = dict.fromkeys(FAULTS, 0)
    quiet = clean = 0
    for seed in range(count):
        bad = [training_log(seed, fault=fault) for fault in FAULTS]
        proposal = suggest_monitors(text=training_log(seed), bad_texts=bad)
        found = check_text(proposal.yaml).findings
        clean += all(each.severity is Severity.ADVICE for each in found)
        quiet += proposal.good_run.first_trip is None
        wanted = ({"StepHang"}, {"LossSpike"}, {"LowThroughput", "SlowSteps"})
        for fault, names, run in zip(FAULTS, wanted, proposal.bad_runs, strict=True):
            caught[fault] += bool({each.rule for each in run.rules if each.state.is_trip} & names)
    say(f"{count} logs: {clean} pass check, {quiet} never trip on themselves")
    for fault, hits in caught.items():
        say(f"  {fault}: {hits} of {count} caught")


def main() -> None:
    """Run all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.25)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--logs", type=int, default=200)
    options = parser.parse_args()
    big_log(options.gigabytes, options.runs)
    cold(max(options.runs, 9))
    proposals(options.logs)


if __name__ == "__main__":
    main()
