"""What people and nvidia-smi read on a node, as findings (xid_rules §11)."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpuvet.calculators.boots import microseconds
from gpuvet.calculators.finding import Finding, NodeView
from gpuvet.catalog.instance_types import instance_type
from gpuvet.model.cluster import Flag, GpuFacts, Orchestrator
from gpuvet.model.events import FabricState, InforomCorrupted, Source
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "xid_rules §11"
_LOSES_A_GPU = (79, 143)
_ON_EC2 = frozenset({Orchestrator.EC2, Orchestrator.PARALLELCLUSTER, Orchestrator.EKS})

# ours: how long after a boot the fabric may still be in progress
FABRIC_GRACE = timedelta(minutes=10)


def fact_findings(view: NodeView) -> Iterator[Finding]:
    """Yield what the facts of a node call for."""
    for gpu in view.node.facts.gpus:
        yield from _memory_facts(gpu)
        yield from _fabric_facts(view, gpu)
    yield from _inactive_links(view)
    yield from _gpu_count(view)
    yield from _fabric_manager(view)
    yield from _inforom(view)


def _fact(
    verdict: Verdict,
    what: str,
    gpu: GpuFacts,
    *,
    fault_class: FaultClass = FaultClass.HARDWARE,
    notes: tuple[str, ...] = (),
    open_check: str | None = None,
    minimum_action: Verdict | None = None,
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
        notes=notes,
        open_check=open_check,
        minimum_action=minimum_action,
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


def _has_switch(view: NodeView) -> bool:
    kind = instance_type(view.node.instance_type) if view.node.instance_type else None
    return kind is not None and bool(kind.nvswitch)


def _fabric_facts(view: NodeView, gpu: GpuFacts) -> Iterator[Finding]:
    if not _has_switch(view):
        return
    words = {w.casefold() for w in (gpu.fabric_state, gpu.fabric_status) if w}
    words -= {"n/a", "completed", "success", ""}
    if not words:
        return
    state, status = gpu.fabric_state or "not read", gpu.fabric_status or "not read"
    shown = f"fabric State {state}, Status {status}"
    if words == {"in progress"} and _just_booted(view, gpu.read_at):
        yield _fact(
            Verdict.UNVERIFIED,
            shown,
            gpu,
            fault_class=FaultClass.SOFTWARE_LINK,
            open_check="fabric state 10 min after the boot (nvidia-smi -q, section Fabric)",
            minimum_action=Verdict.MONITOR,
        )
    else:
        yield _fact(Verdict.REBOOT, shown, gpu, fault_class=FaultClass.SOFTWARE_LINK)


def _just_booted(view: NodeView, read_at: datetime | None) -> bool:
    read_us = microseconds(read_at or view.incident.now)
    grace_us = FABRIC_GRACE // timedelta(microseconds=1)
    return any(0 <= read_us - start <= grace_us for start in view.clock.start_us)


def _inactive_links(view: NodeView) -> Iterator[Finding]:
    """One GPU without a live link beside one that has some."""
    if not _has_switch(view):
        return
    gpus = view.node.facts.gpus
    if not any(gpu.links_active for gpu in gpus):
        return
    for gpu in gpus:
        if gpu.links_inactive and gpu.links_active == 0:
            yield _fact(
                Verdict.REBOOT,
                f"all {gpu.links_inactive} NVLinks inactive while other GPUs have live ones",
                gpu,
                fault_class=FaultClass.SOFTWARE_LINK,
            )


def expected_gpus(view: NodeView) -> int | None:
    """Return how many GPUs the node should list, as stated or by its instance type."""
    if view.node.gpu_expected is not None:
        return view.node.gpu_expected
    kind = instance_type(view.node.instance_type) if view.node.instance_type else None
    return kind.gpus if kind is not None else None


def _gpu_count(view: NodeView) -> Iterator[Finding]:
    facts, expected = view.node.facts, expected_gpus(view)
    if facts.gpus_seen is None or expected is None:
        return
    if facts.gpus_seen >= expected or facts.gpus_seen_stale:
        return  # too many or stale is a contradiction, listed elsewhere; never a loss
    counted = f"{facts.gpus_seen} of {expected} GPUs seen"
    lost = list(view.of(*_LOSES_A_GPU))
    rebooted = (facts.reboots_since_event or 0) > 0
    if rebooted or any(_reboot_between(view, o.start_us, facts.gpus_seen_at) for o in lost):
        yield _count(view, Verdict.REPLACE, f"{counted}, still low after a reboot")
    elif any(o.boot == len(view.clock.starts) for o in lost):
        return  # the same evidence as the Xid, not a second ground
    elif lost:
        check = "how many GPUs nvidia-smi -L lists since the last reboot"
        yield _count(view, Verdict.UNVERIFIED, f"{counted}, read at an unknown time", check=check)
    elif view.incident.orchestrator in _ON_EC2:
        note = "on EC2: stop and start, which brings new hardware"
        yield _count(view, Verdict.REPLACE, f"{counted}, no lost GPU in this boot's log", note)
    else:
        note = "the HyperPod health agent itself reboots on a count mismatch"
        yield _count(view, Verdict.REBOOT, f"{counted}, no lost GPU in this boot's log", note)


def _count(
    view: NodeView, verdict: Verdict, what: str, note: str | None = None, check: str | None = None
) -> Finding:
    facts = view.node.facts
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.HARDWARE,
        what=what,
        rule=_RULE,
        fact_source=facts.gpus_seen_source,
        fact_at=facts.gpus_seen_at,
        provisional=view.incident.orchestrator is Orchestrator.UNKNOWN,
        minimum_action=Verdict.REBOOT if check else None,
        open_check=check,
        notes=(note,) if note else (),
    )


def _reboot_between(view: NodeView, start_us: int, until: datetime | None) -> bool:
    if until is None:
        return False
    until_us = microseconds(until)
    return any(start_us < s <= until_us for s in view.clock.start_us)


def count_contradiction(view: NodeView) -> str | None:
    """Return the contradiction of a count that is too high or stale, or None."""
    facts, expected = view.node.facts, expected_gpus(view)
    if facts.gpus_seen is None or expected is None:
        return None
    if facts.gpus_seen > expected:
        return f"{facts.gpus_seen} GPUs seen, {expected} expected: ignored"
    if facts.gpus_seen < expected and facts.gpus_seen_stale:
        return f"{facts.gpus_seen} of {expected} GPUs from a stale metric: ignored"
    return None


def _fabric_manager(view: NodeView) -> Iterator[Finding]:
    """The last word of Fabric Manager in each boot decides."""
    lines = view.node.records.fabric_manager
    if not lines:
        return
    placed = sorted(
        ((boot := view.clock.boot_of(r)), view.clock.position(r, boot), r.line, r) for r in lines
    )
    last = placed[-1][3]
    mismatch = next(
        (
            r
            for b, _, _, r in reversed(placed)
            if r.state is FabricState.VERSION_MISMATCH and b == placed[-1][0]
        ),
        None,
    )
    started_after = last.state is FabricState.STARTED
    if mismatch is not None and not started_after:
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
    elif last.state is FabricState.FAILED and _has_switch(view):
        yield Finding(
            verdict=Verdict.REBOOT,
            fault_class=FaultClass.SOFTWARE_LINK,
            what="Fabric Manager is down on a type with NVSwitch",
            rule=_RULE,
            record=last,
        )


def _inforom(view: NodeView) -> Iterator[Finding]:
    by_pci: dict[str | None, list[int]] = {}
    first: dict[str | None, InforomCorrupted] = {}
    for record in view.node.records.inforom:
        by_pci.setdefault(record.pci, []).append(view.clock.boot_of(record))
        first.setdefault(record.pci, record)
    for pci, boots in by_pci.items():
        again = len(set(boots)) > 1
        yield Finding(
            verdict=Verdict.REPLACE if again else Verdict.REBOOT,
            fault_class=FaultClass.HARDWARE,
            what="infoROM is corrupted" + (", still so after a reboot" if again else ""),
            rule=_RULE,
            record=first[pci],
            pci=pci,
        )


def condition_findings(view: NodeView) -> Iterator[Finding]:
    """Yield what a Kubernetes node condition says that no event already says."""
    for condition in (*view.node.facts.conditions, *view.node.records.conditions):
        reason = condition.reason or ""
        if condition.kind != "AcceleratedHardwareReady" or condition.status != "False":
            continue
        if reason == "DCGMError":
            yield Finding(
                verdict=Verdict.LEAVE_ALONE,
                fault_class=FaultClass.NONE,
                what="DCGMError: monitoring software, no GPU evidence",
                rule=_RULE,
                record=condition,
                notes=(
                    (
                        "a latched condition: lastHeartbeatTime moves even when "
                        "lastTransitionTime is days old"
                    ),
                ),
            )


def is_condition_alone(view: NodeView, sources: tuple[str, ...]) -> bool:
    """Say whether an event is known from a node condition only, against a measured log."""
    return sources == (Source.EKS_CONDITION.value,) and view.is_measured
