"""`gpuvet spec` from the command line: exit codes, formats, files."""

import argparse
import json
from pathlib import Path

import pytest
from spec_examples import BASE, job
from training_logs import training_log

from gpuvet.commands import spec
from gpuvet.errors import UsageError

CASES = Path(__file__).parents[2] / "cases" / "log_monitors"
L02 = CASES / "l02_seed_main_all_fire"


def gpuvet(*words: str) -> int:
    parser = argparse.ArgumentParser()
    spec.add_parser(parser.add_subparsers())
    args = parser.parse_args(["spec", *words])
    code: int = args.run(args)
    return code


def written(folder: Path, text: str, name: str = "job.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        pytest.param(BASE, (), 0, id="clean"),
        pytest.param(job(("replicas: 4", "replicas: 0")), (), 1, id="an error"),
        pytest.param(job(("nnodes=4", "nnodes=2")), (), 0, id="a warning"),
        pytest.param(job(("nnodes=4", "nnodes=2")), ("--fail-on", "warning"), 1, id="a lower bar"),
        pytest.param(job(("nnodes=4", "nnodes=2")), ("--fail-on", "risk"), 1, id="its other name"),
        pytest.param("kind: ConfigMap\n", (), 3, id="nothing to check"),
        pytest.param("kind: ConfigMap\n", ("--skip-others",), 0, id="nothing to check in a hook"),
        pytest.param("a: b: c\n", (), 1, id="not YAML"),
    ],
)
def test_the_exit_code_says_what_was_found(
    tmp_path: Path, text: str, words: tuple[str, ...], code: int
) -> None:
    assert gpuvet("check", "--no-config", *words, written(tmp_path, text)) == code


def test_json_has_the_promised_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpuvet("check", "--format", "json", written(tmp_path, job(("replicas: 4", "replicas: 0"))))

    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "gpuvet/spec-check/1"
    assert set(answer["findings"][0]) == {
        "code",
        "severity",
        "file",
        "line",
        "column",
        "path",
        "message",
        "why",
        "fix",
        "source",
    }


@pytest.mark.parametrize("form", ["text", "markdown", "sarif", "github"])
def test_every_format_names_the_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    gpuvet("check", "--format", form, written(tmp_path, job(("replicas: 4", "replicas: 0"))))

    assert "HPJ021" in capsys.readouterr().out


def test_settings_come_from_the_nearest_file(tmp_path: Path) -> None:
    path = written(tmp_path, job(("replicas: 4", "replicas: 0")))
    (tmp_path / ".gpuvet.toml").write_text('[spec]\nignore = ["HPJ021"]\n', encoding="utf-8")

    assert gpuvet("check", path) == 0
    assert gpuvet("check", "--no-config", path) == 1


def test_settings_may_stand_in_pyproject(tmp_path: Path) -> None:
    path = written(tmp_path, job(("nnodes=4", "nnodes=2")))
    text = '[tool.gpuvet.spec]\nfail-on = "warning"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")

    assert gpuvet("check", path) == 1


@pytest.mark.parametrize("text", ["unknown = 1\n", 'select = "HPJ"\n', "not toml\n"])
def test_settings_that_are_not_understood_are_refused(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, BASE)
    (tmp_path / ".gpuvet.toml").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=r"gpuvet\.toml"):
        gpuvet("check", path)


def test_fix_prints_a_diff_and_leaves_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = job(("HyperPodPyTorchJob", "HyperPodPytorchJob"))
    path = written(tmp_path, text)

    gpuvet("check", "--fix", path)

    assert "-kind: HyperPodPytorchJob\n+kind: HyperPodPyTorchJob\n" in capsys.readouterr().out
    assert Path(path).read_text(encoding="utf-8") == text


def test_fix_with_write_changes_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, job(("HyperPodPyTorchJob", "HyperPodPytorchJob")))

    gpuvet("check", "--fix", "--write", path)

    assert Path(path).read_text(encoding="utf-8") == BASE


def test_a_file_that_is_gone_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no-such"):
        gpuvet("check", "no-such.yaml")


def test_simulate_ends_with_1_when_a_rule_trips(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "line.svg"
    code = gpuvet(
        "simulate",
        str(L02 / "monitors.yaml"),
        "--log",
        str(L02 / "rank0.log"),
        "--stage-start",
        "2026-03-02T08:00:00Z",
        "--end-seconds",
        "2300",
        "--format",
        "json",
        "--svg",
        str(picture),
    )

    answer = json.loads(capsys.readouterr().out)
    assert code == 1
    assert answer["first_trip"] == {"rule": "JobStart", "state": "HANGING", "at_seconds": 120.0}
    assert {"rule", "state", "at_seconds", "value"} <= set(answer["rules"][0])
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_suggest_writes_monitors_that_check_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = written(tmp_path, training_log(0), "good.log")
    bad = written(tmp_path, training_log(0, fault="hang"), "bad.log")

    assert gpuvet("suggest", "--log", good, "--log-bad", bad, "--format", "yaml") == 0
    proposed = written(tmp_path, capsys.readouterr().out, "monitors.yaml")
    assert gpuvet("check", "--no-config", "--fail-on", "warning", proposed) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("explain", "HPJ133"), "constant-in-pattern"),
        (("schema",), "draft-07"),
    ],
)
def test_look_ups_end_with_0(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert gpuvet(*words) == 0
    assert says in capsys.readouterr().out


def test_observe_fits_the_alerts_to_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpuvet("observe", written(tmp_path, BASE)) == 0
    assert "restarted_total[51m]) >= 3" in capsys.readouterr().out
