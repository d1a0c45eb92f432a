"""The core of one Xid or SXid line, whatever stands around it. Pure."""

import re
from typing import NamedTuple

_PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}"
_MIG = r"(?: GPU-I:\d+)?(?: GPU-CI:\d+)?"
# With `NVRM:` the brackets may hold what an injecting script left there, such as `PCI:$pci`.
# Without it (tracepoints) only the driver's own form counts, and never the tail of "SXid".
_XID = re.compile(
    rf"(?:NVRM:? *Xid *\((?P<attribute>(?:PCI:)?[^\s()]{{1,64}}{_MIG})\)"
    rf"|(?<![A-Za-z])Xid \((?P<traced>PCI:{_PCI}(?:\.[0-9a-fA-F])?{_MIG})\))"
    r": ?(?P<code>\d{1,5})(?!\d)(?P<rest>.*)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    rf"(?:PCI:)?(?P<pci>{_PCI})(?:\.[0-9a-fA-F])?"
    r"(?: GPU-I:(?P<gpu>\d+))?(?: GPU-CI:(?P<compute>\d+))?"
)
_PCI_ID = re.compile(
    r"(?P<domain>[0-9a-fA-F]{1,8}):(?P<bus>[0-9a-fA-F]{2}):(?P<device>[0-9a-fA-F]{2})"
)
_PID = re.compile(r"pid=(?P<pid>'?(?:\d+|<unknown>)?'?)(?:,\s*|$)")
_NAME = re.compile(r"name=(?P<name>.*?)(?:,\s+|,?$)", re.DOTALL)
_ROOT = re.compile(r"caused by previous Xid (\d{1,5})\b")
_SXID = re.compile(
    r"(?:nvswitch(?P<switch>\d+):? +)?SXid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)\): "
    r"(?P<code>\d{4,6})(?!\d)(?:, *(?P<rest>.*))?",
    re.DOTALL,
)
_LINK = re.compile(r"\bLink (\d+)\b")
_NVLINK5_CODES = range(144, 151)
_NVLINK5_WHOLE = re.compile(r"\((?:0x[0-9a-fA-F]+[ ,]*){4,7}\)")


class XidCore(NamedTuple):
    """What the driver printed between `Xid (` and the end of the line."""

    start: int  # where the core begins in the text
    code: int
    pci: str | None
    gpu_instance: int | None
    compute_instance: int | None
    pid: int | None
    process: str | None
    text: str
    root: int | None
    cut: bool
    well_formed: bool  # False: brackets the driver cannot have printed


class SxidCore(NamedTuple):
    """What the NVSwitch driver printed; `detail` lines belong to the line before."""

    start: int
    code: int
    switch: int | None
    switch_pci: str
    fatal: bool | None
    link: int | None
    text: str
    detail: bool


def find_xid(text: str) -> XidCore | None:
    """Return the first driver-shaped Xid in a text, or None.

    Tool-made forms such as `Xid (43, pid: 5678)` are not the driver's and give None.
    """
    if "Xid" not in text or (match := _XID.search(text)) is None:
        return None
    attribute = _ATTRIBUTE.fullmatch(match["attribute"] or match["traced"])
    code = int(match["code"])
    pid, process, body, dangling = _fields(match["rest"])
    root = _ROOT.search(body)
    return XidCore(
        start=match.start(),
        code=code,
        pci=pci_id(attribute["pci"]) if attribute else None,
        gpu_instance=_number(attribute["gpu"]) if attribute else None,
        compute_instance=_number(attribute["compute"]) if attribute else None,
        pid=pid,
        process=process,
        text=body,
        root=int(root[1]) if root else None,
        cut=dangling or is_cut(code, body),
        well_formed=attribute is not None,
    )


def find_sxid(text: str) -> SxidCore | None:
    """Return the NVSwitch error of a text, or None."""
    if "SXid" not in text or (match := _SXID.search(text)) is None:
        return None
    rest = (match["rest"] or "").strip()
    word, _, after = rest.partition(", ")
    fatal = {"fatal": True, "non-fatal": False, "nonfatal": False}.get(word.strip(",").lower())
    body = after if fatal is not None else rest
    link = _LINK.search(body)
    return SxidCore(
        start=match.start(),
        code=int(match["code"]),
        switch=_number(match["switch"]),
        switch_pci=match["pci"].lower(),
        fatal=fatal,
        link=int(link[1]) if link else None,
        text=body,
        detail=rest.startswith(("Severity ", "Data {")),
    )


def pci_id(text: str) -> str | None:
    """Return a PCI id as `dddd:bb:dd` in lower case; an 8-digit domain loses its zeros.

    Anything around the id, such as `PCI:`, `GPU` or a `.0` behind it, is dropped.
    """
    match = _PCI_ID.search(text)
    if match is None:
        return None
    return f"{int(match['domain'], 16):04x}:{match['bus']}:{match['device']}".lower()


def is_cut(code: int, text: str) -> bool:
    """Say whether a text ends where the driver prints more.

    A bare code (`…): 79`) is not cut: such copies are common and lose nothing we read. For 144 to
    150 everything up to the closing bracket is needed.
    """
    if code in _NVLINK5_CODES:
        return _NVLINK5_WHOLE.search(text) is None
    return text.count("(") > text.count(")") or text.endswith((",", "0x", "=", "…", "..."))


def _fields(rest: str) -> tuple[int | None, str | None, str, bool]:
    rest = rest.strip().rstrip("\"\\'}")
    if not rest:
        return None, None, "", False
    dangling = rest == ","
    rest = rest.lstrip(",").lstrip()
    pid = process = None
    if match := _PID.match(rest):
        pid, rest = _number(match["pid"]), rest[match.end() :]
        dangling = not rest
    if match := _NAME.match(rest):
        process, rest = _known(match["name"]), rest[match.end() :]
        dangling = not rest
    return pid, process, rest.strip(), dangling


def _known(name: str) -> str | None:
    return None if name.strip("'") in {"", "<unknown>"} else name


def _number(text: str | None) -> int | None:
    digits = (text or "").strip("'")
    return int(digits) if digits.isdecimal() and len(digits) < 19 else None
