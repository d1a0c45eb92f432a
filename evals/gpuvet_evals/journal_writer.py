"""Writes a journal record by record, in the form the agent writes: for live runs and for trials."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from uuid import UUID, uuid5

from gpuvet_evals.journal import Journal, read_journal

_NAMES = UUID("6f1d1f9e-3f6b-5d0c-9c0e-0f5b1b9a2d11")  # a namespace of our own, made up
_FIRST = datetime(2026, 11, 12, 9, 0, tzinfo=UTC)


class JournalWriter:
    """Collects records; ids and times follow from the name and the order, so bytes are stable."""

    def __init__(
        self,
        name: str = "run",
        *,
        investigation: bool = False,
        first: datetime = _FIRST,
        step: timedelta = timedelta(seconds=1),
    ) -> None:
        self.space = str(uuid5(_NAMES, "space"))
        execution = str(uuid5(_NAMES, name))
        self.execution = f"exe-ops1-{execution}" if investigation else execution
        self.entries: list[dict[str, str]] = []
        self._name, self._time, self._step = name, first, step
        self._investigation = investigation

    def record(self, kind: str, content: object, *, subagent: str | None = None) -> Self:
        """Add a record of any type; content is text, or a value written as JSON."""
        suffix = f".subagent.{subagent}" if subagent else ""
        self.entries.append(
            {
                "agentSpaceId": self.space,
                "executionId": f"{self.execution}{suffix}",
                "recordId": self._next_id,
                "content": content if isinstance(content, str) else json.dumps(content),
                "createdAt": self._time.isoformat(timespec="microseconds"),
                "recordType": kind,
            }
        )
        self._time += self._step
        return self

    def at(self, time: datetime) -> Self:
        """Set the time of the next record, unless it would go back."""
        self._time = max(self._time, time)
        return self

    def user(self, text: str) -> Self:
        """Add what the user writes."""
        return self.message("user", [{"text": text, "type": "text"}])

    def say(self, text: str) -> Self:
        """Add what the assistant writes."""
        return self.message("assistant", [{"text": text, "type": "text"}])

    def use(
        self, tool: str, given: Mapping[str, Any], *, call: str = "t1", text: str | None = None
    ) -> Self:
        """Add a call with its input, after a text where there is one."""
        blocks: list[Mapping[str, Any]] = [{"text": text, "type": "text"}] if text else []
        use = {"id": call, "tool_name": tool, "input": given, "type": "tool_use"}
        return self.message("assistant", [*blocks, use])

    def result(self, text: str, *, call: str = "t1", status: str = "success") -> Self:
        """Add a call's result as chat records it: the Python repr of a block list."""
        content = repr([{"text": text}])
        block = {"id": call, "content": content, "status": status, "type": "tool_result"}
        return self.message("user", [block])

    def summary(
        self,
        text: str,
        *,
        label: str = "Running Use Aws",
        call: str = "s1",
        block_type: str = "tool_summary",
        subagent: str | None = "sub-1",
        status: str = "success",
    ) -> Self:
        """Add a summary: all that chat records of a subagent's call."""
        content = [{"text": text}]
        result = {"type": "tool_result", "tool_use_id": call, "status": status, "content": content}
        body: dict[str, Any] = {
            "id": self._next_id,
            "role": "assistant",
            "block_type": block_type,
            "content": [result],
            "label": label,
        }
        return self.record("tool_summary", body | ({"parent_id": subagent} if subagent else {}))

    def used(self, percent: float, **more: object) -> Self:
        """Add the accounting of the context window; `more` is further data."""
        window = {"context_window": {"utilization": percent, "compaction_count": 0}}
        return self.record("utilization", {"metadata": {"version": "0.1"}, "data": window | more})

    def final(self, text: str) -> Self:
        """Add the final answer: the message and the final_response that repeats it."""
        self.say(text)
        block = {"type": "text", "text": text}
        body = {"id": self._next_id, "role": "assistant", "content": [block]}
        return self.record("final_response", body)

    def text(self) -> str:
        """Return the journal as the file's text."""
        return json.dumps(self.entries, indent=2) + "\n"

    def journal(self) -> Journal:
        """Return the journal as a reader sees it."""
        return read_journal(self.text())

    @property
    def _next_id(self) -> str:
        return str(uuid5(_NAMES, f"{self._name}/{len(self.entries)}"))

    def message(self, role: str, blocks: Sequence[Mapping[str, Any]]) -> Self:
        """Add a message of any blocks."""
        added = "user_reference" if self._investigation else "created_at"
        body = {"id": self._next_id, "role": role, "content": blocks, added: None}
        return self.record("message", body)
