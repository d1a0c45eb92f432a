"""What can be read of an account, as text: who we are, what answers, what to ask for."""

import json
from collections.abc import Callable, Iterator, Sequence

from gpuvet.model.access import Access, AccessReport, SourceAccess
from gpuvet.report.words import cell, code, plain

_TITLES = (
    (Access.DENIED, "Denied"),
    (Access.FAILED, "Not known"),
    (Access.UNCLEAR, "Answered, permission not shown"),
    (Access.EMPTY, "Readable, nothing there"),
    (Access.READABLE, "Readable"),
)
_MOST_NAMES = 10

Shown = Callable[[str], str]


def access_markdown(report: AccessReport) -> str:
    """Return the report for a page: what is closed first, each with what opens it."""
    return "\n".join(_lines(report, code, cell)) + "\n"


def access_text(report: AccessReport) -> str:
    """Return the report for a terminal; see `access_markdown`."""
    text = "\n".join(_lines(report, plain, plain))
    return text.replace("**", "").replace("```json\n", "").replace("```", "").rstrip() + "\n"


def _lines(report: AccessReport, name: Shown, words: Shown) -> Iterator[str]:
    open_ = [s for s in report.sources if s.access in {Access.READABLE, Access.EMPTY}]
    yield f"**{len(open_)} of {len(report.sources)} sources can be read**"
    yield ""
    yield from _who(report, name, words)
    for access, title in _TITLES:
        members = [one for one in report.sources if one.access is access]
        if members:
            yield ""
            yield f"{title} ({len(members)}):"
            yield from _rows(access, members, words)
    if report.policy is not None:
        yield ""
        yield "Policy to ask for:"
        yield ""
        yield "```json"
        yield json.dumps(report.policy, indent=2)
        yield "```"


def _who(report: AccessReport, name: Shown, words: Shown) -> Iterator[str]:
    yield f"- identity: {name(report.arn or 'not known')}"
    login = [f"profile {report.profile}"] if report.profile else []
    login += [f"role {report.role}"] if report.role else []
    via = f" ({words(', '.join(login))})" if login else ""
    yield f"- account: {report.account or 'not known'}, region {report.region}{via}"
    yield f"- HyperPod clusters: {_names(report.clusters, len(report.clusters), name)}"
    yield f"- log groups of clusters: {_names(report.groups, report.groups_found, name)}"
    yield f"- versions: {', '.join(f'{of} {v}' for of, v in report.versions.items())}"


def _names(names: Sequence[str], total: int, shown_as: Shown) -> str:
    if not names:
        return "none found"
    shown = ", ".join(shown_as(name) for name in names[:_MOST_NAMES])
    rest = total - min(total, _MOST_NAMES)
    return f"{shown} and {rest} more" if rest else shown


def _rows(access: Access, members: Sequence[SourceAccess], words: Shown) -> Iterator[str]:
    if access in {Access.READABLE, Access.EMPTY}:
        yield f"- {', '.join(one.operation for one in members)}"
        return
    for one in members:
        extra = "" if one.is_minimal else " (few checks need it)"
        why = f"{one.reason}: " if access is not Access.DENIED else ""
        yield f"- {one.what}{extra}: {words(why + (one.closes_with or ''))}"
