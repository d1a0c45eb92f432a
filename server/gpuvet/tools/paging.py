"""How a tool goes on where an earlier answer ended."""

import json

from gpuvet.errors import UsageError
from gpuvet.tools.cursor import seal, unseal


def resume(cursor: str | None, tool: str, question: dict[str, str | None]) -> int:
    """Return the offset of a cursor and put its question in place of the arguments."""
    if cursor is None:
        return 0
    state = unseal(cursor)
    if state.pop("tool", None) != tool:
        raise UsageError(f"this cursor belongs to another tool than {tool}")
    offset = state.pop("offset", 0)
    question.update({k: v if isinstance(v, str) else None for k, v in state.items()})
    return offset if isinstance(offset, int) else 0


def onward(tool: str, question: dict[str, str | None], offset: int, total: int) -> str | None:
    """Return the cursor of the next page, or None at the end."""
    if offset >= total:
        return None
    return seal({**question, "tool": tool, "offset": offset})


def with_rest(text: str, shown: int, total: int, cursor: str | None) -> str:
    """Return a page's text with how to go on."""
    if cursor is None:
        return text
    return f"{text}\n{shown} of {total} shown; go on with cursor {json.dumps(cursor)}.\n"
