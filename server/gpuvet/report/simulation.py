"""A simulation as text: verdict first, a small time line, then what was assumed."""

from collections.abc import Sequence

from gpuvet.model.log_monitor import RuleOutcome, RuleState, Simulation

_WIDTH = 60  # columns of the terminal time line
_MARKS = {
    RuleState.WAITING: ".",
    RuleState.HEALTHY: "=",
    RuleState.SLOW: "S",
    RuleState.HANGING: "H",
    RuleState.FAULTED: "F",
    RuleState.STOPPED: "-",
}
_LEGEND = ". waiting  = healthy  S slow  H hanging  F faulted  - stopped"


def simulation_text(result: Simulation) -> str:
    """Return what each rule came to, where the job restarts, and the assumptions."""
    parts = [_headline(result), ""]
    parts += [f"{each.code}: {each.message}\n  why: {each.why}" for each in result.findings]
    width = max((len(each.rule) for each in result.rules), default=4)
    parts += [f"  {each.rule:<{width}}  {_outcome(each)}" for each in result.rules]
    if any(each.timeline for each in result.rules):
        parts += ["", *_timeline(result, width), f"  {_LEGEND}"]
    if result.budget is not None:
        parts += ["", "if every attempt ends the same way:"]
        parts += [f"  {each.at_seconds:>8.0f} s  {each.action}" for each in result.budget.restarts]
        parts.append(f"  {result.budget.verdict}")
    parts += ["", "assumed:", *(f"  - {each}" for each in result.assumptions)]
    return "\n".join(parts) + "\n"


def _headline(result: Simulation) -> str:
    states = {each.state for each in result.rules}
    if RuleState.DISABLED in states:
        return f"{result.log}: the agent cannot load the rules: nothing is watched"
    if RuleState.NOT_JUDGED in states:
        return f"{result.log}: a pattern ran past its deadline; the log was not finished"
    judged = f"{result.lines} lines, {result.end_seconds:g} s"
    trip = result.first_trip
    if trip is None:
        return f"{result.log}: no rule trips ({judged})"
    return (
        f"{result.log}: {trip.rule} is {trip.state} at {trip.at_seconds:g} s; the job restarts "
        f"there ({judged})"
    )


def _outcome(outcome: RuleOutcome) -> str:
    text = str(outcome.state)
    if outcome.at_seconds is not None:
        text += f" at {outcome.at_seconds:g} s"
    if outcome.line is not None and outcome.state.is_trip:
        text += f", line {outcome.line}"
    if outcome.value is not None:
        text += f", value {outcome.value:g}"
    if outcome.stopped_at_seconds is not None:
        text += f"; stopped at {outcome.stopped_at_seconds:g} s"
    matches = "match" if outcome.matches == 1 else "matches"
    return f"{text} ({outcome.matches} {matches})"


def _timeline(result: Simulation, width: int) -> list[str]:
    end = max(result.end_seconds, 1e-9)
    lines = [f"  {each.rule:<{width}}  {bar(each, end, _WIDTH)}" for each in result.rules]
    right = f"{result.end_seconds:g} s"
    return [*lines, f"  {'':<{width}}  0{right:>{_WIDTH - 1}}"]


def bar(outcome: RuleOutcome, end_seconds: float, width: int) -> str:
    """Return one rule's states over time as `width` characters; trips are never hidden."""
    cells = [RuleState.WAITING] * width
    steps = [(each.at_seconds, each.state) for each in outcome.timeline]
    if outcome.stopped_at_seconds is not None:
        steps.append((outcome.stopped_at_seconds, RuleState.STOPPED))
    for at, state in steps:
        start = min(int(at / end_seconds * width), width - 1)
        for cell in range(start, width):
            cells[cell] = state
    for at, state in steps:
        if state.is_trip:
            cells[min(int(at / end_seconds * width), width - 1)] = state
    return "".join(_MARKS.get(state, "?") for state in cells)


def several_text(results: Sequence[Simulation]) -> str:
    """Return the text of several logs, each a pod or an attempt of its own."""
    return "\n".join(simulation_text(each) for each in results)


def simulation_lines(result: Simulation) -> tuple[str, ...]:
    """Return the headline, and one line a rule."""
    return (_headline(result), *(f"{each.rule}: {_outcome(each)}" for each in result.rules))
