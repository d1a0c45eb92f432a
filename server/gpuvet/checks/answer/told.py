"""What gpuvet's own reports say, as a draft is held against: verdicts, cause, hours, readiness.

Read from a report's JSON, whole or one page of it over MCP, so that a recorded run of a tool
counts as the report does. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from gpuvet.model.base import Value
from gpuvet.model.cause import Branch, BranchStatus, Label
from gpuvet.model.check import CheckStatus
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.readiness import Ready
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at, whole_at
from gpuvet.model.verdict import FaultClass, Verdict

_RUNS = re.compile(r"(\d+)([A-Z])")
_SEEN = "L"  # hours proven live, in an hour grid
_CONTROL_PLANE = frozenset({"cloudtrail", "cluster events", "ec2", "eventbridge", "hma"})
_RECOVERY = re.compile(r"NodeRecovery\W{1,6}(?:is |of [\w-]+ )?(Automatic|None)\b")


class Hours(Value):
    """Hours of a node's kernel log: seen, of asked."""

    measured: int
    asked: int


class StreamName(Value):
    """A log stream as the service writes it, its group, and the nodes that write it."""

    group: str | None
    stream: str
    nodes: tuple[str, ...]


class CapacityEnd(Value):
    """When capacity ends, and until when it can be used."""

    resource: str
    end: datetime
    usable_until: datetime


class Told(Value):
    """All reports of a run together; empty where none of them says it."""

    modes: tuple[str, ...] = ()
    verdicts: Mapping[str, Verdict] = {}
    hardware: frozenset[str] = frozenset()  # nodes whose verdict rests on hardware
    minimum: Mapping[str, str] = {}  # what is right in any case of an UNVERIFIED node
    hours: Mapping[str, Hours] = {}
    dark_sources: frozenset[str] = frozenset()  # nodes of which some source is NOT_OBSERVABLE
    streams: tuple[StreamName, ...] = ()
    label: Label | None = None  # of the incident's cause
    labels: frozenset[Label] = frozenset()  # of any report
    branch: Branch | None = None
    branches: Mapping[Branch, BranchStatus] = {}
    ready: Mapping[str, Ready] = {}
    checks: Mapping[str, frozenset[CheckStatus]] = {}
    capacity: tuple[CapacityEnd, ...] = ()
    node_recovery: frozenset[str] = frozenset()
    changed: str = ""  # what the timeline and the list of replacements say was done, by whom
    accounts: frozenset[str] = frozenset()
    statements: str = ""  # every sentence of the reports, as `plain` writes them


def is_report(document: object) -> bool:
    """Say whether a JSON document is a report of gpuvet, or a page of one."""
    return is_object(document) and str(document.get("schema", "")).startswith("gpuvet/")


def told_by(reports: Iterable[Mapping[str, Any]]) -> Told:
    """Return what reports say together; a later one wins where two name the same thing."""
    found = tuple(reports)
    incident = next((r for r in found if r.get("mode") == "Incident" and r.get("label")), None)
    streams = {(s.group, s.stream): s for r in found for s in _streams(r)}
    checks: dict[str, frozenset[CheckStatus]] = {}
    for report in found:
        checks |= _checks(report)
    return Told(
        modes=tuple(dict.fromkeys(str(r["mode"]) for r in found if r.get("mode"))),
        verdicts={k: v for r in found for k, v in _verdicts(r)},
        hardware=frozenset(n for r in found for n in _hardware(r)),
        minimum={
            str(row.get("node")): str(row.get("minimum_action")).lower()
            for r in found
            for row in objects_at(r, "nodes")
        },
        hours={k: v for r in found for k, v in _hours(r)},
        dark_sources=frozenset(
            str(row.get("node"))
            for r in found
            for row in objects_at(r, "coverage")
            if row.get("status") == CoverageStatus.NOT_OBSERVABLE
        ),
        streams=tuple(streams.values()),
        label=_member(Label, incident.get("label")) if incident else None,
        labels=frozenset(x for r in found if (x := _member(Label, r.get("label")))),
        branch=_member(Branch, incident.get("branch")) if incident else None,
        branches={k: v for r in found for k, v in _branches(r)},
        ready={k: v for r in found for k, v in _ready(r)},
        checks=checks,
        capacity=tuple(c for r in found for c in _capacity(r)),
        node_recovery=frozenset(
            m[1] for r in found for text in _texts(r) for m in _RECOVERY.finditer(text)
        ),
        changed="\n".join(t for r in found for t in _changed(r)),
        accounts=frozenset(a for r in found if (a := text_at(r, "account"))),
        statements="\n".join(plain(text) for r in found for text in _texts(r)),
    )


