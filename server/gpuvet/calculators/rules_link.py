"""NVLink events: Xid 74, 137, 144 to 150 and 155 (xid_rules §6, §9, §10)."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of, described, ground_of
from gpuvet.calculators.link_lines import decoded, link_of
from gpuvet.calculators.recurrence import OPEN_CHECK, Recurrence, Recurs, SamePlace, recurrence
from gpuvet.calculators.rules_action import action_verdict
from gpuvet.catalog.nvlink5 import NVLINK5_CODES
from gpuvet.catalog.xid74 import (
    ECC_PARITY_LIMIT,
    OnRepeat,
    RegisterBit,
    RegisterKind,
    decode_registers,
)
from gpuvet.model.events import XidEvent
from gpuvet.model.verdict import FaultClass, Ground, Verdict
from gpuvet.parse.xid_text import LinkFault, link_fault, link_number, recovery_action

# xid_rules §6: an NVLink event this close on the same link explains a 137.
PRIVILEGE_SECONDS = 5
# xid_rules §10.6: the 154 that decides a FOLLOW_154 row.
FOLLOW_SECONDS = 60

_ORDER = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


def nvlink5(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 144 to 150: the highest of its lines' decodes."""
    judged = [_nvlink5_line(view, occurrence, line) for line in _distinct(occurrence)]
    yield min(judged, key=lambda f: (f.rank, f.what))


def _distinct(occurrence: Occurrence) -> list[XidEvent]:
    return list({line.text: line for line in reversed(occurrence.lines)}.values())[::-1]


def _nvlink5_line(view: NodeView, occurrence: Occurrence, line: XidEvent) -> Finding:
    decode = decoded(line)
    link = link_of(line)
    verdict, again, notes = decode.verdict_first, None, []
    if decode.follow_154:
        verdict = _follow_154(view, occurrence) or Verdict.LEAVE_ALONE
        notes.append("NVIDIA's table follows the Xid 154 of this GPU")
    elif decode.verdict_recurrence is Verdict.REPLACE:
        again = recurrence(view, occurrence, same=_same_link(link))
        if again.recurs is Recurs.YES:
            verdict = Verdict.REPLACE
    if occurrence.inferred and not decode.is_decoded:
        verdict = _follow_154(view, occurrence, whole_boot=True) or verdict
    unknown = again is not None and again.recurs is Recurs.UNKNOWN and verdict is Verdict.REBOOT
    event = f", event {decode.link_event_code}" if decode.link_event_code else ""
    shown_link = f" link {link}" if link is not None and link >= 0 else ""
    outcome = f" {decode.resolution}" if decode.resolution else " undecoded"
    where = f", {', '.join(decode.investigatory)}" if decode.investigatory else ""
    return Finding(
        verdict=verdict,
        fault_class=class_of(occurrence.code),
        what=f"{described(occurrence)}:{shown_link}{event}{outcome}{where}".replace("::", ":"),
        rule="xid_rules §10",
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=Verdict.MONITOR if verdict is Verdict.UNVERIFIED else None,
        open_check=decode.open_check
        or (
            "the line itself, whole"
            if verdict is Verdict.UNVERIFIED
            else OPEN_CHECK
            if unknown
            else None
        ),
        provisional=unknown or occurrence.inferred,
        companions=_earlier(again),
        notes=(*notes, *((decode.note,) if decode.note else ()), *(again.notes if again else ())),
        contradictions=(decode.contradiction,) if decode.contradiction else (),
    )


def _earlier(again: Recurrence | None) -> tuple[Ground, ...]:
    if again is None or again.earlier is None:
        return ()
    other = again.earlier
    what = f"{described(other)}, same link, before the last reboot"
    return (ground_of(other.first, what, pci=other.pci, occurrence=other),)


def _same_link(link: int | None) -> SamePlace:
    def same(earlier: Occurrence, later: Occurrence) -> bool:
        if earlier.pci != later.pci or earlier.epoch != later.epoch or earlier.pci is None:
            return False
        return link is not None and any(link_of(line) == link for line in earlier.lines)

    return same


def _follow_154(
    view: NodeView, occurrence: Occurrence, *, whole_boot: bool = False
) -> Verdict | None:
    """Return the verdict of the 154 that goes with an event, or None."""
    near = (
        [o for o in view.of(154) if o.pci == occurrence.pci and o.boot == occurrence.boot]
        if whole_boot
        else view.near(occurrence, (154,), seconds=FOLLOW_SECONDS)
    )
    changes = [
        change
        for o in near
        for line in o.lines
        if (change := recovery_action(line.text)) is not None
    ]
    return action_verdict(changes[-1].after) if changes else None


@lru_cache(maxsize=4096)
def _fault(text: str) -> LinkFault | None:
    return link_fault(text)


