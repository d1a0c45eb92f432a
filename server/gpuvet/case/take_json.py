"""JSON documents of a case: what each one is by its members, and what it gives."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from gpuvet.aws.door import LogLine
from gpuvet.aws.prometheus_answers import page_of
from gpuvet.aws.prometheus_held import HeldAnswer, is_answer
from gpuvet.aws.recorded_calls import read_calls
from gpuvet.case.container import HEADER
from gpuvet.case.content import Limits
from gpuvet.case.documents import Head, NotJson, parse_json
from gpuvet.case.held_logs import UNATTRIBUTED
from gpuvet.case.kube import kube_objects
from gpuvet.case.log_export import is_export, read_export
from gpuvet.case.recognise import LINE_KINDS, recognise_text
from gpuvet.case.replies import read_replies, recognise_reply
from gpuvet.case.scenario import is_scenario
from gpuvet.case.summaries import is_known, read_summary
from gpuvet.case.tables import is_bins, is_metrics, is_search, read_bins, read_search
from gpuvet.case.taken import Taken, keep_objects, keep_text, report
from gpuvet.case.verdict_case import is_verdict_case
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import CaseHeader, FileKind, FileStatus, OperatorFacts
from gpuvet.model.untyped import is_array, is_object, objects_at, text_at
from gpuvet.parse.flight_recorder import is_flight_dump, read_flight_dump
from gpuvet.parse.untrusted import clean

Json = Mapping[str, Any]
_HEADER_KEYS = frozenset(CaseHeader.model_fields)


class Given(NamedTuple):
    """What a document came to."""

    kind: FileKind
    records: int
    problem: str | None = None
    is_loss: bool = False  # what is missing may be any node's lines


def take_json(path: str, head: Head, taken: Taken, limits: Limits) -> bool:
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
        report(taken, path, FileKind.UNKNOWN, FileStatus.NOT_UNDERSTOOD, reason=reason)
        return True
    if _is_one_record(document):
        return False
    kind, records, problem, is_loss = _document(path, document, taken, text)
    status = FileStatus.READ
    if problem or head.content.problem:
        status = FileStatus.PARTLY_READ if records else FileStatus.NOT_UNDERSTOOD
    report(
        taken,
        path,
        kind,
        status,
        reason=problem or head.content.problem,
        records=records,
        size=head.content.size,
        is_loss=is_loss,
    )
    return True


def _is_one_record(document: object) -> bool:
    """Say whether a document is a log of one line: a journal's, an agent's or a shipper's."""
    if not is_object(document):
        return False
    if "MESSAGE" in document and ("__REALTIME_TIMESTAMP" in document or "_TRANSPORT" in document):
        return True  # its message may also be an array, or left out
    marks = {"MESSAGE", "HealthMonitoringAgentDetectionEvent", "log", "event-type"}
    return any(isinstance(document.get(mark), str) for mark in marks)


def _document(path: str, document: object, taken: Taken, text: str) -> Given:
    """Take what a document holds; its kind, how many values it gave, and what was wrong."""
    if not is_object(document):
        if _delivered(document):
            return _take_delivered(path, document, taken, text)
        return _summary(path, document, taken)
    for is_it, take in _DOCUMENTS:
        if is_it(document):
            return take(path, document, taken, text)
    found = recognise_reply(document, name=path)
    if found.operations:
        replies = list(read_replies(document, found.operations, path))
        taken.replies += replies
        return Given(FileKind.AWS_REPLY, len(replies), None)
    if found.problem:
        return Given(FileKind.AWS_REPLY, 0, found.problem)
    return _summary(path, document, taken)


def _delivered(document: object) -> list[Json]:
    """Return the EventBridge events a document is, alone, in an array or under `events`."""
    if not is_object(document):
        found = document if is_array(document) else ()
    else:
        found = [document] if "detail-type" in document else objects_at(document, "events")
    events = [one for one in found if is_object(one)]
    return events if events and all("detail-type" in one for one in events) else []


def _take_delivered(path: str, document: object, taken: Taken, _text: str) -> Given:
    events = _delivered(document)
    for place, event in enumerate(events, start=1):
        text = json.dumps(event, sort_keys=True)
        taken.lines.append(
            LogLine(node=UNATTRIBUTED, group=None, stream=path, line=place, text=text)
        )
    return Given(FileKind.LOG_EXPORT, len(events))


def _take_flight(path: str, document: Json, taken: Taken, _text: str) -> Given:
    dump = read_flight_dump(document, path)
    taken.flight_dumps += [dump] if dump else []
    return Given(FileKind.FLIGHT_RECORDER, dump.entries if dump else 0)


def _summary(path: str, document: object, taken: Taken) -> Given:
    facts = read_summary(document, path)
    if facts is None:
        return Given(FileKind.UNKNOWN, 0, "an empty document")
    taken.facts.append(facts)
    records = sum(len(one.leaves) for one in facts.summaries)
    problem = None if is_known(facts) else "a table of no known form; kept as names and values"
    return Given(FileKind.SUMMARY, records, problem)


def _is_header(document: Json) -> bool:
    if str(document.get("format")).startswith("gpuvet-case/"):
        return True  # of another version: refused by its form
    own = {"question", "now", "window", "cluster", "orchestrator", "failure_at"}
    return bool(own & document.keys()) and document.keys() <= _HEADER_KEYS


def is_own_header(path: str) -> bool:
    """Say whether a file's name and place make it the case's own case.json."""
    return path.rpartition("/")[2] == HEADER and path.count("/") <= 1


