"""Log monitors proposed from a good run: cut-offs and thresholds out of what was measured."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from gpuvet.model.log_monitor import LogMonitor
from gpuvet.model.monitor_proposal import ProposedRule, Spacing, Spread
from gpuvet.simulate.line_shapes import LogReading, Shape, shapes_of
from gpuvet.simulate.step_lines import (
    Metric,
    Watched,
    cause_of,
    checkpoint_line,
    end_line,
    metrics_of,
    step_line,
)

LEAST_START = 300  # seconds; several nodes need minutes to come up
LEAST_GAP = 60
START_FACTOR = 3  # cut-off over the measured start
GAP_FACTOR = 3  # recurrence over the longest measured gap
CHECKPOINT_FACTOR = 2
DATA_POINTS = 10
QUIET_RUN = DATA_POINTS // 2  # values in a row beyond the bound that a good run may have
LOSS_MARGIN = 1.25
SPEED_MARGIN = 0.8


def propose(
    reading: LogReading,
) -> tuple[tuple[ProposedRule, ...], Spacing, tuple[Spread, ...], tuple[str, ...]]:
    """Return the rules, the spacing of steps, the spread of metrics, and what is missing.

    Raises:
        UsageError: no line recurs as the steps of a training run do.
    """
    shapes = shapes_of(reading)
    step = step_line(shapes)
    stop = end_line(shapes, step)
    metrics = metrics_of(shapes, step)
    measured = _measure(reading, step, metrics)
    rules = [_hang_rule(step, measured, stop)]
    spreads: list[Spread] = []
    notes: list[str] = []
    for metric in metrics:
        rule, spread, note = _metric_rule(metric, measured.values[metric.label], stop)
        spreads += [spread] if spread else []
        rules += [rule] if rule else []
        notes += [note] if note else []
        if metric.nan_pattern and rule:
            rules.append(_nan_rule(metric))
    checkpoint = _checkpoint_rule(shapes, measured.end, stop)
    rules += [checkpoint] if checkpoint else []
    notes += _missing(stop, checkpoint, rules)
    return tuple(rules), measured.spacing, tuple(spreads), tuple(notes)


class _Measured(NamedTuple):
    spacing: Spacing
    end: float
    values: dict[str, array[float]]


def _measure(reading: LogReading, step: Watched, metrics: Sequence[Metric]) -> _Measured:
    """Walk the log again with the patterns that will be proposed."""
    step_match = re.compile(step.pattern).match
    matchers = {each.label: re.compile(each.pattern).match for each in metrics}
    values = {label: array("d") for label in matchers}
    gaps: array[float] = array("d")
    pauses: dict[str, array[float]] = {}
    first = last = None
    cause, end = "", 0.0
    for line in reading.lines():
        end = line.at
        if step_match(line.text) is None:
            cause = cause or cause_of(line.text)
            continue
        if last is None:
            first = line.at
        else:
            gaps.append(line.at - last)
            if cause:
                pauses.setdefault(cause, array("d")).append(line.at - last)
        last, cause = line.at, ""
        for label, match in matchers.items():
            found = match(line.text)
            if found is not None:
                values[label].append(float(found[1]))
    spacing = _spacing(first or 0.0, gaps, pauses)
    return _Measured(spacing, end, values)


def _spacing(first: float, gaps: Sequence[float], pauses: dict[str, array[float]]) -> Spacing:
    ordered = sorted(gaps)
    usual = _quantile(ordered, 0.5)
    told = [
        f"{cause}: {len(lengths)} pauses, longest {max(lengths):.0f} s"
        for cause, lengths in pauses.items()
        if max(lengths) > 1.5 * usual
    ]
    return Spacing(
        lines=len(ordered) + 1,
        first_seconds=round(first, 3),
        p50=round(usual, 3),
        p99=round(_quantile(ordered, 0.99), 3),
        longest=round(ordered[-1] if ordered else 0.0, 3),
        pauses=tuple(told),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def _rounded_up(seconds: float, unit: int) -> int:
    return math.ceil(seconds / unit) * unit


def _hang_rule(step: Watched, measured: _Measured, stop: str | None) -> ProposedRule:
    spacing = measured.spacing
    start = max(LEAST_START, _rounded_up(START_FACTOR * spacing.first_seconds, 60))
    gap = max(LEAST_GAP, _rounded_up(GAP_FACTOR * spacing.longest, 10))
    reasons = [
        f"the step line: {spacing.lines} times, from {spacing.first_seconds:g} s on",
        f"start cut-off {start} s: {START_FACTOR} times that, {LEAST_START} s at least",
        f"recurrence {gap} s: {GAP_FACTOR} times the longest gap, {LEAST_GAP} s at least",
        f"gaps: p50 {spacing.p50:g} s, p99 {spacing.p99:g} s, longest {spacing.longest:g} s",
        *(f"pauses in the gaps: {each}" for each in spacing.pauses),
    ]
    if stop:
        reasons.append("stops at the last line of training: what follows is no hang")
    monitor = LogMonitor(
        name="StepHang",
        log_pattern=step.pattern,
        stop_pattern=stop,
        cutoff_seconds=start,
        recurrence_seconds=gap,
    )
    return ProposedRule(monitor=monitor, reasons=tuple(reasons))


def _metric_rule(
    metric: Metric, values: Sequence[float], stop: str | None
) -> tuple[ProposedRule | None, Spread | None, str | None]:
    """Return the rule of one metric, or why there can be none."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < DATA_POINTS:
        return None, None, f"{metric.label}: {len(finite)} values are too few for a threshold"
    ordered = sorted(finite)
    spread = Spread(
        name=metric.label,
        values=len(ordered),
        low=ordered[0],
        p50=_quantile(ordered, 0.5),
        high=ordered[-1],
    )
    is_low_bad = metric.kind == "throughput"
    bound = _bound([-value for value in finite] if is_low_bad else finite)
    if is_low_bad:
        threshold = math.floor(-bound * SPEED_MARGIN)
        useful = threshold >= 1
    else:
        threshold = math.floor(bound * LOSS_MARGIN) + 1
        useful = threshold <= max(4 * spread.p50, 1.5 * spread.high)
    if not useful:
        return (
            None,
            spread,
            (
                f"{metric.label}: values around {spread.p50:g} are too small for a threshold; "
                "log a scaled value"
            ),
        )
    return _threshold_rule(metric, spread, threshold, stop), spread, None


