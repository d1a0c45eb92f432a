"""A drafted answer against its run: what counts as evidence, and the lint over it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from gpuvet.calculators.question import choose_mode
from gpuvet.case import Case
from gpuvet.case.tool_results import case_of_results
from gpuvet.checks.answer import ANSWER_RULES, Reading, findings_of
from gpuvet.checks.answer.backing import Backing
from gpuvet.checks.answer.language import is_english
from gpuvet.checks.answer.told import Told, is_report, told_by
from gpuvet.errors import UsageError
from gpuvet.model.answer import AnswerCheck, EvidenceRow
from gpuvet.model.check import Severity
from gpuvet.model.untyped import is_array, is_object, objects_at, text_at
from gpuvet.model.verdict import Verdict
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report, inputs_of
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked
from gpuvet.parse.draft import MOST_CHARACTERS, Draft
from gpuvet.report.answer import answer_markdown

MODES = ("incident", "audit", "preflight")
MOST_EVIDENCE = 16_000_000  # characters of one piece of evidence
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>|#!~])")
_SPAN = "365d"  # window in which a session's results may show a fault
_ACTING = frozenset({Verdict.REPLACE.value, Verdict.REBOOT.value})
_WRITTEN = ("markdown", "short")  # members of a report that are text for people


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a draft is held against."""

    reports: tuple[Mapping[str, Any], ...] = ()
    asked: tuple[str, ...] = ()  # the user's own words
    near: tuple[str, ...] = ()  # results of tools: any number there counts
    raw: tuple[str, ...] = ()  # logs and replies as a case holds them
    rows: tuple[EvidenceRow, ...] = ()

    def __add__(self, other: "Evidence") -> "Evidence":
        """Return both together."""
        return Evidence(
            reports=self.reports + other.reports,
            asked=self.asked + other.asked,
            near=self.near + other.near,
            raw=self.raw + other.raw,
            rows=self.rows + other.rows,
        )


class Held(NamedTuple):
    """Evidence made ready: what the reports say, and everything a figure is looked for in."""

    told: Told
    backing: Backing
    asked: str
    rows: tuple[EvidenceRow, ...]


def hold(evidence: Evidence) -> Held:
    """Return evidence made ready for any number of drafts.

    Raises:
        UsageError: There is none.
    """
    if not evidence.rows:
        raise UsageError("there is no evidence to hold the draft against; give a report or a case")
    told = told_by(evidence.reports)
    reports = (text for report in evidence.reports for text in _texts(report))
    backing = Backing(told, (*reports, *evidence.asked, *evidence.near), evidence.raw)
    return Held(told, backing, "\n".join(evidence.asked), evidence.rows)


# The one of `not_judged` that leaves the draft itself unread.
WORDING = (
    "wording: absence, labels, verdicts and claims are read in English only, which this is not"
)


def check_answer(draft: str, held: Held) -> AnswerCheck:
    """Return what is wrong with a draft.

    Raises:
        UsageError: The draft is empty or longer than an answer may be.
    """
    if not draft.strip():
        raise UsageError("the draft is empty; give the answer as it would be shown")
    if len(draft) > MOST_CHARACTERS:
        raise UsageError(
            f"the draft has {len(draft)} characters, an answer at most {MOST_CHARACTERS}: shorten"
        )
    found = findings_of(Reading(Draft(draft), held.told, held.backing, held.asked))
    errors = sum(f.severity is Severity.ERROR for f in found)
    check = AnswerCheck(
        clean=errors == 0,
        errors=errors,
        warnings=len(found) - errors,
        findings=found,
        evidence=held.rows,
        not_judged=(*_unread(draft), *_not_judged(held.told)),
        rules=len(ANSWER_RULES),
    )
    return check.model_copy(update={"markdown": answer_markdown(check)})


def of_report(report: Mapping[str, Any], name: str) -> Evidence:
    """Return a report of gpuvet, or a page of one, as evidence."""
    mode = text_at(report, "mode") or str(report.get("schema", "")).split("/")[1]
    size = len(json.dumps(report, default=str))
    row = EvidenceRow(what=f"{mode} report", of=name, characters=size)
    question = text_at(report, "question")
    return Evidence((report,), (question,) if question else (), rows=(row,))


def of_case(
    case: Case, asked: Asked, now: datetime, *, modes: Sequence[str] | None = MODES
) -> Evidence:
    """Return the reports of a case as evidence, that of the question's own mode last.

    Args:
        case: The case.
        asked: The window.
        now: The present, for a case without a clock.
        modes: Of `MODES`, those whose reports are made; None: the question's own.
    """
    own = choose_mode(case.meta.question, inputs_of(case), stated=case.meta.mode).mode.lower()
    makers: dict[str, Callable[[], BaseModel]] = {
        "incident": lambda: incident_report(case, asked, clock=now),
        "audit": lambda: audit_report(case, asked._replace(failure_at=None), clock=now),
        "preflight": lambda: preflight_report(case, RunWords(), clock=now),
    }
    found = Evidence()
    for mode in sorted(modes or (own,), key=lambda mode: mode == own):
        found += of_value(makers[mode](), "this case")
    return found


def of_value(report: BaseModel, name: str) -> Evidence:
    """Return a report just made as evidence."""
    return of_report(report.model_dump(mode="json", by_alias=True), name)


