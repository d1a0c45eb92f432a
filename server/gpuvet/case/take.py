"""The first pass over a case: every file recognised, small ones read, logs put off.

What each file gives is collected; nothing is concluded from several files yet.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from gpuvet.aws.door import LogLine
from gpuvet.aws.reads import services_of
from gpuvet.aws.recorded_calls import CallError, RecordedCall, read_calls
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import KubeObject, Reply
from gpuvet.case.container import WITHHELD, CaseFile
from gpuvet.case.content import Limits
from gpuvet.case.documents import Head, NotJson, open_head, parse_json
from gpuvet.case.kube import kube_objects, node_reading
from gpuvet.case.log_export import is_export, read_export
from gpuvet.case.notes import read_notes
from gpuvet.case.recognise import LINE_KINDS, read_aws_error, recognise_text
from gpuvet.case.replies import read_replies, recognise_reply
from gpuvet.case.scenario import is_scenario
from gpuvet.case.summaries import is_known, read_summary
from gpuvet.case.tables import is_bins, is_metrics, is_search, read_bins, read_search
from gpuvet.case.verdict_case import is_verdict_case
from gpuvet.errors import SpecSyntaxError, UnreadableCase
from gpuvet.model.case import (
    CaseHeader,
    FileKind,
    FileReport,
    FileStatus,
    LogSearch,
    Note,
    OperatorFacts,
    TextFile,
)
from gpuvet.model.coverage import StreamCounts
from gpuvet.model.evidence import Window
from gpuvet.model.untyped import is_array, is_object, objects_at, text_at
from gpuvet.parse.times import parse_time
from gpuvet.parse.untrusted import clean, mask
from gpuvet.parse.yaml_text import load_documents

Json = Mapping[str, Any]
_HEADER_KEYS = frozenset(CaseHeader.model_fields)
_FULL_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
# A file whose only content is a time is the case's clock; no reference is needed for full dates.
_NO_REFERENCE = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Taken:
    """What the files of a case gave so far."""

    reports: dict[str, FileReport] = field(default_factory=dict[str, FileReport])
    put_off: dict[str, FileKind] = field(default_factory=dict[str, FileKind])
    header: CaseHeader | None = None
    clock: datetime | None = None
    facts: list[OperatorFacts] = field(default_factory=list[OperatorFacts])
    replies: list[Reply] = field(default_factory=list[Reply])
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])
    counts: list[StreamCounts] = field(default_factory=list[StreamCounts])
    windows: list[Window] = field(default_factory=list[Window])
    searches: list[LogSearch] = field(default_factory=list[LogSearch])
    lines: list[LogLine] = field(default_factory=list[LogLine])
    metrics: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    notes: list[Note] = field(default_factory=list[Note])
    texts: list[TextFile] = field(default_factory=list[TextFile])
    kube: list[KubeObject] = field(default_factory=list[KubeObject])
    stores: list[Json] = field(default_factory=list[Json])
    latest: datetime | None = None  # the latest time that any log or note writes in full


def take_file(file: CaseFile, taken: Taken, limits: Limits) -> None:
    """Recognise one file and take what it gives; logs are put off to the second pass.

    Raises:
        UnreadableCase: Our own case.json or operator_facts.json breaks its format.
    """
    if file.content is None:
        is_answer = file.path.rpartition("/")[2] == WITHHELD
        kind = FileKind.WITHHELD if is_answer else FileKind.UNKNOWN
        _report(taken, file.path, kind, FileStatus.NOT_UNDERSTOOD, reason=file.refused)
        return
    head = open_head(file.content)
    if not head.data:
        problem = file.content.problem
        status = FileStatus.PARTLY_READ if problem else FileStatus.READ
        _report(taken, file.path, FileKind.UNKNOWN, status, reason=problem or "empty")
    elif head.is_binary:
        _report(taken, file.path, FileKind.UNKNOWN, FileStatus.NOT_UNDERSTOOD, reason=_binary(head))
    elif head.text.lstrip()[:1] in {"{", "["} and _take_json(file.path, head, taken, limits):
        return
    else:
        _take_text(file.path, head, taken, limits)


def _binary(head: Head) -> str:
    if head.data.startswith(b"PK\x03\x04") or head.data[257:262] == b"ustar":
        return "an archive inside the case; unpack it beside the others"
    if head.data.startswith(b"\x28\xb5\x2f\xfd"):
        return "packed with zstd; unpack it first"
    return "binary, of no kind we read"


def _report(
    taken: Taken,
    path: str,
    kind: FileKind,
    status: FileStatus,
    *,
    reason: str | None = None,
    lines: int = 0,
    records: int = 0,
    size: int = 0,
) -> None:
    taken.reports[path] = FileReport(
        path=path,
        kind=kind,
        status=status,
        reason=reason,
        lines=lines,
        records=records,
        size=size,
    )


def _take_json(path: str, head: Head, taken: Taken, limits: Limits) -> bool:
    """Take one JSON document; False where the file is lines of JSON, or no JSON at all."""
    text, is_more = head.whole(limits.document_bytes)
    if is_more:
        return False
    try:
        document = parse_json(text)
    except NotJson as error:
        is_one_document = text.lstrip().startswith(("{\n", "{\r", "[\n", "[\r", "{}", "[]", "[{"))
        has_lines = sum(line.lstrip().startswith("{") for line in text.splitlines()[:50]) > 1
        if has_lines and not is_one_document:
            return False
        fault = f"begins like JSON and is none: {clean(str(error))}"
        reason = f"{head.content.problem}; {fault}" if head.content.problem else fault
        if recognise_text(head.text, is_whole=True) in LINE_KINDS:
            return False
        _report(taken, path, FileKind.UNKNOWN, FileStatus.NOT_UNDERSTOOD, reason=reason)
        return True
    if _is_one_record(document):
        return False
    kind, records, problem = _document(path, document, taken, text)
    status = FileStatus.READ
    if problem or head.content.problem:
        status = FileStatus.PARTLY_READ if records else FileStatus.NOT_UNDERSTOOD
    _report(
        taken,
        path,
        kind,
        status,
        reason=problem or head.content.problem,
        records=records,
        size=head.content.size,
    )
    return True


def _is_one_record(document: object) -> bool:
    """Say whether a document is a log of one line: a journal's, an agent's or a shipper's."""
    if not is_object(document):
        return False
    marks = {"MESSAGE", "HealthMonitoringAgentDetectionEvent", "log", "event-type"}
    return any(isinstance(document.get(mark), str) for mark in marks)


