"""The files of a case, wherever they lie: a folder, a zip, a tar (also packed), or one file.

Everything is untrusted: no link is followed, no name may lead outside, sizes and
ratios are limited, and nothing is written to disk. Members are streamed one after the other, as
often as they are asked for.
"""

import io
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple, Self, cast

from gpuvet.case.content import LIMITS, Budget, Content, Limits, readable, unpacked
from gpuvet.case.cut_zip import LOCAL_HEADER, local_members
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import CaseForm
from gpuvet.parse.untrusted import show

# Never opened, whatever it holds: it carries a test case's answer.
WITHHELD = "expected.json"
# A field case keeps what may be read here, and its answer beside it.
INPUTS = "inputs"
# What of an archive is not there, under a name of its own among the files.
REST = "(rest of the archive)"
MISSING = "the archive ends early, and what files came after is not known"
CUT_SHORT = "cut short: it has no end; copy it again"
HEADER = "case.json"
_FIRST_FILE = datetime(1990, 1, 1, tzinfo=UTC)
_LONGEST_NAME = 1024
# Names and attributes of a tar member may be stored as members of their own, read whole.
_LONGEST_TAR_HEADER = 2**20
_DRIVE = re.compile(r"[A-Za-z]:")

NEVER_OPENED = "holds the expected answer; never opened"


class CaseFile(NamedTuple):
    """One file of a case while it is open."""

    path: str  # inside the case, forward slashes
    content: Content | None  # None where it is not opened
    refused: str | None = None  # why it is not
    is_loss: bool = False  # what was refused may hold any node's logs


class Container:
    """A path taken for a case; `files` gives its files, as often as needed."""

    def __init__(self, path: Path, limits: Limits = LIMITS) -> None:
        """Find out what the path is.

        Raises:
            UnreadableCase: There is nothing, or nothing that could be a case.
        """
        self.path = path
        self.limits = limits
        self.form = _form(path)

    def files(self) -> Iterator[CaseFile]:
        """Yield every file, sorted by path in a folder, in stored order in an archive.

        A file's content can be read only until the next file is asked for. Of several files
        with one name each is given, the later ones with a number.

        Raises:
            UnreadableCase: A hostile name, too many files, or an archive that is none.
        """
        taken: dict[str, int] = {}
        for place, file in enumerate(self._files(Budget(self.limits)), start=1):
            if place > self.limits.files:
                msg = f"{self.path} holds more than {self.limits.files} files; give a part of it"
                raise UnreadableCase(msg)
            copy = taken[file.path] = taken.get(file.path, 0) + 1
            yield file if copy == 1 else file._replace(path=f"{file.path} ({copy})")

    def modified(self) -> datetime | None:
        """Return when the newest file was last written: no line of a log is later.

        None where that is no plausible time, as of files out of an archive without times.
        """
        paths = [self.path]
        if self.form is CaseForm.FOLDER:
            own = [path for path in _walk(self.path) if path.name != HEADER]
            paths = [path for path in own if stat.S_ISREG(path.lstat().st_mode)]
        newest = max((path.lstat().st_mtime for path in paths), default=0.0)
        at = datetime.fromtimestamp(newest, UTC)
        return at if at >= _FIRST_FILE else None

    def _files(self, budget: Budget) -> Iterator[CaseFile]:
        if self.form is CaseForm.FOLDER:
            return _folder(self.path, budget)
        if self.form is CaseForm.FILE:
            return _one_file(self.path, budget)
        if zipfile.is_zipfile(self.path):
            return _zip(self.path, budget)
        return (_cut_zip if _is_cut_zip(self.path) else _tar)(self.path, budget)


def _form(path: Path) -> CaseForm:
    if path.name == WITHHELD:
        msg = f"{path} holds a case's expected answer, which is never read; give the case itself"
        raise UnreadableCase(msg)
    if path.is_dir():
        return CaseForm.FOLDER
    if not path.is_file():
        found = "it is no regular file" if path.exists() else "nothing is there"
        msg = f"wanted a case at {path}: {found}; give a folder, an archive or a file"
        raise UnreadableCase(msg)
    try:
        is_archive = zipfile.is_zipfile(path) or _is_cut_zip(path) or _is_tar(path)
    except OSError as error:
        msg = f"{path} cannot be opened: {error.strerror or error}; check its permissions"
        raise UnreadableCase(msg) from error
    return CaseForm.ARCHIVE if is_archive else CaseForm.FILE


