"""What a question says of a run, in people's words."""

from datetime import UTC, datetime

import pytest

from gpuvet.calculators.run_question import duration_hours, run_of_question
from gpuvet.model.case import RunPlan

START = datetime(2026, 3, 20, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            "We want to start a 72 hour run now (2 nodes). Checkpoint every 60 minutes. Ready?",
            RunPlan(hours=72.0, checkpoint_interval_minutes=60.0, nodes_needed=2),
            id="length, nodes, checkpoints",
        ),
        pytest.param(
            "Will this 5-day training survive, starting 2026-03-20 11:30Z on 16 nodes?",
            RunPlan(start=START, hours=120.0, nodes_needed=16),
            id="days and a start",
        ),
        pytest.param(
            "Can we run for 36h? We checkpoint every 2 h.",
            RunPlan(hours=36.0, checkpoint_interval_minutes=120.0),
            id="the interval is not the length",
        ),
        pytest.param(
            "Every 30 min it writes a checkpoint; is a 1 week run fine?",
            RunPlan(hours=168.0, checkpoint_interval_minutes=30.0),
            id="the interval first",
        ),
        pytest.param(
            "Please check this job before we submit it for a 5-epoch run.", RunPlan(), id="epochs"
        ),
        pytest.param("A 9000 day run", RunPlan(), id="a length nobody can mean"),
        pytest.param(None, RunPlan(), id="no question"),
    ],
)
def test_a_question_says(words: str | None, expected: RunPlan) -> None:
    assert run_of_question(words) == expected


@pytest.mark.parametrize(
    ("text", "hours"), [("60m", 1.0), ("2h", 2.0), ("90 min", 1.5), ("1d", 24.0), ("x", None)]
)
def test_a_duration(text: str, hours: float | None) -> None:
    assert duration_hours(text) == hours
