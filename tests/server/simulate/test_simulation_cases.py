"""Log monitors over logs: every case within its tolerance."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuvet.model.log_monitor import RuleOutcome
from gpuvet.modes.spec_simulate import simulate_spec

CASES = Path(__file__).parents[2] / "cases" / "log_monitors"


def streams() -> list[Any]:
    found: list[Any] = []
    for folder in sorted(path for path in CASES.iterdir() if path.is_dir()):
        case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        found += [
            pytest.param(folder, case, stream, id=f"{folder.name}-{stream['stream']}")
            for stream in case["streams"]
        ]
    return found


@pytest.mark.parametrize(("folder", "case", "stream"), streams())
def test_a_stream_comes_to_what_the_agent_would_say(
    folder: Path, case: dict[str, Any], stream: dict[str, Any]
) -> None:
    result = simulate_spec(
        (folder / "monitors.yaml").read_text(encoding="utf-8"),
        log=folder / stream["log"],
        log_format=case["log_format"],
        stage_start=case["stage_start"],
        end_seconds=stream["end_seconds"],
    )

    tolerance = case["tolerance_seconds"]
    assert [_comparable(each) for each in result.rules] == [
        (
            each["rule"],
            each["state"],
            pytest.approx(each["at_seconds"], abs=tolerance),
            each.get("value"),
            pytest.approx(each.get("stopped_at_seconds"), abs=tolerance),
        )
        for each in stream["expected"]
    ]
    assert result.unparsable_values == stream["unparsable_values"]
    trip = result.first_trip
    expected = stream["first_trip"]
    assert (trip and (trip.rule, trip.state)) == (
        expected and (expected["rule"], expected["state"])
    )


def _comparable(outcome: RuleOutcome) -> tuple[object, ...]:
    return (
        outcome.rule,
        str(outcome.state),
        outcome.at_seconds,
        outcome.value,
        outcome.stopped_at_seconds,
    )
