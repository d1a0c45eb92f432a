"""The arguments that tools share, described once (contracts §2)."""

from typing import Annotated, Literal

from pydantic import Field

Since = Annotated[
    str | None,
    Field(
        description="Start of the window: ISO 8601 with Z, or back from now, e.g. '90m', '7d'. "
        "Default: the case's window, else the last 24 h.",
        max_length=40,
        examples=["2026-03-02T09:00:00Z", "24h"],
    ),
]
Until = Annotated[
    str | None,
    Field(description="End of the window, same forms. Default: now.", max_length=40),
]
FailureAt = Annotated[
    str | None,
    Field(
        description="When the job failed, ISO 8601 with Z; it decides what may be the cause.",
        max_length=40,
    ),
]
Detail = Annotated[
    Literal["summary", "full"],
    Field(description="'full' allows four times the length a page."),
]
Cursor = Annotated[
    str | None,
    Field(description="From an earlier answer, to go on with its next nodes.", max_length=2000),
]
Nodes = Annotated[
    tuple[str, ...],
    Field(description="Instance ids to show; empty for all.", max_length=200),
]
Question = Annotated[
    str | None,
    Field(
        description="What is being asked, in the user's words; it gives symptom and times.",
        max_length=2000,
    ),
]
