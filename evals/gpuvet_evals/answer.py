"""Which text of a journal is the answer, if any: decided before any score. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet_evals.calls import ToolCall
from gpuvet_evals.journal import Journal, Record, mappings

# What the published tool writes for a run without an answer.
NO_FINAL_RESPONSE = (
    "No FinalResponse found in chat output. The agent may not have produced a final response."
)
NO_SUMMARY_ITEM = (
    "No SummaryItem found in investigation output. The investigation may not have completed."
)
_ASK = "ask_user"


class AnswerStatus(StrEnum):
    """How a run ended."""

    FINAL = "final"
    ANSWERED_THEN_ASKED = "answered_then_asked"  # the answer stands before a question
    BLOCKED_ON_USER = "blocked_on_user"  # asked before any AWS call
    TRUNCATED_MID_TOOL = "truncated_mid_tool"
    NO_SUMMARY = "no_summary"  # an investigation without its summary
    ERRORED = "errored"  # no readable journal, or one that ends in none of these ways


class Answer(Value):
    """The answer's text, where it stands, and its status; text is empty where there is none."""

    status: AnswerStatus
    record_id: str | None = None
    text: str = ""
    published_error: str | None = None

    @property
    def graded_text(self) -> str | None:
        """The text that patterns are applied to; None where nothing was answered."""
        answered = (AnswerStatus.FINAL, AnswerStatus.ANSWERED_THEN_ASKED)
        return self.text if self.status in answered else None

    @property
    def applies_to(self) -> str:
        """What assertions are applied to, in the words of the results."""
        if self.status is AnswerStatus.FINAL:
            return "final"
        if self.status is AnswerStatus.ANSWERED_THEN_ASKED:
            return "fallback text, reported apart"
        return "nothing"


def find_answer(
    journal: Journal, calls: Sequence[ToolCall], *, investigation: bool | None = None
) -> Answer:
    """Return the run's answer.

    Args:
        journal: The run.
        calls: Its tool calls.
        investigation: Whether the eval asked for an investigation; by default the journal tells.
    """
    if investigation or (investigation is None and journal.is_investigation):
        return _investigation_answer(journal)
    for record in reversed(journal.main):
        if record.kind == "final_response" and record.text:
            return Answer(
                status=AnswerStatus.FINAL, record_id=record.record_id or None, text=record.text
            )
    return _without_final(journal, calls)


def _investigation_answer(journal: Journal) -> Answer:
    for record in reversed(journal.records):
        if record.kind == "investigation_summary_md" and record.content.strip():
            return Answer(
                status=AnswerStatus.FINAL, record_id=record.record_id or None, text=record.content
            )
    for record in reversed(journal.records):
        if record.kind == "investigation_summary" and (text := _rendered(record)):
            return Answer(status=AnswerStatus.FINAL, record_id=record.record_id or None, text=text)
    return Answer(status=AnswerStatus.NO_SUMMARY, published_error=NO_SUMMARY_ITEM)


def _rendered(record: Record) -> str:
    """Return the summary item as text where its Markdown twin is missing."""
    parts: list[str] = []
    for part in ("symptoms", "findings"):
        for item in mappings(record.body.get(part)):
            kind = str(item.get("type") or "").replace("_", " ").title()
            heading = f"{kind}: {item.get('title')}" if kind else str(item.get("title") or "")
            parts += (f"### {heading}", str(item.get("description") or ""))
    return "\n\n".join(parts)


def _without_final(journal: Journal, calls: Sequence[ToolCall]) -> Answer:
    last = _last_activity(journal)
    if last is None:
        return Answer(status=AnswerStatus.ERRORED, published_error=NO_FINAL_RESPONSE)
    used = _tools_used(last)
    if _ASK in used:
        return _before_the_question(journal, calls)
    if used or last.kind == "tool_summary" or last.role == "user":
        return Answer(status=AnswerStatus.TRUNCATED_MID_TOOL, published_error=NO_FINAL_RESPONSE)
    return Answer(status=AnswerStatus.ERRORED, published_error=NO_FINAL_RESPONSE)


def _before_the_question(journal: Journal, calls: Sequence[ToolCall]) -> Answer:
    """Walk back from the question to the text that stands before it or with it."""
    saw_aws = any(call.reaches_aws and call.results for call in calls)
    status = AnswerStatus.ANSWERED_THEN_ASKED if saw_aws else AnswerStatus.BLOCKED_ON_USER
    for record in reversed(journal.main):
        if record.kind == "message" and record.role == "assistant" and record.text:
            return Answer(
                status=status,
                record_id=record.record_id or None,
                text=record.text,
                published_error=NO_FINAL_RESPONSE,
            )
    return Answer(status=AnswerStatus.BLOCKED_ON_USER, published_error=NO_FINAL_RESPONSE)


def _last_activity(journal: Journal) -> Record | None:
    """Return the last main record that is neither accounting nor the user's first words."""
    for record in reversed(journal.main):
        if record.kind == "tool_summary":
            if _is_of_a_question(record, journal):
                continue
            return record
        if record.kind == "message" and (record.role == "assistant" or _has_results(record)):
            return record
    return None


def _is_of_a_question(summary: Record, journal: Journal) -> bool:
    """Whether a trailing summary only repeats that the user was asked."""
    asked = {
        str(block.get("id"))
        for record in journal.main
        if record.kind == "message"
        for block in record.blocks
        if block.get("tool_name") == _ASK
    }
    return any(str(block.get("tool_use_id")) in asked for block in summary.blocks)


def _tools_used(record: Record) -> set[str]:
    if record.kind != "message":
        return set()
    return {str(b.get("tool_name")) for b in record.blocks if b.get("type") == "tool_use"}


def _has_results(record: Record) -> bool:
    return any(block.get("type") == "tool_result" for block in record.blocks)