def nvlink4(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 74 of A100 and H100: its registers, or its text where it has none."""
    per_link: Counter[int | None] = Counter()
    judged: list[Finding] = []
    for line in _distinct(occurrence):
        fault = _fault(line.text)
        link = fault.link if fault else None
        per_link[link] += 1
        if fault is None or not fault.registers:
            judged.append(_plain74(view, occurrence, link))
            continue
        bits = decode_registers(fault.registers)
        judged += [_bit_finding(view, occurrence, link, bit, per_link[link]) for bit in bits]
        if not bits:
            judged.append(_plain74(view, occurrence, link))
    yield min(judged, key=lambda f: (f.rank, f.what))


def _plain74(view: NodeView, occurrence: Occurrence, link: int | None) -> Finding:
    again = recurrence(view, occurrence, same=_same_link74(link))
    verdict = Verdict.REPLACE if again.recurs is Recurs.YES else Verdict.REBOOT
    return _finding74(occurrence, verdict, link, "no registers in the line", again)


def _same_link74(link: int | None) -> SamePlace:
    def same(earlier: Occurrence, later: Occurrence) -> bool:
        if earlier.pci != later.pci or earlier.epoch != later.epoch or earlier.pci is None:
            return False
        links = {f.link for line in earlier.lines if (f := _fault(line.text)) is not None}
        return link is not None and link in links

    return same


def _bit_finding(
    view: NodeView, occurrence: Occurrence, link: int | None, bit: RegisterBit, seen: int
) -> Finding:
    again = recurrence(view, occurrence, same=_same_link74(link))
    verdict = bit.first_verdict
    recurs = again.recurs is Recurs.YES
    match bit.on_repeat:
        case OnRepeat.RECURS if recurs:
            verdict = Verdict.REPLACE
        case OnRepeat.OVER_2_OR_RECURS if recurs or seen > ECC_PARITY_LIMIT:
            verdict = Verdict.REPLACE
        case OnRepeat.REPEATED_UNVERIFIED if recurs or seen > 1:
            verdict = Verdict.UNVERIFIED
        case _:
            pass
    matters = bit.on_repeat in {OnRepeat.RECURS, OnRepeat.OVER_2_OR_RECURS}
    return _finding74(occurrence, verdict, link, bit.meaning, again if matters else None, bit)


def _finding74(
    occurrence: Occurrence,
    verdict: Verdict,
    link: int | None,
    meaning: str,
    again: Recurrence | None,
    bit: RegisterBit | None = None,
) -> Finding:
    unknown = again is not None and again.recurs is Recurs.UNKNOWN and verdict is Verdict.REBOOT
    place = f", register {bit.register_number} bit {bit.bit}" if bit else ""
    check = None
    if verdict is Verdict.UNVERIFIED:
        secondary = bit is not None and bit.kind is RegisterKind.SECONDARY
        check = (
            "the error this one follows, on this node or the other end of the link"
            if secondary
            else "NVIDIA's field diagnostics on this GPU and its link"
        )
    return Finding(
        verdict=verdict,
        fault_class=class_of(74),
        what=f"{described(occurrence)}: link {'?' if link is None else link}{place}, {meaning}",
        rule="xid_rules §9",
        occurrence=occurrence,
        pci=occurrence.pci,
        minimum_action=Verdict.MONITOR if verdict is Verdict.UNVERIFIED else None,
        open_check=check or (OPEN_CHECK if unknown else None),
        provisional=unknown or occurrence.inferred,
        companions=_earlier(again),
        notes=again.notes if again else (),
    )


def illegal_peer_access(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 137: an illegal access, unless an NVLink event on the same link explains it."""
    links = {link for line in occurrence.lines if (link := link_number(line.text)) is not None}
    for other in view.near(occurrence, NVLINK5_CODES, seconds=PRIVILEGE_SECONDS):
        if {link_of(line) for line in other.lines} & links:
            return
    yield Finding(
        verdict=Verdict.LEAVE_ALONE,
        fault_class=FaultClass.APPLICATION,
        what=f"{described(occurrence)}: illegal peer access, NVLink only in its name",
        rule="xid_rules §6",
        occurrence=occurrence,
        pci=occurrence.pci,
    )


def software_defined(view: NodeView, occurrence: Occurrence) -> Iterator[Finding]:
    """Xid 155: software-defined; it matters only where links stay down."""
    gpu = view.gpu(occurrence.pci)
    down = gpu is not None and (
        (gpu.fabric_state or "Completed").casefold() not in {"completed", "n/a"}
        or (gpu.fabric_status or "Success").casefold() not in {"success", "n/a"}
        or bool(gpu.links_inactive)
    )
    yield Finding(
        verdict=Verdict.REBOOT if down else Verdict.MONITOR,
        fault_class=FaultClass.SOFTWARE_LINK,
        what=f"{described(occurrence)}: software-defined link event"
        + (", links still down" if down else ""),
        rule="xid_rules §6",
        occurrence=occurrence,
        pci=occurrence.pci,
    )
