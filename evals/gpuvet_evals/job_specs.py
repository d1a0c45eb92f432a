"""Job specs of a run: found in the answer, in tool results and among the eval's files. Pure.

A spec is a HyperPodPyTorchJob or a bare logMonitoringConfiguration, as YAML or JSON.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import cast

from gpuvet.errors import SpecSyntaxError
from gpuvet.model.base import Value
from gpuvet.parse.yaml_text import load_documents
from gpuvet_evals.calls import ToolCall
from gpuvet_evals.journal import mapping

MAX_SPECS = 50  # of one run; the rest is not looked at
MAX_SPEC_CHARACTERS = 1024 * 1024
MARKS = ("HyperPodPyTorchJob", "logMonitoringConfiguration", "logPattern")
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_LANGUAGES = frozenset({"", "json", "jsonc", "k8s", "manifest", "yaml", "yml"})
_FIRST_LINE = re.compile(
    r"^(?:---|apiVersion:|kind:|logMonitoringConfiguration:|- name:)", re.MULTILINE
)
_DEPTH = 12


class SpecSource(StrEnum):
    """Where a spec stands."""

    ANSWER = "answer"
    TOOL = "tool"
    ATTACHED = "attached"


class FoundSpec(Value):
    """One spec as written."""

    source: SpecSource
    where: str  # a record id, or a file's name
    text: str


def has_marks(text: str) -> bool:
    """Whether a text may hold a spec: cheap, and never wrong about a spec that is there."""
    return any(mark in text for mark in MARKS)


def specs_in_answer(answer: str, record_id: str | None) -> tuple[FoundSpec, ...]:
    """Return the specs an answer shows in fences."""
    if not has_marks(answer):
        return ()
    found = (text for text in _fenced(answer) if has_marks(text))
    return tuple(
        FoundSpec(source=SpecSource.ANSWER, where=record_id or "", text=text)
        for text in list(found)[:MAX_SPECS]
    )


def specs_in_results(calls: Sequence[ToolCall]) -> tuple[FoundSpec, ...]:
    """Return the specs that tools gave back, each text once, in order."""
    found: dict[str, FoundSpec] = {}
    for call in calls:
        for result in call.results:
            if not has_marks(result.record.content):
                continue
            for text in _in_result(result.text):
                where = result.record.record_id
                found.setdefault(text, FoundSpec(source=SpecSource.TOOL, where=where, text=text))
    return tuple(found.values())[:MAX_SPECS]


def specs_attached(files: Mapping[str, str]) -> tuple[FoundSpec, ...]:
    """Return the eval's files that are specs."""
    return tuple(
        FoundSpec(source=SpecSource.ATTACHED, where=name, text=text)
        for name, text in files.items()
        if has_marks(text) and not name.endswith((".log", ".txt", ".md"))
    )


def handed_out(answered: Sequence[FoundSpec], known: Sequence[FoundSpec]) -> tuple[FoundSpec, ...]:
    """Return the specs an answer hands out: all but quotes that a changed spec follows.

    Args:
        answered: Specs of the answer, in order.
        known: Specs the run had before: tool results and attached files.
    """
    before = {_meaning(spec.text) for spec in known}
    quotes = [_meaning(spec.text) in before for spec in answered]
    last_changed = max((i for i, quote in enumerate(quotes) if not quote), default=-1)
    return tuple(spec for i, spec in enumerate(answered) if not quotes[i] or i > last_changed)


def _fenced(text: str) -> Iterator[str]:
    for match in _FENCE.finditer(text[: 4 * MAX_SPEC_CHARACTERS]):
        if match[2].lower() in _LANGUAGES:
            yield textwrap.dedent(match[3])


def _in_result(text: str) -> Iterator[str]:
    """Yield the specs of a tool's result: JSON objects, fences, or a manifest as it is."""
    if text.lstrip().startswith(("{", "[")):
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        yield from (json.dumps(found, indent=1) for found in _objects(value, 0))
        if value is not None:
            return
    fenced = [block for block in _fenced(text) if has_marks(block)]
    if fenced:
        yield from fenced
    elif (first := _FIRST_LINE.search(text)) and len(text) <= MAX_SPEC_CHARACTERS:
        yield text[first.start() :]


def _objects(value: object, depth: int) -> Iterator[object]:
    """Yield the outermost objects of a JSON value that are specs."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        if has_marks(value):
            yield from _parsed(value, depth)
        return
    fields = mapping(value)
    if fields.get("kind") == "HyperPodPyTorchJob" or "logMonitoringConfiguration" in fields:
        yield fields
        return
    for item in (*fields.values(), *_items(value)):
        yield from _objects(item, depth + 1)


def _items(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


def _parsed(text: str, depth: int) -> Iterator[object]:
    """Yield the specs of a text inside JSON: JSON again, or YAML."""
    try:
        documents: Sequence[object] = load_documents(text)
    except SpecSyntaxError:
        return
    for document in documents:
        plain: object = json.loads(json.dumps(document, default=_jsonable))
        yield from _objects(plain, depth + 1)


def _jsonable(value: object) -> object:
    """Return read-only mappings, which the JSON encoder does not know, as objects."""
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else str(value)


def _meaning(text: str) -> str:
    """Return what a spec says, without layout and comments; its words where it is no YAML."""
    try:
        documents = load_documents(text)
        return json.dumps(documents, default=_jsonable, sort_keys=True)
    except (SpecSyntaxError, ValueError):
        return " ".join(text.split())
