"""Verdict cases: one JSON file with nodes, their log lines, boots, facts and declared coverage.

The file also carries the answer expected of it, under `expected`; it is not read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from gpuvet.aws.door import LogLine
from gpuvet.aws.recorded import RecordedAws
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.case import Case
from gpuvet.case.held_logs import HeldLogs, HeldStream
from gpuvet.case.node_facts import node_facts
from gpuvet.errors import UnreadableCase
from gpuvet.model.case import (
    CaseForm,
    CaseMeta,
    DeclaredBoot,
    DeclaredCoverage,
    FileKind,
    FileReport,
    FileStatus,
    NodeReading,
    OperatorFacts,
)
from gpuvet.model.cluster import Orchestrator
from gpuvet.model.coverage import Gate
from gpuvet.model.events import BoundaryKind
from gpuvet.model.evidence import Window
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at, whole_at

_COUNTS_NOTE = "this case declares coverage as a status; its lines are no count of hours"


def is_verdict_case(document: object) -> bool:
    """Say whether a JSON document is a verdict case."""
    given = object_at(document, "input")
    return is_array(given.get("nodes")) and is_object(given.get("window"))


def read_verdict_case(
    document: Mapping[str, Any], *, file: str, size: int, question: str | None
) -> Case:
    """Return a verdict case as a case. The clock is the end of its window.

    Args:
        document: The whole JSON document; `expected` is ignored.
        file: Its name.
        size: Its bytes.
        question: The user's words; the file has none.

    Raises:
        UnreadableCase: The window, a node id or a time cannot be read.
    """
    given = object_at(document, "input")
    window = _window(object_at(given, "window"), file)
    rows = objects_at(given, "nodes")
    cluster = object_at(given, "cluster")
    readings = tuple(_reading(row, cluster, file) for row in rows)
    streams = tuple(one for row in rows for one in _streams(row, file))
    lines = sum(len(one.lines) for one in streams)
    meta = CaseMeta(
        id=text_at(document, "id") or file.removesuffix(".json"),
        form=CaseForm.VERDICT,
        question=question,
        now=window.end,
        now_source="the end of the case's window",
        cluster=text_at(cluster, "name"),
        orchestrator=read_orchestrator(text_at(cluster, "orchestrator")),
        window=window,
        window_source="the case's window",
        failure_at=as_datetime(object_at(given, "window").get("failure_at")),
    )
    report = FileReport(
        path=file,
        kind=FileKind.VERDICT_CASE,
        status=FileStatus.READ,
        lines=lines,
        records=len(readings),
        size=size,
        nodes=tuple(one.node for one in readings),
    )
    return Case(
        meta=meta,
        files=(report,),
        aws=RecordedAws(now=window.end),
        logs=HeldLogs(streams, now=window.end),
        facts=OperatorFacts(nodes=readings),
        named=tuple((one.node, one.stream) for one in streams),
    )


def read_orchestrator(word: str | None) -> Orchestrator:
    """Return an orchestrator by its word; an unknown word is UNKNOWN."""
    known = {member.value: member for member in Orchestrator}
    return known.get((word or "").lower(), Orchestrator.UNKNOWN)


def read_driver(text: str | None) -> tuple[str | None, bool | None]:
    """Return version and kind of a driver written like "570.133.20 open"."""
    version = re.match(r"\s*(\d+(?:\.\d+)+)", text or "")
    word = re.search(r"\b(open|proprietary)\b", text or "", re.IGNORECASE)
    is_open = None if word is None else word[1].lower() == "open"
    return (version[1] if version else None), is_open


def _window(raw: Mapping[str, Any], file: str) -> Window:
    start, end = as_datetime(raw.get("start")), as_datetime(raw.get("end"))
    if start is None or end is None or end <= start:
        msg = f"{file} wants a window with a start and a later end in ISO 8601; it has {dict(raw)}"
        raise UnreadableCase(msg)
    return Window(start=start, end=end)


def _reading(row: Mapping[str, Any], cluster: Mapping[str, Any], file: str) -> NodeReading:
    facts = object_at(row, "facts")
    version, is_open = read_driver(text_at(row, "driver") or text_at(cluster, "driver"))
    others = facts.get("other_streams_live")
    host = text_at(row, "host")
    return NodeReading(
        node=_node_id(row, file),
        host=host,
        aliases=(host,) if host else (),
        instance_type=text_at(row, "instance_type") or text_at(cluster, "instance_type"),
        gpu_expected=_either(whole_at(row, "gpu_expected"), whole_at(cluster, "gpu_expected")),
        driver_version=version,
        driver_open=is_open,
        launched_at=as_datetime(row.get("launched_at")),
        left_at=as_datetime(row.get("left_at")),
        boots=tuple(_boot(boot, file) for boot in objects_at(row, "boots")),
        coverage=_coverage(row.get("coverage"), file),
        facts=node_facts(facts),
        hma_stream=text_at(facts, "hma_stream"),
        hma_stream_asked="hma_stream" in facts,
        other_streams_live=tuple(map(str, others)) if is_array(others) else (),
        files=(file,),
    )


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def _node_id(row: Mapping[str, Any], file: str) -> str:
    node = text_at(row, "node_id")
    if node is None:
        msg = f"{file} has a node without a node_id; give each its instance id"
        raise UnreadableCase(msg)
    return node


def _boot(row: Mapping[str, Any], file: str) -> DeclaredBoot:
    at, kind = as_datetime(row.get("at")), row.get("kind")
    if at is None or kind not in set(BoundaryKind):
        words = ", ".join(BoundaryKind)
        msg = f"{file} has a boot that cannot be read: {dict(row)}; give `at` and one of {words}"
        raise UnreadableCase(msg)
    return DeclaredBoot(at=at, kind=BoundaryKind(kind))


def _coverage(raw: object, file: str) -> DeclaredCoverage | None:
    if not is_object(raw) or raw.get("status") is None:
        return None
    if raw["status"] not in set(Gate):
        msg = f"{file} declares coverage {raw['status']!r}; known are {', '.join(Gate)}"
        raise UnreadableCase(msg)
    hours = raw.get("empty_hours")
    times: list[datetime] = []
    for hour in hours if is_array(hours) else ():
        at = as_datetime(hour)
        if at is None:
            msg = f"{file} has an empty hour that is no time: {hour!r}"
            raise UnreadableCase(msg)
        times.append(at)
    return DeclaredCoverage(status=Gate(raw["status"]), empty_hours=tuple(times))


def _streams(row: Mapping[str, Any], file: str) -> Iterator[HeldStream]:
    node = _node_id(row, file)
    taken: dict[str, int] = {}
    for log in objects_at(row, "logs"):
        name = text_at(log, "stream") or text_at(log, "source") or "log"
        copy = taken[name] = taken.get(name, 0) + 1
        stream = name if copy == 1 else f"{name} ({copy})"
        group = text_at(log, "group")
        lines = log.get("lines")
        yield HeldStream(
            node=node,
            group=group,
            stream=stream,
            lines=tuple(
                LogLine(node=node, group=group, stream=stream, line=place, text=str(text))
                for place, text in enumerate(lines if is_array(lines) else (), start=1)
            ),
            counts_note=_COUNTS_NOTE,
        )
