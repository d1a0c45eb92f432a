"""What a journal tells of its run, over the shared cases."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from gpuvet_evals.cli import main
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.inspection import RunIdentity, inspect_journal, inspection_json
from gpuvet_evals.journal import read_journal

JOURNALS = Path(__file__).parent.parent / "cases" / "journals"
SUITE: list[dict[str, Any]] = json.loads((JOURNALS / "suite.json").read_text(encoding="utf-8"))
GOLD_LABELS = frozenset({"expected_output_human", "human_label"})  # people wrote these


def without_gold(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return what a machine can know of an expectation."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: without_gold(v) for k, v in fields.items() if k not in GOLD_LABELS}
    if isinstance(value, list):
        return [without_gold(v) for v in cast("list[object]", value)]
    return value


@pytest.mark.parametrize("row", SUITE, ids=[row["case"] for row in SUITE])
def test_a_shared_case_is_seen_as_expected(
    row: dict[str, Any], journals: Path, shared_evals: EvalSet
) -> None:
    folder = journals / row["case"]
    journal = read_journal((folder / "journal_records.json").read_bytes())
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    identity = RunIdentity(skill_name=shared_evals.skill_name, **row)

    seen = inspection_json(
        inspect_journal(journal, identity, shared_evals.find(row["eval_id"])), full=False
    )

    for assertion in seen["assertions"] or ():
        assert assertion.pop("status", "unjudged") == "unjudged"
    assert without_gold(seen) == without_gold(expected)


def test_the_command_finds_case_and_evals_by_place(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = journals / "w1-xid79-without-contaminated"

    assert main(["inspect", str(case), "--format", "json", "--brief"]) == 0

    seen = json.loads(capsys.readouterr().out)
    assert (seen["case"], seen["run_type"], seen["trigger"]["verdict"]) == (
        "w1-xid79-without-contaminated",
        "without_skill",
        "contaminated",
    )


def test_a_journal_elsewhere_is_told_by_its_prompt(
    journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "downloaded.json"
    copy.write_bytes((journals / "c1-preflight-with-good" / "journal_records.json").read_bytes())

    code = main(["inspect", str(copy), "--evals", str(journals / "evals.json"), "--format", "json"])

    seen = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (seen["eval_id"], seen["iteration"]) == ("preflight-72h-run", 1)


def test_a_broken_journal_costs_only_itself(
    journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case in ("a1-xid79-with-good", "b3-coverage-with-not-triggered-blocked"):
        (tmp_path / case).mkdir()
        source = journals / case / "journal_records.json"
        (tmp_path / case / "journal_records.json").write_bytes(source.read_bytes())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "journal_records.json").write_text("[{", encoding="utf-8")

    assert main(["inspect", str(tmp_path), "--format", "json"]) == 0

    seen = json.loads(capsys.readouterr().out)
    assert len(seen["runs"]) == 2
    assert [b["case"] for b in seen["broken"]] == ["broken"]


def test_a_missing_path_is_a_usage_error(tmp_path: Path) -> None:
    assert main(["inspect", str(tmp_path / "nowhere")]) == 2
