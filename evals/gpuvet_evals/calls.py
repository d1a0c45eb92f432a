"""Tool calls of a journal: use, summary and result joined by tool_use_id. Pure.

In chat a subagent's calls are recorded by their result and label alone, without name or input.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from gpuvet_evals.journal import Journal, Record, mapping, mappings

AWS_TOOLS = frozenset({"use_aws", "query_cloudwatch_logs", "use_kubectl"})
SUBAGENT_TOOLS = frozenset({"gather_context"})
MAX_REPR_CHARACTERS = 8 * 1024 * 1024
# How an API error begins that is recorded with status success.
API_ERRORS = ("AWS API error (", "API call failed:")
PARSED_CHARACTERS = 200  # up to here a record is parsed at once; beyond, only when asked for
_HEAD = 800  # characters in which a result's text starts, and that tell what it is
_TEXT_START = re.compile(r"""text\\?['"]: \\?['"]""")
_TAIL = 600  # characters in which all that follows a result's text stands
_LARGE_RESULT_HEAD = re.compile(
    r'\{(?:"id": "[^"\\]*", )?"role": "user", "content": \[\{"id": "([^"\\]+)", "content": '
)
_LARGE_RESULT_TAIL = re.compile(r'(?<!\\)["\]], "status": "(\w+)", "type": "tool_result"\}\]')
_LARGE_SUMMARY_HEAD = re.compile(
    r'\{(?:"id": "[^"\\]*", )?"role": "assistant", "block_type": "(\w+)", '
    r'"content": \[\{"type": "tool_result", "tool_use_id": "([^"\\]+)", '
    r'"status": "(\w+)", "content": \['
)
_LARGE_SUMMARY_TAIL = re.compile(r'\}\]\}\], "label": "([^"]*)"(?:, "parent_id": "([^"\\]+)")?\}\Z')
# Labels the renderer gives to calls that never reach AWS.
_LOCAL_LABELS = frozenset(
    {
        "Running Ask User",
        "Running Datetime",
        "Running Distill",
        "Running Evaluate Plan",
        "Running Fs Read",
        "Running Read Skill Resource",
        "Running Skill Read",
        "Running Verify Aws Claim",
    }
)


@dataclass(slots=True)
class Result:
    """One recorded result of a call; a call in chat's main thread has two.

    `content` is a block list, the Python repr of one, or plain text; None where it was too large
    to parse before anybody asks.
    """

    record: Record
    status: str
    content: object
    _text: str | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """What the tool said."""
        if self._text is None:
            blocks = self.record.blocks if self.content is None else ()
            content = blocks[0].get("content") if blocks else self.content
            self._text = result_text(content)
        return self._text

    @property
    def head(self) -> str:
        """How the text starts, as it stands in the record: escapes may not be resolved."""
        if self._text is not None or (
            self.content is not None and not isinstance(self.content, str)
        ):
            return self.text[:_HEAD]
        raw = self.record.content
        at = raw.find(self.content[:40]) if isinstance(self.content, str) else 0
        if (start := _TEXT_START.search(raw, max(at, 0), max(at, 0) + _HEAD)) is not None:
            return raw[start.end() : start.end() + _HEAD]
        return self.text[:_HEAD]

    @property
    def is_hidden_error(self) -> bool:
        """Whether an API error was recorded as a success."""
        if self.status != "success" or self.record.content.find("API ", 0, 2 * _HEAD) < 0:
            return False
        return self.head.lstrip().startswith(API_ERRORS)


@dataclass(slots=True)
class ToolCall:
    """One call; `tool` and `input` are None where the journal does not record them."""

    tool_use_id: str
    tool: str | None = None
    input: Mapping[str, Any] | None = None
    label: str = ""
    block_type: str = ""
    subagent: str | None = None
    results: list[Result] = field(default_factory=list[Result])
    asked_in: Record | None = None

    @property
    def has_visible_input(self) -> bool:
        """Whether the journal says which tool was called and with what."""
        return self.tool is not None and self.input is not None

    @property
    def reaches_aws(self) -> bool:
        """Whether it asked AWS or a cluster, as far as the record shows."""
        if self.tool is not None:
            return self.tool in AWS_TOOLS
        return self.block_type == "tool_summary" and self.label not in _LOCAL_LABELS

    @property
    def failed(self) -> bool:
        """Whether some result has status error or tells of an API error."""
        return any(r.status == "error" or r.is_hidden_error for r in self.results)

    @property
    def record_id(self) -> str:
        """The record that shows it first."""
        if self.asked_in is not None:
            return self.asked_in.record_id
        return self.results[0].record.record_id if self.results else ""


