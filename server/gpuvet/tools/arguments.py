"""The arguments that tools share, described once."""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

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
Cluster = Annotated[
    str | None,
    Field(
        description="Live account: name or ARN of a HyperPod, EKS or ParallelCluster cluster.",
        max_length=400,
    ),
]
Instances = Annotated[
    str | None,
    Field(
        description="Live account: instance ids with commas, instead of a cluster.", max_length=800
    ),
]
Tag = Annotated[
    str | None,
    Field(description="Live account: KEY=VALUE of instances, instead of these.", max_length=400),
]
Profile = Annotated[
    str | None,
    Field(description="AWS profile, of those the server was started with.", max_length=128),
]
Region = Annotated[
    str | None,
    Field(description="AWS region, of those the server was started with.", max_length=40),
]
Role = Annotated[
    str | None,
    Field(description="Role ARN, of those the server was started with.", max_length=700),
]


class Where(NamedTuple):
    """Which nodes of which account; all None on a server that answers from a case."""

    cluster: str | None = None
    instances: str | None = None
    tag: str | None = None
    profile: str | None = None
    region: str | None = None
    role: str | None = None

    @classmethod
    def of(cls, question: Mapping[str, str | None]) -> "Where":
        """Return the part of a question, fresh or from a cursor, that says where."""
        return cls(**{name: question.get(name) for name in cls._fields})
