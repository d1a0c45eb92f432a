"""Who holds the others up: ranks behind, ranks that never reported, peers that others name. Pure.

A watchdog reports what a rank waits for, so whoever reports is rarely the one to look at. All of
it is a hypothesis: a late rank is a symptom of its node, its data or its code alike.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpuvet.calculators.network_view import listed
from gpuvet.calculators.rank_lag import WAITING, Lag, lag_of, ranks_of, work_of
from gpuvet.model.network import (
    FlightDump,
    GuiltyFinding,
    NcclLog,
    PeerComplaint,
    PeerCount,
    RankPlace,
    Suspect,
    WatchdogKind,
    WatchdogLine,
)
from gpuvet.parse.peers import mac_of_gid

# Ours: with more of them missing the silence is more likely one of log shipping.
_FEW = 0.25
_MOST_SUSPECTS = 8


@dataclass(frozen=True, slots=True)
class Names:
    """How names in lines lead to instances.

    Attributes:
        nodes: Host name or alias to instance id.
        pods: Pod name to instance id.
        macs: MAC address of an interface to instance id.
        gpus: (instance id, local rank) to PCI id, where the GPUs of a node were listed.
    """

    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    pods: Mapping[str, str] = field(default_factory=dict[str, str])
    macs: Mapping[str, str] = field(default_factory=dict[str, str])
    gpus: Mapping[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    def node_of(self, name: str | None) -> str | None:
        """Return the instance behind a pod's, a host's or an instance's own name."""
        if name is None:
            return None
        short = name.partition(".")[0]
        dashed = f"ip-{name.replace('.', '-')}"
        options = (name, short, dashed, f"hyperpod-{name}", name.removeprefix("hyperpod-"))
        found = (self.nodes.get(one) or self.pods.get(one) for one in options)
        return next((one for one in found if one), None)


def find_guilty(
    log: NcclLog, dumps: Sequence[FlightDump] = (), names: Names | None = None
) -> GuiltyFinding | None:
    """Return whom to look at first, or None where no rank says anything of another.

    Args:
        log: Watchdog lines, complaints and places of ranks.
        dumps: Flight recorders.
        names: How names lead to instances.
    """
    known = names or Names()
    lines = log.watchdog
    if not (lines or log.complaints or dumps):
        return None
    places = _places(log, known)
    lag = lag_of(work_of(lines, dumps))
    world = _world(log, dumps)
    reporters = _reporters(lines)
    silent = _silent(lines, reporters, dumps, world)
    peers = _peers(log.complaints, known)
    suspects = tuple(_suspects(lag, silent, peers, reporters, places, known))[:_MOST_SUSPECTS]
    if not (suspects or lag.facts or reporters or peers):
        return None
    return GuiltyFinding(
        suspects=suspects,
        behind=lag.behind,
        ahead=lag.ahead,
        never_reported=silent,
        reporters=reporters,
        world_size=world,
        peers=peers,
        facts=tuple(_facts(lines, reporters, silent, world, lag, peers)),
        confirming=_confirming(suspects),
        evidence=tuple(dict.fromkeys(one.evidence for one in (*lines, *log.complaints)))[:16],
    )


def suspect_name(one: Suspect) -> str:
    """Return a suspect as `rank 3 → pod w-1 → node ip-… → i-… → GPU 0000:53:00`."""
    parts = [
        f"rank {one.rank}" if one.rank is not None else None,
        f"pod {one.pod}" if one.pod else None,
        f"node {one.host}" if one.host and one.host not in {one.pod, one.node} else None,
        one.node,
        f"GPU {one.bus}" if one.bus else None,
    ]
    if one.bus is None and one.local_rank is not None:
        parts.append(f"local rank {one.local_rank}")
    return " → ".join(part for part in parts if part) or "nobody named"


def _world(log: NcclLog, dumps: Sequence[FlightDump]) -> int | None:
    sizes = [one.world_size for one in log.places if one.world_size]
    sizes += [one.world_size for one in log.lines if one.world_size]
    sizes += [one.wanted for one in log.watchdog if one.wanted]
    sizes += [max(g.ranks) + 1 for dump in dumps for g in dump.groups if g.ranks]
    return max(sizes, default=None)


