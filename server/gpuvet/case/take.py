"""The first pass over a case: every file recognised, small ones read, logs put off.

What each file gives is collected; nothing is concluded from several files yet.
"""

from gpuvet.case.container import WITHHELD, CaseFile
from gpuvet.case.content import Limits
from gpuvet.case.documents import JOURNALD, Head, open_head
from gpuvet.case.flight import looks_like_pickle, take_pickle
from gpuvet.case.take_json import is_own_header, take_json, take_own_header
from gpuvet.case.take_text import take_text
from gpuvet.case.taken import Taken, report
from gpuvet.model.case import FileKind, FileStatus


def take_file(file: CaseFile, taken: Taken, limits: Limits) -> None:
    """Recognise one file and take what it gives; logs are put off to the second pass.

    Raises:
        UnreadableCase: Our own case.json or operator_facts.json breaks its format.
    """
    if file.content is None:
        is_answer = file.path.rpartition("/")[2] == WITHHELD
        kind = FileKind.WITHHELD if is_answer else FileKind.UNKNOWN
        status = FileStatus.NOT_UNDERSTOOD
        report(taken, file.path, kind, status, reason=file.refused, is_loss=file.is_loss)
        return
    head = open_head(file.content)
    if is_own_header(file.path):
        take_own_header(file.path, head, taken, limits)
    elif not head.data:
        problem = file.content.problem
        status = FileStatus.PARTLY_READ if problem else FileStatus.READ
        report(
            taken,
            file.path,
            FileKind.UNKNOWN,
            status,
            reason=problem or "empty",
            is_loss=problem is not None,
        )
    elif looks_like_pickle(head):
        _take_pickle(file.path, head, taken)
    elif (held := _container(head)) is not None or head.is_binary:
        reason = held or "binary, of no kind we read"
        status = FileStatus.NOT_UNDERSTOOD
        report(taken, file.path, FileKind.UNKNOWN, status, reason=reason, is_loss=held is not None)
    elif head.text.lstrip()[:1] in {"{", "["} and take_json(file.path, head, taken, limits):
        return
    else:
        take_text(file.path, head, taken, limits)


def _take_pickle(path: str, head: Head, taken: Taken) -> None:
    dump, problem = take_pickle(head, path)
    taken.flight_dumps += [dump] if dump else []
    status = FileStatus.READ if dump else FileStatus.NOT_UNDERSTOOD
    kind = FileKind.FLIGHT_RECORDER if dump else FileKind.UNKNOWN
    report(taken, path, kind, status, reason=problem, records=dump.entries if dump else 0)


# What holds logs of its own, by its first bytes, and what to do with it.
_CONTAINERS = (
    (b"PK\x03\x04", "an archive inside the case; unpack it beside the others"),
    (b"7z\xbc\xaf\x27\x1c", "an archive inside the case; unpack it beside the others"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first"),
    (b"\x04\x22\x4d\x18", "packed with lz4; unpack it first"),
    (JOURNALD, "journald's own binary file; export it with journalctl --file … -o json --all"),
)


def _container(head: Head) -> str | None:
    """Return what to do with a file that holds logs in a form we do not open."""
    if head.data[257:262] == b"ustar":
        return "an archive inside the case; unpack it beside the others"
    return next((told for magic, told in _CONTAINERS if head.data.startswith(magic)), None)
