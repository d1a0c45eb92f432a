"""User patterns run in a child, and a child that does not come back is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuvet.errors import UsageError
from gpuvet.model.log_monitor import RuleState
from gpuvet.modes.spec_simulate import simulate_spec
from gpuvet.simulate.guard import Limits, run_rules
from gpuvet.simulate.rule import RuleSpec

QUICK = Limits(silence_seconds=1.0, search_seconds=1.0)
HOSTILE = r"(\w+\s*)+$"
RUNAWAY = r"\S+ \S+ " + HOSTILE
LOG = "2026-03-02 08:00:00 fine!\n2026-03-02 08:00:01 " + "a" * 60 + "!\n"


def test_a_runaway_pattern_is_killed_and_named_with_its_line() -> None:
    rules = [RuleSpec("Fine", ".*fine"), RuleSpec("Hostile", RUNAWAY)]

    answer = run_rules(rules, text=LOG, limits=QUICK)

    assert answer.result is None
    assert answer.stuck is not None
    assert (answer.stuck.rule, answer.stuck.field, answer.stuck.line) == (
        "Hostile",
        "logPattern",
        2,
    )


def test_a_killed_pattern_is_a_finding_under_its_code() -> None:
    spec = f"- name: Hostile\n  logPattern: '.* {HOSTILE}'\n  expectedStartCutOffInSeconds: 60\n"

    result = simulate_spec(spec, text=LOG, limits=QUICK)

    assert [(each.code, each.line) for each in result.findings] == [("HPJ143", 2)]
    assert [each.state for each in result.rules] == [RuleState.NOT_JUDGED]
    assert result.needs_action


def test_a_runaway_stop_pattern_is_found_too() -> None:
    rules = [RuleSpec("Rule", ".*fine", stop_pattern=RUNAWAY)]

    stuck = run_rules(rules, text=LOG, limits=QUICK).stuck

    assert stuck is not None
    assert stuck.field == "stopPattern"


def test_one_broken_pattern_disables_all_rules() -> None:
    spec = "- name: A\n  logPattern: '.*(a'\n- name: B\n  logPattern: '.*b'\n"

    result = simulate_spec(spec, text=LOG)

    assert [each.state for each in result.rules] == [RuleState.DISABLED] * 2
    assert result.first_trip is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("step 1\nstep 2\n", "kubectl logs --timestamps", id="no stamps"),
        pytest.param("", "empty", id="an empty log"),
    ],
)
def test_a_log_that_cannot_be_timed_is_refused_with_advice(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        run_rules([RuleSpec("A", ".*")], text=text)


def test_a_stage_start_that_is_no_time_is_refused() -> None:
    with pytest.raises(UsageError, match="stage start"):
        run_rules([RuleSpec("A", ".*x")], text=LOG, stage_start="yesterday")


def test_a_log_that_is_gone_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        run_rules([RuleSpec("A", ".*x")], log=tmp_path / "gone.log")


def test_bytes_that_are_no_text_end_the_judging(tmp_path: Path) -> None:
    log = tmp_path / "stdout.log"
    log.write_bytes(
        b"2026-03-02 08:00:00 step\n2026-03-02 08:00:01 \xff\xfe\n2026-03-02 09:00:00 step\n"
    )

    result = simulate_spec(
        "- name: A\n  logPattern: '.*step'\n  expectedRecurringFrequencyInSeconds: 60\n", log=log
    )

    assert result.first_trip is None
    assert any("line 2 is not UTF-8" in each for each in result.assumptions)


def test_a_carriage_return_ends_a_line_as_in_the_agent() -> None:
    text = "2026-03-02 08:00:00 a\r2026-03-02 08:00:05 step\r\n2026-03-02 08:00:09 b\n"

    answer = run_rules([RuleSpec("A", ".*step$")], text=text)

    assert answer.result is not None
    assert (answer.result["lines"], answer.result["rules"][0]["matches"]) == (3, 1)


def test_the_byte_cap_is_said() -> None:
    text = "2026-03-02 08:00:00 step\n" * 60_000

    answer = run_rules([RuleSpec("A", ".*step")], text=text, limits=Limits(max_bytes=1000))

    assert answer.is_cut


@pytest.mark.skipif(not hasattr(os, "WNOHANG"), reason="a platform without waitpid")
def test_no_child_is_left_behind() -> None:
    # In a process of its own: this one may have children that are not the guard's.
    script = (
        "import os\n"
        "from gpuvet.simulate.guard import Limits, RuleSpec, run_rules\n"
        f"run_rules([RuleSpec('Hostile', {RUNAWAY!r})], text={LOG!r}, "
        "limits=Limits(silence_seconds=0.5, total_seconds=1.0))\n"
        "try:\n"
        "    os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError:\n"
        "    print('none')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout == "none\n"