def _document(
    path: str, document: object, taken: Taken, text: str
) -> tuple[FileKind, int, str | None]:
    """Take what a document holds; its kind, how many values it gave, and what was wrong."""
    if not is_object(document):
        return _summary(path, document, taken)
    for is_it, take in _DOCUMENTS:
        if is_it(document):
            return take(path, document, taken, text)
    found = recognise_reply(document, name=path)
    if found.operations:
        replies = list(read_replies(document, found.operations, path))
        taken.replies += replies
        return FileKind.AWS_REPLY, len(replies), None
    if found.problem:
        return FileKind.AWS_REPLY, 0, found.problem
    return _summary(path, document, taken)


def _summary(path: str, document: object, taken: Taken) -> tuple[FileKind, int, str | None]:
    facts = read_summary(document, path)
    if facts is None:
        return FileKind.UNKNOWN, 0, "an empty document"
    taken.facts.append(facts)
    records = sum(len(one.leaves) for one in facts.summaries)
    problem = None if is_known(facts) else "a table of no known form; kept as names and values"
    return FileKind.SUMMARY, records, problem


def _is_header(document: Json) -> bool:
    if document.get("format") == "gpuvet-case/1":
        return True
    own = {"question", "now", "window", "cluster", "orchestrator", "failure_at"}
    return bool(own & document.keys()) and document.keys() <= _HEADER_KEYS


def _take_header(
    path: str, _document: Json, taken: Taken, text: str
) -> tuple[FileKind, int, str | None]:
    try:
        header = CaseHeader.model_validate_json(text)
    except ValidationError as error:
        msg = (
            f"{path} is no case.json of ours: {_first_fault(error)}; see references/case-format.md"
        )
        raise UnreadableCase(msg) from error
    if taken.header is not None:
        msg = f"{path} is a second case.json; a case has one question, one clock and one window"
        raise UnreadableCase(msg)
    taken.header = header
    return FileKind.CASE, 1, None


def _take_facts(
    path: str, _document: Json, taken: Taken, text: str
) -> tuple[FileKind, int, str | None]:
    try:
        facts = OperatorFacts.model_validate_json(text)
    except ValidationError as error:
        msg = f"{path} breaks the form of operator facts: {_first_fault(error)}; see its schema"
        raise UnreadableCase(msg) from error
    taken.facts.append(facts)
    return FileKind.OPERATOR_FACTS, len(facts.nodes) + len(facts.bus_history), None


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{clean(place)}: {first['msg']}"


def _take_calls(
    path: str, document: Json, taken: Taken, _text: str
) -> tuple[FileKind, int, str | None]:
    try:
        calls = read_calls(objects_at(document, "calls"), path)
    except (KeyError, TypeError, ValueError) as error:
        return FileKind.RECORDED_CALLS, 0, clean(str(error))
    taken.calls += calls
    if "log_store" in document or "metric_store" in document:
        taken.stores.append(document)
    return FileKind.RECORDED_CALLS, len(calls), None