def _is_tar(path: Path) -> bool:
    with path.open("rb") as raw, io.BufferedReader(unpacked(raw, Budget(LIMITS))) as content:
        head = content.read(tarfile.BLOCKSIZE)
    with suppress(tarfile.HeaderError, ValueError):
        _Member.frombuf(head, "utf-8", "surrogateescape")
        return True
    return False


def _folder(root: Path, budget: Budget) -> Iterator[CaseFile]:
    has_inputs = (root / INPUTS).is_dir() and not (root / INPUTS).is_symlink()
    for path in _walk(root):
        inside = path.relative_to(root).as_posix()
        shown = show(inside)
        mode = path.lstat().st_mode
        if path.name == WITHHELD:
            yield CaseFile(shown, None, NEVER_OPENED)
        elif has_inputs and not inside.startswith(f"{INPUTS}/"):
            yield CaseFile(shown, None, f"beside {INPUTS}/, which alone is read")
        elif stat.S_ISLNK(mode):
            yield CaseFile(shown, None, "a symbolic link; not followed")
        elif not stat.S_ISREG(mode):
            yield CaseFile(shown, None, "a device, pipe or folder that cannot be read as a file")
        else:
            yield from _opened(path, shown, budget)


def _walk(root: Path) -> Iterator[Path]:
    """Yield everything below a folder that is no folder we can enter, sorted."""
    closed: list[Path] = []
    walk = os.walk(root, onerror=lambda error: closed.append(Path(error.filename)))
    for folder, folders, names in walk:
        folders.sort()
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted([*names, *links]):
            yield Path(folder) / name
    yield from closed


def _opened(path: Path, shown: str, budget: Budget) -> Iterator[CaseFile]:
    try:
        raw = path.open("rb")
    except OSError as error:
        yield CaseFile(shown, None, f"cannot be opened: {error.strerror or error}")
        return
    with raw:
        yield CaseFile(shown, readable(raw, budget))


def _one_file(path: Path, budget: Budget) -> Iterator[CaseFile]:
    yield from _opened(path, show(path.name), budget)


