"""Log monitors over a log: the rules of a spec made ready, then simulated."""

from pathlib import Path

from gpuvet.errors import UsageError
from gpuvet.model.job_spec import Field, JobSpec, Rule
from gpuvet.model.log_monitor import LogFormat, LogMonitor, RestartPolicy, Simulation
from gpuvet.modes.spec import agent_version, job_of
from gpuvet.parse.untrusted import clean
from gpuvet.simulate.guard import Limits
from gpuvet.simulate.job import simulate

# Over MCP a log comes as text in the request, and the answer is awaited.
TEXT_LIMITS = Limits(silence_seconds=5.0, total_seconds=30.0, max_bytes=8 << 20)


def simulate_spec(
    spec: str,
    *,
    file: str = "-",
    log: Path | None = None,
    text: str | None = None,
    name: str = "log",
    log_format: str | None = None,
    stage_start: str | None = None,
    end_seconds: float | None = None,
    agent: str | None = None,
    limits: Limits | None = None,
) -> Simulation:
    """Return what a spec's monitors come to over one log.

    Args:
        spec: A job or a bare logMonitoringConfiguration.
        file: Its name, for messages.
        log: The log as a file; exactly one of it and `text` is given.
        text: The log itself.
        name: What to call the log.
        log_format: raw or console_tee; None looks.
        stage_start: Second 0; None means the log's first stamp.
        end_seconds: Length of the observation; None means to the last stamp.
        agent: Version of the elastic agent.
        limits: Deadlines of the child process.

    Raises:
        UsageError: there are no rules, the log cannot be timed, or an option is not understood.
    """
    job = job_of(spec, file)
    if not job.rules:
        raise UsageError(f"{file}: the job has no logMonitoringConfiguration to simulate")
    monitors, unloadable = monitors_of(job)
    result = simulate(
        monitors,
        name=name,
        log=log,
        text=text,
        log_format=LogFormat(log_format) if log_format else None,
        stage_start=stage_start,
        end_seconds=end_seconds,
        agent_version=agent_version(agent),
        policy=None if job.is_fragment else restart_policy(job),
        unloadable=unloadable,
        limits=limits,
    )
    return _cleaned(result)


def monitors_of(job: JobSpec) -> tuple[tuple[LogMonitor, ...], str | None]:
    """Return the rules ready to run, and why the agent could not load them, if so."""
    problems = [problem for rule in job.rules if (problem := _unloadable(rule))]
    return tuple(_monitor(rule) for rule in job.rules), next(iter(problems), None)


def _unloadable(rule: Rule) -> str | None:
    """Return what the API server or the agent refuses in a rule."""
    if rule.pattern.text is None:
        return f"{rule.name}: logPattern is missing or not filled in"
    for field in (rule.cutoff, rule.recurrence):
        if field.present and field.integer is None:
            return f"{rule.name}: {field.path.rsplit('.', 1)[-1]} is {field.words!r}"
    threshold = rule.field.at("metricThreshold")
    points = rule.field.at("metricEvaluationDataPoints")
    if threshold.present and threshold.number is None:
        return f"{rule.name}: metricThreshold is {threshold.words!r}"
    if points.present and points.integer is None:
        return f"{rule.name}: metricEvaluationDataPoints is {points.words!r}"
    return None


def _monitor(rule: Rule) -> LogMonitor:
    points = rule.field.at("metricEvaluationDataPoints").integer
    return LogMonitor(
        name=rule.name,
        log_pattern=rule.pattern.text or "",
        stop_pattern=rule.stop.text,
        cutoff_seconds=_seconds(rule.cutoff),
        recurrence_seconds=_seconds(rule.recurrence),
        threshold=_seconds(rule.field.at("metricThreshold")),
        operator=rule.field.at("operator").words,
        data_points=1 if points is None else points,
        fault_on_match=rule.faults,
    )


def _seconds(field: Field) -> float | None:
    number = field.number
    return None if number is None else float(number)


def restart_policy(job: JobSpec) -> RestartPolicy:
    """Return the limits on restarts as far as they are written."""
    policy = job.run_policy.at("restartPolicy")
    return RestartPolicy(
        max_retries=job.run_policy.at("jobMaxRetryCount").integer,
        restarts_before_full=policy.at("numRestartBeforeFullJobRestart").integer,
        eval_period_seconds=policy.at("evalPeriodSeconds").integer,
        max_full_restarts=policy.at("maxFullJobRestarts").integer,
    )


def bounded(result: Simulation, *, steps: int = 12) -> Simulation:
    """Return a simulation whose time lines hold at most so many changes of state each."""
    return result.model_copy(
        update={
            "rules": tuple(
                each.model_copy(update={"timeline": each.timeline[:steps]}) for each in result.rules
            )
        }
    )


def _cleaned(result: Simulation) -> Simulation:
    """Return the simulation with names from the manifest fit to print."""
    trip = result.first_trip
    return result.model_copy(
        update={
            "rules": tuple(
                each.model_copy(update={"rule": clean(each.rule)}) for each in result.rules
            ),
            "first_trip": trip and trip.model_copy(update={"rule": clean(trip.rule)}),
            "assumptions": tuple(clean(each, limit=600) for each in result.assumptions),
            "findings": tuple(
                each._replace(path=clean(each.path), message=clean(each.message))
                for each in result.findings
            ),
        }
    )
