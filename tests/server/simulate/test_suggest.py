"""Log monitors proposed from logs: silent on the good run, awake on a bad one."""

import pytest
from training_logs import FAULTS, Fault, training_log

from gpuvet.errors import UsageError
from gpuvet.model.check import Severity
from gpuvet.modes.spec import check_text
from gpuvet.modes.spec_suggest import suggest_monitors

# Every form of stamp and of line once; all 200 logs run in tests/benchmarks.
SEEDS = range(0, 84, 2)
CATCHES = {"hang": {"StepHang"}, "spike": {"LossSpike"}, "slow": {"LowThroughput", "SlowSteps"}}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_proposal_passes_the_checks_and_its_own_log_and_catches_a_fault(seed: int) -> None:
    fault: Fault = FAULTS[seed // 2 % len(FAULTS)]
    proposal = suggest_monitors(
        text=training_log(seed), bad_texts=[training_log(seed, fault=fault)]
    )

    found = check_text(proposal.yaml).findings
    tripped = {each.rule for each in proposal.bad_runs[0].rules if each.state.is_trip}

    assert [each for each in found if each.severity is not Severity.ADVICE] == []
    assert proposal.good_run.first_trip is None
    assert tripped & CATCHES[fault]


def test_patterns_survive_a_change_of_epoch() -> None:
    proposal = suggest_monitors(text=training_log(0))

    assert "Epoch 0" not in proposal.yaml
    assert all(each.monitor.log_pattern.startswith(".*") for each in proposal.rules)


def test_pauses_are_told_by_their_cause() -> None:
    proposal = suggest_monitors(text=training_log(1))

    assert any(each.startswith("checkpoint:") for each in proposal.spacing.pauses)


def test_a_log_without_stamps_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="asctime"):
        suggest_monitors(text="step 1 loss=2.0\n" * 50)


def test_a_log_without_steps_is_refused() -> None:
    with pytest.raises(UsageError, match="logs its steps"):
        suggest_monitors(text="2026-03-02 08:00:00 hello\n")


def test_what_cannot_be_watched_is_said() -> None:
    lines = [f"2026-03-02 08:{i // 60:02}:{i % 60:02} step {i} speed 0.9 it/s" for i in range(60)]

    proposal = suggest_monitors(text="\n".join(lines))

    assert any("log a scaled value" in note for note in proposal.notes)
    assert [each.monitor.name for each in proposal.rules] == ["StepHang"]
