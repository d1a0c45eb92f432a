"""Grading 1,000 journals of about 120 kB against `json.loads` of the same files.

Run `python -m tests.benchmarks.evals_grade [JOURNALS]`. Both sides read the same files from disk;
grading applies the patterns in the guarded child and ends with the bytes of every results file.
The two are interleaved, and the bytes of the runs are compared. CPU time of this process is
measured, which a busy machine blurs least; the child works alongside. What writing the files adds
depends on the disk and stands on a line of its own.
"""

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gpuvet_evals.evals_json import EvalSet, read_evals
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.json_text import json_text
from gpuvet_evals.locate import JOURNAL_NAME, places_under
from gpuvet_evals.pattern_guard import PatternGuard
from gpuvet_evals.suite import grade_tree, graded

JOURNALS = 1000
ROUNDS = 5
RATIO = 5.0  # what grading may take of the time that json.loads takes
_EVALS = Path(__file__).parents[1] / "cases" / "journals" / "evals.json"
_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def chat(number: int) -> JournalWriter:
    """Return a chat of about 120 kB: a skill load, a subagent with twelve calls, an answer."""
    run = JournalWriter(f"bench-{number}").user("Did any GPU node report an Xid in 72 hours?")
    run.use("skill_read", {"skill_id": "gpu-cluster-triage"}, call="t1", text="Loading the skill.")
    run.summary(
        "Done", label="Running Skill Read", call="t1", block_type="load_skill", subagent=None
    )
    skill = {"content": "---\nname: gpu-cluster-triage\n---\n" + "Read only. Prove coverage. " * 90}
    run.result(json.dumps(skill), call="t1").used(3.7)
    run.use("gather_context", {"prompt": "Read only. Collect."}, call="t2")
    collected = ""
    for call in range(12):
        rows = [_row(number, call, line) for line in range(8)]
        statistics = {"recordsMatched": 8.0, "recordsScanned": 48211.0 + call + number}
        reply = {"queryLanguage": "CWLI", "results": rows, "statistics": statistics}
        collected += json.dumps(reply)
        run.summary(json.dumps(reply), label="Running Query Cloudwatch Logs", call=f"s{call}")
    report = f"Collected: {collected}"
    run.summary(report, label="Gather facts", call="t2", block_type="run_subagent", subagent=None)
    return run.result(report, call="t2").used(5.1).final(_answer(number))


def lay_out(folder: Path, count: int) -> tuple[Path, list[Path]]:
    """Write the tree and return its version folder and the journals."""
    version, paths = folder / "functional" / "v1", list[Path]()
    evals = [e.id for e in _evals().evals if e.should_trigger]
    for number in range(count):
        side = "without_skill" if number % 2 else "with_skill"
        pair = number // 2
        iteration, eval_id = 1 + pair // len(evals), evals[pair % len(evals)]
        path = version / f"iteration-{iteration}" / eval_id / side / "outputs" / JOURNAL_NAME
        path.parent.mkdir(parents=True)
        path.write_text(chat(number).text(), encoding="utf-8")
        paths.append(path)
    return version, paths


def main(words: Sequence[str]) -> int:
    """Measure, print, and return 1 where it is too slow or the bytes differ."""
    count = int(words[0]) if words else JOURNALS
    evals = _evals()
    with tempfile.TemporaryDirectory() as folder, PatternGuard() as guard:
        version, paths = lay_out(Path(folder), count)
        size = sum(path.stat().st_size for path in paths)
        _, first = _grade(version, evals, guard)  # warms files and child
        rounds = [(_loads(paths), _grade(version, evals, guard)) for _ in range(ROUNDS)]
        start = time.perf_counter()
        grade_tree(version, evals, matcher=guard)
        written = time.perf_counter() - start
    equal = {digest for _, (_, digest) in rounds} == {first}
    loading, grading = min(r[0] for r in rounds), min(r[1][0] for r in rounds)
    ratio = grading / loading
    told = (
        f"{count} journals, {size / count / 1000:.0f} kB each; CPU time, best of {ROUNDS} rounds",
        f"json.loads  {1000 * loading / count:.3f} ms a journal",
        f"grading     {1000 * grading / count:.3f} ms a journal",
        f"ratio       {ratio:.2f}, limit {RATIO}",
        f"on disk     {1000 * written / count:.3f} ms a journal by the clock, file written",
        f"bytes       {'equal' if equal else 'DIFFER'} in {ROUNDS + 1} runs: {first[:16]}",
    )
    sys.stdout.write("\n".join(told) + "\n")
    return 0 if equal and ratio <= RATIO else 1


def _loads(paths: Sequence[Path]) -> float:
    start = time.process_time()
    for path in paths:
        json.loads(path.read_bytes())
    return time.process_time() - start


def _grade(version: Path, evals: EvalSet, guard: PatternGuard) -> tuple[float, str]:
    """Return the CPU seconds of grading a whole tree and a digest of all results."""
    digest = hashlib.sha256()
    start = time.process_time()
    for _, results in graded(places_under(version), evals, version.name, matcher=guard):
        digest.update(json_text(results).encode())
    return time.process_time() - start, digest.hexdigest()


def _evals() -> EvalSet:
    return read_evals(_EVALS.read_bytes())


def _row(number: int, call: int, line: int) -> list[dict[str, str]]:
    words = " ".join(_WORDS[(line + i) % len(_WORDS)] for i in range(6))
    return [
        {"field": "@timestamp", "value": f"2026-11-11 03:{line:02}:17.000"},
        {
            "field": "@logStream",
            "value": "SagemakerHealthMonitoringAgent/gpu-p5/i-0a1b2c3d4e5f60011",
        },
        {
            "field": "@message",
            "value": f"NVRM: Xid (PCI:0000:b3:00): 79, pid={number * call}, {words}",
        },
    ]


def _answer(number: int) -> str:
    return (
        "**REBOOT** `i-0a1b2c3d4e5f60011`, do not replace it yet.\n\n"
        "- One Xid 79 at 2026-11-11 03:42:17 UTC on PCI 0000:b3:00.\n"
        "- Group `/aws/sagemaker/Clusters/atlas-train/k3v9x0q2m7la`, stream "
        "`SagemakerHealthMonitoringAgent/gpu-p5/i-0a1b2c3d4e5f60011`; "
        f"{48211 + number:,} records scanned, 41 of 72 hours covered.\n"
        "- NodeRecovery is Automatic, yet CloudTrail shows no call, so recovery did not act.\n\n"
        + "If the same code returns after the reboot, replace the node. "
        * 12
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
