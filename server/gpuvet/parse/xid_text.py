"""What the text after an Xid's code says, one small function a question.

Pure: each takes `XidEvent.text` and returns a value, or None where the text does not say it.
"""

import re
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet.parse.xid_line import pci_id


class Memory(StrEnum):
    """Which memory an uncorrectable error hit."""

    DRAM = "DRAM"
    SRAM = "SRAM"
    BOTH = "both"
    UNKNOWN = "unknown"


class RowRemap(StrEnum):
    """What a 63 says was staged."""

    ROW = "row remap"
    PAGE = "page retirement"  # before A100
    OTHER = "other"


class Severity(StrEnum):
    """The word an NVLink 5 line prints."""

    FATAL = "Fatal"
    NONFATAL = "Nonfatal"
    LINK_FATAL = "Link Fatal"

    @property
    def is_fatal(self) -> bool:
        """True for both fatal words (verdict-rules §10)."""
        return self is not Severity.NONFATAL


class Containment(Value):
    """A 94 or 95: what was hit, and which resets the driver asks for."""

    contained: bool
    unit: str | None = None  # SM, CE User Channel, LTC TAG, GSP-RISCV
    reset: bool | None = None  # RST
    drain_and_reset: bool | None = None  # D-RST


class LinkFault(Value):
    """A 74: the link and its seven registers, where the line still has them."""

    link: int
    registers: tuple[int, ...] | None = None
    failed_to_train: bool = False
    remote_pci: str | None = None


class NvLink5(Value):
    """A 144 to 150, whole."""

    units: tuple[str, ...]  # two where one token names both spellings
    severity: Severity
    cross_contained: int  # the digit after XC
    injected: int  # the digit after i: 1 and more are tests
    link: int  # -1: not tied to one link
    intr_info: int
    error_status: int
    rest: tuple[int, ...] = ()


class RecoveryAction(Value):
    """A 154: the numbers decide, the words vary by driver."""

    before: int
    after: int
    before_text: str = ""
    after_text: str = ""


class ShaderPlace(Value):
    """Where a 13 or a spare-TPC repair happened."""

    gpc: int
    tpc: int
    sm: int | None = None


class MmuFault(Value):
    """A 31: who touched what."""

    engine: str | None = None
    client: str | None = None
    address: str | None = None
    fault: str | None = None
    access: str | None = None

    @property
    def is_unrecognized_client(self) -> bool:
        """True where the driver could not name the client."""
        return self.client is not None and "UNRECOGNIZED_CLIENT" in self.client


class GspTimeout(Value):
    """A 119 or 120."""

    gpu_index: int | None = None
    function: int | None = None
    function_name: str | None = None
    seconds: int | None = None


class EccCounts(Value):
    """The four counts of a 140."""

    dram: int
    ltc: int
    mmu: int
    pcie: int


class Repair(Value):
    """A 156, 157, 160, 161 or 177: staged, or impossible."""

    possible: bool
    to_activate: bool = False  # the text asks for a reset to activate it
    mig_mode: bool = False  # 157: not possible because of MIG, not for want of a spare
    place: ShaderPlace | None = None
    channel: int | None = None
    fbpa: int | None = None


