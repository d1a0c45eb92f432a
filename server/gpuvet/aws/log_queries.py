"""The Logs Insights queries that discovery and coverage ask (coverage.md)."""

import json
from collections.abc import Iterator, Sequence

from gpuvet.aws.door import LogStream

# coverage.md: a query string holds 10,000 characters; names take about 70.
_MOST_NAMES = 100
_MOST_CHARACTERS = 9_000
MOST_ROWS = 100_000
MOST_LINES = 10_000
# Lines that can speak of a GPU, a boot, a shutdown or an agent; parsing sorts them out.
CANDIDATES = (
    r"NVRM|Xid|fallen off the bus|[Ff]abric ?[Mm]anager|infoROM|GPU reset"
    r"|Linux version|Command line:|Power key|SIGTERM|[Ss]hutdown|[Rr]eboot|Power-?[Oo]ff"
    r"|HealthMonitoringAgent|NPD caught|FaultyInstance|DCGM"
    r"|Kernel panic|Hardware Error|Uncorrect|EDAC MC|controller is down|soft lockup"
)
_KERNEL = "/kernel:/"
_JOURNAL = '_TRANSPORT = "kernel" or transport = "kernel" or SYSLOG_IDENTIFIER = "kernel"'


def query_parts(streams: Sequence[LogStream]) -> Iterator[list[LogStream]]:
    """Split streams so that the names of each part fit one query."""
    part: list[LogStream] = []
    size = 0
    for stream in streams:
        size += len(stream.stream) + 4
        if part and (len(part) >= _MOST_NAMES or size > _MOST_CHARACTERS):
            yield part
            part, size = [], len(stream.stream) + 4
        part.append(stream)
    if part:
        yield part


def bins_query(streams: Sequence[LogStream]) -> str:
    """Return the query for all lines per hour of exact streams."""
    return (
        f"filter {_among(streams)} | stats count(*) as lines by @log, @logStream, bin(1h) as hour"
        f" | sort hour asc | limit {MOST_ROWS}"
    )


def kernel_query(streams: Sequence[LogStream]) -> str:
    """Return the query for kernel lines ever, also of journals in JSON."""
    return (
        f"filter {_among(streams)} and (@message like {_KERNEL} or {_JOURNAL})"
        " | stats count(*) as kernelLines, max(@timestamp) as lastK by @log, @logStream"
        f" | limit {MOST_LINES}"
    )


def lines_query(streams: Sequence[LogStream], pattern: str = CANDIDATES) -> str:
    """Return the query for the lines that match a pattern without slashes, oldest first."""
    return (
        f"filter {_among(streams)} and @message like /{pattern}/"
        " | fields @timestamp, @log, @logStream, @message"
        f" | sort @timestamp asc | limit {MOST_LINES}"
    )


def find_query(pattern: str, streams: str | None) -> str:
    """Return the query for lines like a pattern, of streams named like another, oldest first."""
    named = f"@logStream like /{streams}/ and " if streams else ""
    return (
        f"filter {named}@message like /{pattern}/ | fields @timestamp, @log, @logStream, @message"
        f" | sort @timestamp asc | limit {MOST_LINES}"
    )


def _among(streams: Sequence[LogStream]) -> str:
    quoted = (json.dumps(name) for name in dict.fromkeys(one.stream for one in streams))
    return f"@logStream in [{', '.join(quoted)}]"