def _take_bins(
    path: str, document: Json, taken: Taken, _text: str
) -> tuple[FileKind, int, str | None]:
    bins = read_bins(document, path)
    taken.counts += bins.counts
    if bins.window is not None:
        taken.windows.append(bins.window)
    left_out = len(objects_at(document, "bins")) - len(bins.counts)
    problem = f"{left_out} streams without a node or a name" if left_out else None
    return FileKind.HOURLY_BINS, len(bins.counts), problem


def _take_search(
    path: str, document: Json, taken: Taken, _text: str
) -> tuple[FileKind, int, str | None]:
    found = read_search(document, path)
    taken.searches.append(found.search)
    taken.lines += found.lines
    if found.search.window is not None:
        taken.windows.append(found.search.window)
    left_out = found.search.rows - len(found.lines)
    problem = f"{left_out} rows without a message" if left_out else None
    return FileKind.SEARCH, 1 + len(found.lines), problem


def _take_metrics(
    path: str, document: Json, taken: Taken, _text: str
) -> tuple[FileKind, int, str | None]:
    taken.metrics.append((path, document))
    return FileKind.METRICS, len(objects_at(document, "series")), None


def _take_export(
    path: str, document: Json, taken: Taken, _text: str
) -> tuple[FileKind, int, str | None]:
    export = read_export(document, path)
    taken.lines += export.lines
    return FileKind.LOG_EXPORT, len(export.lines), export.problem


def _take_kube(
    path: str, document: Json, taken: Taken, text: str
) -> tuple[FileKind, int, str | None]:
    found = list(kube_objects(document, path))
    if not found:
        _keep_text(path, FileKind.MANIFEST, text, taken, is_cut=False)
        return FileKind.MANIFEST, 1, None
    _keep_objects(found, text, taken)
    return FileKind.KUBE_OBJECT, len(found), None


def _keep_objects(found: Sequence[KubeObject], text: str, taken: Taken) -> None:
    taken.kube += found
    readings = (node_reading(one, text) for one in found if one.kind == "Node")
    taken.facts.append(OperatorFacts(nodes=tuple(one for one in readings if one is not None)))


def _take_foreign(
    _path: str, _document: Json, _taken: Taken, _text: str
) -> tuple[FileKind, int, str | None]:
    return FileKind.UNKNOWN, 0, "a case of its own; give this file alone as the case"


def _is_kube(document: Json) -> bool:
    return text_at(document, "kind") is not None and text_at(document, "apiVersion") is not None


_DOCUMENTS = (
    (lambda d: is_scenario(d) or is_verdict_case(d), _take_foreign),
    (lambda d: d.get("format") == "gpuvet-operator-facts/1", _take_facts),
    (_is_header, _take_header),
    (lambda d: is_array(d.get("calls")), _take_calls),
    (is_bins, _take_bins),
    (is_search, _take_search),
    (is_metrics, _take_metrics),
    (is_export, _take_export),
    (_is_kube, _take_kube),
)


def _take_text(path: str, head: Head, taken: Taken, limits: Limits) -> None:
    is_whole = not head.rest.peek(1)
    kind = recognise_text(head.text, is_whole=is_whole)
    at = parse_time(head.text, _NO_REFERENCE) if is_whole and len(head.text) < 64 else None
    if at is not None:
        taken.clock = at.at
        _report(taken, path, FileKind.CLOCK, FileStatus.READ, records=1, size=len(head.data))
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
    _report(
        taken,
        path,
        _kube_kind(kind, path, taken),
        status,
        reason=problem,
        lines=len(text.splitlines()),
        records=records,
        size=head.content.size,
    )


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
    _keep_text(path, kind, text, taken, is_cut=is_cut)
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
        _keep_text(path, FileKind.MANIFEST, text, taken, is_cut=is_cut)
        return f"no YAML: {error}"
    found = [one for document in documents for one in kube_objects(document, path)]
    if not found:
        _keep_text(path, FileKind.MANIFEST, text, taken, is_cut=is_cut)
        return len(documents)
    _keep_objects(found, text, taken)
    return len(found)


def _keep_text(path: str, kind: FileKind, text: str, taken: Taken, *, is_cut: bool) -> None:
    taken.texts.append(TextFile(file=path, kind=kind, text=mask(text), cut=is_cut))


def _note_times(text: str, taken: Taken) -> None:
    """Remember the latest full time: the clock of a case that has none."""
    found: Iterable[datetime | None] = (
        as_datetime(match[0].replace(" ", "T")) for match in _FULL_TIME.finditer(text)
    )
    times = [at for at in found if at is not None]
    if times:
        taken.latest = max([*times, *([taken.latest] if taken.latest else [])])
