"""The second pass over a case: one log file at a time, streamed, split by node."""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, NamedTuple

from gpuvet.aws.door import LogLine
from gpuvet.aws.stream_names import holds_name
from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.content import Content, Limits
from gpuvet.case.documents import decode
from gpuvet.case.held_logs import UNATTRIBUTED
from gpuvet.case.log_scan import Blocks, FileScan, LogScanner, NodeScan
from gpuvet.case.recognise import SERVICE_KINDS
from gpuvet.model.case import (
    FileKind,
    FileReport,
    FileStatus,
    NodeReading,
    OperatorFacts,
    TextFile,
)
from gpuvet.model.cluster import NodeFacts
from gpuvet.model.coverage import HourCount, Shipper, StreamCounts
from gpuvet.model.evidence import Reason, Status, evidence_id
from gpuvet.parse.nvidia_smi import parse_nvidia_smi
from gpuvet.parse.shipper import shipper_of
from gpuvet.parse.untrusted import mask
from gpuvet.parse.wrappers import instance_id

_LONGEST_SMI = 2 * 1024 * 1024
_FULL_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?")
# What a file of these kinds carries, whatever its name promises.
_SHIPPERS = {
    FileKind.HMA: Shipper.HMA,
    FileKind.SLURM_LOG: Shipper.SERVICE,
    FileKind.CLUSTER_LOG: Shipper.SERVICE,
    FileKind.BOOT_LOG: Shipper.SERVICE,
    FileKind.PACKAGE_LOG: Shipper.SERVICE,
    FileKind.SHIPPER_LOG: Shipper.SERVICE,
}


class NodeLog(NamedTuple):
    """What one node wrote into one file."""

    node: str
    lines: tuple[LogLine, ...]
    counts: StreamCounts | None
    counts_note: str | None
    service_lines: tuple[LogLine, ...] = ()
    service_lines_whole: bool = True  # no line of a service was over the cap


class PutOff(NamedTuple):
    """One log file as read."""

    path: str
    kind: FileKind
    report: FileReport
    logs: tuple[NodeLog, ...]
    facts: OperatorFacts | None = None
    text: TextFile | None = None  # of services, whose words matter beside their lines per hour


class _Words:
    """A stream that keeps its beginning and its end while it is read."""

    def __init__(self, stream: Blocks, limit: int) -> None:
        self._stream = stream
        self._half = limit // 2
        self._size = 0
        self._head = self._tail = b""

    def read(self, size: int, /) -> bytes:
        """Read on."""
        block = self._stream.read(size)
        self._size += len(block)
        room = self._half - len(self._head)
        self._head += block[: max(0, room)]
        self._tail = (self._tail + block[max(0, room) :])[-self._half :]
        return block

    def text_file(self, path: str, kind: FileKind, node: str | None) -> TextFile:
        """Return what was kept as text; a mark stands where the middle is left out."""
        is_cut = self._size > len(self._head) + len(self._tail)
        mark = "\n[… the middle is left out …]\n" if is_cut else ""
        text = mask(decode(self._head) + mark + decode(self._tail))
        return TextFile(file=path, kind=kind, text=text, node=node, cut=is_cut)


def read_put_off(
    path: str,
    kind: FileKind,
    content: Content,
    scanner: LogScanner,
    *,
    names: Mapping[str, str],
    only: str | None,
    limits: Limits,
) -> PutOff:
    """Return what a log file says, node by node.

    Args:
        path: Inside the case.
        kind: As recognised.
        content: Its bytes.
        scanner: Knows the clock.
        names: Host name or other alias to node.
        only: The only node of the case, where there is just one.
        limits: How much of a bug report is read, and of a service's log kept as text.
    """
    stream, smi = _opened(kind, content, limits)
    scan = scanner.scan(words := _Words(stream, limits.text_bytes))
    owner = owner_of(path, names) or only
    # What stands before a colon in a package manager's log is a level, no host.
    whole = {owner or UNATTRIBUTED: list(scan.by_host.values())}
    parts = whole if kind is FileKind.PACKAGE_LOG else _by_node(scan, owner, names)
    problem = _problem(scan, content)
    text = words.text_file(path, kind, owner) if kind in SERVICE_KINDS else None
    facts = smi_facts(smi, path, owner) if smi else None
    logs = tuple(
        _node_log(node, scans, path, kind, problem=problem)._replace(
            service_lines_whole=not scan.dropped_of_services
        )
        for node, scans in parts.items()
    )
    # A log of several hosts that was cut may have gone on with any other one.
    is_loss = content.problem is not None and len(scan.by_host.keys() - {None}) > 1
    report = FileReport(
        path=path,
        kind=kind,
        status=FileStatus.PARTLY_READ if problem else FileStatus.READ,
        reason=problem,
        lines=scan.lines,
        records=sum(len(one.lines) for one in logs),
        size=content.size,
        nodes=tuple(one.node for one in logs),
        is_loss=is_loss,
        ends_in_a_line=scan.ends_in_a_line,
    )
    return PutOff(path, kind, report, logs, facts, text)


