"""`gpuvet audit`: formats, several cases, a baseline, and errors a caller can mend."""

import argparse
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpuvet.case import Case, load_case
from gpuvet.cli import main
from gpuvet.errors import UsageError

CASES = Path(__file__).parents[2] / "cases"
FIELD_12 = str(CASES / "field" / "12-audit-rotation-and-hole" / "inputs")
S03 = str(next((CASES / "scenarios").glob("s03*.json")))
S06 = str(next((CASES / "scenarios").glob("s06*.json")))
QUESTION = "Were there any GPU errors on the training nodes on 14 March?"


def test_the_claim_comes_first_and_too_little_seen_ends_with_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["audit", "--case", FIELD_12]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("4 nodes: 3 NOT OBSERVABLE, 1 LEAVE ALONE")
    assert lines[2].startswith("0 Xids may be claimed for every hour of 1 of 4")


def test_triage_runs_the_audit_when_the_question_asks_for_a_period(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["triage", "--case", FIELD_12, "--question", QUESTION]) == 3
    said = capsys.readouterr()
    assert said.err.startswith("mode: Audit (")
    assert "0 Xids may be claimed" in said.out


def test_json_has_what_every_mode_has(capsys: pytest.CaptureFixture[str]) -> None:
    main(["audit", "--case", FIELD_12, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    common = {
        *("schema", "mode", "account", "region", "window", "verdicts", "branch", "label"),
        *("confidence", "nodes", "coverage", "branches", "timeline", "not_seen", "markdown"),
    }
    assert common <= set(report)
    assert (report["schema"], report["mode"]) == ("gpuvet/audit/1", "Audit")
    row = report["coverage"][0]
    assert {"node", "source", "group", "stream", "status", "hours_measured", "gaps"} <= set(row)


def test_several_cases_make_one_fleet_and_a_missing_one_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gone = str(tmp_path / "gone")
    code = main(["audit", "--case", S03, "--case", S06, "--case", gone, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [c["status"] for c in report["clusters"]] == ["read", "read", "not read"]
    assert len(report["verdicts"]) == 5
    assert code == 3


def test_a_baseline_tells_what_is_new(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["audit", "--case", FIELD_12, "--format", "json"])
    old = json.loads(capsys.readouterr().out)
    for row in old["hours"]["rows"]:
        row["runs"] = "24L"
    baseline = tmp_path / "old.json"
    baseline.write_text(json.dumps(old), encoding="utf-8")
    main(["audit", "--case", FIELD_12, "--baseline", str(baseline), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["baseline"]
    assert sorted(s["hours"] for s in found["new_holes"]) == [2, 20, 24]
    assert found["healed_holes"] == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(None, "cannot be read", id="no such file"),
        pytest.param("{", "is no audit as JSON", id="no JSON"),
        pytest.param('{"schema": "gpuvet/verdict/1"}', "is no audit as JSON", id="another report"),
    ],
)
def test_a_baseline_that_is_none_is_told_with_what_to_do(
    content: str | None, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    baseline = tmp_path / "old.json"
    if content is not None:
        baseline.write_text(content, encoding="utf-8")
    assert main(["audit", "--case", FIELD_12, "--baseline", str(baseline)]) == 2
    assert told in capsys.readouterr().err


def test_a_price_below_zero_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--case", S06, "--price-per-gpu-hour", "-1"]) == 2
    assert "price" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["audit", "incident"])
def test_both_modes_have_the_page(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([command, "--case", S03, "--format", "html"])
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert page.isascii()


def test_clusters_of_several_regions_make_one_fleet_and_a_missing_one_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {("train-a", "us-west-2"): S03, ("train-b", "eu-west-1"): S06}

    @contextmanager
    def recorded(args: argparse.Namespace) -> Generator[Case]:
        (region,) = args.region
        if (args.cluster, region) not in held:
            raise UsageError(f"no cluster {args.cluster} in {region}")
        yield load_case(Path(held[args.cluster, region]))

    monkeypatch.setattr("gpuvet.commands.live.opened_case", recorded)
    regions = ["--region", "us-west-2", "--region", "eu-west-1"]
    main(["audit", "--cluster", "train-a,train-b", *regions, "--format", "json"])
    clusters = json.loads(capsys.readouterr().out)["clusters"]
    assert [(c["source"], c["status"]) for c in clusters if c["status"] != "read"] == [
        ("train-b us-west-2", "not read"),
        ("train-a eu-west-1", "not read"),
    ]
    assert len([c for c in clusters if c["status"] == "read"]) == 2
