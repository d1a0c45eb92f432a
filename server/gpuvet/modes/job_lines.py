"""The job's own output, from files of a case or from its log groups."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpuvet.aws.door import LogLine
from gpuvet.aws.job_logs import job_asks, job_group_names, read_job_lines
from gpuvet.case.case import Case
from gpuvet.model.case import TextFile
from gpuvet.model.cluster import NotSeen
from gpuvet.model.evidence import Reason, Window, evidence_id
from gpuvet.parse.job_steps import JobLine

# Ours: a job's lines are read from an hour before a window to one after it.
PAD = timedelta(hours=1)
# What is worth reading of a job: steps and their times, storage in its own words.
_PATTERN = (
    "[Ss]tep|[Ii]ter|[Bb]atch|it.s|s.it|[Cc]heckpoint|ckpt|fsx|[Ll]ustre|fs-0"
    "|No space left|ENOSPC|[Ee]rrno|rc = -28"
)


@dataclass(frozen=True, slots=True)
class JobLines:
    """Lines of the job, and what of them was not seen."""

    lines: tuple[JobLine, ...]
    not_seen: tuple[NotSeen, ...] = ()


def job_lines(case: Case, window: Window, cluster: str | None) -> JobLines:
    """Return the job's lines: the case's files, and what its log groups hold of the window.

    Args:
        case: Where they are.
        window: Which lines of log groups; files are read whole.
        cluster: Its name, and the job's in the question, lead to log groups.
    """
    from_files = tuple(line for file in case.job_logs for line in text_lines(file))
    names = job_group_names(cluster, case.meta.question)
    found = read_job_lines(case.aws, names, window, _PATTERN, case.runs)
    from_groups = tuple(_job_line(case, line) for line in found.value or ())
    lines = (*from_files, *from_groups)
    is_cut = any(file.cut for file in case.job_logs)
    if lines and not is_cut and (from_files or found.status.is_complete):
        return JobLines(lines)
    reason = Reason.CUT_SHORT if is_cut else found.reason or Reason.NOT_RECORDED
    closes = "ship the job's stdout to a log group named after the cluster, or add it to the case"
    return JobLines(lines, (NotSeen(what="output of the job", reason=reason, closes_with=closes),))


def begin_job_lines(case: Case, *windows: Window) -> None:
    """Start reading the job's log groups of an account, for `job_lines` of these windows."""
    if case.runs is not None:
        names = job_group_names(case.meta.cluster, case.meta.question)
        for window in windows:
            case.runs.begin(job_asks(case.aws, names, window, _PATTERN).asks)


def text_lines(file: TextFile) -> tuple[JobLine, ...]:
    """Return the lines of a text file with their places."""
    return tuple(
        JobLine(text, file.file, place, None, _evidence(f"{file.file}#{place}"))
        for place, text in enumerate(file.text.splitlines(), start=1)
    )


def _evidence(place: str) -> str:
    return evidence_id(account=None, region=None, operation="file", params=place)


def _job_line(case: Case, line: LogLine) -> JobLine:
    shipped = (
        datetime.fromtimestamp(line.shipped_at_ms / 1000, tz=UTC)
        if line.shipped_at_ms is not None
        else None
    )
    evidence = evidence_id(
        account=case.meta.account,
        region=case.meta.region,
        operation="logs:StartQuery",
        params=f"{line.group}|{line.stream}#{line.line}",
    )
    return JobLine(line.text, line.stream, line.line, shipped, evidence)
