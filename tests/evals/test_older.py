"""Older flat layouts: a timeout is no zero."""

import json
from pathlib import Path

import pytest

from gpuvet_evals.cli import main
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.older import old_report, read_old_runs, read_old_triggers
from gpuvet_evals.runs import read_run


def side(passed: bool, output: str, seconds: float) -> dict[str, object]:
    return {
        "assertion_results": [
            {"text": "t", "passed": passed, "evidence": "e", "method": "deterministic",
             "confidence": 1.0, "uncertain": False},
            {"text": "u", "passed": True, "evidence": "e", "method": "llm", "confidence": 0.4,
             "uncertain": True},
        ],
        "pass_rate": 0.5,
        "execution_metrics": {"tool_calls": 3, "token_counts": {"input_tokens": 10}},
        "timing": {"elapsed_seconds": seconds},
        "raw_output": output,
    }  # fmt: skip


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    report = {
        "skill_name": "s", "eval_count": 1, "runs_per_eval": 1,
        "runs": [{"eval_id": "check nodes", "run_index": 0,
                  "with_skill": side(True, "it is so", 31.0),
                  "without_skill": side(False, "", 180.0), "delta_pass_rate": 0.5}],
    }  # fmt: skip
    queries = [{"query": "q", "should_trigger": True, "trigger_count": 2, "run_count": 3}]
    folder = tmp_path / "skill" / "evals"
    folder.mkdir(parents=True)
    (folder / "functional_report.json").write_text(json.dumps(report), encoding="utf-8")
    (folder / "trigger_report.json").write_text(
        json.dumps({"query_results": queries}), encoding="utf-8"
    )
    return folder


def test_a_timeout_without_output_has_no_answer(flat: Path) -> None:
    runs = read_old_runs(old_report(flat), "v1")

    read = {run.side: read_run(json.loads(run.results_json)) for run in runs}

    assert runs[0].eval_id == "check-nodes"
    assert read["with_skill"].score == 1.0  # the uncertain one decides nothing
    assert read["with_skill"].trigger.value == "unproven"
    assert (read["without_skill"].status.value, read["without_skill"].score) == ("errored", None)


def test_an_old_suite_is_benchmarked_like_a_new_one(
    flat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evals = tmp_path / "new"

    assert main(["import", str(flat), "--to", str(evals)]) == 0
    assert "2 runs from flat layout, 1 trigger queries" in capsys.readouterr().out
    assert main(["benchmark", str(evals)]) == 3
    assert main(["report", str(evals)]) == 3
    answer = evals / "functional/v1/iteration-1/check-nodes/with_skill/outputs/answer.md"
    assert answer.read_text(encoding="utf-8") == "it is so"


def test_old_triggers_are_read(flat: Path) -> None:
    (query,) = read_old_triggers(flat / "trigger_report.json")

    assert (query.triggered, query.runs, query.should_trigger) == (2, 3, True)
    assert read_old_triggers(flat / "none.json") == []


def test_what_is_no_older_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTree):
        old_report(tmp_path)
    (tmp_path / "functional_report.json").write_text('{"runs": []}', encoding="utf-8")
    with pytest.raises(UnreadableTree):
        read_old_runs(old_report(tmp_path), "v1")
