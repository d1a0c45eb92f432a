"""What one Xid or SXid is, what it calls for, and what would change that. Pure.

An explanation is a frozen dataclass and not a Value, for the same reason as the catalog's rows:
everything in it is ours and checked, and `gpuvet xid 79` must not wait for pydantic. A Value can
hold it all the same; `__pydantic_config__` tells pydantic, where it is loaded, what Value tells.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from gpuvet.catalog.conditions import Condition, conditions_of
from gpuvet.catalog.consequences import Consequence, follows_from, leads_to
from gpuvet.catalog.disagreements import Disagreement, disagreements_about
from gpuvet.catalog.kinds import NVLINK5_CODES, CodeKind
from gpuvet.catalog.sources import sources
from gpuvet.catalog.sxids import BY_TEXT, SxidRow, sxid_verdict, sxids
from gpuvet.catalog.xids import Applies, Architecture, XidRow, xids
from gpuvet.explain.reasons import reason
from gpuvet.model.words import FaultClass, Verdict

_OTHER_LIST = {
    CodeKind.SXID: "The NVSwitch list has an SXid {code}: ask with --sxid.",
    CodeKind.XID: "The GPU list has an Xid {code}: ask without --sxid.",
}
_UNLISTED = "In no published list."
_QUOTE_IT = "quote the raw line to NVIDIA support; its meaning is not public"
_LISTED_SINCE = "look it up in NVIDIA's present Xid catalog, else quote the raw line to support"
_MINIMUM_ACTIONS = {
    Verdict.REPLACE: "REPLACE",
    Verdict.REBOOT: "REBOOT",
    Verdict.UNVERIFIED: "MONITOR",
    Verdict.MONITOR: "none",
}
_OPEN_CHECKS = {
    48: "which memory: a 171, 172, 63 or 64 beside it, else nvidia-smi -q -d ECC",
    171: "the 48 of that moment on the same PCI id",
    172: "SRAM Threshold Exceeded in nvidia-smi -q -d ECC, section Aggregate",
}


def _json_name(attribute: str) -> str:
    return "class" if attribute == "fault_class" else attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class XidExplanation:
    """What is known of one code, or of one line with that code."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "alias_generator": _json_name,
        "extra": "forbid",
        "frozen": True,
        "strict": True,
        "validate_by_alias": True,
        "validate_by_name": True,
    }

    kind: CodeKind
    code: int
    listed: bool
    mnemonic: str | None
    meaning: str
    fault_class: FaultClass
    verdict: Verdict  # of a line on its own, the first time
    on_recurrence: Verdict  # back after a reboot on the same hardware
    minimum_action: str
    why: str
    open_check: str | None = None  # what settles an UNVERIFIED
    line: str | None = None  # the line explained, masked and bounded
    decode: tuple[str, ...] = ()  # what the line itself says
    contradictions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changes: tuple[Condition, ...] = ()
    follows: tuple[Consequence, ...] = ()
    brings: tuple[Consequence, ...] = ()
    applies: Applies | None = None  # None for an SXid
    architectures: tuple[Architecture, ...] = ()
    immediate_action: str | None = None
    investigatory_action: str | None = None
    xid154_linkage: str | None = None
    disagreements: tuple[Disagreement, ...] = ()
    sources: tuple[str, ...] = ()

    def as_data(self) -> dict[str, object]:
        """Return it as JSON has it: by its JSON names, absent values as None."""
        return asdict(self, dict_factory=_by_json_name)


def _by_json_name(fields: Iterable[tuple[str, object]]) -> dict[str, object]:
    return {_json_name(name): value for name, value in fields}


def explain_code(code: int, kind: CodeKind = CodeKind.XID) -> XidExplanation:
    """Return what is known of a code; one in no list is UNVERIFIED and nothing is guessed."""
    if kind is CodeKind.SXID:
        return explain_sxid(code)
    row = xids().get(code)
    return _listed(row) if row is not None else _unlisted(code, kind)


def explain_sxid(
    code: int, *, fatal: bool | None = None, names_link: bool = False
) -> XidExplanation:
    """Return what is known of an NVSwitch error.

    Args:
        code: Five digits, as the NVSwitch driver prints it.
        fatal: The word of the line; None where there is no line or no word in it.
        names_link: The line names a link, which makes its class software_link (ours).
    """
    row = sxids().get(code)
    verdict = sxid_verdict(row, fatal=fatal)
    known = _unlisted(code, CodeKind.SXID) if row is None else _listed_sxid(row, fatal=fatal)
    fault_class = FaultClass.SOFTWARE_LINK if names_link else FaultClass.HARDWARE
    return replace(
        known,
        verdict=verdict,
        minimum_action=_MINIMUM_ACTIONS[verdict],
        fault_class=known.fault_class if row is None else fault_class,
        open_check=known.open_check if verdict is Verdict.UNVERIFIED else None,
    )


