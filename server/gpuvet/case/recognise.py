"""What a text file is, by what stands in it; its name is never asked.

One file may speak for several kinds: the most telling one wins, in the order of the rules.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from gpuvet.model.case import FileKind
from gpuvet.parse.nvidia_smi import SMI_FAILED

# Ours: how many of the first lines are looked at.
SAMPLE_LINES = 400
# Ours: what a line is shows at its start, and patterns stay quick on lines without an end.
SAMPLE_WIDTH = 1_000


class _Sample(NamedTuple):
    text: str
    lines: list[str]

    def share(self, pattern: re.Pattern[str]) -> float:
        """Return the share of lines that match."""
        hits = sum(1 for line in self.lines if pattern.search(line))
        return hits / len(self.lines) if self.lines else 0.0

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Say whether any line matches."""
        return any(pattern.search(line) for line in self.lines)


_BUG_REPORT = re.compile(r"Start of NVIDIA bug report log file|nvidia-bug-report\.sh Version")
_SMI = re.compile(rf"=+NVSMI LOG=+|^\| NVIDIA-SMI |^{SMI_FAILED.pattern}")
_PROMPT = re.compile(
    r"^(?:\[?[\w@.~: -]*\]?[$#] |[$#] )(?:sudo )?"
    r"(?:nvidia-smi|dcgmi|dmesg|lspci|ibv_devinfo|fi_info|systemctl|journalctl|uptime|lsmod"
    r"|kubectl|sinfo|scontrol|cat|ls|modinfo|nvidia-debugdump|nvme|df|free|top|ip)\b"
)
_KUBE_KEYS = re.compile(
    r"^(?:- )?(?:apiVersion|kind|metadata|spec|status|items|data|logMonitoringConfiguration):"
)
_KERNEL = re.compile(
    r"\bkernel(?:\[\d+\])?: |NVRM: |nvidia-nvswitch\d*: |^\s*\[\s*\d+\.\d{6}\]"
    r"|^\d{1,4},\d+,\d+,[^;]{0,64};"
)
_SYSLOG = re.compile(
    r"^(?:<\d+>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ][\d:.,]+\S*)"
    r"(?: [\w.-]+)? [\w./@()-]+(?:\[\d+\])?: "
)
_JOURNAL = re.compile(r'"(?:MESSAGE|_TRANSPORT|__REALTIME_TIMESTAMP)"\s*:')
_HMA = re.compile(r"HealthMonitoringAgentDetectionEvent|NPD caught event")
_DEEP_CHECK = re.compile(r"Encountered FaultyInstance|DeepHealthCheck")
_NCCL = re.compile(r"NCCL (?:INFO|WARN|TRACE|ERROR)\b")
_CLUSTER = re.compile(r"\[slurm_plugin\.|\"event-type\"\s*:\s*\"")
_SLURM = re.compile(
    r"^\[\d{4}-\d\d-\d\dT[\d:.]+\] .*(?:slurm|JobId=|_job_complete|sched:|[Nn]ode\S* |error:)"
)
_BOOT = re.compile(r"[Cc]loud-init(?: v\.|\[)|\[SageMaker\] |cfn-init|post_install|bootstrap")
_PACKAGES = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:status|upgrade|install|configure|trigproc|startup) "
    r"|^(?:Start-Date|Commandline|Upgrade|Install|End-Date): "
    r"|SUBDEBUG (?:Upgraded|Installed|Upgrade):"
)
_SHIPPER = re.compile(
    r"^\[\d{4}/\d\d/\d\d [\d:.]+\] \[ ?(?:info|warn|error|debug|trace)\]|\s[IDWE]! "
)
_JOB = re.compile(
    r"\[?rank ?\d+\]|torchrun|Traceback \(most|Error\b|[Ee]poch|\bloss\b|[Ll]oss:|TFLOPs"
    r"|samples/sec|\bstep(?:_time)?[ =:]|\btorch\.|CUDA error|iteration|Training started"
)
_SHELL = re.compile(
    r"^\s*(?:#!|#\s|$|(?:sudo |export |set |if |fi$|for |done$|then|else|echo )|(?:apt|apt-get|yum"
    r"|dnf|pip3?|systemctl|curl|wget|mount|modprobe|sysctl|chmod|mkdir|cp|cd|source|bash|srun"
    r"|sbatch|python3?|docker|kubectl|aws|nvidia-smi)\b)"
)
_COMMAND = re.compile(r"^\s*(?:#!|#SBATCH|(?:apt-get|apt|yum|dnf|systemctl|export|srun|sudo)\b)")
_AWS_ERROR = re.compile(
    r"An error occurred \((?P<code>[\w.]+)\) when calling the (?P<operation>\w+) operation"
)
_STAMPED = re.compile(r"^\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} [ \d]\d )\d\d:\d\d")


def _is_json_lines(sample: _Sample) -> bool:
    return sample.share(re.compile(r'^\s*\{"?.*')) > 0.5 and not sample.text.lstrip().startswith(
        ("{\n", "{\r\n")
    )


