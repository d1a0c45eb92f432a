"""A run's turns as journal_records.json, in the form DevOps Agent writes and `inspect` reads. Pure.

Ids follow from the run's name, times are those of the turns: the same turns are the same bytes.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from gpuvet_evals.evals_json import Eval
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.run.turns import Result, Turn

_MOMENT = timedelta(milliseconds=100)  # between the records of one turn, as published ones have
_LABELS = {"datetime": "Datetime", "fs_read": "Fs Read", "use_aws": "Use Aws"}
SKILL_TOOL = "skill_read"


def journal_text(
    name: str,
    eval_: Eval,
    turns: Sequence[Turn],
    started_at: datetime,
    *,
    is_final: bool,
    context_window: int | None = None,
) -> str:
    """Return the journal of a run.

    Args:
        name: Of the run; ids follow from it.
        eval_: Which eval was played.
        turns: In order.
        started_at: When the user's message was sent.
        is_final: Whether the last reply is the answer.
        context_window: Tokens the model can hold, where known: adds the accounting of its use.
    """
    investigation = eval_.task_type == "investigation"
    writer = JournalWriter(name, investigation=investigation, first=started_at, step=_MOMENT)
    writer.user(eval_.prompt)
    for place, turn in enumerate(turns):
        writer.at(turn.replied_at)
        if is_final and place == len(turns) - 1:
            _final(writer, turn, investigation=investigation)
        else:
            writer.message("assistant", _blocks(turn))
        if context_window is not None:
            usage = turn.reply.usage
            held = usage.total
            writer.used(round(100 * held / context_window, 1))
        for result in turn.results or ():
            if turn.answered_at is not None:
                writer.at(turn.answered_at)
            _result(writer, turn, result, investigation=investigation)
    return writer.text()


def _final(writer: JournalWriter, turn: Turn, *, investigation: bool) -> None:
    if not investigation:
        writer.final(turn.reply.text)
        return
    writer.say(turn.reply.text)
    writer.record("investigation_summary_md", turn.reply.text)


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if text := turn.reply.text:
        blocks.append({"text": text, "type": "text"})
    blocks.extend(
        {"id": use.id, "tool_name": use.name, "input": use.input, "type": "tool_use"}
        for use in turn.reply.tool_uses
    )
    return blocks


def _result(writer: JournalWriter, turn: Turn, result: Result, *, investigation: bool) -> None:
    tool = next((u.name for u in turn.reply.tool_uses if u.id == result.tool_use_id), "")
    status = "error" if result.is_error else "success"
    loads = tool == SKILL_TOOL
    if not investigation:
        writer.summary(
            "Done" if loads and not result.is_error else result.text,
            label=f"Running {_LABELS.get(tool, tool.replace('_', ' ').title())}",
            call=result.tool_use_id,
            block_type="load_skill" if loads else "tool_summary",
            subagent=None,
            status=status,
        )
        writer.result(result.text, call=result.tool_use_id, status=status)
        return
    content = [{"text": result.text}]
    block = {"id": result.tool_use_id, "content": content, "status": status, "type": "tool_result"}
    writer.message("user", [block])


def metadata_text(fields: dict[str, Any]) -> str:
    """Return outputs/metadata.json: what the journal's form has no place for."""
    return f"{json.dumps(fields, indent=2)}\n"
