"""All monitors of a job over one pod's log: first trips, the job's first trip, the assumptions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpuvet.catalog.job_fields import OPERATORS
from gpuvet.model.check import Finding, Severity
from gpuvet.model.log_monitor import (
    FirstTrip,
    LogFormat,
    LogMonitor,
    RestartPolicy,
    RuleOutcome,
    RuleState,
    Simulation,
    Transition,
)
from gpuvet.simulate import budget
from gpuvet.simulate.guard import Answer, Limits, Stuck, run_rules
from gpuvet.simulate.rule import RuleSpec

# At one instant the stronger state is the job's (references/log-monitors.md).
_STRENGTH = (RuleState.FAULTED, RuleState.HANGING, RuleState.SLOW)
FAULT_ON_MATCH_AGENT = (1, 1)  # first agent that knows faultOnMatch

_ASSUMPTIONS = (
    (
        "every pod gets the rules; each is judged by its own local rank 0 (not known whether the "
        "operator sends them to all pods)"
    ),
    "a line is read at the time of its own stamp: no buffering delay",
    "the first trip is final: the job restarts there, and what follows is hypothetical",
    "a real job shows HANGING up to 2 s after the deadline",
)


def simulate(
    monitors: Sequence[LogMonitor],
    *,
    name: str,
    log: Path | None = None,
    text: str | None = None,
    log_format: LogFormat | None = None,
    stage_start: str | None = None,
    end_seconds: float | None = None,
    agent_version: tuple[int, ...] | None = None,
    policy: RestartPolicy | None = None,
    unloadable: str | None = None,
    limits: Limits | None = None,
) -> Simulation:
    """Return what the monitors come to over a log.

    Args:
        monitors: The rules in list order.
        name: What to call the log.
        log: The log as a file; exactly one of it and `text` is given.
        text: The log itself.
        log_format: None looks whether lines carry kubectl's `[role rank]:`.
        stage_start: Second 0; None means the first stamp.
        end_seconds: Length of the observation; None means to the last stamp.
        agent_version: Before 1.1, faultOnMatch is ignored. None means 1.1.3.
        policy: The restart budget, for the forecast.
        unloadable: Why the agent cannot load the rules, if that is known already.
        limits: Deadlines of the child process.

    Raises:
        UsageError: the log has no time stamps, is empty, or cannot be read.
    """
    old_agent = agent_version is not None and agent_version < FAULT_ON_MATCH_AGENT
    refusal = unloadable or _refusal(monitors)
    if refusal:
        return _not_run(monitors, name, RuleState.DISABLED, f"rules not loaded: {refusal}")
    answer = run_rules(
        [_spec(each, old_agent=old_agent) for each in monitors],
        log=log,
        text=text,
        console=None if log_format is None else log_format is LogFormat.CONSOLE_TEE,
        stage_start=stage_start,
        end_seconds=end_seconds,
        limits=limits,
    )
    if answer.result is None:
        return _without_result(monitors, name, answer)
    notes = _notes(answer, answer.result, stage_start, old_agent=old_agent)
    return _simulation(name, answer.result, policy, notes)


def _without_result(monitors: Sequence[LogMonitor], name: str, answer: Answer) -> Simulation:
    if answer.refused:
        why = f"rules not loaded: {answer.refused}"
        return _not_run(monitors, name, RuleState.DISABLED, why)
    return _stalled(monitors, name, answer.stuck)


def _refusal(monitors: Sequence[LogMonitor]) -> str | None:
    """Return what makes the agent drop all rules, besides a pattern that does not compile."""
    for each in monitors:
        if each.operator is not None and each.operator not in OPERATORS:
            return f"{each.name}: operator {each.operator!r}"
    return None


def _spec(monitor: LogMonitor, *, old_agent: bool) -> RuleSpec:
    threshold = monitor.threshold
    return RuleSpec(
        monitor.name,
        monitor.log_pattern,
        monitor.stop_pattern,
        monitor.cutoff_seconds,
        monitor.recurrence_seconds,
        None if threshold is None else float(int(threshold)),  # the agent truncates
        monitor.operator,
        monitor.data_points,
        monitor.fault_on_match and not old_agent,
    )


def _simulation(
    name: str, result: dict[str, Any], policy: RestartPolicy | None, notes: tuple[str, ...]
) -> Simulation:
    outcomes = tuple(_outcome(rule) for rule in result["rules"])
    first = first_trip(outcomes)
    has_budget = first is not None and policy is not None
    return Simulation(
        log=name,
        log_format=LogFormat.CONSOLE_TEE if result["console"] else LogFormat.RAW,
        lines=result["lines"],
        stage_start="" if result["start"] is None else f"{result['start']:.3f}",
        end_seconds=round(result["end"], 3),
        rules=outcomes,
        first_trip=first,
        unparsable_values=result["unparsable"],
        budget=budget.forecast(policy, first.at_seconds) if first and policy else None,
        assumptions=(*notes, *_ASSUMPTIONS, *(budget.ASSUMPTIONS if has_budget else ())),
    )


def _outcome(rule: dict[str, Any]) -> RuleOutcome:
    state, at, line, value = rule["trip"] or (rule["state"], None, None, None)
    return RuleOutcome(
        rule=rule["rule"],
        state=RuleState(state),
        at_seconds=None if at is None else round(at, 3),
        value=value,
        line=line,
        stopped_at_seconds=rule["stopped_at"],
        matches=rule["matches"],
        timeline=tuple(
            Transition(at_seconds=round(at, 3), state=RuleState(state), line=line)
            for at, state, line in rule["transitions"]
        ),
    )


def first_trip(outcomes: Sequence[RuleOutcome]) -> FirstTrip | None:
    """Return the earliest trip; at one instant the stronger state, then list order."""
    trips = [each for each in outcomes if each.state.is_trip and each.at_seconds is not None]
    if not trips:
        return None
    best = min(trips, key=lambda each: (each.at_seconds, _STRENGTH.index(each.state)))
    return FirstTrip(rule=best.rule, state=best.state, at_seconds=best.at_seconds or 0.0)


def _notes(
    answer: Answer, result: dict[str, Any], stage_start: str | None, *, old_agent: bool
) -> tuple[str, ...]:
    """Return what this run in particular took for granted."""
    notes: list[str] = []
    if stage_start is None:
        notes.append(
            "second 0 is the log's first stamp; a real stage starts earlier: --stage-start"
        )
    if result["console"]:
        notes.append(
            f"kubectl logs: {result['kept']} of {result['lines']} lines are local rank 0's, their "
            "prefix is stripped; with --tee=3 stderr lines carry it too and cannot be told apart"
        )
    if result["broken_line"] is not None:
        notes.append(
            f"line {result['broken_line']} is not UTF-8: the agent's reader dies there, and no "
            "rule fires again"
        )
    if answer.is_cut:
        notes.append("the log is longer than the byte cap; the rest was not read")
    if old_agent:
        notes.append("this agent ignores faultOnMatch")
    return tuple(notes)


def _not_run(monitors: Sequence[LogMonitor], name: str, state: RuleState, why: str) -> Simulation:
    return Simulation(
        log=name,
        log_format=LogFormat.RAW,
        lines=0,
        stage_start="",
        end_seconds=0.0,
        rules=tuple(RuleOutcome(rule=each.name, state=state) for each in monitors),
        first_trip=None,
        unparsable_values=0,
        assumptions=(why,),
    )


def _stalled(monitors: Sequence[LogMonitor], name: str, stuck: Stuck | None) -> Simulation:
    """Return the report of a pattern that did not come back, under HPJ143."""
    stuck = stuck or Stuck("?", "logPattern", 0, 0.0)
    finding = Finding(
        code="HPJ143",
        severity=Severity.ERROR,
        file=name,
        line=stuck.line,
        column=1,
        path=f"{stuck.rule}.{stuck.field}",
        message=f"{stuck.rule}: {stuck.field} did not finish on line {stuck.line} of the log "
        f"within {stuck.seconds:g} s and was killed",
        why="The agent's reader would stall on that line, and everything would look hung.",
        fix="write one repetition where two meet",
        source="measured",
    )
    stalled = _not_run(monitors, name, RuleState.NOT_JUDGED, "the log was not finished")
    return stalled.model_copy(update={"findings": (finding,)})
