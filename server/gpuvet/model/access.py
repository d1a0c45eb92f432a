"""What the credentials and the account let a reader see."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from gpuvet.model.base import Value


class Access(StrEnum):
    """How one source answered."""

    READABLE = "readable"
    EMPTY = "empty"  # readable, and nothing there
    DENIED = "denied"
    FAILED = "failed"  # throttled, unreachable, out of time: not known
    UNCLEAR = "unclear"  # it answered, but not so that the permission shows


class SourceAccess(Value):
    """One read as tried."""

    operation: str
    what: str
    iam_action: str
    access: Access
    reason: str | None = None
    closes_with: str | None = None
    is_minimal: bool = True  # False: asked for by a few checks only


class AccessReport(Value):
    """Who we are, what can be read, and the policy that would open the rest."""

    schema_: str = Field(default="gpuvet/access/1", alias="schema")
    account: str | None = None
    arn: str | None = None
    profile: str | None = None
    role: str | None = None
    region: str
    sources: tuple[SourceAccess, ...]
    clusters: tuple[str, ...] = ()  # HyperPod clusters by name
    groups: tuple[str, ...] = ()  # log groups of clusters, the first of them
    groups_found: int = 0
    versions: dict[str, str] = Field(default_factory=dict)
    policy: dict[str, Any] | None = None  # allows what was denied; None: nothing was
    markdown: str = ""

    @property
    def is_whole(self) -> bool:
        """True when every source of the minimal policy can be read."""
        fine = {Access.READABLE, Access.EMPTY, Access.UNCLEAR}
        return all(one.access in fine for one in self.sources if one.is_minimal)
