"""Counts, searches and lines of a case joined into the streams that the log door serves."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from gpuvet.aws.door import LogLine
from gpuvet.case.held_logs import UNATTRIBUTED, HeldStream
from gpuvet.case.put_off import PutOff
from gpuvet.model.case import FileStatus, LogSearch
from gpuvet.model.coverage import StreamCounts
from gpuvet.model.evidence import Reason, Status
from gpuvet.parse.wrappers import instance_id

_Key = tuple[str, str | None, str]  # node, group, stream


@dataclass
class _Draft:
    lines: list[LogLine] = field(default_factory=list[LogLine])
    service_lines: list[LogLine] = field(default_factory=list[LogLine])
    counts: StreamCounts | None = None
    counts_note: str | None = None
    is_whole: bool = True
    service_lines_whole: bool = True


def held_streams(
    counts: Sequence[StreamCounts],
    searches: Sequence[LogSearch],
    lines: Sequence[LogLine],
    logs: Sequence[PutOff],
) -> tuple[HeldStream, ...]:
    """Return every stream of a case.

    Counts that the case gives speak for a node; the lines of a raw file beside them are an
    excerpt of some stream, and are not counted as another one.

    Args:
        counts: Hourly counts of exact streams.
        searches: Their streams exist, with lines or without.
        lines: Of searches and exports, under the stream they name.
        logs: Raw files, node by node.
    """
    drafts: dict[_Key, _Draft] = {}
    for count in counts:
        drafts.setdefault((count.node, count.group, count.stream), _Draft()).counts = count
    for search in searches:
        for stream in search.streams:
            node = instance_id(stream)
            if node is not None:
                drafts.setdefault((node, search.group, stream), _Draft())
    for line in lines:
        drafts.setdefault(_owner(line, drafts), _Draft()).lines.append(line)
    counted = {count.node for count in counts}
    shared = dict(_shared(logs))
    for log in logs:
        for part in log.logs:
            draft = drafts.setdefault((part.node, None, log.path), _Draft())
            draft.lines += part.lines
            draft.service_lines += part.service_lines
            draft.service_lines_whole &= part.service_lines_whole
            draft.is_whole = log.report.status is FileStatus.READ
            has_counts = part.node in counted
            draft.counts = None if has_counts else part.counts
            draft.counts_note = None if has_counts else part.counts_note
    owned = {stream for node, _, stream in drafts if node != UNATTRIBUTED}
    return tuple(
        _held(_stood_for(key, draft, owned), draft, shared) for key, draft in drafts.items()
    )


def _stood_for(key: _Key, draft: _Draft, owned: AbstractSet[str]) -> _Key:
    """Let a stream in which nobody is named and a fault is told stand for its own node."""
    node, group, stream = key
    is_nobodys = node == UNATTRIBUTED and stream not in owned
    return (stream, group, stream) if is_nobodys and tells_of_a_gpu(draft.lines) else key


def _owner(line: LogLine, drafts: Iterable[_Key]) -> _Key:
    """Return where a line belongs: the stream that counts or searches name, else its own."""
    for key in drafts:
        node, group, stream = key
        if stream == line.stream and line.group in {None, group} and node != UNATTRIBUTED:
            return key
    return line.node, line.group, line.stream


def _shared(logs: Sequence[PutOff]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for log in logs:
        yield log.path, tuple(part.node for part in log.logs)


def _held(key: _Key, draft: _Draft, shared: dict[str, tuple[str, ...]]) -> HeldStream:
    node, group, stream = key
    counts = draft.counts and draft.counts.model_copy(update={"node": node})
    others = tuple(one for one in shared.get(stream, ()) if one != node) if group is None else ()
    return HeldStream(
        node=node,
        group=group,
        stream=stream,
        lines=tuple(line.model_copy(update={"node": node}) for line in draft.lines),
        service_lines=tuple(draft.service_lines),
        service_lines_whole=draft.service_lines_whole,
        counts=counts,
        counts_note=draft.counts_note,
        lines_status=Status.OK if draft.is_whole else Status.PARTIAL,
        lines_reason=None if draft.is_whole else Reason.CUT_SHORT,
        shared_with=others,
    )


def tells_of_a_gpu(lines: Iterable[LogLine]) -> bool:
    """Say whether a line of the driver stands among these."""
    return any("NVRM" in line.text or "Xid" in line.text for line in lines)
