"""Log monitors proposed from a log, with what was measured and what they would have done."""

from gpuvet.model.base import Value
from gpuvet.model.log_monitor import LogMonitor, Simulation


class Spacing(Value):
    """Seconds between the lines a rule watches."""

    lines: int
    first_seconds: float  # from the start of the stage to the first line
    p50: float
    p99: float
    longest: float
    pauses: tuple[str, ...] = ()  # e.g. "checkpoint: 4 pauses, longest 62 s"


class Spread(Value):
    """A metric over the good run."""

    name: str
    values: int
    low: float
    p50: float
    high: float


class ProposedRule(Value):
    """One rule and why it is what it is."""

    monitor: LogMonitor
    reasons: tuple[str, ...]


class Proposal(Value):
    """A whole logMonitoringConfiguration and the proof on the given logs."""

    yaml: str
    rules: tuple[ProposedRule, ...]
    spacing: Spacing
    metrics: tuple[Spread, ...] = ()
    good_run: Simulation
    bad_runs: tuple[Simulation, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be proposed, and why
