"""Which way NCCL's data went, host by host and run by run (§D, layer 1). Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuvet.model.cause import Failure
from gpuvet.model.network import NcclError, NcclKind, NcclLine, Transport

# Ours: all ranks of one start print their first line within this.
_ONE_START = timedelta(minutes=10)
# Ours: the first seconds of a run are "at" a failure that a log dates to the second.
_SLACK = timedelta(seconds=60)
_NETWORKS = (
    *(Transport.SOCKET, Transport.OFI_NOT_EFA, Transport.IB_UNEXPECTED, Transport.OFI_EFA),
)
_LOCAL_PATHS = frozenset({Transport.P2P, Transport.SHM, Transport.NVLS})


@dataclass(frozen=True, slots=True)
class HostTransport:
    """What NCCL said on one host in one run.

    Attributes:
        host: As NCCL prints it, else the stream.
        node: The instance, where known.
        streams: Exact streams the lines stood in, with their groups.
        transport: The class of the data path between nodes; None: no line tells it.
        said: The words that decided, e.g. `via NET/Socket/0`.
        at: When the deciding line was printed.
        between: Channels to other nodes, by class.
        inside: Channels within the node, by path, e.g. `P2P/CUMEM`.
        provider: The provider line, where there is one.
        errors: Error lines.
        bootstrap: How many Bootstrap lines were left out.
        connected: Rings or trees stood.
        evidence: Ids of the deciding lines.
    """

    host: str
    node: str | None
    streams: tuple[str, ...]
    transport: Transport | None
    said: str
    at: datetime | None
    between: Mapping[Transport, int]
    inside: Mapping[str, int]
    provider: str | None
    errors: tuple[NcclLine, ...]
    bootstrap: int
    connected: bool
    evidence: tuple[str, ...]
    raw: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """One start of the job."""

    began: datetime | None
    hosts: tuple[HostTransport, ...]

    def of(self, transport: Transport) -> tuple[HostTransport, ...]:
        """Return the hosts of one class."""
        return tuple(one for one in self.hosts if one.transport is transport)

    @property
    def telling(self) -> tuple[HostTransport, ...]:
        """The hosts whose lines tell the data path."""
        return tuple(one for one in self.hosts if one.transport is not None)

    @property
    def errors(self) -> tuple[NcclLine, ...]:
        """Every error line of the run."""
        return tuple(line for one in self.hosts for line in one.errors)

    @property
    def selected_efa(self) -> bool:
        """Say whether the EFA provider was selected on any host."""
        return any(one.provider is not None for one in self.hosts)


def read_runs(lines: Sequence[NcclLine], names: Mapping[str, str]) -> tuple[Run, ...]:
    """Return the starts of the job that the lines show, oldest first.

    Args:
        lines: In any order.
        names: Host name or alias to instance id.
    """
    ordered = sorted(lines, key=_order)
    starts = _starts(ordered)
    by_run: dict[datetime | None, list[NcclLine]] = defaultdict(list)
    for line in ordered:
        by_run[_start_of(line, starts)].append(line)
    if None in by_run and len(by_run) > 1:  # lines without a time belong to no other start
        first = min(key for key in by_run if key is not None)
        by_run[first] = [*by_run.pop(None), *by_run[first]]
    keys = sorted(by_run, key=lambda key: (key is not None, key or datetime.min))  # noqa: DTZ901
    return tuple(Run(key, tuple(_hosts(by_run[key], names))) for key in keys)


def affected_run(runs: Sequence[Run], failure: Failure) -> Run | None:
    """Return the latest run that began before or at the failure; without a time the latest."""
    if failure.at is None:
        return runs[-1] if runs else None
    slack = max(_SLACK, timedelta(seconds=failure.precision_seconds))
    before = [one for one in runs if one.began is None or one.began <= failure.at + slack]
    return before[-1] if before else None


def set_up_failed(run: Run, completed: int | None = None) -> tuple[NcclLine, ...]:
    """Return the lines that say a connection was never made.

    That is an address that could not be taken over; or, with the EFA provider selected, an error
    before rings or trees stood and before any collective ended.

    Args:
        run: The run that failed.
        completed: The last collective that any rank's watchdog calls completed; None: not told.
    """
    found = tuple(line for line in run.errors if line.error is NcclError.SET_UP)
    if found or not run.selected_efa or any(one.connected for one in run.hosts):
        return found
    if completed is not None and completed > 0:
        return ()
    if completed is None and any(Transport.OFI_EFA in one.between for one in run.hosts):
        return ()  # channels were laid out, and whether a collective ended is not told
    return tuple(line for line in run.errors if line.error is NcclError.REMOTE)


def _order(line: NcclLine) -> tuple[bool, str, str, int]:
    at = line.at.isoformat() if line.at else ""
    return (line.at is not None, at, line.stream, line.line)


def _process(line: NcclLine) -> tuple[str, int | None]:
    return (line.host or line.stream, line.pid)


def _starts(lines: Sequence[NcclLine]) -> tuple[datetime, ...]:
    """Return when each run began: first lines of processes, close ones taken together."""
    first: dict[tuple[str, int | None], datetime] = {}
    chosen: dict[tuple[str, int | None], Transport] = {}
    times: list[datetime] = []
    for line in lines:
        if line.at is None:
            continue
        process = _process(line)
        before = first.get(process)
        # Process ids come again in containers: set-up after a while, or another choice, is new.
        is_other = line.kind is NcclKind.CHOICE and chosen.get(process) not in {
            line.transport,
            None,
        }
        is_new = line.kind is NcclKind.BOOTSTRAP or is_other
        if before is None or (is_new and line.at - before > _ONE_START):
            first[process] = line.at
            times.append(line.at)
        if line.kind is NcclKind.CHOICE and line.transport is not None:
            chosen[process] = line.transport
    starts: list[datetime] = []
    for at in sorted(times):
        if not starts or at - starts[-1] > _ONE_START:
            starts.append(at)
    return tuple(starts)


def _start_of(line: NcclLine, starts: Sequence[datetime]) -> datetime | None:
    at = line.at
    if at is None:
        return None
    return max((one for one in starts if one <= at), default=None)


def _hosts(lines: Sequence[NcclLine], names: Mapping[str, str]) -> Iterator[HostTransport]:
    by_host: dict[str, list[NcclLine]] = defaultdict(list)
    for line in lines:
        by_host[line.host or line.stream].append(line)
    for host in sorted(by_host):
        yield _host(host, by_host[host], names)


def _host(host: str, lines: Sequence[NcclLine], names: Mapping[str, str]) -> HostTransport:
    own = _local_ranks(lines)
    channels = [line for line in lines if line.kind is NcclKind.CHANNEL]
    between = [line for line in channels if _is_between(line, own)]
    inside = [line for line in channels if not _is_between(line, own)]
    choices = [line for line in lines if line.kind is NcclKind.CHOICE]
    deciding = _deciding(between, choices)
    first = deciding[0] if deciding else None
    nodes = {line.node for line in lines if line.node}
    efa = (line.said for line in choices if line.transport is Transport.OFI_EFA)
    return HostTransport(
        host=host,
        node=nodes.pop() if len(nodes) == 1 else names.get(host) or names.get(_short(host)),
        streams=tuple(sorted({_where(line) for line in lines})),
        transport=first.transport if first else None,
        said=first.said if first else "",
        at=first.at if first else None,
        between=Counter(line.transport for line in between if line.transport is not None),
        inside=Counter(_path(line.said) for line in inside),
        provider=next(efa, None),
        errors=tuple(line for line in lines if line.kind is NcclKind.ERROR),
        bootstrap=sum(1 for line in lines if line.kind is NcclKind.BOOTSTRAP),
        connected=any(line.kind is NcclKind.CONNECTED for line in lines),
        evidence=tuple(dict.fromkeys(line.evidence for line in deciding[:8])),
        raw=first.raw if first else None,
    )


def _deciding(between: Sequence[NcclLine], choices: Sequence[NcclLine]) -> tuple[NcclLine, ...]:
    """Return the lines of the class that wins.

    A socket channel comes first, then other channels, then what was selected; a provider that is
    not EFA outweighs the plugin's own name.
    """
    sockets = tuple(line for line in between if line.transport is Transport.SOCKET)
    if sockets:
        return sockets
    chosen = {line.transport for line in choices}
    for kind in (Transport.OFI_NOT_EFA, Transport.IB_UNEXPECTED):
        found = tuple(line for line in (*between, *choices) if line.transport is kind)
        if found:
            return found
    channels = tuple(line for line in between if line.transport is Transport.OFI_EFA)
    if channels or Transport.OFI_EFA in chosen:
        own = tuple(line for line in choices if line.transport is Transport.OFI_EFA)
        return own or channels
    return tuple(line for line in choices if line.transport is Transport.SOCKET)


def _local_ranks(lines: Sequence[NcclLine]) -> frozenset[int]:
    """Return the ranks that run on this host, as its own lines show."""
    found: set[int | None] = set()
    for line in lines:
        if line.kind is NcclKind.PLACE:
            found.add(line.rank)
        elif line.transport in _LOCAL_PATHS:
            found |= {line.from_rank, line.to_rank}
        elif line.receives is not None:
            found.add(line.to_rank if line.receives else line.from_rank)
    return frozenset(one for one in found if one is not None)


def _is_between(line: NcclLine, own: frozenset[int]) -> bool:
    """Say whether a channel leaves the node; a network path between two own ranks does not."""
    if line.transport not in _NETWORKS:
        return False
    return not (line.from_rank in own and line.to_rank in own)


def _path(said: str) -> str:
    words = said.removeprefix("via ").split("/")
    return "/".join(words[:2]) if words[0] == "P2P" else words[0].split(" ")[0]


def _where(line: NcclLine) -> str:
    return f"{line.group} {line.stream}" if line.group else line.stream


def _short(host: str) -> str:
    return host.partition(".")[0]
