"""The reference pages of the catalog as Markdown. Pure."""

from collections.abc import Iterable, Sequence

from gpuvet.catalog.conditions import conditions
from gpuvet.catalog.disagreements import disagreements
from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.nvlink5_table import Mask, NvLinkRow, StatusKind, nvlink_rows
from gpuvet.catalog.recovery_actions import recovery_actions
from gpuvet.catalog.sources import sources
from gpuvet.catalog.sxids import BY_TEXT, SxidRow, sxids
from gpuvet.catalog.xid74 import ECC_PARITY_LIMIT, MEANINGFUL_REGISTERS, register_bits
from gpuvet.catalog.xids import Applies, XidRow, xids
from gpuvet.explain.text import RECURRENCE
from gpuvet.model.words import Verdict

_WRITTEN = "<!-- Written by `gpuvet docs build` from the catalog's tables; edit those. -->"


def xids_page() -> str:
    """Return the page of the Xids."""
    rows = xids().values()
    used = [row for row in rows if row.applies is not Applies.NONE]
    return _page(
        "Xids",
        f"{len(rows)} codes. A verdict is that of a line on its own; *again* is for the same code "
        f"on the same PCI id {RECURRENCE}. A code that is missing here is UNVERIFIED: quote the "
        "line, guess nothing.",
        _table(
            ("Xid", "name", "what it is", "class", "verdict", "again", "at least", "parts", "note"),
            map(_xid_cells, used),
        ),
        "## On no part since A100",
        "Each is UNVERIFIED, at least MONITOR: seeing it is itself odd, so quote the line and ask "
        "NVIDIA. " + _list(f"{r.code} {r.mnemonic}" for r in rows if r.applies is Applies.NONE),
        "## What changes a verdict",
        _table(
            ("Xid", "evidence", "verdict", "then"),
            (
                (_codes(row.codes), row.evidence, row.verdict or "", row.advice or "")
                for row in conditions()
            ),
        ),
        "## Xid 154: the recovery action",
        "Read the number after `to`; the text differs by driver. It raises a verdict, never "
        "lowers one.",
        _table(
            ("value", "name", "printed", "verdict", "then"),
            (
                (str(a.value), a.name, " / ".join(a.texts), a.verdict or "raises none", a.advice)
                for a in recovery_actions().values()
            ),
        ),
        "## Who says otherwise",
        _disagreements(CodeKind.XID),
        _sources(),
    )


def sxids_page() -> str:
    """Return the page of the NVSwitch errors."""
    rows = sxids().values()
    silent = [row for row in rows if row.default_verdict is Verdict.UNVERIFIED]
    return _page(
        "SXids (NVSwitch)",
        f"{len(rows)} codes. The printed word wins over the table: Fatal lifts to REBOOT, "
        "Non-fatal lowers nothing. BY_TEXT: only the word decides, and without one the code is "
        "UNVERIFIED. *Again* is for the same switch, code and link "
        f"{RECURRENCE}. *A100* and *H100* are the driver's severity for the switch beside them.",
        _table(
            ("SXid", "name", "printed", "unit", "A100", "H100", "verdict", "again", "what to do"),
            (_sxid_cells(row) for row in rows if row not in silent),
        ),
        "## No published severity",
        "UNVERIFIED; follow the word in the line where it prints one. "
        + _list(f"{row.code} {row.mnemonic or 'unnamed'}" for row in silent),
        "## Who says otherwise",
        _disagreements(CodeKind.SXID),
        _sources(),
    )