def _reporters(lines: Sequence[WatchdogLine]) -> tuple[int, ...]:
    return tuple(
        sorted({one.rank for one in lines if one.rank is not None and one.kind in WAITING})
    )


def _silent(
    lines: Sequence[WatchdogLine],
    reporters: Sequence[int],
    dumps: Sequence[FlightDump],
    world: int | None,
) -> tuple[int, ...]:
    """Return the ranks that should have timed out like the others and did not.

    A barrier names them itself. Else the job's size must be known, and they must be few.
    """
    named = {rank for one in lines for rank in one.missing_ranks}
    if named:
        return tuple(sorted(named))
    heard = {*reporters, *(one.rank for one in lines if one.rank is not None)}
    heard |= {dump.rank for dump in dumps if dump.rank is not None}
    if world is None or not heard or world > 10_000_000:
        return ()
    if world - len(heard) > max(1, int(world * _FEW)):
        return ()
    return tuple(rank for rank in range(world) if rank not in heard)


def _peers(complaints: Sequence[PeerComplaint], names: Names) -> tuple[PeerCount, ...]:
    """Count complaints per named peer; one that names itself, or nobody, counts for nobody."""
    own = {one.own_address: one.reporter for one in complaints if one.own_address and one.reporter}
    lines: Counter[str] = Counter()
    reporters: dict[str, set[str]] = defaultdict(set)
    for one in complaints:
        peer = one.peer or _by_address(one.peer_address, own, names)
        if peer is None:
            continue
        name = names.node_of(peer) or peer
        reporter = names.node_of(one.reporter) or one.reporter
        if reporter == name:
            continue
        lines[name] += 1
        if reporter:
            reporters[name].add(reporter)
    return tuple(
        PeerCount(peer=name, lines=count, reporters=tuple(sorted(reporters[name])))
        for name, count in sorted(lines.items(), key=lambda one: (-one[1], one[0]))
    )


def _by_address(address: str | None, own: Mapping[str, str | None], names: Names) -> str | None:
    """Return whose an EFA address is: its own lines say so, or the interface's MAC in it."""
    if address is None:
        return None
    mac = mac_of_gid(address)
    return own.get(address) or (names.macs.get(mac) if mac else None) or address


def _places(log: NcclLog, names: Names) -> dict[int, RankPlace]:
    """Return where each rank runs; the largest communicator is the job."""
    told = [
        RankPlace(
            rank=line.rank,
            local_rank=line.local_rank,
            host=line.host,
            pod=line.pod,
            node=line.node or None,
        )
        for line in log.watchdog
        if line.rank is not None
    ]
    ordered = sorted((*log.places, *told), key=lambda one: (-(one.world_size or 0), repr(one)))
    found: dict[int, RankPlace] = {}
    for one in ordered:
        found[one.rank] = _filled(found.get(one.rank), one)
    return {rank: _located(one, names) for rank, one in found.items()}


def _filled(known: RankPlace | None, other: RankPlace) -> RankPlace:
    """Return a place with what it lacks taken from another line about the same rank."""
    if known is None:
        return other
    missing = {
        name: value
        for name in RankPlace.model_fields
        if getattr(known, name) is None and (value := getattr(other, name)) is not None
    }
    return known.model_copy(update=missing) if missing else known


def _located(place: RankPlace, names: Names) -> RankPlace:
    node = place.node or names.node_of(place.host) or names.node_of(place.pod)
    # NCCL prints a container's host name, which is its pod's.
    is_pod = place.host is not None and place.pod is None and names.pods.get(place.host)
    bus = place.bus
    if bus is None and node is not None and place.local_rank is not None:
        bus = names.gpus.get((node, place.local_rank))
    return place.model_copy(
        update={"node": node, "pod": place.host if is_pod else place.pod, "bus": bus}
    )


