"""Proposed log monitors as text: the YAML first, then the proof and what is missing."""

from gpuvet.model.log_monitor import Simulation
from gpuvet.model.monitor_proposal import Proposal


def suggestion_text(proposal: Proposal) -> str:
    """Return the proposal; what precedes the proof can be pasted under spec.runPolicy."""
    spacing = proposal.spacing
    parts = [
        "# under spec.runPolicy:",
        proposal.yaml,
        "# measured:",
        (
            f"#   steps: {spacing.lines}, first at {spacing.first_seconds:g} s; gaps p50 "
            f"{spacing.p50:g} s, p99 {spacing.p99:g} s, longest {spacing.longest:g} s"
        ),
        *(f"#   {each}" for each in spacing.pauses),
        *(
            f"#   {each.name}: {each.low:g} to {each.high:g}, median {each.p50:g}"
            for each in proposal.metrics
        ),
        "# proof:",
        f"#   good run {_verdict(proposal.good_run)}",
        *(f"#   bad run {_verdict(each)}" for each in proposal.bad_runs),
    ]
    if proposal.notes:
        parts += ["# missing:", *(f"#   {each}" for each in proposal.notes)]
    return "\n".join(parts) + "\n"


def _verdict(result: Simulation) -> str:
    trip = result.first_trip
    if trip is None:
        return f"{result.log}: no rule trips in {result.end_seconds:g} s"
    return f"{result.log}: {trip.rule} is {trip.state} at {trip.at_seconds:g} s"
