"""Our suite as a user meets it: linted, played over its worlds, graded; and our skill."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuvet.cli import main as gpuvet
from gpuvet_evals.asking import Reply, Request
from gpuvet_evals.cli import main
from gpuvet_evals.inspection import WITH_SERVER
from gpuvet_evals.run.agent import Limits
from gpuvet_evals.run.command import RunOptions, run_suite
from gpuvet_evals.run.sides import skill_files

ROOT = Path(__file__).parents[2]
EVALS = ROOT / "evals"
# One eval of each form of world, with the tool of gpuvet's server that answers it.
PLAYED = {
    "pending-node": "incident_report",
    "fallen-off-bus": "incident_report",
    "audit-rotation": "audit_report",
    "preflight-72h": "preflight_report",
    "spec-epoch0": "fs_read",
    "negative-bill": None,
}


class Guided:
    """A model that asks the tool of its eval and gives the expected answer."""

    def __init__(self) -> None:
        document = json.loads((EVALS / "evals.json").read_text(encoding="utf-8"))
        self.by_prompt = {e["prompt"]: e for e in document["evals"]}
        self.told: dict[str, str] = {}

    def ask(self, request: Request) -> Reply:
        prompt = request["messages"][0]["content"][0]["text"]
        eval_ = self.by_prompt[prompt]
        tool = PLAYED[eval_["id"]]
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        if tool is None or turn == 2:
            last = request["messages"][-1]["content"][-1]
            self.told[eval_["id"]] = json.dumps(last.get("content", ""))
            return _reply({"type": "text", "text": eval_.get("expected_output") or "It grew."})
        given = {"file_path": "job.yaml"} if tool == "fs_read" else {"question": prompt}
        calls = [("skill_read", {"skill_id": "gpuvet"}), (tool, given)]
        name, arguments = calls[turn]
        return _reply({"type": "tool_use", "id": f"toolu_{turn}", "name": name, "input": arguments})


def _reply(block: dict[str, object]) -> Reply:
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    return Reply(content=(block,), stop_reason=stop)


def test_the_suite_and_the_skill_pass_the_lint(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["lint", str(EVALS), "--skill", str(ROOT / "skill"), "--fail-on", "warning"])

    out = capsys.readouterr().out
    assert code == 0, out
    assert "skill: 13 passed, 16 skipped" in out  # skipped: only a judge can tell


def test_a_run_sees_every_page_of_the_exported_skill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpuvet(["skill", "export", str(tmp_path)]) == 0
    exported = tmp_path / "gpuvet"

    seen = skill_files(exported)

    assert seen.body == (exported / "SKILL.md").read_text(encoding="utf-8")
    assert seen.resources == {
        path.relative_to(exported).as_posix(): path.read_text(encoding="utf-8")
        for path in (exported / "references").iterdir()
    }
    assert set(skill_files(ROOT / "skill").resources) == set(seen.resources)
    capsys.readouterr()
    assert main(["lint", str(EVALS / "evals.json"), "--skill", str(exported)]) == 0
    assert "skill: 13 passed, 16 skipped" in capsys.readouterr().out


def test_a_skill_that_breaks_a_rule_fails_the_lint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill = tmp_path / "gpuvet"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: GPU vet\n---\nText.\n", encoding="utf-8")

    assert main(["lint", str(EVALS / "evals.json"), "--skill", str(skill)]) == 1
    assert "STRUCT-05 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("allowed", "says"),
    [
        ({}, "identifier: evals.json: instance i-0"),
        ({"i-018a376192ee2f67f": " "}, "allows 'i-018a376192ee2f67f' without a reason"),
    ],
)
def test_an_identifier_needs_a_reason_to_be_allowed(
    allowed: dict[str, str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(EVALS / "evals.json", tmp_path / "evals.json")
    (tmp_path / "allowed-identifiers.json").write_text(json.dumps(allowed), encoding="utf-8")

    assert main(["lint", str(tmp_path)]) == 1
    assert says in capsys.readouterr().out


def test_a_world_without_an_eval_fails_the_lint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(EVALS / "evals.json", tmp_path / "evals.json")
    shutil.copyfile(EVALS / "allowed-identifiers.json", tmp_path / "allowed-identifiers.json")
    worlds = {"format": "gpuvet-worlds/1", "worlds": {"nobody": {"case": "evals.json"}}}
    (tmp_path / "worlds.json").write_text(json.dumps(worlds), encoding="utf-8")

    assert main(["lint", str(tmp_path)]) == 1
    assert "a world for 'nobody', which is no eval" in capsys.readouterr().out


def test_each_form_of_world_is_played_and_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions(
        evals=EVALS / "evals.json",
        to=tmp_path,
        skill=ROOT / "skill",
        sides=("with_skill", WITH_SERVER),
        only=tuple(PLAYED),
    )
    model = Guided()
    result = run_suite(
        options,
        model="model-1",
        asks=model,
        workers=1,
        clock=lambda: datetime(2026, 11, 12, tzinfo=UTC),
    )
    assert main(["grade", str(tmp_path), "--quiet", "--format", "json"]) == 0
    said = capsys.readouterr().out
    main(["lint", str(tmp_path)])
    linted = capsys.readouterr().out

    assert "identifier" not in linted
    assert result.is_whole
    assert len(result.played) == 11  # a negative has one side
    graded = json.loads(said)
    assert graded["statuses"] == {"final": 11}
    for name, tool in PLAYED.items():
        assert ("no tool" in model.told[name]) is False, tool
    results = json.loads(
        (
            tmp_path / "functional/v1/iteration-1/pending-node" / WITH_SERVER
            / "functional-tests-results.json"
        ).read_text(encoding="utf-8")
    )  # fmt: skip
    assert results["tests"]["trigger"]["result"] == "passed"
    rows = results["tests"]["assertions"]["assertion_results"]
    assert [row["text"] for row in rows if row["passed"] is False] == []


class Eager:
    """A model that loads the skill for everything, and stops there."""

    def ask(self, request: Request) -> Reply:
        """Load, whatever is asked."""
        assert "- gpuvet: " in request["system"][0]["text"]
        return _reply(
            {"type": "tool_use", "id": "t", "name": "skill_read", "input": {"skill_id": "gpuvet"}}
        )


def test_trigger_queries_are_played_for_the_load_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions(
        evals=EVALS / "eval_queries.json",
        to=tmp_path,
        skill=ROOT / "skill",
        sides=("with_skill",),
        limits=Limits(turns=1),
    )
    run_suite(
        options,
        model="m",
        asks=Eager(),
        workers=1,
        clock=lambda: datetime(2026, 11, 12, tzinfo=UTC),
    )
    main(["grade", str(tmp_path), "--quiet"])
    main(["benchmark", str(tmp_path)])
    capsys.readouterr()

    written = json.loads((tmp_path / "functional/v1/benchmark.json").read_text(encoding="utf-8"))
    trigger = written["gpuvet"]["trigger"]
    assert (trigger["true_positives"], trigger["false_positives"]) == (12, 8)
    assert (trigger["recall_value"], trigger["precision_value"]) == (1.0, 0.6)
    assert main(["lint", str(EVALS / "eval_queries.json"), "--fail-on", "warning"]) == 0