_DRAM = re.compile(r"framebuffer|\bFBPA\b|\bHBM\d*E?\b|\bGDDR\d*X?\b|\bDRAM\b", re.IGNORECASE)
_SRAM = re.compile(
    r"\bSRAM\b|\bL1\b|\bL2\b|\bLTC\b|\bSM\b|register file|\bGSP\b|\bGSP-RISCV\b|\bPMU\b|\bFECS\b"
    r"|\bMMU\b|\bPCIE\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r" {0,8}([^,()\s][^,()]{0,63}?) {0,8}, {0,8}Uncorrectable", re.IGNORECASE)
_ADDRESS = re.compile(r"\(?\b(0x[0-9a-fA-F]{1,16})\b")
_PENDING = re.compile(
    r"already pending remapping|pending row remap|pending bank remap|pending LTS swap",
    re.IGNORECASE,
)
_REMAP_HEAD = re.compile(r"Row Remapper(?: Error)?|\(?0x[0-9a-fA-F]+\)?", re.IGNORECASE)
_OPEN_REASON = re.compile(
    r"(?:DRAM Retirement(?: failed)?(?: due(?: to)?)?|Attempting(?: to(?: remap(?: a)?)?)?"
    r"|a row\b.*|\bpend\w*(?: (?:row|bank|LTS))?)$",
    re.IGNORECASE,
)
_CONTAINED = re.compile(r"\b(?P<un>Un)?contained: *(?P<unit>[^(.]*)", re.IGNORECASE)
_RST = re.compile(r"(?<!D-)\bRST: *(Yes|No)\b", re.IGNORECASE)
_D_RST = re.compile(r"\bD-RST: *(Yes|No)\b", re.IGNORECASE)
_GSP_UNIT = re.compile(r"(?P<unit>GSP(?:-RISCV)?)\b(?=.*fatal error)", re.IGNORECASE)
_LINK_FAULT = re.compile(r"\bon link (?P<link>\d{1,3})\b(?:\((?P<registers>[^)]*)\))?")
_TRAIN = re.compile(
    r"failed to train link (?P<link>\d{1,3})(?: to remote (?P<pci>(?:PCI:)?[0-9a-fA-F:.]+))?",
    re.IGNORECASE,
)
_NVLINK5 = re.compile(
    r"(?<![A-Za-z0-9_/])(?P<units>[A-Z][A-Z0-9_]*(?:/[A-Z0-9_]+)*),?\s+"
    r"(?P<severity>Fatal|Nonfatal|Non-fatal|Link[ _]Fatal)\s+"
    r"XC(?P<xc>\d)\s+i(?P<injected>\d+)\s+Link\s+(?P<link>-?\d{1,3})\s*\((?P<words>[^)]*)\)",
    re.IGNORECASE,
)
_ACTION = re.compile(
    r"changed from (?:0x)?(?P<before>[0-9a-fA-F]{1,4})(?: \((?P<before_text>[^)]*)\))?"
    r" to (?:0x)?(?P<after>[0-9a-fA-F]{1,4})\b(?: \((?P<after_text>[^)]*)\)?)?"
)
_SHADER = re.compile(r"\(?GPC (?P<gpc>\d+), TPC (?P<tpc>\d+)(?:, SM (?P<sm>\d+))?")
_TPC_OF_GPC = re.compile(r"TPC (?P<tpc>\d+) from GPC (?P<gpc>\d+)", re.IGNORECASE)
_FAULT_AT = re.compile(
    r"ENGINE (?P<engine>\S+)(?: (?P<gpc>GPC\d+))?(?: (?P<client>\S*CLIENT\S*))?"
    r"(?: faulted @ (?P<address>0x[0-9a-fA-F_]+))?"
)
_FAULT_TYPE = re.compile(r"Fault is of type (?P<fault>\w+)(?: (?P<access>\w+))?")
_GSP = re.compile(r"from GPU(?P<index>\d+) GSP")
_GSP_FUNCTION = re.compile(r"Expected function (?P<number>\d+)(?: \((?P<name>\w+)\))?")
_GSP_SECONDS = re.compile(r"Timeout after (?P<seconds>\d+)s")
_COUNTS = re.compile(r"DRAM: *(\d+), *LTC: *(\d+), *MMU: *(\d+), *PCIE: *(\d+)", re.IGNORECASE)
_CHANNEL = re.compile(
    r"\b(?:Ch|ChID|Channel ID|channel) (?:0x)?(?P<channel>[0-9a-fA-F]{4,8})\b", re.IGNORECASE
)
_REPAIR_CHANNEL = re.compile(r"Channel (?P<channel>\d+) in FBPA (?P<fbpa>\d+)", re.IGNORECASE)
_NOT_POSSIBLE = re.compile(r"\bunable to\b|\bfailed\b|no (?:more )?spare|MIG mode", re.IGNORECASE)
_ANY_LINK = re.compile(r"\blinks? (?P<link>-?\d{1,3})\b", re.IGNORECASE)
_LINK_MASK = re.compile(r"\blinks (?P<mask>0x[0-9a-fA-F]{1,16})\b", re.IGNORECASE)
_CROSS_WORDS = range(4, 8)  # intrInfo, errorStatus and two to five more


def memory(text: str) -> Memory:
    """Return the memory a 48 or 140 text names; per-channel lines name none (verdict-rules §7)."""
    dram, sram = _DRAM.search(text), _SRAM.search(text)
    if dram and sram:
        return Memory.BOTH
    if dram:
        return Memory.DRAM
    return Memory.SRAM if sram else Memory.UNKNOWN


def ecc_unit(text: str) -> str | None:
    """Return the unit a 171 or 172 names before its comma, such as `GSP-RISCV`."""
    match = _UNIT.match(text)
    return match[1] if match else None


def row_remap(text: str) -> RowRemap:
    """Return what a 63 staged."""
    if re.search(r"row remap", text, re.IGNORECASE):
        return RowRemap.ROW
    is_page = re.search(r"page retirement|retired page", text, re.IGNORECASE)
    return RowRemap.PAGE if is_page else RowRemap.OTHER


def address(text: str) -> str | None:
    """Return the first hexadecimal address of a text, lower case."""
    match = _ADDRESS.search(text)
    return match[1].lower() if match else None


def is_pending_remap(text: str) -> bool | None:
    """Say whether a 64 only repeats a repair already staged.

    Returns:
        None where the reason is not printed, or cut before it tells the two apart.
    """
    if _PENDING.search(text):
        return True
    reason = _REMAP_HEAD.sub("", text).strip(" -:")
    return None if not reason or _OPEN_REASON.search(reason) else False


def containment(text: str) -> Containment | None:
    """Return what a 94 or 95 says; None for another text."""
    match, gsp = _CONTAINED.search(text), _GSP_UNIT.search(text)
    if match is None and gsp is None:
        return None
    unit = match["unit"].strip() if match else gsp["unit"] if gsp else ""
    return Containment(
        contained=match is not None and match["un"] is None,
        unit=unit or None,
        reset=_yes(_RST, text),
        drain_and_reset=_yes(_D_RST, text),
    )


def link_fault(text: str) -> LinkFault | None:
    """Return the link of a 74 and its registers; a cut list of registers counts as none."""
    if match := _TRAIN.search(text):
        remote = pci_id(match["pci"]) if match["pci"] else None
        return LinkFault(link=int(match["link"]), failed_to_train=True, remote_pci=remote)
    if (match := _LINK_FAULT.search(text)) is None:
        return None
    words = _words(match["registers"] or "")
    registers = words if words is not None and len(words) == 7 else None
    return LinkFault(link=int(match["link"]), registers=registers)


def nvlink5(text: str) -> NvLink5 | None:
    """Return a 144 to 150; None where the line was cut before its closing bracket."""
    match = _NVLINK5.search(text)
    words = _words(match["words"]) if match else None
    if match is None or words is None or len(words) not in _CROSS_WORDS:
        return None
    return NvLink5(
        units=tuple(match["units"].upper().split("/")),
        severity=_severity(match["severity"]),
        cross_contained=int(match["xc"]),
        injected=int(match["injected"][:4]),
        link=int(match["link"]),
        intr_info=words[0],
        error_status=words[1],
        rest=words[2:],
    )


def printed_severity(text: str) -> Severity | None:
    """Return the severity a 144 to 150 prints, also where the rest of the line is lost."""
    match = re.search(r"\b(Link[ _]Fatal|Fatal|Non-?fatal)\b", text, re.IGNORECASE)
    return _severity(match[1]) if match else None


def recovery_action(text: str) -> RecoveryAction | None:
    """Return the change a 154 prints; None where it was cut before the new number."""
    match = _ACTION.search(text)
    if match is None:
        return None
    return RecoveryAction(
        before=int(match["before"], 16),
        after=int(match["after"], 16),
        before_text=match["before_text"] or "",
        after_text=match["after_text"] or "",
    )


def shader_place(text: str) -> ShaderPlace | None:
    """Return the GPC, TPC and SM of a 13, or the TPC and GPC of a 156 or 157."""
    match = _SHADER.search(text) or _TPC_OF_GPC.search(text)
    if match is None:
        return None
    sm = match.groupdict().get("sm")
    return ShaderPlace(gpc=int(match["gpc"]), tpc=int(match["tpc"]), sm=int(sm) if sm else None)


def mmu_fault(text: str) -> MmuFault | None:
    """Return the engine, client, address and type of a 31; None where it names none of them."""
    at, kind = _FAULT_AT.search(text), _FAULT_TYPE.search(text)
    if at is None and kind is None:
        return None
    client = at["client"] if at else None
    return MmuFault(
        engine=at["engine"] if at else None,
        client=" ".join(part for part in (at["gpc"], client) if part) or None if at else None,
        address=at["address"] if at else None,
        fault=kind["fault"] if kind else None,
        access=kind["access"] if kind else None,
    )


def gsp_timeout(text: str) -> GspTimeout:
    """Return the GPU index and the function a 119 or 120 waited for, as far as printed."""
    index, function = _GSP.search(text), _GSP_FUNCTION.search(text)
    seconds = _GSP_SECONDS.search(text)
    return GspTimeout(
        gpu_index=int(index["index"]) if index else None,
        function=int(function["number"]) if function else None,
        function_name=function["name"] if function else None,
        seconds=int(seconds["seconds"]) if seconds else None,
    )


def ecc_counts(text: str) -> EccCounts | None:
    """Return the four counts of a 140, or None."""
    match = _COUNTS.search(text)
    if match is None:
        return None
    dram, ltc, mmu, pcie = (int(number[:9]) for number in match.groups())
    return EccCounts(dram=dram, ltc=ltc, mmu=mmu, pcie=pcie)


def repair(text: str) -> Repair:
    """Return what a 156, 157, 160, 161 or 177 says of a repair."""
    channel = _REPAIR_CHANNEL.search(text)
    return Repair(
        possible=_NOT_POSSIBLE.search(text) is None,
        to_activate="to activate" in text,
        mig_mode="MIG mode" in text,
        place=shader_place(text),
        channel=int(channel["channel"]) if channel else None,
        fbpa=int(channel["fbpa"]) if channel else None,
    )


def channel_id(text: str) -> int | None:
    """Return the channel a 13, 31, 32, 43, 45 or 48 names."""
    match = _CHANNEL.search(text)
    return int(match["channel"], 16) if match else None


def link_number(text: str) -> int | None:
    """Return the NVLink a 74, 136, 137 or 144 to 150 names; -1 means none in particular."""
    match = _ANY_LINK.search(text)
    return int(match["link"]) if match else None


def link_numbers(text: str) -> tuple[int, ...]:
    """Return the links a 136 names, from its mask (`for links 0x…`) or its single link."""
    if mask := _LINK_MASK.search(text):
        bits = int(mask["mask"], 16)
        return tuple(bit for bit in range(bits.bit_length()) if bits >> bit & 1)
    link = link_number(text)
    return () if link is None else (link,)


def _severity(word: str) -> Severity:
    word = word.lower()
    if word.startswith("link"):
        return Severity.LINK_FATAL
    return Severity.FATAL if word == "fatal" else Severity.NONFATAL


def _words(text: str) -> tuple[int, ...] | None:
    """Return hexadecimal words between blanks or commas; None where one of them is none."""
    words = text.replace(",", " ").split()
    if not all(re.fullmatch(r"0x[0-9a-fA-F]{1,16}", word) for word in words):
        return None
    return tuple(int(word, 16) for word in words)


def _yes(pattern: re.Pattern[str], text: str) -> bool | None:
    match = pattern.search(text)
    return None if match is None else match[1].lower() == "yes"
