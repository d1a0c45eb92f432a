"""One line of NCCL or its network plugin: what it says of the transport. Pure.

The table is incident-branches §D, layer 1. A `Bootstrap` line speaks of out-of-band set-up and
a `NET/Socket : Using` line of a candidate; neither is the transport.
"""

import re
from typing import NamedTuple

from gpuvet.model.network import NcclError, NcclKind, Transport

_HEADER = re.compile(
    r"(?P<host>[A-Za-z0-9][\w.-]{0,253}):(?P<pid>\d{1,9}):(?P<tid>\d{1,9}) "
    r"\[(?P<device>-?\d{1,4})\] "
)
_LEVEL = re.compile(r"NCCL (?P<level>INFO|WARN|ERROR|TRACE|ABORT) ?(?P<text>.*)", re.DOTALL)
_BOOTSTRAP = re.compile(r"\bBootstrap\b|^bootstrap")
_CHANNEL = re.compile(
    r"Channel \d+(?:/\d+)? ?: ?(?P<from>\d{1,7})\[[^\]]{0,20}\] -> (?P<to>\d{1,7})\[[^\]]{0,20}\]"
    r"(?: \[(?P<way>send|receive)\])? via (?P<path>\S.{0,80})"
)
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (?P<name>[\w;.-]+)")
_NETWORK = re.compile(r"Using network (?P<name>\S.{0,40})")
_OFI_TCP = re.compile(r"NET/OFI Using (?P<name>TCP|tcp|sockets)\b")
_PLUGIN = re.compile(r"NET/OFI Initializing aws-ofi-nccl")
_CANDIDATE = re.compile(r"NET/(?:Socket|IB) ?: ?Using ")
_NVLS = re.compile(r"NVLS Creating Multicast group|NVLS multicast support is available")
_PLACE = re.compile(
    r"rank (?P<rank>\d{1,7}) nranks (?P<world>\d{1,7}) cudaDev (?P<device>\d{1,4})"
    r"(?:.{0,40}?busId (?P<bus>[0-9a-fA-F]{1,12}))?"
)
_CONNECTED = re.compile(r"Connected all (?:rings|trees)")
_NETWORKS = (
    (re.compile(r"(?:AWS )?Libfabric|OFI", re.IGNORECASE), Transport.OFI_EFA),
    (re.compile(r"Socket"), Transport.SOCKET),
    (re.compile(r"IB"), Transport.IB_UNEXPECTED),
)
_PATHS = (
    (re.compile(r"NET/Socket/\d+"), Transport.SOCKET),
    (re.compile(r"NET/(?:AWS )?Libfabric/\d+|NET/OFI/"), Transport.OFI_EFA),
    (re.compile(r"NET/IB"), Transport.IB_UNEXPECTED),
    (re.compile(r"P2P/"), Transport.P2P),
    (re.compile(r"SHM"), Transport.SHM),
    (re.compile(r"NVLS"), Transport.NVLS),
)
_ERRORS = (
    (
        NcclError.SET_UP,
        re.compile(r"Unable to insert remote address|fi_av_insert|insert .{0,40}address vector"),
    ),
    (
        NcclError.NO_PROVIDER,
        re.compile(
            r"fi_getinfo failed|[Cc]ould not find any (?:optimal )?provider"
            r"|Unable to find a protocol|Failing initialization|No eligible providers"
        ),
    ),
    (
        NcclError.MEMORY,
        re.compile(r"ibv_reg_mr\S* failed|fi_mr_reg\S* failed|Unable to register memory"),
    ),
    (
        NcclError.REMOTE,
        re.compile(
            r"ncclRemoteError|Connection closed by remote peer"
            r"|Unresponsive (?:receiver|remote|peer)"
        ),
    ),
    (NcclError.OTHER, re.compile(r"nccl(?:Internal|System|UnhandledCuda|InvalidUsage)Error")),
)
# Printed by healthy runs: an optional plugin that is not installed.
_OPTIONAL = re.compile(r"(?:Plugin|TUNER)\b.*(?:Failed to find|Could not find|No plugin found)")