def _suspects(
    lag: Lag,
    silent: Sequence[int],
    peers: Sequence[PeerCount],
    reporters: Sequence[int],
    places: Mapping[int, RankPlace],
    names: Names,
) -> Iterator[Suspect]:
    """Yield suspects, the one with most against it first."""
    why: dict[int, list[str]] = defaultdict(list)
    for rank in lag.behind:
        why[rank].append("its last work lies behind the other ranks'")
    for rank in silent:
        count = f"{len(reporters)} other ranks" if reporters else "the other ranks"
        why[rank].append(f"never reported while {count} timed out waiting")
    blamed = {one.peer: one for one in _most_named(peers)}
    nodes = {rank: places[rank].node for rank in why if rank in places}
    for rank in sorted(why, key=lambda one: (-len(why[one]), nodes.get(one) not in blamed, one)):
        place = places.get(rank) or RankPlace(rank=rank)
        peer = blamed.pop(place.node or "", None) or blamed.pop(f"rank {rank}", None)
        reasons = (*why[rank], *([_blame(peer)] if peer else ()))
        yield _suspect(place, reasons)
    for name, peer in blamed.items():
        yield _peer_suspect(name, peer, places, names)


def _most_named(peers: Sequence[PeerCount]) -> tuple[PeerCount, ...]:
    """Return the peers that are named most: by several others, or alone named at all."""
    if not peers:
        return ()
    most = max(len(one.reporters) for one in peers)
    top = tuple(one for one in peers if len(one.reporters) == most)
    return top if len(top) * 2 <= len(peers) or len(top) == 1 else ()


def _blame(peer: PeerCount) -> str:
    count = len(peer.reporters)
    return (
        f"named as not answering in {peer.lines} line{'' if peer.lines == 1 else 's'} by {count} "
        f"other{'' if count == 1 else 's'} ({listed(peer.reporters, 4)})"
    )


def _peer_suspect(
    name: str, peer: PeerCount, places: Mapping[int, RankPlace], names: Names
) -> Suspect:
    words = name.split()
    if len(words) == 2 and words[0] == "rank" and words[1].isdigit():
        place = places.get(int(words[1])) or RankPlace(rank=int(words[1]))
        return _suspect(place, (_blame(peer),))
    node = names.node_of(name) or (name if name.startswith("i-") else None)
    return Suspect(node=node, host=None if node == name else name, why=(_blame(peer),))


def _suspect(place: RankPlace, why: Sequence[str]) -> Suspect:
    return Suspect(
        rank=place.rank,
        pod=place.pod,
        host=place.host,
        node=place.node,
        local_rank=place.local_rank,
        bus=place.bus,
        why=tuple(why),
    )


def _facts(
    lines: Sequence[WatchdogLine],
    reporters: Sequence[int],
    silent: Sequence[int],
    world: int | None,
    lag: Lag,
    peers: Sequence[PeerCount],
) -> Iterator[str]:
    if reporters:
        of = f" of {world}" if world else ""
        timeouts = sorted({one.timeout_ms for one in lines if one.timeout_ms})
        after = f" after {listed([f'{ms / 1000:g} s' for ms in timeouts])}" if timeouts else ""
        yield (
            f"{len(reporters)}{of} ranks reported a watchdog timeout{after}: they waited, which is "
            "a symptom"
        )
    yield from lag.facts
    if silent:
        yield f"never reported: rank {ranks_of(silent)}"
    for one in lines:
        if one.kind is WatchdogKind.RENDEZVOUS and one.joined is not None:
            yield f"rendezvous: {one.joined} of {one.wanted} processes joined"
    for peer in peers[:4]:
        yield (
            f"{peer.peer} is named as not answering in {peer.lines} "
            f"line{'' if peer.lines == 1 else 's'} by {listed(peer.reporters, 4) or 'nobody named'}"
            ": look at it, not at who reports"
        )


def _confirming(suspects: Sequence[Suspect]) -> str | None:
    if not suspects:
        return "flight recorder dumps of all ranks (TORCH_NCCL_DUMP_ON_TIMEOUT=1), compared"
    first = suspects[0]
    where = first.node or first.host or first.pod or f"rank {first.rank}"
    return f"what that process did at the time on {where}: py-spy dump, dmesg, nvidia-smi"
