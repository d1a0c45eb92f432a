"""What a tool hands back: both halves say the same, within their bytes."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.types import CallToolResult, TextContent

if TYPE_CHECKING:
    from gpuvet.model.base import Value
    from gpuvet.tools.request import Reply

Answer = TypeVar("Answer", bound="Value")

SUMMARY_CHARACTERS = 8_000
FULL_CHARACTERS = 32_000
MOST_CHARACTERS = 40_000
ERROR_CHARACTERS = 4_000
_CURSOR_CHARACTERS = 1_500  # ours: how to go on, after a report
_TOO_LONG = "The whole report is longer than an answer may be; the command line prints it."
_LEAST_CHARACTERS = 20  # of one item: more of them than this cannot fit


def limit_of(detail: str) -> int:
    """Return how many characters a half of an answer may take."""
    return FULL_CHARACTERS if detail == "full" else SUMMARY_CHARACTERS


def report_text(whole: str, short: str, detail: str) -> str:
    """Return a report's text: the whole one where it is asked for and fits, else the short one.

    Args:
        whole: Every section and table.
        short: What decides.
        detail: As asked.
    """
    if detail != "full":
        return short
    room = FULL_CHARACTERS - _CURSOR_CHARACTERS
    return whole if len(whole) <= room else f"{short}\n{_TOO_LONG}\n"


def result_of(reply: "Reply[Any]") -> CallToolResult:
    """Return a tool result: text for hosts that show it, the value for those that read it."""
    text = reply.text
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS - 60] + "\n\n[cut; ask again with a narrower question]"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured(reply.answer)
    )


def structured(answer: "Value") -> dict[str, Any]:
    """Return the structured half of an answer: no nulls, names as on the wire."""
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


def size_of(answer: "Value") -> int:
    """Return the characters of an answer's structured half."""
    return len(json.dumps(structured(answer), separators=(",", ":")))


def fit(
    make: Callable[[int], tuple[Answer, str]], total: int, limit: int
) -> tuple[Answer, str, int]:
    """Return the largest page of which both halves fit, its text, and how many items it shows.

    Args:
        make: Builds the answer and its text from a number of items, at least one.
        total: Items there are.
        limit: Characters either half may take.
    """
    low, high = 1, max(1, min(total, limit // _LEAST_CHARACTERS))
    best = (*make(1), 1)
    while low <= high:
        middle = (low + high) // 2
        answer, text = make(middle)
        if max(len(text), size_of(answer)) <= limit:
            best = (answer, text, middle)
            low = middle + 1
        else:
            high = middle - 1
    return best
