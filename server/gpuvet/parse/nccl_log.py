"""Job and system lines to everything they say of GPU communication. Pure.

NCCL's transport lines, ProcessGroupNCCL's watchdog, EFA peers that do not answer, where ranks
run, and the driver's NVLink lines without an Xid, which are listed and never classified.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from gpuvet.model.events import Record, Source, TimeQuality
from gpuvet.model.network import (
    NcclKind,
    NcclLine,
    NcclLog,
    PeerComplaint,
    RankPlace,
    WatchdogLine,
)
from gpuvet.model.software import SoftwareVersion
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_line import NcclText, read_nccl_line
from gpuvet.parse.peers import PeerText, read_peer_line
from gpuvet.parse.place import Place, Spot
from gpuvet.parse.rank_tokens import FileTokens, file_tokens, rank_tokens
from gpuvet.parse.software_versions import VERSION_WORDS, read_versions
from gpuvet.parse.untrusted import clean
from gpuvet.parse.watchdog import glog_time, read_watchdog_line
from gpuvet.parse.wrappers import peel

T = TypeVar("T")

# What the lines we read hold; also the pattern of the log query.
CANDIDATES = (
    r"NCCL (INFO|WARN|ERROR).*(Using network|NET.|Bootstrap|Channel .* via|nranks|Connected all"
    r"|NVLS|Error|fail|Fail|WARN)|NCCL WARN|nccl[A-Z][A-Za-z]*Error|[Ww]atchdog"
    r"|last (enqueued|completed)|monitoredBarrier|waiting for clients|[Uu]nresponsive"
    r"|host id:|EFA addr|remote peer|peer .* unreachable|ibv_reg_mr|fi_getinfo"
    rf"|NVRM:.*NVLink|PIDFile=|CX[0-9]* ?[Bb]ridge|{VERSION_WORDS}"
)
_WORTH = re.compile(
    CANDIDATES
    + r"|CUDA Version|GNU/Linux|[Ll]ocal[_ ]?[Rr]ank|not responding|[Cc]onnect to |LOCAL_RANK"
)
_MOST_LINKS = 50
# Ours: no line of these programs is longer; what follows would only cost time.
_LONGEST_LINE, _LONGEST_BODY = 16 * 1024, 4 * 1024
_NEXT_LINES = 5  # an EFA error may break over lines; its parts stand close together
_DRIVER_LINK = re.compile(r"NVRM:(?!.*\bXid\b).*NVLink", re.IGNORECASE)
_BENIGN = (
    (re.compile(r"PIDFile= references"), "systemd's PIDFile= legacy path warning"),
    (re.compile(r"API mismatch"), "an API mismatch of a client"),
)


class _Reader:
    def __init__(
        self, *, node: str, stream: str, group: str | None, reference_time: datetime
    ) -> None:
        self.node, self.stream, self.group = node, stream, group
        self.reference = reference_time
        self.file: FileTokens = file_tokens(stream)
        self.lines: list[NcclLine] = []
        self.watchdog: list[WatchdogLine] = []
        self.complaints: list[PeerComplaint] = []
        self.places: dict[tuple[int, int | None], RankPlace] = {}
        self.links: list[str] = []
        self.benign: dict[str, None] = {}
        self.versions: list[SoftwareVersion] = []
        self.read = 0
        self._open: tuple[int, PeerComplaint] | None = None

    def take(self, raw: RawLine, place: int) -> None:
        self.read += 1
        text = raw.text[:_LONGEST_LINE]
        if _WORTH.search(text) is None:
            return
        peeled = peel(text, reference=self.reference, shipped_at=raw.shipped_at)
        node = self.node or peeled.instance or self.file.node or ""
        spot = Spot(peeled, text, raw.line or place, node, self.stream, self.group)
        pod = peeled.channel.partition("/")[0] or self.file.pod
        self._benign(peeled.body)
        for whole in peeled.body.splitlines():
            body = whole[:_LONGEST_BODY]
            place_of_body = self._place(spot, body)
            self.versions += [
                SoftwareVersion(**place_of_body, **said._asdict()) for said in read_versions(body)
            ]
            self._one(body, place_of_body, pod or None)

    def _place(self, spot: Spot, body: str) -> Place:
        found = spot.place(Source.USER_SPACE)
        stamp = glog_time(body, self.reference)
        if stamp is not None and found["time_quality"] is not TimeQuality.EXACT:
            found["at"], found["time_quality"] = stamp, TimeQuality.ASSUMED
        return found

    def _benign(self, body: str) -> None:
        for pattern, name in _BENIGN:
            if pattern.search(body):
                self.benign[name] = None
        if _DRIVER_LINK.search(body) and len(self.links) < _MOST_LINKS:
            self.links.append(clean(body))

    def _one(self, body: str, place: Place, pod: str | None) -> None:
        nccl = read_nccl_line(body)
        if nccl is not None and self._keep(nccl, place, pod) is not NcclKind.ERROR:
            return
        tokens = rank_tokens(body)
        rank = tokens.rank if tokens.rank is not None else self.file.rank
        local = tokens.local_rank if tokens.local_rank is not None else self.file.local_rank
        said = read_watchdog_line(body)
        if said is not None:
            who = {"rank": rank, "local_rank": local, "host": tokens.host, "pod": pod}
            self.watchdog.append(WatchdogLine.model_validate({**place, **said._asdict(), **who}))
        if said is not None or (tokens.rank is not None and tokens.local_rank is not None):
            self._remember(rank, local, tokens.world_size, place["node"], tokens.host, pod)
        peer = read_peer_line(body) if said is None else None
        if peer is not None:
            self._complain(peer, place, rank, nccl.host if nccl else tokens.host)

    def _keep(self, nccl: NcclText, place: Place, pod: str | None) -> NcclKind:
        fields = nccl._asdict()
        fields["said"] = clean(nccl.said)
        self.lines.append(NcclLine(**place, **fields))
        if nccl.kind is NcclKind.PLACE:
            node, host = place["node"], nccl.host
            self._remember(nccl.rank, nccl.device, nccl.world_size, node, host, pod, bus=nccl.bus)
        return nccl.kind

    def _complain(self, said: PeerText, place: Place, rank: int | None, host: str | None) -> None:
        """Keep a complaint; parts of one that broke over lines are put together."""
        line = place["line"]
        open_line, before = self._open or (-_NEXT_LINES - 1, None)
        goes_on = line - open_line <= _NEXT_LINES and before is not None and before.peer is None
        if goes_on and before is not None and _fits(before, said):
            joined = before.model_copy(
                update={
                    "reporter": said.reporter or before.reporter,
                    "peer": said.peer or before.peer,
                    "peer_address": said.peer_address or before.peer_address,
                    "own_address": said.own_address or before.own_address,
                }
            )
            self.complaints[-1] = joined
            self._open = (line, joined)
            return
        by = said.reporter or (f"rank {rank}" if rank is not None else host)
        found = PeerComplaint(
            **place,
            reporter=by,
            peer=said.peer,
            peer_address=said.peer_address,
            own_address=said.own_address,
            error=clean(said.error),
        )
        self.complaints.append(found)
        self._open = (line, found)

    def _remember(
        self,
        rank: int | None,
        local: int | None,
        world: int | None,
        node: str,
        host: str | None,
        pod: str | None,
        bus: str | None = None,
    ) -> None:
        if rank is None:
            return
        key = (rank, world)
        old = self.places.get(key) or RankPlace(rank=rank)
        self.places[key] = RankPlace(
            rank=rank,
            local_rank=local if local is not None else old.local_rank,
            host=host or old.host,
            pod=pod or old.pod,
            node=node or old.node or None,
            bus=bus or old.bus,
            world_size=world or old.world_size,
        )


def _fits(before: PeerComplaint, said: PeerText) -> bool:
    """Say whether a line adds to a complaint instead of beginning the next one."""
    pairs = (
        (before.peer_address, said.peer_address),
        (before.own_address, said.own_address),
        (before.peer, said.peer),
    )
    adds = any(new and not old for old, new in pairs) or bool(said.reporter)
    return adds and not any(old and new for old, new in pairs)


def parse_nccl(
    lines: Iterable[RawLine],
    *,
    node: str = "",
    stream: str,
    group: str | None = None,
    reference_time: datetime,
) -> NcclLog:
    """Return what the lines of one stream say of GPU communication.

    Args:
        lines: In order, with their wrappers.
        node: Whose stream it is; empty where the case does not tell.
        stream: Exact stream or file name; a pod or a rank in it counts.
        group: Its log group.
        reference_time: Latest plausible time of stamps without a year.
    """
    reader = _Reader(node=node, stream=stream, group=group, reference_time=reference_time)
    for place, line in enumerate(lines, start=1):
        reader.take(line, place)
    return NcclLog(
        lines=tuple(reader.lines),
        watchdog=tuple(reader.watchdog),
        complaints=tuple(reader.complaints),
        places=tuple(reader.places.values()),
        driver_links=tuple(reader.links),
        benign=tuple(reader.benign),
        versions=tuple(reader.versions),
        read=reader.read,
    )


def joined_logs(logs: Iterable[NcclLog]) -> NcclLog:
    """Return several logs as one, in an order that does not depend on theirs."""
    found = list(logs)
    return NcclLog(
        lines=tuple(sorted(_each(log.lines for log in found), key=_order)),
        watchdog=tuple(sorted(_each(log.watchdog for log in found), key=_order)),
        complaints=tuple(sorted(_each(log.complaints for log in found), key=_order)),
        places=tuple(sorted(_each(log.places for log in found), key=repr)),
        driver_links=tuple(sorted(_each(log.driver_links for log in found))),
        benign=tuple(sorted(_each(log.benign for log in found))),
        versions=tuple(sorted(_each(log.versions for log in found), key=_order)),
        read=sum(log.read for log in found),
    )


def _each(parts: Iterable[Iterable[T]]) -> list[T]:
    """Return every item once."""
    return list(dict.fromkeys(one for part in parts for one in part))


def _order(one: Record) -> tuple[str, str, int, str]:
    at = one.at.isoformat() if one.at else ""
    return (at, one.stream, one.line, repr(one))
