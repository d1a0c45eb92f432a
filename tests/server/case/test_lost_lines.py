"""Lines that could be lost without a word: from a case's folder to the verdict of its nodes."""

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from typing_extensions import Buffer

from gpuvet.case import load_case
from gpuvet.errors import UnreadableCase
from gpuvet.model.report import FileRow, VerdictReport
from gpuvet.model.verdict import Verdict
from gpuvet.modes.verdict import exit_code, verdict_report
from gpuvet.modes.window import Asked
from gpuvet.report.verdict import verdict_text

NOTHING_ASKED = Asked()
LATE = datetime(2027, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 2, 6, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:64:00): 79, pid=4, name=python, GPU has fallen off the bus."
HEADER = {
    "now": "2026-03-02T12:20:00Z",
    "window": {"start": "2026-03-02T07:00:00Z", "end": "2026-03-02T12:00:00Z"},
}


def syslog(node: str, *, xid: bool = False, stamp: str = "%Y-%m-%dT%H:%M:%S+00:00") -> str:
    """Write a node's kernel lines, one in ten minutes from 06:00 to 13:00, an Xid 79 at 10:00."""
    lines: list[str] = []
    for step in range(42):
        moment = START + timedelta(minutes=10 * step)
        at = moment.strftime(stamp.replace("%e", f"{moment.day:>2}"))
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


def judged(path: Path, asked: Asked = NOTHING_ASKED) -> VerdictReport:
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
    random = Random(1)  # noqa: S311 - data that packs badly, no secret
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

    def write(self, data: Buffer, /) -> int:
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


def test_a_log_that_is_there_twice_counts_its_nodes_once(tmp_path: Path) -> None:
    both = syslog("n1") + syslog("n2")
    report = judged(folder(tmp_path, a=both, b=both))
    assert "MEASURED  2 nodes" in verdict_text(report)


def journal(node: str, message: Callable[[str], object]) -> str:
    """Write a node's lines as `journalctl -o json` does; `message` is how it writes a text."""
    records: list[dict[str, object]] = []
    for step in range(42):
        at = START + timedelta(minutes=10 * step)
        text = XID if step == 24 else f"usb 1-{step}: new device"
        records.append(
            {
                "__REALTIME_TIMESTAMP": str(int(at.timestamp() * 1e6)),
                "_HOSTNAME": node,
                "SYSLOG_IDENTIFIER": "kernel",
                "_TRANSPORT": "kernel",
                "MESSAGE": message(text),
            }
        )
    return "".join(json.dumps(record) + "\n" for record in records)