def _zip(path: Path, budget: Budget) -> Iterator[CaseFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        msg = f"{path} begins like a zip and cannot be read as one: {error}; pack it again"
        raise UnreadableCase(msg) from error
    with archive:
        for member in archive.infolist():
            name = _safe(member.filename, path)
            if member.is_dir():
                continue
            refusal = _zip_refusal(member, name)
            if refusal is not None:
                yield CaseFile(name, None, refusal)
                continue
            try:
                raw = archive.open(member)
            except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
                yield CaseFile(name, None, f"cannot be unpacked: {error}")
                continue
            with raw:
                yield CaseFile(name, readable(raw, budget, member.compress_size))


def _is_cut_zip(path: Path) -> bool:
    """Say whether a file begins like a zip; one that is whole was told before."""
    with path.open("rb") as raw:
        return raw.read(4) == LOCAL_HEADER


def _cut_zip(path: Path, budget: Budget) -> Iterator[CaseFile]:
    """Yield the members of a zip that lost its end, and with it the list of its members."""
    with path.open("rb") as raw:
        for member in local_members(raw):
            name = _safe(member.name, path)
            if member.data is None:
                yield CaseFile(name, None, member.refused)
            elif name.rpartition("/")[2] == WITHHELD:
                yield CaseFile(name, None, NEVER_OPENED)
            elif not member.name.endswith("/"):
                data = cast("IO[bytes]", member.data)
                yield CaseFile(name, readable(data, budget, member.packed))
        yield CaseFile(REST, None, f"{MISSING}; copy it again", is_loss=True)


def _zip_refusal(member: zipfile.ZipInfo, name: str) -> str | None:
    mode = member.external_attr >> 16
    if name.rpartition("/")[2] == WITHHELD:
        return NEVER_OPENED
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        return "a link or device; not followed"
    return "encrypted" if member.flag_bits & 1 else None


class _Member(tarfile.TarInfo):
    """A tar header; one that claims a name of megabytes is refused before it is read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        is_header = member.type in {
            *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
            *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
        }
        if is_header and member.size > _LONGEST_TAR_HEADER:
            raise tarfile.HeaderError("a header of more than 1 MiB")
        return member


class _Forward:
    """A stream that only goes forward, in the shape of the file that a tar is read from."""

    def __init__(self, source: Content) -> None:
        self._stream: IO[bytes] = io.BufferedReader(source, tarfile.RECORDSIZE)
        self._place = 0
        self.last = b""  # what was read last; an archive ends with blocks of zeros

    def read(self, size: int) -> bytes:
        self.last = self._stream.read(size)
        self._place += len(self.last)
        return self.last

    def tell(self) -> int:
        return self._place

    def seek(self, place: int) -> int:
        while self._place < place and self.read(min(place - self._place, tarfile.RECORDSIZE)):
            pass
        return self._place


class _TarData(io.RawIOBase):
    """The bytes of one member where the archive stands; fewer than its header says are a fault."""

    def __init__(self, archive: _Forward, size: int) -> None:
        super().__init__()
        self._archive = archive
        self._left = size

    def read(self, size: int = -1, /) -> bytes:
        if self._left == 0:
            return b""
        chunk = self._archive.read(self._left if size < 0 else min(size, self._left))
        if not chunk:
            raise EOFError
        self._left -= len(chunk)
        return chunk


def _tar(path: Path, budget: Budget) -> Iterator[CaseFile]:
    with path.open("rb") as raw:
        whole = unpacked(raw, budget)
        stream = _Forward(whole)
        seen = 0
        try:
            with tarfile.TarFile(fileobj=cast("IO[bytes]", stream), tarinfo=_Member) as archive:
                for member in archive:
                    if not member.isdir():
                        seen += 1
                        yield _tar_member(stream, member, path)
        except tarfile.HeaderError as error:  # ours, see _Member
            whole.problem = whole.problem or f"cut short: {error}"
        except (tarfile.TarError, EOFError, OSError, ValueError):
            whole.problem = whole.problem or CUT_SHORT
        if stream.last != bytes(tarfile.BLOCKSIZE):
            whole.problem = whole.problem or CUT_SHORT
        if whole.problem is not None:
            if not seen:
                msg = f"{path} begins like a tar and cannot be read as one: {whole.problem}"
                raise UnreadableCase(msg)
            yield CaseFile(REST, None, f"{MISSING}; {whole.problem}", is_loss=True)


def _tar_member(archive: _Forward, member: tarfile.TarInfo, path: Path) -> CaseFile:
    name = _safe(member.name, path)
    if name.rpartition("/")[2] == WITHHELD:
        return CaseFile(name, None, NEVER_OPENED)
    if member.issparse():
        return CaseFile(name, None, "stored with holes; pack it again without --sparse")
    if not member.isreg():
        return CaseFile(name, None, "a link or device; not followed")
    # The archive's own content counts and limits the bytes already.
    data = cast("IO[bytes]", _TarData(archive, member.size))
    return CaseFile(name, readable(data, Budget(LIMITS)))


def _safe(name: str, archive: Path) -> str:
    """Return a member's name as a relative path with forward slashes.

    Raises:
        UnreadableCase: The name is absolute, climbs out, names a drive, or is no name.
    """
    plain = name.replace("\\", "/")
    parts = [part for part in plain.split("/") if part not in {"", "."}]
    is_outside = plain.startswith("/") or ".." in parts or _DRIVE.match(plain) is not None
    if is_outside or "\0" in name or len(name) > _LONGEST_NAME:
        shown = show(name[:100])
        msg = f"{archive} holds a member {shown!r} whose name leads outside; pack it again safely"
        raise UnreadableCase(msg)
    return show("/".join(parts)) or "(no name)"
