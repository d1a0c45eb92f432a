"""Lines in which one side says of another that it does not answer. Pure."""

import re
from typing import NamedTuple

_NAME = r"(?:rank \d{1,7}|[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)"
_PEER_ID = re.compile(r"Peer host id: ?(?P<name>[\w./-]+)", re.IGNORECASE)
_OWN_ID = re.compile(r"My host id: ?(?P<name>[\w./-]+)", re.IGNORECASE)
_PEER_ADDRESS = re.compile(r"Peer EFA addr(?:ess)?: ?(?:fi_addr_efa://)?\[(?P<gid>[0-9a-fA-F:]+)\]")
_OWN_ADDRESS = re.compile(r"My EFA addr(?:ess)?: ?(?:fi_addr_efa://)?\[(?P<gid>[0-9a-fA-F:]+)\]")
_UNRESPONSIVE = re.compile(r"[Uu]nresponsive|not responding|[Uu]nreachable")
_NAMED = (
    re.compile(
        r"[Uu]nresponsive (?:(?:EFA|remote|receiver|peer|node|host)[\s:=(]{1,4}){1,3}"
        rf"(?P<name>{_NAME})"
    ),
    re.compile(
        rf"\b(?:peer|remote) (?:rank |node |host )?(?P<name>{_NAME})(?:<\d+>)? "
        r"(?:is |was |became )?(?:unresponsive|unreachable|not responding)"
    ),
    re.compile(rf"Connection closed by remote peer (?P<name>{_NAME})"),
    re.compile(rf"[Cc]onnect to (?P<name>{_NAME})(?:<\d+>|:\d+)?,? (?:failed|timed out|returned)"),
)
# Words that stand where a name could.
_NO_NAMES = frozenset(
    {
        *("n", "n/a", "a", "na", "none", "unknown", "the", "is", "was", "of", "error", "reachable"),
        *("my", "peer", "host", "node", "remote", "receiver", "on", "events", "by", "efa"),
    }
)
_RANK_OF = re.compile(r"\b(?:peer|remote) rank (?P<rank>\d{1,7})\b", re.IGNORECASE)


class PeerText(NamedTuple):
    """Who complains of whom, as far as one line says."""

    reporter: str | None = None
    peer: str | None = None
    peer_address: str | None = None
    own_address: str | None = None
    error: str = ""


def read_peer_line(body: str) -> PeerText | None:
    """Return whom a line names as not answering; None where it is about nobody."""
    peer = _PEER_ID.search(body)
    address = _PEER_ADDRESS.search(body)
    own_id, own_address = _OWN_ID.search(body), _OWN_ADDRESS.search(body)
    name = _known(peer["name"]) if peer else None
    if name is None and address is None:
        name = _named(body)
    silent = _UNRESPONSIVE.search(body)
    if name is None and address is None and own_id is None and own_address is None and not silent:
        return None
    return PeerText(
        reporter=_known(own_id["name"]) if own_id else None,
        peer=name,
        peer_address=address["gid"].lower() if address else None,
        own_address=own_address["gid"].lower() if own_address else None,
        error=body,
    )


def mac_of_gid(gid: str) -> str | None:
    """Return the MAC address in a link-local GID (EUI-64), or None where it holds none."""
    parts = gid.lower().removeprefix("fe80::").split(":")
    if not gid.lower().startswith("fe80::") or len(parts) != 4:
        return None
    try:
        octets = b"".join(int(part, 16).to_bytes(2, "big") for part in parts)
    except (ValueError, OverflowError):
        return None
    if octets[3:5] != b"\xff\xfe":
        return None
    mac = bytes([octets[0] ^ 2]) + octets[1:3] + octets[5:]
    return ":".join(f"{octet:02x}" for octet in mac)


def _named(body: str) -> str | None:
    rank = _RANK_OF.search(body)
    if rank is not None and _UNRESPONSIVE.search(body):
        return f"rank {rank['rank']}"
    for pattern in _NAMED:
        found = pattern.search(body)
        if found is not None:
            return _known(found["name"])
    return None


def _known(name: str) -> str | None:
    plain = name.strip(".,;:()[]")
    return None if plain.lower() in _NO_NAMES else plain
