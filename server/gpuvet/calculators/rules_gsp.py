"""The GSP stopped answering: Xid 119 and 120 (verdict-rules §8)."""

from collections.abc import Iterator

from gpuvet.calculators.cross_node import Shared
from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, described
from gpuvet.calculators.recurrence import OPEN_CHECK, Recurs, earlier_ground, recurrence
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "verdict-rules §8"


def silent_gsp(view: NodeView, occurrence: Occurrence, shared: Shared) -> Iterator[Finding]:
    """REBOOT and the driver fix; REPLACE only where one GPU alone comes back with it."""
    again = recurrence(view, occurrence)
    after_change = view.node.node in shared.gsp_after_change
    could_be_alone = not after_change and not _on_other_gpus(view, occurrence, shared)
    alone = again.recurs is Recurs.YES and could_be_alone
    unknown = again.recurs is Recurs.UNKNOWN and could_be_alone
    notes = [_driver_fix(view), *again.notes]
    if after_change:
        notes.append("2 or more nodes soon after a driver or AMI change: the driver, not the GPU")
    yield Finding(
        verdict=Verdict.REPLACE if alone else Verdict.REBOOT,
        fault_class=FaultClass.DRIVER_CONFIG,
        what=f"{described(occurrence)}: the GSP does not answer"
        + (", again after a reboot on this GPU alone" if alone else ""),
        rule=_RULE,
        occurrence=occurrence,
        pci=occurrence.pci,
        open_check=OPEN_CHECK if unknown else None,
        provisional=unknown,
        companions=earlier_ground(again) if alone else (),
        notes=tuple(notes),
    )


def _on_other_gpus(view: NodeView, occurrence: Occurrence, shared: Shared) -> bool:
    """Say whether other GPUs with the same driver, on this node or another, show it too."""
    node, drivers = view.node.node, shared.drivers
    mine = drivers.get(node)
    return any(
        (elsewhere, pci) != (node, occurrence.pci)
        and (mine is None or drivers.get(elsewhere, mine) == mine)
        for _, elsewhere, pci in shared.gsp
    )


def _driver_fix(view: NodeView) -> str:
    """Name the software fix that this flavour of the module allows."""
    flavour = _is_open(view)
    if flavour is None:
        return "fix: another driver version; which module flavour runs was not read (boot banner)"
    if flavour:
        return "fix: another driver version; the open kernel module needs its GSP firmware"
    return (
        "fix: another driver version; the proprietary module also allows GSP firmware to be "
        "turned off (NVreg_EnableGpuFirmware=0), which needs the reboot anyway"
    )


def _is_open(view: NodeView) -> bool | None:
    banners = [
        (view.clock.boot_of(b), b.line, b.driver_open)
        for b in view.node.records.boundaries
        if b.driver_open is not None
    ]
    if banners:
        return max(banners)[2]
    return view.node.driver_open