def nvlink5_page() -> str:
    """Return the page of the NVLink lines: Xid 144 to 150, and the registers of Xid 74."""
    return _page(
        "NVLink lines: Xid 144 to 150 and Xid 74",
        "## Xid 144 to 150 (B200, B300, GB200)",
        "`UNIT Fatal|Nonfatal XCn in Link n (intrInfo errorStatus …)`. A row matches when its "
        "unit is named and intrInfo under either mask has that mask's value. errorStatus: `any` "
        "matches all; `enum` must be equal; `bit` is tried whole, then bit by bit, and the "
        "highest counts. The printed severity beats the table. A line cut before errorStatus is "
        "not decoded: Fatal is REBOOT, Nonfatal MONITOR. `i1` or higher is a test. "
        "`154`: the Xid 154 of that PCI id within 60 s decides, else LEAVE ALONE.",
        _table(
            (
                "Xid",
                "units",
                "event",
                "masks",
                "errorStatus",
                "NVIDIA says",
                "severity",
                "verdict",
                "again",
                "note",
            ),
            map(_nvlink_cells, nvlink_rows()),
        ),
        "## Xid 74 registers (A100, H100)",
        "`link N(0x.., 0x.., …)` has seven; registers "
        f"{', '.join(map(str, MEANINGFUL_REGISTERS))} carry meaning. The highest bit counts; a bit "
        f"that is not here is UNVERIFIED. *over 2 or recurs*: more than {ECC_PARITY_LIMIT} on one "
        "link in a boot, or again after a reboot, is REPLACE. *recurs*: again on that link after "
        "a reboot is REPLACE.",
        _table(
            ("register", "bit", "meaning", "verdict", "on repeat"),
            (
                (
                    str(bit.register_number),
                    str(bit.bit),
                    bit.meaning,
                    bit.first_verdict,
                    bit.on_repeat.replace("_", " "),
                )
                for bit in register_bits().values()
            ),
        ),
        _sources(),
    )


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", _WRITTEN, *parts)) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _list(items: Iterable[str]) -> str:
    return "; ".join(items) + "."


def _codes(codes: tuple[int, ...]) -> str:
    return ", ".join(map(str, codes))


def _xid_cells(row: XidRow) -> tuple[str, ...]:
    return (
        str(row.code),
        row.mnemonic,
        row.description,
        row.fault_class,
        row.default_verdict,
        row.on_recurrence,
        row.minimum_action,
        ", ".join(row.architectures) or "not listed",
        row.note or "",
    )


def _sxid_cells(row: SxidRow) -> tuple[str, ...]:
    return (
        str(row.code),
        row.mnemonic or "",
        row.name or "",
        row.unit or "",
        row.severity_a100,
        row.severity_h100,
        BY_TEXT if row.default_verdict == BY_TEXT else row.default_verdict,
        row.on_recurrence,
        row.action,
    )


def _nvlink_cells(row: NvLinkRow) -> tuple[str, ...]:
    kind = row.status_kind
    statuses = ", ".join(f"{status:#010x}" for status in row.statuses)
    second = f"; {row.action2} with {_masks(row.action2_masks)}" if row.action2 else ""
    return (
        str(row.xid),
        " / ".join(dict.fromkeys(row.units)),
        str(row.link_event_code),
        _masks(row.masks),
        kind if kind is StatusKind.ANY else f"{kind} {statuses}",
        f"{row.resolution}, then {row.investigatory}{second}",
        row.severity,
        "154" if row.follow_154 else row.verdict_first,
        row.verdict_recurrence,
        row.note or "",
    )


def _masks(masks: tuple[Mask, ...]) -> str:
    return " or ".join(f"{mask.value:#x} of {mask.mask:#x}" for mask in masks)


def _disagreements(kind: CodeKind) -> str:
    """Return one line for all codes of which one source says the same."""
    codes: dict[tuple[str, ...], list[int]] = {}
    for row in disagreements():
        if row.kind is kind:
            said = (row.who, row.says, row.decided_by, row.ruling, row.why)
            codes.setdefault(said, []).append(row.code)
    return _table(
        ("codes", "who", "says", "decided by", "ruling", "why"),
        ((_codes(tuple(each)), *said) for said, each in codes.items()),
    )


def _sources() -> str:
    return "## Sources\n\n" + _table(("word", "what"), sources().items())