_MARKS = re.compile(r"[\\`*]+")
_SPACE = re.compile(r"\s+")
Word = TypeVar("Word", bound=StrEnum)


def plain(text: str) -> str:
    """Return a sentence in lower case without marks and with single blanks, to be compared."""
    return _SPACE.sub(" ", _MARKS.sub("", text)).strip().lower()


def _member(kind: type[Word], value: object) -> Word | None:
    try:
        return kind(str(value))
    except ValueError:
        return None


def _verdicts(report: Mapping[str, Any]) -> Iterator[tuple[str, Verdict]]:
    for node, word in object_at(report, "verdicts").items():
        if (verdict := _member(Verdict, word)) is not None:
            yield str(node), verdict
    for row in objects_at(report, "nodes"):
        name, given = text_at(row, "node"), _member(Verdict, row.get("verdict"))
        if name is not None and given is not None:
            yield name, given


def _hardware(report: Mapping[str, Any]) -> Iterator[str]:
    acting = {Verdict.REPLACE, Verdict.REBOOT}
    for row in objects_at(report, "nodes"):
        verdict = _member(Verdict, row.get("verdict"))
        if verdict in acting and row.get("class") == FaultClass.HARDWARE and "node" in row:
            yield str(row["node"])


def _hours(report: Mapping[str, Any]) -> Iterator[tuple[str, Hours]]:
    for row in objects_at(object_at(report, "hours"), "rows"):
        if row.get("source") is None and isinstance(runs := row.get("runs"), str):
            found = [(int(n), state) for n, state in _RUNS.findall(runs)]
            seen = sum(n for n, state in found if state == _SEEN)
            yield str(row.get("node")), Hours(measured=seen, asked=sum(n for n, _ in found))
    for row in objects_at(report, "sight"):
        measured, asked = whole_at(row, "hours_measured"), whole_at(row, "hours_asked")
        if measured is not None and asked is not None:
            yield str(row.get("node")), Hours(measured=measured, asked=asked)


def _streams(report: Mapping[str, Any]) -> Iterator[StreamName]:
    owners: dict[tuple[str | None, str], list[str]] = {}
    for row in (*objects_at(report, "coverage"), *objects_at(report, "holes")):
        if (stream := text_at(row, "stream")) is not None:
            owners.setdefault((text_at(row, "group"), stream), []).append(str(row.get("node")))
    for (group, stream), nodes in owners.items():
        yield StreamName(group=group, stream=stream, nodes=tuple(dict.fromkeys(nodes)))


def _branches(report: Mapping[str, Any]) -> Iterator[tuple[Branch, BranchStatus]]:
    for row in objects_at(report, "branches"):
        branch, status = (
            _member(Branch, row.get("branch")),
            _member(BranchStatus, row.get("status")),
        )
        if branch is not None and status is not None:
            yield branch, status


def _ready(report: Mapping[str, Any]) -> Iterator[tuple[str, Ready]]:
    for hours, word in object_at(report, "ready").items():
        if (ready := _member(Ready, word)) is not None:
            yield str(hours), ready


def _checks(report: Mapping[str, Any]) -> dict[str, frozenset[CheckStatus]]:
    found: dict[str, frozenset[CheckStatus]] = {}
    for row in objects_at(report, "checks"):
        statuses = [row.get("status"), *object_at(row, "by_hours").values()]
        members = (_member(CheckStatus, status) for status in statuses)
        found[str(row.get("id"))] = frozenset(status for status in members if status is not None)
    return found


def _capacity(report: Mapping[str, Any]) -> Iterator[CapacityEnd]:
    for row in objects_at(report, "calendar"):
        end, usable = text_at(row, "end"), text_at(row, "usable_until")
        if end is not None and usable is not None and end != usable:
            yield CapacityEnd(
                resource=str(row.get("resource")),
                end=datetime.fromisoformat(end),
                usable_until=datetime.fromisoformat(usable),
            )


def _changed(report: Mapping[str, Any]) -> Iterator[str]:
    for row in objects_at(report, "timeline"):
        if row.get("kind", "seen") == "seen" and row.get("source") in _CONTROL_PLANE:
            yield f"{row.get('source')} {row.get('what')}"
    for row in objects_at(report, "replacements"):
        yield f"replaced {row.get('call')}"


def _texts(value: object) -> Iterator[str]:
    """Yield every text of a document, depth first."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif is_object(item):
            stack += reversed(list(item.values()))
        elif is_array(item):
            stack += reversed(item)
