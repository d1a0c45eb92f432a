"""What can be read of an account, as text: who we are, what answers, what to ask for."""

import json
from collections.abc import Iterator, Sequence

from gpuvet.model.access import Access, AccessReport, SourceAccess
from gpuvet.report.words import cell, code

_TITLES = (
    (Access.DENIED, "Denied"),
    (Access.FAILED, "Not known"),
    (Access.UNCLEAR, "Answered, permission not shown"),
    (Access.EMPTY, "Readable, nothing there"),
    (Access.READABLE, "Readable"),
)
_MOST_NAMES = 10


def access_markdown(report: AccessReport) -> str:
    """Return the report for a person: what is closed first, each with what opens it."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: AccessReport) -> Iterator[str]:
    open_ = [s for s in report.sources if s.access in {Access.READABLE, Access.EMPTY}]
    yield f"**{len(open_)} of {len(report.sources)} sources can be read**"
    yield ""
    yield from _who(report)
    for access, title in _TITLES:
        members = [one for one in report.sources if one.access is access]
        if members:
            yield ""
            yield f"{title} ({len(members)}):"
            yield from _rows(access, members)
    if report.policy is not None:
        yield ""
        yield "Policy to ask for:"
        yield ""
        yield "```json"
        yield json.dumps(report.policy, indent=2)
        yield "```"


def _who(report: AccessReport) -> Iterator[str]:
    yield f"- identity: {code(report.arn or 'not known')}"
    login = [f"profile {report.profile}"] if report.profile else []
    login += [f"role {report.role}"] if report.role else []
    via = f" ({cell(', '.join(login))})" if login else ""
    yield f"- account: {report.account or 'not known'}, region {report.region}{via}"
    yield f"- HyperPod clusters: {_names(report.clusters, len(report.clusters))}"
    yield f"- log groups of clusters: {_names(report.groups, report.groups_found)}"
    yield f"- versions: {', '.join(f'{name} {v}' for name, v in report.versions.items())}"


def _names(names: Sequence[str], total: int) -> str:
    if not names:
        return "none found"
    shown = ", ".join(code(name) for name in names[:_MOST_NAMES])
    rest = total - min(total, _MOST_NAMES)
    return f"{shown} and {rest} more" if rest else shown


def _rows(access: Access, members: Sequence[SourceAccess]) -> Iterator[str]:
    if access in {Access.READABLE, Access.EMPTY}:
        yield f"- {', '.join(one.operation for one in members)}"
        return
    for one in members:
        extra = "" if one.is_minimal else " (few checks need it)"
        why = f"{one.reason}: " if access is not Access.DENIED else ""
        yield f"- {one.what}{extra}: {cell(why + (one.closes_with or ''))}"
