"""journal_records.json as a Journal: its records in file order; nothing judged. Pure.

Record types and shapes: references/evals.md. Unknown types are kept and counted, never dropped.
A journal holds up to thousands of records and a suite a thousand journals, so records are plain
slotted dataclasses whose content is parsed when first asked for.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from gpuvet_evals.errors import UnreadableJournal

MAX_JOURNAL_BYTES = 64 * 1024 * 1024  # the largest published journal has 1.5 MB
MAX_RECORDS = 200_000
KNOWN_TYPES = frozenset(
    {
        "message",
        "chat_title",
        "utilization",
        "tool_summary",
        "final_response",
        "ui_investigation_summary",
        "symptom",
        "finding",
        "mitigation_summary",
        "mitigation_summary_md",
        "investigation_summary",
        "investigation_summary_md",
    }
)
INVESTIGATION_TYPES = frozenset(
    {
        "ui_investigation_summary",
        "symptom",
        "finding",
        "investigation_summary",
        "investigation_summary_md",
        "mitigation_summary",
        "mitigation_summary_md",
    }
)
_decoder = json.JSONDecoder()
_HEAD = 160  # characters in which id and role stand
_SUBAGENT = ".subagent."  # <main execution>.subagent.<task id>


@dataclass(slots=True)
class Record:
    """One record; `content` is the text as written, `body` what it says."""

    index: int
    record_id: str
    execution_id: str
    kind: str
    created_at: str
    content: str
    _body: Mapping[str, Any] | None = field(default=None, repr=False)
    _role: str | None = field(default=None, repr=False)

    @property
    def body(self) -> Mapping[str, Any]:
        """The parsed content; empty for raw Markdown and for anything that is no JSON object."""
        if self._body is None:
            self._body = _object(self.content)
        return self._body

    @property
    def time(self) -> datetime | None:
        """When it was written, or None where the text is no time with an offset."""
        try:
            time = datetime.fromisoformat(self.created_at)
        except ValueError:
            return None
        return time if time.tzinfo else None

    @property
    def role(self) -> str:
        """`user`, `assistant` or empty; read off the head where it stands before the content."""
        if self._role is None:
            head = self.content[:_HEAD].partition('"content"')[0]
            if '"role": "user"' in head:
                self._role = "user"
            elif '"role": "assistant"' in head:
                self._role = "assistant"
            else:
                written = self.body.get("role")
                self._role = written if isinstance(written, str) else ""
        return self._role

    @property
    def blocks(self) -> list[Mapping[str, Any]]:
        """The content blocks of a message, a summary or a final response."""
        return mappings(self.body.get("content"))

    @property
    def text(self) -> str:
        """The text blocks, joined by a blank line; raw Markdown as it is."""
        if self.kind.endswith("_md"):
            return self.content
        texts = (block.get("text") for block in self.blocks if block.get("type") == "text")
        return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


@dataclass
class Journal:
    """All records of one run, with what could not be read counted."""

    records: tuple[Record, ...]
    malformed: int = 0  # entries of the list that are no records

    @cached_property
    def main_execution(self) -> str:
        """The execution that is nobody's subagent: the first such id in the file."""
        for record in self.records:
            if _SUBAGENT not in record.execution_id:
                return record.execution_id
        return self.records[0].execution_id.split(_SUBAGENT)[0] if self.records else ""

    @cached_property
    def main(self) -> tuple[Record, ...]:
        """The records of the main execution, in file order."""
        return tuple(r for r in self.records if r.execution_id == self.main_execution)

    @cached_property
    def raw(self) -> str:
        """The contents of all records as written, joined by line ends; made for searching."""
        return "\n".join(record.content for record in self.records)

    @cached_property
    def types(self) -> Mapping[str, int]:
        """How many records of each type, by name."""
        return dict(sorted(Counter(r.kind for r in self.records).items()))

    @property
    def unknown_types(self) -> Mapping[str, int]:
        """How many records of each type this reader does not know."""
        if KNOWN_TYPES.issuperset(record.kind for record in self.records):
            return {}
        return {kind: count for kind, count in self.types.items() if kind not in KNOWN_TYPES}

    @cached_property
    def is_investigation(self) -> bool:
        """Whether an investigation wrote it, by its record types or its execution id."""
        return self.main_execution.startswith("exe-") or not INVESTIGATION_TYPES.isdisjoint(
            self.types
        )

    @cached_property
    def prompt(self) -> str:
        """The first thing the user wrote; empty where the journal does not have it."""
        for record in self.main:
            if record.kind == "message" and record.role == "user" and record.text:
                return record.text
        return ""

    @cached_property
    def subagents(self) -> tuple[str, ...]:
        """Ids of the subagents that left a trace, in order of appearance."""
        return tuple(dict.fromkeys(_subagents(self.records)))


def read_journal(text: str | bytes) -> Journal:
    """Read a journal's JSON.

    Raises:
        UnreadableJournal: No JSON, no list of records, or beyond the bounds.
    """
    if len(text) > MAX_JOURNAL_BYTES:
        raise UnreadableJournal(
            f"a journal of {len(text)} bytes; at most {MAX_JOURNAL_BYTES} are read; split it"
        )
    try:
        entries: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableJournal(f"the journal is no JSON: {error}; it must be a list") from error
    if not isinstance(entries, list):
        raise UnreadableJournal(
            f"the journal is a JSON {type(entries).__name__}; it must be a list of records"
        )
    return _journal(cast("list[object]", entries))


def _journal(entries: Sequence[object]) -> Journal:
    if len(entries) > MAX_RECORDS:
        raise UnreadableJournal(
            f"a journal of {len(entries)} records; at most {MAX_RECORDS} are read; split it"
        )
    records = tuple(r for i, entry in enumerate(entries) if (r := _record(i, entry)) is not None)
    if entries and not records:
        raise UnreadableJournal("no entry of the list has recordType and content")
    return Journal(records, malformed=len(entries) - len(records))


def _record(index: int, entry: object) -> Record | None:
    """Return the record of a list entry, or None where it has no type or no content."""
    if not isinstance(entry, dict):
        return None
    get = cast("dict[str, Any]", entry).get
    kind, content = get("recordType"), get("content")
    if not isinstance(kind, str) or content is None:
        return None
    if not isinstance(content, str):  # a tool that wrote the object itself, not its text
        content = json.dumps(content, ensure_ascii=False)
    record, execution, created = get("recordId"), get("executionId"), get("createdAt")
    return Record(
        index,
        record if isinstance(record, str) else str(record or ""),
        execution if isinstance(execution, str) else str(execution or ""),
        kind,
        created if isinstance(created, str) else str(created or ""),
        content,
    )


def _subagents(records: Sequence[Record]) -> Iterator[str]:
    for record in records:
        if _SUBAGENT in record.execution_id:
            yield record.execution_id.split(_SUBAGENT, 1)[1]
        elif record.kind == "tool_summary":
            parent = record.body.get("parent_id")
            if isinstance(parent, str):
                yield parent


def _object(text: str) -> Mapping[str, Any]:
    try:
        value, end = _decoder.raw_decode(text)
        if end != len(text):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return mapping(value)


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON; a cast is a call, and this is asked very often


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON list; nothing where it is no list."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]  # pyright: ignore[reportUnknownVariableType] - as above
