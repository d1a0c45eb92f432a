"""One pass over a log of any size: lines per hour and the lines that may matter, node by node.

Memory stays bounded: counts per hour, and of the lines only candidates, up to a cap that is
reported. A line says whose it is by the host or instance id in its header.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from gpuvet.aws.timestamps import as_datetime
from gpuvet.case.journal_arrays import with_text
from gpuvet.parse.agent_log import NEEDLES as AGENT_NEEDLES
from gpuvet.parse.scan_needles import hits
from gpuvet.parse.service_lines import NEEDLES
from gpuvet.parse.times import leading_stamp

# Ours: a line of this length is no log line; its beginning is kept.
LONGEST_LINE = 1024 * 1024
KEPT_OF_LINE = 16 * 1024
# Ours: candidates of one file, and their bytes, kept at most. A GPU that floods its log repeats
# itself long before.
MOST_CANDIDATES = 200_000
MOST_OF_SERVICES = 50_000
MOST_BYTES = 96 * 1024 * 1024
SAMPLES = 50
_BLOCK = 256 * 1024
_SERVICES = (*NEEDLES, *AGENT_NEEDLES)
# A stamp before this got its year from no reference, or is no time of a log.
_NO_REFERENCE = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
_NULS = re.compile(rb"\0+")
_LEFT_BY_A_CRASH = re.compile(rb"\0{2,}")
_FEW_RUNS = 8  # ours, as of a file's beginning
_UPTIME = re.compile(rb"\s*\[\s*\d+\.\d{6}\]|\d{1,4},\d+,\d+,[^;]{0,64};")
_ISO_ZONE = re.compile(rb"(?:Z|[+-]\d\d:?\d\d)$")
_CLOCKED = re.compile(rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
_HEADER = re.compile(rb"([\w.-]+) [\w./@()-]+(?:\[\d+\])?:(?: |$)")
_INSTANCE = re.compile(rb"(i-(?:[0-9a-f]{17}|[0-9a-f]{8}))[ :]")
_JSON_HOST = re.compile(
    rb'"(?:ec2_instance_id|_HOSTNAME|host(?:name)?|_MACHINE_NAME)"\s*:\s*"([\w.-]{1,255})"'
)
_JSON_TIME = re.compile(
    rb'"(?:__REALTIME_TIMESTAMP|_SOURCE_REALTIME_TIMESTAMP)"\s*:\s*"?(\d{16})"?'
    rb'|"(?:timestamp|ts|time|@timestamp|datetime)"\s*:\s*"([\dT:.Z+-]{19,35})"'
)


class Blocks(Protocol):
    """Bytes that are read in blocks."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""
        ...


@dataclass
class NodeScan:
    """What one node wrote into one file."""

    hours: dict[datetime, int] = field(default_factory=dict[datetime, int])
    lines: int = 0
    kernel_lines: int = 0
    unstamped: int = 0  # lines without a wall time: in no hour
    kept: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    of_services: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    samples: list[bytes] = field(default_factory=list[bytes])


@dataclass
class FileScan:
    """What one pass over a file came to; None is the node whose lines name no host."""

    by_host: dict[str | None, NodeScan] = field(default_factory=dict[str | None, NodeScan])
    lines: int = 0
    long_lines: int = 0
    left_out: int = 0  # records of a journal whose message is not in the export
    foreign: int = 0  # lines that are no text
    ends_in_a_line: bool = False  # its last line is not ended
    dropped: int = 0  # candidates beyond the caps
    dropped_of_services: int = 0  # likewise, of lines that say nothing of a GPU
    first: datetime | None = None  # hour of the earliest and the latest stamp
    last: datetime | None = None


class _Kept:
    """How much of one file's candidates is kept already."""

    def __init__(self) -> None:
        self._lines = self._of_services = self._bytes = 0

    def keep(self, node: NodeScan, place: int, line: bytes) -> bool:
        """Keep a line; False where there is no more room."""
        self._lines += 1
        return self._lines <= MOST_CANDIDATES and self._keep(node.kept, place, line)

    def of_service(self, node: NodeScan, place: int, line: bytes) -> bool:
        """Keep a line of the cluster's services; False where there is no more room."""
        self._of_services += 1
        has_room = self._of_services <= MOST_OF_SERVICES
        return has_room and self._keep(node.of_services, place, line)

    def _keep(self, kept: list[tuple[int, bytes]], place: int, line: bytes) -> bool:
        text = line[:KEPT_OF_LINE].rstrip(b"\r")
        self._bytes += len(text) + 100
        if self._bytes > MOST_BYTES:
            return False
        kept.append((place, text))
        return True


