"""The tool that says what can be read of an account."""

from typing import Any

from pydantic import Field

from gpuvet.model.access import SourceAccess
from gpuvet.model.base import Value
from gpuvet.tools.arguments import Account
from gpuvet.tools.request import Reply, Request

_MOST_CLUSTERS = 50


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


def check_access(request: Request, asked: Account) -> Reply[AccessPage]:
    """Say who the credentials belong to and which AWS sources they can read.

    Tries every read once, within 15 s: readable, empty, denied (with the IAM action), not known.
    Lists HyperPod clusters and the log groups of clusters, and gives the IAM policy to ask for
    where something is denied.
    """
    report = request.evidence.access(asked.where, progress=request.progress)
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
        clusters=report.clusters[:_MOST_CLUSTERS],
        groups=report.groups,
        groups_found=report.groups_found,
        versions=report.versions,
        policy=report.policy,
    )
    return Reply(answer, report.markdown)