SPELLINGS: dict[str, Callable[[str], object]] = {
    "string": lambda text: text,
    "bytes": lambda text: list(f"\x1b[31m{text}\x1b[0m".encode()),
    "bytes that are no text": lambda text: [255, *text.encode()],
    "several values": lambda text: ["first", text],
    "several values of bytes": lambda text: [[1, 2], list(text.encode())],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_message_of_the_journal_is_read_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    report = judged(folder(tmp_path, a=journal("n1", SPELLINGS[spelling]), n2=syslog("n2")))
    assert report.verdicts == {"n1": Verdict.REBOOT, "n2": Verdict.LEAVE_ALONE}


def test_a_message_that_the_export_left_out_is_a_line_not_read(tmp_path: Path) -> None:
    log = journal("n1", lambda text: None if "Xid" in text else text)
    report = judged(folder(tmp_path, a=log, n2=syslog("n2")))
    assert report.verdicts == {"n1": Verdict.NOT_OBSERVABLE, "n2": Verdict.LEAVE_ALONE}
    row = file_row(report, "a.log")
    assert (row.status, (row.reason or "")[:33]) == (
        "partly read",
        "1 records without their message, ",
    )
    assert exit_code(report) == 3


@pytest.mark.parametrize("message", [None, list(XID.encode())], ids=["left out", "bytes"])
def test_a_journal_of_one_record_is_a_journal(message: object, tmp_path: Path) -> None:
    record = journal("n1", lambda _: message).splitlines()[0]
    report = judged(folder(tmp_path, a=record, n2=syslog("n2")))
    assert file_row(report, "a.log").kind == "journal"
    assert report.verdicts["n1"] is not Verdict.LEAVE_ALONE


NO_YEAR = "%b %e %H:%M:%S"
WRITTEN = datetime(2026, 3, 2, 13, 5, tzinfo=UTC)


def yearless(root: Path, *, header: object, written: datetime = WRITTEN, **more: str) -> Path:
    """Write two nodes' logs without a year, the first with a fault, last changed at `written`."""
    logs = {"n1": syslog("n1", xid=True, stamp=NO_YEAR), "n2": syslog("n2", stamp=NO_YEAR)}
    folder(root, header=header, **logs, **more)
    for path in root.iterdir():
        os.utime(path, (written.timestamp(), written.timestamp()))
    return root


CLOCKS: dict[str, dict[str, Any]] = {
    "the case's clock": {"header": {"now": "2026-03-02T12:20:00Z"}, "written": LATE},
    "the failure": {"header": {"failure_at": "2026-03-02T10:00:00Z"}, "written": LATE},
    "a time written in full": {
        "header": None,
        "written": LATE,
        "notes": "2026-03-02T10:00:00Z job 3 stopped\n",
    },
    "when the files were written": {"header": None, "written": WRITTEN},
}
ASKED = Asked(since="2026-03-02T07:00:00Z", until="2026-03-02T12:00:00Z")


@pytest.mark.parametrize("clock", CLOCKS)
def test_lines_without_a_year_are_placed_and_counted(clock: str, tmp_path: Path) -> None:
    report = judged(yearless(tmp_path, **CLOCKS[clock]), ASKED)
    assert report.verdicts == {"n1": Verdict.REBOOT, "n2": Verdict.LEAVE_ALONE}
    assert {(row.status.value, row.hours_measured) for row in report.coverage} == {("MEASURED", 7)}


def test_the_window_of_a_case_without_one_ends_with_its_logs(tmp_path: Path) -> None:
    report = judged(yearless(tmp_path, header=None))
    end = datetime(2026, 3, 2, 13, tzinfo=UTC)
    assert (report.window.since, report.window.until) == (end - timedelta(hours=24), end)
    assert {row.hours_measured for row in report.coverage} == {7}


def test_december_read_in_january_is_the_year_before(tmp_path: Path) -> None:
    text = "".join(f"Dec 31 {hour:02}:30:00 n1 kernel: usb ok\n" for hour in range(24))
    folder(tmp_path, header={"now": "2027-01-01T00:10:00Z"}, n1=text)
    window = Asked(since="2026-12-31T03:00:00Z", until="2026-12-31T22:00:00Z")
    assert judged(tmp_path, window).verdicts == {"n1": Verdict.LEAVE_ALONE}


def random_bytes(size: int, seed: int = 7) -> bytes:
    return Random(seed).randbytes(size)  # noqa: S311 - foreign bytes, no secret


FOREIGN: dict[str, bytes] = {
    "random": random_bytes(300_000),
    "short random": random_bytes(900),
    "zeros": bytes(100_000),
    "numbers": struct.pack("<20000I", *range(20000)),
    "journald's own file": b"LPKSHHRH" + bytes(200) + b"MESSAGE=usb ok\0\0\0\0" * 9000,
    "login records": b"".join(b"\7\0\0\0" + b"pts/%d" % i + bytes(300) for i in range(900)),
    "packed by lz4": b"\x04\x22\x4d\x18" + random_bytes(9000),
    "an archive": b"PK\x03\x04" + random_bytes(9000),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_that_is_no_text_is_named_as_not_understood(kind: str, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(FOREIGN[kind])
    report = judged(folder(tmp_path, n1=syslog("n1")))
    assert file_row(report, "blob").status == "not understood"
    assert "blob: not understood" in verdict_text(report)


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_folder_of_nothing_but_foreign_bytes_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(FOREIGN[kind])
    with pytest.raises(UnreadableCase, match="none of the 1 files"):
        load_case(tmp_path)


def test_an_archive_that_was_not_opened_leaves_no_node_fully_seen(tmp_path: Path) -> None:
    inside = packed_folder(tmp_path)
    (tmp_path / "case").mkdir()
    case = folder(tmp_path / "case", n1=syslog("n1"))
    (case / "system.journal").write_bytes(FOREIGN["journald's own file"])
    (case / "rest.zip").write_bytes(zipped(inside, streamed=False))
    (case / "rest.tar").write_bytes(tarred(inside, "w"))
    (case / "rest.tgz").write_bytes(tarred(inside, "w:gz"))
    report = judged(case)
    assert [row.any_node for row in report.not_seen if row.any_node] == [True] * 4
    assert exit_code(report) == 3


def test_a_log_that_a_crash_filled_with_zeros_is_a_log_still(tmp_path: Path) -> None:
    log = syslog("n1", xid=True).encode()
    report = judged(folder(tmp_path, n1=log[:900] + bytes(70_000) + b"\n" + log[900:]))
    assert report.verdicts == {"n1": Verdict.REBOOT}


def test_a_log_in_an_old_encoding_of_single_bytes_is_a_log_still(tmp_path: Path) -> None:
    words = "2026-03-02T06:00:00Z n1 app: L'\xe9t\xe9 o\xf9 la temp\xe9rature monte\n" * 50
    report = judged(folder(tmp_path, n1=(words + syslog("n1", xid=True)).encode("latin-1")))
    assert report.verdicts == {"n1": Verdict.REBOOT}


BROKEN_HEADERS = {
    "no JSON": "{bad",
    "an array": "[]",
    "null": "null",
    "a word": "hello",
    "empty": "",
    "another version": '{"format": "gpuvet-case/9", "now": "2026-03-02T12:20:00Z"}',
    "an unknown key": '{"nwo": "2026-03-02T12:20:00Z"}',
    "only unknown keys": '{"title": "my case"}',
    "a time that is none": '{"now": "yesterday"}',
    "cut": '{"now": "2026-03-02T12:20:00Z", "wind',
    "binary": "\0\1\2",
}


@pytest.mark.parametrize("kind", BROKEN_HEADERS)
def test_a_broken_case_json_is_refused_with_what_to_do(kind: str, tmp_path: Path) -> None:
    folder(tmp_path, header=None, n1=syslog("n1"))
    (tmp_path / "case.json").write_text(BROKEN_HEADERS[kind], encoding="utf-8")
    with pytest.raises(UnreadableCase, match=r"case\.json.*wanted .*there is .*correct it"):
        load_case(tmp_path)


def test_operator_facts_of_another_version_are_refused(tmp_path: Path) -> None:
    folder(tmp_path, n1=syslog("n1"))
    text = '{"format": "gpuvet-operator-facts/9", "nodes": []}'
    (tmp_path / "operator_facts.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableCase, match="operator facts"):
        load_case(tmp_path)


@pytest.mark.parametrize("text", ["{}", "\ufeff{}"], ids=["empty object", "with a mark"])
def test_a_case_json_may_say_nothing(text: str, tmp_path: Path) -> None:
    folder(tmp_path, header=None, n1=syslog("n1"))
    (tmp_path / "case.json").write_text(text, encoding="utf-8")
    assert file_row(judged(tmp_path), "case.json").status == "read"


def test_a_log_of_several_hosts_cut_short_may_have_lost_any_node(tmp_path: Path) -> None:
    both = zip(syslog("n1").splitlines(), syslog("n2").splitlines(), strict=True)
    text = "".join(f"{one}\n{other}\n" for one, other in both) + syslog("n3", xid=True)
    case = folder(tmp_path, all=gzip.compress(text.encode())[:-150], n9=syslog("n9"))
    report = judged(case)
    assert report.verdicts["n9"] is Verdict.LEAVE_ALONE
    assert [row.any_node for row in report.not_seen if row.any_node] == [True]


def test_a_packed_file_of_which_nothing_can_be_read_may_be_any_nodes_log(tmp_path: Path) -> None:
    case = folder(tmp_path, n1=syslog("n1"), n2=gzip.compress(syslog("n2").encode())[:12])
    assert exit_code(judged(case)) == 3


FAULTY = syslog("n1", xid=True)
MIXED: dict[str, bytes] = {
    "UTF-16, then plain": syslog("n1").encode("utf-16") + FAULTY.encode(),
    "plain, then UTF-16": syslog("n1").encode() * 40 + FAULTY.encode("utf-16"),
    "plain, then random": syslog("n1").encode() * 40 + random_bytes(200_000),
}


@pytest.mark.parametrize("kind", MIXED)
def test_a_log_that_goes_on_in_other_bytes_is_not_read_to_its_end(
    kind: str, tmp_path: Path
) -> None:
    report = judged(folder(tmp_path, n1=MIXED[kind], n2=syslog("n2")))
    assert report.verdicts == {"n1": Verdict.NOT_OBSERVABLE, "n2": Verdict.LEAVE_ALONE}
    assert file_row(report, "n1.log").status == "partly read"
