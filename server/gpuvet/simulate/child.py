"""The child process: runs user patterns over a log and answers in JSON lines.

Started as a file by `simulate/guard.py`, never imported. The first line of stdin is the request;
the log follows there unless the request names a file.
"""

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gpuvet.simulate.log_lines import blocks
from gpuvet.simulate.rule import RuleSpec
from gpuvet.simulate.stream import LogRun, Refused, runners


def main() -> None:
    """Answer one request."""
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    path = request["log"]
    if path is None:
        _answer(request, sys.stdin.buffer)
        return
    with Path(path).open("rb") as log:
        _answer(request, log)


def _answer(request: dict[str, Any], log: BinaryIO) -> None:
    specs = [RuleSpec(**rule) for rule in request["rules"]]
    try:
        ready = runners(specs)
    except Refused as refusal:
        _say({"kind": "refused", "why": str(refusal)})
        return
    run = LogRun(
        ready,
        console=request["console"],
        stage_start=request["stage_start"],
        end_seconds=request["end_seconds"],
    )
    limit = request["max_bytes"]
    slow_from = request["announce_from"]
    for block in blocks(log):
        if run.form is None:
            problem = run.sample(block.lines)
            if problem:
                _say({"kind": "untimed", "why": problem})
                return
        if block.offset >= limit:
            _say({"kind": "cut", "line": block.first_line})
            break
        _say({"kind": "at", "line": block.first_line, "offset": block.offset})
        run.take(block, _announce if slow_from is not None and block.offset >= slow_from else None)
        if run.is_past_end or run.broken_line is not None:
            break
    if run.form is None:
        _say({"kind": "untimed", "why": "the log is empty"})
        return
    _say(_result(run))


def _announce(line: int, rule: str, field: str) -> None:
    _say({"kind": "try", "line": line, "rule": rule, "field": field})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _result(run: LogRun) -> dict[str, Any]:
    end = run.finish()
    return {
        "kind": "result",
        "console": bool(run.console),
        "form": run.form.name if run.form else "",
        "start": run.start,
        "end": end,
        "lines": run.lines,
        "kept": run.kept_lines,
        "unparsable": run.unparsable,
        "broken_line": run.broken_line,
        "rules": [
            {
                "rule": machine.spec.name,
                "state": machine.outcome(),
                "trip": machine.trip,
                "stopped_at": machine.stopped_at,
                "matches": machine.matches,
                "transitions": machine.transitions,
            }
            for machine in (runner.machine for runner in run.rules)
        ],
    }


if __name__ == "__main__":
    main()
