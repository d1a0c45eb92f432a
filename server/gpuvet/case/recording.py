"""A recorded question as a case: asked again of what was read, with the clock of then."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile, is_zipfile

from pydantic import ValidationError

from gpuvet.aws.door import Page
from gpuvet.aws.recorded import canonical
from gpuvet.case.case import Case
from gpuvet.case.container import CaseFile, Container
from gpuvet.case.documents import NotJson, open_head, parse_json
from gpuvet.case.live_case import live_case
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import CaseForm
from gpuvet.model.evidence import Envelope
from gpuvet.model.untyped import is_object
from gpuvet.record.archive import READINGS
from gpuvet.record.codec import decoded
from gpuvet.record.heading import FORM, HEADING, Heading
from gpuvet.record.replay import Replayed
from gpuvet.record.tape import Reading


class Recorded(NamedTuple):
    """A recording as read."""

    heading: Heading
    readings: tuple[Reading, ...]


def read_recording(container: Container) -> Recorded | None:
    """Return the recording that a folder or a zip is; None where it is none.

    Raises:
        UnreadableCase: It begins as a recording and cannot be read as one.
    """
    if not _may_be_one(container):
        return None
    heading = _heading(container)
    return None if heading is None else Recorded(heading, _readings(container, heading))


def recorded_case(
    recorded: Recorded, *, question: str | None = None, has_window: bool = True
) -> Case:
    """Return a recording as the live case it was.

    Args:
        recorded: As read.
        question: The user's words; they replace those of the recording.
        has_window: The window and the failure that were asked about are the case's own; False
            where whoever asks gives them again.

    Raises:
        UsageError: As the account's own answer led to one.
    """
    heading = recorded.heading
    door = Replayed(
        recorded.readings, now=heading.now, account=heading.account, region=heading.region
    )
    case = live_case(
        door,
        heading.target,
        now=heading.now,
        region=heading.region,
        account=heading.account,
        question=question or heading.question,
        max_scan_gb=heading.max_scan_gb,
    )
    if not has_window:
        return case
    asked: dict[str, Any] = {"failure_at": heading.failure_at, "failure_measured": False}
    if heading.window is not None:
        asked |= {"window": heading.window, "window_source": "as asked"}
    used = asked if heading.failure_at or heading.window else {}
    return replace(case, meta=case.meta.model_copy(update=used))


def _may_be_one(container: Container) -> bool:
    """Say whether there is a heading, without unpacking an archive that may be large."""
    if container.form is CaseForm.FOLDER:
        return (container.path / HEADING).is_file()
    if container.form is not CaseForm.ARCHIVE or not is_zipfile(container.path):
        return False
    try:
        with ZipFile(container.path) as archive:
            return HEADING in archive.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False  # whoever reads it as a case says what is wrong


def _heading(container: Container) -> Heading | None:
    for file in container.files():
        if file.path != HEADING:
            continue
        text, document = _read(container, file)
        if not is_object(document) or document.get("format") != FORM:
            return None
        try:
            return Heading.model_validate_json(text)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise _unreadable(container, f"{HEADING} is wrong at {where or 'its form'}") from error
    return None


def _readings(container: Container, heading: Heading) -> tuple[Reading, ...]:
    documents: dict[str, Any] = {}
    for file in container.files():
        if file.path.startswith(f"{READINGS}/"):
            documents[file.path] = _read(container, file)[1]
        elif file.is_loss:
            raise _unreadable(container, file.refused or "it is cut short")
    rows = sorted(path for path in documents if ".page" not in path)
    if len(rows) != heading.readings:
        raise _unreadable(container, f"{len(rows)} of {heading.readings} readings are there")
    found: list[tuple[int, Reading]] = []
    for path in rows:
        try:
            found.append(_reading(documents, path))
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(container, f"{path} is no reading: {error}") from error
    found.sort(key=lambda one: one[0])
    return tuple(reading for _, reading in found)


def _reading(documents: Mapping[str, Any], path: str) -> tuple[int, Reading]:
    row: Mapping[str, Any] = documents[path]
    params = decoded(row["params"])
    answer = Envelope[tuple[Page, ...]].model_validate_json(json.dumps(row["answer"]))
    pages: tuple[Page, ...] | None = None
    if row["has_value"]:
        stem = path.removesuffix(".json")
        names = (f"{stem}.page{number:03d}.json" for number in range(1, answer.pages + 1))
        pages = tuple(_page(documents[name]) for name in names)
    whole = answer.model_copy(update={"value": pages, "params": canonical(params)})
    words = (row["kind"], row["operation"], row["region"] or "")
    if not all(isinstance(word, str) for word in words) or not is_object(params):
        raise TypeError("door, operation, region and parameters that are such")
    reading = Reading(row["kind"], row["operation"], params, row["region"], whole)
    return int(row["turn"]), reading


def _page(document: object) -> Page:
    page: object = decoded(document)
    if not is_object(page):
        raise TypeError("a page that is an object")
    return page


def _read(container: Container, file: CaseFile) -> tuple[str, object]:
    if file.content is None:
        raise _unreadable(container, f"{file.path} is not there: {file.refused}")
    text, is_more = open_head(file.content).whole(container.limits.document_bytes)
    problem = file.content.problem or ("it is too large" if is_more else None)
    if problem is not None:
        raise _unreadable(container, f"{file.path}: {problem}")
    try:
        return text, parse_json(text)
    except NotJson as error:
        raise _unreadable(container, f"{file.path}: {error}") from error


def _unreadable(container: Container, why: str) -> UnreadableCase:
    return UnreadableCase(f"{container.path} is a recording that cannot be read: {why}")
