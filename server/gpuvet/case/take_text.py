"""Text files of a case: notes, manifests, job output, errors; and which ones are logs."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from gpuvet.aws.reads import services_of
from gpuvet.aws.recorded_calls import CallError, RecordedCall
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.content import Limits
from gpuvet.case.documents import Head
from gpuvet.case.kube import kube_objects
from gpuvet.case.notes import read_notes
from gpuvet.case.recognise import LINE_KINDS, read_aws_error, recognise_text
from gpuvet.case.taken import Taken, keep_objects, keep_text, report
from gpuvet.errors import SpecSyntaxError
from gpuvet.model.case import FileKind, FileStatus
from gpuvet.parse.times import parse_time
from gpuvet.parse.untrusted import clean
from gpuvet.parse.yaml_text import load_documents

_FULL_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
# A file whose only content is a time is the case's clock; no reference is needed for full dates.
_NO_REFERENCE = datetime(1970, 1, 1, tzinfo=UTC)


def take_text(path: str, head: Head, taken: Taken, limits: Limits) -> None:
    """Take a text file that is no JSON document; logs are put off to the second pass."""
    is_whole = not head.rest.peek(1)
    kind = recognise_text(head.text, is_whole=is_whole)
    at = _clock(head.text) if is_whole and len(head.text) < 64 else None
    if at is not None:
        taken.clock = at
        report(taken, path, FileKind.CLOCK, FileStatus.READ, records=1, size=len(head.data))
        return
    _note_times(head.text, taken)
    if kind in LINE_KINDS:
        taken.put_off[path] = kind
        return
    text, is_more = head.whole(limits.text_bytes)
    problem = head.content.problem or ("longer than is kept" if is_more else None)
    records = _take_words(path, kind, text, taken, is_cut=is_more)
    status = FileStatus.PARTLY_READ if problem else FileStatus.READ
    if isinstance(records, str):
        problem, records, status = records, 0, FileStatus.PARTLY_READ
    report(
        taken,
        path,
        _kube_kind(kind, path, taken),
        status,
        reason=problem,
        lines=len(text.splitlines()),
        records=records,
        size=head.content.size,
    )


def _clock(text: str) -> datetime | None:
    """Return the time that is all of a text, whole or without seconds; a number alone is none."""
    if text.strip().isdigit():
        return None
    stamp = parse_time(text, _NO_REFERENCE)
    return stamp.at if stamp is not None else as_datetime(text)


def _kube_kind(kind: FileKind, path: str, taken: Taken) -> FileKind:
    is_observed = any(one.file == path for one in taken.kube)
    return FileKind.KUBE_OBJECT if is_observed else kind


def _take_words(path: str, kind: FileKind, text: str, taken: Taken, *, is_cut: bool) -> int | str:
    """Take a text file; how many values it gave, or what was wrong with it."""
    if kind is FileKind.NOTE:
        notes = list(read_notes(text, path))
        taken.notes += notes
        return len(notes)
    if kind is FileKind.AWS_ERROR:
        return _take_error(path, text, taken)
    if kind is FileKind.MANIFEST:
        return _take_yaml(path, text, taken, is_cut=is_cut)
    keep_text(path, kind, text, taken, is_cut=is_cut)
    return 1


def _take_error(path: str, text: str, taken: Taken) -> int | str:
    found = read_aws_error(text)
    if found is None:
        return "an error that names no operation"
    code, operation, message = found
    services = services_of(operation)
    if len(services) != 1:
        return f"an error of {operation}, which {' and '.join(services) or 'no service'} has"
    error = CallError(code, clean(message))
    taken.calls.append(RecordedCall(f"{services[0]}:{operation}", {}, (error,), source=path))
    return 1


def _take_yaml(path: str, text: str, taken: Taken, *, is_cut: bool) -> int | str:
    try:
        documents = load_documents(text)
    except SpecSyntaxError as error:
        keep_text(path, FileKind.MANIFEST, text, taken, is_cut=is_cut)
        return f"no YAML: {error}"
    found = [one for document in documents for one in kube_objects(document, path)]
    if not found:
        keep_text(path, FileKind.MANIFEST, text, taken, is_cut=is_cut)
        return len(documents)
    keep_objects(found, text, taken)
    return len(found)


def _note_times(text: str, taken: Taken) -> None:
    """Remember the latest full time: the clock of a case that has none."""
    found: Iterable[datetime | None] = (
        as_datetime(match[0].replace(" ", "T")) for match in _FULL_TIME.finditer(text)
    )
    times = [at for at in found if at is not None]
    if times:
        taken.latest = max([*times, *([taken.latest] if taken.latest else [])])
