"""The arguments of the tools: one model a family, each argument described once.

A tool's input schema, the check of what a model sends, and what a cursor carries are all made
from these models.
"""

import json
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gpuvet.model.untyped import is_array


def _listed(value: object) -> object:
    """Return a list that came as JSON text, or as text with commas, as a list."""
    if not isinstance(value, str):
        return value
    try:
        parsed: object = json.loads(value)
    except ValueError:
        return [part.strip() for part in value.split(",") if part.strip()]
    return parsed if is_array(parsed) else [value]


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Detail = Annotated[
    Literal["summary", "full"],
    Field(description="full: four times the length."),
]


class Where(NamedTuple):
    """Which nodes of which account; all None on a server that answers from a case."""

    cluster: str | None = None
    instances: str | None = None
    tag: str | None = None
    profile: str | None = None
    region: str | None = None
    role: str | None = None


class Arguments(BaseModel):
    """What a tool takes. Values are coerced; unknown and misspelt arguments are refused."""

    # Left out of a cursor: how much is shown, the cursor itself, and what is too long for one.
    not_carried: ClassVar[frozenset[str]] = frozenset({"detail", "cursor"})
    model_config = ConfigDict(frozen=True, extra="forbid")

    def carried(self) -> dict[str, Any]:
        """Return what a cursor carries of the question."""
        return self.model_dump(
            mode="json", exclude=set(self.not_carried), exclude_defaults=True, exclude_none=True
        )

    @property
    def where(self) -> Where:
        """Which nodes of which account."""
        return Where(**{name: getattr(self, name, None) for name in Where._fields})


class Account(Arguments):
    """Whose account is asked, and where."""

    profile: str | None = Field(None, description="Of those given at start.", max_length=128)
    region: str | None = Field(None, description="Of those given at start.", max_length=40)
    role: str | None = Field(None, description="ARN, of those given at start.", max_length=700)


class Nodes(Account):
    """Which nodes of a live account; a server over a case knows them already."""

    cluster: str | None = Field(None, description="Name or ARN.", max_length=400)
    instances: str | None = Field(None, description="Or instance ids with commas.", max_length=800)
    tag: str | None = Field(None, description="Or a tag, KEY=VALUE.", max_length=400)


class Paged(Arguments):
    """How much is shown, and where to go on."""

    detail: Detail = "summary"
    cursor: str | None = Field(None, description="From an earlier answer.", max_length=12_000)


class NodesPaged(Nodes, Paged):
    """Which nodes, page by page."""


class OverWindow(Arguments):
    """From when to when."""

    since: str | None = Field(
        None,
        description="ISO 8601 with Z, or back from now: 90m, 7d. Default 24h.",
        max_length=40,
    )
    until: str | None = Field(None, description="Same forms. Default now.", max_length=40)


class InWindow(NodesPaged, OverWindow):
    """Which nodes, over a window."""


class OfNodes(InWindow):
    """Some of the nodes, over a window."""

    nodes: Names = Field((), description="Instance ids to show; default all.", max_length=200)


class Asked(InWindow):
    """A question in words, over a window."""

    question: str | None = Field(
        None, description="The question in the user's words.", max_length=2000
    )
