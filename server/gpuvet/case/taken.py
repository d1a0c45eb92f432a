"""What the files of a case have given so far, before anything is concluded from several of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpuvet.aws.door import LogLine
from gpuvet.aws.prometheus_held import HeldAnswer
from gpuvet.aws.recorded_calls import RecordedCall
from gpuvet.case.case import KubeObject, Reply
from gpuvet.case.kube import node_reading
from gpuvet.model.case import (
    CaseHeader,
    FileKind,
    FileReport,
    FileStatus,
    LogSearch,
    Note,
    OperatorFacts,
    TextFile,
)
from gpuvet.model.coverage import StreamCounts
from gpuvet.model.evidence import Window
from gpuvet.model.network import FlightDump
from gpuvet.parse.untrusted import mask

Json = Mapping[str, Any]


@dataclass
class Taken:
    """What the files of a case gave so far."""

    reports: dict[str, FileReport] = field(default_factory=dict[str, FileReport])
    put_off: dict[str, FileKind] = field(default_factory=dict[str, FileKind])
    header: CaseHeader | None = None
    clock: datetime | None = None
    facts: list[OperatorFacts] = field(default_factory=list[OperatorFacts])
    replies: list[Reply] = field(default_factory=list[Reply])
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])
    counts: list[StreamCounts] = field(default_factory=list[StreamCounts])
    windows: list[Window] = field(default_factory=list[Window])
    searches: list[LogSearch] = field(default_factory=list[LogSearch])
    lines: list[LogLine] = field(default_factory=list[LogLine])
    metrics: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    notes: list[Note] = field(default_factory=list[Note])
    texts: list[TextFile] = field(default_factory=list[TextFile])
    kube: list[KubeObject] = field(default_factory=list[KubeObject])
    prometheus: list[HeldAnswer] = field(default_factory=list[HeldAnswer])
    flight_dumps: list[FlightDump] = field(default_factory=list[FlightDump])
    stores: list[Json] = field(default_factory=list[Json])
    latest: datetime | None = None  # the latest time that any log or note writes in full


def report(
    taken: Taken,
    path: str,
    kind: FileKind,
    status: FileStatus,
    *,
    reason: str | None = None,
    lines: int = 0,
    records: int = 0,
    size: int = 0,
    is_loss: bool = False,
) -> None:
    """Say what became of a file."""
    taken.reports[path] = FileReport(
        path=path,
        kind=kind,
        status=status,
        reason=reason,
        lines=lines,
        records=records,
        size=size,
        is_loss=is_loss,
    )


def keep_text(path: str, kind: FileKind, text: str, taken: Taken, *, is_cut: bool) -> None:
    """Keep a file as text, secrets masked."""
    taken.texts.append(TextFile(file=path, kind=kind, text=mask(text), cut=is_cut))


def keep_objects(found: Sequence[KubeObject], text: str, taken: Taken) -> None:
    """Keep Kubernetes objects; of nodes also what they say."""
    taken.kube += found
    readings = (node_reading(one, text) for one in found if one.kind == "Node")
    taken.facts.append(OperatorFacts(nodes=tuple(one for one in readings if one is not None)))
