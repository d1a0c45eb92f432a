"""Lines that could be lost without a word: from a case's folder to the verdict of its nodes."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

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


def packed_folder(root: Path) -> Path:
    """Write three nodes' logs, the last with a fault, that pack badly enough to be cut."""
    random = Random(1)
    noise = {
        node: [f"2026-03-02T06:00:00Z {node} kernel: {random.random()}" for _ in range(3000)]
        for node in ("n1", "n2")
    }
    (root / "in").mkdir()
    return folder(
        root / "in",
        n1="\n".join([*noise["n1"], syslog("n1")]),
        n2=syslog("n2") + "\n".join(noise["n2"]),
        n3=syslog("n3", xid=True),
    )


def tarred(folder: Path, mode: Literal["w", "w:gz", "w:xz"]) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, arcname=path.name)
    return archive.getvalue()


def zipped(folder: Path, *, streamed: bool) -> bytes:
    whole = io.BytesIO()
    target = _OneWay(whole) if streamed else whole
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, arcname=path.name)
    return whole.getvalue()


class _OneWay(io.RawIOBase):
    """A pipe: sizes stand behind the members, as nobody can go back to write them."""

    def __init__(self, target: io.BytesIO) -> None:
        super().__init__()
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._target.write(data)


ARCHIVES: dict[str, Callable[[Path], bytes]] = {
    "tar": lambda folder: tarred(folder, "w"),
    "tar.gz": lambda folder: tarred(folder, "w:gz"),
    "tar.xz": lambda folder: tarred(folder, "w:xz"),
    "zip": lambda folder: zipped(folder, streamed=False),
    "zip from a pipe": lambda folder: zipped(folder, streamed=True),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_whole_archive_is_read_to_its_last_member(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "case.bin"
    path.write_bytes(ARCHIVES[kind](packed_folder(tmp_path)))
    report = judged(path)
    assert (report.verdicts["n3"], exit_code(report)) == (Verdict.REBOOT, 1)
    assert [row.any_node for row in report.not_seen if row.any_node] == []


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("share", [0.75, 0.85])
def test_an_archive_cut_short_says_so_and_is_never_all_seen(
    kind: str, share: float, tmp_path: Path
) -> None:
    whole = ARCHIVES[kind](packed_folder(tmp_path))
    path = tmp_path / "case.bin"
    path.write_bytes(whole[: int(len(whole) * share)])
    report = judged(path)
    assert report.verdicts["n1"] is Verdict.LEAVE_ALONE
    assert file_row(report, "n2.log").status == "partly read"
    assert [row.any_node for row in report.not_seen if row.any_node] == [True]
    assert (exit_code(report), report.confidence) == (3, "Low")
    assert "ends early" in report.markdown
    assert "backwards" not in report.markdown


def test_a_tar_without_its_last_member_is_no_whole_tar(tmp_path: Path) -> None:
    whole = tarred(packed_folder(tmp_path), "w")
    path = tmp_path / "case.tar"
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        path.write_bytes(whole[: archive.getmember("n3.log").offset])
    assert exit_code(judged(path)) == 3


def test_a_packed_log_cut_short_keeps_what_stands_before_the_cut(tmp_path: Path) -> None:
    case = folder(
        tmp_path, n1=gzip.compress(syslog("n1", xid=True).encode())[:-12], n2=syslog("n2")
    )
    report = judged(case)
    assert report.verdicts == {"n1": Verdict.REBOOT, "n2": Verdict.LEAVE_ALONE}
    assert "ends before" in (file_row(report, "n1.log").reason or "")


def test_a_line_too_long_in_one_log_takes_nothing_from_another_node(tmp_path: Path) -> None:
    long = f"2026-03-02T10:00:00Z n1 app: {'x' * (5 << 20)}\n"
    report = judged(folder(tmp_path, n1=syslog("n1") + long, n2=syslog("n2")))
    assert report.verdicts == {"n1": Verdict.NOT_OBSERVABLE, "n2": Verdict.LEAVE_ALONE}
    assert {row.node: row.status.value for row in report.coverage} == {
        "n1": "UNVERIFIED",
        "n2": "MEASURED",
    }