def _bound(values: Sequence[float]) -> float:
    """Return the least value that a good run does not exceed more than QUIET_RUN times in a row."""
    longest = QUIET_RUN + 1
    # A run of k values above b needs all of them above b: the least bound is the largest minimum
    # over all windows of QUIET_RUN + 1 values.
    return max(
        min(values[start : start + longest]) for start in range(max(len(values) - longest + 1, 1))
    )


def _threshold_rule(
    metric: Metric, spread: Spread, threshold: int, stop: str | None
) -> ProposedRule:
    names = {"loss": "LossSpike", "throughput": "LowThroughput", "time": "SlowSteps"}
    operator = "lt" if metric.kind == "throughput" else "gt"
    side = "below" if operator == "lt" else "above"
    reasons = (
        f"{metric.label}: {spread.low:g} to {spread.high:g}, median {spread.p50:g}",
        f"threshold {threshold}: never {side} it for more than {QUIET_RUN} lines in a row here",
        f"{DATA_POINTS} lines in a row, so that one outlier restarts nothing",
    )
    monitor = LogMonitor(
        name=names[metric.kind],
        log_pattern=metric.pattern,
        stop_pattern=stop,
        threshold=threshold,
        operator=operator,
        data_points=DATA_POINTS,
    )
    return ProposedRule(monitor=monitor, reasons=reasons)


def _nan_rule(metric: Metric) -> ProposedRule:
    return ProposedRule(
        monitor=LogMonitor(
            name="LossNotANumber", log_pattern=metric.nan_pattern or "", fault_on_match=True
        ),
        reasons=(
            "nan and inf do not match the number, and nan compares false with every threshold",
            "faultOnMatch needs elastic agent 1.1.0",
        ),
    )


def _checkpoint_rule(shapes: dict[str, Shape], end: float, stop: str | None) -> ProposedRule | None:
    """Return a rule for checkpoints when three or more came at a steady pace."""
    found = checkpoint_line(shapes)
    if found is None:
        return None
    shape, pattern = found
    gaps = [later - earlier for earlier, later in pairwise(shape.times)]
    longest = max(gaps)
    recurrence = max(LEAST_GAP, _rounded_up(CHECKPOINT_FACTOR * longest, 60))
    start = max(LEAST_START, _rounded_up(CHECKPOINT_FACTOR * shape.times[0], 60), recurrence)
    if longest <= 0 or end - shape.times[-1] > recurrence:
        return None
    monitor = LogMonitor(
        name="NoCheckpoint",
        log_pattern=pattern,
        stop_pattern=stop,
        cutoff_seconds=start,
        recurrence_seconds=recurrence,
    )
    reasons = (
        f"{shape.count} checkpoints, first at {shape.times[0]:g} s, longest gap {longest:g} s",
        f"recurrence {recurrence} s: {CHECKPOINT_FACTOR} times the longest gap",
    )
    return ProposedRule(monitor=monitor, reasons=reasons)


def _missing(
    stop: str | None,
    checkpoint: ProposedRule | None,
    rules: Iterable[ProposedRule],
) -> list[str]:
    names = {each.monitor.name for each in rules}
    notes: list[str] = []
    if stop is None:
        notes.append(
            "no line marks the end of training: print one behind the last step, and use it as "
            "stopPattern; without it a long upload afterwards reads as HANGING"
        )
    if not names & {"LowThroughput", "SlowSteps"}:
        notes.append("no throughput or step time stands on the step line: a slow run goes unseen")
    if "LossSpike" not in names:
        notes.append("no usable loss stands on the step line: a diverging run goes unseen")
    if checkpoint is None:
        notes.append("fewer than three steady checkpoints: no rule watches them")
    return notes
