"""`gpuvet preflight` on the command line: formats, exit codes, what the caller says, triage."""

import json
from pathlib import Path

import pytest

from gpuvet.cli import main

CASES = Path(__file__).parents[2] / "cases"
S07 = str(CASES / "scenarios" / "s07-preflight-fails-p1-p4.json")
GOOD = str(CASES / "job_specs" / "c01_p5_four_nodes.yaml")
BAD = str(CASES / "field" / "11-spec-operator-inverted" / "inputs" / "monitors.yaml")


def out(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_run_that_is_not_ready_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = out(capsys, "preflight", "--case", S07)
    assert code == 1
    assert text.startswith("Ready? 72 h: No (P1, P4)")


def test_the_caller_s_length_wins_over_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = out(
        capsys,
        "preflight",
        "--case",
        S07,
        "--hours",
        "24",
        "--nodes",
        "2",
        "--checkpoint-every",
        "30m",
        "--checkpoint-gib",
        "100",
        "--auto-resume",
        "yes",
        "--format",
        "json",
    )
    report = json.loads(text)
    assert code == 1
    assert report["ready"] == {"24": "No"}
    assert report["because"] == {"24": ["P4"]}
    assert report["schema"] == "gpuvet/preflight/1"
    assert report["run"]["checkpoint_every_minutes"] == 30.0
    assert {c["id"]: c["status"] for c in report["checks"]}["P1"] == "PASS"


@pytest.mark.parametrize(
    ("form", "begins"), [("markdown", "**Ready?**"), ("html", "<!DOCTYPE html>"), ("json", "{")]
)
def test_each_format(form: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = out(capsys, "preflight", "--case", S07, "--format", form)
    assert text.lower().startswith(begins.lower())


def test_a_spec_alone_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "preflight", "--spec", BAD)[0] == 1
    code, text, _ = out(capsys, "preflight", "--spec", GOOD, "--hours", "24")
    assert code == 3  # nothing found in the file, and nothing else was looked at
    assert "Not decided" in text


def test_a_spec_beside_a_case_is_held_against_its_nodes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text, _ = out(
        capsys, "preflight", "--case", S07, "--spec", GOOD, "--format", "json", "--hours", "24"
    )
    check = next(c for c in json.loads(text)["checks"] if c["id"] == "P27")
    assert check["status"] == "FAIL"
    assert check["why"] == "4 pods and 0 spares on 2 accelerated nodes"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--hours", "0"], "0 h", id="no length at all"),
        pytest.param(["--hours", "-3"], "-3 h", id="a negative length"),
        pytest.param(["--checkpoint-gib", "-1"], "-1 GiB", id="a negative size"),
        pytest.param(["--nodes", "0"], "0 nodes", id="no nodes"),
        pytest.param(["--checkpoint-every", "often"], "often", id="an interval nobody can read"),
        pytest.param(["--start", "2026-03-01"], "zone", id="a start without a zone"),
        pytest.param(
            ["--spec", "no-such-file.yaml"], "no-such-file", id="a spec that is not there"
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = out(capsys, "preflight", "--case", S07, *words)
    assert code == 2, error
    assert said in error


def test_without_case_cluster_or_spec_it_says_what_to_give(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, error = out(capsys, "preflight")
    assert code == 2
    assert "--cluster" in error


def test_triage_runs_it_for_a_run_that_has_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, error = out(capsys, "triage", "--case", S07)
    assert code == 1
    assert "mode: Preflight" in error
    assert text.startswith("Ready?")
