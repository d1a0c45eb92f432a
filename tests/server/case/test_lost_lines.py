"""Lines that could be lost without a word: from a case's folder to the verdict of its nodes."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuvet.case import load_case
from gpuvet.model.report import FileRow, VerdictReport
from gpuvet.model.verdict import Verdict
from gpuvet.modes.verdict import exit_code, verdict_report
from gpuvet.modes.window import Asked

LATE = datetime(2027, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 2, 6, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:64:00): 79, pid=4, name=python, GPU has fallen off the bus."
HEADER = {
    "now": "2026-03-02T12:20:00Z",
    "window": {"start": "2026-03-02T07:00:00Z", "end": "2026-03-02T12:00:00Z"},
}


def syslog(node: str, *, xid: bool = False, stamp: str = "%Y-%m-%dT%H:%M:%S+00:00") -> str:
    """Write a node's kernel lines, one in ten minutes from 06:00 to 13:00, an Xid 79 at 10:00."""
    lines = []
    for step in range(42):
        at = (START + timedelta(minutes=10 * step)).strftime(stamp)
        text = XID if xid and step == 24 else f"usb 1-{step}: new device"
        lines.append(f"{at} {node} kernel: {text}")
    return "\n".join(lines) + "\n"


def folder(root: Path, *, header: object = HEADER, **files: bytes | str) -> Path:
    """Write a case whose files are named by node, all of them logs."""
    if header is not None:
        (root / "case.json").write_text(json.dumps(header), encoding="utf-8")
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (root / f"{name}.log").write_bytes(data)
    return root


def judged(path: Path, asked: Asked = Asked()) -> VerdictReport:
    return verdict_report(load_case(path), asked, clock=LATE)


def file_row(report: VerdictReport, path: str) -> FileRow:
    return next(row for row in report.files if row.path == path)


ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_log_of_any_unicode_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    case = folder(tmp_path, a=syslog("n1", xid=True).encode(encoding), b=syslog("n2"))
    report = judged(case)
    assert report.verdicts == {"n1": Verdict.REBOOT, "n2": Verdict.LEAVE_ALONE}


def test_a_marked_big_endian_log_is_read_whatever_its_line_ends(tmp_path: Path) -> None:
    text = "\ufeff" + syslog("n1", xid=True).replace("\n", "\r\n")
    assert judged(folder(tmp_path, a=text.encode("utf-16-be"))).verdicts == {"n1": Verdict.REBOOT}
