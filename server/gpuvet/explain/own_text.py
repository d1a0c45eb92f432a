"""What the text of one Xid line decides by itself, before anything else is read. Pure."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gpuvet.catalog.kinds import NVLINK5_CODES
from gpuvet.catalog.nvlink5 import NvLinkDecode, decode
from gpuvet.catalog.recovery_actions import recovery_actions
from gpuvet.catalog.xid74 import OnRepeat, RegisterBit, decode_registers
from gpuvet.catalog.xids import xids
from gpuvet.model.events import XidEvent
from gpuvet.model.words import Verdict
from gpuvet.parse.xid_text import (
    Memory,
    containment,
    ecc_counts,
    is_pending_remap,
    link_fault,
    memory,
    mmu_fault,
    nvlink5,
    printed_severity,
    recovery_action,
    repair,
    shader_place,
)

THRESHOLD_CHECK = "SRAM Threshold Exceeded in nvidia-smi -q -d ECC, section Aggregate"
MEMORY_CHECK = "which memory: a 171 or 172 beside it, else nvidia-smi -q -d ECC"

_STRONGEST_FIRST = (
    Verdict.REPLACE,
    Verdict.REBOOT,
    Verdict.UNVERIFIED,
    Verdict.MONITOR,
    Verdict.LEAVE_ALONE,
)


class OwnText(NamedTuple):
    """What a line says; None keeps what its code says."""

    says: tuple[str, ...] = ()
    verdict: Verdict | None = None
    on_recurrence: Verdict | None = None
    minimum_action: str | None = None
    open_check: str | None = None
    contradictions: tuple[str, ...] = ()


def read_own_text(event: XidEvent) -> OwnText:
    """Return what the line decides; numbers and words of our tables only, nothing copied."""
    return _READERS.get(event.code, _silent)(event)


def _silent(_: XidEvent) -> OwnText:
    return OwnText()


def _graphics_exception(event: XidEvent) -> OwnText:
    place = shader_place(event.text)
    return OwnText((f"GPC {place.gpc}, TPC {place.tpc}",)) if place else OwnText()


def _mmu_fault(event: XidEvent) -> OwnText:
    fault = mmu_fault(event.text)
    if fault is None or not fault.is_unrecognized_client:
        return OwnText()
    return OwnText(("UNRECOGNIZED_CLIENT: REBOOT if the GPUs or nvidia-smi stop answering",))


def _teardown(event: XidEvent) -> OwnText:
    if event.root is None:
        return OwnText()
    row = xids().get(event.root)
    verdict = row.default_verdict if row else Verdict.UNVERIFIED
    return OwnText((f"caused by Xid {event.root}: follow that one, by itself {verdict}",))


def _double_bit(event: XidEvent) -> OwnText:
    match memory(event.text):
        case Memory.DRAM:
            return OwnText(("the error was in DRAM",), Verdict.REBOOT, Verdict.REPLACE)
        case Memory.SRAM:
            return OwnText(("the error was in SRAM",), open_check=THRESHOLD_CHECK)
        case Memory.BOTH:
            return OwnText(
                open_check=THRESHOLD_CHECK,
                contradictions=("the line names DRAM and SRAM; the higher verdict counts",),
            )
        case Memory.UNKNOWN:
            return OwnText(("the line names no memory",))


def _escaped_error(event: XidEvent) -> OwnText:
    counts = ecc_counts(event.text)
    if counts is None:
        return OwnText(("the line names no memory",), Verdict.UNVERIFIED, open_check=MEMORY_CHECK)
    says = (f"errors: DRAM {counts.dram}, LTC {counts.ltc}, MMU {counts.mmu}, PCIE {counts.pcie}",)
    if counts.ltc or counts.mmu or counts.pcie:
        return OwnText(says, Verdict.UNVERIFIED, open_check=THRESHOLD_CHECK)
    if not counts.dram:
        return OwnText(says, Verdict.UNVERIFIED, open_check=MEMORY_CHECK)
    return OwnText(says)


def _dram_companion(_: XidEvent) -> OwnText:
    return OwnText(("it puts the Xid 48 of that moment in DRAM",), Verdict.REBOOT, Verdict.REPLACE)


def _sram_companion(_: XidEvent) -> OwnText:
    return OwnText(("it puts the Xid 48 of that moment in SRAM",), open_check=THRESHOLD_CHECK)


def _remap_failure(event: XidEvent) -> OwnText:
    if is_pending_remap(event.text):
        return OwnText(("the remap is pending: it is done at the next reset",), Verdict.REBOOT)
    return OwnText(("the text names no pending remap: a final failure",))


def _containment(event: XidEvent) -> OwnText:
    found = containment(event.text)
    if found is None:
        return OwnText()
    words = {True: "Yes", False: "No", None: "not printed"}
    says = (f"RST: {words[found.reset]}, D-RST: {words[found.drain_and_reset]}",)
    if found.reset:
        return OwnText(says, Verdict.REBOOT, minimum_action="REBOOT")
    if found.drain_and_reset:
        return OwnText(says, Verdict.REBOOT, minimum_action="drain, then REBOOT")
    return OwnText(says)


def _nvlink4(event: XidEvent) -> OwnText:
    fault = link_fault(event.text)
    if fault is None:
        return OwnText(("no link and no registers in the line",))
    if fault.registers is None:
        how = "failed to train" if fault.failed_to_train else "no seven registers in the line"
        return OwnText((f"link {fault.link}: {how}",))
    bits = decode_registers(fault.registers)
    if not bits:
        return OwnText((f"link {fault.link}: no register that carries meaning has a bit set",))
    verdict = min((bit.first_verdict for bit in bits), key=_STRONGEST_FIRST.index)
    return OwnText(
        (f"link {fault.link}", *map(_told, bits)),
        verdict,
        _repeated(bits, verdict),
        minimum_action="none" if verdict is Verdict.MONITOR else None,
        open_check="the error it follows, on this GPU, its peer or a switch"
        if verdict is Verdict.UNVERIFIED
        else None,
    )


def _told(bit: RegisterBit) -> str:
    note = f" {bit.note}" if bit.note else ""
    return (
        f"register {bit.register_number}, bit {bit.bit}: {bit.meaning}, {bit.first_verdict}.{note}"
    )


def _repeated(bits: tuple[RegisterBit, ...], verdict: Verdict) -> Verdict:
    rules = {bit.on_repeat for bit in bits}
    if rules & {OnRepeat.RECURS, OnRepeat.OVER_2_OR_RECURS}:
        return Verdict.REPLACE
    repeated = Verdict.UNVERIFIED if OnRepeat.REPEATED_UNVERIFIED in rules else verdict
    return min(repeated, verdict, key=_STRONGEST_FIRST.index)


def _nvlink5(event: XidEvent) -> OwnText:
    line = None if event.cut else nvlink5(event.text)
    severity = line.severity if line else printed_severity(event.text)
    found = decode(
        event.code,
        line.units if line else (),
        line.intr_info if line else None,
        line.error_status if line else None,
        severity_printed=severity,
        injected=line.injected if line else 0,
    )
    where = (f"{'/'.join(line.units)} {severity}, link {line.link}",) if line else ()
    return OwnText(
        (*where, *_decoded(found)),
        found.verdict_first,
        found.verdict_recurrence,
        minimum_action=found.verdict_first.value
        if found.verdict_first in {Verdict.REBOOT, Verdict.MONITOR}
        else "MONITOR",
        open_check=found.open_check,
        contradictions=(found.contradiction,) if found.contradiction else (),
    )


def _decoded(found: NvLinkDecode) -> tuple[str, ...]:
    row_notes = dict.fromkeys(row.note for row in found.rows if row.note)
    return tuple(
        filter(
            None,
            (
                f"link event {found.link_event_code}" if found.link_event_code else None,
                f"NVIDIA: {found.resolution}, then {', '.join(found.investigatory)}"
                if found.resolution
                else None,
                "the extra bit asks for the second action" if found.action2_applied else None,
                "an Xid 154 on that PCI id within 60 s decides" if found.follow_154 else None,
                found.note,
                *row_notes,
            ),
        )
    )


def _recovery(event: XidEvent) -> OwnText:
    change = recovery_action(event.text)
    if change is None:
        return OwnText(("the line is cut before its new value",))
    action = recovery_actions().get(change.after)
    if action is None:
        says = f"it asks for action {change.after}, which is in no published list"
        return OwnText((says,), Verdict.UNVERIFIED, open_check="that value in the driver's source")
    return OwnText(
        (f"it asks for {change.after}, {action.name}. {action.advice}",),
        action.verdict,
        on_recurrence=action.verdict,
        minimum_action=action.minimum_action,
        open_check="the recovery action once the jobs are stopped"
        if action.verdict is Verdict.UNVERIFIED
        else None,
    )


def _staged_repair(event: XidEvent) -> OwnText:
    if not repair(event.text).to_activate:
        return OwnText()
    return OwnText(("a reset activates the repair",), Verdict.REBOOT, minimum_action="REBOOT")


def _no_spare(event: XidEvent) -> OwnText:
    if not repair(event.text).mig_mode:
        return OwnText()
    return OwnText(("MIG mode stands in the way of the repair",), Verdict.MONITOR)


_READERS: Mapping[int, Callable[[XidEvent], OwnText]] = {
    13: _graphics_exception,
    31: _mmu_fault,
    45: _teardown,
    48: _double_bit,
    64: _remap_failure,
    74: _nvlink4,
    94: _containment,
    95: _containment,
    140: _escaped_error,
    **dict.fromkeys(NVLINK5_CODES, _nvlink5),
    154: _recovery,
    157: _no_spare,
    160: _staged_repair,
    171: _dram_companion,
    172: _sram_companion,
    177: _staged_repair,
}
