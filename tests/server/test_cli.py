"""The command line as its users meet it: streams, formats, exit codes."""

import json
from pathlib import Path

import pytest

import gpuvet
from gpuvet.cli import COMMANDS, main

CASES = Path(__file__).parents[1] / "cases"
README = Path(__file__).parents[2] / "README.md"


def verdict_case(name: str) -> str:
    return str(next((CASES / "verdicts").glob(f"{name}*.json")))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("v10", 0, id="nothing to act on"),
        pytest.param("v01", 1, id="a finding"),
        pytest.param("v15", 3, id="too little seen"),
    ],
)
def test_the_exit_code_says_what_was_found(name: str, expected: int) -> None:
    assert main(["verdict", "--case", verdict_case(name)]) == expected


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["verdict"], id="a missing argument"),
        pytest.param(["verdict", "--case", "no/such/case"], id="a case that is not there"),
        pytest.param(["nonsense"], id="an unknown command"),
        pytest.param(["xid", "banana"], id="a code that is no number"),
        pytest.param(
            ["verdict", "--case", "CASE", "--since", "yesterday"], id="a time nobody can read"
        ),
        pytest.param(
            ["verdict", "--case", "CASE", "--since", "1h", "--until", "2h"], id="an end before it"
        ),
    ],
)
def test_wrong_use_ends_with_2_and_says_why(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [verdict_case("v01") if word == "CASE" else word for word in words]
    assert main(given) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.strip()


def test_without_a_command_help_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "exit codes" in printed.err


def test_json_goes_to_stdout_alone_and_says_what_the_text_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["verdict", "--case", verdict_case("v01"), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert code == 1
    assert report["schema"] == "gpuvet/verdict/1"
    assert report["verdicts"] == {"i-0a10000000000001a": "REBOOT"}
    assert (report["branch"], report["label"]) == (None, None)
    assert report["nodes"][0]["class"] == "hardware"
    assert report["markdown"].startswith("**1 node: 1 REBOOT**")


@pytest.mark.parametrize("command", [c.name for c in COMMANDS])
def test_every_command_has_help_and_stands_in_the_readme(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    assert command in capsys.readouterr().out
    assert f"gpuvet {command}" in README.read_text(encoding="utf-8")


def test_the_demo_shows_a_lost_gpu_a_teardown_and_a_silent_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {
        "i-0a1c5e7f9b2d40611": "REBOOT",
        "i-0a1c5e7f9b2d40622": "LEAVE ALONE",
        "i-0a1c5e7f9b2d40633": "NOT OBSERVABLE",
        "i-0a1c5e7f9b2d40644": "LEAVE ALONE",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["incident", "--failure-at", "0001-01-01T00:00:00Z"], id="year 1"),
        pytest.param(["preflight", "--start", "9999-12-31T23:59:59Z"], id="year 9999"),
        pytest.param(["preflight", "--checkpoint-gib", "nan"], id="no number"),
        pytest.param(["preflight", "--checkpoint-gib", "1e308"], id="more than there is"),
    ],
)
def test_values_that_no_cluster_has_are_wrong_use_and_no_bug(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    demo = Path(gpuvet.__file__).parent / "demo_case"
    assert main([arguments[0], "--case", str(demo), *arguments[1:]]) == 2
    assert "Traceback" not in capsys.readouterr().err