def of_text(text: str, name: str, *, what: str = "text") -> Evidence:
    """Return any text as evidence: results of other tools, a ticket, the question."""
    row = EvidenceRow(what=what, of=name, characters=len(text))
    return Evidence(near=(text[:MOST_EVIDENCE],), rows=(row,))


def of_question(text: str) -> Evidence:
    """Return what was asked as evidence: its figures count, and it says what is to be decided."""
    row = EvidenceRow(what="question", of="as asked", characters=len(text))
    return Evidence(asked=(text,), rows=(row,))


def of_raw(texts: Sequence[str], name: str) -> Evidence:
    """Return the logs and replies of a case as evidence."""
    row = EvidenceRow(what="case", of=name, characters=sum(map(len, texts)))
    return Evidence(raw=tuple(texts), rows=(row,))


def of_file(path: Path) -> Evidence:
    """Return a file as evidence: a report's JSON, a journal, else its text.

    Raises:
        UsageError: It cannot be read, or is too large.
    """
    try:
        size = path.stat().st_size
        if size > MOST_EVIDENCE:
            raise UsageError(
                f"{path} has {size} bytes, more than the {MOST_EVIDENCE} that are read"
            )
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"wanted evidence at {path}: {reason}; give a file that exists") from error
    return of_document(text, path.name)


def of_document(text: str, name: str) -> Evidence:
    """Return text as evidence, by what it is: a report's JSON, a journal, else text."""
    document = _json(text)
    if is_object(document) and is_report(document):
        return of_report(document, name)
    if is_array(document) and any(is_object(r) and "recordType" in r for r in document):
        return _of_journal(document, name)
    return of_text(text, name)


def _of_journal(records: Sequence[Any], name: str) -> Evidence:
    """Return a recorded session: what its tools answered, and nodes to act on by that."""
    results, asked = tuple(_results(records)), tuple(_asked(records))
    row = EvidenceRow(what="journal", of=name, characters=sum(map(len, results)))
    found = Evidence(asked=asked, near=results, rows=(row,))
    documents = [inner for result in results if is_object(inner := _json(result))]
    reports = [inner for inner in documents if is_report(inner)]
    for report in reports:
        found += of_report(report, name)
    return found if reports else found + _judged(results, _began(records))


def _judged(results: Sequence[str], now: datetime) -> Evidence:
    """Return the verdicts that the results of plain calls prove: REPLACE and REBOOT alone.

    What they did not read may be anything, so no milder verdict is taken from them.
    """
    case = case_of_results(results, now=now)
    if case is None:
        return Evidence()
    report = verdict_report(case, Asked(since=_SPAN), clock=now).model_dump(
        mode="json", by_alias=True
    )
    acting = [node for node in report["nodes"] if node["verdict"] in _ACTING]
    if not acting:
        return Evidence()
    kept = {"schema": report["schema"], "nodes": acting}
    row = EvidenceRow(what="verdicts", of="the results of the session", characters=0)
    return Evidence(({**kept, "verdicts": {n["node"]: n["verdict"] for n in acting}},), rows=(row,))


def _began(records: Sequence[Any]) -> datetime:
    times = (str(r["createdAt"]) for r in records if is_object(r) and r.get("createdAt"))
    found = datetime.fromisoformat(next(times, "2026-01-01T00:00:00+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _json(text: str) -> object:
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _blocks(records: Sequence[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the blocks of messages and tool summaries, each with its role."""
    for record in records:
        if is_object(record) and record.get("recordType") in {"message", "tool_summary"}:
            content = _json(str(record.get("content", "")))
            role = str(content.get("role")) if is_object(content) else ""
            for block in objects_at(content, "content"):
                yield role, block
            if is_object(content) and isinstance(content.get("content"), str):
                yield role, {"type": "text", "text": content["content"]}


def _results(records: Sequence[Any]) -> Iterator[str]:
    """Yield what the tools of a session answered."""
    for _, block in _blocks(records):
        if block.get("type") == "tool_result":
            yield from _result(block.get("content"))


def _asked(records: Sequence[Any]) -> Iterator[str]:
    """Yield what the user wrote."""
    for role, block in _blocks(records):
        if role == "user" and (text := text_at(block, "text")) is not None:
            yield text


def _result(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if is_array(content) else ():
        if is_object(block):
            for value in block.values():
                yield value if isinstance(value, str) else json.dumps(value, indent=1, default=str)


def _texts(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a report's members one a line, and its texts without their escapes."""
    body = {name: value for name, value in report.items() if name not in _WRITTEN}
    yield json.dumps(body, indent=1, ensure_ascii=False, default=str)
    for name in _WRITTEN:
        if (text := text_at(report, name)) is not None:
            yield _ESCAPED.sub(r"\1", text)


def _unread(draft: str) -> Iterator[str]:
    if not is_english(draft):
        yield WORDING


def _not_judged(told: Told) -> Iterator[str]:
    """Yield what could not be judged for want of evidence."""
    if not told.verdicts:
        yield "verdicts: no report of gpuvet among the evidence gives any"
    if told.label is None:
        yield "label and branch of the cause: no incident report among the evidence"
    if not told.ready:
        yield "ready or not: no preflight report among the evidence"
    if not told.hours:
        yield "hours of each node: no report with an hour grid among the evidence"