class NcclText(NamedTuple):
    """What one line says."""

    kind: NcclKind
    transport: Transport | None = None
    error: NcclError | None = None
    said: str = ""
    host: str | None = None
    pid: int | None = None
    device: int | None = None
    from_rank: int | None = None
    to_rank: int | None = None
    receives: bool | None = None
    rank: int | None = None
    world_size: int | None = None
    bus: str | None = None


def read_nccl_line(body: str) -> NcclText | None:
    """Return what a bare line says, or None where it says nothing of communication."""
    header = _HEADER.search(body)
    level = _LEVEL.search(body)
    if header is None and level is None:
        found = _error(body)
        return None if found is None else NcclText(NcclKind.ERROR, error=found, said=body)
    text = level["text"] if level else body[header.end() :] if header else body
    said = _said(text, is_warning=level is not None and level["level"] in {"WARN", "ERROR"})
    if said is None or header is None:
        return said
    return said._replace(
        host=header["host"],
        pid=int(header["pid"]),
        device=said.device if said.device is not None else int(header["device"]),
    )


def pci_of_bus(bus: str) -> str:
    """Return the PCI id dddd:bb:dd of NCCL's busId, hex digits of domain, bus, device, function."""
    number = int(bus, 16)
    return f"{number >> 20 & 0xFFFF:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}"


def _said(text: str, *, is_warning: bool) -> NcclText | None:
    if _BOOTSTRAP.search(text):
        return NcclText(NcclKind.BOOTSTRAP, said=text)
    return _transport(text) or _place(text) or _problem(text, is_warning=is_warning)


def _transport(text: str) -> NcclText | None:
    if channel := _CHANNEL.search(text):
        path = channel["path"].strip()
        return NcclText(
            NcclKind.CHANNEL,
            transport=next((kind for needle, kind in _PATHS if needle.match(path)), None),
            said=f"via {path}",
            from_rank=int(channel["from"]),
            to_rank=int(channel["to"]),
            receives=None if channel["way"] is None else channel["way"] == "receive",
        )
    if provider := _PROVIDER.search(text):
        is_efa = provider["name"].lower().startswith("efa")
        kind = Transport.OFI_EFA if is_efa else Transport.OFI_NOT_EFA
        return NcclText(NcclKind.CHOICE, transport=kind, said=provider[0])
    if network := _NETWORK.search(text):
        kinds = (kind for needle, kind in _NETWORKS if needle.match(network["name"]))
        return NcclText(NcclKind.CHOICE, transport=next(kinds, None), said=network[0].strip())
    if tcp := _OFI_TCP.search(text):
        return NcclText(NcclKind.CHOICE, transport=Transport.OFI_NOT_EFA, said=tcp[0])
    if _PLUGIN.search(text):
        return NcclText(NcclKind.PLUGIN, said=text)
    if _CANDIDATE.search(text):
        return NcclText(NcclKind.CANDIDATE, said=text)
    if _NVLS.search(text):
        return NcclText(NcclKind.CHANNEL, transport=Transport.NVLS, said=text)
    return NcclText(NcclKind.CONNECTED, said=text) if _CONNECTED.search(text) else None


def _place(text: str) -> NcclText | None:
    found = _PLACE.search(text)
    if found is None:
        return None
    return NcclText(
        NcclKind.PLACE,
        said=found[0],
        rank=int(found["rank"]),
        world_size=int(found["world"]),
        device=int(found["device"]),
        bus=pci_of_bus(found["bus"]) if found["bus"] else None,
    )


def _problem(text: str, *, is_warning: bool) -> NcclText | None:
    if _OPTIONAL.search(text):
        return None
    found = _error(text) or (NcclError.OTHER if is_warning else None)
    return None if found is None else NcclText(NcclKind.ERROR, error=found, said=text)


def _error(text: str) -> NcclError | None:
    return next((kind for kind, needle in _ERRORS if needle.search(text)), None)