def tool_calls(journal: Journal) -> tuple[ToolCall, ...]:
    """Return every call in order of its first record."""
    calls: dict[str, ToolCall] = {}
    for record in journal.records:
        if record.kind == "message":
            _from_message(journal, record, calls)
        elif record.kind == "tool_summary":
            _from_summary(record, calls)
    return tuple(calls.values())


def result_text(content: object) -> str:
    """Return the text of a result: a block list, the Python repr of one, or plain text."""
    if isinstance(content, str):
        return _from_repr(content) if content.startswith("[{") else content
    texts: list[str] = []
    for block in mappings(content):
        text = block.get("text")
        if isinstance(text, str):
            texts.append(text)
        elif "json" in block:
            texts.append(str(block["json"]))
    return "\n".join(texts)


def _from_repr(content: str) -> str:
    if len(content) > MAX_REPR_CHARACTERS:
        return content
    try:
        blocks: object = ast.literal_eval(content)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return content
    return result_text(cast("object", blocks)) if isinstance(blocks, list) else content


def _from_message(journal: Journal, record: Record, calls: dict[str, ToolCall]) -> None:
    content = record.content
    if '"tool_use"' not in content and '"tool_result"' not in content:
        return
    subagent = None
    if record.execution_id != journal.main_execution:
        subagent = record.execution_id.rpartition(".subagent.")[2]
    if (large := _large_result(content)) is not None:
        identity, status = large
        call = calls.get(identity)
        if call is None:
            call = calls[identity] = ToolCall(identity, subagent=subagent)
        call.results.append(Result(record, status, None))
        return
    for block in record.blocks:
        kind = block.get("type")
        identity = str(block.get("id") or block.get("tool_use_id") or f"#{record.index}")
        if kind == "tool_use":
            call = calls.setdefault(identity, ToolCall(identity))
            call.tool = str(block.get("tool_name") or block.get("name") or "")
            call.input = mapping(block.get("input"))
            call.subagent, call.asked_in = subagent, record
        elif kind == "tool_result":
            call = calls.setdefault(identity, ToolCall(identity, subagent=subagent))
            call.results.append(Result(record, _status(block), block.get("content")))


def _from_summary(record: Record, calls: dict[str, ToolCall]) -> None:
    if (large := _large_summary(record.content)) is not None:
        call = calls.get(large.call)
        if call is None:
            call = calls[large.call] = ToolCall(large.call)
        call.label, call.block_type = large.label, large.block_type
        call.subagent = large.parent or call.subagent
        call.results.append(Result(record, large.status, None))
        return
    body = record.body
    parent = body.get("parent_id")
    for block in record.blocks:
        identity = str(block.get("tool_use_id") or f"#{record.index}")
        call = calls.setdefault(identity, ToolCall(identity))
        call.label = str(body.get("label") or "")
        call.block_type = str(body.get("block_type") or "")
        if isinstance(parent, str):
            call.subagent = parent
        call.results.append(Result(record, _status(block), block.get("content")))


class _Summary(NamedTuple):
    """What a summary says beside its text."""

    block_type: str
    call: str
    status: str
    label: str
    parent: str | None


def _large_result(content: str) -> tuple[str, str] | None:
    """Return call id and status of a message that is one result, without parsing its text.

    Inside JSON text a quote is always escaped, so an unescaped `"status": ` is no part of it.
    """
    head = _LARGE_RESULT_HEAD.match(content) if len(content) > PARSED_CHARACTERS else None
    if head is None or content.count('"type": "tool_', head.end()) != 1:
        return None
    tail = _LARGE_RESULT_TAIL.search(content, max(0, len(content) - _TAIL))
    return (head[1], tail[1]) if tail else None


def _large_summary(content: str) -> _Summary | None:
    """Return what a summary says beside its text, without parsing that."""
    head = _LARGE_SUMMARY_HEAD.match(content) if len(content) > PARSED_CHARACTERS else None
    if head is None or content.find('"tool_use_id": "', head.end()) >= 0:
        return None
    tail = _LARGE_SUMMARY_TAIL.search(content, max(0, len(content) - _TAIL))
    if tail is None or "\\" in tail[1]:
        return None
    return _Summary(head[1], head[2], head[3], tail[1], tail[2])


def _status(block: Mapping[str, Any]) -> str:
    status = block.get("status")
    return status if isinstance(status, str) else ""


def hidden_errors(calls: tuple[ToolCall, ...]) -> Iterator[str]:
    """Yield the record of each call whose API error was recorded as a success."""
    for call in calls:
        for result in call.results:
            if result.is_hidden_error:
                yield result.record.record_id
                break