def titles(words: str) -> tuple[str, ...]:
    """Return the titles of a source cell."""
    return tuple(sources().get(word, word) for word in words.split(";"))


def open_check(row: XidRow) -> str | None:
    """Return the one check that settles a code whose default verdict is UNVERIFIED."""
    if row.default_verdict is not Verdict.UNVERIFIED:
        return None
    if row.code in NVLINK5_CODES:
        return "the whole line: its unit and first two hex words"
    return _OPEN_CHECKS.get(row.code, _QUOTE_IT)


def _listed(row: XidRow) -> XidExplanation:
    return XidExplanation(
        kind=CodeKind.XID,
        code=row.code,
        listed=True,
        mnemonic=row.mnemonic,
        meaning=f"{row.description}.",
        fault_class=row.fault_class,
        verdict=row.default_verdict,
        on_recurrence=row.on_recurrence,
        minimum_action=row.minimum_action,
        why=reason(row),
        open_check=open_check(row),
        notes=(row.note,) if row.note else (),
        changes=conditions_of(row.code),
        follows=follows_from(CodeKind.XID, row.code),
        brings=leads_to(row.code),
        applies=row.applies,
        architectures=row.architectures,
        immediate_action=row.immediate_action,
        investigatory_action=row.investigatory_action,
        xid154_linkage=row.xid154_linkage,
        disagreements=disagreements_about(CodeKind.XID, row.code),
        sources=titles(row.source),
    )


def _listed_sxid(row: SxidRow, *, fatal: bool | None) -> XidExplanation:
    reported = row.default_verdict
    return XidExplanation(
        kind=CodeKind.SXID,
        code=row.code,
        listed=True,
        mnemonic=row.mnemonic,
        meaning=". ".join(filter(None, (row.name, f"NVSwitch {row.unit or 'error'}"))) + ".",
        fault_class=FaultClass.HARDWARE,
        verdict=Verdict.UNVERIFIED if reported == BY_TEXT else reported,
        on_recurrence=row.on_recurrence,
        minimum_action="none",
        why=row.action,
        open_check="the word Fatal or Non-fatal in the line",
        contradictions=_word_against_table(row, fatal=fatal),
        notes=tuple(filter(None, (_severity_note(row), row.note))),
        follows=follows_from(CodeKind.SXID, row.code),
        disagreements=disagreements_about(CodeKind.SXID, row.code),
        sources=titles(row.source),
    )


def _severity_note(row: SxidRow) -> str:
    """Return how the driver and the Fabric Manager guide rate a code."""
    a100, h100 = row.severity_a100.value, row.severity_h100.value
    rated = a100 if a100 == h100 else f"{a100} beside A100, {h100} beside H100"
    whole = " It takes every link of the switch down." if row.whole_device_fatal else ""
    group = row.guide_group.value.replace("_", " ")
    return f"The driver rates it: {rated}. Fabric Manager guide: {group}.{whole}"


def _word_against_table(row: SxidRow, *, fatal: bool | None) -> tuple[str, ...]:
    if fatal and row.default_verdict is Verdict.MONITOR:
        return ("the line says Fatal, the table MONITOR; the printed word lifts it",)
    if fatal is False and row.default_verdict is Verdict.REBOOT:
        return ("the line says Non-fatal, the table REBOOT; the word lowers nothing",)
    return ()


def _unlisted(code: int, kind: CodeKind) -> XidExplanation:
    other = CodeKind.SXID if kind is CodeKind.XID else CodeKind.XID
    elsewhere = code in (sxids() if other is CodeKind.SXID else xids())
    return XidExplanation(
        kind=kind,
        code=code,
        listed=False,
        mnemonic=None,
        meaning=_UNLISTED,
        fault_class=FaultClass.UNKNOWN,
        verdict=Verdict.UNVERIFIED,
        on_recurrence=Verdict.UNVERIFIED,
        minimum_action="MONITOR",
        why="Neither NVIDIA's catalog nor the open driver names it, so nothing is guessed.",
        open_check=_LISTED_SINCE,
        notes=(
            "It neither outranks a known hardware verdict nor lowers one.",
            *((_OTHER_LIST[other].format(code=code),) if elsewhere else ()),
        ),
    )
