"""`gpuvet answer check` as it is typed: exit codes, formats, evidence of every kind."""

import io
import json
from pathlib import Path

import pytest
from answer_world import DARK, OPEN, QUIET, REPLACED, incident

from gpuvet.cli import main

CASES = Path(__file__).parents[2] / "cases"
S01 = str(CASES / "scenarios" / "s01-silent-kernel-stream.json")
SOUND = (
    f"The cause is a hypothesis. REPLACE `{REPLACED}`. NOT OBSERVABLE `{DARK}`. "
    f"LEAVE ALONE `{QUIET}`. UNVERIFIED `{OPEN}`: reboot in any case, the ECC check decides."
)


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "incident.json"
    path.write_text(json.dumps(incident()), encoding="utf-8")
    return str(path)


def draft(tmp_path: Path, text: str) -> str:
    path = tmp_path / "draft.md"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_sound_draft_ends_with_0_and_says_what_it_was_held_against(
    tmp_path: Path, report: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["answer", "check", draft(tmp_path, SOUND), "--evidence", report]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("clean; 30 rules against Incident")


def test_a_finding_names_file_line_and_column_and_ends_with_1(
    tmp_path: Path, report: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = draft(tmp_path, f"{SOUND}\n\nI rebooted `{OPEN}`.\n")
    assert main(["answer", "check", path, "--evidence", report]) == 1
    assert capsys.readouterr().out.startswith(f"{path}:3:1: error ANS701 proposed-as-done: ")


def test_warnings_alone_end_with_0_unless_they_are_asked_to_count(
    tmp_path: Path, report: str
) -> None:
    path = draft(tmp_path, f"{SOUND}\n\nThen the job resumes automatically.\n")
    words = ["answer", "check", path, "--evidence", report]
    assert main(words) == 0
    assert main([*words, "--fail-on", "warning"]) == 1
    assert main([*words, "--fail-on", "risk"]) == 1


def test_a_draft_is_read_from_stdin_and_answered_as_json(
    report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("All nodes are healthy."))
    assert main(["answer", "check", "-", "--evidence", report, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gpuvet/answer/1"
    assert [f["code"] for f in found["findings"]] == ["ANS401", "ANS503", "ANS503"]
    assert set(found["findings"][0]) == {
        *("code", "name", "severity", "line", "column"),
        *("shown", "message", "why", "fix", "source"),
    }


def test_a_case_is_evidence_with_its_reports_and_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "NOT OBSERVABLE `i-0a11c27f3e5d90b41` (2 of 49 h). LEAVE ALONE `i-0b22d4e61fa0873c9` "
        "(0 Xids in 49 of 49 h). Root cause: Not observable. The subnet has 3,500 free addresses."
    )
    assert main(["answer", "check", draft(tmp_path, text), "--case", S01]) == 0
    other = text.replace("3,500", "5,300").replace("c9`", "9c`")
    assert main(["answer", "check", draft(tmp_path, other), "--case", S01]) == 1
    out = capsys.readouterr().out
    assert "ANS201" in out
    assert "ANS101" in out
    assert "the nearest there is i-0b22d4e61fa0873c9" in out


def test_what_a_test_case_expects_of_itself_is_no_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = json.loads(Path(S01).read_text(encoding="utf-8"))
    case["expected"] = {"secret": "i-0fffffffffffffff1"}
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case), encoding="utf-8")
    text = draft(tmp_path, "NOT OBSERVABLE `i-0fffffffffffffff1`.")
    assert main(["answer", "check", text, "--case", str(path)]) == 1
    assert "id i-0fffffffffffffff1 is in no evidence" in capsys.readouterr().out


def test_a_journal_is_evidence_by_what_its_tools_answered(tmp_path: Path) -> None:
    journal = CASES / "journals" / "a1-xid79-with-good" / "journal_records.json"
    words = ["answer", "check", "--evidence", str(journal)]
    assert main([*words, draft(tmp_path, "REBOOT `i-0a1b2c3d4e5f60011` after Xid 79.")]) == 0
    assert main([*words, draft(tmp_path, "REPLACE `i-0a1b2c3d4e5f60011` after Xid 79.")]) == 1


def test_several_pieces_of_evidence_count_together(tmp_path: Path, report: str) -> None:
    more = tmp_path / "ticket.txt"
    more.write_text("the customer counts 7,341 steps", encoding="utf-8")
    path = draft(tmp_path, f"{SOUND}\n\nThe customer counts 7341 steps.")
    assert main(["answer", "check", path, "--evidence", report]) == 1
    assert main(["answer", "check", path, "--evidence", report, "--evidence", str(more)]) == 0
    asked = ["--question", "why after 7341 steps?"]
    assert main(["answer", "check", path, "--evidence", report, *asked]) == 0


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        pytest.param("REPLACE it.", (), "there is no evidence", id="no evidence"),
        pytest.param(" \n", ("--case", S01), "the draft is empty", id="an empty draft"),
        pytest.param("x" * 40_001, ("--case", S01), "at most 40000", id="a draft too long"),
        pytest.param("x", ("--case", "nowhere"), "nothing is there", id="no such case"),
        pytest.param("x", ("--evidence", "nowhere"), "give a file that exists", id="no such file"),
    ],
)
def test_what_cannot_be_checked_ends_with_2_and_says_why(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    words: tuple[str, ...],
    said: str,
) -> None:
    assert main(["answer", "check", draft(tmp_path, text), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_draft_that_is_not_there_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answer", "check", "nowhere.md", "--case", S01]) == 2
    assert "wanted a draft at nowhere.md" in capsys.readouterr().err


def test_the_rules_are_printed_as_the_page_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answer", "rules"]) == 0
    assert capsys.readouterr().out.startswith("# Checks of a drafted answer")


def test_a_secret_in_a_draft_is_found_and_not_repeated(
    tmp_path: Path, report: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = draft(tmp_path, f"{SOUND}\n\nI read it with Bearer abcdef0123456789abcdef.")
    assert main(["answer", "check", path, "--evidence", report]) == 1
    out = capsys.readouterr().out
    assert "ANS704" in out
    assert "abcdef0123456789" not in out
