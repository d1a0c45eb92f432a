"""What people and nvidia-smi read on a node, as findings (verdict-rules §11)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from gpuvet.calculators.boots import microseconds
from gpuvet.calculators.events import ACCELERATOR_CONDITION
from gpuvet.calculators.finding import Finding, NodeView, has_switch
from gpuvet.calculators.gpu_count import count_findings
from gpuvet.model.cluster import Flag, GpuFacts
from gpuvet.model.events import FabricManagerLine, FabricState, InforomCorrupted
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "verdict-rules §11"

# ours: how long after a boot the fabric may still be in progress
FABRIC_GRACE = timedelta(minutes=10)


def fact_findings(view: NodeView) -> Iterator[Finding]:
    """Yield what the facts of a node call for."""
    facts, records = view.node.facts, view.node.records
    manager = _manager(view) if records.fabric_manager else _Manager(None, None)
    for gpu in facts.gpus:
        yield from _memory_facts(gpu)
        if manager.mismatch is None:
            yield from _fabric_facts(view, gpu)
    yield from _inactive_links(view)
    yield from count_findings(view)
    yield from _fabric_manager(view, manager)
    yield from _inforom(view)


def _fact(
    verdict: Verdict,
    what: str,
    gpu: GpuFacts,
    *,
    fault_class: FaultClass = FaultClass.HARDWARE,
    notes: tuple[str, ...] = (),
) -> Finding:
    return Finding(
        verdict=verdict,
        fault_class=fault_class,
        what=what,
        rule=_RULE,
        pci=gpu.pci,
        fact_source=gpu.source,
        fact_raw="; ".join(gpu.raw) or what,
        fact_at=gpu.read_at,
        survives_boot=verdict is Verdict.REPLACE,
        notes=notes,
    )


def _memory_facts(gpu: GpuFacts) -> Iterator[Finding]:
    if gpu.remap_failed is Flag.YES:
        yield _fact(Verdict.REPLACE, "Remapping Failure Occurred: Yes", gpu)
    if gpu.unrepairable_memory is Flag.YES:
        yield _fact(Verdict.REPLACE, "Unrepairable Memory: Yes", gpu)
    if gpu.sram_threshold_exceeded is Flag.YES:
        yield _fact(Verdict.REPLACE, "SRAM Threshold Exceeded: Yes", gpu)
    later = ("at a quiet moment: work may go on until then",)
    if gpu.remap_pending is Flag.YES:
        yield _fact(Verdict.REBOOT, "Remapped Rows Pending: Yes", gpu, notes=later)
    if gpu.channel_repair_pending is Flag.YES:
        yield _fact(Verdict.REBOOT, "Channel Repair Pending: Yes", gpu, notes=later)
    if gpu.tpc_repair_pending is Flag.YES:
        yield _fact(Verdict.REBOOT, "TPC Repair Pending: Yes", gpu, notes=later)
    if gpu.banks_low:
        yield _fact(
            Verdict.MONITOR, f"{gpu.banks_low} bank(s) with Low or None remap availability", gpu
        )


def _fabric_facts(view: NodeView, gpu: GpuFacts) -> Iterator[Finding]:
    if not has_switch(view.node):
        return
    words = {w.casefold() for w in (gpu.fabric_state, gpu.fabric_status) if w}
    words -= {"n/a", "completed", "success", ""}
    if not words:
        return
    state, status = gpu.fabric_state or "not read", gpu.fabric_status or "not read"
    shown = f"fabric State {state}, Status {status}"
    found = _fact(Verdict.REBOOT, shown, gpu, fault_class=FaultClass.SOFTWARE_LINK)
    if words == {"in progress"} and _just_booted(view, gpu.read_at):
        found = found._replace(
            verdict=Verdict.UNVERIFIED,
            open_check="fabric state 10 min after the boot (nvidia-smi -q, section Fabric)",
            minimum_action=Verdict.MONITOR,
        )
    yield found


def _just_booted(view: NodeView, read_at: datetime | None) -> bool:
    read_us = microseconds(read_at or view.incident.now)
    grace_us = FABRIC_GRACE // timedelta(microseconds=1)
    return any(0 <= read_us - start <= grace_us for start in view.clock.start_us)


def _inactive_links(view: NodeView) -> Iterator[Finding]:
    """Links of one GPU are down while another GPU has more live ones."""
    gpus = view.node.facts.gpus
    most = max((gpu.links_active or 0 for gpu in gpus), default=0)
    if not most or not has_switch(view.node):
        return
    for gpu in gpus:
        if gpu.links_inactive and (gpu.links_active or 0) < most:
            yield _fact(
                Verdict.REBOOT,
                f"{gpu.links_inactive} NVLinks inactive while another GPU has {most} live ones",
                gpu,
                fault_class=FaultClass.SOFTWARE_LINK,
            )


class _Manager(NamedTuple):
    """Fabric Manager as its last boot with lines left it."""

    mismatch: FabricManagerLine | None  # it refused the driver's version, and never started
    failed: FabricManagerLine | None


def _manager(view: NodeView) -> _Manager:
    placed = sorted(
        (
            (((boot := view.clock.boot_of(r)), view.clock.position(r, boot), r.line, r.stream), r)
            for r in view.node.records.fabric_manager
            if r.state is not FabricState.NO_SWITCH
        ),
        key=lambda item: item[0],
    )
    if not placed:
        return _Manager(None, None)
    (last_boot, *_), last = placed[-1]
    if last.state is FabricState.STARTED:
        return _Manager(None, None)
    refused = [
        r
        for (boot, *_), r in placed
        if boot == last_boot and r.state is FabricState.VERSION_MISMATCH
    ]
    if refused:
        return _Manager(refused[-1], None)
    return _Manager(None, last if last.state is FabricState.FAILED else None)


def _fabric_manager(view: NodeView, manager: _Manager) -> Iterator[Finding]:
    """The last word of Fabric Manager decides; what follows a refused version is its echo."""
    mismatch = manager.mismatch
    if mismatch is not None:
        yield Finding(
            verdict=Verdict.LEAVE_ALONE,
            fault_class=FaultClass.DRIVER_CONFIG,
            what=(
                f"Fabric Manager {mismatch.manager_version or '?'} refuses driver "
                f"{mismatch.driver_version or '?'}"
            ),
            rule=_RULE,
            record=mismatch,
            notes=(
                (
                    "pin driver and Fabric Manager to one version; "
                    "a reboot or new hardware cures nothing"
                ),
            ),
        )
    elif manager.failed is not None and has_switch(view.node):
        yield Finding(
            verdict=Verdict.REBOOT,
            fault_class=FaultClass.SOFTWARE_LINK,
            what="Fabric Manager is down on a type with NVSwitch",
            rule=_RULE,
            record=manager.failed,
        )


def _inforom(view: NodeView) -> Iterator[Finding]:
    by_pci: dict[str | None, list[tuple[tuple[int, int, int, str], InforomCorrupted]]] = {}
    for record in view.node.records.inforom:
        boot = view.clock.boot_of(record)
        place = (boot, view.clock.position(record, boot), record.line, record.stream)
        by_pci.setdefault(record.pci, []).append((place, record))
    for pci, found in by_pci.items():
        found.sort(key=lambda item: item[0])
        (last_boot, last_us, *_), last = found[-1]
        epoch = view.clock.epoch_of(pci, last_boot, last_us)
        again = any(
            boot < last_boot and view.clock.epoch_of(pci, boot, at_us) == epoch
            for (boot, at_us, *_), _ in found
        )
        yield Finding(
            verdict=Verdict.REPLACE if again else Verdict.REBOOT,
            fault_class=FaultClass.HARDWARE,
            what="infoROM is corrupted" + (", still so after a reboot" if again else ""),
            rule=_RULE,
            record=last,
            pci=pci,
            survives_boot=again,
        )


def condition_notes(view: NodeView) -> tuple[str, ...]:
    """Return what node conditions say that is no evidence of a GPU, in words."""
    notes: list[str] = []
    for condition in (*view.node.facts.conditions, *view.node.records.conditions):
        if condition.kind != ACCELERATOR_CONDITION or condition.status != "False":
            continue
        if condition.reason != "DCGMError":
            continue
        since = condition.transition_at
        latched = f" since {since:%Y-%m-%dT%H:%M:%SZ}" if since is not None else ""
        notes.append(
            f"{condition.kind} False, reason DCGMError{latched}: monitoring software, no GPU "
            "evidence; lastHeartbeatTime moves even when lastTransitionTime is days old (latched)"
        )
    return tuple(dict.fromkeys(sorted(notes)))
