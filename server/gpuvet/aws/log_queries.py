"""The Logs Insights queries that discovery and coverage ask, and how many names fit one (§3).

Where an index of stream names helps, a query names its streams; many fit one. Where naming them
would take a query each for a few, it reads whole groups and its rows are sorted out here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gpuvet.parse.shipper import NO_SYSTEM_LOG

# StartQuery's limits (botocore 1.44.8): a query string, groups of a query, rows of a query.
MOST_CHARACTERS = 10_000
MOST_GROUPS = 50
MOST_ROWS = 100_000
# Lines that can speak of a GPU, a boot, a shutdown or an agent; parsing sorts them out.
CANDIDATES = (
    r"NVRM|Xid|fallen off the bus|[Ff]abric ?[Mm]anager|infoROM|GPU reset"
    r"|Linux version|Command line:|Power key|SIGTERM|[Ss]hutdown|[Rr]eboot|Power-?[Oo]ff"
    r"|HealthMonitoringAgent|NPD caught|FaultyInstance|DCGM"
    r"|Kernel panic|Hardware Error|Uncorrect|EDAC MC|controller is down|soft lockup"
)
_KERNEL = "/kernel:/"
_JOURNAL = '_TRANSPORT = "kernel" or transport = "kernel" or SYSLOG_IDENTIFIER = "kernel"'


class Part(NamedTuple):
    """What one query reads: groups, and which of their streams.

    Attributes:
        groups: Names of log groups.
        streams: Exact names; (): by pattern.
        like: A pattern of stream names, where none is named.
        unlike: A pattern of stream names that are left out, where none is named.
    """

    groups: tuple[str, ...]
    streams: tuple[str, ...] = ()
    like: str | None = None
    unlike: str | None = None

    @property
    def test(self) -> str | None:
        """The filter of these streams; None: every stream."""
        if self.streams:
            return f"@logStream in [{', '.join(json.dumps(name) for name in self.streams)}]"
        if self.like is not None:
            return f"@logStream like /{_in_slashes(self.like)}/"
        if self.unlike is not None:
            return f"@logStream not like /{_in_slashes(self.unlike)}/"
        return None


def system_logs(groups: Sequence[str], like: str | None) -> Iterator[Part]:
    """Yield parts that read whole groups for streams of nodes and agents.

    Args:
        groups: Names of log groups.
        like: A pattern of the streams wanted; None: all but services and applications.
    """
    for start in range(0, len(groups), MOST_GROUPS):
        part = tuple(groups[start : start + MOST_GROUPS])
        yield Part(part, like=like, unlike=None if like else NO_SYSTEM_LOG)


def packed(streams: Iterable[tuple[str, str]], query: Callable[[Part], str]) -> Iterator[Part]:
    """Yield exact streams in as few parts as fit a query, those of a group together.

    Args:
        streams: (group, stream).
        query: Returns the query of a part; what it takes beside the names is taken off.
    """
    room = MOST_CHARACTERS - len(query(Part((), ("",))))
    groups: dict[str, None] = {}
    names: dict[str, None] = {}
    used = 0
    for group, name in sorted(set(streams)):
        more = 0 if name in names else len(json.dumps(name)) + 2
        too_many = len(groups) >= MOST_GROUPS and group not in groups
        if names and (used + more > room or too_many):
            yield Part(tuple(groups), tuple(names))
            groups, names, used = {}, {}, 0
            more = len(json.dumps(name)) + 2
        groups[group] = names[name] = None
        used += more
    if names:
        yield Part(tuple(groups), tuple(names))


def bins_query(part: Part) -> str:
    """Return the query for all lines per hour of each stream, and how many are the kernel's.

    Kernel lines of a journal in JSON count where it is written without blanks; `kernel_query`
    finds the others.
    """
    return _piped(
        part,
        (),
        "stats count(*) as lines, "
        'sum(strcontains(@message, "kernel:")) as kernelLines, '
        'sum(strcontains(@message, \'"_TRANSPORT":"kernel"\')) as journalLines '
        "by @log, @logStream, bin(1h) as hour",
        "sort hour asc",
    )


def kernel_query(part: Part) -> str:
    """Return the query for kernel lines ever, also of journals in JSON."""
    return _piped(
        part,
        (f"(@message like {_KERNEL} or {_JOURNAL})",),
        "stats count(*) as kernelLines, max(@timestamp) as lastK by @log, @logStream",
    )


def hours_query(part: Part) -> str:
    """Return the query for all lines per hour of whole groups, whoever wrote them."""
    return _piped(part, (), "stats count(*) as lines by @log, bin(1h) as hour", "sort hour asc")


def writers_query(part: Part) -> str:
    """Return the query for which streams wrote, without a listing of them."""
    return _piped(part, (), "stats count(*) as lines by @log, @logStream")


def lines_query(part: Part, pattern: str = CANDIDATES) -> str:
    """Return the query for the lines that match a pattern without slashes, oldest first."""
    return _piped(
        part,
        (f"@message like /{pattern}/",),
        "fields @timestamp, @log, @logStream, @message",
        "sort @timestamp asc",
    )


def _piped(part: Part, tests: Sequence[str], *commands: str) -> str:
    every = [test for test in (part.test, *tests) if test is not None]
    filters = [f"filter {' and '.join(every)}"] if every else []
    return " | ".join((*filters, *commands, f"limit {MOST_ROWS}"))


def _in_slashes(pattern: str) -> str:
    return pattern.replace("/", r"\/")
