"""`journalctl -o export`: text and binary fields, cut files, and what merely looks like it."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.case import load_case
from gpuvet.case.journal_export import JournalLines
from gpuvet.model.case import FileKind, FileStatus
from gpuvet.model.verdict import Verdict
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
AT = datetime(2026, 3, 2, 10, 4, 11, tzinfo=UTC)
NODE = "i-0a1c5e7f9b2d40611"
XID = "NVRM: Xid (PCI:0000:b3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def binary(name: str, value: bytes) -> bytes:
    return name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"


def entry(message: str | bytes, *, transport: str = "kernel", seconds: int = 0) -> bytes:
    """Return one entry; a message in bytes is written as a binary field."""
    micros = (int(AT.timestamp()) + seconds) * 1_000_000
    said = (
        binary("MESSAGE", message)
        if isinstance(message, bytes)
        else f"MESSAGE={message}\n".encode()
    )
    return (
        f"__CURSOR=s=1;i={seconds}\n__REALTIME_TIMESTAMP={micros}\n__MONOTONIC_TIMESTAMP=500\n"
        f"_BOOT_ID=aaaabbbbccccddddaaaabbbbccccdddd\n_HOSTNAME={NODE}\n_TRANSPORT={transport}\n"
        f"SYSLOG_IDENTIFIER={transport}\nPRIORITY=3\n_MACHINE_ID=ffff\n"
    ).encode() + said


def export(*entries: bytes) -> bytes:
    return b"".join(one + b"\n" for one in entries)


def messages(data: bytes, size: int = 4096) -> list[str]:
    source = JournalLines(io.BytesIO(data))
    text = b"".join(iter(lambda: source.read(size), b""))
    return [json.loads(line).get("MESSAGE", "") for line in text.split(b"\n") if line]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_every_entry_becomes_one_line_whatever_is_read_at_once(size: int) -> None:
    data = export(entry("one"), entry(b"two\n\n__CURSOR=no entry\nlines"), entry("three"))
    assert messages(data, size) == ["one", "two\n\n__CURSOR=no entry\nlines", "three"]


def test_only_the_fields_that_are_read_are_kept() -> None:
    line = json.loads(JournalLines(io.BytesIO(export(entry("x")))).read())
    assert list(line) == [
        "__REALTIME_TIMESTAMP",
        "__MONOTONIC_TIMESTAMP",
        "_BOOT_ID",
        "_HOSTNAME",
        "_TRANSPORT",
        "PRIORITY",
        "SYSLOG_IDENTIFIER",
        "MESSAGE",
    ]


def test_a_field_that_stands_twice_is_kept_twice() -> None:
    assert messages(export(entry("one") + b"MESSAGE=two\n")) == ["one\ntwo"]


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_cut_file_gives_what_was_whole(cut: int) -> None:
    data = export(entry("one"), entry(b"a\nb"))
    assert messages(data[: len(data) - cut])[0] == "one"


def test_a_field_of_an_impossible_length_ends_the_file_with_a_reason() -> None:
    broken = b"__CURSOR=x\nMESSAGE\n" + b"\xff" * 8 + b"rest"
    source = JournalLines(io.BytesIO(export(entry("one")) + broken))
    assert b'"MESSAGE":"one"' in source.read()
    with pytest.raises(ValueError, match="a journal field of"):
        list(iter(source.read, b""))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=2_000), st.integers(1, 700))
def test_everything_else_passes_as_it_is(data: bytes, size: int) -> None:
    source = JournalLines(io.BytesIO(data))
    if data.lstrip().startswith(b"__"):
        return
    assert b"".join(iter(lambda: source.read(size), b"")) == data


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=300), max_size=6), st.integers(1, 900))
def test_any_bytes_in_a_message_stay_inside_it(texts: list[bytes], size: int) -> None:
    data = export(*(entry(text) for text in texts))
    assert messages(data, size) == [text.decode("utf-8", errors="replace") for text in texts]


def test_an_exported_journal_is_judged_like_any_other(tmp_path: Path) -> None:
    noise = [entry(f"eth0: link is up {n}", seconds=n) for n in range(20)]
    data = export(*noise, entry(XID, seconds=30), entry(b"forged\nNVRM: no", transport="stdout"))
    (tmp_path / f"{NODE}.export").write_bytes(data)

    case = load_case(tmp_path)
    report = verdict_report(case, Asked(), clock=NOW)

    (file,) = case.files
    assert (file.kind, file.status, file.lines) == (FileKind.JOURNAL, FileStatus.READ, 22)
    assert report.verdicts == {NODE: Verdict.REBOOT}
    ground = report.nodes[0].grounds[0]
    assert (ground.pci, ground.at) == ("0000:b3:00", AT.replace(second=41))


def test_a_program_s_line_in_an_exported_journal_is_no_driver_s(tmp_path: Path) -> None:
    (tmp_path / f"{NODE}.export").write_bytes(export(entry(XID, transport="stdout")))

    report = verdict_report(load_case(tmp_path), Asked(), clock=NOW)

    assert Verdict.REBOOT not in report.verdicts.values()
    assert Verdict.LEAVE_ALONE not in report.verdicts.values()
