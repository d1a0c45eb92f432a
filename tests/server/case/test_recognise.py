"""Text files are told by their content."""

import gzip
import json
from pathlib import Path

import pytest

from gpuvet.case import load_case
from gpuvet.case.recognise import recognise_text
from gpuvet.model.case import FileKind
from gpuvet.model.cluster import Flag
from gpuvet.model.evidence import Reason

XID = "NVRM: Xid (PCI:0000:53:00): 79, pid=1, name=python3, GPU has fallen off the bus."
JOURNAL = json.dumps(
    {"__REALTIME_TIMESTAMP": "1740327858104201", "_TRANSPORT": "kernel", "MESSAGE": XID}
)
HMA = json.dumps(
    {"level": "info", "msg": "NPD caught event: %v", "HealthMonitoringAgentDetectionEvent": "H"}
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param(f"[430954.509105] {XID}", FileKind.KERNEL_LOG, id="dmesg"),
        pytest.param(f"[  130.456250] [  T1946] {XID}", FileKind.KERNEL_LOG, id="dmesg, thread"),
        pytest.param(f"[Sun Feb 23 16:24:18 2025] {XID}", FileKind.KERNEL_LOG, id="dmesg -T"),
        pytest.param(f"3,4711,430954509105,-;{XID}", FileKind.KERNEL_LOG, id="/dev/kmsg"),
        pytest.param(f"Feb 23 16:24:18 host kernel: {XID}", FileKind.KERNEL_LOG, id="syslog"),
        pytest.param(
            "Feb 23 16:24:18 h systemd[1]: Started x.\nFeb 23 16:24:19 h sshd[7]: y\n"
            "Feb 23 16:24:20 h CROND[9]: z",
            FileKind.KERNEL_LOG,
            id="syslog without the kernel",
        ),
        pytest.param(f"{JOURNAL}\n{JOURNAL}", FileKind.JOURNAL, id="journal"),
        pytest.param(HMA, FileKind.HMA, id="health agent"),
        pytest.param(
            "node-a:3311:3420 [1] NCCL INFO Using network AWS Libfabric",
            FileKind.NCCL_LOG,
            id="NCCL",
        ),
        pytest.param(
            "2026-03-05 17:50:20,107 - [slurm_plugin.clustermgtd:_x] - WARNING - y",
            FileKind.CLUSTER_LOG,
            id="clustermgtd",
        ),
        pytest.param(
            "[2026-03-05T17:50:20.107] error: Nodes queue1-dy-p5-1 not responding",
            FileKind.SLURM_LOG,
            id="slurmctld",
        ),
        pytest.param(
            "[2026/03/14 09:02:11] [ info] [input] tail.0 paused", FileKind.SHIPPER_LOG, id="fluent"
        ),
        pytest.param("====NVSMI LOG====\nTimestamp : x", FileKind.NVIDIA_SMI, id="nvidia-smi -q"),
        pytest.param("$ nvidia-smi -L | wc -l\n8", FileKind.TRANSCRIPT, id="commands"),
        pytest.param("root@host:~# dcgmi diag -r 3\nPass", FileKind.TRANSCRIPT, id="root's prompt"),
        pytest.param(
            "Traceback (most recent call last):\nRuntimeError: x", FileKind.JOB_LOG, id="job"
        ),
        pytest.param("# a comment\napiVersion: v1\nkind: Pod", FileKind.MANIFEST, id="manifest"),
        pytest.param("#!/bin/bash\nset -e\napt-get -y upgrade", FileKind.SCRIPT, id="script"),
        pytest.param("We moved the job at 15:18Z.", FileKind.NOTE, id="note"),
        pytest.param("", FileKind.NOTE, id="nothing"),
        pytest.param(
            "An error occurred (AccessDenied) when calling the LookupEvents operation: no",
            FileKind.AWS_ERROR,
            id="error of the command line",
        ),
    ],
)
def test_a_text_is_told_by_its_lines(text: str, kind: FileKind) -> None:
    assert recognise_text(text, is_whole=True) is kind


def test_long_text_of_no_known_program_is_a_log_and_not_a_note() -> None:
    assert recognise_text("word\n" * 100, is_whole=False) is FileKind.OTHER_LOG


def test_one_line_without_an_end_is_recognised_quickly() -> None:
    assert recognise_text("a" * 65_536, is_whole=False) is FileKind.OTHER_LOG


def test_a_journal_of_one_line_is_a_journal_and_no_table(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(JOURNAL, encoding="utf-8")
    report = load_case(tmp_path).files[0]
    assert (report.kind, report.lines, report.records) == (FileKind.JOURNAL, 1, 1)


def test_an_error_that_the_command_line_printed_is_that_operations_answer(tmp_path: Path) -> None:
    text = "An error occurred (AccessDeniedException) when calling the LookupEvents operation: no"
    (tmp_path / "trail.json").write_text(text, encoding="utf-8")
    answer = load_case(tmp_path).aws.read("cloudtrail:LookupEvents", {})
    assert (answer.reason, answer.error_code) == (Reason.DENIED, "AccessDeniedException")


def test_a_bug_report_gives_kernel_lines_and_gpu_facts(tmp_path: Path) -> None:
    text = "\n".join(
        (
            "Start of NVIDIA bug report log file.  Please include this file.",
            "nvidia-bug-report.sh Version: 1",
            "2026-03-02T04:00:00Z host kernel: " + XID,
            "==============NVSMI LOG==============",
            "Driver Version                            : 570.133.20",
            "Attached GPUs                             : 7",
            "GPU 00000000:53:00.0",
            "    Remapped Rows",
            "        Pending                           : Yes",
            "____________________________________________",
        )
    )
    (tmp_path / "nvidia-bug-report.log.gz").write_bytes(gzip.compress(text.encode()))
    case = load_case(tmp_path)
    assert case.files[0].kind is FileKind.BUG_REPORT
    reading = case.facts.nodes[0]
    assert (reading.driver_version, reading.facts.gpus_seen) == ("570.133.20", 7)
    assert reading.facts.gpus[0].remap_pending is Flag.YES
