"""`nvidia-smi` output to facts: `-q` whole or in excerpts, `-L`, NVLink status. Pure.

`N/A`, `Unknown Error`, `Not Supported` and empty are "not read", never "No" (verdict-rules §7).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from gpuvet.model.base import Value
from gpuvet.model.cluster import Flag, GpuFacts
from gpuvet.parse.node_lines import corrupted_inforom
from gpuvet.parse.untrusted import clean
from gpuvet.parse.xid_line import pci_id

MOST_RAW_LINES = 40

_GPU_HEADING = re.compile(
    r"GPU (?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?)\s*$"
)
_LISTED = re.compile(r"GPU \d+: .*?\(UUID: (?P<uuid>[\w-]+)\)")
_COUNTED = re.compile(r"nvidia-smi\s+(?:-L|--list-gpus)\s*\|\s*wc\s+-l\s*(?:#.*)?$")
_NO_HANDLE = re.compile(
    r"Unable to determine the device handle for (?:GPU)? ?(?P<pci>[0-9a-fA-F:]{7,16}\.?\d?)"
)
_FIELD = re.compile(r"(?P<name>[^:]+?)\s*:(?:\s+(?P<value>.*))?$")
_LINK = re.compile(r"\s*Link \d+: (?P<value>.+)$")
_COUNT = re.compile(r"(\d{1,9})(?: bank\(s\))?$")
_NOT_READ = frozenset(
    ("", "n/a", "unknown", "unknown error", "not supported", "insufficient permissions")
)
# `Pending` stands under several headings; under these it says nothing of row remapping.
_OTHER_PENDING = ("ECC Mode", "MIG Mode", "Retired Pages", "GPU Operation Mode", "Driver Model")
_FLAGS = (
    *("Remapping Failure Occurred", "SRAM Threshold Exceeded", "Unrepairable Memory"),
    *("Channel Repair Pending", "TPC Repair Pending"),
)
_REMAP, _HISTOGRAM, _FABRIC = "Remapped Rows", "Bank Remap Availability Histogram", "Fabric"
# What nvidia-smi prints in the place of GPUs; anchored, since a job's output may quote it.
SMI_FAILED = re.compile(
    r"(?:Unable to determine the device handle for|No devices were found|NVIDIA-SMI has failed)"
)


class SmiReading(Value):
    """What outputs of nvidia-smi say of one node."""

    gpus: tuple[GpuFacts, ...] = ()
    driver_version: str | None = None
    attached: int | None = None  # "Attached GPUs"
    listed: int | None = None  # GPUs of `nvidia-smi -L`, or its `wc -l`
    no_handle: tuple[str, ...] = ()  # PCI ids nvidia-smi could not open
    failed: bool = False  # it found no device, or did not reach the driver
    inforom_corrupted: tuple[str, ...] = ()  # PCI ids it warns of

    @property
    def gpus_seen(self) -> int | None:
        """GPUs that answered; None where the output does not count them."""
        return self.listed if self.listed is not None else self.attached


class _Item(NamedTuple):
    """One `name : value` line under its headings."""

    gpu: str | None  # PCI id of the section; None outside any
    path: tuple[str, ...]
    name: str
    value: str
    raw: str


def parse_nvidia_smi(text: str, *, read_at: datetime | None = None) -> SmiReading:
    """Return what an output of nvidia-smi says, GPU by GPU.

    Args:
        text: `-q`, `-q -d ECC,ROW_REMAPPER`, `-L`, `nvlink -s`, or several one after another;
            also `grep` excerpts: fields outside any GPU section belong to a GPU without a name.
        read_at: When it was printed.
    """
    lines = text.splitlines()
    items = tuple(_items(lines))
    found = [_facts(gpu, mine, read_at) for gpu, mine in _by_gpu(items)]
    links = _links(lines)
    known = {gpu.uuid for gpu in found}
    found += [GpuFacts(uuid=uuid, read_at=read_at) for uuid in links if uuid not in known]
    top = {item.name: item.value for item in items if item.gpu is None and not item.path}
    inforom = (corrupted_inforom(line) for line in lines)
    return SmiReading(
        gpus=tuple(_with_links(gpu, links) for gpu in found),
        driver_version=_text(top.get("Driver Version")),
        attached=_number(top.get("Attached GPUs")),
        listed=_listed(lines, links),
        no_handle=_pci_ids(match["pci"] for line in lines if (match := _NO_HANDLE.search(line))),
        failed=any(SMI_FAILED.match(line) and not _NO_HANDLE.search(line) for line in lines),
        inforom_corrupted=_pci_ids(pci for pci in inforom if pci),
    )


def flag(value: str | None) -> Flag:
    """Return a yes/no field; anything but Yes and No was not read."""
    word = (value or "").strip().lower()
    return {"yes": Flag.YES, "no": Flag.NO}.get(word, Flag.NOT_READ)


def _items(lines: Iterable[str]) -> Iterator[_Item]:
    gpu: str | None = None
    headings: list[tuple[int, str]] = []
    for line in lines:
        text = line.strip()
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        if match := _GPU_HEADING.match(text):
            gpu, headings = pci_id(match["pci"]), []
            continue
        while headings and headings[-1][0] >= indent:
            headings.pop()
        if match := _FIELD.match(text):
            path = tuple(name for _, name in headings)
            yield _Item(gpu, path, match["name"].strip(), (match["value"] or "").strip(), line)
        elif text:
            headings.append((indent, text))


def _by_gpu(items: Sequence[_Item]) -> list[tuple[str | None, list[_Item]]]:
    """Group the fields we read by GPU, in the order of the output."""
    groups: dict[str | None, list[_Item]] = {}
    for item in items:
        if item.gpu is not None or _is_read(item):
            groups.setdefault(item.gpu, []).append(item)
    return list(groups.items())


def _is_read(item: _Item) -> bool:
    under_fabric = item.path[-1:] == (_FABRIC,) and item.name in {"State", "Status"}
    under_banks = _HISTOGRAM in item.path and item.name in {"Low", "None"}
    in_remap = _REMAP in item.path and item.name == "Uncorrectable Error"
    return item.name in _FLAGS or _is_remap_pending(item) or under_fabric or under_banks or in_remap


def _is_remap_pending(item: _Item) -> bool:
    if item.name == "Remapped Rows Pending":
        return True
    if item.name != "Pending" or any(heading in item.path for heading in _OTHER_PENDING):
        return False
    return _REMAP in item.path or flag(item.value) is not Flag.NOT_READ


def _facts(gpu: str | None, items: Sequence[_Item], read_at: datetime | None) -> GpuFacts:
    flags = {name: _worst(items, name) for name in _FLAGS}
    pending = next((item.value for item in items if _is_remap_pending(item)), None)
    banks = [_number(_under(items, _HISTOGRAM, name)) for name in ("Low", "None")]
    low = [count for count in banks if count is not None]
    read = [clean(item.raw.rstrip()) for item in items if _is_read(item)]
    return GpuFacts(
        pci=gpu,
        uuid=_text(_first(items, "GPU UUID")),
        serial=_text(_first(items, "Serial Number")),
        remap_pending=flag(pending),
        remap_failed=flags["Remapping Failure Occurred"],
        remapped_uncorrectable=_number(_under(items, _REMAP, "Uncorrectable Error")),
        sram_threshold_exceeded=flags["SRAM Threshold Exceeded"],
        unrepairable_memory=flags["Unrepairable Memory"],
        channel_repair_pending=flags["Channel Repair Pending"],
        tpc_repair_pending=flags["TPC Repair Pending"],
        banks_low=sum(low) if low else None,
        fabric_state=_text(_under(items, _FABRIC, "State")),
        fabric_status=_text(_under(items, _FABRIC, "Status")),
        read_at=read_at,
        raw=tuple(read[:MOST_RAW_LINES]),
    )


def _worst(items: Iterable[_Item], name: str) -> Flag:
    """Return Yes if any line says so; the volatile counters say nothing of thresholds."""
    read = {flag(i.value) for i in items if i.name == name and "Volatile" not in i.path}
    return next((value for value in (Flag.YES, Flag.NO) if value in read), Flag.NOT_READ)


def _first(items: Iterable[_Item], name: str) -> str | None:
    return next((item.value for item in items if item.name == name), None)


def _under(items: Iterable[_Item], heading: str, name: str) -> str | None:
    return next((i.value for i in items if i.name == name and heading in i.path), None)


def _links(lines: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return active and inactive links by GPU UUID, from the lists of `-L` and `nvlink -s`."""
    counts: dict[str, tuple[int, int]] = {}
    uuid = ""
    for line in lines:
        if match := _LISTED.match(line.strip()):
            uuid = str(match["uuid"])
            counts.setdefault(uuid, (0, 0))
        elif uuid and (match := _LINK.match(line)):
            active, inactive = counts[uuid]
            is_inactive = "inactive" in match["value"]
            counts[uuid] = (active + (not is_inactive), inactive + is_inactive)
    return counts


def _with_links(gpu: GpuFacts, links: dict[str, tuple[int, int]]) -> GpuFacts:
    active, inactive = links.get(gpu.uuid or "", (0, 0))
    if not active + inactive:
        return gpu
    return gpu.model_copy(update={"links_active": active, "links_inactive": inactive})


def _listed(lines: Sequence[str], links: dict[str, tuple[int, int]]) -> int | None:
    if links:
        return len(links)
    for line, following in pairwise(lines):
        if _COUNTED.search(line):
            return _number(following)
    return None


def _pci_ids(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pci for text in texts if (pci := pci_id(text))))


def _text(value: str | None) -> str | None:
    word = (value or "").strip()
    return None if word.strip("[]").lower() in _NOT_READ else clean(word)


def _number(value: str | None) -> int | None:
    match = _COUNT.match((value or "").strip())
    return int(match[1]) if match else None
