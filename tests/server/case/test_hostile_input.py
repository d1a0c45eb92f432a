"""Hostile input: a clear refusal or a named partial read, never another error, never a loss."""

import gzip
import io
import json
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.case import Case, load_case, node_names, nodes
from gpuvet.case.content import LIMITS
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import FileKind, FileReport, FileStatus
from gpuvet.model.evidence import Reason, Window

NODE = "i-0aa11bb22cc33dd44"
XID = f"2026-03-02T04:11:58Z {NODE} kernel: NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off"
SMALL = LIMITS._replace(ratio_floor=1 << 20, document_bytes=1 << 20, text_bytes=1 << 16)


def report(case: Case, path: str) -> FileReport:
    return next(one for one in case.files if one.path == path)


def lines_of(case: Case) -> list[str]:
    streams = case.logs.streams(node_names(nodes(case))).value or ()
    window = case.meta.window
    assert case.meta.now is not None
    span = window or Window(start=case.meta.now.replace(year=2020), end=case.meta.now)
    return [line.text for line in case.logs.gpu_lines(streams, span).value or ()]


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


Mode = Literal["w", "w:gz", "w:xz"]


def tarred(path: Path, *members: tarfile.TarInfo | tuple[str, bytes], mode: Mode = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


OUTSIDE = [
    "../evil.log",
    "a/../../evil.log",
    "/etc/passwd",
    "C:\\temp\\evil.log",
    "c:evil.log",
    "\\\\server\\share\\evil.log",
    "x" * 2000,
]


@pytest.mark.parametrize("name", OUTSIDE, ids=lambda name: name[:20])
def test_a_zip_whose_name_leads_outside_is_refused(name: str, tmp_path: Path) -> None:
    path = zipped(tmp_path / "case.zip", ("kernel.log", XID.encode()), (name, b"x"))
    with pytest.raises(UnreadableCase, match="leads outside"):
        load_case(path)


@pytest.mark.parametrize("name", OUTSIDE, ids=lambda name: name[:20])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_a_tar_whose_name_leads_outside_is_refused(name: str, mode: Mode, tmp_path: Path) -> None:
    path = tarred(tmp_path / "case.tar", ("kernel.log", XID.encode()), (name, b"x"), mode=mode)
    with pytest.raises(UnreadableCase, match="leads outside"):
        load_case(path)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(tarfile.SYMTYPE, id="symbolic link"),
        pytest.param(tarfile.LNKTYPE, id="hard link"),
        pytest.param(tarfile.CHRTYPE, id="character device"),
        pytest.param(tarfile.BLKTYPE, id="block device"),
        pytest.param(tarfile.FIFOTYPE, id="pipe"),
    ],
)
def test_links_and_devices_of_a_tar_are_listed_and_not_followed(
    kind: bytes, tmp_path: Path
) -> None:
    member = tarfile.TarInfo("passwd")
    member.type, member.linkname = kind, "/etc/passwd"
    case = load_case(tarred(tmp_path / "case.tgz", ("kernel.log", XID.encode()), member))
    assert report(case, "passwd").reason == "a link or device; not followed"
    assert lines_of(case) == [XID]


