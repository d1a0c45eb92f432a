"""The first pass over a case: every file recognised, small ones read, logs put off.

What each file gives is collected; nothing is concluded from several files yet.
"""

from gpuvet.case.container import WITHHELD, CaseFile
from gpuvet.case.content import Limits
from gpuvet.case.documents import Head, open_head
from gpuvet.case.flight import looks_like_pickle, take_pickle
from gpuvet.case.take_json import take_json
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
    if not head.data:
        problem = file.content.problem
        status = FileStatus.PARTLY_READ if problem else FileStatus.READ
        report(taken, file.path, FileKind.UNKNOWN, status, reason=problem or "empty")
    elif looks_like_pickle(head):
        _take_pickle(file.path, head, taken)
    elif head.is_binary:
        report(taken, file.path, FileKind.UNKNOWN, FileStatus.NOT_UNDERSTOOD, reason=_binary(head))
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


def _binary(head: Head) -> str:
    if head.data.startswith(b"PK\x03\x04") or head.data[257:262] == b"ustar":
        return "an archive inside the case; unpack it beside the others"
    if head.data.startswith(b"\x28\xb5\x2f\xfd"):
        return "packed with zstd; unpack it first"
    return "binary, of no kind we read"
