"""Which skill was loaded, how surely, and what that says of the trigger."""

import json

import pytest

from gpuvet_evals.calls import tool_calls
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.loads import TriggerVerdict, judge_trigger, skill_loads

SKILL = "gpu-cluster-triage"
USER = f"/aidevops/skills/user/{SKILL}"
READ = {"content": f"---\nname: {SKILL}\ndescription: d\n---\n# Skill\n"}


def loaded() -> JournalWriter:
    """A named load in the main thread, as chat records it."""
    run = JournalWriter().user("q").use("skill_read", {"skill_id": SKILL})
    run.summary(
        "Done", label="Running Skill Read", call="t1", block_type="load_skill", subagent=None
    )
    return run.result(json.dumps(READ))


def summary_of_load(text: str, label: str, status: str = "success") -> JournalWriter:
    """What chat records of a load in a subagent."""
    run = JournalWriter().user("q").use("gather_context", {}, call="g")
    return run.summary(text, label=label, block_type="load_skill", status=status)


def fs_read(path: str, status: str = "success") -> JournalWriter:
    run = JournalWriter(investigation=True).user("q").use("fs_read", {"file_path": path})
    return run.result("     1\t---\n     2\tname: x\n", status=status)


def verdict_of(
    run: JournalWriter, *, with_skill: bool = True, should: bool = True
) -> tuple[str, int]:
    journal = run.journal()
    loads = skill_loads(journal, tool_calls(journal), SKILL)
    trigger = judge_trigger(loads, skill=SKILL, with_skill=with_skill, should_trigger=should)
    return trigger.verdict.value, trigger.named_loads


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        pytest.param(loaded(), ("pass", 1), id="named by call, summary and frontmatter"),
        pytest.param(
            summary_of_load("Done", f"Load the {SKILL} skill"), ("pass", 1), id="named by its label"
        ),
        pytest.param(
            summary_of_load(f"Loaded {SKILL}", "Running Skill Read"), ("pass", 1), id="by its text"
        ),
        pytest.param(
            summary_of_load("Done", "Running Skill Read"), ("unproven", 0), id="a nameless success"
        ),
        pytest.param(
            summary_of_load("Done", "Load the GPU triage skill"), ("unproven", 0), id="no real name"
        ),
        pytest.param(
            summary_of_load(f"Skill not found: {SKILL}", "Running Skill Read", "error"),
            ("fail", 0),
            id="refused",
        ),
        pytest.param(
            summary_of_load(f"Skill not found: {SKILL}", "Running Skill Read"),
            ("fail", 0),
            id="refused and recorded as a success",
        ),
        pytest.param(
            summary_of_load("Done", "Load searching-logs skill to query logs"),
            ("fail", 0),
            id="another skill",
        ),
        pytest.param(fs_read(f"{USER}/SKILL.md"), ("pass", 1), id="read as a file"),
        pytest.param(fs_read(f"{USER}/SKILL.md", "error"), ("fail", 0), id="file not readable"),
        pytest.param(
            fs_read("/aidevops/skills/system/exploring-metrics/SKILL.md"),
            ("fail", 0),
            id="built in",
        ),
        pytest.param(
            fs_read(f"{USER}/references/xids.md"), ("unproven", 0), id="only a file of the skill"
        ),
        pytest.param(
            JournalWriter(investigation=True)
            .user("q")
            .used(8, skills={"bundles": [{"name": SKILL, "utilization": 2.4}]})
            .used(9, skills={"bundles": [{"name": SKILL, "utilization": 2.4}]}),
            ("pass", 1),
            id="in the accounting of an investigation, once",
        ),
        pytest.param(
            JournalWriter(investigation=True)
            .user("q")
            .used(8, skills={"bundles": [{"name": SKILL, "utilization": 0}]}),
            ("fail", 0),
            id="offered and never used",
        ),
        pytest.param(JournalWriter().user("q").final("a"), ("fail", 0), id="nothing loaded"),
    ],
)
def test_a_load_is_worth_its_proof(run: JournalWriter, verdict: tuple[str, int]) -> None:
    assert verdict_of(run) == verdict


def test_a_negative_passes_without_a_load_and_fails_with_one() -> None:
    assert verdict_of(loaded(), should=False) == ("fail", 1)
    assert verdict_of(JournalWriter().user("q").final("a"), should=False) == ("pass", 0)
    nameless = summary_of_load("Done", "Running Skill Read")
    assert verdict_of(nameless, should=False) == ("unproven", 0)


def test_the_side_without_the_skill_is_contaminated_by_any_proof() -> None:
    without = [
        verdict_of(run, with_skill=False)[0]
        for run in (
            loaded(),
            fs_read(f"{USER}/references/xids.md"),
            summary_of_load("Done", "Running Skill Read"),
            summary_of_load(f"Skill not found: {SKILL}", "Running Skill Read", "error"),
        )
    ]

    assert without == ["contaminated", "contaminated", "not_applicable", "not_applicable"]


def test_verdicts_are_those_of_the_contract() -> None:
    words = ["pass", "fail", "unproven", "not_applicable", "contaminated"]

    assert [verdict.value for verdict in TriggerVerdict] == words
