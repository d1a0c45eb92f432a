"""A suite on disk: laid out, graded, benchmarked, published; a broken journal costs itself."""

import json
import shutil
from pathlib import Path

import pytest

from gpuvet_evals.cli import main
from gpuvet_evals.publish import check_evals_folder

SKILL = "---\nname: gpu-cluster-triage\ndescription: Triage of GPU clusters.\n---\n# Skill\n"


def grade(journals: Path, evals: Path) -> int:
    return main(["grade", str(journals / "suite.json"), "--to", str(evals), "--quiet"])


def tree_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_shared_suite_is_counted_as_expected(journals: Path, tmp_path: Path) -> None:
    assert grade(journals, tmp_path) == 0
    assert main(["benchmark", str(tmp_path)]) == 3  # too few evals to say

    written = json.loads((tmp_path / "functional/v1/benchmark.json").read_text(encoding="utf-8"))

    with_skill, without_skill = written["gpuvet"]["rates"]
    assert with_skill["statuses"] == {"answered_then_asked": 1, "blocked_on_user": 1, "final": 7}
    assert without_skill["statuses"] == {"final": 3, "no_summary": 1, "truncated_mid_tool": 1}
    assert without_skill["contaminated"] == 1
    assert with_skill["all_assertions"]["scored"]["value"] == pytest.approx(6 / 7)
    trigger = written["gpuvet"]["trigger"]
    assert (trigger["true_positives"], trigger["false_negatives"]) == (7, 1)
    assert (trigger["false_positives"], trigger["true_negatives"]) == (1, 1)
    assert trigger["unproven_positives"] == 1
    with_audits, without_audits = written["gpuvet"]["audits"]
    assert with_audits["read_only"] == {"inferred": 5, "proved": 4, "suspected": 1, "violated": 1}
    assert with_audits["unsupported_figures"] == 4
    assert without_audits["runs_with_account_ids"] == 1
    sides = written["gpuvet"]["with_against_without"]
    assert sides["evals_paired"] == ["xid79-node-verdict"]
    assert sides["dropped"] == ["xid79-node-verdict iteration 2"]
    assert sides["score"]["finding"] == "too few evals to say"


def test_grading_again_gives_the_same_bytes(journals: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        grade(journals, tmp_path / name)
        main(["benchmark", str(tmp_path / name)])
        main(["report", str(tmp_path / name)])
    grade(journals, tmp_path / "one")

    assert tree_of(tmp_path / "one") == tree_of(tmp_path / "two")


def test_the_written_tree_passes_the_publishers_check(journals: Path, tmp_path: Path) -> None:
    skill = tmp_path / "gpu-cluster-triage"
    skill.mkdir()
    (skill / "SKILL.md").write_text(SKILL, encoding="utf-8")
    evals = skill / "evals"

    grade(journals, evals)
    before = check_evals_folder(evals)
    main(["report", str(evals), "--skill", str(skill)])

    assert len(before) == 4
    assert check_evals_folder(evals) == []
    structure = json.loads(
        (evals / "structure/structure-tests-results-v1.json").read_text(encoding="utf-8")
    )
    assert (structure["result"], structure["summary"]["passed"]) == ("passed", 8)
    assert main(["lint", str(evals)]) == 0


def test_a_broken_journal_costs_only_its_run(
    journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "cases"
    shutil.copytree(journals, cases)
    (cases / "a1-xid79-with-good" / "journal_records.json").write_text("[{", encoding="utf-8")
    (cases / "a2-xid79-without-wrong-verdict" / "journal_records.json").unlink()

    assert main(["grade", str(cases), "--to", str(tmp_path / "e"), "--format", "json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert shown["runs"] == 16
    assert shown["statuses"]["errored"] == 2
    assert [b["case"] for b in shown["broken"]] == [
        "xid79-node-verdict/iteration-1/with_skill",
        "a2-xid79-without-wrong-verdict",
    ]
    assert main(["benchmark", str(tmp_path / "e")]) == 3


def test_a_suite_of_many_shows_progress(
    journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = journals / "n2-negative-correct" / "journal_records.json"
    for number in range(1, 41):
        folder = tmp_path / f"v1/iteration-{number}/negative-s3-lifecycle/with_skill/outputs"
        folder.mkdir(parents=True)
        shutil.copyfile(source, folder / "journal_records.json")
    arguments = ["grade", str(tmp_path / "v1"), "--evals", str(journals / "evals.json")]

    assert main(arguments) == 0

    told = capsys.readouterr().err.splitlines()
    assert (told[0], told[-1], len(told)) == ("graded 4 of 40", "graded 40 of 40", 10)


def test_a_regression_against_an_older_version_fails_the_benchmark(
    journals: Path, tmp_path: Path
) -> None:
    grade(journals, tmp_path)
    version = tmp_path / "functional"
    shutil.copytree(version / "v1", version / "v2")
    for path in (version / "v2").rglob("with_skill/functional-tests-results.json"):
        path.write_text(
            path.read_text(encoding="utf-8").replace('"passed": true', '"passed": false'),
            encoding="utf-8",
        )

    assert main(["benchmark", str(version / "v2"), "--against", str(version / "v1")]) == 1


def test_progress_and_errors_go_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["benchmark", str(tmp_path)]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert "no version at" in told.err


@pytest.mark.parametrize(
    ("exemptions", "problem"),
    [
        ('{"structure": {"reason": "r"}, "best-practices": {"reason": "r"}}', None),
        ('{"structure": {"reason": " "}}', "exempts structure without a reason"),
        ('{"functional-tests": {"reason": "r"}}', "names 'functional-tests'"),
        ("[", "no JSON"),
    ],
)
def test_exemptions_count_with_a_reason(
    exemptions: str, problem: str | None, journals: Path, tmp_path: Path
) -> None:
    grade(journals, tmp_path)
    main(["benchmark", str(tmp_path)])
    shutil.copyfile(journals / "evals.json", tmp_path / "evals.json")
    (tmp_path / "exemptions.json").write_text(exemptions, encoding="utf-8")

    problems = check_evals_folder(tmp_path)

    assert any(problem in p for p in problems) if problem else problems == []


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("inspect", "grade", "benchmark", "report", "import", "redact", "lint"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
    assert main([]) == 2
    assert "Exit codes" in capsys.readouterr().err