def take_own_header(path: str, head: Head, taken: Taken, limits: Limits) -> None:
    """Take case.json; a broken one would otherwise be no question, no clock and no window.

    Raises:
        UnreadableCase: It is not the JSON object that case-format.md describes.
    """
    text, is_more = head.whole(limits.text_bytes)
    if is_more or head.content.problem:
        raise _broken_header(path, head.content.problem or "longer than a case.json may be")
    try:
        document = parse_json(text)
    except NotJson as error:
        raise _broken_header(path, f"no JSON: {clean(str(error))}") from error
    if not is_object(document):
        kind = "an array" if is_array(document) else "a single value"
        raise _broken_header(path, f"{kind}, no object")
    if _is_foreign(document):
        raise _broken_header(path, "a case of its own; give this file alone as the case")
    kind, records, *_ = _take_header(path, document, taken, text)
    report(taken, path, kind, FileStatus.READ, records=records, size=head.content.size)


def _broken_header(path: str, found: str) -> UnreadableCase:
    return UnreadableCase(
        f"{path} is no case.json of ours: wanted an object with format gpuvet-case/1 (see "
        f"references/case-format.md); there is {found}; correct it or take it away"
    )


def _take_header(path: str, _document: Json, taken: Taken, text: str) -> Given:
    try:
        header = CaseHeader.model_validate_json(text)
    except ValidationError as error:
        raise _broken_header(path, _first_fault(error)) from error
    if taken.header is not None:
        msg = f"{path} is a second case.json; a case has one question, one clock and one window"
        raise UnreadableCase(msg)
    taken.header = header
    return Given(FileKind.CASE, 1, None)


def _take_facts(path: str, _document: Json, taken: Taken, text: str) -> Given:
    try:
        facts = OperatorFacts.model_validate_json(text)
    except ValidationError as error:
        msg = f"{path} breaks the form of operator facts: {_first_fault(error)}; see its schema"
        raise UnreadableCase(msg) from error
    taken.facts.append(facts)
    return Given(FileKind.OPERATOR_FACTS, len(facts.nodes) + len(facts.bus_history), None)


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{clean(place)}: {first['msg']}"


def _take_calls(path: str, document: Json, taken: Taken, _text: str) -> Given:
    try:
        calls = read_calls(objects_at(document, "calls"), path)
    except (KeyError, TypeError, ValueError) as error:
        return Given(FileKind.RECORDED_CALLS, 0, clean(str(error)))
    taken.calls += calls
    if "log_store" in document or "metric_store" in document:
        taken.stores.append(document)
    return Given(FileKind.RECORDED_CALLS, len(calls), None)


def _take_bins(path: str, document: Json, taken: Taken, _text: str) -> Given:
    bins = read_bins(document, path)
    taken.counts += bins.counts
    if bins.window is not None:
        taken.windows.append(bins.window)
    left_out = len(objects_at(document, "bins")) - len(bins.counts)
    problem = f"{left_out} streams without a node or a name" if left_out else None
    return Given(FileKind.HOURLY_BINS, len(bins.counts), problem)


def _take_search(path: str, document: Json, taken: Taken, _text: str) -> Given:
    found = read_search(document, path)
    taken.searches.append(found.search)
    taken.lines += found.lines
    if found.search.window is not None:
        taken.windows.append(found.search.window)
    left_out = found.search.rows - len(found.lines)
    problem = f"{left_out} rows without a message" if left_out else None
    return Given(FileKind.SEARCH, 1 + len(found.lines), problem)


def _take_metrics(path: str, document: Json, taken: Taken, _text: str) -> Given:
    taken.metrics.append((path, document))
    return Given(FileKind.METRICS, len(objects_at(document, "series")), None)


def _take_export(path: str, document: Json, taken: Taken, _text: str) -> Given:
    export = read_export(document, path)
    taken.lines += export.lines
    nobodys = any(line.node == UNATTRIBUTED for line in export.lines)
    is_loss = export.problem is not None and nobodys
    return Given(FileKind.LOG_EXPORT, len(export.lines), export.problem, is_loss)


def _take_answer(path: str, document: Json, taken: Taken, _text: str) -> Given:
    page = page_of(document, "result") or {}
    taken.prometheus.append(HeldAnswer(path, page))
    count = len(objects_at(page, "result"))
    return Given(FileKind.PROMETHEUS, count, "the server warned" if "warnings" in page else None)


def _take_kube(path: str, document: Json, taken: Taken, text: str) -> Given:
    found = list(kube_objects(document, path))
    if not found:
        keep_text(path, FileKind.MANIFEST, text, taken, is_cut=False)
        return Given(FileKind.MANIFEST, 1, None)
    keep_objects(found, text, taken)
    return Given(FileKind.KUBE_OBJECT, len(found), None)


def _take_foreign(_path: str, _document: Json, _taken: Taken, _text: str) -> Given:
    return Given(FileKind.UNKNOWN, 0, "a case of its own; give this file alone as the case")


def _is_foreign(document: Json) -> bool:
    return is_scenario(document) or is_verdict_case(document)


def _is_facts(document: Json) -> bool:
    return str(document.get("format")).startswith("gpuvet-operator-facts/")


def _has_calls(document: Json) -> bool:
    return is_array(document.get("calls"))


def _is_kube(document: Json) -> bool:
    return text_at(document, "kind") is not None and text_at(document, "apiVersion") is not None


_DOCUMENTS: tuple[tuple[Callable[[Json], bool], Callable[[str, Json, Taken, str], Given]], ...] = (
    (_is_foreign, _take_foreign),
    (_is_facts, _take_facts),
    (_is_header, _take_header),
    (_has_calls, _take_calls),
    (is_bins, _take_bins),
    (is_search, _take_search),
    (is_metrics, _take_metrics),
    (is_answer, _take_answer),
    (is_export, _take_export),
    (is_flight_dump, _take_flight),
    (lambda document: bool(_delivered(document)), _take_delivered),
    (_is_kube, _take_kube),
)