def test_a_symbolic_link_of_a_zip_is_listed_and_not_followed(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("passwd")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = zipped(tmp_path / "case.zip", ("kernel.log", XID.encode()), (link, b"/etc/passwd"))
    case = load_case(path)
    assert report(case, "passwd").status is FileStatus.NOT_UNDERSTOOD
    assert lines_of(case) == [XID]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_links_pipes_and_closed_folders_of_a_folder_are_listed(tmp_path: Path) -> None:
    (tmp_path / "kernel.log").write_text(XID, encoding="utf-8")
    (tmp_path / "link.log").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    case = load_case(tmp_path)
    assert {one.path: one.reason for one in case.files} == {
        "kernel.log": None,
        "link.log": "a symbolic link; not followed",
        "loop": "a symbolic link; not followed",
        "pipe": "a device, pipe or folder that cannot be read as a file",
    }


def packed_zeros(pack: Callable[[bytes], bytes]) -> bytes:
    return pack(XID.encode() + b"\n" + b"0" * (8 << 20) + b"\n")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_a_file_that_unpacks_beyond_its_ratio_is_partly_read(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "kernel.log.gz").write_bytes(packed_zeros(pack))
    case = load_case(tmp_path, limits=SMALL)
    found = report(case, "kernel.log.gz")
    assert found.status is FileStatus.PARTLY_READ
    assert found.reason is not None
    assert "250 times" in found.reason
    assert lines_of(case) == [XID]


@pytest.mark.parametrize("is_tar", [True, False], ids=["tar", "zip"])
def test_an_archive_that_unpacks_beyond_its_ratio_is_partly_read(
    is_tar: bool, tmp_path: Path
) -> None:
    bomb = b"0" * (8 << 20)
    path = tmp_path / "case"
    members = (("kernel.log", XID.encode()), ("zeros.txt", bomb))
    case = load_case(tarred(path, *members) if is_tar else zipped(path, *members), limits=SMALL)
    assert any("250 times" in (one.reason or "") for one in case.files)
    assert lines_of(case) == [XID]


def test_the_whole_case_has_an_allowance(tmp_path: Path) -> None:
    for place in range(4):
        (tmp_path / f"{place}.log").write_text(f"{XID}\n" * 2000, encoding="utf-8")
    case = load_case(tmp_path, limits=LIMITS._replace(total_bytes=500_000))
    reasons = [one.reason for one in case.files if one.status is not FileStatus.READ]
    assert reasons
    assert all("the case unpacks to more than 500000 bytes" in str(one) for one in reasons)


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "case.zip", *((f"{n}.log", b"x") for n in range(12)))
    with pytest.raises(UnreadableCase, match="more than 10 files"):
        load_case(path, limits=LIMITS._replace(files=10))


def test_a_header_that_claims_a_name_of_megabytes_is_not_read(tmp_path: Path) -> None:
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 1 << 32
    path = tmp_path / "case.tar"
    first = tarfile.TarInfo("kernel.log")
    first.size = len(XID)
    data = first.tobuf() + XID.encode().ljust(512, b"\0") + member.tobuf()
    path.write_bytes(data.ljust(20 * 512, b"\0"))
    case = load_case(path)
    reason = report(case, "(rest of the archive)").reason or ""
    assert reason.endswith("cut short: a header of more than 1 MiB")
    assert lines_of(case) == [XID]


@pytest.mark.parametrize("cut", [40, 200, 1000], ids=lambda cut: f"{cut} bytes short")
def test_a_truncated_gzip_is_read_as_far_as_it_goes(cut: int, tmp_path: Path) -> None:
    text = "\n".join(f"{XID} {place} {os.urandom(8).hex()}" for place in range(4000))
    data = gzip.compress(text.encode())
    (tmp_path / "kernel.log.gz").write_bytes(data[:-cut])
    case = load_case(tmp_path)
    found = report(case, "kernel.log.gz")
    assert found.status is FileStatus.PARTLY_READ
    assert found.reason is not None
    assert found.reason.startswith("cut short:")
    assert len(lines_of(case)) > 3000
    streams = case.logs.streams(node_names(nodes(case))).value or ()
    assert case.meta.now is not None
    window = Window(start=case.meta.now.replace(year=2020), end=case.meta.now)
    counts = case.logs.hourly_counts(streams, window).value or ()
    assert [one.bins_reason for one in counts] == [Reason.CUT_SHORT]
    assert case.logs.gpu_lines(streams, window).reason is Reason.CUT_SHORT


def test_a_tar_that_ends_early_keeps_what_came_before(tmp_path: Path) -> None:
    path = tarred(tmp_path / "case.tgz", ("a.log", XID.encode()), ("b.log", os.urandom(100_000)))
    path.write_bytes(path.read_bytes()[:60_000])
    case = load_case(path)
    assert lines_of(case) == [XID]
    assert "cut short" in str(report(case, "(rest of the archive)").reason)


