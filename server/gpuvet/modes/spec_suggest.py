"""Log monitors proposed from a good log, proven on it and on bad ones."""

import io
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from gpuvet.errors import UsageError
from gpuvet.model.log_monitor import LogFormat, LogMonitor, Simulation
from gpuvet.model.monitor_proposal import Proposal, ProposedRule
from gpuvet.parse.untrusted import clean
from gpuvet.simulate.guard import Limits
from gpuvet.simulate.job import simulate
from gpuvet.simulate.line_shapes import open_log
from gpuvet.simulate.suggest import propose

_ROUNDS = 4  # a rule that trips on the good run is dropped, and the rest is tried again


def suggest_monitors(
    *,
    log: Path | None = None,
    text: str | None = None,
    bad_logs: Sequence[Path] = (),
    bad_texts: Sequence[str] = (),
    log_format: str | None = None,
    stage_start: str | None = None,
    limits: Limits | None = None,
) -> Proposal:
    """Return a whole logMonitoringConfiguration with reasons and proof.

    Args:
        log: The stdout of a healthy run; exactly one of it and `text` is given.
        text: The same as text.
        bad_logs: Runs that should trip.
        bad_texts: The same as texts.
        log_format: raw or console_tee; None looks.
        stage_start: Second 0 of the good run; None means its first stamp.
        limits: Deadlines of the child process.

    Raises:
        UsageError: the log carries no stamps, or no line recurs.
    """
    form = LogFormat(log_format) if log_format else None
    console = None if form is None else form is LogFormat.CONSOLE_TEE
    reading = open_log(_opener(log, text), console=console, stage_start=stage_start)
    rules, spacing, metrics, notes = propose(reading)
    run = partial(_run, form=form, limits=limits)
    kept, good, dropped = _proven(
        rules, lambda each: run(each, log=log, text=text, start=stage_start)
    )
    monitors = [each.monitor for each in kept]
    bad = [run(monitors, log=path) for path in bad_logs]
    bad += [run(monitors, text=words) for words in bad_texts]
    return Proposal(
        yaml=clean_yaml(kept),
        rules=kept,
        spacing=spacing,
        metrics=metrics,
        good_run=good,
        bad_runs=tuple(bad),
        notes=tuple(clean(each) for each in (*notes, *dropped)),
    )


def _run(
    monitors: Sequence[LogMonitor],
    *,
    log: Path | None = None,
    text: str | None = None,
    start: str | None = None,
    form: LogFormat | None,
    limits: Limits | None,
) -> Simulation:
    return simulate(
        monitors,
        name=log.name if log else "log",
        log=log,
        text=text,
        log_format=form,
        stage_start=start,
        limits=limits,
    )


def _opener(path: Path | None, text: str | None) -> Callable[[], BinaryIO]:
    if path is not None:
        return lambda: path.open("rb")
    if text is None:
        raise UsageError("no log was given")
    data = text.encode("utf-8", "surrogateescape")
    return lambda: io.BytesIO(data)


def _proven(
    rules: tuple[ProposedRule, ...], run: Callable[[Sequence[LogMonitor]], Simulation]
) -> tuple[tuple[ProposedRule, ...], Simulation, list[str]]:
    """Return the rules that never trip on the good run, its simulation, and what was dropped."""
    dropped: list[str] = []
    result = run([each.monitor for each in rules])
    for _ in range(_ROUNDS):
        tripping = {each.rule for each in result.rules if each.state.is_trip}
        if not tripping:
            break
        dropped += [f"{name} would trip on this run and was left out" for name in sorted(tripping)]
        rules = tuple(each for each in rules if each.monitor.name not in tripping)
        result = run([each.monitor for each in rules])
    return rules, result, dropped


def clean_yaml(rules: Sequence[ProposedRule]) -> str:
    """Return the rules as YAML, patterns in single quotes, reasons as comments."""
    lines = ["logMonitoringConfiguration:"]
    for rule in rules:
        lines += [f"  # {clean(reason)}" for reason in rule.reasons]
        lines += [
            f"  {'-' if not index else ' '} {each}" for index, each in enumerate(_fields(rule))
        ]
    return "\n".join(lines) + "\n"


def _fields(rule: ProposedRule) -> list[str]:
    monitor = rule.monitor
    numbers = (
        ("expectedStartCutOffInSeconds", monitor.cutoff_seconds),
        ("expectedRecurringFrequencyInSeconds", monitor.recurrence_seconds),
        ("metricThreshold", monitor.threshold),
    )
    lines = [f"name: {monitor.name}", f"logPattern: {_quoted(monitor.log_pattern)}"]
    lines += [f"{name}: {value:.0f}" for name, value in numbers if value is not None]
    if monitor.operator:
        lines.append(f"operator: {monitor.operator}")
        lines.append(f"metricEvaluationDataPoints: {monitor.data_points}")
    if monitor.fault_on_match:
        lines.append("faultOnMatch: true")
    if monitor.stop_pattern:
        lines.append(f"stopPattern: {_quoted(monitor.stop_pattern)}")
    return lines


def _quoted(pattern: str) -> str:
    return "'" + pattern.replace("'", "''") + "'"
