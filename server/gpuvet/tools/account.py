"""Tools about the account itself: what can be read of it."""

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from mcp.types import CallToolResult
from pydantic import Field

from gpuvet.model.access import AccessReport, SourceAccess
from gpuvet.model.base import Value
from gpuvet.tools.arguments import Profile, Region, Role
from gpuvet.tools.reply import reply


class AccessPage(Value):
    """Who asks, what is closed and what opens it; open sources by their operations alone."""

    schema_: str = Field(default="gpuvet/access-page/1", alias="schema")
    account: str | None = None
    arn: str | None = None
    region: str
    readable: tuple[str, ...]
    empty: tuple[str, ...]
    closed: tuple[SourceAccess, ...]
    clusters: tuple[str, ...]
    groups: tuple[str, ...]
    groups_found: int
    versions: dict[str, str]
    policy: dict[str, Any] | None = None


class Accessible(Protocol):
    """An account that can say what may be read of it."""

    def access(self, *, profile: str | None, region: str | None, role: str | None) -> AccessReport:
        """Return what an identity can read in a region."""
        ...


@dataclass(frozen=True, slots=True)
class AccountTools:
    """Questions about the account."""

    account: Accessible

    def check_access(
        self, profile: Profile = None, region: Region = None, role: Role = None
    ) -> Annotated[CallToolResult, AccessPage]:
        """Say who the credentials belong to and which AWS sources they can read.

        Tries every read once, within 15 s: readable, empty, denied (with the IAM action), not
        known. Lists HyperPod clusters and the log groups of clusters, and gives the IAM policy
        to ask for where something is denied.
        """
        report = self.account.access(profile=profile, region=region, role=role)
        by_access: dict[str, list[SourceAccess]] = {}
        for one in report.sources:
            by_access.setdefault(one.access.value, []).append(one)
        readable, empty = by_access.pop("readable", []), by_access.pop("empty", [])
        answer = AccessPage(
            account=report.account,
            arn=report.arn,
            region=report.region,
            readable=tuple(one.operation for one in readable),
            empty=tuple(one.operation for one in empty),
            closed=tuple(one for members in by_access.values() for one in members),
            clusters=report.clusters[:50],
            groups=report.groups,
            groups_found=report.groups_found,
            versions=report.versions,
            policy=report.policy,
        )
        return reply(answer, report.markdown)