def _begins_as_yaml(sample: _Sample) -> bool:
    told = (line for line in sample.lines if not line.startswith(("#", "---")))
    return _KUBE_KEYS.match(next(told, "")) is not None


def _is_aws_error(sample: _Sample) -> bool:
    """Say whether this is what the command line printed; a log that quotes an error has stamps."""
    is_log = sample.has(_CLUSTER) or sample.has(_STAMPED)
    return len(sample.lines) <= 5 and sample.has(_AWS_ERROR) and not is_log


def _is_agent_log(sample: _Sample) -> bool:
    """Say whether the health agent wrote this; a node's own log may quote it."""
    told = sample.has(_HMA) or sample.has(_DEEP_CHECK)
    return told and sample.share(_KERNEL) < 0.5


def _is_script(sample: _Sample) -> bool:
    return sample.has(_COMMAND) and sample.share(_SHELL) > 0.8


_RULES: tuple[tuple[FileKind, Callable[[_Sample], bool]], ...] = (
    (FileKind.AWS_ERROR, _is_aws_error),
    (FileKind.MANIFEST, _begins_as_yaml),
    (FileKind.BUG_REPORT, lambda s: s.has(_BUG_REPORT)),
    (FileKind.TRANSCRIPT, lambda s: s.has(_PROMPT)),
    (FileKind.NVIDIA_SMI, lambda s: s.has(_SMI)),
    (FileKind.HMA, _is_agent_log),
    (FileKind.JOURNAL, lambda s: _is_json_lines(s) and s.has(_JOURNAL)),
    (FileKind.NCCL_LOG, lambda s: s.has(_NCCL) and s.share(_NCCL) >= s.share(_KERNEL)),
    (FileKind.CLUSTER_LOG, lambda s: s.has(_CLUSTER)),
    (FileKind.KERNEL_LOG, lambda s: s.has(_KERNEL)),
    (FileKind.PACKAGE_LOG, lambda s: s.share(_PACKAGES) > 0.5),
    (FileKind.BOOT_LOG, lambda s: s.has(_BOOT) and s.has(_STAMPED)),
    (FileKind.SHIPPER_LOG, lambda s: s.has(_SHIPPER)),
    (FileKind.SLURM_LOG, lambda s: s.share(_SLURM) > 0.2),
    (FileKind.SCRIPT, _is_script),
    (FileKind.MANIFEST, lambda s: s.has(_KUBE_KEYS)),
    (FileKind.KERNEL_LOG, lambda s: s.share(_SYSLOG) > 0.7 and len(s.lines) > 2),
    (FileKind.JOB_LOG, lambda s: s.share(_JOB) > 0.1),
)
# A kernel's or a node's own lines; what else stands in such a file is another program's.
LINE_KINDS = frozenset(
    {
        FileKind.KERNEL_LOG,
        FileKind.JOURNAL,
        FileKind.HMA,
        FileKind.SHIPPER_LOG,
        FileKind.SLURM_LOG,
        FileKind.CLUSTER_LOG,
        FileKind.BOOT_LOG,
        FileKind.PACKAGE_LOG,
        FileKind.BUG_REPORT,
        FileKind.OTHER_LOG,
    }
)
MANIFEST_KINDS = frozenset({FileKind.MANIFEST, FileKind.SCRIPT})
SMI_KINDS = frozenset({FileKind.NVIDIA_SMI, FileKind.TRANSCRIPT})
# Services whose words matter beside their lines per hour.
SERVICE_KINDS = frozenset(
    {
        *(FileKind.SHIPPER_LOG, FileKind.SLURM_LOG, FileKind.CLUSTER_LOG, FileKind.BOOT_LOG),
        FileKind.OTHER_LOG,
    }
)
JOB_KINDS = frozenset({FileKind.NCCL_LOG, FileKind.JOB_LOG})


def recognise_text(head: str, *, is_whole: bool) -> FileKind:
    """Return the kind of a text file by its beginning.

    Args:
        head: The beginning of the file.
        is_whole: The beginning is all there is. Short text of no known program is a note;
            long text is a log of a program we do not know.
    """
    every = (line[:SAMPLE_WIDTH] for line in head.splitlines()[:SAMPLE_LINES])
    lines = [line for line in every if line.strip()]
    sample = _Sample(head, lines)
    for kind, is_it in _RULES:
        if is_it(sample):
            return kind
    if not lines:
        return FileKind.NOTE
    if not is_whole or (len(lines) > 40 and sample.share(_STAMPED) > 0.8):
        return FileKind.OTHER_LOG
    return FileKind.NOTE


def read_aws_error(text: str) -> tuple[str, str, str] | None:
    """Return code, operation and message of an error as the AWS command line prints it."""
    found = _AWS_ERROR.search(text)
    if found is None:
        return None
    return found["code"], found["operation"], " ".join(text[found.end() :].lstrip(": ").split())
