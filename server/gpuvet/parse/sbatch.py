"""What a Slurm batch script says of how long it runs and whether it resumes. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

_OPTION = re.compile(r"^\s*#SBATCH\s+(?P<words>[^#\n]*)", re.MULTILINE)
_TIME = re.compile(r"(?:--time[= ]|-t\s*)(?P<time>[\d:-]+)")
_SRUN = re.compile(r"^[^#\n]*\bsrun\b[^\n]*(?:\\\n[^\n]*)*", re.MULTILINE)
_RESUME = re.compile(r"--auto-resume(?:=|\s+)1\b")
_NODES = re.compile(r"(?:--nodes[= ]|-N\s*)(?:\d+-)?(?P<count>\d{1,6})\b")
_GPUS = re.compile(r"(?:--gpus-per-node[= ]|--gres[= ]gpu:)(?:[A-Za-z]\w*:)?(?P<count>\d{1,4})\b")
# An option that names where checkpoints go, with a path that only the node has.
_LOCAL_CHECKPOINT = re.compile(
    r"--?[\w.-]*(?:ckpt|checkpoint|save|resume|snapshot)[\w.-]*[= ]"
    r"(?P<path>(?:/opt/dlami/nvme|/opt/sagemaker|/tmp|/dev/shm|/local(?:_scratch)?|/scratch)\S*)",
    re.IGNORECASE,
)
_FORMS = (
    re.compile(r"(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+))?(?::(?P<s>\d+))?"),
    re.compile(r"(?P<h>\d+):(?P<m>\d+):(?P<s>\d+)"),
    re.compile(r"(?P<m>\d+)(?::(?P<s>\d+))?"),
)
_LONGEST = 1 << 20  # characters of a script that are looked at


@dataclass(frozen=True, slots=True)
class BatchScript:
    """One batch script.

    Attributes:
        limit: Its time limit; None: none is set, or not in a form we know.
        has_srun: Steps are started with srun.
        resumes: srun carries `--auto-resume=1`; on sbatch it does nothing.
        appends: Output is appended at a restart instead of overwritten.
        nodes: As many as it asks for, at most; None: not told.
        gpus: GPUs a node; None: not told.
        local_checkpoints: Paths of checkpoints that only the node itself has.
    """

    limit: timedelta | None
    has_srun: bool
    resumes: bool
    appends: bool
    nodes: int | None = None
    gpus: int | None = None
    local_checkpoints: tuple[str, ...] = ()


def read_sbatch(text: str) -> BatchScript | None:
    """Return a batch script's facts, or None for a text without an #SBATCH line."""
    body = text[:_LONGEST]
    options = [match["words"] for match in _OPTION.finditer(body)]
    if not options:
        return None
    times = [match["time"] for words in options if (match := _TIME.search(words))]
    steps = [match[0] for match in _SRUN.finditer(body)]
    return BatchScript(
        limit=slurm_time(times[-1]) if times else None,
        has_srun=bool(steps),
        resumes=any(_RESUME.search(step) for step in steps),
        appends=any(
            "open-mode=append" in words or "open-mode append" in words for words in options
        ),
        nodes=_count(_NODES, options),
        gpus=_count(_GPUS, options),
        local_checkpoints=tuple(
            dict.fromkeys(match["path"] for match in _LOCAL_CHECKPOINT.finditer(body))
        ),
    )


def _count(pattern: re.Pattern[str], options: Sequence[str]) -> int | None:
    found = [int(match["count"]) for words in options if (match := pattern.search(words))]
    return found[-1] if found else None


def slurm_time(text: str) -> timedelta | None:
    """Return a Slurm time limit: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S; else None."""
    for form in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            parts = {name: int(value or 0) for name, value in match.groupdict().items()}
            return timedelta(
                days=parts.get("d", 0),
                hours=parts.get("h", 0),
                minutes=parts.get("m", 0),
                seconds=parts.get("s", 0),
            )
    return None
