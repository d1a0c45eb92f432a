"""Log monitor rules, and what the simulator says of them (references/log-monitors.md)."""

from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet.model.check import Finding


class RuleState(StrEnum):
    """What a rule came to; the first three are trips, strongest first."""

    FAULTED = "FAULTED"
    HANGING = "HANGING"
    SLOW = "SLOW"
    HEALTHY = "HEALTHY"  # matched, never tripped
    WAITING = "WAITING"  # never matched, never tripped
    STOPPED = "STOPPED"  # switched off by its stopPattern before it tripped
    DISABLED = "DISABLED"  # the agent could not load the rules: nothing is watched
    NOT_JUDGED = "NOT_JUDGED"  # a pattern ran past its deadline, so the log was not finished

    @property
    def is_trip(self) -> bool:
        """True for the states that make the agent fault the job."""
        return self in {RuleState.FAULTED, RuleState.HANGING, RuleState.SLOW}


class LogMonitor(Value):
    """One entry of logMonitoringConfiguration with values fit to run."""

    name: str
    log_pattern: str
    stop_pattern: str | None = None
    cutoff_seconds: float | None = None  # expectedStartCutOffInSeconds
    recurrence_seconds: float | None = None  # expectedRecurringFrequencyInSeconds
    threshold: float | None = None
    operator: str | None = None
    data_points: int = 1
    fault_on_match: bool = False


class RestartPolicy(Value):
    """The limits on restarts; None where the manifest sets none."""

    max_retries: int | None = None  # jobMaxRetryCount
    restarts_before_full: int | None = None  # numRestartBeforeFullJobRestart
    eval_period_seconds: int | None = None
    max_full_restarts: int | None = None


class LogFormat(StrEnum):
    """What a log file holds."""

    RAW = "raw"  # stdout.log as the agent reads it
    CONSOLE_TEE = "console_tee"  # kubectl logs: every line carries [role rank]:


class Transition(Value):
    """A rule changes its state."""

    at_seconds: float
    state: RuleState
    line: int | None = None  # the log line, from 1; None for a deadline


class RuleOutcome(Value):
    """One rule over one log: its first trip, else what it came to."""

    rule: str
    state: RuleState
    at_seconds: float | None = None  # of the trip: the deadline or the line; from stage start
    value: float | None = None  # SLOW: the value that completed the count
    line: int | None = None
    stopped_at_seconds: float | None = None
    matches: int = 0
    timeline: tuple[Transition, ...] = ()


class FirstTrip(Value):
    """Where the real job would restart."""

    rule: str
    state: RuleState
    at_seconds: float


class Restart(Value):
    """One fault of the job and what the budget does with it."""

    at_seconds: float
    action: str  # "process restart 1 of 3", "full restart 1 of 1", "job fails"


class BudgetForecast(Value):
    """What happens if every attempt trips as the first one did."""

    restarts: tuple[Restart, ...] = ()
    verdict: str
    ends_at_seconds: float | None = None  # None: it never ends by itself


class Simulation(Value):
    """Every rule over one pod's log (the contract of the answers, `spec simulate`)."""

    log: str
    log_format: LogFormat
    lines: int
    stage_start: str
    end_seconds: float
    rules: tuple[RuleOutcome, ...]
    first_trip: FirstTrip | None
    unparsable_values: int
    budget: BudgetForecast | None = None
    assumptions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def needs_action(self) -> bool:
        """True when a rule trips, the rules cannot be loaded, or a pattern did not finish."""
        bad = {RuleState.DISABLED, RuleState.NOT_JUDGED}
        return self.first_trip is not None or any(each.state in bad for each in self.rules)
