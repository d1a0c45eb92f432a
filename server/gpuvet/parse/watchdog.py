"""What ProcessGroupNCCL's watchdog, monitored barriers and the store say of ranks. Pure."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gpuvet.model.network import WatchdogKind

_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout: "
    r"WorkNCCL\((?P<inner>[^()]{0,400}(?:\([^()]{0,40}\)[^()]{0,80}){0,8})\)"
    r"(?: ran for (?P<ran>\d{1,12}) milliseconds)?"
)
_STATE = re.compile(
    r"last enqueued (?:NCCL )?work: (?P<enqueued>-?\d{1,20})"
    r".{0,40}?last completed (?:NCCL )?work: (?P<completed>-?\d{1,20})",
    re.IGNORECASE | re.DOTALL,
)
_DUMP = re.compile(r"Received a dump signal due to a collective timeout from (?:rank (?P<by>\d+))?")
_STUCK = re.compile(r"watchdog got stuck for (?P<seconds>\d{1,7}) seconds")
_BARRIER = re.compile(
    r"Ranks? (?P<ranks>\d[\d, ]*) failed to pass monitoredBarrier(?: in (?P<ms>\d{1,12}) ms)?"
)
_RENDEZVOUS = re.compile(
    r"Timed out after (?P<seconds>\d{1,7}) seconds waiting for clients\. "
    r"(?P<joined>\d{1,7})/(?P<wanted>\d{1,7}) clients joined"
)
_GROUP = re.compile(r"\[PG (?:ID )?(?P<id>\w+)(?: PG GUID \w+)?(?: ?\((?P<name>[\w.-]+)\))? Rank ")
_FIELD = re.compile(r"(?P<key>SeqNum|OpType|Timeout\(ms\))=(?P<value>[\w.-]+)")
_GLOG = re.compile(
    r"\[[EWIF](?P<month>\d{1,2})(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<part>\d{1,9}))?"
)
# Counters of a torn status are huge or out of order; nothing follows from them.
_MOST_WORK = 2**40


class WatchdogText(NamedTuple):
    """What one line says."""

    kind: WatchdogKind
    group_name: str | None = None
    sequence: int | None = None
    operation: str | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    last_enqueued: int | None = None
    last_completed: int | None = None
    signalled_by: int | None = None
    missing_ranks: tuple[int, ...] = ()
    joined: int | None = None
    wanted: int | None = None


def read_watchdog_line(body: str) -> WatchdogText | None:
    """Return what a bare line says, or None where it is none of these."""
    group = _group(body)
    if found := _TIMEOUT.search(body):
        fields = {one["key"]: one["value"] for one in _FIELD.finditer(found["inner"])}
        return WatchdogText(
            WatchdogKind.TIMEOUT,
            group_name=group,
            sequence=_whole(fields.get("SeqNum")),
            operation=fields.get("OpType"),
            timeout_ms=_whole(fields.get("Timeout(ms)")),
            ran_ms=_whole(found["ran"]),
        )
    if found := _STATE.search(body):
        return _state(body, found, group)
    if found := _STUCK.search(body):
        return WatchdogText(WatchdogKind.STUCK, group, timeout_ms=int(found["seconds"]) * 1000)
    if found := _BARRIER.search(body):
        ranks = tuple(int(one) for one in re.findall(r"\d{1,7}", found["ranks"]))
        timeout = _whole(found["ms"])
        return WatchdogText(WatchdogKind.BARRIER, group, timeout_ms=timeout, missing_ranks=ranks)
    if found := _RENDEZVOUS.search(body):
        return WatchdogText(
            WatchdogKind.RENDEZVOUS,
            timeout_ms=int(found["seconds"]) * 1000,
            joined=int(found["joined"]),
            wanted=int(found["wanted"]),
        )
    return None


def glog_time(body: str, reference: datetime) -> datetime | None:
    """Return the time in a `[E1206 18:44:16.99` prefix; it has no year and is read as UTC.

    Args:
        body: The line.
        reference: The latest plausible time, give or take a day.
    """
    found = _GLOG.search(body)
    if found is None:
        return None
    clock = f"{int(found['month']):02}-{found['day']}T{found['clock']}"
    micro = timedelta(microseconds=int((found["part"] or "0").ljust(6, "0")[:6]))
    for year in (reference.year, reference.year - 1):
        try:
            at = datetime.fromisoformat(f"{year}-{clock}").replace(tzinfo=UTC) + micro
        except ValueError:
            return None
        if at <= reference + timedelta(days=1):
            return at
    return None


def _state(body: str, found: re.Match[str], group: str | None) -> WatchdogText:
    dump = _DUMP.search(body)
    enqueued, completed = _work(found["enqueued"]), _work(found["completed"])
    if enqueued is not None and completed is not None and completed > enqueued:
        enqueued = completed = None
    return WatchdogText(
        WatchdogKind.DUMP_SIGNAL if dump else WatchdogKind.STATE,
        group_name=group,
        last_enqueued=enqueued,
        last_completed=completed,
        signalled_by=_whole(dump["by"]) if dump else None,
    )


def _group(body: str) -> str | None:
    found = _GROUP.search(body)
    return (found["name"] or found["id"]) if found else None


def _work(text: str) -> int | None:
    number = int(text)
    return number if -1 <= number < _MOST_WORK else None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
