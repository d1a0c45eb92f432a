"""What a preflight is asked about: the run, its lengths, and the job that came with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.calculators.run_capacity import LENGTHS
from gpuvet.calculators.run_question import duration_hours, run_of_question
from gpuvet.case import Case
from gpuvet.checks.preflight.view import JobFile, Run
from gpuvet.errors import UsageError
from gpuvet.model.case import RunPlan
from gpuvet.model.job_spec import JobSpec
from gpuvet.modes.preflight_view import Asked
from gpuvet.modes.spec import check_text, job_of
from gpuvet.modes.window import read_time

_MOST_GIB = 1024 * 1024  # ours: one checkpoint of a PiB
_MOST_HOURS = 24.0 * 182  # capacity cannot be had for longer (preflight P2)


@dataclass(frozen=True, slots=True)
class RunWords:
    """What the caller said of the run, as text; everything is optional."""

    start: str | None = None
    hours: float | None = None
    checkpoint_every: str | None = None
    checkpoint_gib: float | None = None
    nodes: int | None = None
    auto_resume: bool | None = None
    spec: str | None = None  # text of the job spec
    spec_file: str = "job spec"


@dataclass(frozen=True, slots=True)
class Understood:
    """The run as understood, and what was assumed."""

    asked: Asked
    assumed: tuple[str, ...]


def understand(case: Case, words: RunWords, now: datetime) -> Understood:
    """Return the run: what the caller says, else the request, else the question, else defaults.

    Raises:
        UsageError: A time, a length or a number that makes no sense.
    """
    job = job_file(case, words)
    told = case.meta.run or RunPlan()
    said = run_of_question(case.meta.question)
    assumed: list[str] = []
    hours = words.hours if words.hours is not None else told.hours or said.hours
    if hours is not None and not 0 < hours <= _MOST_HOURS:
        raise UsageError(f"a run of {hours:g} h cannot be judged; give up to 4368 h")
    if hours is None:
        assumed.append("no length was given: 24, 48 and 72 h are each decided")
    if words.checkpoint_gib is not None and not 0 < words.checkpoint_gib <= _MOST_GIB:
        raise UsageError(
            f"a checkpoint of {words.checkpoint_gib:g} GiB cannot be judged; give up to 1048576"
        )
    start = read_time(words.start, now) if words.start else told.start or said.start
    if start is None:
        assumed.append("no start was given: the run begins now")
    interval = _interval(words, told, said)
    if interval is None:
        assumed.append("no checkpoint interval was given: the loss at a stop is not known")
    nodes, source = _nodes(words, told, said, job)
    run = Run(
        start=start or now,
        hours=hours or LENGTHS[0],
        is_start_fixed=start is not None,
        checkpoint_interval=interval,
        checkpoint_gib=words.checkpoint_gib,
        nodes_needed=nodes,
        nodes_from=source,
        auto_resume=words.auto_resume,
    )
    lengths = (hours,) if hours is not None else LENGTHS
    asked = Asked(run=run, hours=lengths, job=job, scripts=tuple(_scripts(case)))
    return Understood(asked, tuple(assumed))


def _interval(words: RunWords, told: RunPlan, said: RunPlan) -> timedelta | None:
    if words.checkpoint_every is not None:
        found = duration_hours(words.checkpoint_every)
        if found is None or found <= 0:
            raise UsageError(
                f"{words.checkpoint_every[:40]!r} is no checkpoint interval; write 30m or 2h"
            )
        return timedelta(hours=found)
    minutes = told.checkpoint_interval_minutes or said.checkpoint_interval_minutes
    return timedelta(minutes=minutes) if minutes else None


def _nodes(
    words: RunWords, told: RunPlan, said: RunPlan, job: JobFile | None
) -> tuple[int | None, str]:
    if words.nodes is not None and words.nodes < 1:
        raise UsageError(f"a run on {words.nodes} nodes cannot be judged; give at least 1")
    replicas = job.spec.total_replicas if job and job.spec and not job.spec.is_fragment else None
    for count, source in (
        (words.nodes, "as told"),
        (told.nodes_needed, "the request"),
        (said.nodes_needed, "the question"),
        (replicas or None, "the job spec"),
    ):
        if count is not None:
            return count, source
    return None, "not told"


def job_file(case: Case, words: RunWords) -> JobFile | None:
    """Return the job spec the caller gave, else the first of the case."""
    if words.spec is not None:
        return _read_job(words.spec_file, words.spec, required=True)
    found = (_read_job(text.file, text.text) for text in case.manifests)
    return next((one for one in found if one is not None), None)


def _read_job(file: str, text: str, *, required: bool = False) -> JobFile | None:
    report = check_text(text, file=file)
    if not required and not report.jobs and not report.monitors:
        return None
    return JobFile(file=file, spec=_spec_of(file, text), findings=report.findings, text=text)


def _spec_of(file: str, text: str) -> JobSpec | None:
    try:
        return job_of(text, file)
    except UsageError:  # what is wrong with it stands in the findings
        return None


def _scripts(case: Case) -> Iterator[tuple[str, str]]:
    for text in case.manifests:
        if "#SBATCH" in text.text:
            yield text.file, text.text
