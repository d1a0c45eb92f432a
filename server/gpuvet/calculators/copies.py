"""Copies of one event from several sources, brought to the GPU and the boot they speak of (§3.2).

Where the copies of an event lie side by side, folding a burst folds them too; this is for records
that lack a PCI id, and for stamps that put a copy on the wrong side of a boot.
"""

from collections.abc import Sequence

from gpuvet.model.events import Source, XidEvent

_US = 1_000_000

# verdict-rules §3.2; ours.
COPY_US = 2 * _US
AGENT_COPY_US = 120 * _US

AGENTS = frozenset(
    {
        *(Source.HMA, Source.DCGM, Source.DCGM_GAUGE, Source.EKS_CONDITION),
        Source.DEVICE_PLUGIN,
    }
)

Placed = tuple[int, int, XidEvent]  # boot, position, event
Key = tuple[int, str | None, int]  # code, PCI id, boot


def join_without_pci(buckets: dict[Key, list[Placed]]) -> None:
    """Let records without a PCI id join the same code on the GPU nearest in time."""
    for key in [k for k in buckets if k[1] is None]:
        code = key[0]
        hosts = [
            (position, other)
            for other, placed in buckets.items()
            if other[0] == code and other[1] is not None
            for _, position, _ in placed
        ]
        left: list[Placed] = []
        for item in buckets[key]:
            host = _host(item, hosts)
            if host is None:
                left.append(item)
            else:
                buckets[host].append((host[2], item[1], item[2]))
        if left:
            buckets[key] = left
        else:
            del buckets[key]


def _host(item: Placed, hosts: Sequence[tuple[int, Key]]) -> Key | None:
    """Return where a record without a PCI id belongs; one without a time fits any."""
    event = item[2]
    if event.at is None and event.uptime_us is None:
        return max(hosts, key=lambda h: (h[1][2], h[0], h[1][1] or ""))[1] if hosts else None
    reach = AGENT_COPY_US if event.source in AGENTS else COPY_US
    near = [(abs(p - item[1]), key[2] != item[0], key) for p, key in hosts]
    near = [n for n in near if n[0] <= reach]
    return min(near, key=lambda n: (n[0], n[1], n[2][1] or ""))[2] if near else None


def join_over_boots(buckets: dict[Key, list[Placed]]) -> None:
    """Take back copies that a late stamp put on the wrong side of a boot (verdict-rules §3.2)."""
    for key in sorted(buckets, key=lambda k: (k[0], k[1] or "", k[2])):
        code, pci, boot = key
        for side in (boot - 1, boot + 1):
            originals = buckets.get((code, pci, side))
            if not originals:
                continue
            stray = [i for i in buckets[key] if _is_stray(i, originals, buckets[key])]
            if not stray:
                continue
            originals += [(side, position, event) for _, position, event in stray]
            kept = [i for i in buckets[key] if i not in stray]
            if kept:
                buckets[key] = kept
            else:
                del buckets[key]
                break


def _is_stray(item: Placed, originals: Sequence[Placed], own: Sequence[Placed]) -> bool:
    event = item[2]
    if event.uptime_us is not None or event.boot is not None or event.source is Source.GPU_LOST:
        return False
    by_agent = event.source in AGENTS
    nearest = min((abs(p - item[1]) for _, p, e in own if e.source not in AGENTS), default=None)
    if by_agent and nearest is not None and nearest <= AGENT_COPY_US:
        return False
    return any(
        abs(position - item[1]) <= AGENT_COPY_US
        and (other.stream, other.group) != (event.stream, event.group)
        and other.source not in AGENTS
        and (by_agent or (other.uptime_us is not None and is_copy(event, other)))
        for _, position, other in originals
    )


def may_be_copies(one: Placed, other: Placed) -> bool:
    """Say whether two places are near enough; a clock without uptime may be off (§3.2)."""
    apart = abs(one[1] - other[1])
    by_agent = one[2].source in AGENTS or other[2].source in AGENTS
    no_uptime = (one[2].uptime_us is None) != (other[2].uptime_us is None)
    return apart <= (AGENT_COPY_US if by_agent or no_uptime else COPY_US)


def is_copy(one: XidEvent, other: XidEvent) -> bool:
    """Say whether two lines are one message told by two streams."""
    if one.stream == other.stream and one.group == other.group:
        return False
    same_pid = one.pid is None or other.pid is None or one.pid == other.pid
    same_text = not one.text or not other.text or one.text.strip() == other.text.strip()
    return same_pid and same_text