class LogScanner:
    """Scans files one after the other; what it learned of stamps serves the next one too."""

    def __init__(self, reference: datetime | None) -> None:
        """Take the latest plausible time of a stamp without a year; None: they get no hour."""
        self._reference = reference
        self._hours: dict[bytes, datetime | None] = {}

    def scan(self, stream: Blocks) -> FileScan:
        """Return what a file says, in one pass."""
        found = FileScan()
        kept = _Kept()
        place = 0
        for raw in _blocks(stream, found):
            block, left_out = with_text(raw)
            found.left_out += left_out
            found.foreign += _foreign_lines(block)
            block = _plain(block)
            marked = {hit.start for hit in hits(block)}
            service = [needle for needle in _SERVICES if needle in block]
            start = 0
            for line in block.split(b"\n"):
                place += 1
                host, hour = self._header(line)
                node = found.by_host.get(host)
                if node is None:
                    node = found.by_host[host] = NodeScan()
                _count(node, line, hour)
                if start in marked:
                    whole = kept.keep(node, place, line) and len(line) <= KEPT_OF_LINE
                    found.dropped += not whole
                elif service and any(needle in line for needle in service):
                    found.dropped_of_services += not kept.of_service(node, place, line)
                start += len(line) + 1
        found.lines = place
        hours = [hour for node in found.by_host.values() for hour in node.hours]
        found.first, found.last = (min(hours), max(hours)) if hours else (None, None)
        return found

    def _header(self, line: bytes) -> tuple[str | None, datetime | None]:
        """Return host and hour of a line; the usual spellings cost a slice and a look-up."""
        first = line[:1]
        if first == b"<":
            line = line[line.find(b">") + 1 :].removeprefix(b"1 ")
            first = line[:1]
        if first.isdigit() and line[10:11] in {b"T", b" "} and line[13:14] == b":":
            return self._iso(line)
        if first.isalpha() and _CLOCKED.match(line):
            return _host(line, 16), self._hour(line[:12], line[:15])
        if first == b"{":
            return self._json_header(line[: 8 * 1024])
        return None, self._read_hour(line[:64]) if first.isalnum() or first == b"[" else None

    def _iso(self, line: bytes) -> tuple[str | None, datetime | None]:
        end = line.find(b" ", 19, 48)
        stamp = line[: end if end > 0 else 19]
        zone = _ISO_ZONE.search(stamp)
        key = line[:16] + (zone[0] if zone else b"")
        return _host(line, len(stamp) + 1), self._hour(key, stamp)

    def _hour(self, key: bytes, stamp: bytes) -> datetime | None:
        """Return the hour of a stamp; all stamps of one key lie in the same minute."""
        if key not in self._hours:
            self._hours[key] = self._read_hour(stamp)
        return self._hours[key]

    def _read_hour(self, text: bytes) -> datetime | None:
        reference = self._reference or _NO_REFERENCE
        stamp, _ = leading_stamp(text.decode("ascii", errors="replace"), reference)
        if stamp is None or stamp.at < _FIRST:
            return None
        return _floor(stamp.at)

    def _json_header(self, head: bytes) -> tuple[str | None, datetime | None]:
        host, time = _JSON_HOST.search(head), _JSON_TIME.search(head)
        at: datetime | None = None
        if time is not None and time[1]:
            at = datetime.fromtimestamp(int(time[1]) / 1e6, UTC)
        elif time is not None:
            at = as_datetime(time[2].decode("ascii"))
        name = host[1].decode("ascii") if host is not None else None
        return name, None if at is None else _floor(at)


def _foreign_lines(block: bytes) -> int:
    """Return how many lines are no text; a run of NULs that a crash left is none of them."""
    if block.isascii() and b"\0" not in block:
        return 0
    lines = (line for line in block.split(b"\n") if not line.isascii() or b"\0" in line)
    return sum(1 for line in lines if _is_foreign(line[:KEPT_OF_LINE]))


def _is_foreign(line: bytes) -> bool:
    if line.count(b"\0") and len(_NULS.findall(line)) > _FEW_RUNS:
        return True
    broken = line.decode("utf-8", errors="replace").count("\ufffd")
    return broken > _FEW_RUNS and broken * 4 > len(line)


def _count(node: NodeScan, line: bytes, hour: datetime | None) -> None:
    node.lines += 1
    if hour is None:
        node.unstamped += 1
    else:
        node.hours[hour] = node.hours.get(hour, 0) + 1
    if b" kernel: " in line or b'"kernel"' in line or _UPTIME.match(line) is not None:
        node.kernel_lines += 1
    if len(node.samples) < SAMPLES:
        node.samples.append(line[:1024])


def _host(line: bytes, place: int) -> str | None:
    """Return the host that a header names after its stamp, or the instance id that stands there."""
    found = _HEADER.match(line, place) or _INSTANCE.match(line, place)
    return None if found is None else found[1].decode("ascii", errors="replace")


def _floor(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _plain(block: bytes) -> bytes:
    """Return lines without the NULs a crash leaves before them; CR alone also ends a line."""
    if b"\0\0" in block:  # single ones are the other half of UTF-16
        block = _LEFT_BY_A_CRASH.sub(b"", block)
    return block.replace(b"\r", b"\n") if b"\r" in block and b"\n" not in block else block


def _blocks(stream: Blocks, found: FileScan) -> Iterator[bytes]:
    """Yield blocks of whole lines; a line beyond the longest is cut, and counted."""
    rest = b""
    is_over = False  # inside a line that was cut already
    while block := stream.read(_BLOCK):
        if is_over:
            _, newline, block = block.partition(b"\n")
            if not newline:
                continue
            is_over = False
        whole, newline, tail = (rest + block).rpartition(b"\n")
        if newline:
            yield whole
        rest = tail
        if len(rest) >= LONGEST_LINE:
            found.long_lines += 1
            yield rest
            rest, is_over = b"", True
    if rest:
        found.ends_in_a_line = not rest.endswith((b"\r", b"\0"))
        yield rest