def test_members_of_one_name_are_all_read(tmp_path: Path) -> None:
    other = XID.replace("79", "48")
    case = load_case(
        tarred(tmp_path / "case.tgz", ("a.log", XID.encode()), ("a.log", other.encode()))
    )
    assert {one.path for one in case.files} == {"a.log", "a.log (2)"}
    assert lines_of(case) == [XID, other]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"\x00" * 5000, "binary", id="nothing but NUL"),
        pytest.param(os.urandom(16) + bytes(range(1, 9)) * 500, "binary", id="binary"),
        pytest.param(b'{"Reservations": [', "begins like JSON and is none", id="JSON cut short"),
        pytest.param(b"[" * 100_000, "begins like JSON and is none", id="deep beyond the parser"),
        pytest.param(b"[" * 80 + b"]" * 80, "nested more than 64", id="deep"),
        pytest.param(b'{"a": NaN}', "NaN is no JSON", id="not a number"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "begins like JSON", id="a number of 5000"),
        pytest.param(b"PK\x03\x04" + b"\x01\x02" * 300, "an archive inside", id="an archive"),
        pytest.param(b"\x28\xb5\x2f\xfd" + b"\x01\x02" * 300, "packed with zstd", id="zstd"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_reason(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "kernel.log").write_text(XID, encoding="utf-8")
    (tmp_path / "odd").write_bytes(data)
    found = report(load_case(tmp_path), "odd")
    assert found.status is FileStatus.NOT_UNDERSTOOD
    assert reason in str(found.reason)


def test_bad_utf8_nul_and_long_lines_cost_no_other_line(tmp_path: Path) -> None:
    parts = [b"\xff\xfe\xfa broken", b"\0" * 300, b"x" * (3 << 20), XID.encode(), b"\xc3\x28"]
    (tmp_path / "kernel.log").write_bytes(b"2026 kernel: a\n" + b"\n".join(parts))
    case = load_case(tmp_path)
    found = report(case, "kernel.log")
    assert (found.status, found.lines) == (FileStatus.PARTLY_READ, 6)
    assert found.reason == "1 lines longer than 1 MiB were cut"
    assert lines_of(case) == [XID]


def test_utf16_of_a_windows_shell_is_read(tmp_path: Path) -> None:
    document = {"FileSystems": [{"FileSystemId": "fs-1"}]}
    (tmp_path / "fsx.json").write_bytes(json.dumps(document).encode("utf-16"))
    case = load_case(tmp_path)
    assert report(case, "fsx.json").kind is FileKind.AWS_REPLY
    assert case.aws.read("fsx:DescribeFileSystems", {}).value == (document,)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "empty", id="an empty file"),
        pytest.param(b"\0" * 600, "binary", id="zeros"),
        pytest.param(b"PK\x05\x06" + b"\0" * 18, "no files", id="an empty zip"),
    ],
)
def test_a_file_that_is_no_case_is_refused_in_words(
    data: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "case"
    path.write_bytes(data)
    with pytest.raises(UnreadableCase, match=words):
        load_case(path)


def test_a_path_without_files_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCase, match="holds no files"):
        load_case(tmp_path)
    with pytest.raises(UnreadableCase, match="nothing is there"):
        load_case(tmp_path / "none")


def test_an_expected_answer_given_as_the_case_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "expected.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UnreadableCase, match="never read"):
        load_case(path)


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "case.zip", ("kernel.log", XID.encode()), ("secret.log", b"x"))
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 8] |= 1
    path.write_bytes(bytes(data))
    assert report(load_case(path), "secret.log").reason == "encrypted"


def test_control_characters_of_a_name_are_shown(tmp_path: Path) -> None:
    path = tarred(tmp_path / "case.tgz", ("a\x1b[31m\u202elog", XID.encode()))
    assert load_case(path).files[0].path == "a\\x1b[31m\\u202elog"


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=600))
def test_any_bytes_load_or_are_refused_in_words(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("case") / "file"
    path.write_bytes(data)
    try:
        case = load_case(path)
    except UnreadableCase:
        return
    assert case.files


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "Events",
                        "Reservations",
                        "Instances",
                        "bins",
                        "query",
                        "rows",
                        "series",
                        "kind",
                    ),
                    *(
                        "hourly_counts",
                        "window_utc",
                        "nodes",
                        "calls",
                        "events",
                        "cluster",
                        "items",
                    ),
                    *(
                        "input",
                        "window",
                        "status",
                        "metadata",
                        "State",
                        "NetworkInterfaces",
                        "metric",
                    ),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(document=JSON)
def test_any_json_of_known_words_loads_or_is_refused_in_words(
    document: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("case")
    (path / "kernel.log").write_text(XID, encoding="utf-8")
    (path / "odd.json").write_text(json.dumps(document), encoding="utf-8")
    try:
        case = load_case(path)
    except UnreadableCase:
        return
    assert lines_of(case) == [XID]
