"""Older flat layouts read as runs: a functional report with `runs`, and a trigger report."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuvet.model.base import Value
from gpuvet_evals.answer import NO_FINAL_RESPONSE, AnswerStatus
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.grade import summary_of
from gpuvet_evals.inspection import WITH_SKILL, WITHOUT_SKILL
from gpuvet_evals.journal import mapping, mappings

NAMES = ("functional_report.json", "benchmark.json")
TRIGGER_NAME = "trigger_report.json"
MAX_REPORT_BYTES = 256 * 1024 * 1024
_NOT_A_FOLDER = re.compile(r"[^A-Za-z0-9._-]+")


class OldRun(Value):
    """One side of one old run: its results in the present form, and its answer's text."""

    eval_id: str
    iteration: int
    side: str
    results_json: str
    answer: str


class OldTrigger(Value):
    """One query of an old trigger report."""

    query: str
    should_trigger: bool
    triggered: int
    runs: int


def old_report(folder: Path) -> Path:
    """Return the older report of a folder.

    Raises:
        UnreadableTree: There is none.
    """
    if folder.is_file():
        return folder
    for path in (*(folder / n for n in NAMES), *(folder / "evals" / n for n in NAMES)):
        if path.is_file() and b'"runs"' in path.read_bytes():
            return path
    raise UnreadableTree(f"no {' or '.join(NAMES)} with runs at {str(folder)!r}")


def read_old_runs(path: Path, version: str) -> list[OldRun]:
    """Return both sides of every run of an older report.

    A run that timed out with an empty output was scored 0 there; here it has no answer.

    Raises:
        UnreadableTree: It cannot be read, or has no runs.
    """
    report = _object(path)
    runs = mappings(report.get("runs"))
    if not runs:
        raise UnreadableTree(f"{str(path)!r} lists no runs")
    return [old for run in runs for old in _sides(run, version)]


def read_old_triggers(path: Path) -> list[OldTrigger]:
    """Return the queries of an older trigger report; nothing where there is none."""
    if not path.is_file():
        return []
    return [
        OldTrigger(
            query=str(row.get("query") or ""),
            should_trigger=row.get("should_trigger") is True,
            triggered=_count(row.get("trigger_count")),
            runs=_count(row.get("run_count")),
        )
        for row in mappings(_object(path).get("query_results"))
    ]


def _object(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            raise UnreadableTree(f"{str(path)!r} is larger than {MAX_REPORT_BYTES} bytes")
        return mapping(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableTree(f"{str(path)!r} cannot be read: {error}") from error


def _sides(run: Mapping[str, Any], version: str) -> Iterator[OldRun]:
    eval_id = _NOT_A_FOLDER.sub("-", str(run.get("eval_id") or "")).strip("-.") or "unnamed"
    index = run.get("run_index")
    # Older reports count from 0; iterations count from 1.
    iteration = index + 1 if isinstance(index, int) and not isinstance(index, bool) else 1
    for side in (WITH_SKILL, WITHOUT_SKILL):
        recorded = mapping(run.get(side))
        if recorded:
            results = _results(recorded, eval_id, iteration, side, version)
            answer = str(recorded.get("raw_output") or "")
            yield OldRun(
                eval_id=eval_id,
                iteration=iteration,
                side=side,
                results_json=json.dumps(results),
                answer=answer,
            )


def _results(
    recorded: Mapping[str, Any], eval_id: str, iteration: int, side: str, version: str
) -> dict[str, Any]:
    answered = bool(str(recorded.get("raw_output") or "").strip())
    rows = [_row(row, answered=answered) for row in mappings(recorded.get("assertion_results"))]
    seconds = mapping(recorded.get("timing")).get("elapsed_seconds")
    status = AnswerStatus.FINAL if answered else AnswerStatus.ERRORED
    return {
        "version": version,
        "iteration": iteration,
        "eval_id": eval_id,
        "run_type": side,
        "success": True,
        "error": None if answered else NO_FINAL_RESPONSE,
        "understanding_agent_space_skill": None,
        "tests": {
            "trigger": None,
            "expected_output": None,
            "assertions": {"assertion_results": rows, "summary": summary_of(rows)}
            if rows
            else None,
        },
        "metrics": {"runtime": None, "cost": None, "context_window": None},
        "gpuvet": {
            "imported_from": "flat layout",
            "answer": {"status": status.value, "counts_in_pass_rates": answered},
            "trigger": {"verdict": "unproven" if side == WITH_SKILL else "not_applicable"},
            "runtime_seconds": seconds if isinstance(seconds, int | float) else None,
            "tokens": dict(mapping(mapping(recorded.get("execution_metrics")).get("token_counts"))),
        },
    }


def _row(row: Mapping[str, Any], *, answered: bool) -> dict[str, Any]:
    passed = row.get("passed")
    method = str(row.get("method") or "")
    shown: dict[str, Any] = {
        "text": str(row.get("text") or ""),
        "evaluator": "regex" if method == "deterministic" else "llm",
    }
    if not answered or not isinstance(passed, bool) or row.get("uncertain") is True:
        why = NO_FINAL_RESPONSE if not answered else "the older report was uncertain"
        return shown | {"passed": None, "error": why}
    return shown | {"passed": passed, "evidence": str(row.get("evidence") or "")}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
