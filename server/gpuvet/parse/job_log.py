"""Lines of a job's own output that say how it ended: fatal errors, exits, out of memory."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime

from gpuvet.model.base import Value
from gpuvet.parse.times import leading_stamp
from gpuvet.parse.untrusted import clean
from gpuvet.parse.wrappers import instance_id


class JobLineKind(StrEnum):
    """What a fatal line of a job says."""

    CUDA_ERROR = "cuda_error"
    OUT_OF_MEMORY = "out_of_memory"
    EXCEPTION = "exception"
    EXIT = "exit"
    KILLED = "killed"


class JobLine(Value):
    """One line of a job's output that ends it."""

    kind: JobLineKind
    text: str
    stream: str
    line: int
    at: AwareDatetime | None = None
    rank: int | None = None
    pid: int | None = None
    node: str | None = None
    exit_code: int | None = None


_KINDS: tuple[tuple[JobLineKind, re.Pattern[str]], ...] = (
    (
        JobLineKind.OUT_OF_MEMORY,
        re.compile(
            r"OOMKilled|out of memory|CUDA OOM|oom[-_ ]kill|torch\.(?:cuda\.)?OutOfMemoryError",
            re.IGNORECASE,
        ),
    ),
    (
        JobLineKind.CUDA_ERROR,
        re.compile(
            r"CUDA error|CUDA_ERROR_|cudaError|AcceleratorError|cuda(?:Get|Set|Malloc)\w*\(\)"
            r"|device-side assert|illegal memory access",
            re.IGNORECASE,
        ),
    ),
    (
        JobLineKind.EXIT,
        re.compile(
            r"worker group FAILED|exit(?:ed with|[_ ]?code|ing with)\D{0,12}[1-9]\d*"
            r"|ChildFailedError|failed \(exitcode|srun: error|CANCELLED AT|DUE TO NODE FAIL",
            re.IGNORECASE,
        ),
    ),
    (
        JobLineKind.KILLED,
        re.compile(r"\bKilled\b|SIG(?:KILL|TERM|ABRT|SEGV)|Segmentation fault|core dumped"),
    ),
    (
        JobLineKind.EXCEPTION,
        re.compile(
            r"Traceback \(most recent call last\)|\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception):"
            r"|\bncclInternalError\b|\bncclSystemError\b|\bncclRemoteError\b|\bFATAL\b"
        ),
    ),
)
_RANK = re.compile(r"\[?\brank[ :=]?(\d{1,6})\]?", re.IGNORECASE)
_PID = re.compile(r"\bpid[ :=](\d{1,8})\b", re.IGNORECASE)
_EXIT = re.compile(r"exit(?:ed with|[_ ]?code|ing with)\D{0,12}(\d{1,3})", re.IGNORECASE)
# A restart's own notice is no end of the job.
_NOT_FATAL = re.compile(r"\bWARN(?:ING)?\b.*\bretry|DeprecationWarning|UserWarning|FutureWarning")


def fatal_lines(
    lines: Iterable[str], *, stream: str, reference_time: datetime
) -> Iterator[JobLine]:
    """Yield the lines that end a job, in their order.

    Args:
        lines: The job's output.
        stream: Stream or file name.
        reference_time: Latest plausible time; gives stamps without a year theirs.
    """
    for number, text in enumerate(lines, start=1):
        kind = next((k for k, pattern in _KINDS if pattern.search(text)), None)
        if kind is None or _NOT_FATAL.search(text):
            continue
        stamp, _ = leading_stamp(text, reference_time)
        rank, pid, code = _RANK.search(text), _PID.search(text), _EXIT.search(text)
        yield JobLine(
            kind=kind,
            text=clean(text),
            stream=stream,
            line=number,
            at=stamp.at if stamp else None,
            rank=int(rank[1]) if rank else None,
            pid=int(pid[1]) if pid else None,
            node=instance_id(text),
            exit_code=int(code[1]) if code else None,
        )