def _opened(kind: FileKind, content: Content, limits: Limits) -> tuple[IO[bytes], str]:
    """Return a file's lines, and of a bug report also what it holds of nvidia-smi."""
    stream = io.BufferedReader(content, 256 * 1024)
    if kind is not FileKind.BUG_REPORT:
        return stream, ""
    data = stream.read(limits.document_bytes)
    begin = data.find(b"NVSMI LOG")
    end = data.find(b"\n____", begin)
    section = data[begin : end if end > begin else begin + _LONGEST_SMI] if begin >= 0 else b""
    if stream.read(1):
        content.problem = content.problem or f"longer than {limits.document_bytes} bytes"
    return io.BytesIO(data), decode(section[:_LONGEST_SMI])


def smi_facts(text: str, path: str, node: str | None) -> OperatorFacts:
    """Return what output of nvidia-smi says of a node, also among other commands.

    Args:
        text: The output, or commands with their outputs.
        path: Inside the case.
        node: Whose it is; None where the case does not tell.
    """
    found = _FULL_TIME.search(text)
    read_at = as_datetime(found[0].replace(" ", "T")) if found else None
    reading = parse_nvidia_smi(text, read_at=read_at)
    facts = NodeFacts(
        gpus_seen=reading.gpus_seen,
        gpus_seen_at=read_at if reading.gpus_seen is not None else None,
        gpus_seen_source="nvidia-smi" if reading.gpus_seen is not None else "gpu count",
        gpus=reading.gpus,
        nvidia_smi_answers=False if reading.failed or reading.no_handle else None,
    )
    one = NodeReading(
        node=node or UNATTRIBUTED,
        driver_version=reading.driver_version,
        facts=facts,
        files=(path,),
    )
    return OperatorFacts(nodes=(one,))


def _problem(scan: FileScan, content: Content) -> str | None:
    problems = [
        content.problem,
        f"{scan.long_lines} lines longer than 1 MiB were cut" if scan.long_lines else None,
        f"{scan.left_out} records without their message, which was too long for the export; "
        "export again with journalctl --all"
        if scan.left_out
        else None,
        f"{scan.foreign} lines are no text we can read" if scan.foreign else None,
        f"{scan.dropped} lines that may matter were over the cap" if scan.dropped else None,
    ]
    return "; ".join(one for one in problems if one) or None


def owner_of(path: str, names: Mapping[str, str]) -> str | None:
    """Return the node that a file's name carries: an instance id, or a known name of a node."""
    found = instance_id(path)
    if found is not None:
        return found
    plain = re.sub(r"[_/]", " ", path)
    owners = {node for name, node in names.items() if holds_name(plain, name)}
    return owners.pop() if len(owners) == 1 else None


def _by_node(
    scan: FileScan, owner: str | None, names: Mapping[str, str]
) -> dict[str, list[NodeScan]]:
    """Split a file by node. Lines without a host go to the file's owner, or to nobody by name."""
    hosts = {
        host: instance_id(host) or names.get(host) or names.get(host.partition(".")[0])
        for host in scan.by_host
        if host is not None
    }
    # A host the case does not know is the owner under another name where it is the only one.
    strangers = [host for host, node in hosts.items() if node is None]
    parts: dict[str, list[NodeScan]] = {}
    for host, part in scan.by_host.items():
        node = owner or UNATTRIBUTED
        if host is not None:
            alone = owner if len(hosts) == 1 and strangers else None
            node = hosts[host] or alone or host
        parts.setdefault(node, []).append(part)
    return parts


def _node_log(
    node: str, scans: list[NodeScan], path: str, kind: FileKind, *, problem: str | None
) -> NodeLog:
    lines = tuple(_lines(node, path, [line for scan in scans for line in scan.kept]))
    others = tuple(_lines(node, path, [line for scan in scans for line in scan.of_services]))
    hours: Counter[datetime] = Counter()
    for scan in scans:
        hours.update(scan.hours)
    if not hours:
        return NodeLog(node, lines, None, f"no line of {path} has a time of day", others)
    samples = [decode(sample) for scan in scans for sample in scan.samples]
    counts = StreamCounts(
        node=node,
        group=None,
        stream=path,
        shipper=_SHIPPERS.get(kind) or shipper_of(path, samples),
        bins=tuple(HourCount(hour=hour, lines=count) for hour, count in sorted(hours.items())),
        bins_status=Status.PARTIAL if problem else Status.OK,
        bins_reason=Reason.CUT_SHORT if problem else None,
        kernel_lines_ever=sum(scan.kernel_lines for scan in scans),
        kernel_status=Status.OK,
        evidence=evidence_id(account=None, region=None, operation="file", params=path),
    )
    return NodeLog(node, lines, counts, None, others)


def _lines(node: str, path: str, kept: list[tuple[int, bytes]]) -> Iterator[LogLine]:
    for place, text in sorted(kept):
        yield LogLine(node=node, group=None, stream=path, line=place, text=decode(text))
